"""Logs of the simulation: one split whose table changes its schema at some rows, and targets that are altered for it.

Rules. (1) A row has the version of its place in the log: the number of changes up to it. (2) A reader that was made for
a version gives rows of it only; the next row reports the change. (3) A target takes rows of its own version only, and
is altered when it holds all rows of the versions before (I48).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from seatunnel_py.api import (
    Enumerator,
    FollowedTable,
    LogSource,
    Plain,
    Position,
    Reader,
    SchemaChange,
    SourceCapabilities,
    SourceTable,
    TablePath,
)
from seatunnel_py.plan.altered_log import AlteredLog
from seatunnel_py.plan.graph_nodes import SinkNode, SourceNode, SourcePart, TableNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import UnitResult
from tests.kit.runtime_toys import schema
from tests.simulation.jobs.sources import SimulatedSource
from tests.simulation.jobs.versions import VERSION, SchemaChanges
from tests.simulation.violation import expect


class SimulatedLog(SimulatedSource, LogSource):
    """A log without copies."""

    def copy_source(self) -> None:
        return None

    def copy_capabilities(self) -> SourceCapabilities:
        raise AssertionError("nothing is copied")

    def log_enumerator(self, tables: Sequence[FollowedTable], state: Plain) -> Enumerator:
        return self.enumerator([one.table for one in tables], state)

    def log_reader(self, tables: Sequence[SourceTable]) -> Reader:
        raise AssertionError("no unit is run")


def with_log(pipeline: Pipeline, places: tuple[int, ...]) -> Pipeline:
    """The same, whose one source reads a log with changes of the schema."""
    return replace(pipeline, vertices=tuple(_with_log(vertex, pipeline.name, places) for vertex in pipeline.vertices))


def _with_log(vertex: PlannedVertex, name: str, places: tuple[int, ...]) -> PlannedVertex:
    node = vertex.source
    if node is None:
        return vertex
    assert isinstance(node.source, SimulatedSource)
    old = node.source
    source = SimulatedLog(old.rows, old.state, old.finds, SchemaChanges(places), old.now)
    table = SourceTable(schema(name), log_hints={VERSION: 0})  # its channels are named after the pipeline
    made = replace(node, source=source, table=table, log_tables=(table,), part=SourcePart.LOG)
    return replace(vertex, nodes=(made, *vertex.nodes[1:]))


def plan_again(
    pipeline: Pipeline, alterations: Sequence[SchemaAlteration], without: Collection[TablePath] = ()
) -> AlteredLog:
    """The pipeline for the next version; every target is altered for it."""
    if not alterations:
        return AlteredLog(pipeline)
    (one,) = alterations
    version = str(one.table.log_hints[VERSION])
    changes: dict[str, SchemaChange] = {}

    def changed(node: TableNode) -> TableNode:
        if isinstance(node, SourceNode):
            return replace(node, table=one.table, log_tables=(one.table,))
        if not isinstance(node, SinkNode):
            return node
        after = replace(node.table, options={VERSION: version})
        changes[node.id] = SchemaChange(node.table.path, node.table, after, statement=f"version {version}")
        return replace(node, table=after)

    vertices = tuple(replace(one, nodes=tuple(map(changed, one.nodes))) for one in pipeline.vertices)
    return AlteredLog(replace(pipeline, vertices=vertices), changes)


def cut(result: UnitResult, node: SourceNode, version: int, start: int, *, early: bool) -> UnitResult:
    """The result of a unit that may meet a change: its rows end there. ``early``: it has seen the next row already."""
    source = node.source
    assert isinstance(source, SimulatedSource)
    found, end, stop = source.changes.version_of(start), source.changes.end_of(version), start + result.rows
    expect(version <= found, "I48SchemaOfRows", f"{result.id} reads row {start} of version {found} as of {version}")
    if end is None or stop < end or (result.rows and not early) or end >= source.rows[0]:
        return result
    assert stop == end, f"{result.id} has read on to {stop}"
    table = SourceTable(node.table.schema, log_hints={VERSION: version + 1})
    altered = SchemaAlteration(table, statement=f"version {version + 1}").to_plain()
    return replace(result, altered=(altered,), next=Position({"n": end}), done=False)
