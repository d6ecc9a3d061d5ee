"""One sink of a pipeline fails for good: it is left out, the others go on to their end, and people are told."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from seatunnel_py.api import Setup, TablePath
from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.api.sink import Visible
from seatunnel_py.errors import ExitCode, FatalError
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.observe.events import JobEvent, RegionRestarted, SinkIsolated
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds, TableReceipt, TableState
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
)

ROWS = 100
DONE, ISOLATED, FAILED = TableState.DONE, TableState.ISOLATED, TableState.FAILED


@dataclass(frozen=True)
class SeenAs(ToySink):
    visible: Visible = Visible.COMMITTED

    def plan_setup(self) -> Setup:
        self.state.tell("plan")
        return Setup(visible=self.visible)


@dataclass
class FanOut:
    """A source with three sinks; units of the vertices in ``failing`` fail from the given one on."""

    place: Path
    visible: Visible = Visible.COMMITTED
    interval: float | None = 0.01
    fail_fast: bool = False
    parallelism: int = 1
    splits: tuple[int, ...] = ()
    kind: FailureKind = FailureKind.FATAL
    failing: dict[str, int] = field(default_factory=lambda: {"x>1": 3})
    events: list[JobEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.targets = [Target(), Target(), Target()]

    def pipeline(self) -> Pipeline:
        sinks = [SeenAs(f"out{number}", target, self.visible) for number, target in enumerate(self.targets)]
        return forked("x", ToySource(self.splits or (ROWS,) * self.parallelism), sinks, self.parallelism)

    def run(self, pipeline: Pipeline | None = None) -> Receipt:
        line = pipeline or self.pipeline()
        self.engine = ScriptedEngine([line])

        def script(unit: Unit) -> object:
            if unit.id.vertex in self.failing and unit.id.sequence >= self.failing[unit.id.vertex]:
                return failed(unit.id, self.kind)
            return self.engine.work(unit)

        self.engine.script = script  # type: ignore[assignment]
        settings = Settings(
            RetryPolicy(1, 0.002),
            Budget(10, 1.0),
            exchange="mem:",
            fail_fast=self.fail_fast,
            checkpoint=CheckpointSettings(interval=self.interval),
            restarts=Backoff(1, 0.001, longest=0.002),
        )
        self.driver = driver_of([line], self.engine, settings, Clock(), self.events.append, self.place)
        tables = self.driver.run()
        self.engine.stop()
        return Receipt("j", "job", tables, Seconds(), (), self.driver.job.stopped_by)

    def pieces(self, number: int) -> dict[str, int]:
        """Rows by unit: the last commits of a job are repeated by its next driver, and ledgers make each once."""
        return {str(piece.data["unit"]): piece.rows for piece in self.targets[number].committed}  # type: ignore[index,call-overload]

    def committed(self, number: int) -> int:
        return sum(self.pieces(number).values())

    def seen(self, kind: type) -> list[JobEvent]:
        return [event for event in self.events if isinstance(event, kind)]


def states(table: TableReceipt) -> list[TableState | None]:
    return [into.state for into in table.targets]


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("visible", list(Visible))
def test_the_others_go_on_without_a_sink_that_fails_for_good(
    tmp_path: Path, visible: Visible, parallelism: int
) -> None:
    """I21, IS5, exit code 3: the others have every row once and restart no more; nothing of the one that was left out
    is committed beyond where it stands; receipt and events name sink, table and cause."""
    job = FanOut(tmp_path, visible, parallelism=parallelism)

    receipt = job.run()

    (table,) = receipt.tables
    assert receipt.exit_code == ExitCode.SOME_TABLES_FAILED
    assert (table.state, states(table)) == (ISOLATED, [DONE, ISOLATED, DONE])
    everything = ROWS * parallelism
    assert (job.committed(0), job.committed(2)) == (everything, everything)
    assert job.committed(1) < everything
    assert not job.seen(RegionRestarted)
    for calm in ("x", "x>0", "x>2"):
        units = [unit.id for unit in job.engine.submitted if unit.id.vertex == calm]
        assert {unit.epoch for unit in units} == {0} and len(units) == len(set(units))
    (told,) = job.seen(SinkIsolated)
    assert isinstance(told, SinkIsolated) and (told.vertex, told.targets) == ("x>1", ("out1",))
    assert table.cause is not None and table.cause.message == told.failure.message
    out = table.targets[1]
    assert out.cause == table.cause and "went wrong" in table.cause.message
    assert out.stands is not None
    if visible is not Visible.FINAL:
        assert out.rows_written == job.committed(1), "what is said to be written is what was committed"
    assert table.rows_read == everything and table.targets[0].rows_written == everything
    plain = receipt.to_plain()["tables"][0]["targets"]
    assert [one["state"] for one in plain] == ["DONE", "ISOLATED", "DONE"] and "trace" not in plain[1]["cause"]


def test_without_an_interval_nothing_is_seen_before_the_end(tmp_path: Path) -> None:
    """LE6: no barrier is taken for the isolation, which would show rows of the others early."""
    job = FanOut(tmp_path, interval=None)

    receipt = job.run()

    assert states(receipt.tables[0]) == [DONE, ISOLATED, DONE]
    assert [target.told.count("commit") for target in job.targets] == [1, 0, 1]
    assert (job.committed(0), job.committed(1), job.committed(2)) == (ROWS, 0, ROWS)
    out = receipt.tables[0].targets[1]
    assert out.stands is not None and (out.stands.checkpoint, out.rows_written) == (0, 0)
    assert "abort" in job.targets[1].told, "what it had staged is given back"
    assert "abort" not in job.targets[0].told + job.targets[2].told


def test_attempts_and_lives_come_first(tmp_path: Path) -> None:
    """FO5: what may pass is tried again, with restarts of the region; only then is the sink left out."""
    job = FanOut(tmp_path, kind=FailureKind.RETRIABLE)

    receipt = job.run()

    assert states(receipt.tables[0]) == [DONE, ISOLATED, DONE]
    assert len(job.seen(RegionRestarted)) == 1
    assert (job.committed(0), job.committed(2)) == (ROWS, ROWS)


def test_fail_fast_fails_the_table(tmp_path: Path) -> None:
    """FO7: the policy of SeaTunnel."""
    receipt = FanOut(tmp_path, fail_fast=True).run()
    assert (receipt.tables[0].state, states(receipt.tables[0])) == (FAILED, [None, None, None])
    assert receipt.exit_code == ExitCode.FAILED


@pytest.mark.parametrize("who", ["x", "x>0 x>1 x>2"])
def test_where_nothing_would_remain_the_table_fails(tmp_path: Path, who: str) -> None:
    """IS3: the source, or every sink."""
    receipt = FanOut(tmp_path, failing=dict.fromkeys(who.split(), 3)).run()
    assert receipt.tables[0].state is FAILED
    assert receipt.exit_code == ExitCode.FAILED
    assert TableState.DONE not in states(receipt.tables[0])


def test_two_sinks_leave_one_after_the_other(tmp_path: Path) -> None:
    """Each with a cause of its own, and a place of its own where it stands."""
    job = FanOut(tmp_path, failing={"x>0": 2, "x>2": 7})

    (table,) = job.run().tables

    assert states(table) == [ISOLATED, DONE, ISOLATED]
    assert job.committed(1) == ROWS
    causes = [into.cause for into in table.targets]
    assert causes[0] is not None and causes[2] is not None and causes[0] != causes[2]


def test_a_sink_leaves_where_a_restart_would_show_rows_twice(tmp_path: Path) -> None:
    """FO2: a source that gives other rows when it is read again cannot restart beside a sink that shows all at once;
    leaving out restarts nobody."""
    job = FanOut(tmp_path, Visible.STAGED, kind=FailureKind.RETRIABLE)
    line = job.pipeline()
    head, *behind = line.vertices
    source = head.source
    assert source is not None
    other = replace(source, capabilities=replace(source.capabilities, determinism=Determinism.INDETERMINATE))
    line = replace(line, vertices=(replace(head, nodes=(other,)), *behind))

    receipt = job.run(line)

    assert states(receipt.tables[0])[1] is ISOLATED
    assert (job.committed(0), job.committed(2)) == (ROWS, ROWS)


def with_source(pipeline: Pipeline, **capabilities: bool) -> Pipeline:
    head, *behind = pipeline.vertices
    source = head.source
    assert source is not None
    other = replace(source, capabilities=replace(source.capabilities, **capabilities))
    return replace(pipeline, vertices=(replace(head, nodes=(other,)), *behind))


def stopped(job: FanOut) -> Receipt:
    """A stream until the others have everything, and then stopped behind a savepoint."""
    everything = ROWS * job.parallelism

    def stop_when_through() -> None:
        if job.committed(0) >= everything and job.committed(2) >= everything:
            job.driver.stop()

    for number in (0, 2):
        job.targets[number].act = lambda what: stop_when_through() if what == "commit" else None
    stopper = threading.Timer(2.0, lambda: job.driver.stop())
    stopper.start()
    try:
        return job.run(with_source(job.pipeline(), bounded=False))
    finally:
        stopper.cancel()


def test_a_stream_goes_on_without_a_sink_and_says_at_its_restore_that_it_does(tmp_path: Path) -> None:
    """Never silently dropped: what is missing since where, and how to load it anew, while the others go on."""
    first = FanOut(tmp_path)
    receipt = stopped(first)

    (table,) = receipt.tables
    assert [first.committed(number) for number in (0, 2)] == [ROWS, ROWS]
    assert states(table) == [TableState.STOPPED, ISOLATED, TableState.STOPPED]
    assert receipt.exit_code == ExitCode.INTERRUPTED

    again = FanOut(tmp_path, failing={})
    (table,) = stopped(again).tables

    assert states(table) == [TableState.STOPPED, ISOLATED, TableState.STOPPED]
    out = table.targets[1]
    assert out.cause is not None and out.stands is not None
    assert "went wrong" in out.cause.message and "does not end" in out.cause.message
    assert f"after checkpoint {out.stands.checkpoint}" in out.cause.message or not out.stands.checkpoint
    assert "a job of its own" in out.cause.remedy and "--fresh" in out.cause.remedy
    assert out.cause.error_type == "CannotResumeError"
    assert not [unit for unit in again.engine.submitted if unit.id.vertex == "x>1"]
    (told,) = again.seen(SinkIsolated)
    assert isinstance(told, SinkIsolated) and told.failure == out.cause


def test_what_is_mended_is_finished_alone(tmp_path: Path) -> None:
    """AP2: the source is read from where the sink stands; nobody else gets anything."""
    first = FanOut(tmp_path)
    out = first.run().tables[0].targets[1]
    assert out.stands is not None and out.rows_written is not None

    again = FanOut(tmp_path, failing={})
    receipt = again.run()

    assert receipt.exit_code == ExitCode.SUCCESS
    whole, rest = receipt.tables
    assert [into.target for into in whole.targets] == ["out0", "out2"]
    assert [into.target for into in rest.targets] == ["out1"]
    assert (whole.state, rest.state) == (DONE, DONE)
    assert out.rows_written + again.committed(1) == ROWS == rest.rows_written
    assert {unit.id.vertex for unit in again.engine.submitted} <= {"x", "x>1"}
    for calm in (0, 2):
        assert again.pieces(calm).items() <= first.pieces(calm).items()

    last = FanOut(tmp_path, failing={})
    assert last.run().exit_code == ExitCode.SUCCESS
    assert not last.engine.submitted, "everything is done"


@pytest.mark.parametrize(("before", "now"), [(1, 2), (3, 1)])
def test_a_sink_is_finished_that_failed_just_after_a_change_of_parallelism(
    tmp_path: Path, before: int, now: int
) -> None:
    """isolated_sink_recovery rule 2: the record at which it stands is older than the parallelism of its pipeline."""
    splits = (ROWS, ROWS, ROWS)
    first = FanOut(tmp_path, interval=0.001, parallelism=before, splits=splits, failing={})
    first.targets[0].act = lambda what: first.driver.stop() if what == "commit" else None
    assert first.run().exit_code == ExitCode.INTERRUPTED
    second = FanOut(tmp_path, interval=None, parallelism=now, splits=splits, failing={"x>1": 0})
    out = second.run().tables[0].targets[1]
    assert out.stands is not None and out.stands.checkpoint

    third = FanOut(tmp_path, parallelism=now, splits=splits, failing={})
    receipt = third.run()

    assert receipt.exit_code == ExitCode.SUCCESS, [(one.state, one.cause) for one in receipt.tables]
    assert sum({**first.pieces(1), **second.pieces(1), **third.pieces(1)}.values()) == sum(splits)
    assert {unit.id.subtask for unit in third.engine.submitted if unit.id.vertex == "x"} == set(range(now))


def test_one_that_fails_again_stays_out(tmp_path: Path) -> None:
    """Exit code 3, with the new cause; and it can be finished still."""
    FanOut(tmp_path).run()
    receipt = FanOut(tmp_path, failing={"x>1": 0}).run()

    assert [table.state for table in receipt.tables] == [DONE, ISOLATED]
    assert receipt.exit_code == ExitCode.SOME_TABLES_FAILED
    assert FanOut(tmp_path, failing={}).run().exit_code == ExitCode.SUCCESS


def test_a_source_that_is_read_once_is_not_read_for_it_again(tmp_path: Path) -> None:
    """AP6: refused with what is missing and what to do; the others are as they were."""
    first = FanOut(tmp_path)
    first.run(with_source(first.pipeline(), replayable=False))
    again = FanOut(tmp_path, failing={})

    receipt = again.run(with_source(again.pipeline(), replayable=False))

    (table,) = receipt.tables
    assert states(table) == [DONE, ISOLATED, DONE] and receipt.exit_code == ExitCode.SOME_TABLES_FAILED
    assert table.cause is not None and "x cannot be read a second time" in table.cause.message
    assert table.cause.error_type == "CannotResumeError" and not again.engine.submitted


@pytest.mark.parametrize("interval", [None, 0.001])
def test_a_sink_whose_commit_is_refused_is_left_out(tmp_path: Path, interval: float | None) -> None:
    """CN4: the others arrive; what was not committed is not called written, is kept, and is committed by the next
    driver, which reads no more than what is missing."""
    job = FanOut(tmp_path, interval=interval, failing={})

    def act(what: str) -> None:
        if what == "commit":
            raise FatalError("it takes no commit", "mend it")

    job.targets[1].act = act
    receipt = job.run()

    (table,) = receipt.tables
    assert states(table) == [DONE, ISOLATED, DONE] and receipt.exit_code == ExitCode.SOME_TABLES_FAILED
    assert (table.targets[1].rows_written, job.committed(1)) == (0, 0)
    assert table.cause is not None and "takes no commit" in table.cause.message
    assert "abort" not in job.targets[1].told, "records name what is staged"

    again = FanOut(tmp_path, interval=interval, failing={})
    assert again.run().exit_code == ExitCode.SUCCESS
    assert again.committed(1) == ROWS
    assert bool(again.engine.submitted) == (interval is not None)


def branched(job: FanOut) -> Pipeline:
    """x feeds a sink, and a filter that feeds two more."""
    path = TablePath.parse("x")
    sinks = [SeenAs(f"out{number}", target) for number, target in enumerate(job.targets)]
    to_sink, to_filter = PlannedChannel("c0", "x", "x>0", path), PlannedChannel("c1", "x", "f", path)
    behind = [PlannedChannel(f"c{number + 1}", "f", f"x>{number}", path) for number in (1, 2)]
    return Pipeline(
        "p-x",
        "x",
        (
            PlannedVertex("x", (source_node("x", ToySource((ROWS,))),), (), (to_sink, to_filter)),
            PlannedVertex("x>0", (sink_node("out0", "x", sinks[0]),), (to_sink,)),
            PlannedVertex("f", (filter_node("f", "x"),), (to_filter,), tuple(behind)),
            *(
                PlannedVertex(channel.receiver, (sink_node(sink.name, "x", sink),), (channel,))
                for channel, sink in zip(behind, sinks[1:], strict=True)
            ),
        ),
    )


def test_a_filter_that_feeds_nobody_any_more_leaves_too_and_comes_back_for_each(tmp_path: Path) -> None:
    """IS2, AP1: two sinks behind it are finished one after the other, each through it."""
    first = FanOut(tmp_path, failing={"x>1": 2, "x>2": 6})
    (table,) = first.run(branched(first)).tables
    assert states(table) == [DONE, ISOLATED, ISOLATED] and first.committed(0) == ROWS

    again = FanOut(tmp_path, failing={})
    receipt = again.run(branched(again))

    assert receipt.exit_code == ExitCode.SUCCESS, receipt.tables
    assert [[into.target for into in one.targets] for one in receipt.tables] == [["out0"], ["out1"], ["out2"]]
    assert [one.targets[0].rows_written for one in receipt.tables] == [ROWS, ROWS, ROWS]
    assert "x>0" not in {unit.id.vertex for unit in again.engine.submitted}
