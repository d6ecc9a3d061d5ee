"""What follows from a failed attempt: try the same again, or say that this life cannot do it. Pure.

A lost worker says nothing about the rows, so it is tried again at once; a plugin that calls its failure retriable
gets growing pauses, and since most of these are over at once the first is short; a fatal one is believed; an exception
that nobody foresaw gets one more chance.

What is retriable may pass, so that attempts are not all: the vertex restarts ``times`` times, and has all its attempts
in each life; in an unbounded pipeline these never end. A commit begins no life, and has as many tries as all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.errors import TimeLimitError
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.work.unit import FailureKind, UnitFailure


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``times`` bounds the attempts after the first; pauses grow fivefold from ``interval_seconds / 32`` up to it."""

    times: int = 3
    interval_seconds: float = 3.0

    def delay(self, failure: UnitFailure, attempt: int) -> float | None:
        """Seconds until the next attempt after attempt number ``attempt`` (from 0) failed; None: give up."""
        allowed = min(self.times, _ALLOWED.get(failure.kind, self.times))
        if attempt >= allowed:
            return None
        if failure.kind is FailureKind.LOST:
            return 0.0
        longest = self.interval_seconds
        return Backoff(first=longest / 32, factor=5.0, longest=longest).pause(attempt)

    @staticmethod
    def restarts(failure: UnitFailure, *, bounded: bool) -> bool:
        """Whether another life is worth it once all attempts of this one have failed so. What a server ends for its
        time takes as long in the next one; a stream goes on trying."""
        limited = bounded and failure.error_type.endswith(f".{TimeLimitError.__name__}")
        return failure.kind is FailureKind.RETRIABLE and not limited

    @property
    def commit_tries(self) -> int:
        """How often a commit that may pass is tried in a row, in a pipeline that ends."""
        return int((self.times + 1) ** 2)


_ALLOWED = {FailureKind.FATAL: 0, FailureKind.UNEXPECTED: 1, FailureKind.DEADLINE: 1}
