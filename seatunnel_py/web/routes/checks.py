"""Routes that look at the text of a job file, without saving or starting it."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from pydantic import Field
from starlette.responses import Response

from seatunnel_py.plan.picture import graph_data
from seatunnel_py.plan.picture.step_graph import step_graph
from seatunnel_py.redaction import redacted_plain
from seatunnel_py.web.acts import Body, caller
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


class PreviewBody(JobBody):
    """``rows``: of each table and step."""

    rows: int = Field(10, ge=1, le=100)


class DiscoverBody(JobBody):
    """``exclude``: names of tables, with * for anything."""

    exclude: list[str] = Field(default_factory=list, max_length=100)


def check(request: Request, body: JobBody) -> Response:
    """Every mistake of a job file, as `check --json`. Starts nothing and connects nowhere."""
    _, found = looked_at(request, "check", body, seconds=CHECK_SECONDS)
    return answer(found[0] if isinstance(found, list) else found)


def plan(request: Request, body: JobBody) -> Response:
    """The plan of a run, as `plan --json`, and its graph with the places of its steps. Reads from both ends."""
    code, found = looked_at(request, "plan", body)
    return answer({"exit_code": code, **found, **({"graph": _drawn(found)} if "pipelines" in found else {})})


def _drawn(plan: dict[str, Any]) -> dict[str, Any]:
    """The graph of a plan, before any row has moved."""
    steps = step_graph(plan)
    return graph_data.whole(graph_data.geometry(steps), graph_data.before(steps))


def preview(request: Request, body: PreviewBody) -> Response:
    """The first rows after every step, as `preview --json`. Reads from the sources; masked without the right `data`."""
    masked = not caller(request).data
    words = (f"--rows={body.rows}", *(["--masked"] if masked else []))
    return _answered("steps", *looked_at(request, "preview", body, words), masked=masked)


def discover(request: Request, body: DiscoverBody) -> Response:
    """The tables that the sources of a job file find, as `discover --json`. Reads no rows."""
    words = tuple(f"--exclude={name}" for name in body.exclude)
    return _answered("tables", *looked_at(request, "discover", body, words))


def test_connection(request: Request, body: JobBody) -> Response:
    """Whether both ends of a job file answer, as `test-connection --json`. Reads no rows."""
    return _answered("connections", *looked_at(request, "test-connection", body))


def looked_at(
    request: Request, command: str, body: JobBody, words: tuple[str, ...] = (), seconds: float = PLAN_SECONDS
) -> tuple[int, Any]:
    """The exit code and the answer of a command about a job file, which may refer to the variables of this server."""
    context = context_of(request)
    names = (*context.settings.environment, "SEATUNNEL_SECRETS_DIR")
    quiet = "--masked" in words  # an error message may quote a row
    question = JobQuestion(command, body.text, body.variables, seconds, names, words, quiet=quiet)
    code, found = asked(context.home, question)
    return code, redacted_plain(found)


def _answered(name: str, code: int, found: Any, **more: Any) -> Response:
    """A wrong job file, or a place that does not answer, is shown with its problems in place of the rest."""
    failed = isinstance(found, dict)
    return answer({"exit_code": code, **(found if failed else {name: found}), **more})
