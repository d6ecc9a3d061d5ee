"""A borrowed connection that is held from one call to another, until the unit that uses it ends."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class HeldConnection(Generic[T]):
    """Enters a context now and leaves it later: by ``release`` back into the pool, by ``discard`` closed. A server
    undoes all open work of a closed connection. ``release`` and ``discard`` may be called again without effect."""

    def __init__(self, context: AbstractContextManager[T]) -> None:
        self.connection = context.__enter__()
        self._context: AbstractContextManager[T] | None = context

    def release(self) -> None:
        context, self._context = self._context, None
        if context is not None:
            context.__exit__(None, None, None)

    def discard(self) -> None:
        context, self._context = self._context, None
        if context is not None:
            error = ConnectionAbortedError("the unit was aborted")
            with suppress(ConnectionAbortedError):
                context.__exit__(type(error), error, None)
