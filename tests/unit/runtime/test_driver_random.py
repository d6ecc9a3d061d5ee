"""The whole driver under every order of events: units fail, get lost, end late, people stop it, and it dies."""

from __future__ import annotations

import heapq
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.api import Piece
from seatunnel_py.api.sink import Visible
from seatunnel_py.errors import FatalError
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.runtime.messages.engine_port import EngineEvent, UnitFinished, UnitLost
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.unit import Budget, FailureKind, Unit, UnitFailure, UnitId, UnitResult
from tests.kit.runtime_toys import Clock, Target, ToySource, driver_of
from tests.kit.toy_jobs import (
    Ledger,
    Row,
    Shape,
    built,
    chain,
    fork,
    jobs,
    ledgers,
    rows_of,
    shapes_of,
    sources,
    work,
)

SECONDS_MAX = 20.0
DONE, FAILED, STOPPED = TableState.DONE, TableState.FAILED, TableState.STOPPED


# ---------------------------------------------------------------- workers


@dataclass
class Fates:
    """How units end: drawn by chance, from a seed."""

    random: random.Random
    wrong: float = 0.0
    kinds: Sequence[FailureKind] = tuple(FailureKind)
    slowest: float = 0.002

    def next(self, unit: Unit) -> tuple[FailureKind | None, float]:
        kind = self.random.choice(list(self.kinds)) if self.random.random() < self.wrong else None
        return kind, self.random.random() * self.slowest


class RandomEngine:
    """The engine port: units end in any order, well or not; one that is cancelled may still end well. ``exchange`` is
    where rows lie between vertices: it outlives the engine."""

    slots = 4

    def __init__(self, pipelines: Iterable[Pipeline], fates: Fates, exchange: dict[str, list[Row]]) -> None:
        self.vertices = {vertex.id: vertex for line in pipelines for vertex in line.vertices}
        self.exchange = exchange
        self.staged: list[tuple[str, Piece]] = []  # by sink, what good units have staged
        self.under_way: dict[UnitId, Unit] = {}
        self.mute = False
        self._fates = fates
        self._due: list[tuple[float, int, Unit, FailureKind | None]] = []
        self._count = 0
        self._changed = threading.Condition()
        self._over = False
        self._registered: set[str] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self, report: Callable[[EngineEvent], None]) -> None:
        self._report = report
        self._thread.start()

    def register(self, chain: Chain) -> None:
        self._registered.add(chain.vertex)

    def submit(self, unit: Unit) -> None:
        assert unit.id.vertex in self._registered
        with self._changed:
            same = [one for one in self.under_way if (one.vertex, one.subtask) == (unit.id.vertex, unit.id.subtask)]
            assert not [one for one in same if one.epoch == unit.id.epoch], f"{unit.id} beside {same}"
            self.under_way[unit.id] = unit
            kind, delay = self._fates.next(unit)
            self._count += 1
            heapq.heappush(self._due, (time.monotonic() + delay, self._count, unit, kind))
            self._changed.notify()

    def abandon(self, unit: UnitId) -> None:
        self.cancel(unit)

    def cancel(self, unit: UnitId) -> None:
        """It ends when it ends: how is what chance had said."""

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._over:
                    return
                left = self._due[0][0] - time.monotonic() if self._due else None
                if left is None or left > 0:
                    self._changed.wait(left)
                    continue
                _, _, unit, kind = heapq.heappop(self._due)
                if self.mute:
                    continue
                del self.under_way[unit.id]
                event = self._end(unit, kind)
            self._report(event)

    def _end(self, unit: Unit, kind: FailureKind | None) -> EngineEvent:
        if kind is FailureKind.LOST:
            return UnitLost(unit.id, "killed")
        worked = self.work(unit)
        if kind is None:
            self.staged += [(f"{piece.step}[{piece.table}]", piece.piece) for piece in worked.pieces]
            return UnitFinished(worked)
        failure = UnitFailure(kind, f"{unit.id} went wrong")
        return UnitFinished(UnitResult(unit.id, done=False, pieces=worked.pieces[:1], failure=failure))

    def work(self, unit: Unit) -> UnitResult:
        return work(self.vertices, self.exchange, unit)

    def stop(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join(SECONDS_MAX)


# ---------------------------------------------------------------- a job


class Died(Exception):
    pass


class Job:
    """One driver over a place; several drivers may follow one another over the same one."""

    def __init__(
        self,
        pipelines: list[Pipeline],
        place: Path,
        fates: Fates,
        exchange: dict[str, list[Row]],
        *,
        interval: float | None = None,
        dies_at: int | None = None,
        capacity: int = 2,
        fail_fast: bool = False,
    ) -> None:
        self.pipelines = pipelines
        self.engine = RandomEngine(pipelines, fates, exchange)
        self.events: list[JobEvent] = []
        self._dies_at = dies_at
        checkpoint = CheckpointSettings(interval=interval)
        told = Settings(
            RetryPolicy(3, 0.004), Budget(7, 1.0), capacity, fail_fast, exchange="mem:", checkpoint=checkpoint
        )
        self.driver = driver_of(pipelines, self.engine, told, Clock(), self._listen, place)
        self.tables: tuple[TableReceipt, ...] = ()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _listen(self, event: JobEvent) -> None:
        self.events.append(event)
        if self._dies_at is not None and len(self.events) >= self._dies_at:
            raise Died

    def _run(self) -> None:
        try:
            self.tables = self.driver.run()
        except BaseException as error:  # noqa: BLE001 - told by the thread that waits
            self.error = error

    def run(self, stop_after: float | None = None, then: Callable[[], None] = lambda: None) -> None:
        self._thread.start()
        if stop_after is not None:
            time.sleep(stop_after)
            self.driver.stop()
            then()
        self._thread.join(SECONDS_MAX)
        hangs = self._thread.is_alive()
        self.engine.stop()
        assert not hangs, "the job hangs"
        if self.error is not None and not isinstance(self.error, Died):
            raise self.error

    def states(self, pipeline: Pipeline) -> list[TableState]:
        changes = [one for one in self.events if isinstance(one, TableChanged) and one.pipeline == pipeline.id]
        return [one.state for one in changes]

    def state(self, pipeline: Pipeline) -> TableState:
        (ended,) = [state for state in self.states(pipeline) if state.ended]
        return ended


seeds = st.integers(0, 2**32)
INTERVALS = st.sampled_from([None, 0.004])


def in_order(rows: Iterable[Row]) -> bool:
    """Whether the rows of each split come one after the other."""
    splits: dict[tuple[str, str], list[int]] = {}
    for vertex, split, number in rows:
        splits.setdefault((vertex, split), []).append(number)
    return all(numbers == list(range(len(numbers))) for numbers in splits.values())


def settled(job: Job, pipeline: Pipeline) -> None:
    """What holds of every pipeline that has ended, however it did."""
    ended = [state for state in job.states(pipeline) if state.ended]
    assert len(ended) == 1, f"{pipeline.name} ended as {ended}"
    assert job.states(pipeline)[-1] is ended[0]
    for target in sources(pipeline):
        assert target.told.count("close") == target.told.count("discover")
    for ledger in ledgers(pipeline).values():
        assert len(ledger.dropped) <= 1
        assert ledger.after_abort == [], "something came after the abort"
        assert len(set(ledger.rows)) == len(ledger.rows), "rows are there twice"
    if ended[0] is DONE:
        wanted = rows_of(pipeline)
        staged = Counter(node for node, _ in job.engine.staged)
        for node, ledger in ledgers(pipeline).items():
            assert sorted(ledger.rows) == wanted
            assert sum(len(pieces) for pieces in ledger.commits.values()) == staged[node]
            assert not ledger.dropped


@given(jobs, seeds, INTERVALS)
@settings(max_examples=25)
def test_without_failures_every_row_is_committed_once(shapes: list[Shape], seed: int, interval: float | None) -> None:
    """Through chains, forks, unions and queries, and those of a split in order; the receipt says the same."""
    pipelines = built(shapes)
    with tempfile.TemporaryDirectory() as place:
        job = Job(pipelines, Path(place), Fates(random.Random(seed)), {}, interval=interval)
        job.run()

    for pipeline in pipelines:
        settled(job, pipeline)
        assert job.states(pipeline) == [TableState.RUNNING, TableState.COMMITTING, DONE]
        for ledger in ledgers(pipeline).values():
            assert in_order(ledger.rows) or any(vertex.query for vertex in pipeline.vertices)
    assert sum(table.rows_read for table in job.tables) == sum(len(rows_of(pipeline)) for pipeline in pipelines)
    written = sum(len(ledger.rows) for pipeline in pipelines for ledger in ledgers(pipeline).values())
    assert sum(table.rows_written for table in job.tables) == written


def end_cleanly(shapes: list[Shape], seed: int, wrong: float, stop_after: float | None, interval: float | None) -> None:
    """Units fail in every way, are lost, and end late; the job is stopped at any time: every pipeline ends once,
    nothing is at work afterwards, a success has exactly the pieces of good units, and what fails commits nothing after
    its last record."""
    pipelines = built(shapes)
    with tempfile.TemporaryDirectory() as place:
        job = Job(pipelines, Path(place), Fates(random.Random(seed), wrong), {}, interval=interval)
        job.run(stop_after)

    assert job.engine.under_way == {}
    arrived = {(table.table, into.target) for table in job.tables for into in table.targets if into.state is DONE}
    for pipeline in pipelines:
        settled(job, pipeline)
        whole = {
            node: ledger for node, ledger in ledgers(pipeline).items() if (pipeline.name, name_of(node)) in arrived
        }
        for node, ledger in whole.items():  # the others go on without a sink that fails
            assert sorted(ledger.rows) == rows_of(pipeline), node
            assert not ledger.dropped
        if interval is None and job.state(pipeline) is not DONE:
            ran = [ledger for node, ledger in ledgers(pipeline).items() if node not in whole and "setup" in ledger.told]
            # A sink that leaves asks for a checkpoint; from there the others may go on, also when they fail later.
            stays = [ledger for ledger in ran if ledger.commits]
            assert all(len(ledger.dropped) == 1 for ledger in ran if not ledger.commits)
            assert all(ledger.keeps_what_counts for ledger in stays)
            assert not stays or any(into.stands for table in job.tables for into in table.targets)
    told = {table.table: table.state for table in job.tables}
    assert told == {pipeline.name: job.state(pipeline) for pipeline in pipelines}


def name_of(node: str) -> str:
    return node.partition("[")[0]


stops = st.none() | st.floats(0, 0.04)


@given(st.lists(shapes_of("chain", "union"), min_size=1, max_size=3), seeds, st.floats(0, 0.4), stops, INTERVALS)
@settings(max_examples=30)
def test_whatever_happens_every_pipeline_ends_once_and_cleanly(
    shapes: list[Shape], seed: int, wrong: float, stop_after: float | None, interval: float | None
) -> None:
    """Where rows go from the source into the sink in one unit."""
    end_cleanly(shapes, seed, wrong, stop_after, interval)


@given(jobs, seeds, st.floats(0, 0.4), stops, INTERVALS)
@settings(max_examples=30)
def test_whatever_happens_pipelines_with_channels_end_once_and_cleanly(
    shapes: list[Shape], seed: int, wrong: float, stop_after: float | None, interval: float | None
) -> None:
    end_cleanly(shapes, seed, wrong, stop_after, interval)


@given(jobs, seeds, INTERVALS)
@settings(max_examples=25)
def test_attempts_that_fail_now_and_then_cost_nothing(shapes: list[Shape], seed: int, interval: float | None) -> None:
    """Lost and retriable units only, and none of them three times in a row: the result is that of an undisturbed run."""
    pipelines = built(shapes)
    kinds = (FailureKind.LOST, FailureKind.RETRIABLE)
    with tempfile.TemporaryDirectory() as place:
        fates = Rarely(random.Random(seed), 0.3, kinds)
        job = Job(pipelines, Path(place), fates, {}, interval=interval)
        job.run()

    for pipeline in pipelines:
        settled(job, pipeline)
        assert job.state(pipeline) is DONE
    assert sum(table.attempts for table in job.tables) == fates.failed


@given(
    st.lists(shapes_of("fork"), min_size=1, max_size=2),
    seeds,
    st.floats(0.0, 0.3),
    INTERVALS,
    st.integers(1, 30),
    st.integers(0, 4),
)
@settings(max_examples=40)
def test_what_was_left_out_is_finished_by_a_later_driver(
    shapes: list[Shape], seed: int, wrong: float, interval: float | None, dies_at: int, refused: int
) -> None:
    """Units of sinks fail for good, or targets refuse the commit of that number and all later ones; the others go on;
    later drivers, one of which dies in the middle, bring what is missing, and every row is there once, in every
    sink."""
    pipelines = built(shapes)
    chance = random.Random(seed)
    exchange: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as place:
        fates = SinksFail(chance, wrong, (FailureKind.FATAL,))
        refusing = [next(iter(ledgers(pipeline).values())) for pipeline in pipelines] if refused else []
        for ledger in refusing:
            ledger.act = partial(refuse, ledger, refused)
        Job(pipelines, Path(place), fates, exchange, interval=interval).run()
        for ledger in refusing:
            ledger.act = lambda what: None
        Job(pipelines, Path(place), Fates(chance), exchange, interval=interval, dies_at=dies_at).run()
        for _ in range(3):
            last = Job(pipelines, Path(place), Fates(chance), exchange, interval=interval)
            last.run()

    assert {table.state for table in last.tables} == {DONE}
    for pipeline in pipelines:
        for node, ledger in ledgers(pipeline).items():
            assert sorted(ledger.rows) == rows_of(pipeline), node


def refuse(ledger: Ledger, number: int, what: str) -> None:
    if what == "commit" and ledger.told.count("commit") >= number:
        raise FatalError("it takes no commit", "mend it")


@dataclass
class SinksFail(Fates):
    """Sources do not."""

    def next(self, unit: Unit) -> tuple[FailureKind | None, float]:
        kind, delay = super().next(unit)
        return (None if unit.split is not None else kind), delay


@dataclass
class Rarely(Fates):
    """The third attempt at a unit ends well."""

    failed: int = 0

    def next(self, unit: Unit) -> tuple[FailureKind | None, float]:
        kind, delay = super().next(unit)
        if unit.id.attempt >= 2:
            return None, delay
        self.failed += kind is not None
        return kind, delay


@given(jobs, seeds, st.lists(st.integers(1, 25), min_size=1, max_size=3), INTERVALS, st.floats(0, 0.1))
@settings(max_examples=40)
def test_a_driver_that_goes_on_after_others_have_died_brings_every_row_once(
    shapes: list[Shape], seed: int, deaths: list[int], interval: float | None, wrong: float
) -> None:
    """Drivers die in the middle of anything, one after the other; exchanged rows and the store are still there."""
    pipelines = built(shapes)
    chance = random.Random(seed)
    exchange: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as place:
        for dies_at in deaths:
            fates = Fates(chance, wrong, (FailureKind.LOST,))
            died = Job(pipelines, Path(place), fates, exchange, interval=interval, dies_at=dies_at)
            died.run()
            if died.error is None:
                break
        last = Job(pipelines, Path(place), Fates(chance), exchange, interval=interval)
        last.run()

    for pipeline in pipelines:
        assert last.state(pipeline) is DONE, last.tables
        for ledger in ledgers(pipeline).values():
            assert sorted(ledger.rows) == rows_of(pipeline)
            assert not ledger.dropped
    ran = {pipeline.name for pipeline in pipelines if TableState.RUNNING in last.states(pipeline)}
    for table in last.tables:  # of those that had only a commit left the next test tells
        if table.table in ran:
            wanted = sum(len(rows_of(pipeline)) for pipeline in pipelines if pipeline.name == table.table)
            same = [other for other in last.tables if other.table == table.table]
            assert sum(other.rows_read for other in same) == wanted


@given(jobs, seeds, st.floats(0, 0.03), INTERVALS)
@settings(max_examples=15)
def test_a_driver_that_takes_over_from_a_living_one_brings_every_row_once(
    shapes: list[Shape], seed: int, after: float, interval: float | None
) -> None:
    """The old one is fenced: it ends by itself, whether it had finished or not, and takes nothing back."""
    pipelines = built(shapes)
    chance, exchange = random.Random(seed), {}
    with tempfile.TemporaryDirectory() as place:
        old = Job(pipelines, Path(place), Fates(chance), exchange, interval=interval)
        old.engine.mute = False
        thread = threading.Thread(target=old.run)
        thread.start()
        time.sleep(after)
        new = Job(pipelines, Path(place), Fates(chance), exchange, interval=interval)
        new.run()
        thread.join(SECONDS_MAX)

    for pipeline in pipelines:
        assert new.state(pipeline) is DONE
        for ledger in ledgers(pipeline).values():
            assert sorted(ledger.rows) == rows_of(pipeline)


DEATHS = range(1, 6)


@pytest.mark.parametrize("dies_at", DEATHS)
def test_the_receipt_of_a_driver_that_goes_on_counts_all_rows(tmp_path: Path, dies_at: int) -> None:
    """From the first event to the last; also where nothing was left to do but the last commit."""
    pipelines = [chain("x", (5,), 1, Visible.COMMITTED)]
    exchange: dict[str, list[Row]] = {}
    Job(pipelines, tmp_path, Fates(random.Random(0)), exchange, dies_at=dies_at).run()
    last = Job(pipelines, tmp_path, Fates(random.Random(0)), exchange)
    last.run()

    (table,) = last.tables
    assert (table.state, table.rows_read, table.rows_written) == (DONE, 5, 5)


# ---------------------------------------------------------------- beginning anew


@dataclass(frozen=True)
class Changing(ToySource):
    """Whoever looks for splits finds others; ``moment``: they are of one."""

    moment: str = ""
    seen: list[int] = field(default_factory=list)

    def enumerator(self, tables: Any, state: Any) -> Any:
        self.seen.append(len(self.seen))
        found = super().enumerator(tables, state)
        discover, name = found.discover, f"look{len(self.seen)}"
        found.discover = lambda: [
            replace(split, id=f"{name}-{split.id}", generation=self.moment and name) for split in discover()
        ]
        return found


@dataclass
class FailsAt(Fates):
    """One unit is refused, the one of this number."""

    at: int = 4
    count: int = 0

    def next(self, unit: Unit) -> tuple[FailureKind | None, float]:
        self.count += 1
        return (FailureKind.FATAL if self.count == self.at else None), 0.0


@pytest.mark.parametrize("moment", ["", "of one moment"])
def test_a_pipeline_that_begins_anew_reads_nothing_of_the_run_before(tmp_path: Path, moment: str) -> None:
    """Its rows were taken back, or its snapshot has died: splits are found again, and may be others."""
    shape = fork("x", (30, 30), 1, 2, Visible.COMMITTED)
    node = shape.vertices[0].source
    assert node is not None
    head = replace(shape.vertices[0], nodes=(replace(node, source=Changing((30, 30), Target(), moment)),))
    pipelines = [replace(shape, vertices=(head, *shape.vertices[1:]))]
    exchange: dict[str, list[Row]] = {}
    fates = Fates(random.Random(0)) if moment else FailsAt(random.Random(0))
    Job(pipelines, tmp_path, fates, exchange, dies_at=5 if moment else None, fail_fast=True).run()

    last = Job(pipelines, tmp_path, Fates(random.Random(0)), exchange)
    last.run()

    assert [table.state for table in last.tables] == [DONE]
    for ledger in ledgers(pipelines[0]).values():
        assert {split.partition("-")[0] for _, split, _ in ledger.rows} == {"look2"}
        assert len(set(ledger.rows)) == len(ledger.rows) == 60
