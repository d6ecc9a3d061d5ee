"""Routes about schedules: when runs of a definition begin without being asked."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import Query, Request
from pydantic import Field
from starlette.responses import Response

from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.decision import Schedule
from seatunnel_py.control.schedule.plain import plain_fire, plain_schedule, plain_times, times_of
from seatunnel_py.control.schedule.terms import ScheduleTerms, terms_of
from seatunnel_py.web.acts import Body, Key, act_of, caller, digest_of, own_key
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import ServerContext, context_of
from seatunnel_py.web.pages import After, Limit, Text
from seatunnel_py.web.routes.definitions import IfMatch, revision_of
from seatunnel_py.web.routes.starts import require_variables_fit, started

TERMS = frozenset({"cron", "zone", "every", "overlap", "missed", "begins", "ends"})
TIMES = 5
TIMES_MAX = 100
Count = Annotated[int, Query(ge=1, le=TIMES_MAX, description="how many times")]
Cron = Annotated[str, Query(max_length=200, description="five fields: minute, hour, day, month, day of the week")]
Zone = Annotated[str, Query(max_length=100, description="IANA name of the zone of its clocks")]
Every = Annotated[int, Query(ge=0, description="seconds of an interval, in place of a cron expression")]
Moment = Annotated[str, Query(max_length=40, description="ISO 8601; without an offset: in the clocks of the zone")]


class ScheduleBody(Body):
    """When runs begin: ``cron`` with its ``zone``, or ``every`` so many seconds. ``overlap``: if a run is under way:
    skip, queue or allow; ``missed``: if times have passed without a server: skip, or once; ``begins``, ``ends``: ISO
    8601, empty: no limit; ``variables``: of each run."""

    cron: str = Field("", max_length=200)
    zone: str = Field("UTC", max_length=100)
    every: int = Field(0, ge=0)
    overlap: str = "skip"
    missed: str = "skip"
    begins: str = Field("", max_length=40)
    ends: str = Field("", max_length=40)
    variables: dict[str, str] = Field(default_factory=dict, max_length=100)

    def terms(self) -> ScheduleTerms:
        """The terms, checked. Raises ScheduleTermsError."""
        return terms_of(**self.model_dump(include=set(TERMS)))


class NewScheduleBody(ScheduleBody):
    """A new schedule. ``id``: empty: that of its definition."""

    id: str = Field("", max_length=63)


def listing(request: Request, definition: Text = "", q: Text = "", after: After = "", limit: Limit = 50) -> Response:
    """The schedules in the order of their ids, each with its next time; ``definition``: only those of this one."""
    context, now = context_of(request), time.time()
    with context.database.reading() as connection:
        found = stored_schedules.listing(connection, definition=definition, after=after, text=q, limit=limit + 1)
        total = stored_schedules.number(connection)
        shown = [plain_schedule(connection, one, now, _fault(context, one)) for one in found[:limit]]
    return answer({"schedules": shown, "next": found[limit - 1].id if len(found) > limit else None, "total": total})


def create(request: Request, id: str, body: NewScheduleBody) -> Response:
    """Add a schedule to a definition; it begins with its first time from now."""
    require_variables_fit(body.variables)
    act, by = act_of(request, "schedule.create", body.id or id), caller(request).name
    schedules = context_of(request).control.schedules
    made = schedules.create(id, body.id, body.terms(), body.variables, by, act)
    return _saved(request, made, 201)


def show(request: Request, id: str) -> Response:
    """A schedule with its next times. The ETag is the number of its changes."""
    with context_of(request).database.reading() as connection:
        found = stored_schedules.found(connection, id)
    return _saved(request, found, 200)


def change(request: Request, id: str, body: ScheduleBody, if_match: IfMatch = "") -> Response:
    """Give a schedule other terms. 412: it was changed since `If-Match`. With other times it goes on from now."""
    require_variables_fit(body.variables)
    expected, act = revision_of(if_match), act_of(request, "schedule.change", id)
    schedules = context_of(request).control.schedules
    return _saved(request, schedules.change(id, body.terms(), body.variables, act, expected=expected), 200)


def delete(request: Request, id: str) -> Response:
    """Delete a schedule with its history. Runs that it started go on."""
    context_of(request).control.schedules.delete(id, act_of(request, "schedule.delete", id))
    return answer({"id": id, "deleted": True})


def pause(request: Request, id: str) -> Response:
    """Start nothing until it is resumed. A start that waits for the run before is given up."""
    return _saved(request, context_of(request).control.schedules.pause(id, act_of(request, "schedule.pause", id)), 200)


def resume(request: Request, id: str) -> Response:
    """Go on from now: the times that have passed meanwhile start nothing."""
    return _saved(
        request, context_of(request).control.schedules.resume(id, act_of(request, "schedule.resume", id)), 200
    )


def start(request: Request, id: str, idempotency_key: Key = "") -> Response:
    """Start a run now, as a time of the schedule does. The times of the schedule stay as they are."""
    key, act = own_key(request, idempotency_key), act_of(request, "run.start", id)
    schedules = context_of(request).control.schedules
    return started(schedules.start(id, act, key=key, body_digest=digest_of("schedule", id)))


def fires(
    request: Request, id: str, before: Annotated[float | None, Query(ge=0)] = None, limit: Limit = 50
) -> Response:
    """The last times of a schedule, newest first: started, queued, skipped, missed or refused, and why. ``before``:
    `next` of the page before."""
    with context_of(request).database.reading() as connection:
        stored_schedules.found(connection, id)
        found = stored_schedules.fires(connection, id, before=before, limit=limit + 1)
    next = found[limit - 1].fire.due if len(found) > limit else None
    return answer({"fires": [plain_fire(one) for one in found[:limit]], "next": next})


def times(
    request: Request,
    cron: Cron = "",
    zone: Zone = "UTC",
    every: Every = 0,
    begins: Moment = "",
    ends: Moment = "",
    count: Count = TIMES,
) -> Response:
    """The next times that a schedule with these terms would have. Nothing is stored."""
    terms = terms_of(cron=cron, zone=zone, every=every, begins=begins, ends=ends)
    return answer({"times": times_of(terms, time.time(), count)})


def _saved(request: Request, schedule: Schedule, status: int) -> Response:
    context, now = context_of(request), time.time()
    with context.database.reading() as connection:
        about = plain_schedule(connection, schedule, now, _fault(context, schedule))
    about["times"] = plain_times(schedule, now, TIMES)
    where = {"Location": f"/api/v1/schedules/{schedule.id}"} if status == 201 else {}
    return answer(about, status, ETag=f'"{schedule.number}"', **where)


def _fault(context: ServerContext, schedule: Schedule) -> str:
    return context.control.performer.faults.get(schedule.id, "")
