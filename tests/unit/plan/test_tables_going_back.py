"""A table of a log that waits at a change: it leaves the log after a decision, and joins it again at that place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from plan_toys import ToySink

from seatunnel_py.api import (
    STRING,
    BegunLog,
    Column,
    FollowedTable,
    Position,
    SchemaBehavior,
    SchemaChange,
    Setup,
    SourceTable,
    Split,
    TablePath,
)
from seatunnel_py.plan.altered_log import AlteredLog, LogJoin
from seatunnel_py.plan.graph_nodes import SinkNode
from seatunnel_py.plan.log_tables import following, leaving, without
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.pipeline.log_replanning import LogReplanning
from seatunnel_py.runtime.resume.begun_logs import as_begun
from seatunnel_py.runtime.resume.log_growth import grown
from seatunnel_py.runtime.storage.savepoint_names import SCHEMA_CHANGE
from seatunnel_py.runtime.targets.held_change import HeldChange
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.values.split_progress import SplitRound
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.schema_alteration import SchemaAlteration
from tests.unit.plan.test_log_growth import paths
from tests.unit.plan.test_log_tables import logged
from tests.unit.plan.test_stopped_tables import JOB, PLACE, PlannedLog, stopped_at, with_source
from tests.unit.plan.test_table_refresh import job, record

EARLIER = Position({"end": 4})


class LogThatGoesBack(PlannedLog):
    def goes_back(self, begun: BegunLog, table: TablePath, place: Position) -> BegunLog:
        return replace(begun, position=place)


@dataclass(frozen=True)
class AlteredSink(ToySink):
    """A sink that follows every change. ``changes``: those that it has followed."""

    changes: list[SchemaChange] = field(default_factory=list)

    def alter(self, change: SchemaChange, setup: Setup) -> Setup:
        self.changes.append(change)
        return setup


def with_sinks(pipeline: Pipeline) -> Pipeline:
    """The pipeline with sinks that can be altered."""
    vertices = []
    for vertex in pipeline.vertices:
        nodes = [replace(one, sink=AlteredSink()) if isinstance(one, SinkNode) else one for one in vertex.nodes]
        vertices.append(replace(vertex, nodes=tuple(nodes)))
    return replace(pipeline, vertices=tuple(vertices))


def waiting(table: SourceTable, *nodes: str) -> HeldChange:
    """A change of this table, which waits at an earlier place than that of the log. Its target has fewer columns."""
    before = replace(table, schema=replace(table.schema, columns=(Column("old", STRING),)))
    change = SchemaAlteration(table, statement="ADD COLUMN more")
    return HeldChange(before, change, EARLIER, ("it waits", "decide"), 5, {node: Setup() for node in nodes})


def table_of(pipeline: Pipeline, name: str) -> SourceTable:
    assert pipeline.log is not None
    return next(one for one in pipeline.log.tables if one.schema.path.table == name)


def test_a_table_goes_back_to_the_place_of_its_change_and_its_target_follows() -> None:
    """log_growth 6."""
    whole = with_sinks(with_source(logged(("a", "b"), transformed=False, targets=1), LogThatGoesBack()))
    table = table_of(whole, "a")
    path = table.schema.path
    rest = replace(following(whole, [one for one in whole.tables if one != path]), becomes=whole)
    (node,) = [one for one in whole.sinks if one.table.path == path]
    change = SchemaChange(path, node.table, node.table, statement="ADD COLUMN more")

    def planned(pipeline: Pipeline, _: Sequence[SchemaAlteration], __: Collection[TablePath]) -> AlteredLog:
        return AlteredLog(pipeline, {node.id: change})

    join = LogJoin((FollowedTable(table),), BegunLog(Split("log", path), PLACE))
    found = grown(rest, join, JOB, {path: waiting(table, node.id)}, planned)

    assert found.joined is not None
    assert (found.joined.begun.position, found.joined.going_back) == (EARLIER, {path})
    assert isinstance(node.sink, AlteredSink) and node.sink.changes == [change]
    assert set(found.pipeline.tables) == set(whole.tables)


@pytest.mark.parametrize("decided", [True, False])
def test_a_table_that_is_decided_about_joins_at_its_change_and_not_at_the_end_of_its_copy(*, decided: bool) -> None:
    """log_replanning 11, log_growth 6."""
    whole = with_source(logged(("a", "b"), transformed=False, targets=1), LogThatGoesBack())
    table, log = table_of(whole, "a"), whole.vertices[0].id
    path, held = table.schema.path, waiting(table)
    grows = replace(
        whole, becomes=without(whole, [path]), decisions={held.id: SchemaBehavior.EVOLVE} if decided else {}
    )
    rounds = {log: (SplitRound((Split("log", path),), None),)}
    tables = {one: table_of(whole, one.table) for one in whole.tables}
    again: list[Any] = []
    state: Any = SimpleNamespace(
        context=SimpleNamespace(pipeline=grows), view=None, newest=stopped_at(whole), at=0.0,
        prepared=PreparedPipeline({}, rounds, tables=tables, held={path: held}),
    )  # fmt: skip
    closing: Any = SimpleNamespace(wish=None, plan_again=again.append)
    part = LogReplanning(state, {}, closing)
    part.joins(())

    assert part.ended(SCHEMA_CHANGE)
    (found,) = again
    assert found.decided == ({path: held.by(SchemaBehavior.EVOLVE)} if decided else {})
    assert found.join is not None


@pytest.mark.parametrize("decided", [True, False])
def test_a_table_that_is_decided_about_leaves_its_log_as_its_target_has_it(*, decided: bool) -> None:
    """begun_logs 3."""
    named = job()
    path, table = paths(named["log"])["a"], table_of(named["log"], "a")
    held = waiting(table)
    before = record(named["log"])
    plan: Any = before.plan
    before = replace(before, plan={**plan, "held": [held.to_plain()]})
    planned: list[tuple[SourceTable, ...]] = []

    def again(pipeline: Pipeline, changes: Sequence[SchemaAlteration], _: Collection[TablePath]) -> AlteredLog:
        planned.append(tuple(one.table for one in changes))
        return AlteredLog(pipeline)

    def tables(pipeline: Pipeline, _: Sequence[SourceTable]) -> Pipeline:
        return pipeline

    pipelines = tuple(named.values())
    key = next(key for key, one in keys(pipelines).items() if one.id == "log")
    decisions = {key: {held.id: SchemaBehavior.EVOLVE}} if decided else {}
    *_, log = as_begun(pipelines, {key: before}, again, tables, decisions=decisions)

    assert leaving(log) == ((path,) if decided else ())
    assert planned == ([(held.before,)] if decided else [])
