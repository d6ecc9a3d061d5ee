"""The only loop: it takes what has happened, hands it to the pipeline that it concerns, and performs what follows.

Nothing blocks here. Units run in the engine; preparing and committing run on a few side threads; records and journals
are written by one thread; all of them report back through one queue. Pipelines share nothing, so what ends one of them
cannot reach another.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from seatunnel_py.errors import EngineError, ExitCode, SeaTunnelError
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.commit.record_batcher import AddressedCommand, HubCommand, PersistTogether
from seatunnel_py.protocol.coordinator.events import CoordinatorEvent, PersistFailed
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import TakenInput
from seatunnel_py.runtime.control.request_handler import RequestHandler
from seatunnel_py.runtime.driver.admission import Admission
from seatunnel_py.runtime.driver.deferred_calls import DeferredCalls
from seatunnel_py.runtime.driver.engine_calls import EngineCalls
from seatunnel_py.runtime.driver.executors import Executors
from seatunnel_py.runtime.driver.identity import identity_of
from seatunnel_py.runtime.driver.ports import (
    Clock,
    Engine,
    EngineEvent,
    EngineLost,
    UnitFinished,
    UnitLost,
    UnitStarted,
)
from seatunnel_py.runtime.driver.record_batcher import RecordBatcher
from seatunnel_py.runtime.driver.settings import Settings
from seatunnel_py.runtime.driver.timers import Timers
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.observe.pipeline_status import PipelineStatus
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.observe.table_receipts import receipts_of
from seatunnel_py.runtime.pipeline.command_handlers import perform
from seatunnel_py.runtime.pipeline.runner import PipelineRunner
from seatunnel_py.runtime.resume.isolated_sink_recovery import RecoveryPipeline, Unfinished, recovery_pipelines
from seatunnel_py.runtime.resume.job_claim import JobClaim
from seatunnel_py.runtime.resume.pipeline_start import past_of
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.storage.journal_writer import JournalBatcher
from seatunnel_py.runtime.targets import failpoints, ledger_retention
from seatunnel_py.runtime.targets.sink_operations import as_failure
from seatunnel_py.runtime.targets.target_batcher import Failed, TargetBatcher, TargetCall, Then
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.rate_limit import RateLimit
from seatunnel_py.runtime.values.topology_builder import graph_of, keys
from seatunnel_py.runtime.values.troubles import STORE
from seatunnel_py.work.unit import FailureKind, UnitFailure

LOOK_SECONDS = 5.0


class Driver(EngineCalls):
    """Runs the pipelines of one job to their ends. ``stop`` may be called from any thread or signal handler."""

    def __init__(
        self,
        pipelines: tuple[Pipeline, ...],
        engine: Callable[[], Engine],
        job_id: str,
        authority: JobClaim,
        store: CheckpointStore,
        journal: JournalFile,
        settings: Settings,
        clock: Clock,
        listen: Callable[[JobEvent], None],
    ) -> None:
        self._await_engine = engine
        self.when_begun = DeferredCalls()
        self._settings = settings = settings.isolating(several=len(pipelines) > 1 or bool(authority.apart))
        self._clock, self._listen = clock, listen
        self._store, self._journal, self._authority = store, journal, authority
        self._job = identity_of(job_id, authority, settings)
        self._lives: dict[str, PipelineRunner] = {}
        self._owner: dict[str, PipelineRunner] = {}
        for key, pipeline in keys(pipelines).items():
            life = self._take(key, pipeline, authority.claims[key], past := self._past(key, authority.records.get(key)))
            own = life.left_out
            for rest in recovery_pipelines(key, pipeline, past, authority, self._past):
                own.spoken_for(rest.scope, rest.why if isinstance(rest, Unfinished) else None)
                if isinstance(rest, RecoveryPipeline):
                    life = self._take(rest.key, rest.pipeline, authority.claims[rest.key], rest.past, behind=life)
        self._record_batcher = RecordBatcher(
            self._lives, settings.checkpoint.interval, self.after, self._perform, self.now
        )
        self._queue: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._timers = Timers()
        self._limits: dict[str, RateLimit] = {}
        self._admission = Admission(self._lives.values())
        self._threads = Executors(self.post)
        self.aside, self._write = self._threads.aside, self._threads.write
        self._target_batcher = TargetBatcher(self.aside, self.post)
        self._journal_batcher = JournalBatcher(journal, self._write, self._journal_failed)
        self._failed_fast = False
        self._request_handler: RequestHandler | None = None
        self.closed: set[str] = set()  # pipelines of which nothing is at work any more
        self.stopped_by = 0
        self.last_commit_at: float | None = None
        self.first_row_at: float | None = None  # wall clock: measured by workers

    def _past(self, key: str, record: CheckpointRecord | None, **more: Any) -> EarlierRun:
        past = past_of(self._journal.journal, key, record, per_split=self._settings.per_split)
        return replace(past, stood_at=self._authority.stood_at.get(key, {}), **more)

    def _take(self, key: str, line: Pipeline, claim: Claim, past: EarlierRun, **more: Any) -> PipelineRunner:
        graph, told = graph_of(line, self._settings.retain), self._settings
        self._lives[key] = PipelineRunner(key, line, graph, self, told, self._job, claim, past, **more)
        return self._lives[key]

    def _begin_anew(self, before: PipelineRunner, fenced: BaseException | None) -> None:
        """Replaces a runner whose rows are void (``generation_renewal.py``). Ids and epochs go on counting."""
        if isinstance(fenced, FencedOffError):
            before.renewing.overtaken(as_failure(fenced))
            return
        if before.ending is not None:  # it was stopped meanwhile
            before.renewing.close()
            return
        assert before.view is not None, "it has read something"
        view, key = before.view, before.key
        claim = replace(self._authority.claims[key], first=view.next_checkpoint)
        strays, known = before.leftovers.staged, before.left_out.known_bad
        past = self._past(key, view.newest, epochs=view.epochs, strays=strays, known_bad=known)
        self._take(key, before.pipeline, claim, past).replaces(before)
        if self._request_handler is not None:
            self._request_handler.restarted(key)
        self._lives[key].begin()

    # ---------------------------------------------------------------- from outside

    def attach_control(self, desk: RequestHandler) -> None:
        """Where it looks for requests while it runs."""
        self._request_handler = desk

    def stop(self, exit_code: int = ExitCode.INTERRUPTED) -> None:
        """End the job. The first call lets streaming pipelines end behind a savepoint; a second one ends at once."""
        self._queue.put(lambda: self._stop_all(exit_code, "the job was stopped"))

    def run(self, begun: Callable[[], None] = lambda: None) -> tuple[TableReceipt, ...]:
        """Run to the end and say what arrived. ``begun`` is called before anything is changed. Raises what keeps the
        engine from starting, what ``begun`` raises, and failures of the loop itself."""
        try:
            self._admission.admit()  # targets and sources are looked at while the engine starts
            self._begin(begun)
            self._work()
        finally:
            self._threads.close()
            self._journal.close()
        return tuple(receipt for life in self._lives.values() for receipt in receipts_of(life, self.now()))

    def _begin(self, begun: Callable[[], None]) -> None:
        try:
            self.engine = self._threads.await_(self._await_engine, self._next)
            begun()
        except BaseException as error:
            self._stop_all(ExitCode.FAILED, str(error))
            while self._admission:  # what was looked at is open
                self._next()
            raise

    def _work(self) -> None:
        try:
            self.engine.start(lambda event: self._queue.put(lambda: self._from_engine(event)))
            self._admission.slots = self.engine.slots
            self.when_begun.begin()
            if self._request_handler is not None:
                self._request_handler.begin(self, self._lives)
            self._look_for_another()
            while (
                self._admission or self._journal_batcher.busy or (self._request_handler and self._request_handler.busy)
            ):
                self._next()
        finally:
            if self._request_handler is not None:
                self._request_handler.close()
            self.engine.stop()

    def status(self) -> tuple[PipelineStatus, ...]:
        """What each pipeline is at."""
        return tuple(life.status for life in self._lives.values())

    @property
    def resumable(self) -> bool:
        """Whether a pipeline that is not done has a checkpoint to go on from."""
        return any(life.leftovers.resumable and life.state is not TableState.DONE for life in self._lives.values())

    def withdraw(self) -> None:
        """Behind the end of a run: another driver has finished the job."""
        for life in self._lives.values():
            life.leftovers.delete_all()

    def end_lineage(self) -> tuple[str, ...]:
        """Behind the end of a run: targets need not remember a job that is done for ever; notes for people."""
        return ledger_retention.notify_targets(self._lives.values(), self._settings.ledger_days)

    def swept(self) -> tuple[str, ...]:
        """Notes for people: what a job that began anew has removed from its targets, and what it has left there."""
        return tuple(f"{life.pipeline.name}: {one}" for life in self._lives.values() for one in life.prepared.swept)

    # ---------------------------------------------------------------- what requests need

    def post(self, call: Callable[[], None]) -> None:
        """Have something called on the loop; from any thread."""
        self._queue.put(call)

    def newest(self, pipeline: str) -> CheckpointRecord | None:
        """Where a pipeline stands, whether it has begun in this driver or not."""
        return self._lives[pipeline].newest or self._authority.records.get(pipeline)

    def unconfirmed(self, pipeline: str) -> tuple[int, ...]:
        """The checkpoints of a pipeline whose rows are not known to be committed."""
        view, record = self._lives[pipeline].view, self._authority.records.get(pipeline)
        commits = record.uncommitted if view is None and record else ()
        return tuple(commit.checkpoint for commit in (view.commits.waiting if view else commits))

    def cancel_all(self, lives: Iterable[PipelineRunner], why: str, *, whole: bool) -> None:
        """End these at once; ``whole``: they are all there are, and the job ends."""
        if whole:
            self.stop_waiting(ExitCode.TERMINATED, why)
        for life in list(lives):
            self._admission.skip(life)
            life.stop(UnitFailure(FailureKind.FATAL, why), keep=False)

    def stop_waiting(self, exit_code: int, why: str = "the job was stopped") -> None:
        """No pipeline begins any more."""
        self.stopped_by = self.stopped_by or exit_code
        for life in self._admission.skip_all():
            life.stop(UnitFailure(FailureKind.FATAL, why), keep=False)

    def _look_for_another(self) -> None:
        """A driver that has nothing to store would not hear that another one has taken over (I34)."""
        self._whose(self._looked)

    def _whose(self, then: Callable[[BaseException | None], None]) -> None:
        """Ask the store whether the job is still this driver's: FencedOffError where it is another one's."""
        self._write(lambda: self._store.check(self._authority.incarnation), then)

    def _looked(self, error: BaseException | None) -> None:
        if not isinstance(error, FencedOffError):
            self.after(("another driver",), LOOK_SECONDS, self._look_for_another)
            return
        for life in list(self._lives.values()):
            if life.coordinator is not None and not life.state.ended:
                life.troubles.begins(STORE, as_failure(error))
                life.hear(PersistFailed(self.now(), 0, fenced=True))
        for life in self._admission.skip_all():
            life.give_up(as_failure(error))

    # ---------------------------------------------------------------- events

    def _next(self) -> None:
        """Wait for something to happen, and for timers; let those begin whose turn has come."""
        with suppress(queue.Empty):
            self._queue.get(timeout=self._timers.pause(self.now()))()
        for call in self._timers.due(self.now()):
            call()
        self._admission.admit()

    def _from_engine(self, event: EngineEvent) -> None:
        match event:
            case UnitFinished(result):
                if result.failure is None and result.first_row_at:
                    self.first_row_at = min(self.first_row_at or result.first_row_at, result.first_row_at)
                self._owner[result.id.vertex].finished(result)
            case UnitLost(unit):
                self._owner[unit.vertex].lost(event)
            case EngineLost(reason):
                raise EngineError(reason, "go on with --restore latest")
            case UnitStarted(unit):
                self._owner[unit.vertex].units.began(unit)

    def _stop_all(self, exit_code: int, why: str) -> None:
        again = bool(self.stopped_by)
        self.stop_waiting(exit_code, why)
        for life in list(self._lives.values()):
            life.stop(UnitFailure(FailureKind.FATAL, why), keep=not life.bounded and not again)

    # ---------------------------------------------------------------- the world of a pipeline

    def now(self) -> float:
        return self._clock.now()

    def owns(self, pipeline: str) -> None:
        self._owner |= dict.fromkeys((one.id for one in self._lives[pipeline].pipeline.vertices), self._lives[pipeline])

    def after(self, key: tuple[Any, ...], seconds: float, call: Callable[[], None]) -> None:
        self._timers.after(key, self.now() + seconds, call)

    def forget(self, key: tuple[Any, ...]) -> None:
        self._timers.forget(key)

    def of_target(self, work: TargetCall, then: Then, failed: Failed) -> None:
        self._target_batcher.ask(work, then, failed)

    def to_coordinator(self, pipeline: str, event: CoordinatorEvent) -> None:
        self._record_batcher.handle(pipeline, event)

    def _perform(self, commands: Iterable[HubCommand]) -> None:
        for command in commands:
            if isinstance(command, AddressedCommand):
                if self._request_handler is not None:
                    self._request_handler.heard(command.pipeline, command.command)
                perform(self._lives[command.pipeline], command.command)
            else:
                self._persist(command)

    def delete_record(self, pipeline: str, checkpoint: int) -> None:
        def delete() -> None:
            self._store.delete(pipeline, checkpoint)
            failpoints.CLEANED.hit()

        self._write(delete, lambda _: None)

    def tell(self, event: JobEvent) -> None:
        self.when_begun(partial(self._tell, event))

    def _tell(self, event: JobEvent) -> None:
        if self._request_handler is not None:
            self._request_handler.saw(event)
        self._listen(event)

    def ended(self, pipeline: str) -> None:
        life = self._lives[pipeline]
        if life.renewing.void and life.ending is None:
            self._whose(partial(self._begin_anew, life))
            return
        self._admission.ended(life.id)
        self.closed.add(life.id)
        if self._request_handler is not None:
            self._request_handler.look()
        if life.state is TableState.DONE:
            self.last_commit_at = life.shown.ended_at
        if life.state is TableState.FAILED and self._settings.fail_fast and not self._failed_fast:
            self._failed_fast = True
            self._stop_all(ExitCode.FAILED, f"stopped because {life.pipeline.name} failed")

    # ---------------------------------------------------------------- durable things

    def _persist(self, command: PersistTogether) -> None:
        def stored(error: BaseException | None) -> None:
            if error is not None and not isinstance(error, SeaTunnelError):
                raise error  # no answer of a store, but a mistake of ours
            for troubles in (self._lives[pipeline].troubles for pipeline in command.records):
                troubles.begins(STORE, as_failure(error)) if error is not None else troubles.ends(STORE)
            fenced = isinstance(error, FencedOffError)
            self._record_batcher.stored(command.number, ok=error is None, fenced=fenced)

        records = dict(command.records)
        self._write(self._journal_batcher.mark(self._store_records, records), stored)

    def _store_records(self, records: Mapping[str, CheckpointRecord]) -> None:
        failpoints.BEFORE_RECORD.hit()
        self._store.write(self._authority.incarnation, records)
        for record in records.values():
            failpoints.completed(record.kind).hit()

    def taken(self, pipeline: str, subtask: Subtask) -> tuple[TakenInput, ...]:
        return self._journal.journal.taken_by(pipeline, subtask)

    def read_limit(self, source: str) -> RateLimit | None:
        rows, size = self._settings.read_rows, self._settings.read_bytes
        return None if rows is size is None else self._limits.setdefault(source, RateLimit(rows, size))

    def exchanged(self) -> int:
        return sum(life.segments.size for life in self._lives.values())

    def completed(self, pipeline: str, record: CheckpointRecord) -> None:
        self._journal.journal.forget(pipeline, record)

    def log(
        self, lines: Iterable[Mapping[str, Any]], then: Callable[[], None], overtaken: Callable[[], None] = lambda: None
    ) -> None:
        self._journal_batcher.log(lines, then, overtaken)

    def _journal_failed(self, error: BaseException, overtaken: Iterable[Callable[[], None]]) -> None:
        """Without its journal no unit can ever be shown, and the job ends, resumable. One that has finished the job
        has removed the journal: who the job belongs to is asked first (I34)."""

        def looked(fenced: BaseException | None) -> None:
            if not isinstance(fenced, FencedOffError):
                raise error
            self._journal_batcher.give_up()
            self._looked(fenced)
            for call in overtaken:
                call()

        self._whose(looked)
