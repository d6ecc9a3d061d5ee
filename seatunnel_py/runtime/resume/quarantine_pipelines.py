"""From the pipelines of a job to those that deliver its bad rows: each row enters where it was read when it failed.

Rules. (1) In front of a vertex that has set rows aside stands a source of these rows; behind it everything is as in the
job file, as it is now. (2) A vertex that others feed as well stays, and the new one stands beside it: both write to the
same sinks, and are committed together; one to which rejected rows come back stays behind the new one. (3) Rows do not
come back to a query that needs more than them: it is refused. (4) Tables are not made anew: what a replay writes comes
beside what is there.
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
from seatunnel_py.work.bad_rows.quarantine_file import REPLAYED
from seatunnel_py.work.bad_rows.quarantine_source import QuarantineSource

Entrance = tuple[str, str]
"""Where rows enter: a step, and the table that they are of."""


def appending(job: Job) -> Job:
    """The job with save modes that keep what is there."""
    return replace(job, steps=tuple(replace(step, options=_appending(step.options)) for step in job.steps))


def _appending(options: Any) -> Any:
    modes = {"schema_save_mode": "CREATE_SCHEMA_WHEN_NOT_EXIST", "data_save_mode": "APPEND_DATA"}
    fields = getattr(type(options), "model_fields", {})
    kept = {name: type(getattr(options, name))(mode) for name, mode in modes.items() if name in fields}
    return options.model_copy(update=kept) if kept else options


def replayed(pipelines: Sequence[Pipeline], files: Mapping[Entrance, Sequence[str]]) -> tuple[Pipeline, ...]:
    """The pipelines that deliver these files. Raises SeaTunnelError where rows have no way in any more."""
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
            f"the job file has no place any more for the bad rows of {shown}",
            "give step and table their old names, or choose other rows with --table",
        )
    return tuple(found)


def entrance(vertex: PlannedVertex) -> Entrance:
    """How the rows that a vertex sets aside are named."""
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
    """Every vertex that rows of these reach; senders come first in a pipeline."""
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
    """From the source of its bad rows to a vertex to which rejected rows come back: that is none of a source."""
    name = names[vertex.id]
    return (PlannedChannel(f"{name}>{vertex.id}", name, vertex.id, _input(vertex.nodes[0]).path),)


def _of(channel: PlannedChannel, sender: str) -> PlannedChannel:
    return channel if channel.sender == sender else replace(channel, id=f"{channel.id} {REPLAYED}", sender=sender)
