"""Sources that find more while they run, and what they are told of checkpoints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from test_driver_late import SECONDS_MAX, wait_until

from seatunnel_py.api import (
    Determinism,
    Enumerator,
    FatalError,
    Plain,
    Position,
    RetriableError,
    SourceCapabilities,
    SourceTable,
    Split,
    TablePath,
)
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged, UnitRetried
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget, FailureKind, Unit, UnitFailure, UnitResult
from tests.kit.runtime_toys import (
    Clock,
    ScriptedEngine,
    Target,
    ToySink,
    ToySource,
    driver_of,
    forked,
    read,
    straight,
    unbounded,
)

X = TablePath.parse("x")
INTERVAL = 0.02


@dataclass
class Outside:
    """The system that a source reads: ``splits`` appear in it, and it is told what may be forgotten."""

    splits: list[Split] = field(default_factory=list)
    told: list[Mapping[str, Position]] = field(default_factory=list)
    states: list[Plain] = field(default_factory=list)
    looks: int = 0
    fail: Callable[[str], None] = lambda what: None
    forgetful: bool = False
    snapshots: bool = False
    generation: int = 0
    closed: list[str] = field(default_factory=list)
    busy: threading.Lock = field(default_factory=threading.Lock)

    def add(self, *names: str, rows: int = 25) -> None:
        self.splits += [Split(name, X, rows=rows) for name in names]


class GrowingEnumerator(Enumerator):
    interval = INTERVAL

    def __init__(self, outside: Outside, state: Plain) -> None:
        self._outside = outside
        outside.generation += 1
        self._generation = f"g{outside.generation}" if outside.snapshots else ""
        self._known = 0 if outside.forgetful or not isinstance(state, int) else state

    def discover(self) -> Iterable[Split]:
        with self._alone():
            self._outside.looks += 1
            self._outside.fail("discover")
            found = self._outside.splits[self._known :]
            self._known += 0 if self._outside.forgetful else len(found)
            return self.renew(found)

    def renew(self, splits: Sequence[Split]) -> Sequence[Split]:
        return [replace(split, generation=self._generation) for split in splits]

    def close(self) -> None:
        with self._alone():
            self._outside.closed.append(self._generation)

    def snapshot(self) -> Plain:
        return self._known

    def on_checkpoint_complete(self, positions: Mapping[str, Position]) -> None:
        with self._alone():
            self._outside.told.append(positions)
            self._outside.fail("acknowledge")

    def _alone(self) -> threading.Lock:
        assert not self._outside.busy.locked(), "an enumerator is asked two things at once"
        return self._outside.busy


@dataclass(frozen=True)
class Growing(ToySource):
    outside: Outside = field(default_factory=Outside)

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        self.outside.states.append(state)
        return GrowingEnumerator(self.outside, state)


class Job:
    """A stream that runs in a thread; ``rows`` is what its units have read, by split."""

    def __init__(
        self, place: Path, outside: Outside, *, fork: bool = False, parallelism: int = 1, per_split: bool = False
    ) -> None:
        source = Growing((), outside=outside)
        sinks = [ToySink("one", Target()), ToySink("two", Target())]
        shape = forked("x", source, sinks, parallelism) if fork else straight("x", source, sinks[0], parallelism)
        pipelines = [unbounded(shape)]
        self.place = place
        self.engine = ScriptedEngine(pipelines)
        self.events: list[JobEvent] = []
        settings = Settings(
            RetryPolicy(3, 0.01), Budget(10, 1.0), exchange="mem:", restarts=Backoff(3, 0.001, longest=0.01),
            checkpoint=CheckpointSettings(interval=0.05, alignment_timeout=None), per_split=per_split,
        )  # fmt: skip
        self.driver = driver_of(pipelines, self.engine, settings, Clock(), self.events.append, place)
        self.thread = threading.Thread(target=self.driver.run, daemon=True)

    def __enter__(self) -> Job:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.stop()
        self.thread.join(SECONDS_MAX)
        assert not self.thread.is_alive(), "the job hangs"
        self.engine.stop()

    @property
    def rows(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for unit in [unit for unit in self.engine.submitted if unit.split is not None]:
            assert unit.split is not None
            found.setdefault(unit.split.id, []).extend(read(unit))
        return found

    def wait_for_rows(self, wanted: Mapping[str, int]) -> None:
        wait_until(lambda: self.rows == {name: list(range(rows)) for name, rows in wanted.items()})

    def delivered(self) -> int:
        """Rows that the sinks behind a fork were given."""
        return sum(one.rows for unit in self.engine.submitted for one in unit.slices)

    @property
    def records(self) -> list[Any]:
        return list(CheckpointStore(LocalStorage(self.place / "checkpoints")).read().records.get("x", ()))

    def ended(self) -> list[TableState]:
        return [event.state for event in self.events if isinstance(event, TableChanged) and event.state.ended]


@pytest.fixture
def outside() -> Outside:
    made = Outside()
    made.add("a", "b")
    return made


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("fork", [False, True])
def test_what_is_found_while_it_runs_is_read(tmp_path: Path, outside: Outside, fork: bool, parallelism: int) -> None:
    """I41: each split once and from its beginning, wherever it was dealt to."""
    with Job(tmp_path, outside, fork=fork, parallelism=parallelism) as job:
        job.wait_for_rows({"a": 25, "b": 25})
        outside.add("c", rows=15)
        job.wait_for_rows({"a": 25, "b": 25, "c": 15})
        outside.add("d", "e")
        job.wait_for_rows({"a": 25, "b": 25, "c": 15, "d": 25, "e": 25})


def test_an_id_that_is_known_is_not_read_again(tmp_path: Path, outside: Outside) -> None:
    """A source may forget what it has said before."""
    outside.forgetful = True
    with Job(tmp_path, outside) as job:
        outside.add("c")
        job.wait_for_rows({"a": 25, "b": 25, "c": 25})
        seen = outside.looks
        wait_until(lambda: outside.looks > seen + 3)
        assert {name: len(rows) for name, rows in job.rows.items()} == {"a": 25, "b": 25, "c": 25}


def test_the_next_driver_knows_what_was_found(tmp_path: Path, outside: Outside) -> None:
    """Its enumerator is told where it stood, splits are read on where they stood, and what came meanwhile is found."""
    with Job(tmp_path, outside) as job:
        outside.add("c")
        job.wait_for_rows({"a": 25, "b": 25, "c": 25})
    outside.add("d")

    with Job(tmp_path, outside) as again:
        again.wait_for_rows({"d": 25})

    assert outside.states == [None, 3]


def test_the_next_driver_looks_at_once(tmp_path: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: what appeared while no driver ran was not read before the next look, which may be far away."""
    with Job(tmp_path, outside) as job:
        job.wait_for_rows({"a": 25, "b": 25})
    outside.add("c")
    monkeypatch.setattr(GrowingEnumerator, "interval", 3600.0)

    with Job(tmp_path, outside) as again:
        again.wait_for_rows({"c": 25})


@pytest.mark.parametrize("lost", ["journal", "record"])
def test_journal_and_record_each_know_what_was_found(tmp_path: Path, outside: Outside, lost: str) -> None:
    """The journal before anybody reads of it; every record from then on, since a savepoint has no journal."""
    with Job(tmp_path, outside, fork=True) as job:
        job.wait_for_rows({"a": 25, "b": 25})
        outside.add("c")
        job.wait_for_rows({"a": 25, "b": 25, "c": 25})
        if lost == "journal":  # which may know it alone for a moment, but not once nothing happens any more
            wait_until(lambda: in_newest_record(job) == ["a", "b", "c"])
    file = JournalFile(LocalStorage(tmp_path / "checkpoints"), 2)
    file.close()
    found = [split.id for split in file.journal.found["x"]["x"][1].splits]

    assert found == ["c"]
    if lost == "journal":
        assert in_newest_record(job) == ["a", "b", "c"]


def in_newest_record(job: Job) -> list[str]:
    plan: Any = job.records[-1].plan
    return [split["id"] for splits, _ in plan["rounds"]["x"] for split in splits]


def found_is_kept_slowly(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """The journal takes what was found when the second event is set; the first one says that it is about to."""
    reached, free = threading.Event(), threading.Event()
    append = JournalFile.append

    def slowly(file: JournalFile, lines: Iterable[Mapping[str, Any]]) -> None:
        written = list(lines)
        if any("found" in line for line in written):
            reached.set()
            assert free.wait(SECONDS_MAX)
        append(file, written)

    monkeypatch.setattr(JournalFile, "append", slowly)
    return reached, free


def test_no_unit_reads_of_a_split_before_it_is_durable(
    tmp_path: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a driver that dies now leaves a journal that names what nobody knows."""
    reached, free = found_is_kept_slowly(monkeypatch)
    with Job(tmp_path, outside) as job:
        job.wait_for_rows({"a": 25, "b": 25})
        outside.add("c")
        assert reached.wait(SECONDS_MAX)
        assert "c" not in job.rows
        free.set()
        job.wait_for_rows({"a": 25, "b": 25, "c": 25})


def test_what_cannot_be_found_for_now_is_looked_for_again(tmp_path: Path, outside: Outside) -> None:
    """It is told, and the table goes on meanwhile."""
    with Job(tmp_path, outside) as job:
        job.wait_for_rows({"a": 25, "b": 25})

        def away(what: str) -> None:
            if what == "discover":
                raise RetriableError("the broker is away")

        outside.fail = away
        wait_until(lambda: any(isinstance(event, UnitRetried) for event in job.events))
        outside.add("c")
        outside.fail = lambda what: None
        job.wait_for_rows({"a": 25, "b": 25, "c": 25})
        assert not job.ended()


def test_a_source_that_can_find_nothing_more_ends_its_table(tmp_path: Path, outside: Outside) -> None:
    """It would go on without what it does not see, and nobody would know."""
    with Job(tmp_path, outside) as job:
        job.wait_for_rows({"a": 25, "b": 25})

        def gone(what: str) -> None:
            if what == "discover":
                raise FatalError("the topic is gone")

        outside.fail = gone
        wait_until(job.ended)
    assert job.ended() == [TableState.FAILED]
    assert "the topic is gone" in str(job.events)


# ---------------------------------------------------------------- what a source is told


def row_of(positions: Mapping[str, Position]) -> dict[str, int]:
    return {name: int(str(position.value["n"])) for name, position in positions.items()}


def test_a_source_hears_where_the_oldest_checkpoint_stands(tmp_path: Path, outside: Outside) -> None:
    """I40: what lies before may be forgotten, so no checkpoint may ever be gone back to that needs it."""
    outside.splits.clear()
    outside.add("a", rows=10**9)
    with Job(tmp_path, outside) as job:
        wait_until(lambda: len(outside.told) >= 8)
    said = [row_of(positions).get("a", 0) for positions in outside.told]

    assert said == sorted(said) and said[-1] > 0, "it only ever moves on"
    kept = [record for record in job.records if record.snapshots]
    stands = [next(iter(record.snapshots.values())).state[0][2]["a"]["value"]["n"] for record in kept]
    assert said[-1] <= min(stands)


def test_a_source_that_cannot_be_told_does_not_end_its_table(tmp_path: Path, outside: Outside) -> None:
    """It is told again with the next checkpoint; people learn of it."""
    outside.splits.clear()
    outside.add("a", rows=10**9)

    def refuse(what: str) -> None:
        if what == "acknowledge":
            raise FatalError("no right to commit offsets")

    outside.fail = refuse
    with Job(tmp_path, outside) as job:
        wait_until(lambda: len(outside.told) >= 3)
        assert not job.ended()
    assert "no right to commit offsets" in str(job.events)


# ---------------------------------------------------------------- a stream at rest


def test_a_stream_at_rest_takes_nothing_and_lets_barriers_pass(tmp_path: Path, outside: Outside) -> None:
    """No unit runs while there is nothing to read, also behind a fork; a stop ends it at once."""
    with Job(tmp_path, outside, fork=True) as job:
        job.wait_for_rows({"a": 25, "b": 25})
        wait_until(lambda: job.delivered() == 100)
        wait_until(lambda: len([record for record in job.records if record.snapshots]) >= 1)
        units = len(job.engine.submitted)
    assert job.ended() == [TableState.STOPPED]
    assert len(job.engine.submitted) == units


def test_looks_that_found_nothing_read_nothing_when_they_are_repeated(tmp_path: Path, outside: Outside) -> None:
    """I39: after a restart the numbers of the journal are given again, and behind them the same rows as before."""
    outside.splits.clear()
    job = Job(tmp_path, outside, fork=True)
    held = threading.Event()

    def script(unit: Unit) -> Any:
        if unit.split is None:
            held.set()
            return None  # the sinks never come to their first batch: no checkpoint holds it
        return job.engine.work(unit)

    job.engine.script = script
    job.thread.start()
    wait_until(lambda: outside.looks > 3)
    outside.add("a", rows=10)
    assert held.wait(SECONDS_MAX)

    with Job(tmp_path, outside, fork=True) as again:
        wait_until(lambda: len([unit for unit in again.engine.submitted if unit.split is None]) == 2)
    assert again.rows in ({"a": list(range(10))}, {})
    assert [sum(one.rows for one in unit.slices) for unit in again.engine.submitted if unit.split is None] == [10, 10]


# ---------------------------------------------------------------- what cannot be read twice


def read_once(pipeline: Pipeline) -> Pipeline:
    head = pipeline.vertices[0]
    assert head.source is not None
    source = replace(
        head.source,
        capabilities=SourceCapabilities(bounded=False, replayable=False, determinism=Determinism.DETERMINATE),
    )
    return replace(pipeline, vertices=(replace(head, nodes=(source, *head.nodes[1:])), *pipeline.vertices[1:]))


@pytest.mark.parametrize("seen_by", [0, 1])
def test_what_cannot_be_read_twice_comes_out_of_its_segments(
    tmp_path: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch, seen_by: int
) -> None:
    """I39: the driver dies when so many of two sinks have seen a batch that no record holds. The next one hands on the
    very same segments, in their order, and goes on reading behind them: nothing is lost, nothing comes twice."""
    monkeypatch.setitem(globals(), "unbounded", read_once)
    outside.splits[:] = [Split("a", X, rows=40)]
    job = Job(tmp_path, outside, fork=True)
    sinks: list[str] = []

    def script(unit: Unit) -> Any:
        if unit.split is not None:
            return job.engine.work(unit)
        if unit.id.vertex not in sinks and len(sinks) < seen_by:
            sinks.append(unit.id.vertex)
        return job.engine.work(unit) if unit.id.vertex in sinks else None

    job.engine.script = script
    job.thread.start()
    wait_until(lambda: len(job.rows.get("a", [])) == 40 and len(job.engine.held) == 2 - seen_by)
    first = [f"mem:{unit.id}" for unit in job.engine.submitted if unit.split is not None]

    with Job(tmp_path, outside, fork=True) as again:
        wait_until(lambda: again.delivered() == 80)
        outside.add("b", rows=10)
        wait_until(lambda: again.delivered() == 100)
    got: dict[str, list[str]] = {}
    for unit in again.engine.submitted:
        if unit.split is None:
            got.setdefault(unit.id.vertex, []).extend(one.segment for one in unit.slices)

    assert "a" not in again.rows, "nothing of it is read again"
    assert len(got) == 2 and all(segments[:4] == first for segments in got.values())


def test_a_source_is_opened_again_when_its_enumerator_is_at_nothing(tmp_path: Path) -> None:
    """B6, B5: a unit's snapshot is gone while new splits are looked for; they stay, and are read under the new one."""
    outside = Outside(snapshots=True)
    outside.add("a")
    looking, may_end = threading.Event(), threading.Event()

    def slow(what: str) -> None:
        if what == "discover" and outside.looks == 2:
            looking.set()
            assert may_end.wait(SECONDS_MAX)

    outside.fail = slow
    job = Job(tmp_path, outside, per_split=True)

    def script(unit: Unit) -> UnitResult | None:
        return None if unit.split is not None and unit.split.generation == "g1" else job.engine.work(unit)

    job.engine.script = script
    with job:
        assert looking.wait(SECONDS_MAX)
        outside.add("b")
        wait_until(lambda: len(job.engine.held) == 1)
        [held] = job.engine.held
        lost = UnitFailure(FailureKind.FATAL, "g1 is gone", error_type="seatunnel_py.errors.GenerationLostError")
        job.engine._say(held, UnitResult(held, done=False, failure=lost))
        wait_until(lambda: any(isinstance(one, UnitRetried) and one.unit == "renew" for one in job.events))
        may_end.set()
        wait_until(lambda: {"a", "b"} <= job.rows.keys())
    read_under = {(unit.split.id, unit.split.generation) for unit in job.engine.submitted if unit.split is not None}
    assert read_under == {("a", "g1"), ("a", "g2"), ("b", "g2")}
    assert outside.closed == ["g1", "g2"]
