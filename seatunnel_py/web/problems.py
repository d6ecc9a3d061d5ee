"""Problems as answers, after RFC 9457.

Rules. (1) Every error answer has the same keys: ``type``, ``title``, ``status``, ``detail``, ``remedy``, ``problems``
(faults of a job file, with their lines), ``request`` (the id of the request, which the server's log has too). (2) No
answer has a traceback, a path of the server's code, or a secret. (3) An unexpected error is 500, with nothing but the
id of the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from seatunnel_py.control.run_commands import RunStateError, UnknownRunError
from seatunnel_py.control.run_index import HomeAwayError
from seatunnel_py.control.schedule.stored_schedules import (
    ScheduleExistsError,
    StaleScheduleError,
    UnknownScheduleError,
)
from seatunnel_py.control.schedule.terms import ScheduleTermsError
from seatunnel_py.control.store.database import StaleLeaseError, StoreUnreadableError, StoreUnwritableError
from seatunnel_py.control.store.definitions import (
    DefinitionExistsError,
    DefinitionInUseError,
    StaleRevisionError,
    UnknownDefinitionError,
)
from seatunnel_py.control.store.intents import IdempotencyKeyError, IntentStateError
from seatunnel_py.errors import JobFileError, SeaTunnelError, UnreachableError
from seatunnel_py.redaction import redacted_plain, redacted_text
from seatunnel_py.runtime.storage.home import JobIdError
from seatunnel_py.web.answers import encoded

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:seatunnel:problem:"
FAULTS_MAX = 200


class ApiError(SeaTunnelError):
    """An answer other than success. ``kind``: a fixed word for programs; ``more``: further keys of the problem."""

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        remedy: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, remedy)
        self.status, self.kind = status, kind
        self.headers, self.more = dict(headers or {}), dict(more or {})


TITLES = {
    400: "The request is wrong",
    401: "A token is needed",
    403: "The role of the token is not enough",
    404: "Not found",
    405: "The method is not allowed here",
    408: "The body came too slowly",
    409: "The state does not allow it",
    410: "Gone",
    412: "Changed meanwhile",
    413: "The body is too large",
    415: "The body is not JSON",
    421: "Wrong host",
    422: "The content is wrong",
    428: "A condition is needed",
    429: "Too many requests",
    500: "An error in the server",
    502: "A source or target does not answer",
    503: "Not available now",
}


_KINDS: Mapping[type[SeaTunnelError], tuple[int, str]] = {
    UnknownDefinitionError: (404, "unknown-definition"),
    DefinitionExistsError: (409, "exists"),
    DefinitionInUseError: (409, "in-use"),
    StaleRevisionError: (412, "changed"),
    IdempotencyKeyError: (422, "key"),
    IntentStateError: (409, "state"),
    UnknownScheduleError: (404, "unknown-schedule"),
    ScheduleExistsError: (409, "exists"),
    StaleScheduleError: (412, "changed"),
    ScheduleTermsError: (422, "schedule"),
    UnknownRunError: (404, "unknown-run"),
    RunStateError: (409, "state"),
    HomeAwayError: (503, "home"),
    StaleLeaseError: (409, "follower"),
    StoreUnwritableError: (503, "database"),
    StoreUnreadableError: (503, "database"),
}


def problem(
    request_id: str,
    status: int,
    kind: str,
    detail: str,
    remedy: str = "",
    *,
    problems: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Response:
    """The answer for a problem."""
    content = {
        "type": f"{TYPE_PREFIX}{kind}",
        "title": TITLES.get(status, "Error"),
        "status": status,
        "detail": redacted_text(detail),
        "remedy": redacted_text(remedy),
        "problems": redacted_plain(list(problems)),
        "request": request_id,
        **(more or {}),
    }
    return Response(encoded(content), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def answer_to(request: Request, error: Exception) -> Response:
    """The answer for an error that a route has raised."""
    id = request_id_of(request)
    match error:
        case ApiError():
            text = (error.status, error.kind, error.message, error.remedy)
            return problem(id, *text, headers=error.headers, more=error.more)
        case UnreachableError():
            return problem(id, 502, "unreachable", "a source or target does not answer", problems=faults(error))
        case JobFileError():
            return problem(id, 422, "job-file", "the job file is wrong", problems=faults(error))
        case JobIdError():
            return problem(id, 404, "unknown-run", error.message, error.remedy)
        case SeaTunnelError() if type(error) in _KINDS:
            status, kind = _KINDS[type(error)]
            return problem(id, status, kind, error.message, error.remedy)
        case SeaTunnelError():
            return problem(id, 409, "state", error.message, error.remedy)
        case RequestValidationError():
            return problem(id, 422, "request", "the request is wrong", problems=_wrong_values(error))
        case HTTPException():
            kind = {404: "unknown-path", 405: "method"}.get(error.status_code, "http")
            return problem(id, error.status_code, kind, str(error.detail), headers=error.headers)
    return problem(id, 500, "internal", "an error in the server", "the server's log has it under this request id")


def request_id_of(request: Request) -> str:
    """The id of a request."""
    return str(request.scope.get("request_id", ""))


def faults(error: JobFileError) -> list[dict[str, Any]]:
    """The first faults of a job file."""
    return [asdict(one) for one in error.problems[:FAULTS_MAX]]


def _wrong_values(error: RequestValidationError) -> list[dict[str, Any]]:
    """The fault of each value. The value itself is not repeated: it may be a secret at the wrong place."""
    found = error.errors()[:FAULTS_MAX]
    return [{"message": str(one["msg"]), "path": ".".join(map(str, one["loc"]))} for one in found]
