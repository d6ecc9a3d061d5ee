"""Which units the driver asks for, and when: one at a time of a subtask, not too many ahead, and a query once."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_driver_late import Job, wait_until

from seatunnel_py.api import FatalError, RetriableError, TablePath
from seatunnel_py.plan.graph_nodes import SqlNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex
from seatunnel_py.plan.sql.analysis import Analysis, Determinism
from seatunnel_py.runtime.messages.engine_port import UnitLost
from seatunnel_py.runtime.observe.events import RowsMoved, TableChanged, UnitRetried
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.values.rate_limit import Grant, RateLimit
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget, FailureKind, Unit
from tests.kit.runtime_toys import (
    Clock,
    ScriptedEngine,
    Target,
    ToySink,
    ToySource,
    driver_of,
    failed,
    filter_node,
    forked,
    sink_node,
    source_node,
    straight,
)

X = TablePath.parse("x")
RUNNING, COMMITTING, DONE, FAILED = TableState.RUNNING, TableState.COMMITTING, TableState.DONE, TableState.FAILED


def states(job: Job, name: str = "x") -> list[TableState]:
    return [event.state for event in job.events if isinstance(event, TableChanged) and event.name == name]


def run(job: Job) -> Job:
    job.thread.start()
    job.end()
    return job


def test_a_second_attempt_has_the_same_rows_and_another_number(tmp_path: Path) -> None:
    """The sink can tell "again" from "more"; a lost unit leaves the state of its table, for nothing is wrong there."""
    job = Job([straight("x", ToySource((25,)))], tmp_path)
    job.engine.script = lambda unit: job.engine.work(unit) if unit.id.attempt else UnitLost(unit.id, "killed")
    run(job)

    pairs = list(zip(job.engine.submitted[::2], job.engine.submitted[1::2], strict=True))
    assert [(one.id.sequence, one.id.attempt, two.id.attempt) for one, two in pairs] == [
        (1, 0, 1),
        (2, 0, 1),
        (3, 0, 1),
    ]
    assert all(replace(two, id=one.id) == one for one, two in pairs)
    assert len({one.data_id for one, _ in pairs}) == 3
    assert states(job) == [RUNNING, COMMITTING, DONE]
    causes = [event.failure.message for event in job.events if isinstance(event, UnitRetried)]
    assert len(causes) == 3 and all("was lost: killed" in cause for cause in causes)


def test_a_unit_whose_pack_was_cancelled_has_not_failed(tmp_path: Path) -> None:
    """P1: after one table had failed, eight good ones said that a worker of theirs was lost. It is tried again, as the
    same rows under another number, and nobody hears of it."""
    job = Job([straight("x", ToySource((25,)))], tmp_path)
    gone = lambda unit: UnitLost(unit.id, "the pack was cancelled", cancelled=True)  # noqa: E731
    job.engine.script = lambda unit: job.engine.work(unit) if unit.id.attempt else gone(unit)
    run(job)

    assert [unit.id.attempt for unit in job.engine.submitted] == [0, 1] * 3
    assert states(job) == [RUNNING, COMMITTING, DONE]
    assert [event for event in job.events if isinstance(event, UnitRetried)] == []


def test_a_subtask_has_one_unit_under_way_and_a_vertex_as_many_as_it_is_parallel(tmp_path: Path) -> None:
    job = Job([straight("x", ToySource((30, 30, 30, 30, 30)), parallelism=2)], tmp_path)
    job.engine.script = lambda unit: None
    job.thread.start()
    for _ in range(15):
        wait_until(lambda: job.engine.held)
        time.sleep(0.002)  # a third one would show itself
        held = dict(job.engine.held)
        assert len({unit.subtask for unit in held}) == len(held) <= 2
        (unit_id, *_) = held
        unit = job.engine.held.pop(unit_id)
        job.engine._say(unit_id, job.engine.work(unit))
    job.end()

    assert len(job.engine.submitted) == 15
    assert states(job)[-1] is DONE


def test_an_empty_source_ends_without_a_unit(tmp_path: Path) -> None:
    target = Target()
    job = run(Job([straight("x", ToySource(()), ToySink("out", target))], tmp_path))

    assert job.engine.submitted == []
    assert states(job)[-1] is DONE
    assert target.told == ["plan", "setup", "commit"]


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_full_channel_holds_its_sender_back(tmp_path: Path, parallelism: int) -> None:
    """Back-pressure: what is under way goes on, nothing starts; when its reader goes on so does the sender. The
    slowest of several readers decides."""
    sinks = [ToySink("fast"), ToySink("slow")]
    job = Job([forked("x", ToySource((800,)), sinks, parallelism)], tmp_path)
    capacity = 16
    job.engine.script = lambda unit: None if unit.id.vertex == "x>1" else job.engine.work(unit)
    job.thread.start()

    def read() -> int:
        return sum(unit.split is not None for unit in job.engine.submitted)

    wait_until(lambda: read() >= capacity + 1)
    time.sleep(0.05)
    # As many as the channel holds, one that the reader has taken out of it, and one that was begun while the last of
    # them was on its way.
    assert read() <= capacity + 2
    job.engine.script = job.engine.work
    ((unit_id, unit),) = job.engine.held.items()
    job.engine._say(unit_id, job.engine.work(unit))
    job.end()

    assert read() == 80
    assert states(job)[-1] is DONE


def query_job(place: Path, rows: tuple[int, ...]) -> Job:
    """A source, a filter behind it, a wide query behind that, and its sink."""
    head = source_node("x", ToySource(rows))
    analysis = Analysis("q", (), False, Determinism.DETERMINATE)
    query = SqlNode("q", head.step, analysis, (("i", head.table.schema),), head.table.schema)
    ways = (
        PlannedChannel("c1", "x", "t", X),
        PlannedChannel("c2", "t", "q", X, "i"),
        PlannedChannel("c3", "q", "out", X),
    )
    vertices = (
        PlannedVertex("x", (head,), (), (ways[0],)),
        PlannedVertex("t", (filter_node("t", "x"),), (ways[0],), (ways[1],)),
        PlannedVertex("q", (query,), (ways[1],), (ways[2],)),
        PlannedVertex("out", (sink_node("out", "x"),), (ways[2],)),
    )
    return Job([Pipeline("p", "x", vertices)], place)


def test_a_wide_query_waits_for_all_of_its_input_and_runs_once(tmp_path: Path) -> None:
    """It knows its inputs by the plan's channels, and it is never full: it must take everything."""
    job = run(query_job(tmp_path, (200, 200)))
    asked = [unit for unit in job.engine.submitted if unit.id.vertex == "q"]

    assert len(asked) == 1
    assert sum(one.rows for one in asked[0].slices) == 400
    assert {one.channel for one in asked[0].slices} == {"c2"}
    assert job.engine.submitted.index(asked[0]) == len(job.engine.submitted) - 2
    assert sum(event.rows for event in job.events if isinstance(event, RowsMoved)) == 400


def test_an_empty_table_reaches_a_query_behind_other_vertices(tmp_path: Path) -> None:
    """The end of an input without rows is passed on through vertices that never ran a unit; the query runs all the
    same: count(*) of nothing is a row."""
    job = run(query_job(tmp_path, ()))

    assert [(unit.id.vertex, unit.slices) for unit in job.engine.submitted] == [("q", ())]
    assert states(job)[-1] is DONE


@pytest.mark.parametrize("error", [FatalError("no"), ValueError("no"), OSError("no")])
@pytest.mark.parametrize("at", ["plan", "discover", "setup", "commit"])
def test_preparing_and_committing_are_not_tried_again_without_need(tmp_path: Path, at: str, error: Exception) -> None:
    """Only what calls itself retriable may be better the next time."""

    def act(what: str) -> None:
        if what == at:
            raise error

    target = Target(act)
    job = run(Job([straight("x", ToySource((5,), target), ToySink("out", target))], tmp_path))

    assert target.told.count(at) == 1
    assert states(job)[-1] is FAILED


def test_a_stop_between_two_tries_of_a_commit_does_not_wait_for_the_next(tmp_path: Path) -> None:
    """What was staged stays, for a commit that failed may have reached the target (I33); a later driver goes on."""

    def away(what: str) -> None:
        if what == "commit":
            raise RetriableError("no answer")

    target = Target(away)
    job = Job([straight("x", sink=ToySink("out", target))], tmp_path, retry=3600.0)
    job.thread.start()
    wait_until(lambda: any(isinstance(event, UnitRetried) for event in job.events))
    job.driver.stop()
    job.end()

    assert target.told == ["plan", "setup", "commit"]
    assert states(job)[-1] in (FAILED, TableState.STOPPED)
    target.act = lambda what: None
    again = run(Job([straight("x", sink=ToySink("out", target))], tmp_path))
    assert [piece.rows for piece in target.committed] == [10]
    assert states(again)[-1] is DONE


@pytest.mark.parametrize("kind", [FailureKind.FATAL, FailureKind.UNEXPECTED])
def test_a_unit_that_cannot_be_done_fails_its_table_with_its_own_words(tmp_path: Path, kind: FailureKind) -> None:
    def script(unit: Unit) -> Any:
        return failed(unit.id, kind)

    job = Job([straight("x"), straight("y")], tmp_path)
    job.engine.script = lambda unit: script(unit) if unit.id.vertex == "x" else job.engine.work(unit)
    run(job)

    assert (states(job)[-1], states(job, "y")[-1]) == (TableState.ISOLATED, DONE)
    causes = [event.failure.message for event in job.events if isinstance(event, TableChanged) and event.failure]
    assert "x#1.e0.a" in causes[-1] and "went wrong" in causes[-1]


def test_what_a_unit_has_read_is_set_against_its_own_grant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the next one's, what was granted is paid twice: a source stays below its limit for ever."""
    given: list[Grant] = []
    used: list[Grant] = []
    ask, use = RateLimit.ask, RateLimit.used

    def asked(limit: RateLimit, *about: Any) -> Grant:
        grant = ask(limit, *about)
        given.extend([grant] if grant.rows else [])
        return grant

    def was_used(limit: RateLimit, at: float, reader: Any, grant: Grant, *read: int) -> None:
        used.append(grant)
        use(limit, at, reader, grant, *read)

    monkeypatch.setattr(RateLimit, "ask", asked)
    monkeypatch.setattr(RateLimit, "used", was_used)
    line = straight("x", ToySource((25,)))
    engine = ScriptedEngine([line])
    settings = Settings(RetryPolicy(0, 0.01), Budget(10, 1.0), exchange="mem:", read_rows=1000)
    driver_of([line], engine, settings, Clock(), lambda event: None, tmp_path).run()
    engine.stop()

    assert len(given) == 3 and list(map(id, used)) == list(map(id, given))
