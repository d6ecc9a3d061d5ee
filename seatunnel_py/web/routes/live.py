"""The route of streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from seatunnel_py.web.access import Access
from seatunnel_py.web.context import caller_of, context_of, session_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading.live import LiveStream, topics_of


async def live(
    request: Request,
    topics: Annotated[str, Query(max_length=3_000, description="`runs`, `run:ID`, with commas between them")] = "runs",
    last_event_id: Annotated[str, Header(max_length=40)] = "",
) -> Response:
    """A stream of server-sent events: the newest state of each topic, at most once a second."""
    context, token = context_of(request), caller_of(request)
    assert token is not None
    hub, settings = context.hub, context.settings
    chosen = await run_in_threadpool(topics_of, topics, context.files.row)
    full = hub.count >= settings.streams_max or hub.count_of(token.id) >= settings.streams_per_token
    if full or context.stopping.is_set():
        after = {"Retry-After": "10"}
        raise ApiError(503, "streams", "too many streams are open", "close one, or ask later", headers=after)
    session = session_of(request)
    stream = LiveStream(chosen, token.id, _validity(context.access, request), session.id if session else "")
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(hub.messages(stream, last_event_id), media_type="text/event-stream", headers=headers)


def _validity(access: Access, request: Request) -> Callable[[], bool]:
    """Whether the stream may go on: its token, or its session. An open stream is not counted as a use of that."""
    cookie = access.sessions.text(request)
    text = access.given(request)

    def valid() -> bool:
        try:
            return (access.token(text) if text else access.sessions.of_text(cookie)) is not None
        except ApiError:
            return True  # the database is away, which ends no stream

    return valid
