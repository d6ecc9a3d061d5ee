"""Routes of SeaTunnel's API that submit jobs: each stores a definition, and starts it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from seatunnel_py.config.job_file import loads
from seatunnel_py.config.shade import PlainText, cipher, encrypted
from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.store import definitions, intents
from seatunnel_py.control.store.definitions import Revision, UnknownDefinitionError
from seatunnel_py.control.store.intents import IntentState, StartOptions
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.web.acts import act_of, caller
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.rest_v2.fail_answers import fail_answer
from seatunnel_py.web.rest_v2.job_routes import reader_of
from seatunnel_py.web.rest_v2.submission import (
    FORMATS,
    JSON,
    Submission,
    json_text,
    plain_json,
    submission,
    uploaded,
)

JOBS_MAX = 100
NOTED_SECONDS, LOOK_SECONDS = 5.0, 0.1
SHADE = '299 - "base64 and the like are no encryption: every reader of the text can decode it"'
TAGS = '299 - "tags have no effect: the server is the only node"'


async def _body(request: Request) -> bytes:
    return await request.body()


async def submit_job(request: Request) -> Response:
    """Store a job file and start it. ``format``: json or hocon; ``jobId``, ``jobName``, ``isStartWithSavePoint``."""
    found = submission(await _body(request), request.query_params.get("format", JSON), request.query_params)
    return answer(await _in_thread(_started, request, found))


async def submit_upload(request: Request) -> Response:
    """Submit a job by a file of a form; the file's ending names the format."""
    file, format = uploaded(await _body(request), request.headers.get("content-type", ""))
    found = submission(file, format, request.query_params)
    return answer(await _in_thread(_started, request, found))


async def submit_jobs(request: Request) -> Response:
    """Submit several jobs, each by itself. A refused one has ``status`` and ``message`` in its place."""
    jobs = plain_json(await _body(request))
    if not isinstance(jobs, list) or not 0 < len(jobs) <= JOBS_MAX:
        raise ApiError(400, "request", f"the body is not a list of 1 to {JOBS_MAX} jobs", "send a JSON array")
    return answer([await _in_thread(_one_of_many, request, job) for job in jobs])


def _one_of_many(request: Request, job: Any) -> dict[str, Any]:
    try:
        if not isinstance(job, dict) or not isinstance(job.get("params", {}), dict):
            raise ApiError(400, "request", "a job is not an object with params, env, source and sink")
        parameters = {str(name): str(value) for name, value in job.get("params", {}).items()}
        body = json_text({name: value for name, value in job.items() if name != "params"}, "").encode()
        return _started(request, submission(body, JSON, parameters))
    except SeaTunnelError as error:
        found: dict[str, Any] = json.loads(bytes(fail_answer(request, error).body))
        return found


async def _in_thread(act: Any, request: Request, *given: Any) -> Any:
    return await run_in_threadpool(act, request, *given)


def _started(request: Request, found: Submission) -> dict[str, str]:
    """Start a job. Raises SeaTunnelError."""
    reader = reader_of(request)
    commands = context_of(request).control.commands
    text = DefinitionText.of(found.text, "job.conf")
    run = reader.numbers.run(found.job) if found.job else ""
    if found.resumes:
        _require_same(request, run, text)
        _await_end(request, run)
        intent = commands.restore(run, act_of(request, "run.restore", run))
    else:
        saved = _saved(request, found.definition, text)
        act = act_of(request, "run.start", saved.definition)
        intent = commands.start(saved.definition, StartOptions(), act, run=run, revision=saved.number)
    return {"jobId": str(reader.numbers.of(intent.run)), "jobName": found.name}


def _saved(request: Request, id: str, text: DefinitionText) -> Revision:
    """The revision of a definition with this text, which may be new."""
    context, by, now = context_of(request), caller(request).name, time.time()
    with context.database.acting(act_of(request, "definition.submit", id, digest=text.digest)) as write:
        try:
            made = definitions.change(write.connection, id, text, by, "submitted", now)
        except UnknownDefinitionError:
            made = definitions.create(write.connection, id, text, by, "submitted", now)
        write.note(revision=made.number)
    return made


def _require_same(request: Request, run: str, text: DefinitionText) -> None:
    """A run goes on with the text that it began with. Raises ApiError for another one."""
    with context_of(request).database.reading() as connection:
        found = intents.of_run(connection, run)
        digest = definitions.revision(connection, found[0].definition, found[0].revision).digest if found else ""
    if found and digest != text.digest:
        why = "the job goes on with the text that it began with, and the body is another one"
        raise ApiError(409, "changed", why, f"POST /api/v1/runs/{run}/restore, or submit it as a new job")


def _await_end(request: Request, run: str) -> None:
    """Wait until the server has noted the end of a driver that is gone: it looks twice a second, clients may be
    faster."""
    context = context_of(request)
    until = time.monotonic() + NOTED_SECONDS
    while time.monotonic() < until:
        row = context.index.look(run)
        with context.database.reading() as connection:
            found = intents.of_run(connection, run)
        if row is None or row.alive or not found or found[0].state not in (IntentState.STARTING, IntentState.STARTED):
            return
        time.sleep(LOOK_SECONDS)


async def encrypt_config(request: Request) -> Response:
    """A job file with its secrets as ``env.shade.identifier`` writes them. It protects nothing."""
    body = await _body(request)
    plain = plain_json(body)
    if not isinstance(plain, dict):
        raise ApiError(
            400, "request", "the body is not a JSON object", f"send a job file; formats: {', '.join(FORMATS)}"
        )
    return answer(await _in_thread(_encrypted, request, plain), Warning=SHADE)


def _encrypted(request: Request, plain: Mapping[str, Any]) -> Any:
    job = loads(json_text(dict(plain), ""), {}, file="job.conf", root=None, environment={}, collect=[], decrypt=False)
    chosen = cipher(job.env.shade_identifier, job.env.shade_properties)
    if isinstance(chosen, PlainText):
        raise ApiError(400, "request", "env.shade.identifier names no cipher", "name one, as base64")

    def shaded(node: Any) -> Any:
        return encrypted(node, using=chosen, more=job.env.shade_options)

    return plain_json(job.rendered(shaded).encode())


async def update_tags(request: Request) -> Response:
    """Answer as if tags were changed. Tags choose no worker here."""
    if not isinstance(plain_json(await _body(request)), dict):
        raise ApiError(400, "request", "the body is not a JSON object", 'send tags, as {"zone": "a"}')
    return answer({"status": "success", "message": "update node tags done."}, Warning=TAGS)
