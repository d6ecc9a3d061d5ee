"""Routes about the server itself."""

from __future__ import annotations

import os
import platform

from fastapi import Request
from starlette.responses import Response

from seatunnel_py import __version__
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import caller_of, context_of


async def livez(request: Request) -> Response:
    """Whether the loop of the server turns: it answers this itself."""
    return answer({"status": "ok"})


def readyz(request: Request) -> Response:
    """Whether the server can take writes. Without a token the reason is not named."""
    context = context_of(request)
    faults = {}
    if why := context.database.fault():
        faults["database"] = why
    if why := context.control.fault:
        faults["supervisor"] = why
    if not context.index.here():
        faults["home"] = "the home is away: its storage is not mounted, or is that of another home"
    elif not os.access(context.home.path, os.R_OK | os.W_OK | os.X_OK):
        faults["home"] = "the home cannot be read and written"
    if context.stopping.is_set():
        faults["server"] = "it is ending"
    named = faults if caller_of(request) else dict.fromkeys(faults, "see with a token")
    return answer({"status": "no" if faults else "ok", "faults": named}, 503 if faults else 200)


def healthz(request: Request) -> Response:
    """Answer as ``readyz`` does."""
    return readyz(request)


def version(request: Request) -> Response:
    """The version of the server."""
    return answer({"version": __version__, "python": platform.python_version(), "api": "v1"})


def about(request: Request) -> Response:
    """The role of this server among those of its home, and the one that leads, with the age of its lease in seconds."""
    control = context_of(request).control
    standing, index = control.leadership.standing(), control.index
    lease = None if standing.number is None else {"number": standing.number, "age": standing.age}
    found = {"role": standing.role.value, "leader": standing.leader or None, "lease": lease}
    return answer({"version": __version__, "store": control.database.place.kind, **found, "home_away": index.away})


def metrics(request: Request) -> Response:
    """The metrics of all runs and of the server, in the text format of Prometheus."""
    return Response(context_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def openapi(request: Request) -> Response:
    """The description of this interface."""
    return answer(request.app.openapi())
