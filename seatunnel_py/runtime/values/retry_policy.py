"""Decides after a failed attempt whether another one follows, and after which pause. Pure.

After a lost worker the unit is tried again at once, because the rows are not to blame. A retriable failure of a plugin
leads to growing pauses; the first is short, because most such failures are over at once. A fatal failure is not
retried; an unexpected exception is retried once.

A retriable failure may pass, so further attempts follow: the vertex restarts ``times`` times, and has all its attempts
in each execution; in an unbounded pipeline it restarts without a limit. A commit has as many tries as a unit in all its
executions.
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
        """Whether the vertex restarts after all attempts have failed in this way. A bounded pipeline does not restart
        after a time limit of the server, because the next execution would take as long."""
        limited = bounded and failure.error_type.endswith(f".{TimeLimitError.__name__}")
        return failure.kind is FailureKind.RETRIABLE and not limited

    @property
    def commit_tries(self) -> int:
        """How often a commit that may pass is tried in a row, in a pipeline that ends."""
        return int((self.times + 1) ** 2)


_ALLOWED = {FailureKind.FATAL: 0, FailureKind.UNEXPECTED: 1, FailureKind.DEADLINE: 1}
