"""The routes of a run's graph and of its lineage. Geometry is of the plan, and is fetched once; the counts change."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Header, Query, Request
from starlette.responses import Response

from seatunnel_py.plan.picture import graph_data
from seatunnel_py.web.answers import answer, encoded
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import After, Limit, Skip, Text, chosen_of, keyed, page
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading import lineage_view

WHOLE, GEOMETRY, COUNTS, TABLES = "whole", "geometry", "counts", "tables"
Part = Annotated[str, Query(max_length=20, description="`whole`, `geometry` (its ETag is the digest), or `counts`")]
IfNoneMatch = Annotated[str, Header(max_length=1_000, description="the ETag of an answer before")]


def graph(request: Request, run: str, part: Part = WHOLE, if_none_match: IfNoneMatch = "") -> Response:
    """The steps of a run with their places, states of tables and rows; at most 50 nodes, others are folded. 304: the
    part is as the ETag names it."""
    chosen_of(part, (WHOLE, GEOMETRY, COUNTS), "part")
    files = context_of(request).files
    found = files.graph(run)
    if found is None:
        raise ApiError(404, "no-plan", "no plan of this run is stored", "it has not begun, or an older release ran it")
    digest = found.geometry["digest"]
    if part == GEOMETRY:
        return _unless_known(found.geometry, digest, if_none_match)
    counts = graph_data.counts(found.steps, files.documents(run).told["tables"])
    plain = {"digest": digest, **counts} if part == COUNTS else graph_data.whole(found.geometry, counts)
    return _unless_known(plain, hashlib.sha256(encoded(plain)).hexdigest()[:32], if_none_match)


def lineage(
    request: Request,
    run: str,
    q: Text = "",
    part: Annotated[str, Query(max_length=20, description="`whole`, or `tables`: each without its columns")] = WHOLE,
    after: After = "",
    skip: Skip = 0,
    limit: Limit = 50,
) -> Response:
    """The tables that a run writes: for each column the columns of sources that it depends on, as `plan
    --column-lineage --json`; `rows`: columns that only decide which rows come out."""
    chosen_of(part, (WHOLE, TABLES), "part")
    text = q.lower()
    found = _lineage(request, run).values()
    chosen = [one for one in found if not text or text in f"{one['table']} {one['target']}".lower()]
    shown, next = page(chosen[skip:], lambda one: [*_place(one), one["key"]], after, limit)
    about = {"job_id": run, "next": next, "total": len(chosen)}
    if part == TABLES:
        return answer({**about, "tables": [lineage_view.line(one) for one in shown]})
    sources = {(use["step"], use["table"]) for one in shown for uses in _uses(one) for use in uses}
    named = [{"step": step, "table": table} for step, table in sorted(sources)]
    return answer({**about, "lineage": shown, "sources": named})


def lineage_of_table(request: Request, run: str, key: str) -> Response:
    """One table that a run writes, by its key: its source columns are numbered, and equal lists of uses stand once."""
    found = _lineage(request, run).get(key)
    if found is None:
        raise ApiError(
            404, "unknown-table", "the run writes no such table", f"GET /api/v1/runs/{run}/lineage lists them"
        )
    return answer(lineage_view.shared(found))


def _lineage(request: Request, run: str) -> dict[str, dict[str, Any]]:
    """The lineage of each target table, by its key. Raises ApiError if there is none."""
    found = context_of(request).files.lineage(run)
    if found is None:
        why = "it has not begun, an older release ran it, or it has more than 10,000 columns or 100,000 uses of them"
        remedy = f"{why}: `seatunnel plan FILE --column-lineage` shows them"
        raise ApiError(404, "no-lineage", "no lineage of this run is stored", remedy)
    return keyed(sorted(found, key=_place), "target")


def _place(one: Mapping[str, Any]) -> list[str]:
    return [one["step"], one["target"], one["table"]]


def _uses(one: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [*one["columns"].values(), one["rows"]]


def _unless_known(plain: dict[str, Any], digest: str, known: str) -> Response:
    tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
    tag = f'"{digest}"'
    return Response(status_code=304, headers={"ETag": tag}) if tag in tags else answer(plain, ETag=tag)
