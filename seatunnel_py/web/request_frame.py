"""The frame round every request: its id, the host that it names, its body, its time, and the headers of its answer.

Rules. (1) A refusal here comes before any route, and before the body is parsed. (2) A body is read once, up
to the limit, and handed on whole. (3) A request that takes too long is answered with 503; its thread goes on, and its
result is dropped. (4) Every answer has the security headers.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from traceback import format_exception
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seatunnel_py.redaction import redacted_text
from seatunnel_py.web.problems import problem
from seatunnel_py.web.server_metrics import ServerMetrics
from seatunnel_py.web.settings import ServerSettings

CONTENT_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
TRANSFER_SLACK_SECONDS = 5.0
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_log = logging.getLogger("seatunnel.server")


class RequestFrame:
    """Wraps the application. ``untimed``: paths of streams, which have no time limit; ``raw``: paths that take bodies
    of any type."""

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        metrics: ServerMetrics,
        untimed: frozenset[str],
        raw: frozenset[str] = frozenset(),
    ) -> None:
        self._app, self._settings, self._metrics, self._untimed, self._raw = app, settings, metrics, untimed, raw

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["request_id"] = secrets.token_hex(8)
        answered = _Answered(send, scope["request_id"])
        begun = time.monotonic()
        try:
            refused = await self._take(scope, receive, answered)
            if refused is not None and not answered.begun:
                answered = _Answered(send, scope["request_id"])
                await refused(scope, receive, answered)
        finally:
            route = getattr(scope.get("route"), "path_format", "(none)")
            self._metrics.observe(route, scope["method"], answered.status, time.monotonic() - begun)

    async def _take(self, scope: Scope, receive: Receive, send: _Answered) -> Response | None:
        """Hand the request on. Returns the answer if it is refused."""
        settings, id = self._settings, str(scope["request_id"])
        headers = dict(scope["headers"])
        if not named_host(headers.get(b"host", b"")) & settings.hosts:
            remedy = "call it by a name of its own, or start it with --allowed-host NAME"
            return problem(id, 421, "host", "this server does not have that name", remedy)
        writes = scope["method"] in WRITES and scope["path"] not in self._raw
        if writes and not _is_json(headers.get(b"content-type", b"")) and _has_body(headers):
            return problem(id, 415, "media-type", "a body is JSON", "send Content-Type: application/json")
        try:
            async with asyncio.timeout(settings.request_seconds):
                body = await _body(receive, headers, settings.body_max)
        except TimeoutError:
            return problem(id, 408, "slow-body", "the body did not arrive in time")
        if body is None:
            return problem(id, 413, "body", f"a body has at most {settings.body_max:,} bytes")
        if deeper_than(body, settings.json_depth_max):
            return problem(id, 422, "depth", f"JSON is nested deeper than {settings.json_depth_max} levels")
        return await self._run(scope, _Replayed(body, receive), send)

    async def _run(self, scope: Scope, receive: Receive, send: _Answered) -> Response | None:
        limit = None if scope["path"] in self._untimed else self._settings.request_seconds
        task = asyncio.ensure_future(self._app(scope, receive, send))
        try:
            done, _ = await asyncio.wait({task}, timeout=limit)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not done and send.status:
            done, _ = await asyncio.wait({task}, timeout=TRANSFER_SLACK_SECONDS)
        id = str(scope["request_id"])
        if not done:
            send.close()
            task.add_done_callback(_forget)
            task.cancel()
            after = {"Retry-After": "5"}
            return problem(id, 503, "time", f"no answer within {limit:.0f} s", "ask for less at once", headers=after)
        error = task.exception()
        if error is not None:
            _log.error("request %s failed\n%s", id, redacted_text("".join(format_exception(error))))
        return None


class _Answered:
    """Sends an answer with the headers of every answer. ``status``: 0 before it has begun."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send, self._id = send, request_id.encode()
        self.status = 0
        self.begun = False

    def close(self) -> None:
        """Drop what an abandoned request still sends."""
        self._send = _drop

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            given = {name.lower() for name, _ in message["headers"]}
            more = [pair for pair in HEADERS if pair[0] not in given]
            message = {**message, "headers": [*message["headers"], *more, (b"x-request-id", self._id)]}
        await self._send(message)


async def _drop(message: Message) -> None:
    """The time is over: its answer was sent."""


def _forget(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()


class _Replayed:
    """The body that was read, then what the client sends later: that it has gone."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        return await self._receive()


async def _body(receive: Callable[[], Awaitable[Message]], headers: dict[bytes, bytes], limit: int) -> bytes | None:
    """The whole body; None: it is larger than the limit."""
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or int(declared) > limit:
        return None
    found = bytearray()
    while True:
        message = await receive()
        found += message.get("body", b"")
        if len(found) > limit:
            return None
        if message["type"] != "http.request" or not message.get("more_body"):
            return bytes(found)


def named_host(host: bytes) -> set[str]:
    """The name in a Host header, without its port; empty if there is none."""
    text = host.decode("latin-1").lower()
    name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    return {name.removesuffix(".")} - {""}


def deeper_than(body: bytes, limit: int) -> bool:
    """Whether JSON is nested deeper than this. Reads each byte once, and parses nothing."""
    depth = 0
    for match in _NESTING.finditer(body):
        first = match[0][:1]
        depth += (first in b"[{") - (first in b"]}")
        if depth > limit:
            return True
    return False


def _is_json(content_type: bytes) -> bool:
    return content_type.partition(b";")[0].strip().lower() == b"application/json"


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
