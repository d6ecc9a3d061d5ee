"""One pipeline under every order of events: a random scheduler plays engine, side threads and user."""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtime_toys import ToySink, ToySource, failed, filter_node, forked, read, sink_node, source_node, straight, worked

from seatunnel_py.api import Piece, TablePath
from seatunnel_py.plan.flows import SqlNode
from seatunnel_py.plan.pipelines import Channel, Pipeline, Vertex
from seatunnel_py.plan.sql import Analysis, Determinism
from seatunnel_py.runtime.attempts import RetryPolicy
from seatunnel_py.runtime.pipeline_run import (
    Abort,
    Action,
    AgainLater,
    Cancel,
    Changed,
    Close,
    Commit,
    PipelineRun,
    Prepare,
    Prepared,
    Submit,
    SubmitLater,
)
from seatunnel_py.runtime.receipt import TableState
from seatunnel_py.work.unit import Budget, FailureKind, SinkPiece, Unit, UnitFailure, UnitId

WHY = UnitFailure(FailureKind.FATAL, "why")
AWAY = UnitFailure(FailureKind.RETRIABLE, "away")


@dataclass
class World:
    """Everything around a pipeline: keeps what may happen next, lets something of it happen, and watches."""

    run: PipelineRun
    faults: float
    random: random.Random
    under_way: dict[UnitId, Unit] = field(default_factory=dict)
    later: list[UnitId | None] = field(default_factory=list)  # None: preparing or committing
    side: list[Action] = field(default_factory=list)
    states: list[TableState] = field(default_factory=list)
    ends: list[Action] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    taken: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    attempts: Counter[str] = field(default_factory=Counter)

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            assert not self.ends, f"{action} after the end"
            match action:
                case Submit(unit):
                    assert not self.run.state.ended, "nothing is submitted after the end"
                    assert not (self.commits or self.run.state is TableState.PENDING)
                    assert unit.id not in self.under_way
                    self.under_way[unit.id] = unit
                case SubmitLater(unit):
                    self.later.append(unit.id)
                case AgainLater(what):
                    assert not (self.under_way or self.later or self.side)
                    assert isinstance(what, Prepare) or what == self.commits[-1]
                    self.later.append(None)
                case Cancel(unit_id):
                    assert unit_id in self.under_way
                case Changed(state):
                    self.states.append(state)
                case Commit():
                    assert not (self.under_way or self.later or self.side)
                    self.commits.append(action)
                    self.side.append(action)
                case Prepare():
                    assert not self.side
                    self.side.append(action)
                case Abort() | Close():
                    assert not (self.under_way or self.side)
                    self.ends.append(action)
        self.watch()

    def watch(self) -> None:
        """What holds at every moment."""
        for vertex in self.run.vertices.values():
            mine = [unit for unit in self.under_way.values() if unit.id.vertex == vertex.vertex.id]
            assert len(vertex.running) <= vertex.vertex.parallelism
            assert {unit.id for unit in mine} <= set(vertex.running)

    def choices(self) -> list[str]:
        return ["unit"] * len(self.under_way) * 3 + ["later"] * len(self.later) + ["side"] * len(self.side)

    def step(self) -> None:
        """Let one thing happen."""
        wrong = self.random.random() < self.faults
        match self.random.choice(self.choices()):
            case "unit":
                unit = self.under_way.pop(self.random.choice(list(self.under_way)))
                self.end(unit, self.random.choice(list(FailureKind)) if wrong else None)
            case "later":
                self.be_due(self.later.pop(self.random.randrange(len(self.later))))
            case "side":
                self.end_side(self.side.pop(), wrong)

    def be_due(self, unit: UnitId | None) -> None:
        self.perform(self.run.due_again() if unit is None else self.run.due(unit))

    def end(self, unit: Unit, failure: FailureKind | None) -> None:
        self.attempts[unit.id.vertex] += failure is not None
        if failure is FailureKind.LOST:
            self.perform(self.run.lost(unit.id, "killed"))
        elif failure is not None:
            self.perform(self.run.finished(failed(unit.id, failure)))
        else:
            if unit.split is not None:
                self.taken.setdefault((unit.id.vertex, unit.split.id), []).extend(read(unit))
            self.perform(self.run.finished(worked(unit, self.run.vertices[unit.id.vertex].vertex)))

    def end_side(self, action: Action, wrong: bool) -> None:
        why = UnitFailure(self.random.choice(list(FailureKind)), "why")
        if isinstance(action, Prepare):
            self.perform(self.run.prepare_failed(why) if wrong else self.run.prepared(self.prepared()))
        else:
            self.perform(self.run.commit_failed(why) if wrong else self.run.committed())

    def prepared(self) -> Prepared:
        vertices = [vertex.vertex for vertex in self.run.vertices.values() if vertex.vertex.source]
        enumerators = {v.id: v.source.source.enumerator([v.source.table], None) for v in vertices if v.source}
        return Prepared({}, {name: tuple(each.discover()) for name, each in enumerators.items()})

    def play(self, stop_at: int | None = None) -> None:
        """To the end; whatever happens, there is one."""
        self.perform(self.run.begin())
        for number in range(5000):
            if number == stop_at:
                self.perform(self.run.stop(WHY))
            if not self.choices():
                break
            self.step()
        assert not self.choices()


def world(pipeline: Pipeline, seed: int, faults: float = 0.0, budget: int = 7, times: int = 3) -> World:
    run = PipelineRun(pipeline, RetryPolicy(times, 1.0), Budget(budget), channel_capacity=2)
    return World(run, faults, random.Random(seed))


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    rows = tuple(draw(st.lists(st.integers(1, 40), max_size=5)))
    parallelism = draw(st.integers(1, 3))
    if draw(st.booleans()):
        return straight("x", ToySource(rows), parallelism=parallelism)
    sinks = [ToySink(f"out{number}") for number in range(draw(st.integers(2, 3)))]
    return forked("x", ToySource(rows), sinks, parallelism)


seeds = st.integers(0, 2**32)


def all_rows(pipeline: Pipeline) -> dict[tuple[str, str], list[int]]:
    source = pipeline.vertices[0].source
    assert source is not None and isinstance(source.source, ToySource)
    return {("x", f"s{number}"): list(range(rows)) for number, rows in enumerate(source.source.rows)}


@given(pipelines(), seeds)
def test_without_failures_everything_arrives_once(pipeline: Pipeline, seed: int) -> None:
    """Every row of every split is taken once and in order, written once into every target, and committed once."""
    played = world(pipeline, seed)

    played.play()

    total = sum(map(len, all_rows(pipeline).values()))
    assert played.states == [TableState.RUNNING, TableState.COMMITTING, TableState.DONE]
    assert played.taken == all_rows(pipeline)
    assert [type(end) for end in played.ends] == [Close]
    (commit,) = played.commits
    assert {scope: sum(piece.piece.rows for piece in pieces) for scope, pieces in commit.pieces.items()} == {
        node.id: total for node in pipeline.sinks
    }
    (table,) = played.run.counts.tables.values()
    assert (table.rows_read, table.rows_filtered) == (total, 0)
    assert [target.rows_written for target in table.receipts()] == [total] * len(pipeline.sinks)


@given(pipelines(), seeds, st.floats(0.0, 0.5), st.none() | st.integers(0, 60))
def test_whatever_happens_a_pipeline_ends_once_and_cleanly(
    pipeline: Pipeline, seed: int, faults: float, stop_at: int | None
) -> None:
    """Units fail, get lost, are stopped in any order: it ends once, after the last of them; a commit comes only after
    everything, and again only after it failed; nothing that a commit named is aborted; a pipeline that is done lost
    nothing."""
    played = world(pipeline, seed, faults)

    played.play(stop_at)

    assert played.run.state.ended
    assert played.states.count(played.run.state) == 1
    assert len(played.ends) == 1
    assert len(played.commits) <= 4
    assert not any(vertex.running for vertex in played.run.vertices.values())
    assert sum(played.attempts.values()) >= sum(table.attempts for table in played.run.counts.tables.values())
    if played.commits:
        assert isinstance(played.ends[0], Close)
        assert played.taken == all_rows(pipeline)
    if played.run.state is TableState.DONE:
        assert played.commits
        assert sum(played.attempts.values()) == sum(t.attempts for t in played.run.counts.tables.values())


@given(pipelines(), seeds)
def test_attempts_that_fail_now_and_then_cost_nothing(pipeline: Pipeline, seed: int) -> None:
    """Lost and retriable units only: with attempts enough, the result is that of an undisturbed run."""
    played = world(pipeline, seed, times=10_000)
    played.perform(played.run.begin())
    while played.choices():
        if played.under_way and played.random.random() < 0.3:
            unit = played.under_way.pop(next(iter(played.under_way)))
            played.end(unit, played.random.choice([FailureKind.LOST, FailureKind.RETRIABLE]))
        else:
            played.step()

    assert played.run.state is TableState.DONE
    assert played.taken == all_rows(pipeline)


def started(pipeline: Pipeline) -> tuple[PipelineRun, deque[Action]]:
    playing = world(pipeline, 0, budget=1000)
    playing.run.begin()
    return playing.run, deque(playing.run.prepared(playing.prepared()))


def stray(unit: UnitId) -> SinkPiece:
    return SinkPiece("out", TablePath.parse("x"), Piece(3, data={"unit": str(unit)}))


def test_pieces_of_failed_attempts_are_aborted_and_never_committed() -> None:
    """A unit that staged into one sink and failed at the other leaves a piece behind; on failure it is dropped too."""
    run, actions = started(straight("x", ToySource((5,))))
    (unit,) = [action.unit for action in actions if isinstance(action, Submit)]
    again = run.finished(failed(unit.id, FailureKind.RETRIABLE, (stray(unit.id),)))
    (later,) = [action.unit for action in again if isinstance(action, SubmitLater)]
    run.due(later.id)

    (_, abort) = run.finished(failed(later.id, FailureKind.FATAL, (stray(later.id),)))

    assert isinstance(abort, Abort)
    assert abort.pieces["out[x]"] == (stray(unit.id), stray(later.id))
    assert run.counts.tables["x"].rows_written == 0


def test_a_piece_of_a_failed_attempt_is_not_in_the_commit() -> None:
    """Its rows come again with the next attempt."""
    run, actions = started(straight("x", ToySource((5,))))
    (unit,) = [action.unit for action in actions if isinstance(action, Submit)]
    (later,) = [
        action.unit
        for action in run.finished(failed(unit.id, FailureKind.LOST, (stray(unit.id),)))
        if isinstance(action, SubmitLater)
    ]
    run.due(later.id)

    (_, commit) = run.finished(worked(later, run.pipeline.vertices[0]))

    assert isinstance(commit, Commit)
    assert [piece.piece.rows for piece in commit.pieces["out[x]"]] == [5]


def test_a_lost_unit_is_announced_and_tried_again_at_once() -> None:
    """Nobody should have to guess why a job took longer; the table's state stays, for nothing is wrong with it."""
    run, actions = started(straight("x", ToySource((5,))))
    (unit,) = [action.unit for action in actions if isinstance(action, Submit)]

    (later,) = run.lost(unit.id, "killed")

    assert isinstance(later, SubmitLater)
    assert later.delay_seconds == 0.0
    assert "was lost: killed" in later.failure.message
    assert [type(action) for action in run.due(later.unit.id)] == [Submit]
    assert run.state is TableState.RUNNING


def test_a_pipeline_that_is_stopped_before_its_turn_has_nothing_to_undo() -> None:
    """A thousand tables that wait must not become a thousand aborts."""
    run = world(straight("x"), 0).run

    assert run.stop(WHY) == [Changed(TableState.STOPPED, WHY)]


@pytest.mark.parametrize("prepared", [True, False])
def test_a_stop_while_preparing_waits_for_what_preparing_brings(prepared: bool) -> None:
    """Else an enumerator would stay open, and a staging table would be left in the target."""
    playing = world(straight("x"), 0)
    playing.run.begin()

    assert playing.run.stop(WHY) == [Changed(TableState.STOPPED, WHY)]
    ended = playing.run.prepared(playing.prepared()) if prepared else playing.run.prepare_failed(WHY)

    assert [type(action) for action in ended] == [Abort if prepared else Close]


def test_a_stop_while_committing_waits_for_the_commit() -> None:
    """It cannot be called back, and the receipt must not say that nothing arrived when everything did."""
    run, actions = started(straight("x", ToySource((5,))))
    (unit,) = [action.unit for action in actions if isinstance(action, Submit)]
    run.finished(worked(unit, run.pipeline.vertices[0]))

    assert run.stop(WHY) == []
    assert run.committed() == [Changed(TableState.DONE), Close()]


def test_a_commit_that_fails_leaves_its_pieces_untouched() -> None:
    """I33: whether it reached the target is not known."""
    run, actions = started(straight("x", ToySource((5,))))
    (unit,) = [action.unit for action in actions if isinstance(action, Submit)]
    run.finished(worked(unit, run.pipeline.vertices[0]))

    assert run.commit_failed(WHY) == [Changed(TableState.FAILED, WHY), Close()]


@pytest.mark.parametrize("committing", [True, False])
def test_what_may_help_to_try_again_is_tried_as_often_as_a_unit(committing: bool) -> None:
    """A target that cannot be reached for a moment must not cost the rows that are staged for it already."""
    run, again = begun_or_committing(committing)
    fail = run.commit_failed if committing else run.prepare_failed
    delays = []
    for attempt in (1, 2, 3):
        (later,) = fail(AWAY)
        assert isinstance(later, AgainLater) and (later.attempt, later.failure) == (attempt, AWAY)
        delays.append(later.delay_seconds)
        assert run.due_again() == [again]

    assert delays == [0.125, 0.25, 0.5]
    assert fail(AWAY) == [Changed(TableState.FAILED, AWAY), Close()]


@pytest.mark.parametrize("kind", set(FailureKind) - {FailureKind.RETRIABLE})
def test_preparing_and_committing_are_not_tried_again_without_need(kind: FailureKind) -> None:
    failure = UnitFailure(kind, "no")

    assert begun_or_committing(False)[0].prepare_failed(failure) == [Changed(TableState.FAILED, failure), Close()]
    assert begun_or_committing(True)[0].commit_failed(failure) == [Changed(TableState.FAILED, failure), Close()]


@pytest.mark.parametrize(("committing", "state", "why"), [(True, "FAILED", "away"), (False, "STOPPED", "why")])
def test_a_stop_between_two_attempts_does_not_wait_for_the_next(committing: bool, state: str, why: str) -> None:
    """A commit that failed has failed; what was not prepared is stopped. The pause that ends later starts nothing."""
    run, _ = begun_or_committing(committing)
    fail = run.commit_failed if committing else run.prepare_failed
    fail(AWAY)

    changed, end = run.stop(WHY)

    assert isinstance(changed, Changed) and changed.failure
    assert (changed.state.value, changed.failure.message, type(end)) == (state, why, Close if committing else Abort)
    assert run.due_again() == []


def begun_or_committing(committing: bool) -> tuple[PipelineRun, Prepare | Commit]:
    if not committing:
        run = world(straight("x", ToySource((5,))), 0).run
        (prepare,) = run.begin()
        assert isinstance(prepare, Prepare)
        return run, prepare
    run, actions = started(straight("x", ToySource((5,))))
    (unit,) = [action.unit for action in actions if isinstance(action, Submit)]
    (_, commit) = run.finished(worked(unit, run.pipeline.vertices[0]))
    assert isinstance(commit, Commit)
    return run, commit


def test_an_empty_table_behind_a_fan_out_reaches_a_query_behind_it() -> None:
    """The end of an input without rows is passed on through vertices that never ran a unit."""
    head = source_node("x", ToySource(()))
    analysis = Analysis("q", (), False, Determinism.DETERMINATE)
    query = SqlNode("q", head.step, analysis, (("i", head.table.schema),), head.table.schema)
    first = Channel("c1", "x", "t", TablePath.parse("x"))
    second = Channel("c2", "t", "q", TablePath.parse("x"), "i")
    third = Channel("c3", "q", "out", TablePath.parse("x"))
    vertices = (
        Vertex("x", (head,), (), (first,)),
        Vertex("t", (filter_node("t", "x"),), (first,), (second,)),
        Vertex("q", (query,), (second,), (third,)),
        Vertex("out", (sink_node("out", "x"),), (third,)),
    )

    _, actions = started(Pipeline("p", "x", vertices))

    assert [action.unit.id.vertex for action in actions if isinstance(action, Submit)] == ["q"]
