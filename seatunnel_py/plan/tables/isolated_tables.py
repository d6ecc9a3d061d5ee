"""Isolates tables that fail while the job is planned, each with its cause; the others run.

Rules. (1) A table that its source cannot describe, or that a step refuses, takes along the rest of its pipeline. Such
pipelines have a sink that decides over all tables together, or a query that joins them. (2) A step that refuses every
table that it is meant for is wrong in the job file, and so is an undefined name: both refuse the job. (3) A job fails
if none of its tables is left, or if it stops at its first failure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from seatunnel_py.errors import TablesFailedError
from seatunnel_py.plan.graph_nodes import IsolatedTable

if TYPE_CHECKING:
    from seatunnel_py.plan.graph_nodes import FlowGraph
    from seatunnel_py.plan.pipelines import Pipeline


def set_apart(
    graph: FlowGraph, pipelines: Iterable[Pipeline]
) -> tuple[tuple[Pipeline, ...], tuple[IsolatedTable, ...]]:
    """The pipelines that can run, and the source tables that cannot, in the order of the job file."""
    causes: dict[str, IsolatedTable] = {}  # by node
    for node_id, cause in graph.refused.items():
        for upstream in graph.upstream(node_id):
            causes.setdefault(upstream, cause)
    found = {one.table: one for one in graph.isolated}
    for node in graph.sources():
        if node.id in causes:
            found.setdefault(node.table.schema.path, causes[node.id].of(node.table.schema.path, "it is read with"))
    kept = []
    for pipeline in pipelines:
        nodes = [node.id for vertex in pipeline.vertices for node in vertex.nodes]
        why = next((causes[node_id] for node_id in nodes if node_id in causes), None)
        if why is None:
            kept.append(pipeline)
        else:
            found.update({table: found.get(table, why.of(table, "it shares a step with")) for table in pipeline.tables})
    return tuple(kept), tuple(found.values())


def require_some(pipelines: Iterable[Pipeline], isolated: Iterable[IsolatedTable], *, fail_fast: bool) -> None:
    """Raises TablesFailedError if no table is left, or if the first failure ends the job (rule 3)."""
    problems = tuple(one.problem for one in isolated)
    if problems and (fail_fast or not tuple(pipelines)):
        raise TablesFailedError(problems)
