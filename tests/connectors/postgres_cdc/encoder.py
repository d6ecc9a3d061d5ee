"""Encodes messages of pgoutput, written from the protocol's documentation and without the product's code."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

UNCHANGED = object()
"""A cell that the log leaves out."""

Cell = bytes | str | None | object


def text(name: str) -> bytes:
    return name.encode() + b"\0"


def begin(lsn: int, time: int = 0, xid: int = 1) -> bytes:
    return b"B" + struct.pack(">qqI", lsn, time, xid)


def commit(lsn: int, end: int, time: int = 0, flags: int = 0) -> bytes:
    return b"C" + struct.pack(">Bqqq", flags, lsn, end, time)


@dataclass(frozen=True)
class Column:
    name: str
    oid: int
    modifier: int = -1
    key: bool = False


def relation(oid: int, name: str, columns: Sequence[Column], *, schema: str = "public", identity: str = "d") -> bytes:
    head = b"R" + struct.pack(">I", oid) + text(schema) + text(name) + identity.encode()
    body = b"".join(
        struct.pack(">B", one.key) + text(one.name) + struct.pack(">Ii", one.oid, one.modifier) for one in columns
    )
    return head + struct.pack(">H", len(columns)) + body


def row(cells: Sequence[Cell]) -> bytes:
    found = [struct.pack(">H", len(cells))]
    for cell in cells:
        if cell is None:
            found.append(b"n")
        elif cell is UNCHANGED:
            found.append(b"u")
        else:
            content = cell.encode() if isinstance(cell, str) else cell
            assert isinstance(content, bytes)
            found.append(b"t" + struct.pack(">I", len(content)) + content)
    return b"".join(found)


def insert(oid: int, cells: Sequence[Cell]) -> bytes:
    return b"I" + struct.pack(">I", oid) + b"N" + row(cells)


def update(oid: int, cells: Sequence[Cell], old: Sequence[Cell] | None = None, kind: str = "O") -> bytes:
    before = b"" if old is None else kind.encode() + row(old)
    return b"U" + struct.pack(">I", oid) + before + b"N" + row(cells)


def delete(oid: int, old: Sequence[Cell], kind: str = "K") -> bytes:
    return b"D" + struct.pack(">I", oid) + kind.encode() + row(old)


def truncate(oids: Sequence[int], options: int = 0) -> bytes:
    return b"T" + struct.pack(">IB", len(oids), options) + struct.pack(f">{len(oids)}I", *oids)


def logical_message(prefix: str, content: bytes, *, transactional: bool = True, lsn: int = 5) -> bytes:
    return b"M" + struct.pack(">Bq", transactional, lsn) + text(prefix) + struct.pack(">I", len(content)) + content


def origin(lsn: int, name: str) -> bytes:
    return b"O" + struct.pack(">q", lsn) + text(name)


def type_of(oid: int, schema: str, name: str) -> bytes:
    return b"Y" + struct.pack(">I", oid) + text(schema) + text(name)


# ---------------------------------------------------------------- versions 2 to 4


def in_stream(message: bytes, xid: int) -> bytes:
    """The message as it stands inside of a piece of a streamed transaction."""
    return message[:1] + struct.pack(">I", xid) + message[1:]


def stream_start(xid: int, *, first: bool) -> bytes:
    return b"S" + struct.pack(">IB", xid, first)


STREAM_STOP = b"E"


def stream_commit(xid: int, lsn: int, end: int, time: int = 0) -> bytes:
    return b"c" + struct.pack(">IBqqq", xid, 0, lsn, end, time)


def stream_abort(xid: int, subxid: int, more: bytes = b"") -> bytes:
    return b"A" + struct.pack(">II", xid, subxid) + more


def begin_prepare(gid: str, xid: int, lsn: int = 3) -> bytes:
    return b"b" + struct.pack(">qqqI", lsn, lsn + 1, 0, xid) + text(gid)


def prepare(gid: str, xid: int, lsn: int = 3) -> bytes:
    return b"P" + struct.pack(">BqqqI", 0, lsn, lsn + 1, 0, xid) + text(gid)


def commit_prepared(gid: str, xid: int, lsn: int, end: int) -> bytes:
    return b"K" + struct.pack(">BqqqI", 0, lsn, end, 0, xid) + text(gid)


def rollback_prepared(gid: str, xid: int) -> bytes:
    return b"r" + struct.pack(">BqqqqI", 0, 1, 2, 0, 0, xid) + text(gid)


def stream_prepare(gid: str, xid: int) -> bytes:
    return b"p" + struct.pack(">BqqqI", 0, 3, 4, 0, xid) + text(gid)


# ---------------------------------------------------------------- frames


def xlog_data(message: bytes, start: int = 1, end: int = 1) -> bytes:
    content = b"w" + struct.pack(">qqq", start, end, 0) + message
    return b"d" + struct.pack(">I", len(content) + 4) + content


def keepalive(end: int, *, reply: bool = False) -> bytes:
    content = b"k" + struct.pack(">qqB", end, 0, reply)
    return b"d" + struct.pack(">I", len(content) + 4) + content
