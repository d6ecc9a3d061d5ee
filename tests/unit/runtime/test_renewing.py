"""A snapshot that dies while its rows are read: splits go on under another one, or the pipeline begins anew."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.api import (
    CommitContext,
    Committer,
    Enumerator,
    FatalError,
    Piece,
    Plain,
    RetriableError,
    Setup,
    SourceTable,
    Split,
    TablePath,
)
from seatunnel_py.api.sink import Visible
from seatunnel_py.errors import ExitCode
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.control import request_handler
from seatunnel_py.runtime.control.request_handler import RequestHandler
from seatunnel_py.runtime.control.requests import ControlRequest, RequestKind, RequestStore
from seatunnel_py.runtime.observe.events import ANEW, JobEvent, UnitRetried
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.savepoint_store import SavepointSummary
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget, FailureKind, Unit, UnitFailure, UnitResult
from tests.kit.runtime_toys import (
    Clock,
    ScriptedEngine,
    Target,
    ToyCommitter,
    ToySink,
    ToySource,
    driver_of,
    straight,
    union,
)

RETRIES, ROWS = 2, 50


@dataclass(frozen=True)
class OneMoment(ToySource):
    """Its splits are read under a snapshot, which is another one each time that the source is opened."""

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        self.state.tell("open")
        return _OneMoment(self, f"g{self.state.told.count('open')}", tables[0].schema.path)


class _OneMoment(Enumerator):
    def __init__(self, source: OneMoment, generation: str, path: TablePath) -> None:
        self._source, self._generation, self._path = source, generation, path

    def discover(self) -> Iterable[Split]:
        splits = [Split(f"s{number}", self._path, rows=rows) for number, rows in enumerate(self._source.rows)]
        return self.renew(splits)

    def renew(self, splits: Sequence[Split]) -> Sequence[Split]:
        return [replace(split, generation=self._generation) for split in splits]

    def close(self) -> None:
        self._source.state.tell("close")


@dataclass(frozen=True)
class Shadow(ToySink):
    """Nothing of it is seen before the end; what is dropped before that is gone as a whole."""

    def plan_setup(self) -> Setup:
        return Setup(visible=Visible.FINAL)

    def committer(self) -> Committer:
        return _ShadowCommitter(self.state)


class _ShadowCommitter(ToyCommitter):
    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        super().abort(pieces, context)
        self._state.committed.clear()


class Keeping:
    """A place of savepoints: ``records`` is the one that it keeps."""

    def __init__(self) -> None:
        self.records: Mapping[str, CheckpointRecord] = {}

    def kept(self, name: str) -> SavepointSummary | None:
        return None

    def keep(
        self, name: str, request: str, records: Mapping[str, CheckpointRecord], absent: tuple[str, ...]
    ) -> SavepointSummary:
        self.records = records
        return SavepointSummary(name, request, {key: one.checkpoint for key, one in records.items()}, absent)


class Run:
    """A table of two splits, read by two subtasks, to its end. ``gone``: the snapshots that die, in units for which
    ``dies``."""

    def __init__(
        self,
        place: Path,
        sink: ToySink,
        gone: Sequence[str],
        *,
        per_split: bool = False,
        rows: int = ROWS,
        interval: float | None = 0.01,
        dies: Callable[[Unit], bool] = lambda unit: unit.start is not None and bool(unit.start.value["n"] == 20),
    ) -> None:
        self.source, self.target, self.gone, self._dies = OneMoment((rows, rows), Target()), sink.state, gone, dies
        pipeline = straight("x", self.source, sink, parallelism=2)
        self.engine = ScriptedEngine([pipeline], self._script)
        self.events: list[JobEvent] = []
        settings = Settings(
            RetryPolicy(RETRIES, 0.002),
            Budget(10, 1.0),
            exchange="mem:",
            checkpoint=CheckpointSettings(interval=interval),
            restarts=Backoff(RETRIES, 0.001, longest=0.002),
            per_split=per_split,
        )
        self.driver = driver_of([pipeline], self.engine, settings, Clock(), self.events.append, place)

    def _script(self, unit: Unit) -> UnitResult:
        assert unit.split is not None
        if unit.split.generation in self.gone and self._dies(unit):
            message = f"{unit.split.generation} is gone"
            lost = UnitFailure(FailureKind.FATAL, message, error_type="seatunnel_py.errors.GenerationLostError")
            return UnitResult(unit.id, done=False, failure=lost)
        return self.engine.work(unit)

    def end(self) -> TableReceipt:
        (table,) = self.driver.run()
        self.engine.stop()
        return table

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.target.committed)

    @property
    def epochs(self) -> list[int]:
        return sorted({unit.id.epoch for unit in self.engine.submitted})

    @property
    def anew(self) -> int:
        return sum(isinstance(event, UnitRetried) and event.unit == ANEW for event in self.events)


def test_splits_that_may_be_of_different_moments_go_on_where_they_stood(tmp_path: Path) -> None:
    """All units go on under the new snapshot, and nobody restarts."""
    job = Run(tmp_path, ToySink("out"), ["g1"], per_split=True)

    assert (job.end().state, job.source.state.told.count("open"), job.rows) == (TableState.DONE, 2, 2 * ROWS)
    assert job.epochs == [0] and not job.anew


def test_each_of_two_sources_that_are_away_together_is_opened_again(tmp_path: Path) -> None:
    """B4 of the machine's study: calls of one name that failed together waited on one timer, and one of them never came
    again. B5: the splits of both are read under what is valid for each."""
    sources = [OneMoment((ROWS, ROWS), Target()) for _ in range(2)]
    refusals = {id(source): iter([True, False]) for source in sources}

    def opening(source: OneMoment, what: str) -> None:
        if what == "open" and source.state.told.count("open") > 1 and next(refusals[id(source)], False):
            raise RetriableError("it does not listen yet")

    for source in sources:
        source.state.act = partial(opening, source)
    pipeline = union("x", sources, ToySink("out"))

    def script(unit: Unit) -> UnitResult:
        if unit.split is not None and unit.split.generation == "g1":
            lost = UnitFailure(FailureKind.FATAL, "g1 is gone", error_type="seatunnel_py.errors.GenerationLostError")
            return UnitResult(unit.id, done=False, failure=lost)
        return engine.work(unit)

    engine = ScriptedEngine([pipeline], script)
    restarts = Backoff(RETRIES, 0.001, longest=0.002)
    settings = Settings(RetryPolicy(4, 0.01), Budget(10, 1.0), exchange="mem:", restarts=restarts, per_split=True)
    driver = driver_of([pipeline], engine, settings, Clock(), lambda _: None, tmp_path)

    thread = threading.Thread(target=driver.run, daemon=True)
    thread.start()
    thread.join(20)
    hangs = thread.is_alive()
    engine.stop()

    assert not hangs and [source.state.told.count("open") for source in sources] == [3, 3]
    heads = [unit for unit in engine.submitted if unit.split is not None and unit.split.generation != "g1"]
    assert {(unit.id.vertex, unit.split.id, unit.split.generation) for unit in heads if unit.split} == {
        (head, split, "g3") for head in ("x0", "x1") for split in ("s0", "s1")
    }
    assert all(source.state.told[-1] == "close" for source in sources)


def test_a_table_of_one_moment_begins_anew_in_the_same_run(tmp_path: Path) -> None:
    """PositionsVoid: what was staged is dropped before anything is read again; epochs are counted on, for workers of
    the first life may still be at work; the receipt tells of the second life alone."""
    job = Run(tmp_path, Shadow("out"), ["g1"])
    table = job.end()

    assert (table.state, table.rows_read, job.rows, job.anew) == (TableState.DONE, 2 * ROWS, 2 * ROWS, 1)
    assert job.epochs == [0, 1] and job.source.state.told == ["open", "close", "open", "close"]
    second = [unit for unit in job.engine.submitted if unit.id.epoch == 1]
    assert {unit.split.generation for unit in second if unit.split} == {"g2"}
    assert {unit.split.id for unit in second if unit.split and unit.start is None} == {"s0", "s1"}
    told = job.target.told
    assert told.index("abort") < len(told) - 1 - told[::-1].index("setup") < len(told) - 1 - told[::-1].index("commit")


def test_checkpoint_ids_are_counted_on(tmp_path: Path) -> None:
    """I11: the second life's records never have the number of one of the first life."""
    job = Run(tmp_path, Shadow("out"), ["g1", "g2"])
    stored: list[int] = []
    write = job.driver.job._ports.store.write

    def writing(incarnation: int, records: dict) -> Any:  # type: ignore[type-arg]
        stored.extend(record.checkpoint for record in records.values())
        return write(incarnation, records)

    job.driver.job._ports.store.write = writing  # type: ignore[method-assign]

    assert job.end().state is TableState.DONE and job.anew == 2
    assert stored == sorted(set(stored)) and len(stored) >= 4


def test_a_snapshot_that_never_holds_ends_the_table(tmp_path: Path) -> None:
    job = Run(tmp_path, Shadow("out"), [f"g{number}" for number in range(1, 20)])
    table = job.end()

    assert table.state is TableState.FAILED and table.cause is not None and table.cause.message == "g3 is gone"
    assert job.anew == RETRIES and job.rows == 0
    assert job.source.state.told == ["open", "close"] * 3


def test_rows_that_are_seen_already_are_not_read_again(tmp_path: Path) -> None:
    """They would be there twice: the table fails, and says what leads on."""

    def when_some_are_seen(_: Unit) -> bool:
        time.sleep(0.001)  # else a busy machine reads them all before it commits any
        return bool(job.target.committed)

    job = Run(tmp_path, ToySink("out"), ["g1"], rows=400 * ROWS, dies=when_some_are_seen)
    table = job.end()

    assert table.state is TableState.FAILED and table.cause is not None and job.epochs == [0]
    assert "may already be visible" in table.cause.message and "--fresh" in table.cause.remedy


def test_rows_that_nobody_has_seen_are_read_again(tmp_path: Path) -> None:
    """Without an interval nothing is shown before the end: what was staged for a sink that shows rows early is dropped
    piece by piece."""
    job = Run(tmp_path, ToySink("out"), ["g1"], interval=None)

    assert (job.end().state, job.rows, job.epochs) == (TableState.DONE, 2 * ROWS, [0, 1])
    shown = {str(piece.data) for piece in job.target.committed}
    assert job.target.aborted and not shown & {str(piece.data) for piece in job.target.aborted}


def test_a_source_that_is_away_is_waited_for(tmp_path: Path) -> None:
    """A server that is being started again does not listen yet when the first unit hears of it."""
    job = Run(tmp_path, Shadow("out"), ["g1"])
    refusals = iter([True, True])

    def opening(what: str) -> None:
        if what == "open" and job.source.state.told.count("open") > 1 and next(refusals, False):
            raise RetriableError("nobody listens")

    job.source.state.act = opening
    assert (job.end().state, job.rows) == (TableState.DONE, 2 * ROWS)


def test_what_fails_when_it_begins_anew_fails_the_table(tmp_path: Path) -> None:
    job = Run(tmp_path, Shadow("out"), ["g1"])

    def opening(what: str) -> None:
        if what == "open" and job.source.state.told.count("open") > 1:
            raise FatalError("the table has been dropped")

    job.source.state.act = opening
    table = job.end()
    assert table.state is TableState.FAILED and table.cause is not None
    assert table.cause.message == "the table has been dropped" and job.rows == 0


def test_a_job_that_is_to_stop_does_not_begin_anew(tmp_path: Path) -> None:
    """And nothing that it has staged is left behind."""
    job = Run(tmp_path, Shadow("out"), ["g1"])

    def listen(event: JobEvent) -> None:
        job.events.append(event)
        if isinstance(event, UnitRetried) and event.unit == ANEW:
            job.driver.job.stop_all(ExitCode.INTERRUPTED, "the job was stopped")

    job.driver.job._listen = listen
    table = job.end()

    assert table.state is TableState.STOPPED and job.epochs == [0]
    assert job.source.state.told == ["open", "close"]


def test_a_savepoint_that_is_asked_of_a_life_that_ends_is_asked_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B12 of the machine's study: an ended coordinator says nothing, and the request was never answered."""
    monkeypatch.setattr(request_handler, "POLL_SECONDS", 0.01)
    job = Run(tmp_path, Shadow("out"), ["g1"], rows=20_000)
    control, kept = RequestStore(LocalStorage(tmp_path / "control")), Keeping()
    desk = RequestHandler(control, "this run", kept)
    job.driver.attach_control(desk)
    begin = job.driver.job._begin_again

    def asked_between(before: PipelineMachine) -> None:
        request = ControlRequest("r", RequestKind.SAVEPOINT, run="this run", name="sp", seconds=20.0)
        control.ask(request)
        desk._begin(request)  # its name is looked up, and the ended life is asked
        desk._looked_up(desk._open["r"], None)
        begin(before)

    job.driver.job._begin_again = asked_between  # type: ignore[method-assign]
    job.end()

    answer = control.answered("r")
    assert answer is not None and answer.done, answer
    assert kept.records["x"].kind is RecordKind.SAVEPOINT, "it was answered by the end of the job"


def test_a_driver_that_was_overtaken_does_not_begin_anew(tmp_path: Path) -> None:
    """I34: what is staged under the job's name may be the newer driver's by now, and is left to it."""
    job = Run(tmp_path, Shadow("out"), ["g1"])

    def listen(event: JobEvent) -> None:
        job.events.append(event)
        if isinstance(event, UnitRetried) and event.unit == ANEW:
            assert job.driver.job._ports.store.take(2, "lineage")

    job.driver.job._listen = listen
    table = job.end()

    assert table.state is TableState.FAILED and job.epochs == [0]
    assert "abort" not in job.target.told and job.source.state.told == ["open", "close"]
