"""The route of series: rates of rows, and durations of checkpoints, over time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from seatunnel_py.control.series.rates import Point, fewer, rates
from seatunnel_py.runtime.observe.checkpoint_history import CheckpointAttempt
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import chosen_of
from seatunnel_py.web.problems import ApiError

ROWS = {"rows_read": "read", "rows_written": "written"}
CHECKPOINTS, LAG = "checkpoint_seconds", "lag"
ROW_RATE, SECONDS = "rows/s", "s"
METRICS = (*ROWS, LAG, CHECKPOINTS)
Moment = Annotated[float | None, Query(ge=0, le=1e11, description="seconds since 1970")]


def series(
    request: Request,
    run: str,
    metric: Annotated[str, Query(max_length=50, description="rows_written, rows_read, lag, checkpoint_seconds")],
    begin: Annotated[float | None, Query(alias="from", ge=0, le=1e11, description="seconds since 1970")] = None,
    to: Moment = None,
    table: Annotated[str, Query(max_length=1_000, description="this table only")] = "",
) -> Response:
    """A series of a run, of at most 2,000 points. Rates are per second, over all drivers of the run. Rates of a table
    are kept while they are asked for: the first answer has none. ``lag``: the age of the oldest rows that became
    visible with each commit, in seconds."""
    chosen_of(metric, METRICS, "series")
    end = time.time() + 60 if to is None else to
    since = 0.0 if begin is None else begin
    if since > end:
        raise ApiError(422, "request", "`from` is after `to`", "exchange them")
    context = context_of(request)
    context.files.row(run)
    if table and table not in {one["table"] for one in context.files.documents(run).told["tables"]}:
        raise ApiError(404, "unknown-table", "the run has no such table", f"GET /api/v1/runs/{run}/tables lists them")
    if metric in ROWS:
        sampler = context.control.sampler
        samples = sampler.samples_of_table(run, table) if table else sampler.samples(run, since, end)
        points = rates([(one.at, getattr(one, ROWS[metric])) for one in samples], since, end)
    else:
        attempts = [one for one in context.files.all_checkpoints(run).attempts if table in ("", one.table)]
        found = durations(attempts) if metric == CHECKPOINTS else lags(attempts)
        points = [point for point in sorted(found) if since <= point[0] <= end]
    shown = [[round(at, 3), round(value, 3)] for at, value in fewer(points)]
    unit = ROW_RATE if metric in ROWS else SECONDS
    return answer({"job_id": run, "metric": metric, "table": table or None, "unit": unit, "points": shown})


def durations(attempts: Iterable[CheckpointAttempt]) -> list[Point]:
    """How long each completed checkpoint took, at its end."""
    return [(one.ended, one.seconds) for one in attempts if one.completed]


def lags(attempts: Sequence[CheckpointAttempt]) -> list[Point]:
    """At each commit, the time since the trigger of the commit before: rows that were read after that one became
    visible only now. A driver's first commit has none."""
    found: list[Point] = []
    before: dict[tuple[str, int | None], float] = {}
    for one in attempts:
        if one.committed is None:
            continue
        key = (one.pipeline, one.driver)
        if key in before:
            found.append((one.committed, max(0.0, one.committed - before[key])))
        before[key] = one.triggered
    return found
