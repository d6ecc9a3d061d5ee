"""The loop with an engine that does what a script says: everything that can go wrong around a unit."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from seatunnel_py.api import FatalError, Piece, RetriableError, TablePath
from seatunnel_py.errors import ExitCode
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.driver.admission import OPEN_MAX
from seatunnel_py.runtime.messages.engine_port import UnitLost
from seatunnel_py.runtime.observe.events import JobEvent, RowsMoved, TableChanged, UnitRetried
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds, TableReceipt, TableState
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget, FailureKind, SinkPiece, Unit, UnitResult
from tests.kit.runtime_toys import (
    Clock,
    ScriptedEngine,
    Target,
    ToySink,
    ToySource,
    driver_of,
    failed,
    forked,
    sink_node,
    straight,
    unbounded,
)

DONE, FAILED, STOPPED, ISOLATED = TableState.DONE, TableState.FAILED, TableState.STOPPED, TableState.ISOLATED
SECONDS_MAX = 30
LIVES = ATTEMPTS = 4  # with three retries


class Job:
    """A driver over some pipelines; ``run`` ends it in this thread, ``start`` in another one."""

    def __init__(self, pipelines: Sequence[Pipeline], *, fail_fast: bool = False, retry: float = 0.01) -> None:
        self.engine = ScriptedEngine(pipelines)
        self.events: list[JobEvent] = []
        settings = Settings(
            RetryPolicy(3, retry),
            Budget(10, 1.0),
            fail_fast=fail_fast,
            exchange="mem:",
            restarts=Backoff(3, retry / 8, longest=retry),
        )
        self._place = tempfile.TemporaryDirectory()
        place = Path(self._place.name)
        self.driver = driver_of(pipelines, self.engine, settings, Clock(), self._listen, place)
        self.tables: tuple[TableReceipt, ...] = ()
        self._heard = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _listen(self, event: JobEvent) -> None:
        with self._heard:
            self.events.append(event)
            self._heard.notify_all()

    def wait_for(self, wanted: Callable[[JobEvent], bool]) -> None:
        with self._heard:
            assert self._heard.wait_for(lambda: any(map(wanted, self.events)), SECONDS_MAX)

    def _run(self) -> None:
        self.tables = self.driver.run()

    def run(self) -> dict[str, TableState]:
        self.start()
        return self.end()

    def start(self) -> None:
        self._thread.start()

    def end(self) -> dict[str, TableState]:
        self._thread.join(SECONDS_MAX)
        assert not self._thread.is_alive(), "the job hangs"
        self.engine.stop()
        self._place.cleanup()
        return {table.table: table.state for table in self.tables}

    def receipt(self) -> Receipt:
        return Receipt("j", "job", self.tables, Seconds(), stopped_by=self.driver.job.stopped_by)


class Gate:
    """Makes a sink or source wait: ``reached`` is set when it is there, ``open`` lets it go on."""

    def __init__(self, what: str, error: Exception | None = None) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self._what, self._error = what, error

    def __call__(self, what: str) -> None:
        if what == self._what:
            self.reached.set()
            assert self.open.wait(SECONDS_MAX)
            if self._error is not None:
                raise self._error


def raising(at: str, error: Exception) -> Callable[[str], None]:
    def act(what: str) -> None:
        if what == at:
            raise error

    return act


def stray(unit: Unit) -> SinkPiece:
    return SinkPiece("out", TablePath.parse(unit.id.vertex), Piece(1, data={"stray": True}))


def only_first_attempts(job: Job, outcome: Callable[[Unit], UnitResult | UnitLost]) -> None:
    job.engine.script = lambda unit: job.engine.work(unit) if unit.id.attempt else outcome(unit)


def test_lost_units_are_tried_again_and_told() -> None:
    """Every first attempt dies with its worker: everything arrives all the same, and the receipt counts."""
    target = Target()
    job = Job([straight("x", ToySource((25, 5)), ToySink("out", target), parallelism=2)])
    only_first_attempts(job, lambda unit: UnitLost(unit.id, "killed"))

    assert job.run() == {"x": DONE}
    (table,) = job.tables
    assert (table.rows_read, table.rows_written, table.attempts) == (30, 30, 4)
    assert sum(piece.rows for piece in target.committed) == 30
    assert [event.delay_seconds for event in job.events if isinstance(event, UnitRetried)] == [0.0] * 4


def test_retriable_failures_are_tried_again_after_growing_pauses() -> None:
    """The pauses are told, then the table goes on; equal pauses of many units do not disturb one another."""
    job = Job([straight(f"t{number}", ToySource((5,))) for number in range(30)])
    job.engine.script = lambda unit: (
        job.engine.work(unit) if unit.id.attempt == 2 else failed(unit.id, FailureKind.RETRIABLE)
    )

    assert set(job.run().values()) == {DONE}
    pauses = [event.delay_seconds for event in job.events if isinstance(event, UnitRetried)]
    assert sorted(set(pauses)) == [0.01 / 32, 0.01 / 32 * 5]
    states = [event.state for event in job.events if isinstance(event, TableChanged) and event.name == "t7"]
    assert states == [
        TableState.RUNNING,
        TableState.RETRYING,
        TableState.RUNNING,
        TableState.RETRYING,
        TableState.RUNNING,
        TableState.COMMITTING,
        DONE,
    ]


def test_attempts_that_are_used_up_fail_the_table_and_drop_what_it_staged() -> None:
    """Pieces of good units and of failed attempts alike, once, those of each life at its end, and the enumerator is
    closed."""
    target, source = Target(), Target()
    job = Job([straight("x", ToySource((10, 10), source), ToySink("out", target))])
    job.engine.script = lambda unit: (
        job.engine.work(unit)
        if unit.split and unit.split.id == "s0"
        else failed(unit.id, FailureKind.RETRIABLE, (stray(unit),))
    )

    assert job.run() == {"x": FAILED}
    assert target.told.count("abort") == LIVES and "commit" not in target.told
    strays = sorted(bool(piece.data.get("stray")) for piece in target.aborted)
    assert strays == [False] * LIVES + [True] * LIVES * ATTEMPTS
    assert len({str(piece.data) for piece in target.aborted if not piece.data.get("stray")}) == LIVES
    assert source.told == ["discover", "close"]
    assert job.tables[0].cause is not None and "went wrong" in job.tables[0].cause.message


@pytest.mark.parametrize("at", ["plan", "setup", "discover"])
def test_what_fails_while_it_is_prepared_leaves_nothing_behind(at: str) -> None:
    """Everything is looked at before anything is changed; where the change fails every sink is told to drop what it
    made, and the next table is untouched."""
    first, second, source = Target(), Target(), Target()
    for target in (first, second, source):
        target.act = raising(at, FatalError(f"no {at}")) if target is not first else target.act
    sinks = [ToySink("one", first), ToySink("two", second)]
    job = Job([forked("x", ToySource((5,), source), sinks), straight("y")])

    assert job.run() == {"x": ISOLATED, "y": DONE}
    assert ("abort" in first.told) == ("setup" in first.told) == (at == "setup")
    assert source.told.count("close") == source.told.count("discover")
    assert job.tables[0].cause is not None and job.tables[0].cause.message == f"no {at}"


def test_a_plugin_that_cannot_travel_fails_its_own_table() -> None:
    """What a worker cannot be given is found when it is shipped; the others run."""
    source = Target()
    job = Job([straight("x", ToySource((5,), source)), straight("y")])
    job.engine.refuse = "x"

    assert job.run() == {"x": ISOLATED, "y": DONE}
    assert source.told == ["discover", "close"]


def test_a_stop_while_a_table_is_prepared_waits_for_it_and_undoes_it() -> None:
    """The setup is under way in a side thread: it ends, then what it made is dropped and the source closed."""
    gate, source = Gate("setup"), Target()
    target = Target(gate)
    job = Job([straight("x", ToySource((5,), source), ToySink("out", target))])
    job.start()
    assert gate.reached.wait(SECONDS_MAX)
    job.driver.stop()
    gate.open.set()

    assert job.end() == {"x": STOPPED}
    assert target.told == ["plan", "setup", "abort"]
    assert source.told == ["discover", "close"]
    assert job.engine.submitted == []
    assert job.receipt().exit_code == ExitCode.INTERRUPTED


def test_a_stop_skips_what_still_waits_for_its_turn() -> None:
    """Tables that wait for a side thread or for admission are not touched any more."""
    gate = Gate("setup")
    targets = [Target(gate) for _ in range(OPEN_MAX + 20)]
    job = Job([straight(f"t{n}", sink=ToySink("out", target)) for n, target in enumerate(targets)])
    job.start()
    assert gate.reached.wait(SECONDS_MAX)
    job.driver.stop(ExitCode.TERMINATED)
    threading.Timer(
        0.2, gate.open.set
    ).start()  # the loop has taken the stop long before; later only means less skipped

    assert set(job.end().values()) == {STOPPED}
    assert sum("setup" in target.told for target in targets) < OPEN_MAX
    assert all(target.told[-1:] in ([], ["abort"]) for target in targets)
    assert job.receipt().exit_code == ExitCode.TERMINATED


def test_a_stop_while_units_run_cancels_them_and_nothing_becomes_visible() -> None:
    """The abort comes after the last unit has ended; what was staged before is dropped."""
    target = Target()
    job = Job([straight("x", ToySource((10, 10, 10)), ToySink("out", target), parallelism=2)])
    job.engine.script = lambda unit: job.engine.work(unit) if unit.split and unit.split.id == "s0" else None
    job.start()
    job.engine.wait_for_units(3)
    job.driver.stop()

    assert job.end() == {"x": STOPPED}
    assert len(job.engine.cancelled) == 2
    assert target.told == ["plan", "setup", "abort"]
    assert [piece.rows for piece in target.aborted] == [10]


def test_a_stop_during_a_pause_does_not_wait_for_its_end() -> None:
    """A pause of an hour must not keep a terminal."""
    job = Job([straight("x")], retry=3600.0)
    job.engine.script = lambda unit: failed(unit.id, FailureKind.RETRIABLE)
    job.start()
    job.engine.wait_for_units(1)
    job.wait_for(lambda event: isinstance(event, UnitRetried))
    job.driver.stop()

    assert job.end() == {"x": STOPPED}


@pytest.mark.parametrize("error", [None, FatalError("the disk is full")])
def test_a_stop_while_committing_lets_the_commit_end(error: Exception | None) -> None:
    """It cannot be called back: the receipt says what became of it. A stop that changed nothing is no failure."""
    gate = Gate("commit", error)
    target = Target(gate)
    job = Job([straight("x", sink=ToySink("out", target))])
    job.start()
    assert gate.reached.wait(SECONDS_MAX)
    job.driver.stop()
    gate.open.set()

    assert job.end() == {"x": FAILED if error else DONE}
    assert "abort" not in target.told
    assert job.receipt().exit_code == (ExitCode.INTERRUPTED if error else ExitCode.SUCCESS)


def test_a_stop_while_the_last_commit_is_tried_again_lets_that_try_end() -> None:
    """B3 of the machine's study: the table was STOPPED, and its rows were there."""
    tries, second, may_end = iter([1, 2]), threading.Event(), threading.Event()

    def act(what: str) -> None:
        if what == "commit":
            if next(tries) == 1:
                raise RetriableError("no answer")
            second.set()
            assert may_end.wait(SECONDS_MAX)

    job = Job([straight("x", sink=ToySink("out", Target(act)))])
    job.start()
    assert second.wait(SECONDS_MAX)
    job.driver.stop()
    job.driver.post(may_end.set)

    assert job.end() == {"x": DONE}


def test_a_stop_between_two_tries_of_the_last_commit_does_not_wait_for_the_next() -> None:
    """A target that is away must not keep a terminal; the job can be gone on with."""
    target = Target(raising("commit", RetriableError("no answer")))
    job = Job([straight("x", sink=ToySink("out", target))], retry=3600.0)
    job.start()
    job.wait_for(lambda event: isinstance(event, UnitRetried) and event.unit == "commit")
    job.driver.stop()

    assert job.end() == {"x": STOPPED}
    assert job.driver.job.resumable and "abort" not in target.told


def test_a_table_that_fails_before_it_could_stop_has_failed() -> None:
    """B9 of the machine's study: it was shown as STOPPED."""
    held = threading.Event()

    def script(unit: Unit) -> UnitResult | None:
        held.set()
        return None

    job = Job([unbounded(straight("x"))])
    job.engine.script = script
    job.start()
    assert held.wait(SECONDS_MAX)
    job.driver.stop()  # a stream ends behind a savepoint, which waits for its unit
    [unit] = job.engine.held
    job.driver.post(lambda: job.engine._say(unit, failed(unit)))

    assert job.end() == {"x": FAILED}


def test_a_commit_that_fails_leaves_its_pieces_untouched() -> None:
    """I33: it may have reached the target. The other table is not concerned."""
    target, source = Target(raising("commit", FatalError("no answer"))), Target()
    job = Job([straight("x", ToySource((5,), source), ToySink("out", target)), straight("y")])

    assert job.run() == {"x": ISOLATED, "y": DONE}
    assert target.told == ["plan", "setup", "commit"]
    assert target.aborted == []
    assert source.told == ["discover", "close"]
    assert job.receipt().exit_code == ExitCode.SOME_TABLES_FAILED


@pytest.mark.parametrize("at", ["plan", "setup", "discover", "commit"])
def test_a_target_or_source_that_is_away_for_a_moment_costs_a_pause(at: str) -> None:
    """While it is prepared or committed, as anywhere else; the rows arrive once, and the pauses are told."""
    seen: list[str] = []

    def away_twice(what: str) -> None:
        seen.append(what)
        if what == at and seen.count(at) <= 2:
            raise RetriableError("no answer")

    target, source = Target(away_twice), Target(away_twice)
    job = Job([straight("x", ToySource((5,), source), ToySink("out", target)), straight("y")])

    assert job.run() == {"x": DONE, "y": DONE}
    assert [piece.rows for piece in target.committed] == [5]
    pauses = [(event.unit, event.attempt) for event in job.events if isinstance(event, UnitRetried)]
    assert pauses == [({"commit": "commit", "setup": "set up out[x]/0"}.get(at, "prepare"), n) for n in (1, 2)]
    assert source.told.count("close") == source.told.count("discover")
    assert job.receipt().exit_code == ExitCode.SUCCESS


def test_a_target_that_stays_away_fails_the_table_in_the_end() -> None:
    target = Target(raising("commit", RetriableError("no answer")))
    job = Job([straight("x", sink=ToySink("out", target))])

    assert job.run() == {"x": FAILED}
    assert target.told.count("commit") == LIVES * ATTEMPTS and "abort" not in target.told
    assert job.tables[0].cause is not None and job.tables[0].cause.message == "no answer"


def test_an_abort_that_fails_is_told_and_does_not_hold_the_job_up() -> None:
    """The outcome stands; what was left behind is known; the other sink's pieces are dropped all the same."""
    stubborn, other, source = Target(raising("abort", FatalError("no permission to drop"))), Target(), Target()
    vertex = straight("x", ToySource((5,), source)).vertices[0]
    sinks = (sink_node("one", "x", ToySink("one", stubborn)), sink_node("two", "x", ToySink("two", other)))
    job = Job([Pipeline("p", "x", (PlannedVertex("x", (vertex.nodes[0], *sinks)),))])
    job.engine.script = lambda unit: failed(unit.id)

    assert job.run() == {"x": FAILED}
    assert "abort" in other.told
    assert source.told == ["discover", "close"]
    told = [event.failure.message for event in job.events if isinstance(event, TableChanged) and event.failure]
    assert told[-1] == "no permission to drop"
    assert job.tables[0].cause is not None and "went wrong" in job.tables[0].cause.message


def test_fail_fast_stops_the_other_tables() -> None:
    """They say why, nothing of them becomes visible, and the job has failed."""
    targets = {name: Target() for name in "abc"}
    job = Job([straight(name, sink=ToySink("out", target)) for name, target in targets.items()], fail_fast=True)
    job.engine.script = lambda unit: failed(unit.id) if unit.id.vertex == "b" else None
    states = job.run()

    assert states == {"a": STOPPED, "b": FAILED, "c": STOPPED}
    assert job.tables[0].cause is not None and job.tables[0].cause.message == "stopped because b failed"
    assert not any("commit" in target.told for target in targets.values())
    assert job.receipt().exit_code == ExitCode.FAILED


def test_a_hundred_pipelines_with_failures_among_them_end_within_the_limit() -> None:
    """Never more than the limit are open; every tenth fails; all the others arrive."""
    lock = threading.Lock()
    open_now, most = 0, 0

    class Counting(Target):
        def tell(self, what: str) -> None:
            nonlocal open_now, most
            with lock:
                open_now += {"discover": 1, "close": -1}.get(what, 0)
                most = max(most, open_now)

    job = Job([straight(f"t{number}", ToySource((5,), Counting())) for number in range(100)])
    job.engine.script = lambda unit: failed(unit.id) if int(unit.id.vertex[1:]) % 10 == 0 else job.engine.work(unit)

    states = job.run()

    assert [state for name, state in states.items() if int(name[1:]) % 10 == 0] == [ISOLATED] * 10
    assert list(states.values()).count(DONE) == 90
    assert most <= OPEN_MAX
    assert open_now == 0


def test_progress_counts_rows_where_they_are_read() -> None:
    """Behind a channel the same rows move again; a bar that shows them would pass its end."""
    job = Job([forked("x", ToySource((30,)), [ToySink("one"), ToySink("two")])])

    job.run()

    assert sum(event.rows for event in job.events if isinstance(event, RowsMoved)) == 30
