"""The only loop: it takes an event, hands it to the pipeline that it concerns, and performs the actions that follow.

Nothing blocks here. Units run in the engine; preparing, committing and aborting run on a few side threads; both
report back through one queue. Pipelines share nothing, so what ends one of them cannot reach another.
"""

from __future__ import annotations

import heapq
import queue
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeAlias

from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime import side
from seatunnel_py.runtime.attempts import RetryPolicy
from seatunnel_py.runtime.chains import JobIdentity, chain_of
from seatunnel_py.runtime.events import JobEvent, RowsMoved, TableChanged, UnitRetried
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
from seatunnel_py.runtime.ports import Clock, Engine, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.runtime.receipt import ExitCode, TableReceipt, TableState
from seatunnel_py.work.unit import Budget, FailureKind, UnitFailure, UnitId, UnitResult

SIDE_THREADS = 4  # statements in flight against targets beside the data; more only queues up inside the target
PIPELINES_OPEN_MAX = 128  # prepared, but not done: bounds staged tables, connections and memory with 1,000 tables


@dataclass(frozen=True, slots=True)
class Settings:
    """What the loop needs to know of ``env``."""

    retry: RetryPolicy
    budget: Budget
    channel_capacity: int = 16
    fail_fast: bool = False
    exchange: str = ""


@dataclass(frozen=True, slots=True)
class _SideDone:
    """A side task ended: ``then`` gets its value, or ``failed`` its failure, and gives the actions that follow."""

    pipeline: str
    then: Callable[[Any], Iterable[Action]]
    failed: Callable[[UnitFailure], Iterable[Action]]
    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Stop:
    exit_code: int


_Due: TypeAlias = Callable[[], Iterable[Action]]
_Event: TypeAlias = UnitStarted | UnitFinished | UnitLost | _SideDone | _Stop


class Driver:
    """Runs the pipelines of one job to their ends. ``stop`` may be called from any thread or signal handler."""

    def __init__(
        self,
        pipelines: tuple[Pipeline, ...],
        engine: Engine,
        job: JobIdentity,
        settings: Settings,
        clock: Clock,
        listen: Callable[[JobEvent], None],
    ) -> None:
        self._engine = engine
        self._job = job
        self._settings = settings
        self._clock = clock
        self._listen = listen
        self._runs = {
            pipeline.id: PipelineRun(pipeline, settings.retry, settings.budget, settings.channel_capacity)
            for pipeline in pipelines
        }
        self._owner = {vertex.id: pipeline.id for pipeline in pipelines for vertex in pipeline.vertices}
        self._queue: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._later: list[tuple[float, int, str, _Due]] = []  # a number orders equal times
        self._numbers = count()
        self._waiting = deque(self._runs)
        self._open: set[str] = set()
        self._side = ThreadPoolExecutor(SIDE_THREADS, thread_name_prefix="side")
        self._stopped_by = 0
        self.first_unit_at: float | None = None
        self.last_commit_at: float | None = None
        self.first_row_at: float | None = None  # wall clock: measured by workers

    def stop(self, exit_code: int = ExitCode.INTERRUPTED) -> None:
        """End the job: units under way are cancelled, nothing unfinished becomes visible."""
        self._queue.put(_Stop(exit_code))

    def run(self) -> tuple[TableReceipt, ...]:
        """Run to the end and say what arrived. Raises only for failures of the loop itself."""
        self._engine.start(self._queue.put)
        try:
            self._admit()
            while self._open or self._waiting:
                self._handle(self._next_event())
                self._admit()
        finally:
            self._side.shutdown(wait=True)
        return tuple(receipt for run in self._runs.values() for receipt in self._receipts(run))

    @property
    def stopped_by(self) -> int:
        """The exit code that ``stop`` was called with, or 0."""
        return self._stopped_by

    # -------------------------------------------------------------- events

    def _next_event(self) -> _Event | None:
        """The next event, or None when a pause is over."""
        timeout = max(0.0, self._later[0][0] - self._clock.now()) if self._later else None
        try:
            return self._queue.get(timeout=timeout)
        except queue.Empty:
            return None

    def _handle(self, event: _Event | None) -> None:
        match event:
            case UnitFinished(result):
                run = self._run_of(result.id)
                if result.failure is None:
                    self._moved(run, result)
                self._perform(run, run.finished(result))
            case UnitLost(unit, reason):
                run = self._run_of(unit)
                self._perform(run, run.lost(unit, reason))
            case _SideDone():
                self._side_done(event)
            case _Stop(exit_code):
                self._stop_all(exit_code, "the job was stopped")
            case UnitStarted() | None:
                pass
        while self._later and self._later[0][0] <= self._clock.now():
            _, _, pipeline_id, due = heapq.heappop(self._later)
            self._perform(self._runs[pipeline_id], due())

    def _run_of(self, unit: UnitId) -> PipelineRun:
        return self._runs[self._owner[unit.vertex]]

    def _moved(self, run: PipelineRun, result: UnitResult) -> None:
        if result.first_row_at:
            self.first_row_at = min(self.first_row_at or result.first_row_at, result.first_row_at)
        size = sum(piece.piece.bytes for piece in result.pieces)
        rows = result.rows if result.id.vertex in run.counts.tables else 0
        self._listen(RowsMoved(run.pipeline.id, run.pipeline.name, rows, size, self._clock.now()))

    def _side_done(self, event: _SideDone) -> None:
        failure = side.as_failure(event.error) if event.error is not None else None
        actions = event.then(event.value) if failure is None else event.failed(failure)
        self._perform(self._runs[event.pipeline], actions)

    def _stop_all(self, exit_code: int, why: str) -> None:
        self._stopped_by = self._stopped_by or exit_code
        self._waiting.clear()
        failure = UnitFailure(FailureKind.FATAL, why)
        for run in self._runs.values():
            self._perform(run, run.stop(failure))

    # ------------------------------------------------------------- actions

    def _admit(self) -> None:
        while self._waiting and len(self._open) < PIPELINES_OPEN_MAX:
            run = self._runs[self._waiting.popleft()]
            self._open.add(run.pipeline.id)
            run.started_at = self._clock.now()
            self._perform(run, run.begin())

    def _prepare(self, run: PipelineRun) -> Prepared:
        """On a side thread. One that was stopped while it waited for the thread has nothing to do and to undo."""
        return Prepared({}, {}) if run.state.ended else side.prepare(run.pipeline, self._job)

    def _prepared(self, run: PipelineRun, outcome: Prepared) -> Iterable[Action]:
        if not run.state.ended:
            try:
                for vertex in run.pipeline.vertices:
                    self._engine.register(chain_of(vertex, outcome.setups, self._job, self._settings.exchange))
            except Exception as error:  # noqa: BLE001 - a plugin that cannot travel concerns its own table
                return [*run.fail(side.as_failure(error)), *run.prepared(outcome)]
        return run.prepared(outcome)

    def _submit_side(
        self,
        run: PipelineRun,
        task: Callable[[], Any],
        then: Callable[[Any], Iterable[Action]],
        failed: Callable[[UnitFailure], Iterable[Action]],
    ) -> None:
        def report(future: Future[Any]) -> None:
            error = future.exception()
            value = None if error else future.result()
            self._queue.put(_SideDone(run.pipeline.id, then, failed, value, error))

        self._side.submit(task).add_done_callback(report)

    def _perform(self, run: PipelineRun, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Prepare():
                    self._submit_side(
                        run, partial(self._prepare, run), partial(self._prepared, run), run.prepare_failed
                    )
                case Submit(unit):
                    if self.first_unit_at is None:
                        self.first_unit_at = self._clock.now()
                    self._engine.submit(unit)
                case SubmitLater(unit):
                    self._pause(run, action, str(unit.id), unit.id.attempt, partial(run.due, unit.id))
                case AgainLater(what, attempt):
                    self._pause(run, action, type(what).__name__.lower(), attempt, run.due_again)
                case Cancel(unit_id):
                    self._engine.cancel(unit_id)
                case Commit(pieces):
                    task = partial(side.commit, run.pipeline, pieces, run.setups, self._job)
                    self._submit_side(run, task, partial(self._committed, run), run.commit_failed)
                case Abort(pieces):
                    self._close(run, partial(side.abort, run.pipeline, pieces, run.setups, self._job, run.enumerators))
                case Close():
                    self._close(run, partial(side.release, run.enumerators))
                case Changed(state, failure):
                    self._changed(run, state, failure)

    def _committed(self, run: PipelineRun, _: Any) -> Iterable[Action]:
        return run.committed()

    def _close(self, run: PipelineRun, task: Callable[[], None]) -> None:
        self._submit_side(run, task, partial(self._closed, run), partial(self._left_behind, run))

    def _closed(self, run: PipelineRun, _: Any) -> Iterable[Action]:
        self._open.discard(run.pipeline.id)
        return ()

    def _left_behind(self, run: PipelineRun, failure: UnitFailure) -> Iterable[Action]:
        """The outcome stands, but what was left behind must be known."""
        self._tell(run, run.state, failure)
        return self._closed(run, None)

    def _pause(self, run: PipelineRun, later: SubmitLater | AgainLater, what: str, attempt: int, due: _Due) -> None:
        now, delay, pipeline = self._clock.now(), later.delay_seconds, run.pipeline
        heapq.heappush(self._later, (now + delay, next(self._numbers), pipeline.id, due))
        self._listen(UnitRetried(pipeline.id, pipeline.name, what, attempt, delay, later.failure, now))

    def _changed(self, run: PipelineRun, state: TableState, failure: UnitFailure | None) -> None:
        self._tell(run, state, failure)
        if not state.ended:
            return
        run.ended_at = self._clock.now()
        if state is TableState.DONE:
            self.last_commit_at = run.ended_at
        if state is TableState.FAILED and self._settings.fail_fast:
            self._stop_all(ExitCode.FAILED, f"stopped because {run.pipeline.name} failed")

    def _tell(self, run: PipelineRun, state: TableState, failure: UnitFailure | None) -> None:
        pipeline = run.pipeline
        tables = tuple(map(str, pipeline.tables))
        self._listen(TableChanged(pipeline.id, pipeline.name, state, self._clock.now(), failure, tables))

    # ------------------------------------------------------------- receipt

    def _receipts(self, run: PipelineRun) -> Iterable[TableReceipt]:
        state = run.state if run.state.ended else TableState.STOPPED
        seconds = (run.ended_at or self._clock.now()) - run.started_at if run.started_at is not None else 0.0
        for table in run.counts.tables.values():
            yield TableReceipt(
                str(table.table),
                table.receipts(),
                state,
                table.rows_read,
                table.rows_written,
                table.rows_filtered,
                table.rows_rejected,
                table.bytes_written,
                table.attempts,
                seconds,
                run.failure,
            )
