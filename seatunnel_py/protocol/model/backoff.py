"""Number of retries and the pauses between them. Time and randomness are arguments.

May not know: what is retried, and why it failed (``decisions.py``).

Rules. (B1) Retries are limited: after ``retries`` of them without a stable period the result is None (I26, F3). (B2)
The pause grows by ``factor`` with each retry, up to ``longest``. (B3) A stable period of ``reset_after``
seconds between the end of a pause and the next failure resets the retries; the pause itself does not count as stable.
(B4) Jitter only shortens a pause, by a given fraction, so the limit of B2 holds for any random value.
(B5) A clock that jumps changes a pause and may reset retries too early or too late, nothing else (I49, F27).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retries:
    """Number of retries since the last stable period, and the due time of the last one."""

    used: int = 0
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Times in seconds; ``reset_after`` is ``job.retry.reset-after``. Raises ValueError for values without a limit."""

    retries: int = 5
    first: float = 1.0
    factor: float = 2.0
    longest: float = 60.0
    reset_after: float = 600.0

    def __post_init__(self) -> None:
        if self.retries < 0 or not 0 <= self.first <= self.longest or self.factor < 1 or self.reset_after < 0:
            raise ValueError(f"no backoff can follow {self}")

    def next(self, state: Retries, at: float, jitter: float = 0.0) -> tuple[Retries, float | None]:
        """After a failure ``at``: return the new state and the pause before the next try; None if no try is left.

        ``jitter``: fraction, from 0 to 1, by which this pause is shortened (B4).
        """
        if not 0 <= jitter <= 1:
            raise ValueError(f"a jitter of {jitter} is not a fraction from 0 to 1")
        used = 0 if at - state.due >= self.reset_after else state.used
        if used >= self.retries:
            return Retries(used, state.due), None
        pause = self.pause(used) * (1 - jitter)
        return Retries(used + 1, at + pause), pause

    def pause(self, used: int) -> float:
        """The pause before the next retry after ``used`` retries, without jitter."""
        pause = self.first
        # In steps, because a power could overflow before the limit applies.
        for _ in range(used):
            pause = min(pause * self.factor, self.longest)
        return pause
