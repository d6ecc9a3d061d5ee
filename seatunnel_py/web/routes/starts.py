"""Routes that start drivers: a new run of a definition, and the next driver of a run. Each leaves an intent in the
queue; the supervisor begins it. A rewind chooses where the next driver begins."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fastapi import Request
from pydantic import Field
from starlette.responses import Response

from seatunnel_py.control.driver_files import output_file
from seatunnel_py.control.run_commands import DriverEndsError
from seatunnel_py.control.store import definitions, intents
from seatunnel_py.control.store.intents import Intent, StartOptions
from seatunnel_py.control.store.tokens import Role
from seatunnel_py.control.store.wishes import RestartPolicy
from seatunnel_py.web.acts import Body, Dry, Key, act_of, digest_of, own_key, require_role
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import ServerContext, context_of
from seatunnel_py.web.pages import chosen_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading import stored_state
from seatunnel_py.web.reading.announced_changes import AnnouncedChanges, of_restore, of_start, require_announced
from seatunnel_py.web.reading.log_window import newest_lines

VARIABLE_MAX = 10_000
ENDS_SECONDS = 10.0


class StartBody(Body):
    """A start. ``variables``: need the role edit, for they change what runs; ``only``: tables; ``restore``: a savepoint
    to begin from; ``digest``: of the announced changes since that savepoint, which it then goes on with."""

    variables: dict[str, str] = Field(default_factory=dict, max_length=100)
    only: list[str] = Field(default_factory=list, max_length=1_000)
    restore: str = Field("", max_length=200)
    priority: int = Field(0, ge=-100, le=100)
    digest: str = Field("", max_length=64)


class RestoreBody(Body):
    """A restore. ``revision``: of the definition, None: the one that the run has; another one needs the ``digest`` of
    the announced changes. ``accept_changes``: go on although source tables have changed."""

    revision: int | None = Field(None, ge=1)
    digest: str = Field("", max_length=64)
    accept_changes: bool = False
    priority: int = Field(0, ge=-100, le=100)


class RewindBody(Body):
    """``checkpoint``: its number, or how many before the newest one, as -1; ``tables``: only these, empty: all;
    ``digest``: of the announced changes."""

    checkpoint: int = Field(ge=-1_000, le=2**53)
    tables: list[str] = Field(default_factory=list, max_length=1_000)
    digest: str = Field("", max_length=64)


class PolicyBody(Body):
    """When runs are restored without being asked: never, on-failure or always."""

    policy: str


def start(request: Request, id: str, body: StartBody, dry: Dry = False, idempotency_key: Key = "") -> Response:
    """Start a new run of a definition. The answer comes at once; the run waits in the queue, or begins."""
    if body.variables:
        require_role(request, Role.EDIT, "a start with variables")
    require_variables_fit(body.variables)
    _require_no_option([*body.only, body.restore])
    options = StartOptions(dict(body.variables), (), tuple(body.only), body.restore)
    context, act, revision = context_of(request), act_of(request, "run.start", id, announced=body.digest), 0
    if dry or body.digest:
        with context.database.reading() as connection:
            revision = definitions.found(connection, id).newest.number
        announced = of_start(context, id, revision, options)
        if dry:
            return _announcement({"definition": id, "revision": revision, "restore": body.restore}, announced)
        require_announced(context, act, announced, body.digest)
        options = replace(options, accept_changes=True)
    intent = context.control.commands.start(
        id,
        options,
        act,
        key=own_key(request, idempotency_key),
        body_digest=digest_of("start", id, body.model_dump()),
        priority=body.priority,
        revision=revision,
    )
    return started(intent)


def require_variables_fit(variables: Mapping[str, str]) -> None:
    """Raise ApiError for a value that is too long."""
    if any(len(value) > VARIABLE_MAX for value in variables.values()):
        raise ApiError(422, "request", f"a variable has at most {VARIABLE_MAX:,} characters")


def _announcement(about: dict[str, Any], announced: AnnouncedChanges) -> Response:
    found = {"changes": announced.changes, "refused": announced.refused, "digest": announced.digest}
    return answer({**about, **found, "fatal": announced.fatal})


def _require_no_option(names: list[str]) -> None:
    """Raise ApiError for a name that the command line of the driver would read as an option."""
    if any(name.startswith("-") or not name.isprintable() for name in names):
        raise ApiError(422, "request", "a table or a savepoint has no name like that", "give its name")


def restore(request: Request, run: str, body: RestoreBody, dry: Dry = False, idempotency_key: Key = "") -> Response:
    """Start the next driver of a run, from its newest checkpoint, with the revision that it has, or another one."""
    context = context_of(request)
    commands = context.control.commands
    key, digest = own_key(request, idempotency_key), digest_of("restore", run, body.model_dump())
    before = None if dry else commands.repeated(key, digest)
    if before is not None:  # its answer was lost, and the run may have a driver by now
        return started(before)
    last = _once_ended(context, run)
    revision = last.revision if body.revision is None else body.revision
    act = act_of(request, "run.restore", run, announced=body.digest)
    accepts = body.accept_changes
    if dry or body.digest or revision != last.revision:
        announced = of_restore(context, last, revision)
        if dry:
            about = {"job_id": run, "revision": revision, "from_revision": last.revision}
            return _announcement(about, announced)
        require_announced(context, act, announced, body.digest)
        accepts = True
    intent = commands.restore(
        run, act, accept_changes=accepts, priority=body.priority, revision=revision, key=key, body_digest=digest
    )
    return started(intent)


def _once_ended(context: ServerContext, run: str) -> Intent:
    """The last start of a run that may be restored. A driver still needs a moment to end after its run has."""
    deadline = time.monotonic() + ENDS_SECONDS
    while True:
        try:
            return context.control.commands.restorable(run)
        except DriverEndsError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def rewind(request: Request, run: str, body: RewindBody, dry: Dry = False) -> Response:
    """Let the next driver of a run begin at an older checkpoint; needs the digest of what was announced."""
    context = context_of(request)
    _require_no_option(body.tables)
    _require_no_driver(context, run)
    act = act_of(request, "run.rewind", run, announced=body.digest)
    about = {"job_id": run, "checkpoint": body.checkpoint}
    with stored_state.REWINDING:
        announced = stored_state.of_rewind(context, run, body.checkpoint, body.tables)
        if dry:
            return _announcement(about, announced)
        require_announced(context, act, announced, body.digest)
        with context.database.acting(replace(act, result="begun")):
            _require_no_driver(context, run)
        done = stored_state.rewind(context, run, body.checkpoint, body.tables)
    with context.database.acting(act):
        return answer({**about, "changes": done["changes"], "driver": done["driver"]})


def _require_no_driver(context: ServerContext, run: str) -> None:
    """Raise ApiError or SeaTunnelError while a driver has the run, or is to get it."""
    row = context.files.row(run)
    with context.database.reading() as connection:
        known = bool(intents.of_run(connection, run))
    if known:
        _once_ended(context, run)
    elif row.alive:
        raise ApiError(409, "state", f"the run {run!r} has a driver", "stop it first")


def newest(request: Request, run: str) -> Response:
    """The newest start of a run by this server, with the end of its output: also of a driver that has ended before it
    had a directory, as after a fault in the job file."""
    context = context_of(request)
    with context.database.reading() as connection:
        found = intents.of_run(connection, run)
    if not found:
        raise ApiError(404, "unknown-start", "this server has not started that run", "GET /api/v1/runs lists all runs")
    last = max(found, key=lambda one: one.id)
    alive = last.state in intents.OPEN
    lines = newest_lines(output_file(context.home.path, last.run), alive=alive)
    about = {"job_id": last.run, "definition": last.definition, "revision": last.revision, "state": last.state.value}
    about |= {"intent": last.id, "kind": last.kind.value, "asked_by": last.asked_by, "at": last.at}
    return answer({**about, "exit_code": last.exit_code, "signal": last.signal, "output": lines})


def policy(request: Request, id: str, body: PolicyBody) -> Response:
    """Change when runs of a definition are restored without being asked."""
    chosen = RestartPolicy(chosen_of(body.policy, [one.value for one in RestartPolicy], "policy"))
    wish = context_of(request).control.commands.set_policy(id, chosen, act_of(request, "definition.policy", id))
    return answer({"id": id, "policy": wish.policy.value, "run": wish.run, "held": wish.held})


def release(request: Request, id: str) -> Response:
    """Restore the run of a definition that is held, because a person has looked."""
    return started(context_of(request).control.commands.release(id, act_of(request, "definition.release", id)))


def started(intent: Intent) -> Response:
    """The answer for a start that was asked for."""
    where = f"/api/v1/runs/{intent.run}"
    about = {"job_id": intent.run, "definition": intent.definition, "revision": intent.revision}
    began = {"intent": intent.id, "state": intent.state.value, "exit_code": intent.exit_code}
    return answer({**about, **began}, 202, Location=where)
