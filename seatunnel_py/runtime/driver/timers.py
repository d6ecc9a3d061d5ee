"""What the loop calls later. A second call under one key takes the place of the first, which then never comes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

Key = tuple[Any, ...]


class Timers:
    """Of one loop, in the time that it goes by."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Key, Callable[[], None]]] = []
        self._current: dict[Key, int] = {}
        self._numbers = count()

    def after(self, key: Key, at: float, call: Callable[[], None]) -> None:
        """Call ``at`` this time."""
        number = self._current[key] = next(self._numbers)
        heapq.heappush(self._waiting, (at, number, key, call))

    def forget(self, key: Key) -> None:
        """Do not call what waits under this key."""
        self._current.pop(key, None)

    def pause(self, now: float) -> float | None:
        """How long nothing is due; None: nothing ever is."""
        return max(0.0, self._waiting[0][0] - now) if self._waiting else None

    def due(self, now: float) -> Iterator[Callable[[], None]]:
        """What is to be called by now, in order."""
        while self._waiting and self._waiting[0][0] <= now:
            _, number, key, call = heapq.heappop(self._waiting)
            if self._current.get(key) == number:
                del self._current[key]
                yield call
