"""Routes for what a driver writes line by line: its log, and its events."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from seatunnel_py.control.driver_files import output_file
from seatunnel_py.redaction import redacted_plain, redacted_text
from seatunnel_py.runtime.diagnosis.job_log import LEVELS
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import LIMIT_MAX, Limit, chosen_of
from seatunnel_py.web.reading.log_window import WINDOW_BYTES, Window, generations_of, shown_lines, window

EVENT_BYTES = 16 * WINDOW_BYTES
From = Annotated[str, Query(alias="from", max_length=40, description="`next` of the window before, or -BYTES")]

Which = Annotated[str, Query(description="`job`: of Spark and its workers; `output`: of drivers of this server")]


def log(
    request: Request,
    run: str,
    of: Which = "job",
    begin: From = f"-{WINDOW_BYTES}",
    size: Annotated[int, Query(alias="bytes", ge=1, le=WINDOW_BYTES)] = WINDOW_BYTES,
) -> Response:
    """A window of the log of a run. 410: that part is gone; `next` goes on."""
    context = context_of(request)
    place = context.files.place(run)
    output = chosen_of(of, ("job", "output"), "log") == "output"
    file = output_file(context.home.path, place.job_id) if output else place.log
    found = window(file, begin, size, alive=place.running)
    if found is None:
        return answer({"lines": [], "next": None, "end": True, "generations": []})
    lines = [redacted_text(line) for line in shown_lines(found.data)]
    kept = [{"from": one.at(0), "bytes": one.size} for one in generations_of(file)]
    return answer({"lines": lines, **_place_of(found), "generations": kept})


def events(
    request: Request,
    run: str,
    begin: From = f"-{WINDOW_BYTES}",
    limit: Limit = LIMIT_MAX,
    level: str = "DEBUG",
) -> Response:
    """Events of a run in order, of at least this level. 410: that part is gone; `next` goes on."""
    place = context_of(request).files.place(run)
    least = LEVELS.index(chosen_of(level.upper(), LEVELS, "level"))
    found = window(place.events, begin, EVENT_BYTES, alive=place.running)
    if found is None:
        return answer({"events": [], "next": None, "end": True})
    kept: list[Any] = []
    at = 0
    for line in found.data.splitlines(keepends=True):
        if len(kept) >= limit:
            break
        at += len(line)
        event = _event(line)
        known = event.get("level") in LEVELS
        if not known or LEVELS.index(event["level"]) >= least:
            kept.append(event)
    if at < len(found.data):
        found = Window(found.generation, found.begin, found.data[:at], found.generation.at(found.begin + at), False)
    return answer({"events": redacted_plain(kept), **_place_of(found)})


def _place_of(found: Window) -> dict[str, Any]:
    return {"from": found.generation.at(found.begin), "next": found.next, "end": found.end}


def _event(line: bytes) -> dict[str, Any]:
    """An event; a line that is not one is shown as such."""
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError):
        plain = None
    if isinstance(plain, dict):
        return plain
    return {"level": "", "event": "(unreadable line)", "bytes": len(line), "text": next(shown_lines(line[:200]), "")}
