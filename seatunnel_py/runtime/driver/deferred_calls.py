"""Queues calls until `begin()`, then makes them in order; later calls are made at once."""

from __future__ import annotations

from collections.abc import Callable


class DeferredCalls:
    """Takes calls: queues them before `begin()`, makes them at once after it. For one thread."""

    def __init__(self) -> None:
        self._held: list[Callable[[], None]] | None = []

    def __call__(self, call: Callable[[], None]) -> None:
        if self._held is None:
            call()
        else:
            self._held.append(call)

    def begin(self) -> None:
        """Make the queued calls."""
        held, self._held = self._held, None
        for call in held or ():
            call()
