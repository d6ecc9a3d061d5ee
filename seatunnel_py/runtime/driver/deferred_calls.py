"""What waits for something to begin, in order; from then on nothing does."""

from __future__ import annotations

from collections.abc import Callable


class DeferredCalls:
    """``h(call)`` calls, now or when it has begun. For one thread."""

    def __init__(self) -> None:
        self._held: list[Callable[[], None]] | None = []

    def __call__(self, call: Callable[[], None]) -> None:
        if self._held is None:
            call()
        else:
            self._held.append(call)

    def begin(self) -> None:
        """It has begun."""
        held, self._held = self._held, None
        for call in held or ():
            call()
