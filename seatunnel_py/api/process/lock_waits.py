"""Limits the time that a plugin waits for locks of other sessions. A read-only command must not stay in a lock queue,
where it also blocks every later session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_limit: ContextVar[float | None] = ContextVar("lock_timeout", default=None)


def lock_timeout() -> float | None:
    """Seconds that a session may wait for a lock while tables are described or planned; None: no limit.
    A new session sets this limit if its server supports one, and has a separate key in the pool."""
    return _limit.get()


@contextmanager
def limited_lock_waits(seconds: float) -> Iterator[None]:
    """Set the limit for plugin calls of this thread inside the block."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)
