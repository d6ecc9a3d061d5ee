"""Random histories: what an encoder writes is what the decoder reads, in pieces of any size, over either transport's
framing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_connectors.postgres_cdc.pgoutput.frames import find_frames
from seatunnel_connectors.postgres_cdc.pgoutput.messages import PADDING, Messages
from tests.connectors.postgres_cdc import encoder as pg
from tests.connectors.postgres_cdc.encoder import UNCHANGED, Column
from tests.connectors.postgres_cdc.reading import (
    ABSENT,
    BOOL,
    BYTEA,
    FLOAT8,
    INT4_ARRAY,
    INT8,
    TEXT,
    Shown,
    all_rows,
    decoder,
)


def server_bytes(value: bytes) -> str:
    return "\\x" + value.hex()


VALUES: dict[int, st.SearchStrategy[tuple[Any, str]]] = {
    INT8: st.integers(-(2**63), 2**63 - 1).map(lambda value: (value, str(value))),
    TEXT: st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20).map(
        lambda value: (value, value)
    ),
    BOOL: st.booleans().map(lambda value: (value, "t" if value else "f")),
    BYTEA: st.binary(max_size=12).map(lambda value: (value, server_bytes(value))),
    FLOAT8: st.floats(allow_nan=False, allow_infinity=False).map(lambda value: (value, repr(value))),
    INT4_ARRAY: st.lists(st.none() | st.integers(-9, 9), max_size=4).map(
        lambda value: (value, "{" + ",".join("NULL" if one is None else str(one) for one in value) + "}")
    ),
}


@dataclass(frozen=True)
class History:
    """Messages, and the rows that they mean, by table."""

    messages: tuple[bytes, ...]
    rows: dict[str, list[Shown]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    tables = []
    for number in range(draw(st.integers(1, 3))):
        oids = [INT8, *draw(st.lists(st.sampled_from([*VALUES]), max_size=4))]
        columns = [Column(f"c{at}", oid, key=at == 0) for at, oid in enumerate(oids)]
        tables.append((16400 + number, f"t{number}", columns, draw(st.sampled_from("df"))))
    messages: list[bytes] = []
    expected: dict[str, list[Shown]] = {name: [] for _, name, _, _ in tables}
    described: set[int] = set()
    for transaction in range(draw(st.integers(0, 4))):
        lsn = 100 * (transaction + 1)
        messages.append(pg.begin(lsn))
        for _ in range(draw(st.integers(0, 5))):
            oid, name, columns, identity = draw(st.sampled_from(tables))
            if oid not in described or draw(st.booleans()):
                flagged = [Column(one.name, one.oid, key=one.key or identity == "f") for one in columns]
                messages.append(pg.relation(oid, name, flagged, identity=identity))
                described.add(oid)
            message, rows = draw(changes(oid, name, columns, identity))
            messages.append(message)
            expected[name] += rows
        messages.append(pg.commit(lsn, lsn + 1))
    return History(tuple(messages), expected)


@st.composite
def changes(
    draw: st.DrawFn, oid: int, name: str, columns: Sequence[Column], identity: str
) -> tuple[bytes, list[Shown]]:
    def cells() -> list[tuple[Any, Any]]:
        found = [draw(VALUES[columns[0].oid])]
        return found + [draw(st.just((None, None)) | VALUES[one.oid]) for one in columns[1:]]

    new, kind = cells(), draw(st.sampled_from("IUD"))
    if kind == "I":
        return pg.insert(oid, [cell for _, cell in new]), [(name, "+I", values(new))]
    old, tag = cells(), "O" if identity == "f" else "K"
    if tag == "K":
        old = [old[0], *[(ABSENT, None)] * (len(columns) - 1)]
    if kind == "D":
        return pg.delete(oid, [cell for _, cell in old], tag), [(name, "-D", values(old))]
    for at in range(1, len(columns)):
        if draw(st.booleans()):
            new[at] = (old[at][0] if tag == "O" else ABSENT, UNCHANGED)
    if tag == "K" and draw(st.booleans()):
        return pg.update(oid, [cell for _, cell in new]), [(name, "+U", values(new))]
    message = pg.update(oid, [cell for _, cell in new], [cell for _, cell in old], tag)
    return message, [(name, "-U", values(old)), (name, "+U", values(new))]


def values(cells: Sequence[tuple[Any, Any]]) -> tuple[Any, ...]:
    return tuple(value for value, _ in cells)


def by_table(found: Sequence[Shown], names: Sequence[str]) -> dict[str, list[Shown]]:
    return {name: [row for row in found if row[0] == name] for name in names}


@settings(max_examples=150, deadline=None)
@given(histories(), st.integers(1, 8))
def test_histories_come_back_in_pieces_of_any_size(history: History, size: int) -> None:
    reader, found = decoder(), []
    for first in range(0, len(history.messages), size):
        found += all_rows([*reader.decode(Messages.of(history.messages[first : first + size]))])

    assert by_table(found, [*history.rows]) == history.rows


@settings(max_examples=150, deadline=None)
@given(histories(), st.integers(30, 400), st.data())
def test_histories_come_back_from_the_bytes_of_a_socket(history: History, size: int, data: st.DataObject) -> None:
    parts = []
    for message in history.messages:
        parts.append(pg.xlog_data(message))
        if data.draw(st.integers(0, 9)) == 0:
            parts.append(pg.keepalive(7))
    stream, reader, found, left = b"".join(parts), decoder(), [], b""
    for first in range(0, len(stream), size):
        left += stream[first : first + size]
        frames = find_frames(np.frombuffer(left + PADDING, np.uint8), 0, len(left))
        kinds = np.frombuffer(left, np.uint8)[frames.starts + 5] == ord("w")
        found += all_rows([*reader.decode(Messages(left + PADDING, frames.starts[kinds] + 30, frames.ends[kinds]))])
        left = left[frames.end :]

    assert not left
    assert by_table(found, [*history.rows]) == history.rows


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"d\0\0\0\x20w" * 3, b"d" * 20, b"dddddw"]), max_size=40))
def test_frames_are_those_of_the_chain(contents: list[bytes]) -> None:
    """What only looks like a frame, inside of one, is none."""
    frames = [pg.xlog_data(one) for one in contents]
    stream = b"".join(frames)
    bounds = np.cumsum([0, *map(len, frames)])

    for size in {len(stream), max(0, len(stream) - 3)}:
        found = find_frames(np.frombuffer(stream + PADDING, np.uint8), 0, size)
        whole = bounds[bounds <= size]
        assert found.starts.tolist() == whole[:-1].tolist()
        assert found.ends.tolist() == whole[1:].tolist()
        assert found.end == whole[-1]
