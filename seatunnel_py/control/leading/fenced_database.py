"""The database as the leader writes to it: no write of a server that was overtaken is kept.

Rules. (1) A write fails before it begins if this server does not lead by its own clock. (2) It fails if the lease in
the database has another number, or has expired. The row of the lease stays locked until the write ends, so no other
server takes over in between. (3) An effect beside the database is confirmed right before: it has no transaction. (4)
Rows that were read under one lease lead to no write under a later one: another server may have led in between.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from seatunnel_py.control.leading import lease
from seatunnel_py.control.leading.leadership import Leadership
from seatunnel_py.control.store.database import Database, StaleLeaseError


class FencedDatabase(Database):
    """A database that others use, too. ``leadership``: of this server."""

    def __init__(self, shared: Database, leadership: Leadership) -> None:
        self.place, self._now, self._lock = shared.place, shared._now, shared._lock
        self._writer, self._readers = shared._writer, shared._readers
        self._leadership = leadership
        self._term = threading.local()

    @property
    def fence(self) -> int | None:
        return getattr(self._term, "number", self._leadership.number)

    @contextmanager
    def term(self) -> Iterator[None]:
        self._term.number = self._leadership.number
        try:
            yield
        finally:
            del self._term.number

    def confirm(self) -> None:
        with self.writing():
            pass

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        number = self.fence
        if number is None or number != self._leadership.number:
            raise self._stale()
        with super().writing() as connection:
            if not lease.is_valid(connection, number):
                raise self._stale()
            yield connection

    def _stale(self) -> StaleLeaseError:
        leader = self._leadership.standing().leader
        named = f"the server at {leader} leads" if leader else "another server may lead"
        return StaleLeaseError(f"this server does not lead any more: {named}", "it takes over when that one is away")
