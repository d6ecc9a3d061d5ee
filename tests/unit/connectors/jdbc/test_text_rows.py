"""Rows of MySQL's text protocol: what was encoded comes back, and damaged bytes are refused or are other rows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pymysql
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_connectors.jdbc.mysql.read.text_rows import TextRows, cells_of, query_rows
from seatunnel_py.api import FatalError

Row = tuple[bytes | None, ...]
FULL = (1 << 24) - 1
END = b"\xfe\x00\x00\x02\x00"
ERROR = b"\xff\x15\x04#28000Access denied"
CELLS = st.one_of(st.none(), st.binary(max_size=12), st.sampled_from([250, 251, 255, 300, 70_000]).map(bytes))


def encoded(row: Row) -> bytes:
    return b"".join(b"\xfb" if value is None else pymysql.connections._lenenc_int(len(value)) + value for value in row)


def packets(contents: Sequence[bytes]) -> bytes:
    """Each content as a packet; one that is too long goes on in the next."""
    found = bytearray()
    for content in contents:
        at = 0
        while True:
            part = content[at : at + FULL]
            found += len(part).to_bytes(3, "little") + b"\0" + part
            at += len(part)
            if len(part) < FULL:
                break
    return bytes(found)


class Pieces(io.RawIOBase):
    """A stream whose bytes arrive in pieces of chosen sizes."""

    def __init__(self, content: bytes, random: Random) -> None:
        self.content, self.random, self.at = content, random, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self.random.choice((1, 3, 100, 10_000, 1 << 20)), len(self.content) - self.at)
        buffer[:size] = self.content[self.at : self.at + size]
        self.at += size
        return size


def read(content: bytes, columns: int, rows: int = 100, size: int = 1 << 30, seed: int = 0) -> list[list[Row]]:
    """The blocks of rows that a server's answer holds."""
    result = SimpleNamespace(unbuffered_active=True, connection=object())
    file = io.BufferedReader(Pieces(content, Random(seed)), 8192)
    db = SimpleNamespace(_rfile=file, _result=result, encoding="utf8", query=lambda sql, unbuffered: None)
    found = []
    for block in query_rows(db, "", rows, size):
        cells = [one.binary().to_pylist() for one in cells_of(block, columns)]
        found.append([*zip(*cells, strict=True)])
    assert not result.unbuffered_active
    return found


def tables(columns: int) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(*[CELLS] * columns), max_size=30)


@settings(deadline=None)
@given(data=st.data(), columns=st.integers(1, 5), rows=st.integers(1, 10), seed=st.integers(0, 1000))
def test_rows_come_back_in_blocks(data: st.DataObject, columns: int, rows: int, seed: int) -> None:
    wanted = data.draw(tables(columns))
    found = read(packets([*map(encoded, wanted), END]), columns, rows, seed=seed)
    assert [row for block in found for row in block] == wanted
    assert [len(block) for block in found[:-1]] == [rows] * (len(found) - 1)


@pytest.mark.parametrize("size", [FULL - 5, FULL - 4, FULL - 3, FULL, FULL + 10, 2 * FULL - 9, 2 * FULL + 1])
def test_rows_of_several_packets(size: int) -> None:
    wanted: list[Row] = [(b"before", b"x"), (bytes(size), b"y"), (b"after", None)]
    found = read(packets([*map(encoded, wanted), END]), 2)
    assert [row for block in found for row in block] == wanted


def test_a_block_has_about_so_many_bytes() -> None:
    wanted: list[Row] = [(bytes(1000),)] * 50
    found = read(packets([*map(encoded, wanted), END]), 1, size=10_000)
    assert {len(block) for block in found} == {10}


def test_an_error_comes_after_the_rows_before_it() -> None:
    with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
        read(packets([encoded((b"x",)), ERROR]), 1)


def test_a_stream_that_ends_is_a_lost_connection() -> None:
    whole = packets([encoded((b"some text",))] * 3 + [END])
    for length in range(len(whole)):
        with pytest.raises(pymysql.err.OperationalError, match="Lost connection"):
            read(whole[:length], 1)


@settings(deadline=None, max_examples=300)
@given(data=st.data(), columns=st.integers(1, 4))
def test_damaged_rows_are_refused_or_are_other_rows(data: st.DataObject, columns: int) -> None:
    rows = data.draw(tables(columns).filter(bool))
    damaged = bytearray(b"".join(map(encoded, rows)))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    ends = np.cumsum([len(encoded(row)) for row in rows])
    try:
        cells = cells_of(TextRows(bytes(damaged), ends), columns)
    except FatalError as refused:
        assert f"the {columns} columns" in str(refused)
        return
    found = [*zip(*(one.binary().to_pylist() for one in cells), strict=True)]
    assert b"".join(map(encoded, found)) == bytes(damaged) or _is_longer_form(damaged)


def _is_longer_form(data: bytearray) -> bool:
    """A length may be written with more bytes than it needs."""
    return any(mark in data for mark in (0xFC, 0xFD, 0xFE))
