"""Routes that ask a running job for something. Each writes a request record, as the command line does; the driver
performs it, and its answer has a route of its own."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import Request
from pydantic import Field
from starlette.responses import Response

from seatunnel_py.jobs.job_lookup import KnownJob
from seatunnel_py.runtime.control.requests import RequestKind, request_id
from seatunnel_py.runtime.storage.savepoint_store import NAME_LENGTH_MAX, require_name
from seatunnel_py.web.acts import Body, Dry, Key, act_of, digest_of, own_key
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading.announced_changes import of_request, require_announced

SECONDS = 300.0
_ID = re.compile(r"[0-9a-f]{12}")


DIGEST_LENGTH = 64
Digest = Annotated[str, Field(max_length=DIGEST_LENGTH, description="of the announced changes; empty: of any")]


class SavepointBody(Body):
    """``name``: of the savepoint, made up if empty."""

    name: str = Field("", max_length=NAME_LENGTH_MAX)
    seconds: float = Field(SECONDS, ge=1, le=3_600)
    digest: Digest = ""


class CancelBody(Body):
    """``tables``: only these, empty: the whole job."""

    tables: list[str] = Field(default_factory=list, max_length=1_000)
    seconds: float = Field(60.0, ge=1, le=3_600)
    digest: Digest = ""


@dataclass(frozen=True, slots=True)
class DriverWish:
    """A request to a driver, as a person has sent it. ``name``: of the savepoint, empty: none was given."""

    kind: RequestKind
    seconds: float
    digest: str
    name: str = ""
    tables: tuple[str, ...] = ()


def savepoint(request: Request, run: str, body: SavepointBody, dry: Dry = False, idempotency_key: Key = "") -> Response:
    """Take a savepoint of a running job."""
    wish = DriverWish(RequestKind.SAVEPOINT, body.seconds, body.digest, body.name)
    return _asked(request, run, wish, dry=dry, key=idempotency_key)


def stop(request: Request, run: str, body: SavepointBody, dry: Dry = False, idempotency_key: Key = "") -> Response:
    """End a running job after a savepoint."""
    wish = DriverWish(RequestKind.STOP, body.seconds, body.digest, body.name)
    return _asked(request, run, wish, dry=dry, key=idempotency_key)


def cancel(request: Request, run: str, body: CancelBody, dry: Dry = False, idempotency_key: Key = "") -> Response:
    """End a running job, or some of its tables, at once."""
    wish = DriverWish(RequestKind.CANCEL, body.seconds, body.digest, tables=tuple(body.tables))
    return _asked(request, run, wish, dry=dry, key=idempotency_key)


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


def _asked(request: Request, run: str, wish: DriverWish, *, dry: bool, key: str) -> Response:
    context = context_of(request)
    context.control.commands.require_begun(run)
    context.files.row(run)
    name = "" if wish.kind is RequestKind.CANCEL else savepoint_name(run, wish.name)
    act = act_of(request, f"run.{wish.kind.value}", run, announced=wish.digest)
    if dry or wish.digest:
        announced = of_request(context, run, wish.kind, wish.name, wish.tables)
        if dry:
            plain = {"changes": announced.changes, "digest": announced.digest}
            return answer({"job_id": run, "wish": wish.kind.value, **plain})
        require_announced(context, act, announced, wish.digest)
    id = context.control.commands.send(
        run,
        wish.kind,
        act,
        name=name,
        tables=wish.tables,
        seconds=wish.seconds,
        key=own_key(request, key),
        body_digest=digest_of(run, wish.kind.value, wish.name, wish.tables, wish.seconds),
    )
    asked = {"job_id": run, "request": id, "wish": wish.kind.value}
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
