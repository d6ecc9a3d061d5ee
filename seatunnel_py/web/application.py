"""Builds the application: its routes from the table, each guarded by its role, in the frame of every request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from seatunnel_py import __version__
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.web.access import Need
from seatunnel_py.web.context import ServerContext, context_of
from seatunnel_py.web.problems import answer_to
from seatunnel_py.web.request_frame import RequestFrame
from seatunnel_py.web.rest_v2.fail_answers import fail_answer
from seatunnel_py.web.rest_v2.rest_v2_table import EVERY, RAW, TEMPLATES, chosen_routes
from seatunnel_py.web.route import Route
from seatunnel_py.web.route_table import ROUTES, STREAMS
from seatunnel_py.web.service.service_notices import serve_notices

HANGS_SECONDS = 60.0
"""A supervisor without a turn for so long hangs: the service manager of the machine may start the server again."""
NEEDS = {(route.method, route.path): route.need for route in ROUTES}
_EVERY_NEED = NEEDS | {(route.method, route.path): route.need for route in EVERY}


class GuardedRoute(APIRoute):
    """A route that checks the token before anything of the request is read."""

    @property
    def need(self) -> Need:
        """The needs of this route, from the table. Raises KeyError for one that is not in it."""
        return _EVERY_NEED[next(iter(self.methods or {""})), self.path]

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, which runs after the check."""
        handler, need = super().get_route_handler(), self.need

        async def guarded(request: Request) -> Response:
            access = context_of(request).access
            caller = await run_in_threadpool(access.check, request, need)
            request.scope["token"], request.scope["session"] = caller.token, caller.session
            return await handler(request)

        return guarded


def application(context: ServerContext) -> ASGIApp:
    """The application of one server."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        looking = asyncio.ensure_future(context.hub.run())
        serving = asyncio.ensure_future(serve_notices(lambda: context.control.turned_within(HANGS_SECONDS)))
        # The first document reads all runs of the home: a scraper that waits for it may give up.
        threading.Thread(target=context.metrics.text, name="first metrics", daemon=True).start()
        try:
            yield
        finally:
            serving.cancel()
            looking.cancel()

    app = FastAPI(
        title="seatunnel-py",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.context = context
    chosen = chosen_routes(context.settings.seatunnel)
    # A page of a run has the form of one of SeaTunnel's paths.
    app.router.routes.extend(map(_guarded, (*chosen, *ROUTES)))
    for kind in (SeaTunnelError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _answered)
    return RequestFrame(app, context.settings, context.metrics, STREAMS, RAW if chosen else frozenset())


@cache
def _guarded(route: Route) -> GuardedRoute:
    """Several servers of one process share their routes, which hold nothing of a server."""
    return GuardedRoute(
        route.path, route.handler, methods=[route.method], status_code=route.status, response_model=None
    )


async def _answered(request: Request, error: Exception) -> Response:
    theirs = getattr(request.scope.get("route"), "path", "") in TEMPLATES
    return fail_answer(request, error) if theirs else answer_to(request, error)
