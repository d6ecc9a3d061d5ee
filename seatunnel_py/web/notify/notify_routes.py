"""Routes about notifications: targets, deliveries, a test, and a new attempt."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from seatunnel_py.control.notify.notice import test_event
from seatunnel_py.control.notify.sending.attempt import AttemptResult, attempt
from seatunnel_py.control.notify.target_settings import NotifyTarget
from seatunnel_py.control.store.outbox import deliveries, target_states
from seatunnel_py.control.store.outbox.deliveries import Delivery, DeliveryState
from seatunnel_py.control.store.outbox.target_states import OutboxTarget
from seatunnel_py.errors import first_line
from seatunnel_py.web.acts import act_of, require_leader
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import Limit, chosen_of
from seatunnel_py.web.problems import ApiError


def targets(request: Request) -> Response:
    """The targets of notifications, each with how it does. `fault`: why the settings file is not taken over."""
    context = context_of(request)
    book = context.control.notifier.book
    with context.database.reading() as connection:
        counts, states = deliveries.counts(connection), target_states.every(connection)
    shown = [_target(one, states.get(name, OutboxTarget(name)), counts) for name, one in book.settings.targets.items()]
    return answer({"targets": shown, "fault": book.fault})


def listing(
    request: Request,
    target: Annotated[str, Query(max_length=100)] = "",
    state: Annotated[str, Query(description="waiting, sent, given up or dropped")] = "",
    before: Annotated[int | None, Query(ge=1, description="`next` of the page before")] = None,
    limit: Limit = 50,
) -> Response:
    """Deliveries with their events, newest first."""
    if state:
        chosen_of(state, [one.value for one in DeliveryState], "state")
    context = context_of(request)
    with context.database.reading() as connection:
        found = deliveries.listing(connection, before=before, limit=limit + 1, target=target, state=state)
        states = target_states.every(connection)
    shown = [_delivery(one, row._mapping, states.get(one.target)) for one, row in found[:limit]]
    return answer({"deliveries": shown, "next": found[limit - 1][0].id if len(found) > limit else None})


def try_out(request: Request, name: str) -> Response:
    """Send a test to a target now, beside its order, and answer how that went."""
    context, target = context_of(request), _known(request, name)
    with context.database.acting(act_of(request, "notify.test", name)) as write:
        write.note(result="begun")
    now = time.time()
    result = attempt(target, test_event(now, secrets.token_hex(8), name), now)
    with context.database.acting(act_of(request, "notify.tested", name)) as write:
        write.note(result="done" if result.sent else f"failed: {first_line(result.error)}")
    return answer({"target": name, **_result(result)})


def resume(request: Request, name: str) -> Response:
    """Make the next attempt at a target now, also at one that is switched off because it has answered 410."""
    context = context_of(request)
    _known(request, name)
    require_leader(request, "to try a target again")
    with context.database.acting(act_of(request, "notify.resume", name)):
        pass
    context.control.notifier.deliverer.resume(name)
    return answer({"target": name, "next_attempt": "now"})


def _known(request: Request, name: str) -> NotifyTarget:
    found = context_of(request).control.notifier.book.target(name)
    if found is None:
        raise ApiError(404, "unknown-target", "there is no such target", "GET /api/v1/notifications lists them")
    return found


def _result(result: AttemptResult) -> Mapping[str, Any]:
    plain = asdict(result)
    return {name: plain[name] for name in ("sent", "code", "error")} | {"seconds": round(result.seconds, 3)}


def _target(
    target: NotifyTarget, state: OutboxTarget, counts: Mapping[tuple[str, DeliveryState], int]
) -> Mapping[str, Any]:
    numbers = {one.value.replace(" ", "_"): counts.get((target.name, one), 0) for one in DeliveryState}
    about = {"name": target.name, "type": target.options.type.value, "address": target.shown}
    chosen = {"events": sorted(target.kinds), "jobs": list(target.options.jobs)}
    shown = {"failures": state.failures, "failing_since": state.failing_since, "next_attempt": state.next_at}
    last = {"last_attempt": state.tried_at, "last_sent": state.sent_at, "last_code": state.code}
    return {**about, **chosen, "state": state.standing, **shown, **last, "last_error": state.error, **numbers}


def _delivery(one: Delivery, event: Mapping[Any, Any], state: OutboxTarget | None) -> Mapping[str, Any]:
    waits = one.state is DeliveryState.WAITING
    about = {"id": one.id, "target": one.target, "state": one.state.value, "attempts": one.attempts, "since": one.at}
    of = {
        "event": event["event_id"],
        "kind": event["kind"],
        "job_id": event["run"] or None,
        "job": event["job"] or None,
    }
    tried = {"last_attempt": one.tried_at, "last_code": one.code, "last_error": one.error, "ended": one.ended_at}
    next_at = state.next_at if waits and state is not None else None
    return {**about, **of, "at": event["event_at"], **tried, "next_attempt": next_at}
