"""Every kind of message of pgoutput as a real server sent it, with the statements that it came from (golden.txt)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seatunnel_connectors.jdbc.postgres.connection.types import NativeType
from seatunnel_connectors.postgres_cdc.pgoutput.decoder import PgoutputDecoder
from seatunnel_connectors.postgres_cdc.pgoutput.elements import LogElement, LogicalMessage, Truncation
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Messages
from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationCache
from tests.connectors.postgres_cdc.reading import ABSENT, TYPES, all_rows

MOOD = 16385
V1 = [
    ("t", "+I", (1, "a", "sad")),
    ("t", "+I", (2, None, "happy")),
    ("t", "+U", (1, "b", "sad")),
    ("t", "-U", (2, ABSENT, ABSENT)),
    ("t", "+U", (3, None, "happy")),
    ("t", "-D", (3, ABSENT, ABSENT)),
    ("f", "+I", (1, "x")),
    ("f", "-U", (1, "x")),
    ("f", "+U", (1, "y")),
    ("f", "-D", (1, "y")),
    ("t", "+I", (4, "o", None)),
]
V3 = [("t", "+I", (number, "kept", None)) for number in (10, 12, 14, 16)]


def golden() -> dict[str, list[bytes]]:
    """Messages by section."""
    found: dict[str, list[bytes]] = {}
    section = ""
    for line in (Path(__file__).parent / "golden.txt").read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            found[section] = []
        elif not line.startswith(("#", "--")):
            letter, _, content = line.partition(" ")
            message = bytes.fromhex(content)
            assert message[:1] == letter.encode()
            found[section].append(message)
    return found


def decoded(messages: list[bytes], size: int) -> tuple[list[LogElement], PgoutputDecoder]:
    types: dict[int, Any] = {**TYPES, MOOD: NativeType("mood", category="e")}
    reader = PgoutputDecoder(RelationCache(lambda oids: {oid: types[oid] for oid in oids}))
    found: list[LogElement] = []
    for first in range(0, len(messages), size):
        found += reader.decode(Messages.of(messages[first : first + size]))
    return found, reader


def test_every_kind_is_there() -> None:
    letters = {message[:1] for messages in golden().values() for message in messages}

    assert b"".join(sorted(letters)) == b"ABCDEIKMOPRSTUYbcpr"


@pytest.mark.parametrize(("section", "wanted"), [("v1", V1), ("v3", V3)])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_what_it_means(section: str, wanted: list[object], size: int) -> None:
    found, reader = decoded(golden()[section], size)

    by_table = [[row for row in rows if row[0] == name] for rows in (all_rows(found), wanted) for name in ("t", "f")]  # type: ignore[index, attr-defined]
    assert by_table[:2] == by_table[2:]
    assert reader.held.empty
    assert reader.tracker.open is None


def test_truncations_messages_and_positions() -> None:
    found, reader = decoded(golden()["v1"], 1000)
    (truncation,) = [one for one in found if isinstance(one, Truncation)]
    (message,) = [one for one in found if isinstance(one, LogicalMessage)]

    assert [table.path.table for table in truncation.tables] == ["t", "f"]
    assert (truncation.cascade, truncation.restart_identity) == (False, True)
    assert (message.prefix, message.content, message.transactional) == ("note", b"inside", True)
    assert (reader.tracker.position.commit, reader.tracker.position.end) == (0x150E668, 0x150E698)
