"""How often, and after which pause, something is tried again. Time and chance are handed in.

May not know: what is tried, and why it failed (``failover.py``).

Rules. (B1) Retries are bounded: after ``retries`` of them without a stable period the answer is None (I26, F3). (B2)
The pause grows by ``factor`` with each retry, and never beyond ``longest``. (B3) A stable period of ``reset_after``
seconds between the end of a pause and the next failure forgets the retries before it; the pause itself is no stable
period. (B4) Jitter only shortens a pause, by a fraction that is handed in: the bound of B2 holds whatever the chance.
(B5) A clock that jumps moves a pause and may forget retries too early or too late, nothing else (I49, F27).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retries:
    """How many retries there were since the last stable period, and when the last one was due to begin."""

    used: int = 0
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Times in seconds; ``reset_after`` is ``job.retry.reset-after``. Raises ValueError where no bound would hold."""

    retries: int = 5
    first: float = 1.0
    factor: float = 2.0
    longest: float = 60.0
    reset_after: float = 600.0

    def __post_init__(self) -> None:
        if self.retries < 0 or not 0 <= self.first <= self.longest or self.factor < 1 or self.reset_after < 0:
            raise ValueError(f"no backoff can follow {self}")

    def next(self, state: Retries, at: float, jitter: float = 0.0) -> tuple[Retries, float | None]:
        """After a failure ``at``: the new state and the pause before the next try; None when there is none left.

        ``jitter`` is the fraction, from 0 to 1, by which this pause is shortened (B4).
        """
        if not 0 <= jitter <= 1:
            raise ValueError(f"a jitter of {jitter} is no fraction")
        used = 0 if at - state.due >= self.reset_after else state.used
        if used >= self.retries:
            return Retries(used, state.due), None
        pause = self.pause(used) * (1 - jitter)
        return Retries(used + 1, at + pause), pause

    def pause(self, used: int) -> float:
        """The pause before the retry that follows ``used`` others, without jitter."""
        pause = self.first
        # Step by step, since a power would overflow long before it is cut off.
        for _ in range(used):
            pause = min(pause * self.factor, self.longest)
        return pause
