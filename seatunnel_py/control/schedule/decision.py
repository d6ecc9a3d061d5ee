"""Decides which times of a schedule start a run now. Pure: the performer does what it decides.

Rules. (1) Each time is decided once, in order: ``decided`` is the last one. (2) At most one start at once. (3) A time
that is later than ``ON_TIME_SECONDS`` was missed. (4) A time that starts nothing leaves a fire with the reason. (5) A
clock that goes back by hours waits until it is there again, so that no time comes twice; one that goes back by more
than ``CLOCK_SECONDS`` was wrong before, and the schedule goes on from now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from seatunnel_py.control.schedule.terms import Missed, Overlap, ScheduleTerms, iso_of
from seatunnel_py.control.schedule.timing import Timing
from seatunnel_py.control.store.intents import StartOptions

ON_TIME_SECONDS = 60.0
CLOCK_SECONDS = 86_400.0


class FireOutcome(StrEnum):
    """The answer to a time. ``QUEUED``: it starts a run once the one before has ended; ``REFUSED``: no run could be
    asked for."""

    STARTED = "started"
    QUEUED = "queued"
    SKIPPED = "skipped"
    MISSED = "missed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Fire:
    """A time of a schedule with its outcome. ``run``: the one that it started."""

    due: float
    outcome: FireOutcome
    why: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule of a definition. ``number`` counts its changes; ``anchor``: from where an interval counts;
    ``decided``: its times up to this one are decided; ``queued``: the time that waits for the end of a run, None: none
    does."""

    id: str
    definition: str
    terms: ScheduleTerms
    options: StartOptions = field(default_factory=StartOptions)
    paused: bool = False
    number: int = 1
    anchor: float = 0.0
    decided: float = 0.0
    queued: float | None = None
    created_at: float = 0.0
    created_by: str = ""
    changed_at: float = 0.0

    @property
    def timing(self) -> Timing:
        """Its times."""
        return self.terms.timing(self.anchor)


@dataclass(frozen=True, slots=True)
class ScheduleDecision:
    """``fires``: at most one of them starts a run; ``decided``, ``queued``: the state after them."""

    fires: Sequence[Fire]
    decided: float
    queued: float | None


def decide_times(now: float, schedule: Schedule, under_way: Sequence[str]) -> ScheduleDecision:
    """The acts of a schedule now. ``under_way``: the runs of its definition that wait or are alive."""
    if schedule.paused:
        return ScheduleDecision((), schedule.decided, schedule.queued)
    decided = _decided(now, schedule)
    if schedule.queued is not None and not under_way:  # times that are due as well come next
        return ScheduleDecision((Fire(schedule.queued, FireOutcome.STARTED),), decided, None)
    begin, end = _limits(now, schedule.terms, decided)
    first = schedule.timing.after(begin)
    if first is None or first > end:
        return ScheduleDecision((), decided, schedule.queued)
    due = schedule.timing.last(begin, end)
    assert due is not None, "the first one is there"
    late = now - due > ON_TIME_SECONDS and schedule.terms.missed is Missed.SKIP
    fires = [_missed(first, due, schedule.terms.zone, late=late)] if late or first < due else []
    queued = schedule.queued
    if not late:
        fires.append(_of_time(due, schedule.terms.overlap, under_way, queued))
        queued = due if fires[-1].outcome is FireOutcome.QUEUED else queued
    return ScheduleDecision(fires, due, queued)


def following(now: float, schedule: Schedule) -> float | None:
    """The next time of a schedule; None: it is paused, or has ended."""
    if schedule.paused:
        return None
    begin, _ = _limits(now, schedule.terms, max(_decided(now, schedule), now))
    found = schedule.timing.after(begin)
    ends = schedule.terms.ends
    return None if found is None or (ends is not None and found > ends) else found


def _limits(now: float, terms: ScheduleTerms, decided: float) -> tuple[float, float]:
    begin = decided if terms.begins is None else max(decided, terms.begins - 1)
    return begin, now if terms.ends is None else min(now, terms.ends)


def _decided(now: float, schedule: Schedule) -> float:
    return now if schedule.decided - now > CLOCK_SECONDS else schedule.decided


def _missed(first: float, due: float, zone: str, *, late: bool) -> Fire:
    """The fire of the times that were missed; ``late``: ``due``, the last time, is one of them."""
    last = iso_of(due, zone)
    times = "it" if first == due else f"it and the times {'until' if late else 'before'} {last}"
    return Fire(first, FireOutcome.MISSED, f"{times} passed while no server could start runs")


def _of_time(due: float, overlap: Overlap, running: Sequence[str], queued: float | None) -> Fire:
    if not running or overlap is Overlap.ALLOW:
        return Fire(due, FireOutcome.STARTED)
    if overlap is Overlap.QUEUE and queued is None:
        return Fire(due, FireOutcome.QUEUED, f"a run is under way: {running[0]}")
    why = "a start waits already" if overlap is Overlap.QUEUE else f"a run is under way: {running[0]}"
    return Fire(due, FireOutcome.SKIPPED, why)
