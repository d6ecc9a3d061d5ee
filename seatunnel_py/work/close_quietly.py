"""Closes the resources that a unit has opened."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress


def quietly(close: Callable[[], object]) -> None:
    """Closing must not hide why a unit failed, nor fail a unit whose rows have all passed."""
    with suppress(Exception, SystemExit):
        close()


def stop(items: object) -> None:
    """A generator that is stopped half-way returns its connection when it is closed; other iterators have nothing to
    close."""
    close = getattr(items, "close", None)
    if close is not None:
        quietly(close)
