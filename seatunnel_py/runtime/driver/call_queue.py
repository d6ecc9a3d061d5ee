"""Queues calls for the loop of a driver, from any thread and from signal handlers.

``queue.SimpleQueue`` is not used: before Python 3.13 its ``get`` waits forever if the timeout is over before the wait
begins, because it takes the negative rest for no limit. A driver whose next timer was due in a microsecond never woke
up. ``queue.Queue`` is not used either: a signal handler that calls ``put`` within ``get`` would wait for itself.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

Call = Callable[[], None]


class CallQueue:
    """Calls in their order; one thread takes them. ``_wake`` is free after each ``put``, and taken before a wait."""

    def __init__(self) -> None:
        self._calls: deque[Call] = deque()
        self._wake = threading.Lock()

    def put(self, call: Call) -> None:
        """Add a call. Waits for nothing."""
        self._calls.append(call)
        if self._wake.locked():
            with suppress(RuntimeError):  # another thread has released it meanwhile
                self._wake.release()

    def get(self, seconds: float | None) -> Call | None:
        """Remove and return the oldest call. Waits at most so long; None: without a limit. Returns None without one."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            if self._calls:
                return self._calls.popleft()
            if not self._wake.acquire(timeout=-1 if until is None else max(0.0, until - time.monotonic())):
                return None
