"""Schedules calls of the loop. A second call with the same key replaces the first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

Key = tuple[Any, ...]


class Timers:
    """Timers of one loop, in the time of its clock."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Key, Callable[[], None]]] = []
        self._current: dict[Key, int] = {}
        self._numbers = count()

    def after(self, key: Key, at: float, call: Callable[[], None]) -> None:
        """Schedule a call for the time ``at``."""
        number = self._current[key] = next(self._numbers)
        heapq.heappush(self._waiting, (at, number, key, call))

    def forget(self, key: Key) -> None:
        """Cancel the call with this key."""
        self._current.pop(key, None)

    def pause(self, now: float) -> float | None:
        """Return the seconds until the next call; None: there is none."""
        return max(0.0, self._waiting[0][0] - now) if self._waiting else None

    def due(self, now: float) -> Iterator[Callable[[], None]]:
        """Remove and return the calls that are due, in order."""
        while self._waiting and self._waiting[0][0] <= now:
            _, number, key, call = heapq.heappop(self._waiting)
            if self._current.get(key) == number:
                del self._current[key]
                yield call
