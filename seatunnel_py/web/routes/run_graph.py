"""The routes of a run's graph and of its lineage. Geometry is of the plan, and is fetched once; the counts change."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import Header, Query, Request
from starlette.responses import Response

from seatunnel_py.plan.picture import graph_data
from seatunnel_py.web.answers import answer, encoded
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import After, Limit, Text, chosen_of, page
from seatunnel_py.web.problems import ApiError

WHOLE, GEOMETRY, COUNTS = "whole", "geometry", "counts"
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


def lineage(request: Request, run: str, q: Text = "", after: After = "", limit: Limit = 50) -> Response:
    """The tables that a run writes: for each column the columns of sources that it depends on, as `plan
    --column-lineage --json`; `rows`: columns that only decide which rows come out."""
    found = context_of(request).files.lineage(run)
    if found is None:
        remedy = "it has not begun, an older release ran it, or it has more than 10,000 columns: `seatunnel plan FILE "
        raise ApiError(404, "no-lineage", "no lineage of this run is stored", f"{remedy}--column-lineage` shows them")
    text = q.lower()
    chosen = [one for one in found if not text or text in f"{one['table']} {one['target']}".lower()]
    shown, next = page(sorted(chosen, key=_place), _place, after, limit)
    sources = {(use["step"], use["table"]) for one in shown for uses in _uses(one) for use in uses}
    named = [{"step": step, "table": table} for step, table in sorted(sources)]
    return answer({"job_id": run, "lineage": shown, "sources": named, "next": next, "total": len(chosen)})


def _place(one: dict[str, Any]) -> list[str]:
    return [one["step"], one["target"], one["table"]]


def _uses(one: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [*one["columns"].values(), one["rows"]]


def _unless_known(plain: dict[str, Any], digest: str, known: str) -> Response:
    tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
    tag = f'"{digest}"'
    return Response(status_code=304, headers={"ETag": tag}) if tag in tags else answer(plain, ETag=tag)
