"""The calls of one pipeline that other threads work on, by number.

Rules. (1) A pipeline waits for all of them before it is closed. (2) A number is used once: an answer to a call that is
not known is late or double, and begins nothing. (3) A call that may succeed later is made again after a pause, under a
new number; the pause itself keeps nothing open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from seatunnel_py.runtime.messages import effects


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call under way. ``name``: for messages, not unique; ``since``: when it was made; ``tries``: how often it has
    failed before; ``retried``: whether a failure that may pass leads to another try."""

    effect: effects.Call
    name: str
    since: float
    tries: int = 0
    retried: bool = True


class Calls:
    """The calls of one pipeline. ``unknown``: number of answers without an open call."""

    def __init__(self) -> None:
        self._open: dict[int, OpenCall] = {}
        self._pausing: dict[int, OpenCall] = {}
        self._last = 0
        self.unknown = 0

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[OpenCall]:
        return iter(self._open.values())

    def next_number(self) -> int:
        """Return a new call number."""
        self._last += 1
        return self._last

    def begins(self, call: OpenCall) -> None:
        """Add a call under way."""
        self._open[call.effect.call] = call

    def ends(self, number: int) -> OpenCall | None:
        """Remove an answered call; None: it was not open."""
        call = self._open.pop(number, None)
        self.unknown += call is None
        return call

    def pauses(self, call: OpenCall) -> int:
        """Keep a failed call for its next try; return the number under which it waits."""
        self._pausing[call.effect.call] = replace(call, tries=call.tries + 1, retried=True)
        return call.effect.call

    def again(self, number: int) -> OpenCall | None:
        """Return the call that waits under this number, to be made again."""
        return self._pausing.pop(number, None)
