"""Tables of a log that stop or cannot join it: each by itself, while the others go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from plan_toys import ToySource

from seatunnel_py.api import (
    STRING,
    BegunLog,
    Column,
    Enumerator,
    FatalError,
    FollowedTable,
    LogSource,
    Plain,
    Position,
    Reader,
    SchemaChange,
    Setup,
    Source,
    SourceCapabilities,
    SourceTable,
    Split,
    TablePath,
)
from seatunnel_py.errors import COPY_AGAIN
from seatunnel_py.plan.altered_log import AlteredLog, LogJoin, Refusal
from seatunnel_py.plan.log_tables import following
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.resume.log_growth import grown
from seatunnel_py.runtime.targets.held_change import APPROVE
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.targets.target_alteration import altered
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.split_progress import SplitProgress
from seatunnel_py.runtime.values.subtask_state import State
from seatunnel_py.work.schema_alteration import SchemaAlteration
from tests.unit.plan.test_log_growth import paths, record_of
from tests.unit.plan.test_log_tables import logged

PLACE = Position({"end": 9})
JOB = JobIdentity("j", "lineage")


class PlannedLog(ToySource, LogSource):
    """A log that can go back. ``refused``: tables that cannot join it."""

    refused: frozenset[TablePath] = frozenset()

    @property
    def can_go_back(self) -> bool:
        return True

    def join(self, begun: BegunLog, table: FollowedTable) -> BegunLog:
        if table.table.schema.path in self.refused:
            raise FatalError("it was read beyond the copy", "copy it again")
        return begun

    def copy_source(self) -> Source | None:
        return None

    def copy_capabilities(self) -> SourceCapabilities:
        return SourceCapabilities()

    def log_enumerator(self, tables: Sequence[FollowedTable], state: Plain) -> Enumerator:
        raise AssertionError("nothing is read by a planner")

    def log_reader(self, tables: Sequence[SourceTable]) -> Reader:
        raise AssertionError("nothing is read by a planner")


def with_source(pipeline: Pipeline, source: LogSource) -> Pipeline:
    head = pipeline.vertices[0]
    assert head.source is not None
    node = replace(head.source, source=source)
    return replace(pipeline, vertices=(replace(head, nodes=(node, *head.nodes[1:])), *pipeline.vertices[1:]))


def stopped_at(pipeline: Pipeline) -> CheckpointRecord:
    """A savepoint in which the log has been read up to a place."""
    found, log = record_of(pipeline), pipeline.vertices[0].id
    state = State(reading=SplitProgress(at={"log": PLACE}).to_plain()).to_plain()
    snapshots = {at: replace(one, state=state) if at.vertex == log else one for at, one in found.snapshots.items()}
    return replace(found, snapshots=snapshots)


def prepared(pipeline: Pipeline) -> PreparedPipeline:
    assert pipeline.log is not None
    tables = {one.schema.path: one for one in pipeline.log.tables}
    return PreparedPipeline({node.id: Setup() for node in pipeline.sinks}, {}, tables=tables)


def test_a_refused_table_joins_no_log_and_the_others_do() -> None:
    """log_growth 3."""
    whole = logged(("a", "b", "c"), transformed=False, targets=1)
    named = paths(whole)
    source = PlannedLog()
    source.refused = frozenset({named["b"]})
    before = with_source(following(whole, [named["a"]]), source)
    assert whole.log is not None
    joining = tuple(FollowedTable(one) for one in whole.log.tables if one.schema.path != named["a"])
    begun = BegunLog(Split("log", named["a"]), PLACE)

    found = grown(replace(before, becomes=with_source(whole, source)), LogJoin(joining, begun), JOB)

    assert found.joined is not None
    assert (found.joined.tables, set(found.joined.refused)) == ((named["c"],), {named["b"]})
    assert set(found.pipeline.tables) == {named["a"], named["c"]}


@pytest.mark.parametrize("isolated", [True, False])
def test_the_target_of_an_isolated_table_is_not_altered(*, isolated: bool) -> None:
    """target_alteration 1: rows of the earlier schema are missing in it. The toys refuse to be altered."""
    whole = with_source(logged(("a", "b"), transformed=False, targets=1), PlannedLog())
    named, record = paths(whole), stopped_at(whole)
    (vertex, node), *_ = [
        (one.id, node) for one in whole.vertices for node in one.sinks if node.table.path.table == "a"
    ]
    after = replace(node.table, columns=(*node.table.columns, Column("more", STRING)))
    change = SchemaChange(named["a"], node.table, after, statement="ADD COLUMN more")
    if isolated:
        record = replace(record, topology=replace(record.topology, detached=frozenset({vertex})))

    found = altered(whole, prepared(whole), AlteredLog(whole, {node.id: change}, frozenset({named["a"]})), JOB, record)

    assert set(found.refused) == (set() if isolated else {named["a"]})


@pytest.mark.parametrize("isolated", [True, False])
def test_a_change_by_which_a_table_stops_waits_for_a_person(*, isolated: bool) -> None:
    """target_alteration 5: with its place in the log, and the set-ups of its sinks. After an isolated target it can
    only be copied again (6)."""
    whole = with_source(logged(("a", "b"), transformed=False, targets=1), PlannedLog())
    named, before, record = paths(whole), prepared(whole), stopped_at(whole)
    met = SchemaAlteration(before.tables[named["a"]], statement="ADD COLUMN more")
    refused: Any = {named["a"]: Refusal("the target refuses it", "alter it by hand")}
    ((vertex, node),) = [(one.id, node) for one in whole.vertices for node in one.sinks if node.table.path.table == "a"]
    if isolated:
        record = replace(record, topology=replace(record.topology, detached=frozenset({vertex})))

    found = altered(whole, before, AlteredLog(whole, refused=refused, met=(met,)), JOB, record)

    remedy = found.refused[named["a"]].remedy
    if isolated:
        assert (dict(found.held), remedy) == ({}, COPY_AGAIN)
        return
    (held,) = found.held.values()
    assert (held.path, held.position, held.alteration) == (named["a"], PLACE, met)
    assert dict(held.setups) == {node.id: before.setups[node.id]}
    assert f"`{APPROVE} {held.id}`" in remedy
