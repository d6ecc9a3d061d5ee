"""Calls of plugins that have not returned while a job is planned, and since when they are under way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class PendingCall:
    """``path``: of the step, as the job file has it; ``since`` on the monotonic clock."""

    path: str
    method: str
    since: float


class PendingCalls:
    """The calls of one job to its plugins. Another thread may read them."""

    def __init__(self) -> None:
        self._open: dict[int, PendingCall] = {}
        """By thread: each waits for one answer."""

    @contextmanager
    def add(self, path: str, method: str) -> Iterator[None]:
        thread = threading.get_ident()
        self._open[thread] = PendingCall(path, method, time.monotonic())
        try:
            yield
        finally:
            self._open.pop(thread, None)

    def oldest(self) -> PendingCall | None:
        """The call that has been under way the longest."""
        return min(tuple(self._open.values()), key=lambda one: one.since, default=None)


_watched: ContextVar[PendingCalls | None] = ContextVar("pending_calls", default=None)


@contextmanager
def watched() -> Iterator[PendingCalls]:
    """Give the calls of the job that is planned inside, without those of another job in another thread."""
    calls = PendingCalls()
    token = _watched.set(calls)
    try:
        yield calls
    finally:
        _watched.reset(token)


@contextmanager
def asking(path: str, method: str) -> Iterator[None]:
    """Around a call of a plugin."""
    calls = _watched.get()
    if calls is None:
        yield
        return
    with calls.add(path, method):
        yield
