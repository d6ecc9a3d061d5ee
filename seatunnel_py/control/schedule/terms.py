"""The terms of a schedule as a person writes them, checked: each error names the value, the cause and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from seatunnel_py.config.resolve import did_you_mean
from seatunnel_py.control.schedule.timing import CronTiming, EveryTiming, Timing, moment_of
from seatunnel_py.errors import SeaTunnelError

FIELDS = 5
CRON_MAX = 200
EVERY_MIN, EVERY_MAX = 10, 366 * 86_400
YEARS = range(1970, 2200)
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_ANY_TIME = datetime(2027, 1, 1)  # noqa: DTZ001 - only to read an expression
_DURATION = re.compile(r"(\d{1,9})([smhd])", re.ASCII)


class ScheduleTermsError(SeaTunnelError):
    """The terms of a schedule are wrong."""


class Overlap(StrEnum):
    """If a run of the definition is under way at a time: skip the time, start once it has ended, or start beside it."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"


class Missed(StrEnum):
    """If times have passed while no server ran: skip them all, or start one run for all of them."""

    SKIP = "skip"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class ScheduleTerms:
    """Either ``cron`` with its ``zone``, or ``every`` so many seconds. ``begins``, ``ends``: the first and the last
    moment at which a run may begin, None: no limit."""

    cron: str = ""
    zone: str = "UTC"
    every: int = 0
    overlap: Overlap = Overlap.SKIP
    missed: Missed = Missed.SKIP
    begins: float | None = None
    ends: float | None = None

    def timing(self, anchor: float) -> Timing:
        """The times of the schedule; ``anchor``: from where an interval counts if it has no begin."""
        if self.cron:
            return CronTiming(self.cron, self.zone)
        return EveryTiming(self.every, anchor if self.begins is None else self.begins)

    def same_times(self, other: ScheduleTerms) -> bool:
        """Whether both have the same times."""
        return all(getattr(self, name) == getattr(other, name) for name in ("cron", "zone", "every", "begins", "ends"))


def terms_of(
    *,
    cron: str = "",
    zone: str = "UTC",
    every: int = 0,
    overlap: str = Overlap.SKIP,
    missed: str = Missed.SKIP,
    begins: str = "",
    ends: str = "",
) -> ScheduleTerms:
    """Checked terms. ``begins``, ``ends``: ISO 8601; without an offset they are times of the zone. Raises
    ScheduleTermsError."""
    if bool(cron) == bool(every):
        raise ScheduleTermsError("a schedule has either a cron expression or an interval", "give one of cron and every")
    if every and not EVERY_MIN <= every <= EVERY_MAX:
        raise ScheduleTermsError(f"an interval of {every} s is not possible", f"give {EVERY_MIN} to {EVERY_MAX} s")
    _require_zone(zone)
    expression = _checked_cron(cron) if cron else ""
    made = ScheduleTerms(
        expression,
        zone,
        every,
        Overlap(_chosen(overlap, Overlap, "overlap")),
        Missed(_chosen(missed, Missed, "missed")),
        _moment(begins, zone, "begins"),
        _moment(ends, zone, "ends"),
    )
    if made.begins is not None and made.ends is not None and made.begins > made.ends:
        raise ScheduleTermsError("the schedule ends before it begins", "make ends later than begins")
    return made


def require_future(terms: ScheduleTerms, now: float) -> None:
    """Raises ScheduleTermsError for terms that never start a run."""
    begin = now if terms.begins is None else max(now, terms.begins - 1)
    following = terms.timing(now).after(begin)
    if following is None:
        raise ScheduleTermsError(f"the times of {terms.cron!r} never come", "look at its day and its month")
    if terms.ends is not None and following > terms.ends:
        raise ScheduleTermsError("the schedule ends before its first time", "make ends later, or leave it empty")


def seconds_of(duration: str) -> int:
    """Seconds of a text such as 90s, 15m, 6h or 1d. Raises ScheduleTermsError."""
    found = _DURATION.fullmatch(duration.strip())
    if found is None:
        raise ScheduleTermsError(f"{duration!r} is not a duration", "write a number with its unit: 90s, 15m, 6h or 1d")
    return int(found[1]) * UNITS[found[2]]


def iso_of(moment: float | None, zone: str = "UTC") -> str:
    """A moment in ISO 8601, in the clocks of a zone; empty: there is none."""
    return "" if moment is None else datetime.fromtimestamp(moment, ZoneInfo(zone)).isoformat(timespec="seconds")


def _checked_cron(cron: str) -> str:
    """The expression with single blanks."""
    fields = cron.split()
    if len(fields) != FIELDS or len(cron) > CRON_MAX:
        raise ScheduleTermsError(
            f"{cron[:CRON_MAX]!r} does not have the {FIELDS} fields of a cron expression",
            "write minute, hour, day of the month, month and day of the week, as in: 30 3 * * MON-FRI",
        )
    try:
        CronSim(" ".join(fields), _ANY_TIME)
    except (CronSimError, ValueError, AssertionError, OverflowError, RecursionError) as error:
        why = str(error) or "it cannot be read"
        raise ScheduleTermsError(
            f"{cron!r} is not a cron expression: {why}", "write it as in: 30 3 * * MON-FRI, or */15 * * * *"
        ) from None
    return " ".join(fields)


@cache
def zones() -> frozenset[str]:
    """The names of all zones that this machine knows; "localtime" is another one on each."""
    return frozenset(available_timezones() - {"localtime", "Factory"})


def _require_zone(zone: str) -> None:
    if zone not in zones():
        meant = did_you_mean(zone, sorted(zones()))
        raise ScheduleTermsError(f"there is no time zone {zone!r}", f"{meant}write an IANA name, as Europe/Berlin")


def _chosen(given: str, valid: Iterable[StrEnum], what: str) -> str:
    names = [one.value for one in valid]
    if given not in names:
        meant = did_you_mean(given, names)
        raise ScheduleTermsError(f"{what} cannot be {given!r}", f"{meant}valid: {', '.join(names)}")
    return given


def _moment(text: str, zone: str, what: str) -> float | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.year not in YEARS:
        raise ScheduleTermsError(f"{what} is not a time: {text!r}", "write it as in 2027-03-01T06:00")
    found = found.replace(microsecond=0)
    return moment_of(found, ZoneInfo(zone)) if found.tzinfo is None else found.timestamp()


def plain_terms(terms: ScheduleTerms) -> dict[str, Any]:
    """The terms as plain data, as they were given."""
    limits = {name: iso_of(getattr(terms, name), terms.zone) for name in ("begins", "ends")}
    timing = {"cron": terms.cron, "zone": terms.zone, "every": terms.every}
    return {**timing, "overlap": terms.overlap.value, "missed": terms.missed.value, **limits}
