"""A slot's log from a position on: catches up through SQL where it is far ahead, then follows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from seatunnel_connectors.postgres_cdc.replication.catch_up import CatchUp
from seatunnel_connectors.postgres_cdc.replication.connection import Received, ReplicationStream

OpenStream = Callable[[int], ReplicationStream]
"""Opens the stream at a position."""


class SlotLog:
    """Reads a slot by SQL first, if its position is old, then as a stream. ``open_stream`` is called when catching up
    has ended, or at once."""

    def __init__(self, catch_up: CatchUp | None, open_stream: OpenStream, start: int) -> None:
        self._open_stream = open_stream
        self._catch_up = catch_up
        self._stream = None if catch_up is not None else open_stream(start)
        self._tables = 1

    def receive(self, seconds: float) -> Received:
        if self._stream is not None:
            return self._stream.receive(seconds)
        catch_up = self._catch_up
        assert catch_up is not None, "one of the two reads"
        found = catch_up.receive()
        if not found.ended:
            return found
        catch_up.close()
        self._stream = self._open_stream(catch_up.at)
        self._stream.expect(self._tables)
        return replace(found, ended=False)

    def confirm(self, position: int) -> None:
        """While catching up, the position waits for the stream."""
        if self._stream is not None:
            self._stream.confirm(position)

    def keep_alive(self) -> None:
        if self._stream is not None:
            self._stream.keep_alive()

    def expect(self, tables: int) -> None:
        self._tables = tables
        if self._stream is not None:
            self._stream.expect(tables)

    def interrupt(self) -> None:
        if self._stream is None and self._catch_up is not None:
            self._catch_up.interrupt()

    def stop(self) -> None:
        if self._stream is not None:
            self._stream.stop()

    def close(self) -> None:
        if self._catch_up is not None:
            self._catch_up.close()
