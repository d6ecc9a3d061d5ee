"""Schedules as plain data: the same for the server's answers and for the command line with ``--json``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

from sqlalchemy import Connection

from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.decision import Schedule, following
from seatunnel_py.control.schedule.stored_schedules import StoredFire
from seatunnel_py.control.schedule.terms import ScheduleTerms, iso_of, plain_terms


def plain_schedule(connection: Connection, schedule: Schedule, now: float, fault: str = "") -> dict[str, Any]:
    """A schedule. ``next``: its next time; ``last``: its newest fire; ``fault``: why it cannot be decided."""
    newest = stored_schedules.fires(connection, schedule.id, limit=1)
    about = {"id": schedule.id, "definition": schedule.definition, **plain_terms(schedule.terms)}
    made = {"created_at": schedule.created_at, "created_by": schedule.created_by, "changed_at": schedule.changed_at}
    state = {"paused": schedule.paused, "queued": schedule.queued, "fault": fault}
    times = {"next": next_start([schedule], now), "last": plain_fire(newest[0]) if newest else None}
    return {**about, "variables": dict(schedule.options.variables), "number": schedule.number, **state, **times, **made}


def plain_fire(stored: StoredFire) -> dict[str, Any]:
    """A fire. ``due``: its time; ``at``: when it was decided; ``job_id``: the run that it started."""
    fire = stored.fire
    outcome = {"outcome": fire.outcome.value, "why": fire.why, "job_id": fire.run or None}
    return {"due": fire.due, "at": stored.at, **outcome}


def plain_times(schedule: Schedule, now: float, most: int) -> list[dict[str, Any]]:
    """The next times, each also in the clocks of the zone."""
    times = islice(_times(now, schedule), most)
    return [{"at": moment, "local": iso_of(moment, schedule.terms.zone)} for moment in times]


def times_of(terms: ScheduleTerms, now: float, most: int) -> list[dict[str, Any]]:
    """The next times that a schedule with these terms would have if it was made now."""
    return plain_times(Schedule("", "", terms, anchor=float(int(now)), decided=now), now, most)


def next_start(schedules: Sequence[Schedule], now: float) -> float | None:
    """The next time of several schedules."""
    return min((moment for one in schedules if (moment := _following(now, one)) is not None), default=None)


def _times(now: float, schedule: Schedule) -> Iterator[float]:
    moment = _following(now, schedule)
    while moment is not None:
        yield moment
        moment = _following(moment, schedule)


def _following(now: float, schedule: Schedule) -> float | None:
    """None also for a zone that this machine does not know any more: the fault of the schedule names it."""
    try:
        return following(now, schedule)
    except ZoneInfoNotFoundError:
        return None
