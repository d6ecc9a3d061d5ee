"""Reads a slot through SQL, without a replication connection and without moving the slot.

Each call decodes from the position of the slot, and the server keeps the whole result before it sends it. That is right
for a bounded read and for catching up over a long distance, where it is twice as fast as the replication protocol. It
is wrong where latency counts. ``pg_logical_slot_get_binary_changes`` is never used: it confirms before anything is
durable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained, literal, quote
from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Gatherer, Messages
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_text
from seatunnel_connectors.postgres_cdc.replication.transports import PIECE_BYTES

_SIGNATURE_BYTES = 19  # of COPY's binary form, in front of the first row
_FIELDS_AND_LENGTH = 6
_TRAILER_BYTES = 2


@dataclass(frozen=True, slots=True)
class PeekOptions:
    """Which changes: those of whole transactions that commit before ``until``; None: all that there are."""

    slot: str
    publications: tuple[str, ...]
    until: int | None = None
    version: int = 1
    messages: bool = False

    def sql(self) -> str:
        until = "NULL" if self.until is None else literal(lsn_text(self.until)) + "::pg_lsn"
        options = ["proto_version", str(self.version), "publication_names", ",".join(map(quote, self.publications))]
        options += ["messages", "true"] if self.messages else []
        given = ", ".join(map(literal, options))
        return (
            "COPY (SELECT data FROM pg_catalog.pg_logical_slot_peek_binary_changes"
            f"({literal(self.slot)}, {until}, NULL, {given})) TO STDOUT (FORMAT binary)"
        )


def peek(db: Statements, options: PeekOptions) -> Iterator[Messages]:
    """The messages, in pieces. The session needs the settings that ``connection.session_info`` gives."""
    with (
        explained(f"reading replication slot {options.slot!r} through SQL"),
        db.cursor() as cursor,
        cursor.copy(options.sql().encode()) as copy,
    ):
        rows: list[memoryview] = []
        size, skipped = 0, _SIGNATURE_BYTES
        while row := copy.read():
            rows.append(memoryview(row)[skipped:])
            skipped = 0
            size += len(row)
            if size >= PIECE_BYTES:
                yield _contents(rows)
                rows, size = [], 0
        yield _contents(rows)


def _contents(rows: list[memoryview]) -> Messages:
    """The one field of each row; the trailer is none."""
    if rows and len(rows[-1]) == _TRAILER_BYTES:
        rows.pop()
    found = Messages.of(rows)
    if rows:
        data = Gatherer(found.buffer)
        starts = found.starts + _FIELDS_AND_LENGTH
        if not (data.u4(found.starts + 2) == found.ends - starts).all():
            raise MalformedMessageError("a row of the slot's changes does not have one value")
        return Messages(found.buffer, starts, found.ends)
    return found


def move_slot(db: Statements, name: str, position: int) -> None:
    """Confirm a slot that no connection reads, up to the end of a whole transaction."""
    with explained(f"moving replication slot {name!r}"):
        db.execute("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", [name, lsn_text(position)])
