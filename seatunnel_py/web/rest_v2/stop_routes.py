"""Routes of SeaTunnel's API that end jobs. Each answers when the wish is stored, not when the job has ended."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from seatunnel_py.control.run_commands import RunCommands
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.control.requests import RequestKind
from seatunnel_py.web.acts import act_of
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.rest_v2.fail_answers import fail_answer
from seatunnel_py.web.rest_v2.job_reader import has_ended, is_waiting
from seatunnel_py.web.rest_v2.job_routes import reader_of
from seatunnel_py.web.rest_v2.submission import plain_json
from seatunnel_py.web.routes.run_requests import SECONDS, savepoint_name

GRACE_SECONDS = 10.0
JOBS_MAX = 100


async def stop_job(request: Request) -> Response:
    """End a job: ``{jobId, isStopWithSavePoint, force}``. ``force``: its process is killed after ten seconds, by
    the next server if this one has ended."""
    wish = plain_json(await request.body())
    return answer(await run_in_threadpool(_stopped, request, wish))


async def stop_jobs(request: Request) -> Response:
    """End several jobs, each by itself. A refused one has ``status`` and ``message`` in its place."""
    wishes = plain_json(await request.body())
    if not isinstance(wishes, list) or not 0 < len(wishes) <= JOBS_MAX:
        raise ApiError(400, "request", f"the body is not a list of 1 to {JOBS_MAX} jobs", "send a JSON array")
    return answer([await run_in_threadpool(_one_of_many, request, wish) for wish in wishes])


def _one_of_many(request: Request, wish: Any) -> dict[str, Any]:
    try:
        return _stopped(request, wish)
    except SeaTunnelError as error:
        found: dict[str, Any] = json.loads(bytes(fail_answer(request, error).body))
        return {"jobId": str(wish.get("jobId", "")) if isinstance(wish, dict) else "", **found}


def _stopped(request: Request, wish: Any) -> dict[str, Any]:
    """End a job, if it has not ended already. Raises SeaTunnelError."""
    if not isinstance(wish, dict) or wish.get("jobId") in (None, ""):
        raise ApiError(400, "request", "jobId is missing", 'send {"jobId": NUMBER, "isStopWithSavePoint": false}')
    reader, commands = reader_of(request), context_of(request).control.commands
    head = reader.head(str(wish["jobId"]))
    done = {"jobId": str(reader.numbers.of(head.run))}
    if is_waiting(head):
        commands.drop(head.run, act_of(request, "queue.drop", head.run))
    elif not has_ended(head):
        _end(request, commands, head.run, saves=_is(wish, "isStopWithSavePoint"), force=_is(wish, "force"))
    return done


def _is(wish: dict[str, Any], name: str) -> bool:
    return str(wish.get(name, "")).lower() == "true"


def _end(request: Request, commands: RunCommands, run: str, *, saves: bool, force: bool) -> None:
    act = act_of(request, "run.force" if force else "run.stop" if saves else "run.cancel", run)
    if force:
        commands.send(run, RequestKind.CANCEL, act, seconds=GRACE_SECONDS, forced=True)
    elif saves:
        commands.send(run, RequestKind.STOP, act, name=savepoint_name(run, ""), seconds=SECONDS)
    else:
        commands.send(run, RequestKind.CANCEL, act, seconds=SECONDS)
