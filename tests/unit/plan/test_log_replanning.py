"""A log at a change of a table's schema, and at the end of a run: rules of ``log_replanning.py`` and ``unit_builder.py``,
one by one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from seatunnel_py.api import FollowedTable, Position, SourceTable, Split, TablePath
from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.events import SavepointRequested
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PipelineState
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, Spread, Topology, Vertex
from seatunnel_py.runtime.messages import effects
from seatunnel_py.runtime.pipeline.log_replanning import LogReplanning
from seatunnel_py.runtime.storage.savepoint_names import END_OF_LOG, SCHEMA_CHANGE
from seatunnel_py.runtime.subtasks.unit_builder import UnitBuilder
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.values.split_progress import ReadRange, SplitProgress
from seatunnel_py.runtime.values.subtask_state import State
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import Budget, Unit, UnitId, UnitResult
from tests.kit.machine_bench import SETTINGS, MachineBench
from tests.kit.runtime_toys import schema, unbounded
from tests.kit.toy_jobs import chain
from tests.simulation.jobs.logs import with_log
from tests.simulation.jobs.sources import Finds, with_sources
from tests.simulation.jobs.versions import VERSION
from tests.unit.plan.test_log_tables import logged

CHANGED = SchemaAlteration(SourceTable(schema("x"), log_hints={VERSION: 1}), statement="version 1").to_plain()


def log() -> Pipeline:
    """A log of one table, ``x``, which changes its schema at row 7."""
    return with_log(with_sources(unbounded(chain("x", (20,), 1, Visible.COMMITTED)), Finds.AT_ONCE, lambda: 0.0), (7,))


# ---------------------------------------------------------------- the end of a machine


def test_nothing_is_read_beyond_a_change_that_the_plan_lacks() -> None:
    """log_replanning 1."""
    bench = MachineBench(log(), SETTINGS, effects.StoreRecord, result=lambda found: replace(found, altered=(CHANGED,)))
    bench.begin()
    while records := bench.held(effects.StoreRecord):
        bench.answer(records[0])
    units = [one.unit for one in bench.asked if isinstance(one, effects.SubmitUnit)]
    assert [(one.start, one.split.id if one.split else "") for one in units] == [(None, "s0")]
    (again,) = [one for one in bench.asked if isinstance(one, effects.PlanLogAgain)]
    assert [one.table.log_hints for one in again.alterations] == [{VERSION: 1}]


class Replanning:
    """The part of a machine that reads a log of two splits. ``before``: those that an earlier driver has ended;
    ``requested``: savepoints."""

    def __init__(self, *before: str, ended: tuple[str, ...] = (), wish: object = None, met: bool = False) -> None:
        pipeline = logged(("a",), transformed=False, targets=1)
        self.vertex = next(one.id for one in pipeline.vertices if one.source is not None)
        self.requested: list[SavepointRequested] = []
        self.again: list[Any] = []
        self.pauses: list[Any] = []
        self.plan = {"tables": [1]}
        self.state: Any = SimpleNamespace(
            context=SimpleNamespace(pipeline=pipeline), view=SimpleNamespace(state=PipelineState.RUNNING), at=0.0,
            plan=self.plan, newest=self.record(*before), awaits_record=False, to_coordinator=self.requested.append,
            after=lambda *pause: self.pauses.append(pause),
        )  # fmt: skip
        run: Any = SimpleNamespace(
            unplanned=(CHANGED,) if met else (),
            ended_splits=frozenset(ended),
            splits=(Split("s0", TablePath.parse("a")), Split("s1", TablePath.parse("a"))),
        )
        closing: Any = SimpleNamespace(wish=wish, plan_again=self.again.append)
        self.part = LogReplanning(self.state, {Subtask(self.vertex): run}, closing)
        self.part.begins(self.state.newest)

    def record(self, *ended: str) -> Any:
        state = State(reading=SplitProgress(ended=ended).to_plain()).to_plain()
        return SimpleNamespace(plan=self.plan, snapshots={Subtask(self.vertex): SubtaskSnapshot(state=state)})

    @staticmethod
    def unsettled() -> Any:
        """A record in which a receiver lacks a batch."""
        topology = Topology((Vertex("in"), Vertex("out")), (Edge("in", "out", Spread.FORWARD),))
        (channel,) = topology.channels
        snapshots = {channel.sender: SubtaskSnapshot(sent={channel: 2}), channel.receiver: SubtaskSnapshot()}
        return SimpleNamespace(topology=topology, snapshots=snapshots)


def test_a_savepoint_that_has_failed_is_requested_again_after_a_pause() -> None:
    """log_replanning 4."""
    bench = Replanning(met=True)
    bench.part.look()
    bench.part.look()
    assert [one.name for one in bench.requested] == [SCHEMA_CHANGE]
    bench.part.refused(SCHEMA_CHANGE)
    assert len(bench.pauses) == len(bench.requested) == 1
    bench.part.look_again()
    assert [(one.name, one.stop) for one in bench.requested] == [(SCHEMA_CHANGE, True)] * 2


def test_a_savepoint_that_a_restart_has_ended_is_requested_again() -> None:
    """log_replanning 4."""
    bench = Replanning(met=True)
    bench.part.look()
    bench.part.restarted()
    bench.part.look()
    assert [one.name for one in bench.requested] == [SCHEMA_CHANGE] * 2


@pytest.mark.parametrize("wish", ["stopped", "failed", None])
def test_one_that_is_to_be_stopped_does_not_begin_again(wish: object) -> None:
    """log_replanning 5. Its channel is not settled, so another one would begin with the plan that it has (7)."""
    bench = Replanning(wish=wish)
    bench.state.newest = bench.unsettled()
    assert bench.part.ended(SCHEMA_CHANGE) is (wish is None)
    assert bench.again == ([None] if wish is None else [])


@pytest.mark.parametrize(
    ("before", "ended", "stops"),
    [
        (("s0", "s1"), ("s0", "s1"), False),
        (("s0",), ("s0",), False),
        (("s0",), ("s0", "s1"), True),
        ((), ("s0", "s1"), True),
        ((), (), False),
    ],
)
def test_splits_that_an_earlier_driver_has_ended_end_no_run(
    before: tuple[str, ...], ended: tuple[str, ...], *, stops: bool
) -> None:
    """log_replanning 8: the source is asked for the next one."""
    bench = Replanning(*before, ended=ended)
    bench.part.look()
    assert [one.name for one in bench.requested] == ([END_OF_LOG] if stops else [])


@pytest.mark.parametrize("taken_back", [True, False])
def test_a_run_whose_log_a_restart_has_taken_back_begins_again(*, taken_back: bool) -> None:
    """log_replanning 9: its savepoint holds no end."""
    bench = Replanning(ended=("s0", "s1"))
    bench.state.newest = bench.record("s0") if taken_back else bench.record("s0", "s1")
    assert bench.part.ended(END_OF_LOG) is taken_back
    assert bench.again == ([None] if taken_back else [])


@pytest.mark.parametrize("joining", [True, False])
def test_a_log_that_tables_are_to_join_reads_nothing_though_a_record_has_its_plan(*, joining: bool) -> None:
    """log_replanning 10, log_growth 1: a checkpoint of the pipeline comes before the savepoint."""
    bench = Replanning()
    bench.part.joins((FollowedTable(SourceTable(schema("b")), ()),) if joining else ())
    bench.state.awaits_record = True
    assert bench.part.completed(bench.state.newest) is not joining
    assert bench.state.awaits_record is joining
    bench.part.look()
    assert [one.name for one in bench.requested] == ([SCHEMA_CHANGE] if joining else [])


# ---------------------------------------------------------------- the state of a log


def stepped(state: State, result: UnitResult, repeats: Any, tables: Any) -> State:
    """The state after the result of a unit."""
    context = MachineBench(log()).machine.context
    (vertex,) = context.pipeline.vertices
    builder = UnitBuilder(context, vertex, Subtask(vertex.id), PreparedPipeline({}, {}, tables=tables))
    unit = Unit(result.id, Split("s0", TablePath.parse("x"), rows=20), None, (), Budget(7, 1.0))
    return builder.after(unit, result, state, repeats).state


@pytest.mark.parametrize("source", ["the state", "the unit", "the range that it repeats"])
@pytest.mark.parametrize("planned", [True, False])
def test_a_change_stays_in_the_state_until_the_plan_has_it(source: str, *, planned: bool) -> None:
    """unit_builder 4. A unit that repeats a range ends with it, and need not see the change."""
    altered = (CHANGED,)
    state = State(altered=altered if source == "the state" else ())
    result = UnitResult(
        UnitId("x", 1), next=Position({"n": 7}), rows=7, altered=altered if source == "the unit" else ()
    )
    range_ = ReadRange("s0", None, Position({"n": 7}), rows=7, altered=altered)
    repeats = range_.to_plain() if source == "the range that it repeats" else None
    table = SourceTable(schema("x"), log_hints={VERSION: int(planned)})

    after = stepped(state, result, repeats, {table.schema.path: table})
    assert after.altered == (() if planned else altered)
