"""Routes of the web page. The files hold no data, so they need no token: the page asks for its data with one."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import PlainTextResponse, Response

from seatunnel_py.web.context import context_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading.page_files import PageFile

PARTS = ("overview", "tables", "checkpoints", "failures", "state", "quarantine", "log", "plan")
"""As ``TABS`` of the page."""
KEPT = "public, max-age=31536000, immutable"
COMPARED = "no-cache"
NOT_BUILT = (
    "The web page is not built. Build it with `make page` in the source tree, or install a release of seatunnel-py.\n"
    "The REST interface answers at /api/v1.\n"
)


def start(request: Request) -> Response:
    """The web page, for each of its addresses."""
    return _start(request, 200)


def _start(request: Request, status: int) -> Response:
    depth = request.url.path.removeprefix(str(request.scope.get("root_path", ""))).count("/") - 1
    found = context_of(request).page.start(max(0, depth))
    if found is None:
        return PlainTextResponse(NOT_BUILT, 503)
    return _file(request, found, COMPARED, status)


def job(request: Request, run: str) -> Response:
    """The web page of a run. Whether there is such a run only its data show."""
    return start(request)


def edited(request: Request, id: str) -> Response:
    """The web page with the text of a definition. Whether there is such a definition only its data show."""
    return start(request)


def part(request: Request, run: str, part: str) -> Response:
    """The web page of a part of a run. For another one it shows that there is no such page."""
    return _start(request, 200 if part in PARTS else 404)


def asset(request: Request, asset: str) -> Response:
    """A script, a style or a picture of the web page."""
    found = context_of(request).page.asset(asset)
    if found is None:
        raise ApiError(
            404, "unknown-asset", "the page has no such file", "load the page again: there is another build of it"
        )
    return _file(request, found, KEPT, 200)


def _file(request: Request, found: PageFile, kept: str, status: int) -> Response:
    tag = f'"{found.tag}"'
    headers = {"ETag": tag, "Cache-Control": kept, "Vary": "Accept-Encoding"}
    if status == 200 and tag in (one.strip() for one in request.headers.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        packed = {**headers, "Content-Encoding": "gzip"}
        return Response(found.packed, status, headers=packed, media_type=found.media_type)
    return Response(found.data, status, headers=headers, media_type=found.media_type)
