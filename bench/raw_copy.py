"""COPY from one PostgreSQL connection to another without looking into the rows.

The frames that a server sends for `COPY ... TO STDOUT` are, byte for byte, those that a client sends for
`COPY ... FROM STDIN`. libpq opens both connections (addresses, authentication); then the messages go over its
sockets past it, from ReadyForQuery to ReadyForQuery, so that libpq finds the connection as it left it.
Only without TLS: there the socket's bytes are libpq's own.
"""

from __future__ import annotations

import socket
from struct import Struct

import psycopg

FRAME = Struct(">cI")
LENGTH = Struct(">I")
READ_BYTES = 1 << 20


class Pair:
    """A reading and a writing connection of one worker."""

    def __init__(self, dsn: str) -> None:
        self._reading = psycopg.connect(dsn, autocommit=True)
        self._writing = psycopg.connect(dsn, autocommit=True)
        if self._reading.pgconn.ssl_in_use or self._writing.pgconn.ssl_in_use:
            raise RuntimeError("raw frames need connections without TLS")

    def copy(self, select: str, table: str, piece_sql: str) -> int:
        """Copy in one transaction with the piece row; returns the number of rows."""
        self._writing.execute("BEGIN")
        with _socket(self._reading) as source, _socket(self._writing) as target:
            _query(target, f"COPY {table} FROM STDIN (FORMAT binary)")
            _expect(target, b"G")
            _query(source, f"COPY ({select}) TO STDOUT (FORMAT binary)")
            rest = _pump(source, target)
            written = _end_of_copy(target, b"")
            read = _end_of_copy(source, rest)
        if written != read:
            raise RuntimeError(f"{read} rows sent, {written} written")
        self._writing.execute(piece_sql.format(rows=written))
        self._writing.execute("COMMIT")
        return written


def _pump(source: socket.socket, target: socket.socket) -> bytes:
    """Pass CopyData frames on, up to and with CopyDone; returns the bytes after it."""
    _expect(source, b"H")
    unpack = LENGTH.unpack_from
    kept = b""
    while True:
        read = source.recv(READ_BYTES)
        if not read:
            raise RuntimeError("the source closed the connection")
        data = kept + read if kept else read
        at, last = 0, len(data) - 5
        while at <= last and data[at] == 0x64:  # 'd', CopyData
            following = at + 1 + unpack(data, at + 1)[0]
            if following > len(data):
                break
            at = following
        whole = at
        if whole <= last and data[whole] != 0x64:
            kind = data[whole : whole + 1]
            if kind != b"c":
                raise RuntimeError(f"the source sent {kind!r} in mid-copy: {data[whole : whole + 200]!r}")
            target.sendall(memoryview(data)[: whole + 5])
            return data[whole + 5 :]
        target.sendall(memoryview(data)[:whole])
        kept = data[whole:]


def _socket(connection: psycopg.Connection[tuple[object, ...]]) -> socket.socket:
    """A blocking view of libpq's own socket; closing it leaves libpq's descriptor open."""
    view = socket.fromfd(connection.pgconn.socket, socket.AF_INET, socket.SOCK_STREAM)
    view.setblocking(True)
    return view


def _query(sock: socket.socket, text: str) -> None:
    body = text.encode() + b"\0"
    sock.sendall(FRAME.pack(b"Q", len(body) + 4) + body)


def _message(sock: socket.socket, buffered: bytes = b"") -> tuple[bytes, bytes, bytes]:
    """The next message: its kind, its body, and what was buffered beyond it."""
    data = buffered
    while len(data) < 5 or len(data) < 1 + LENGTH.unpack_from(data, 1)[0]:
        wanted = 5 - len(data) if len(data) < 5 else 1 + LENGTH.unpack_from(data, 1)[0] - len(data)
        read = sock.recv(wanted)
        if not read:
            raise RuntimeError("the server closed the connection")
        data += read
    end = 1 + LENGTH.unpack_from(data, 1)[0]
    return data[:1], data[5:end], data[end:]


def _expect(sock: socket.socket, wanted: bytes) -> None:
    kind, body, _ = _message(sock)
    if kind != wanted:
        raise RuntimeError(f"expected {wanted!r}, the server sent {kind!r}: {body!r}")


def _end_of_copy(sock: socket.socket, buffered: bytes) -> int:
    """CommandComplete with its row count, then ReadyForQuery."""
    rows = -1
    while True:
        kind, body, buffered = _message(sock, buffered)
        if kind == b"C":
            rows = int(body.rstrip(b"\0").split()[-1])
        elif kind == b"E":
            raise RuntimeError(f"COPY failed: {body!r}")
        elif kind == b"Z":
            return rows
