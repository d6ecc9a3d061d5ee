"""Routes that look at the text of a job file, without saving or starting it."""

from __future__ import annotations

from fastapi import Request
from pydantic import Field
from starlette.responses import Response

from seatunnel_py.redaction import redacted_plain
from seatunnel_py.web.acts import Body
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.reading.job_child import JobQuestion, asked
from seatunnel_py.web.routes.definitions import TEXT_MAX

CHECK_SECONDS = 10.0
PLAN_SECONDS = 25.0


class JobBody(Body):
    """The text of a job file, and its variables."""

    text: str = Field(max_length=TEXT_MAX)
    variables: dict[str, str] = Field(default_factory=dict, max_length=100)


def check(request: Request, body: JobBody) -> Response:
    """Every mistake of a job file, as `check --json`. Starts nothing and connects nowhere."""
    _, found = asked(context_of(request).home, JobQuestion("check", body.text, body.variables, CHECK_SECONDS))
    return answer(redacted_plain(found[0] if isinstance(found, list) else found))


def plan(request: Request, body: JobBody) -> Response:
    """The plan of a run, as `plan --json`. Reads from both ends."""
    context = context_of(request)
    names = (*context.settings.environment, "SEATUNNEL_SECRETS_DIR")
    code, found = asked(context.home, JobQuestion("plan", body.text, body.variables, PLAN_SECONDS, names))
    return answer({"exit_code": code, **redacted_plain(found)})
