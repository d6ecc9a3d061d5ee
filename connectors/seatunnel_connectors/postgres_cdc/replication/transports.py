"""Reads CopyData from a connection in large pieces: through libpq, or from its socket.

libpq gives one message a call, encrypted or not. Without encryption the socket's own bytes are the protocol's:
they are received into one buffer, and its frames are found by ``pgoutput.frames``.
"""

from __future__ import annotations

import os
import select
import socket
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from struct import Struct

import numpy as np
import psycopg
from psycopg import pq

from seatunnel_connectors.jdbc.postgres.connection.copy_stream import ServerError
from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.frames import COPY_DATA, HEAD_BYTES, find_frames, frame_end
from seatunnel_connectors.postgres_cdc.pgoutput.messages import PADDING, Messages

PIECE_BYTES = 1 << 20  # of messages that are decoded together, if so many have arrived
_ROOM_BYTES = 2 * PIECE_BYTES + len(PADDING)
SMALL_BYTES = 1 << 19  # less than this is worth a moment's wait: a batch costs a millisecond whatever it holds
WANTED_BYTES_MAX = 1 << 22
LINGER_SECONDS = 0.04
_BUSY_SECONDS = 0.1
_HEAD = Struct(">cI")
_COPY_DONE, _ERROR, _NOTICE, _PARAMETER, _COMPLETE, _READY, _COPY_BOTH = b"cENSCZW"
_CONNECTION_LOST = "08006"


class Transport(ABC):
    """A connection in COPY. ``read`` returns contents of CopyData messages, valid until the next call; nothing after
    ``seconds`` in which nothing came. ``ended`` is true once the server has ended the COPY. ``wanted_bytes`` are worth
    a moment's wait, and are taken together if they have come."""

    ended = False
    wanted_bytes = SMALL_BYTES
    _last = 0.0

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        self.pgconn = pgconn
        self._socket = socket.socket(fileno=os.dup(pgconn.socket))
        self._socket.setblocking(False)

    def read(self, seconds: float) -> Messages:
        """Wait for messages, and a moment longer where more follow: then they are worth a batch."""
        self._receive(seconds)
        now = time.monotonic()
        if self._received and now - self._last < _BUSY_SECONDS:
            self._linger(LINGER_SECONDS)
        if self._received:
            self._last = time.monotonic()
        return self._take()

    @property
    def _most(self) -> int:
        return max(PIECE_BYTES, self.wanted_bytes)

    def _linger(self, seconds: float) -> None:
        """Wait until enough has come, instead of taking few messages at a time from a server that is sending. The
        kernel wakes us once: where it cannot (SO_RCVLOWAT), the first byte ends the wait."""
        missing = self.wanted_bytes - self._received
        if missing <= 0 or self.ended:
            return
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, missing)
        try:
            self._wait(seconds)
        finally:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        self._receive(0.0)

    @property
    @abstractmethod
    def _received(self) -> int:
        """Bytes that wait to be taken."""

    @abstractmethod
    def _receive(self, seconds: float) -> None: ...

    @abstractmethod
    def _take(self) -> Messages: ...

    @abstractmethod
    def write(self, content: bytes) -> None:
        """Send one CopyData message."""

    @abstractmethod
    def end(self) -> None:
        """Send the end of the COPY to the server."""

    def close(self) -> None:
        """Give back what was made here; the connection stays."""
        self._socket.close()

    def _wait(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        return bool(poll.poll(max(0.0, seconds) * 1000))


class LibpqTransport(Transport):
    """Any connection."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        super().__init__(pgconn)
        self._messages: list[bytes | memoryview] = []
        self._size = 0

    @property
    def _received(self) -> int:
        return self._size

    def _receive(self, seconds: float) -> None:
        self._drain()
        if not self._size and not self.ended and self._wait(seconds):
            self._drain()

    def _drain(self) -> None:
        """Take what is there. Encryption may hold bytes that the socket does not show: so libpq is
        asked before the socket is."""
        self._collect()
        while self._size < self._most and not self.ended:
            before = self._size
            self.pgconn.consume_input()
            self._collect()
            if self._size == before and not self._wait(0.0):
                break

    def _collect(self) -> None:
        get, keep = self.pgconn.get_copy_data, self._messages.append
        size = self._size
        while size < self._most:
            length, content = get(1)
            if length <= 0:
                self.ended = length < 0
                break
            keep(content)
            size += length
        self._size = size
        if self.ended:
            self._raise_error()

    def _raise_error(self) -> None:
        result = self.pgconn.get_result()
        if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result)

    def _take(self) -> Messages:
        found = Messages.of(self._messages)
        self._messages, self._size = [], 0
        return found

    def write(self, content: bytes) -> None:
        self.pgconn.put_copy_data(content)
        self.pgconn.flush()

    def end(self) -> None:
        self.pgconn.put_copy_end()
        self.pgconn.flush()


@dataclass(slots=True)
class _Room:
    """A buffer with ``filled`` bytes in it, of which those before ``taken`` were given."""

    data: bytearray
    filled: int = 0
    taken: int = 0

    def make_free(self, wanted: int) -> None:
        """Move what is left to the front, into a larger buffer where it has to be: earlier messages are void."""
        left = self.filled - self.taken
        size = max(left + wanted, PIECE_BYTES) + len(PADDING)
        fits = size <= len(self.data)
        if fits and (not self.taken or len(self.data) <= _ROOM_BYTES):
            if not self.taken:
                return
            room = self.data
        else:  # doubled: a row of hundreds of MB is not copied for each MB of it; and small again after it
            room = bytearray(max(_ROOM_BYTES, size if fits else 2 * size))
        room[:left] = memoryview(self.data)[self.taken : self.filled]
        self.data, self.filled, self.taken = room, left, 0


class SocketTransport(Transport):
    """A connection without encryption, idle when it is made. ``begin`` sends the statement that starts the COPY, so
    that libpq never reads a byte of it."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        super().__init__(pgconn)
        self._room = _Room(bytearray(_ROOM_BYTES))

    def begin(self, sql: str, seconds: float) -> None:
        """Send the statement; return once the server has begun the COPY, else raise its error."""
        body = sql.encode() + b"\0"
        self._send(_HEAD.pack(b"Q", len(body) + 4) + body)
        until = time.monotonic() + seconds
        while (kind := self._other()) != _COPY_BOTH:
            if kind is None and not self._more(until - time.monotonic()) and time.monotonic() > until:
                raise psycopg.errors.OperationalError("the server does not answer")

    @property
    def _received(self) -> int:
        return self._room.filled - self._room.taken

    def _receive(self, seconds: float) -> None:
        self._room.make_free(PIECE_BYTES)
        if not self._complete():
            self._more(seconds)
        while self._received < self._most and self._more(0.0):
            pass

    def _complete(self) -> bool:
        """Whether a whole message waits."""
        end = frame_end(np.frombuffer(self._room.data, np.uint8), self._room.taken, self._room.filled)
        return end is not None and end <= self._room.filled

    def _more(self, seconds: float) -> bool:
        """Receive what is there; False if nothing came in time."""
        if self.ended or not self._wait(seconds):
            return False
        room = self._room
        if len(room.data) - len(PADDING) - room.filled < PIECE_BYTES // 2:
            room.make_free(max(PIECE_BYTES, room.filled - room.taken))
        try:
            count = self._socket.recv_into(memoryview(room.data)[room.filled : len(room.data) - len(PADDING)])
        except BlockingIOError:
            return False
        except OSError as error:
            raise ServerError({"C": _CONNECTION_LOST, "M": f"the connection broke: {error}"}) from error
        if not count:
            raise ServerError({"C": _CONNECTION_LOST, "M": "the server closed the connection"})
        room.filled += count
        return True

    def _take(self) -> Messages:
        room = self._room
        data = np.frombuffer(room.data, np.uint8)
        while True:
            frames = find_frames(data, room.taken, room.filled)
            if len(frames.starts) or self._other() is None:
                break
        room.taken = frames.end
        return Messages(room.data, frames.starts + HEAD_BYTES, frames.ends)

    def _other(self) -> int | None:
        """Take a message other than data; None if none waits. Raises the server's error."""
        room = self._room
        end = frame_end(np.frombuffer(room.data, np.uint8), room.taken, room.filled)
        if end is None or end > room.filled:
            return None
        kind, body = room.data[room.taken], bytes(room.data[room.taken + HEAD_BYTES : end])
        if kind == COPY_DATA:
            raise MalformedMessageError(f"a CopyData message of replication begins with {body[:1]!r}")
        room.taken = end
        if kind == _ERROR:
            fields = {chr(part[0]): part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
            raise ServerError(fields)
        if kind in (_COPY_DONE, _COMPLETE, _READY):
            self.ended = True
        elif kind not in (_NOTICE, _PARAMETER, _COPY_BOTH):
            raise MalformedMessageError(f"the server sent a message {chr(kind)!r} in the middle of replication")
        return kind

    def write(self, content: bytes) -> None:
        self._send(_HEAD.pack(b"d", len(content) + 4) + content)

    def end(self) -> None:
        self._send(_HEAD.pack(b"c", 4))

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                poll.poll(1000)
            except OSError as error:
                raise ServerError({"C": _CONNECTION_LOST, "M": f"the connection broke: {error}"}) from error
