"""Describes the plan as plain data, for machines and for `plan_text`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seatunnel_py.api.log_source import LogSource
from seatunnel_py.api.plain_data import plain_data
from seatunnel_py.api.schema_policy import SchemaPolicy
from seatunnel_py.api.sink import Setup
from seatunnel_py.api.source import Split
from seatunnel_py.errors import SeaTunnelError, worded
from seatunnel_py.plan.graph_nodes import (
    FlowGraph,
    IsolatedTable,
    SinkNode,
    SourceNode,
    SourcePart,
    SqlNode,
    TableNode,
)
from seatunnel_py.plan.guarantee import paths
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.plan.plan_text import text as text
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.plan.plugins.pending_calls import asking
from seatunnel_py.plan.sql.query_types import query_conversions
from seatunnel_py.plan.steps import Job
from seatunnel_py.plan.tables import conversions, existing_rows
from seatunnel_py.plan.tables.column_lineage import lineage_of
from seatunnel_py.plan.tables.lock_waits import naming_holders
from seatunnel_py.redaction import redacted_plain

SPLITS_SHOWN_MAX = 8


def describe(
    job: Job,
    graph: FlowGraph,
    pipelines: tuple[Pipeline, ...],
    isolated: tuple[IsolatedTable, ...] = (),
    *,
    look: bool,
    first: bool = True,
    lineage: bool = False,
) -> dict[str, Any]:
    """Describe the work of a run as JSON-ready data, with ``lineage`` that of all columns.

    With ``look`` ask the sinks for their start effects and the sources for their splits (read only). A table for which
    that fails gets a ``problem`` instead, as it would fail alone when run.
    """
    described = {
        "job": job.name,
        "mode": job.mode.value,
        "file": job.file.path,
        "steps": [{"id": step.id, "kind": step.kind.value, "plugin": step.plugin} for step in job.steps],
        "pipelines": [_pipeline(graph, pipeline, look=look, first=first) for pipeline in pipelines],
        "isolated": [
            {"table": str(one.table), "step": one.step, "problem": one.message, "remedy": one.remedy}
            for one in isolated
        ],
        "summary": _summary(pipelines),
        "left_out": [{"step": step, "table": str(one.path), "why": one.why} for step, one in graph.left_out],
        "notes": list(job.notes),
    }
    if lineage:
        described["column_lineage"] = column_lineage(graph, pipelines)
    shown: dict[str, Any] = redacted_plain(described)  # any text of any plugin may hold a secret by reference
    return shown


def column_lineage(graph: FlowGraph, pipelines: tuple[Pipeline, ...]) -> list[dict[str, Any]]:
    """Describe the lineage of all columns that these pipelines write."""
    sinks = {node.id for pipeline in pipelines for node in pipeline.sinks}
    return [one.to_plain() for one in lineage_of(graph) if one.node in sinks]


def _pipeline(graph: FlowGraph, pipeline: Pipeline, *, look: bool, first: bool) -> dict[str, Any]:
    return {
        "id": pipeline.id,
        "name": pipeline.name,
        "vertices": [_vertex(vertex, look=look) for vertex in pipeline.vertices],
        "sinks": [_sink(node, look=look, first=first) for node in pipeline.sinks],
        "guarantees": [
            {"from": path.source, "to": path.sink, "guarantee": path.guarantee.text, "why": path.why}
            for path in paths(graph, pipeline)
        ],
    }


def _vertex(vertex: PlannedVertex, *, look: bool) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "id": vertex.id,
        "parallelism": vertex.parallelism,
        "nodes": [_node(node) for node in vertex.nodes],
        "inputs": [channel.sender for channel in vertex.inputs],
        "outputs": [channel.receiver for channel in vertex.outputs],
    }
    if vertex.retry is not None:
        plain["retry_rejected"] = vertex.retry.times
    if look and vertex.source is not None and vertex.source.part is SourcePart.TABLE:
        plain |= _splits(vertex.source)  # a copy has none before its place in the log is known
    return plain


def _splits(node: SourceNode) -> dict[str, Any]:
    try:
        with naming_holders(node.source.blocked_by), asking(node.id, "discover"):
            found = _found_splits(node)
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is the plan of this table
        return _problem(error)
    return shown_splits(found)


def shown_splits(found: tuple[Split, ...]) -> dict[str, Any]:
    """Describe the splits of a source: the first ones, and their number."""
    return {"splits": [split.id for split in found[:SPLITS_SHOWN_MAX]], "splits_total": len(found)}


def _found_splits(node: SourceNode) -> tuple[Split, ...]:
    enumerator = plugin_calls.enumerator_of(node.step, node.source, node.table, None)
    try:
        return plugin_calls.splits_of(node.step, enumerator.discover)
    finally:
        enumerator.close()


def _policies(node: SourceNode) -> dict[str, Any]:
    """The policies of tables whose changes of schemas are followed in another way than those of most."""
    if not isinstance(node.source, LogSource) or not node.part.is_log:
        return {}
    usual = node.source.schema_policy
    found = {str(one.schema.path): node.source.schema_policy_of(one.schema.path) for one in node.tables}
    other = {table: _policy(one) for table, one in found.items() if one != usual}
    return {"schema_changes": {"default": _policy(usual), "tables": other}} if other else {}


def _policy(policy: SchemaPolicy) -> dict[str, Any]:
    kinds = {"include": sorted(policy.include), "exclude": sorted(policy.exclude)}
    return {"behavior": policy.behavior.value, **{name: list(map(str, own)) for name, own in kinds.items() if own}}


def _problem(error: Exception) -> dict[str, Any]:
    if isinstance(error, SeaTunnelError | plugin_calls.PluginCallError):
        return {"problem": error.message, "remedy": error.remedy}
    return {"problem": worded(error), "remedy": ""}


def has_problem(plan: dict[str, Any]) -> bool:
    """Whether a table of the plan would fail, as far as can be known in advance."""
    return bool(plan["isolated"]) or any(
        "problem" in part for line in plan["pipelines"] for part in (*line["vertices"], *line["sinks"])
    )


def _node(node: TableNode) -> dict[str, Any]:
    plain: dict[str, Any] = {"id": node.id, "step": node.step.id, "plugin": node.step.plugin}
    match node:
        case SourceNode():
            plain |= {"table": str(node.table.schema.path), "rows_estimate": node.table.rows}
            plain["columns"] = {column.name: str(column.dtype) for column in node.table.schema.columns}
            if node.part is not SourcePart.TABLE:
                plain["part"] = node.part.value
            if node.log_tables:
                plain["tables"] = [str(table.schema.path) for table in node.log_tables]
            if isinstance(node.source, LogSource) and node.part.is_log and node.source.log_end:
                plain["ends"] = node.source.log_end
            plain |= _policies(node)
        case SqlNode():
            plain |= {"query": node.analysis.query, "narrow": node.analysis.narrow}
            plain["columns"] = {column.name: str(column.dtype) for column in node.output.columns}
            plain["conversions"] = [plain_data(one) for _, table in node.inputs for one in query_conversions(table)]
        case SinkNode():
            plain |= {"table": str(node.table.path), "target": node.sink.target}
            plain["columns"] = {column.name: str(column.dtype) for column in node.table.columns}
        case _:
            output = node.transform.output()
            plain["columns"] = {column.name: str(column.dtype) for column in output.columns} if output else {}
    return plain


def _sink(node: SinkNode, *, look: bool, first: bool) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "step": node.step.id,
        "table": str(node.table.path),
        "target": node.sink.target,
        "effects": [],
    }
    if not look or node.part is SourcePart.LOG_AFTER_COPY:
        return plain  # the copy makes its target
    found: Setup | None = None
    try:
        with naming_holders(node.sink.blocked_by), asking(node.id, "plan_setup"):
            found = plugin_calls.setup_of(node.step, node.sink)
        setup = existing_rows.checked(node, found) if first else found
    except Exception as error:  # noqa: BLE001 - see above
        return plain | ({} if found is None else _held(found)) | _problem(error)
    return plain | set_up(node, setup)


def set_up(node: SinkNode, setup: Setup) -> dict[str, Any]:
    """Describe the start effects on a target, and what it holds."""
    plain: dict[str, Any] = {
        **_present(setup),
        "effects": [
            {
                "action": effect.action,
                "target": effect.target,
                "statement": effect.statement,
                "destructive": effect.destructive,
            }
            for effect in setup.effects
        ],
        "conversions": [plain_data(one) for one in conversions.conversions_of(node.table, setup.conversions)],
    }
    if setup.left_behind:
        plain["not_carried_over"] = [
            {"kind": one.kind.value, "name": one.name, "columns": list(one.columns), "definition": one.definition}
            for one in setup.left_behind
        ]
    return plain


def _summary(pipelines: Iterable[Pipeline]) -> dict[str, Any]:
    """How many tables are read, and about how many rows; None if a source cannot estimate."""
    sources = [node for one in pipelines for vertex in one.vertices if (node := vertex.source) is not None]
    read = [node for node in sources if node.part is not SourcePart.LOG_AFTER_COPY]
    rows = [table.rows for node in read for table in node.tables]
    known = [one for one in rows if one is not None]
    return {"tables": len(rows), "rows_estimate": sum(known) if len(known) == len(rows) else None}


def _present(setup: Setup) -> dict[str, Any]:
    """The current content of the target and its fate, for machines and for users."""
    found = setup.present
    return {} if found is None else {"present": {**plain_data(found), "text": found.text}}


def _held(setup: Setup) -> dict[str, Any]:
    """The current content of the target, which stays, for the table is refused."""
    found = setup.present
    return {} if found is None else {"present": {**plain_data(found), "text": f"holds {found.held}"}}
