"""Routes that start drivers: a new run of a definition, and the next driver of a run. Each leaves an intent in the
queue, in the transaction of its audit row; the supervisor begins it."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request
from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import Response

from seatunnel_py.control.store import definitions, intents, queue
from seatunnel_py.control.store.database import AuditedWrite
from seatunnel_py.control.store.definitions import Revision
from seatunnel_py.control.store.intents import Intent, StartKind, StartOptions, StartWish
from seatunnel_py.control.store.tokens import Role
from seatunnel_py.runtime.storage.home import require_job_id
from seatunnel_py.web.acts import Body, Key, act_of, caller, digest_of, own_key, require_role
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import ServerContext, context_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.routes.definitions import difference

_ENVIRONMENT = re.compile(r"\$\{\??env:([^}]*)\}")
_VARIABLE_MAX = 10_000


class StartBody(Body):
    """A start. ``run``: its id, made up if empty; ``revision``: the newest one if it is absent; ``variables``: need the
    role edit, for they change what runs; ``only``: tables; ``restore``: a savepoint to begin from."""

    run: str = Field("", max_length=100)
    revision: int | None = None
    variables: dict[str, str] = Field(default_factory=dict, max_length=100)
    only: list[str] = Field(default_factory=list, max_length=1_000)
    restore: str = Field("", max_length=200)
    priority: int = Field(0, ge=-100, le=100)


class RestoreBody(Body):
    """A restore. ``announced``: the digest of the changes that the answer before has shown; ``dry``: only show them."""

    announced: str = Field("", max_length=100)
    dry: bool = False


def start(request: Request, id: str, body: StartBody, idempotency_key: Key = "") -> Response:
    """Start a new run of a definition. The answer comes at once; the run waits in the queue, or begins."""
    context = context_of(request)
    if body.variables:
        require_role(request, Role.EDIT, "a start with variables")
    if any(len(value) > _VARIABLE_MAX for value in body.variables.values()):
        raise ApiError(422, "request", f"a variable has at most {_VARIABLE_MAX:,} characters")
    run = body.run or f"{id}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    require_job_id(run)
    body_digest = digest_of("start", id, body.model_dump())
    with context.database.acting(act_of(request, "run.start", run)) as write:
        chosen = _revision_of(write.connection, id, body.revision)
        options = StartOptions(dict(body.variables), environment_of(context, chosen), tuple(body.only), body.restore)

        def wish() -> StartWish:
            _require_new(context, write.connection, run)
            by, key = caller(request).id, own_key(request, idempotency_key)
            return StartWish(run, id, chosen.number, StartKind.NEW, options, by, key, body_digest)

        intent = _kept(write, wish, own_key(request, idempotency_key), body_digest, body.priority)
        write.note(object=intent.run, revision=intent.revision, digest=chosen.digest)
    return _accepted(intent)


def restore(request: Request, run: str, body: RestoreBody, idempotency_key: Key = "") -> Response:
    """Start the next driver of a run, from its newest checkpoint, with the newest revision of its definition. If that
    is another one than before, the difference must be confirmed: the first answer names its digest."""
    context = context_of(request)
    row = context.files.row(run)
    body_digest = digest_of("restore", run, body.announced)
    key = own_key(request, idempotency_key)
    with context.database.acting(act_of(request, "run.restore", run, announced=body.announced)) as write:
        before = next(iter(intents.of_run(write.connection, run)), None)
        if before is None:
            remedy = f"`seatunnel jobs restore {run}` goes on with it on its machine"
            raise ApiError(409, "by-hand", "this run was not started by the server", remedy)
        chosen = definitions.found(write.connection, before.definition).newest
        changes = _changes(write.connection, before, chosen)
        if body.dry:
            write.note(result="shown only")
            return answer({"job_id": run, "done": False, **changes})
        if changes["changes"] and body.announced != changes["announced"]:
            raise ApiError(
                409, "changes", "the definition has changed since the run began",
                "look at `changes`; repeat it with `announced`", more=changes,
            )  # fmt: skip

        def wish() -> StartWish:
            if row.alive:
                raise ApiError(409, "state", "the run has a driver that is alive", "stop it first, or leave it")
            if any(one.state in intents.OPEN for one in intents.of_run(write.connection, run)):
                raise ApiError(409, "state", "a start of the run waits", "GET /api/v1/queue shows why")
            given = before.options
            options = StartOptions(
                given.variables, environment_of(context, chosen), accept_changes=bool(changes["changes"])
            )
            by = caller(request).id
            return StartWish(run, before.definition, chosen.number, StartKind.RESTORE, options, by, key, body_digest)

        intent = _kept(write, wish, key, body_digest, 0)
        write.note(revision=intent.revision, digest=chosen.digest)
    return _accepted(intent)


def _kept(write: AuditedWrite, wish: Callable[[], StartWish], key: str, body_digest: str, priority: int) -> Intent:
    """The intent of a wish, new or that of the same key."""
    connection, now = write.connection, time.time()
    before = intents.of_key(connection, key, now) if key else None
    if before is not None:
        if before.body_digest != body_digest:
            raise intents.IdempotencyKeyError("this Idempotency-Key was used for another request", "make a new key")
        return before
    intent = intents.add(connection, wish(), now)
    queue.put(connection, intent, now, priority)
    return intent


def _require_new(context: ServerContext, connection: Connection, run: str) -> None:
    if context.index.look(run) is not None or intents.of_run(connection, run):
        raise ApiError(409, "exists", f"a run {run!r} exists", "choose another id, or restore it")


def _revision_of(connection: Connection, id: str, number: int | None) -> Revision:
    found = definitions.found(connection, id)
    return found.newest if number is None else definitions.revision(connection, id, number)


def environment_of(context: ServerContext, chosen: Revision) -> tuple[str, ...]:
    """The names of variables that the text refers to. Raises ApiError for one that the server does not allow."""
    names = sorted({name.strip() for name in _ENVIRONMENT.findall(chosen.text)})
    if refused := [name for name in names if name not in context.settings.environment]:
        raise ApiError(
            422, "environment", f"job files of this server may not refer to {', '.join(refused)}",
            "start the server with --allowed-env NAME",
        )  # fmt: skip
    return tuple(names)


def _changes(connection: Connection, before: Intent, chosen: Revision) -> Mapping[str, Any]:
    if before.revision == chosen.number:
        return {"changes": [], "announced": "", "revision": chosen.number}
    lines = difference(definitions.revision(connection, before.definition, before.revision), chosen)
    return {"changes": lines, "announced": digest_of(before.run, lines), "revision": chosen.number}


def _accepted(intent: Intent) -> Response:
    where = f"/api/v1/runs/{intent.run}"
    about = {"job_id": intent.run, "definition": intent.definition, "revision": intent.revision}
    return answer({**about, "intent": intent.id, "state": intent.state.value}, 202, Location=where)
