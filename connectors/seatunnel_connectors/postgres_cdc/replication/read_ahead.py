"""Reads a log ahead of its reader in a thread, and keeps the connection alive.

Rules. (1) Only the thread uses the connection. (2) Pieces are given in the order in which they came; an error comes
after the pieces before it. (3) The thread stops reading while ``AHEAD_BYTES`` wait, but goes on to answer the
server: a sink that is blocked, however long, costs no connection (F-C14). (4) Positions are confirmed by the thread,
never by what was read ahead.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from seatunnel_connectors.postgres_cdc.pgoutput.messages import PADDING, Messages
from seatunnel_connectors.postgres_cdc.replication.connection import Received

AHEAD_BYTES = 2 << 20
TOGETHER_BYTES, TOGETHER_BYTES_MAX = 1 << 20, 4 << 20
"""Bytes that are given as one piece: for one table, and for many. A piece with rows of many tables makes a batch of
each, and a small batch costs as much as a large one."""
PAUSE_SECONDS = 0.05
STOP_SECONDS = 10.0
_NOTHING = Messages.of(())


class Log(Protocol):
    """A log that is read by one thread. ``interrupt`` is called by another one: it ends a call that waits."""

    def receive(self, seconds: float) -> Received: ...
    def confirm(self, position: int) -> None: ...
    def keep_alive(self) -> None: ...
    def expect(self, tables: int) -> None: ...
    def interrupt(self) -> None: ...
    def stop(self) -> None: ...


class ReadAhead:
    """A log whose next pieces are read already."""

    def __init__(self, log: Log, confirmed: int = 0, ahead_bytes: int = AHEAD_BYTES) -> None:
        self._log = log
        self._confirmed = confirmed
        self._ahead_bytes = ahead_bytes
        self._together_bytes = TOGETHER_BYTES
        self._pieces: deque[Received] = deque()
        self._bytes = self._wal_end = 0
        self._error: Exception | None = None
        self._ends = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="read-ahead", daemon=True)

    def begin(self, tables: int) -> None:
        """Start to read; ``tables`` as in ``ReplicationStream.expect``."""
        self._log.expect(tables)
        self._together_bytes = min(TOGETHER_BYTES * max(1, tables // 2), TOGETHER_BYTES_MAX)
        self._thread.start()

    def receive(self, seconds: float) -> Received:
        """The pieces that have come, as one; an empty one after ``seconds``. Raises the log's errors."""
        with self._changed:
            self._changed.wait_for(lambda: self._pieces or self._error, seconds)
            if not self._pieces and self._error is not None:
                raise self._error
            found, size = list[Received](), 0
            while self._pieces and size < self._together_bytes:
                found.append(self._pieces.popleft())
                size += len(found[-1].messages.buffer)
            self._bytes -= size
            self._changed.notify_all()
        self._wal_end = found[-1].wal_end if found else self._wal_end
        return _together(found) if found else Received(_NOTHING, self._wal_end, None, False)

    def confirm(self, position: int) -> None:
        """Everything before the position is durable: the thread confirms it to the server."""
        self._confirmed = max(self._confirmed, position)

    def stop(self) -> None:
        """Stop reading, confirm, and end the log in order unless it has failed."""
        with self._changed:
            self._ends = True
            self._changed.notify_all()
        self._log.interrupt()
        self._thread.join(STOP_SECONDS)
        if self._error is None and not self._thread.is_alive():
            self._log.confirm(self._confirmed)
            self._log.stop()

    # ---------------------------------------------------------------- the thread

    def _run(self) -> None:
        try:
            while not self._ends and not self._read():
                pass
        except Exception as error:  # noqa: BLE001 - the reader raises it
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _read(self) -> bool:
        """Take one piece of the log; True at its end."""
        self._log.confirm(self._confirmed)
        found = self._log.receive(PAUSE_SECONDS)
        if len(found.messages) or found.idle_end is not None or found.ended:
            self._put(_kept(found))
        return found.ended

    def _put(self, piece: Received) -> None:
        while not self._has_room():
            self._log.confirm(self._confirmed)
            self._log.keep_alive()
        with self._changed:
            self._pieces.append(piece)
            self._bytes += len(piece.messages.buffer)
            self._changed.notify_all()

    def _has_room(self) -> bool:
        """Whether another piece may wait; False after a moment."""
        with self._changed:
            return self._changed.wait_for(lambda: self._bytes < self._ahead_bytes or self._ends, PAUSE_SECONDS)


def _together(pieces: Sequence[Received]) -> Received:
    """Pieces as one: a batch costs the same however small it is, and there is one for each table of a piece."""
    *_, last = pieces
    if len(pieces) == 1:
        return last
    padding = len(PADDING)
    sizes = [len(one.messages.buffer) - padding for one in pieces]
    shifts = [*itertools.accumulate(sizes, initial=0)]
    buffer = b"".join([*(one.messages.buffer[:size] for one, size in zip(pieces, sizes, strict=True)), PADDING])
    bounds = [*zip((one.messages for one in pieces), shifts[:-1], strict=True)]
    starts = np.concatenate([one.starts + shift for one, shift in bounds])
    ends = np.concatenate([one.ends + shift for one, shift in bounds])
    return Received(Messages(buffer, starts, ends), last.wal_end, last.idle_end, last.ended)


def _kept(found: Received) -> Received:
    """Copy the messages into a buffer of their own: the log fills its buffer again."""
    messages = found.messages
    if isinstance(messages.buffer, bytes):
        return found
    if not len(messages):
        return Received(_NOTHING, found.wal_end, found.idle_end, found.ended)
    first, last = int(messages.starts[0]), int(messages.ends[-1])
    buffer = bytes(memoryview(messages.buffer)[first:last]) + PADDING
    kept = Messages(buffer, messages.starts - np.int64(first), messages.ends - np.int64(first))
    return Received(kept, found.wal_end, found.idle_end, found.ended)
