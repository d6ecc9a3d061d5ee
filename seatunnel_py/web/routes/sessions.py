"""Routes that begin and end the session of a browser."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from fastapi import Request
from pydantic import Field, model_validator
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from seatunnel_py.control.store import sessions, tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import AuditedWrite, Database
from seatunnel_py.control.store.sessions import BrowserSession
from seatunnel_py.control.store.tokens import Token
from seatunnel_py.web.access import ANONYMOUS, address_of
from seatunnel_py.web.acts import Body, act_of
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of, session_of
from seatunnel_py.web.login.own_origin import RequestOrigin, origin_of
from seatunnel_py.web.problems import ApiError, request_id_of

LENGTH_MAX = 200


class LoginBody(Body):
    """Either a token, or the code of a link that logs in once."""

    token: str = Field("", max_length=LENGTH_MAX)
    code: str = Field("", max_length=LENGTH_MAX)

    @model_validator(mode="after")
    def _one(self) -> LoginBody:
        if bool(self.token) == bool(self.code):
            raise ValueError("give `token` or `code`")
        return self


def begin(request: Request, body: LoginBody) -> Response:
    """Exchange a token, or the code of a link, for a cookie. A session that the browser had ends."""
    context = context_of(request)
    context.access.login_in_time(request)
    address, now = address_of(request), time.time()
    act = Act(ANONYMOUS, "session.begin", "", address, request=request_id_of(request))
    with context.database.acting(act) as write:
        token = _token(request, body, write, now)
        before = sessions.verified(write.connection, context.access.sessions.text(request), now)
        if before is not None:
            sessions.end(write.connection, before.id)
        session, text = sessions.begin(write.connection, token, address, now)
        tokens.used(write.connection, token, now)
        write.act = replace(write.act, actor=token.id, object=session.id)
    context.access.forget()
    response = answer({"csrf": sessions.csrf_of(text), **_about(session), "several": _several(request)}, 201)
    context.access.sessions.give(response, session, text)
    return response


def _token(request: Request, body: LoginBody, write: AuditedWrite, now: float) -> Token:
    """The token that logs in. Raises ApiError."""
    if origin_of(request.headers) is RequestOrigin.FOREIGN:
        raise ApiError(403, "origin", "the request does not come from a page of this server", "log in on its own page")
    if body.token:
        found = tokens.verified(write.connection, body.token, now)
        kind, why = "token", "the token is not valid: it is wrong, expired or revoked"
        remedy = "`seatunnel server token create` makes one"
    else:
        found = sessions.redeemed(write.connection, body.code, now)
        kind, why = "code", "the code is not valid: it is wrong, used or older than 10 minutes"
        remedy = "`seatunnel server login-link` makes another link"
    if found is None:
        context_of(request).access.login_failed()
        raise ApiError(401, kind, why, remedy)
    return found


async def end(request: Request) -> Response:
    """End the session of the request, with its streams."""
    context, session = context_of(request), session_of(request)
    if session is None:
        raise ApiError(409, "no-session", "the request has no session", "only a browser that has logged in has one")
    await run_in_threadpool(_end, context.database, session, act_of(request, "session.end", session.id))
    context.access.forget()
    context.hub.end_session(session.id)
    response = answer({"ended": True})
    context.access.sessions.take(response)
    return response


def _end(database: Database, session: BrowserSession, act: Act) -> None:
    with database.acting(act) as write:
        sessions.end(write.connection, session.id)


def whoami(request: Request) -> Response:
    """The token of the caller, without its text; for a session also the CSRF token that its writes need."""
    context, session = context_of(request), session_of(request)
    token = request.scope["token"]
    assert token is not None
    csrf = sessions.csrf_of(context.access.sessions.text(request)) if session is not None else None
    expires = token.expires_at if session is None else session.expires_at
    about = {"id": token.id, **_of_token(token), "expires": expires, "expires_at": expires}
    more = {"several": _several(request), "at": time.time()}
    return answer({**about, "csrf": csrf, "session": session is not None, **more})


def _several(request: Request) -> bool:
    """Whether this server is one of several: the page then asks for their leader."""
    return context_of(request).control.leadership.standing().number is not None


def _about(session: BrowserSession) -> dict[str, Any]:
    return {**_of_token(session.token), "expires": session.expires_at}


def _of_token(token: Token) -> dict[str, Any]:
    return {"name": token.name, "role": token.role.value, "data": token.data}
