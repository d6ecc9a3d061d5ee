"""Routes about the queue, tokens and the audit."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field
from starlette.responses import Response

from seatunnel_py.control.start_order import WaitingStart
from seatunnel_py.control.store import audit, tokens
from seatunnel_py.control.store.tokens import Role, Token, TokenWish
from seatunnel_py.web.acts import Body, act_of, caller
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import LIMIT_MAX, Limit, chosen_of
from seatunnel_py.web.problems import ApiError

DAY_SECONDS = 86_400.0
DAYS = 90.0


class TokenBody(Body):
    """A new token. ``data``: it may see values of rows."""

    name: str = Field(min_length=1, max_length=100)
    role: str
    data: bool = False
    days: float = Field(DAYS, gt=0, le=3_650)


class PriorityBody(Body):
    """``priority``: a higher one goes first."""

    priority: int = Field(ge=-100, le=100)


def queued(request: Request) -> Response:
    """The starts that wait, in their order, at most 200 of them, each with what it waits for."""
    found = context_of(request).control.supervisor.waiting
    return answer({"queue": [_waiting(one) for one in found[:LIMIT_MAX]], "total": len(found)})


def prioritise(request: Request, run: str, body: PriorityBody) -> Response:
    """Give the waiting start of a run another priority."""
    commands = context_of(request).control.commands
    commands.prioritise(run, body.priority, act_of(request, "queue.prioritise", run))
    return answer({"job_id": run, "priority": body.priority})


def drop(request: Request, run: str) -> Response:
    """Take the waiting start of a run out of the queue."""
    dropped = context_of(request).control.commands.drop(run, act_of(request, "queue.drop", run))
    return answer({"job_id": run, "intent": dropped.id, "state": dropped.state.value})


def _waiting(waiting: WaitingStart) -> dict[str, Any]:
    intent = waiting.entry.intent
    about = {"job_id": intent.run, "place": waiting.place, "waits_for": waiting.why, "since": waiting.entry.at}
    what = {"definition": intent.definition, "revision": intent.revision, "kind": intent.kind.value}
    return {**about, **what, "priority": waiting.entry.priority, "asked_by": intent.asked_by, "intent": intent.id}


def token_list(request: Request) -> Response:
    """All tokens, without their texts."""
    with context_of(request).database.reading() as connection:
        found = tokens.listing(connection)
    return answer({"tokens": [_token(one) for one in found]})


def token_create(request: Request, body: TokenBody) -> Response:
    """Make a token. No other answer shows its text."""
    role = Role(chosen_of(body.role, [one.value for one in Role], "role"))
    with context_of(request).database.acting(act_of(request, "token.create", body.name)) as write:
        wish = TokenWish(body.name, role, body.data, body.days * DAY_SECONDS)
        made, text = tokens.issue(write.connection, wish, caller(request).id, time.time())
    return answer({**_token(made), "token": text}, 201, Location=f"/api/v1/tokens/{made.id}")


def token_revoke(request: Request, id: str) -> Response:
    """End a token, within a second."""
    with context_of(request).database.acting(act_of(request, "token.revoke", id)) as write:
        if tokens.found(write.connection, id) is None:
            raise ApiError(404, "unknown-token", "there is no such token", "GET /api/v1/tokens lists them")
        ended = tokens.revoke(write.connection, id, time.time())
    context_of(request).access.forget()
    return answer(_token(ended))


def _token(token: Token) -> dict[str, Any]:
    return {**asdict(token), "role": token.role.value, "valid": token.valid(time.time())}


def audit_rows(
    request: Request,
    before: Annotated[int | None, Query(ge=1, description="`next` of the page before")] = None,
    limit: Limit = 50,
    actor: Annotated[str, Query(max_length=100)] = "",
    act: Annotated[str, Query(max_length=100)] = "",
    object: Annotated[str, Query(max_length=200)] = "",
    since: float | None = None,
) -> Response:
    """The audit, newest first: each act, refused ones included."""
    with context_of(request).database.reading() as connection:
        found = audit.rows(connection, before=before, limit=limit + 1, actor=actor, act=act, object=object, since=since)
    next = found[limit - 1].id if len(found) > limit else None
    return answer({"audit": [{"id": one.id, "at": one.at, **asdict(one.act)} for one in found[:limit]], "next": next})
