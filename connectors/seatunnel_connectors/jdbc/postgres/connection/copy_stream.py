"""Streams COPY as bytes: the messages that one server sends for ``COPY … TO STDOUT`` are, byte for byte, those that
another accepts for ``COPY … FROM STDIN``.

libpq returns rows one by one, which costs 0.8 µs each; scanning the frames in the socket's data costs 0.3 µs in total
(bench/README.md). So libpq opens a session (addresses, authentication), and this module then uses its socket directly,
from one ReadyForQuery to the next, which leaves the session as libpq expects it. The socket's bytes must be the
protocol's: an encrypted session is refused.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from struct import Struct
from typing import Any

import psycopg

from seatunnel_connectors.jdbc.postgres.connection.pinned import connection
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, conninfo, end_with_client
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Block, NativeRefusedError, borrow

READ_BYTES = 1 << 20  # also the largest block: the servers work while it travels
GSS_SINCE = 120000  # older servers cannot encrypt by GSSAPI
_BY_GSS = "(SELECT encrypted FROM pg_stat_gssapi WHERE pid = pg_backend_pid())"
# The unit's deadline limits a wait; but a socket with any timeout stays non-blocking for libpq.
WAIT_SECONDS = 86_400.0

_LENGTH = Struct(">I")
_QUERY = Struct(">cI")
_COPY_DATA, _COMPLETE, _ERROR, _READY, _DESCRIPTION = b"d"[0], b"C"[0], b"E"[0], b"Z"[0], b"T"[0]
_COLUMN = Struct(">IhIhih")  # after a column's name: table, number, type, size, modifier, format
_COPY_DONE = b"c\0\0\0\4"
_CONNECTION_LOST = "08006"


class ServerError(psycopg.Error):
    """A server's error with its fields by letter (PostgreSQL documentation, "Error and Notice Message Fields")."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(fields.get("M", "an error without a message"))
        self.sqlstate = fields.get("C")
        parts = {"PG_DIAG_MESSAGE_PRIMARY": str(self), "PG_DIAG_MESSAGE_DETAIL": fields.get("D", "")}
        parts |= {"PG_DIAG_CONTEXT": fields.get("W", ""), "PG_DIAG_TABLE_NAME": fields.get("t", "")}
        self.details = [*parts.items()]


class CopyStream:
    """One session. ``rows`` is the server's last confirmed count of a COPY, in either direction, or of an INSERT;
    ``types`` are the column types of the last query, by number."""

    def __init__(self, info: str) -> None:
        self.info = info
        self.rows = -1
        self.types: tuple[int, ...] = ()
        self._connect()

    def _connect(self) -> None:
        self.session: Statements = connection(self.info)
        asked = _BY_GSS if self.session.info.server_version >= GSS_SINCE else ""
        by_gss = end_with_client(self.session, asked)
        self.encrypted = bool(self.session.pgconn.ssl_in_use or by_gss)
        self._socket = socket.socket(fileno=os.dup(self.session.pgconn.socket))
        self._socket.settimeout(WAIT_SECONDS)
        self._data = b""
        self._at = 0
        self._error: ServerError | None = None

    def refresh(self) -> None:
        """Reconnect if the server has ended the idle session: an idle server sends no messages otherwise."""
        if select.select([self._socket], [], [], 0)[0]:
            self.close()
            self._connect()

    def run(self, sql: str) -> None:
        """Run statements and ignore their results."""
        self._query(sql)
        self._finish()

    def ask(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of one query, through libpq."""
        with self.session.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            return cursor.execute(sql.encode(), prepare=False).fetchall()

    # -------------------------------------------------- out of a server

    def copy_out(self, sql: str) -> Iterator[Block]:
        """Run statements with one COPY TO STDOUT among them; yields runs of whole CopyData messages."""
        self._query(sql)
        while True:
            end = _end_of_data(self._data, self._at)
            if end > self._at:
                block = memoryview(self._data)[self._at : end]
                self._at = end
                yield block
            if self._step():
                return

    # -------------------------------------------------- into a server

    def begin_copy(self, sql: str) -> None:
        """Send statements that end in a COPY FROM STDIN, without waiting: if one fails, the server discards the data
        and reports the error at the end."""
        self._query(sql)

    def feed(self, block: Block) -> None:
        """Send CopyData messages. Raise an error that has arrived by then: the rest would be sent in vain."""
        self._send(block)
        while select.select([self._socket], [], [], 0)[0]:
            self._receive()
            while self._message() is not None:
                pass
            if self._error is not None:
                raise self._error

    def end_copy(self) -> int:
        """Send the end; return the row count that the server confirms."""
        self._send(_COPY_DONE)
        self._finish()
        return self.rows

    # -------------------------------------------------- messages

    def _query(self, sql: str) -> None:
        body = sql.encode() + b"\0"
        self.rows = -1
        self.types = ()
        self._error = None
        self._send(_QUERY.pack(b"Q", len(body) + 4) + body)

    def _finish(self) -> None:
        while not self._step():
            pass

    def _step(self) -> bool:
        """Process one message, or read more; True once the server is ready for the next query. Only then is an error
        raised, so that the session stays usable."""
        kind = self._message()
        if kind is None:
            self._receive()
        if kind == _READY and self._error is not None:
            raise self._error
        return kind == _READY

    def _message(self) -> int | None:
        """Process the next message if it is complete; return its kind."""
        data, at = self._data, self._at
        if len(data) - at < 5:
            return None
        end = at + 1 + int(_LENGTH.unpack_from(data, at + 1)[0])
        if end > len(data):
            return None
        self._at = end
        kind, body = data[at], data[at + 5 : end]
        if kind == _ERROR:
            fields = {chr(part[0]): part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
            self._error = self._error or ServerError(fields)
        if kind == _COMPLETE and body.startswith((b"COPY ", b"INSERT ")):
            self.rows = int(body[:-1].rpartition(b" ")[2])
        if kind == _DESCRIPTION:
            self.types = tuple(_types(body))
        return kind

    def _send(self, data: Block) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._lost(f"the connection broke: {error}") from error

    def _receive(self) -> None:
        """Read available bytes, and the whole of a message that has begun: a row of hundreds of MB arrives in many
        parts, which are joined once."""
        parts = [self._data[self._at :]]
        missing = 1
        if len(parts[0]) >= 5:
            missing = 1 + int(_LENGTH.unpack_from(parts[0], 1)[0]) - len(parts[0])
        while missing > 0:
            try:
                more = self._socket.recv(READ_BYTES)
            except OSError as error:
                raise self._lost(f"the connection broke: {error}") from error
            if not more:
                raise self._lost("the server closed the connection")
            parts.append(more)
            missing -= len(more)
        self._data = b"".join(parts)
        self._at = 0

    def _lost(self, why: str) -> ServerError:
        """Error for a lost session, with the server's last message, if any."""
        return self._error or ServerError({"C": _CONNECTION_LOST, "M": why})

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()
        self.session.close()


def _types(body: bytes) -> Iterator[int]:
    """Types of the columns in a RowDescription."""
    at = 2
    while at < len(body):
        at = body.index(b"\0", at) + 1
        yield _COLUMN.unpack_from(body, at)[2]
        at += _COLUMN.size


def _end_of_data(data: bytes, at: int) -> int:
    """End of the run of complete CopyData messages that begins at ``at``. A server sends one per row: this loop is the
    cost of every row."""
    last, size, unpack = len(data) - 5, len(data), _LENGTH.unpack_from
    while at <= last and data[at] == _COPY_DATA:
        following = at + 1 + unpack(data, at + 1)[0]
        if following > size:
            break
        at = following
    return at


@contextmanager
def stream(address: Address) -> Iterator[CopyStream]:
    """Borrow a session from the pool. Raises NativeRefusedError if it is encrypted."""
    info = conninfo(address)
    with borrow(("postgres-stream", info), lambda: CopyStream(info), CopyStream.close) as found:
        found.refresh()
        if not found.encrypted:
            yield found
            return
    raise NativeRefusedError(f"the session to {address.display} is encrypted")
