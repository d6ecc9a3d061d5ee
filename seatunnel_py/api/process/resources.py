"""Pools connections and other expensive resources of a worker process between units.

Each process has a pool, keyed by configuration. The pool closes connections that have been idle for long, because they
may be lost without notice. A native client is opened inside a unit, never at import or before a fork: after a fork the
pool drops inherited connections.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

IDLE_SECONDS_MAX = 30.0  # a pause between units is shorter; targets should not keep idle connections longer
IDLE_PER_KEY_MAX = 8  # a machine has no more slots that could use them


@dataclass(slots=True)
class _Idle:
    resource: Any
    close: Callable[[Any], None]
    since: float


@dataclass(frozen=True, slots=True, eq=False)
class _Lent:
    resource: Any
    sever: Callable[[Any], None]
    since: float


class _Pool:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lent: set[_Lent] = set()
        self.process = os.getpid()
        self.idle: dict[Hashable, list[_Idle]] = {}
        self.inherited: list[dict[Hashable, list[_Idle]]] = []

    def take(self, key: Hashable) -> Any | None:
        with self.lock:
            self._forget_after_fork()
            expired = self._expired()
            entries = self.idle.get(key)
            found = entries.pop().resource if entries else None
        for entry in expired:
            entry.close(entry.resource)
        return found

    def give(self, key: Hashable, resource: Any, close: Callable[[Any], None]) -> None:
        with self.lock:
            self._forget_after_fork()
            entries = self.idle.setdefault(key, [])
            entries.append(_Idle(resource, close, time.monotonic()))
            expired = self._expired()
            expired += [entries.pop(0) for _ in range(len(entries) - IDLE_PER_KEY_MAX)]
        for entry in expired:
            entry.close(entry.resource)

    def clear(self) -> None:
        with self.lock:
            entries = [entry for held in self.idle.values() for entry in held]
            self.idle.clear()
        for entry in entries:
            entry.close(entry.resource)

    def _expired(self) -> list[_Idle]:
        limit = time.monotonic() - IDLE_SECONDS_MAX
        expired: list[_Idle] = []
        for key, entries in list(self.idle.items()):
            expired += [entry for entry in entries if entry.since < limit]
            self.idle[key] = [entry for entry in entries if entry.since >= limit]
        return expired

    def _forget_after_fork(self) -> None:
        """Drop inherited resources without closing them: closing would break the parent's connection, and a native
        client that is garbage collected in a child waits for threads that do not exist there."""
        if self.process != os.getpid():
            self.process = os.getpid()
            self.inherited.append(self.idle)
            self.idle = {}


_pool = _Pool()


@contextmanager
def borrow(
    key: Hashable, make: Callable[[], T], close: Callable[[T], None], sever: Callable[[T], None] | None = None
) -> Iterator[T]:
    """Take a resource from the pool (or create one), and return it after the block. ``sever`` closes its connection
    from another thread, so that a call that waits for a reply fails.

    After an exception in the block it is closed instead: its last statement has failed or was interrupted. ``close``
    must not raise for a broken resource.
    """
    resource = _pool.take(key)
    if resource is None:
        resource = make()
    lent = _Lent(resource, sever, time.monotonic()) if sever is not None else None
    if lent is not None:
        _pool.lent.add(lent)
    try:
        yield resource
    except BaseException:
        close(resource)
        raise
    finally:
        if lent is not None:
            _pool.lent.discard(lent)
    _pool.give(key, resource, close)


def sever_lent(seconds: float) -> int:
    """Cut the connections of this process that have been in use for so many seconds; return their number."""
    limit = time.monotonic() - seconds
    stuck = [one for one in tuple(_pool.lent) if one.since < limit]
    for one in stuck:
        with suppress(Exception):  # it may have closed by itself
            one.sever(one.resource)
    return len(stuck)


def close_all() -> None:
    """Close all idle resources of this process, at the end of a job and between tests."""
    _pool.clear()
