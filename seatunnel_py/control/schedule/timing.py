"""The times of a schedule: those of a cron expression in a zone, or an interval. Pure.

Rules of clocks that change. (1) A local time that does not exist is the first moment after the gap. (2) A local time
that exists twice is the first of both. (3) Times that become the same moment are one time. (4) An interval counts real
seconds, and no clock changes it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim

WINDOW_SECONDS = 3_600.0
WINDOW_GROWTH = 30


class Timing(Protocol):
    """The times of a schedule: whole seconds since 1970, in UTC."""

    def after(self, at: float) -> float | None:
        """The first time after ``at``; None: there is none in the next fifty years."""

    def last(self, after: float, until: float) -> float | None:
        """The last time after ``after`` and not after ``until``."""


@dataclass(frozen=True, slots=True)
class EveryTiming:
    """Every so many seconds, counted from ``anchor``."""

    seconds: int
    anchor: float

    def after(self, at: float) -> float | None:
        """As ``Timing``."""
        steps = max(0, int((at - self.anchor) // self.seconds) + 1)
        return self.anchor + steps * self.seconds

    def last(self, after: float, until: float) -> float | None:
        """As ``Timing``."""
        steps = int((until - self.anchor) // self.seconds)
        found = self.anchor + steps * self.seconds
        return found if steps >= 0 and found > after else None


@dataclass(frozen=True, slots=True)
class CronTiming:
    """A cron expression of five fields, as Debian's cron reads it, for the clocks of a zone."""

    cron: str
    zone: str

    def after(self, at: float) -> float | None:
        """As ``Timing``."""
        return _after(self, at)

    def last(self, after: float, until: float) -> float | None:
        """As ``Timing``. Looks into ever longer times before ``until``, so that a year of minutes is not counted."""
        window = WINDOW_SECONDS
        while True:
            begin = max(after, until - window)
            found = None
            for moment in self.moments(begin):
                if moment > until:
                    break
                found = moment
            if found is not None or begin <= after:
                return found
            window *= WINDOW_GROWTH

    def moments(self, after: float) -> Iterator[float]:
        """All times after this one, in order."""
        zone = ZoneInfo(self.zone)
        before = after
        for wall in CronSim(self.cron, _wall_of(after, zone)):
            moment = moment_of(wall, zone)
            if moment > before:
                yield moment
                before = moment


@lru_cache(maxsize=4_096)
def _after(timing: CronTiming, at: float) -> float | None:
    """Kept, because each turn of the server asks the same again."""
    return next(timing.moments(at), None)


def moment_of(wall: datetime, zone: ZoneInfo) -> float:
    """The moment at which the clocks of a zone show this time first, or go past it."""
    first = wall.replace(tzinfo=zone, fold=0).timestamp()
    if _wall_of(first, zone) == wall:
        return first
    begin = int(wall.replace(tzinfo=zone, fold=1).timestamp())  # before the gap, as ``first`` is after it
    moments = range(begin, int(first) + 1)
    return float(moments[bisect_left(moments, wall, key=lambda moment: _wall_of(moment, zone))])


def _wall_of(moment: float, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(moment, zone).replace(tzinfo=None, fold=0)
