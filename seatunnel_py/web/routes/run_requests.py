"""Routes that ask a running job for something. Each writes a request record, as the command line does; the driver
performs it, and its answer has a route of its own."""

from __future__ import annotations

import re
import time
from dataclasses import asdict

from fastapi import Request
from pydantic import Field
from starlette.responses import Response

from seatunnel_py.jobs.job_lookup import KnownJob
from seatunnel_py.runtime.control.requests import RequestKind, request_id
from seatunnel_py.runtime.storage.savepoint_store import NAME_LENGTH_MAX, require_name
from seatunnel_py.web.acts import Body, Key, act_of, digest_of, own_key
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.problems import ApiError

SECONDS = 300.0
_ID = re.compile(r"[0-9a-f]{12}")


class SavepointBody(Body):
    """``name``: of the savepoint, made up if empty."""

    name: str = Field("", max_length=NAME_LENGTH_MAX)
    seconds: float = Field(SECONDS, ge=1, le=3_600)


class CancelBody(Body):
    """``tables``: only these, empty: the whole job."""

    tables: list[str] = Field(default_factory=list, max_length=1_000)
    seconds: float = Field(60.0, ge=1, le=3_600)


def savepoint(request: Request, run: str, body: SavepointBody, idempotency_key: Key = "") -> Response:
    """Take a savepoint of a running job."""
    return _asked(
        request, run, RequestKind.SAVEPOINT, idempotency_key, savepoint_name(run, body.name), (), body.seconds
    )


def stop(request: Request, run: str, body: SavepointBody, idempotency_key: Key = "") -> Response:
    """End a running job after a savepoint."""
    return _asked(request, run, RequestKind.STOP, idempotency_key, savepoint_name(run, body.name), (), body.seconds)


def cancel(request: Request, run: str, body: CancelBody, idempotency_key: Key = "") -> Response:
    """End a running job, or some of its tables, at once."""
    return _asked(request, run, RequestKind.CANCEL, idempotency_key, "", tuple(body.tables), body.seconds)


def kill(request: Request, run: str) -> Response:
    """Kill the driver of a run that is STALLED, or has not ended in the time that a request gave it. 409: any other."""
    context_of(request).files.row(run)
    context_of(request).control.commands.kill(run, act_of(request, "run.kill", run))
    return answer({"job_id": run, "wish": "kill"})


def savepoint_name(run: str, given: str) -> str:
    """The name of a savepoint, made up if none is given. Raises SeaTunnelError for an invalid one."""
    if given:
        require_name(given)
    return given or f"{run[: NAME_LENGTH_MAX - 21]}-{time.strftime('%Y%m%d-%H%M%S')}-{request_id()[:4]}"


def _asked(
    request: Request, run: str, kind: RequestKind, key: str, name: str, tables: tuple[str, ...], seconds: float
) -> Response:
    context = context_of(request)
    context.files.row(run)
    act = act_of(request, f"run.{kind.value}", run)

    def sent() -> str:
        return context.control.commands.send(run, kind, act, name=name, tables=tables, seconds=seconds)

    id = context.keys.once(own_key(request, key), digest_of(run, kind.value, tables, seconds), sent)
    asked = {"job_id": run, "request": id, "wish": kind.value}
    return answer(asked, 202, Location=f"/api/v1/runs/{run}/requests/{id}")


def show(request: Request, run: str, id: str) -> Response:
    """A request with its progress, and its answer once there is one."""
    control = KnownJob(context_of(request).files.place(run)).control()
    asked = control.asked(id) if _ID.fullmatch(id) else None
    if asked is None:
        raise ApiError(404, "unknown-request", "the run has no such request", "the answer to the request names it")
    found = control.answered(id)
    about = {"job_id": run, "request": id, "wish": asked.wish.value, "name": asked.name, "progress": control.told(id)}
    return answer({**about, "answer": None if found is None else asdict(found)})
