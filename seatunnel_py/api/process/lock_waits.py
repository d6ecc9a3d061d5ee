"""How long a plugin may wait for locks of others: a command that only looks must not stand in a queue, where it keeps
everybody behind it waiting as well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_limit: ContextVar[float | None] = ContextVar("lock_timeout", default=None)


def lock_timeout() -> float | None:
    """Seconds that a session may wait for a lock, while tables are described or planned. None: as long as it takes.
    A session that is opened sets this limit where its server has one, and is kept apart in the pool."""
    return _limit.get()


@contextmanager
def limited_lock_waits(seconds: float) -> Iterator[None]:
    """Around questions that plugins are asked on this thread."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)
