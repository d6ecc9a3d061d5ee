"""Reads changes of a slot through SQL, without a replication connection.

Each call decodes from the place where the slot restarts, and the server keeps the whole result before it sends it. SQL
suits a bounded range: it is twice as fast as the replication protocol, which sends every row alone. It does not suit a
stream, as latency counts there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seatunnel_connectors.jdbc.postgres.connection.copy_stream import CopyStream
from seatunnel_connectors.jdbc.postgres.connection.session import literal, quote
from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.frames import HEAD_BYTES, find_frames, frame_end
from seatunnel_connectors.postgres_cdc.pgoutput.messages import PADDING, Gatherer, Messages
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_text
from seatunnel_connectors.postgres_cdc.replication.transports import PIECE_BYTES
from seatunnel_py.api import Block

_SIGNATURE_BYTES = 19  # of COPY's binary form, in front of the first row
_FIELD_COUNT_BYTES, _LENGTH_BYTES = 2, 4
_ROW = b"\0"
_TRAILER = b"\xff\xff"
_TRAILER_MESSAGE = b"d\0\0\0\6" + _TRAILER


@dataclass(frozen=True, slots=True)
class ChangesQuery:
    """Which changes: those of whole transactions that commit before ``until``; None: all that there are. ``moves``: the
    slot moves with them, before anything is durable: that is for a slot that nothing goes on from."""

    slot: str
    publications: tuple[str, ...]
    until: int | None = None
    version: int = 1
    messages: bool = False
    moves: bool = False

    def sql(self) -> str:
        until = "NULL" if self.until is None else literal(lsn_text(self.until)) + "::pg_lsn"
        options = ["proto_version", str(self.version), "publication_names", ",".join(map(quote, self.publications))]
        options += ["messages", "true"] if self.messages else []
        given = ", ".join(map(literal, options))
        function = "pg_logical_slot_get_binary_changes" if self.moves else "pg_logical_slot_peek_binary_changes"
        return (
            f"COPY (SELECT data FROM pg_catalog.{function}({literal(self.slot)}, {until}, NULL, {given})) "
            "TO STDOUT (FORMAT binary)"
        )


def query_changes(session: CopyStream, query: ChangesQuery) -> Iterator[Messages]:
    """The messages, in pieces. The session needs the settings that ``connection.session_info`` gives."""
    is_first = True
    for data in _pieces(session.copy_out(query.sql())):
        yield _contents(data, is_first=is_first)
        is_first = False


def _pieces(blocks: Iterator[Block]) -> Iterator[bytes]:
    """Blocks joined to pieces of whole CopyData messages, each with PADDING."""
    parts: list[Block] = []
    size = 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size >= PIECE_BYTES:
            yield b"".join([*parts, PADDING])
            parts, size = [], 0
    if parts:
        yield b"".join([*parts, PADDING])


def _contents(data: bytes, *, is_first: bool) -> Messages:
    """Return the field of each row. The signature is in the first row's message; the trailer ends the last piece."""
    content, size = np.frombuffer(data, np.uint8), len(data) - len(PADDING)
    head_end = (frame_end(content, 0, size) or size) if is_first else 0
    frames = find_frames(content, head_end, size, _ROW)
    starts, ends = frames.starts + HEAD_BYTES, frames.ends
    if is_first and data[HEAD_BYTES + _SIGNATURE_BYTES : head_end] != _TRAILER:
        starts = np.concatenate([[HEAD_BYTES + _SIGNATURE_BYTES], starts])
        ends = np.concatenate([[head_end], ends])
    lengths = Gatherer(data).u4(starts + _FIELD_COUNT_BYTES)
    starts = starts + _FIELD_COUNT_BYTES + _LENGTH_BYTES
    if data[frames.end : size] not in (b"", _TRAILER_MESSAGE) or not (lengths == ends - starts).all():
        raise MalformedMessageError("a row of the slot's changes does not have one value")
    return Messages(data, starts, ends)
