"""The audit rows of requests, and the parts of writes that several routes share."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from fastapi import Header, Query, Request
from pydantic import BaseModel, ConfigDict

from seatunnel_py.control.leading.leadership import ServerRole
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.tokens import Role, Token
from seatunnel_py.web.access import address_of
from seatunnel_py.web.context import caller_of, context_of
from seatunnel_py.web.problems import ApiError, request_id_of

Key = Annotated[str, Header(alias="Idempotency-Key", max_length=100, description="the same key again does nothing new")]

Dry = Annotated[bool, Query(description="only answer the changes that this would make, and their digest")]


class Body(BaseModel):
    """A body of a request: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


def caller(request: Request) -> Token:
    """The token of a request that needs one."""
    token = caller_of(request)
    assert token is not None
    return token


def act_of(request: Request, act: str, object: str, **details: Any) -> Act:
    """The audit row of a request."""
    return Act(caller(request).id, act, object, address_of(request), request=request_id_of(request), **details)


def require_role(request: Request, role: Role, what: str) -> None:
    """Raise ApiError if the token may not do that."""
    token = caller(request)
    if not token.role.allows(role):
        why = f"{what} needs the role {role.value}, and the token {token.name!r} has {token.role.value}"
        raise ApiError(403, "role", why, "ask an administrator for a token with that role")


def require_leader(request: Request, what: str) -> None:
    """Raise ApiError if another server leads, which alone may do that."""
    standing = context_of(request).control.leadership.standing()
    if standing.role is ServerRole.LEADER:
        return
    why, remedy = f"{what} is an act of the server that leads", "send it there"
    if not standing.leader:
        why, remedy = f"{why}, and none does at this moment", "ask again in half a minute"
    named = {"leader": standing.leader or None}
    raise ApiError(409, "follower", f"{why}{f': {standing.leader}' if standing.leader else ''}", remedy, more=named)


def own_key(request: Request, key: str) -> str:
    """A key of idempotency, which is one of its token; empty: none was given."""
    return f"{caller(request).id}:{key}" if key else ""


def digest_of(*parts: Any) -> str:
    """SHA-256 of plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
