"""Builds the pipelines of a replay from those of the job: each bad row enters at the vertex that rejected it.

Rules. (1) A source of the bad rows feeds the vertex that rejected them; the rest of the pipeline follows the current
job file. (2) A vertex with other inputs as well stays, and the new one is added beside it: both write to the same
sinks, and are committed together. A vertex with ``retry_rejected`` follows the new one. (3) A query that needs all rows
of its input cannot be replayed: it is refused. (4) Tables are not recreated: the replayed rows are added to existing
ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seatunnel_py.api.capabilities import Determinism, SourceCapabilities
from seatunnel_py.api.schema import TableSchema
from seatunnel_py.api.source import SourceTable
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.plan.graph_nodes import SourceNode, SqlNode, TableNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex
from seatunnel_py.plan.steps import Job
from seatunnel_py.work.bad_rows.limits import REPLAYED
from seatunnel_py.work.bad_rows.quarantine_source import QuarantineSource

Entrance = tuple[str, str]
"""Place where rows enter: a step and their table."""


def appending(job: Job) -> Job:
    """The job with save modes that keep existing rows."""
    return replace(job, steps=tuple(replace(step, options=_appending(step.options)) for step in job.steps))


def _appending(options: Any) -> Any:
    modes = {"schema_save_mode": "CREATE_SCHEMA_WHEN_NOT_EXIST", "data_save_mode": "APPEND_DATA"}
    fields = getattr(type(options), "model_fields", {})
    kept = {name: type(getattr(options, name))(mode) for name, mode in modes.items() if name in fields}
    return options.model_copy(update=kept) if kept else options


def replayed(pipelines: Sequence[Pipeline], files: Mapping[Entrance, Sequence[str]]) -> tuple[Pipeline, ...]:
    """The pipelines that replay these files. Raises SeaTunnelError if the entrance of rows no longer exists."""
    missing = set(files)
    found = []
    for pipeline in pipelines:
        heads = {vertex.id: entrance(vertex) for vertex in pipeline.vertices if entrance(vertex) in files}
        missing -= set(heads.values())
        if heads:
            vertices = _vertices(pipeline, heads, files)
            found.append(replace(pipeline, vertices=vertices))
    if missing:
        shown = "; ".join(f"{table} at {step}" for step, table in sorted(missing))
        raise SeaTunnelError(
            f"the job file no longer has the step or the table of the bad rows of {shown}",
            "give step and table their old names, or choose other rows with --table",
        )
    return tuple(found)


def entrance(vertex: PlannedVertex) -> Entrance:
    """The entrance of the rows that a vertex rejects."""
    first = vertex.nodes[0]
    return first.step.id, str(_input(first).path)


def _input(node: TableNode) -> TableSchema:
    if isinstance(node, SourceNode):
        return node.table.schema
    return node.inputs[0][1] if isinstance(node, SqlNode) else node.table


def _vertices(
    pipeline: Pipeline, heads: Mapping[str, Entrance], files: Mapping[Entrance, Sequence[str]]
) -> tuple[PlannedVertex, ...]:
    looped = {vertex.id for vertex in pipeline.vertices if vertex.id in heads and vertex.retry is not None}
    behind = _behind(pipeline, heads) | looped
    names = {name: f"{name} {REPLAYED}" if name in behind else name for name in heads}
    found = []
    for vertex in pipeline.vertices:
        if vertex.id in heads:
            found.append(_head(vertex, names[vertex.id], files[heads[vertex.id]]))
        if vertex.id in behind:
            if vertex.query is not None:
                raise SeaTunnelError(
                    f"bad rows of {pipeline.name} go through the query {vertex.query.step.id}, which needs all rows",
                    "correct them in the source, and run the job again",
                )
            inputs = [channel for channel in vertex.inputs if channel.sender in behind]
            inputs += [_of(one, names[one.sender]) for one in vertex.inputs if one.sender in names.keys() - looped]
            inputs += _entries(vertex, names) if vertex.id in looped else ()
            found.append(replace(vertex, inputs=tuple(inputs)))
    return tuple(found)


def _behind(pipeline: Pipeline, heads: Collection[str]) -> set[str]:
    """All vertices downstream of these; senders come first in a pipeline."""
    found: set[str] = set()
    for vertex in pipeline.vertices:
        if any(channel.sender in heads or channel.sender in found for channel in vertex.inputs):
            found.add(vertex.id)
    return found


def _head(vertex: PlannedVertex, name: str, files: Sequence[str]) -> PlannedVertex:
    first = vertex.nodes[0]
    table = _input(first)
    source = QuarantineSource(tuple(files), first.step.id, table)
    if isinstance(first, SourceNode):
        step, rest = first.step, vertex.nodes[1:]
    else:
        step, rest = replace(first.step, id=f"{REPLAYED}{first.step.id}"), vertex.nodes
    node = SourceNode(
        f"{REPLAYED}{first.id}",
        step,
        source,
        SourceTable(table),
        SourceCapabilities(determinism=Determinism.DETERMINATE),
    )
    if vertex.retry is not None:
        return PlannedVertex(name, (node,), (), _entries(vertex, {vertex.id: name}), vertex.parallelism)
    outputs = tuple(_of(channel, name) for channel in vertex.outputs)
    return PlannedVertex(name, (node, *rest), (), outputs, vertex.parallelism)


def _entries(vertex: PlannedVertex, names: Mapping[str, str]) -> tuple[PlannedChannel, ...]:
    """Channels from the source of its bad rows to a vertex with ``retry_rejected``, which is never a source."""
    name = names[vertex.id]
    return (PlannedChannel(f"{name}>{vertex.id}", name, vertex.id, _input(vertex.nodes[0]).path),)


def _of(channel: PlannedChannel, sender: str) -> PlannedChannel:
    return channel if channel.sender == sender else replace(channel, id=f"{channel.id} {REPLAYED}", sender=sender)
