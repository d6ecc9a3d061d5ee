"""The only loop: it takes an event, hands it to the pipeline that it concerns, and has the effects performed.

Nothing blocks here. Units run in the engine; preparing and committing run on a few side threads; records and journals
are written by one thread; all of them report back through one queue. Pipelines share nothing but room and read limits,
so what ends one of them cannot reach another.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from seatunnel_py.errors import EngineError, ExitCode, SeaTunnelError
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.commit.record_batcher import PersistTogether
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.control.request_handler import RequestHandler
from seatunnel_py.runtime.diagnosis.table_receipts import receipts_of
from seatunnel_py.runtime.driver import ledger_retention
from seatunnel_py.runtime.driver.admission import Admission, Candidate
from seatunnel_py.runtime.driver.deferred_calls import DeferredCalls
from seatunnel_py.runtime.driver.executors import Executors
from seatunnel_py.runtime.driver.identity import identity_of
from seatunnel_py.runtime.driver.performer import Performer, Ports
from seatunnel_py.runtime.driver.record_batcher import RecordBatcher
from seatunnel_py.runtime.driver.timers import Timers
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.messages.engine_port import (
    Clock,
    Engine,
    EngineEvent,
    EngineLost,
    UnitFinished,
    UnitLost,
    UnitStarted,
)
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.observe.pipeline_status import PipelineStatus
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.resume.isolated_sink_recovery import RecoveryPipeline, Unfinished, recovery_pipelines
from seatunnel_py.runtime.resume.job_claim import JobClaim
from seatunnel_py.runtime.resume.pipeline_start import past_of
from seatunnel_py.runtime.state.context import context_of
from seatunnel_py.runtime.state.shared_use import SharedUse
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.storage.journal_writer import JournalBatcher
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.runtime.targets.sink_operations import as_failure
from seatunnel_py.runtime.targets.target_batcher import TargetBatcher
from seatunnel_py.runtime.values import failpoints
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.unit import FailureKind, UnitFailure

LOOK_SECONDS = 5.0


class Driver:
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
        self._when_begun = DeferredCalls()
        self._settings = settings = settings.isolating(several=len(pipelines) > 1 or bool(authority.apart))
        self._clock, self._listen = clock, listen
        self._store, self._journal, self._authority = store, journal, authority
        self._job = identity_of(job_id, authority, settings)
        self._shared = SharedUse(journal.journal, settings)
        self.pipelines: dict[str, PipelineMachine] = {}
        self._owner: dict[str, PipelineMachine] = {}
        self._admission = Admission(self._candidates(pipelines))
        self._queue: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._turns: deque[tuple[PipelineMachine, events.PipelineEvent]] = deque()
        self._turning = False
        self._timers = Timers()
        self._threads = Executors(self.post)
        self._write = self._threads.write
        interval = settings.checkpoint.interval
        self._record_batcher = RecordBatcher(self.pipelines, interval, self._moment, self._persist)
        self._journal_batcher = JournalBatcher(journal, self._write, self._journal_failed)
        ports = Ports(
            clock, self._threads, self._timers, store, authority.incarnation, journal.journal, self._journal_batcher,
            self._record_batcher, TargetBatcher(self._threads.aside, self.post),
        )  # fmt: skip
        self._performer = Performer(ports, self)
        self._failed_fast = False
        self._request_handler: RequestHandler | None = None
        self.closed: set[str] = set()  # keys of pipelines of which nothing is at work any more
        self.stopped_by = 0
        self.last_commit_at: float | None = None
        self.first_row_at: float | None = None  # wall clock: measured by workers

    def _candidates(self, pipelines: tuple[Pipeline, ...]) -> Iterable[Candidate]:
        """Those of the job, each before the pipelines that finish sinks which it left out."""
        authority = self._authority
        for key, pipeline in keys(pipelines).items():
            past = self._past(key, authority.records.get(key))
            machine = self._take(key, pipeline, past)
            yield _candidate(machine)
            behind = key
            for rest in recovery_pipelines(key, pipeline, past, authority, self._past):
                machine.isolated.spoken_for(rest.scope, rest.why if isinstance(rest, Unfinished) else None)
                if isinstance(rest, RecoveryPipeline):
                    yield _candidate(self._take(rest.key, rest.pipeline, rest.past), behind)
                    behind = rest.key

    def _past(self, key: str, record: CheckpointRecord | None, **more: Any) -> EarlierRun:
        past = past_of(self._journal.journal, key, record, per_split=self._settings.per_split)
        return replace(past, stood_at=self._authority.stood_at.get(key, {}), **more)

    def _take(self, key: str, pipeline: Pipeline, past: EarlierRun, *, first: int = 0) -> PipelineMachine:
        """The machine of a pipeline. ``first``: the number of its first checkpoint, where it begins again."""
        claim = self._authority.claims[key]
        claim = replace(claim, first=first) if first else claim
        context = context_of(key, pipeline, self._settings, self._job, claim, past, self._shared)
        machine = self.pipelines[key] = PipelineMachine(context)
        return machine

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
            self._admit()  # targets and sources are looked at while the engine starts
            self._begin(begun)
            self._work()
        finally:
            self._threads.close()
            self._journal.close()
        return tuple(receipt for one in self.pipelines.values() for receipt in receipts_of(one, self.now()))

    def _begin(self, begun: Callable[[], None]) -> None:
        try:
            self.engine = self._performer.engine = self._threads.await_(self._await_engine, self._next)
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
            self._when_begun.begin()
            for machine in list(self.pipelines.values()):
                self.turn(machine, events.EngineReady())
            if self._request_handler is not None:
                self._request_handler.begin(self, self.pipelines)
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
        return tuple(one.status for one in self.pipelines.values())

    @property
    def resumable(self) -> bool:
        """Whether a pipeline that is not done has a checkpoint to go on from."""
        undone = (one for one in self.pipelines.values() if one.shown_state is not TableState.DONE)
        return any(one.cleanup.resumable for one in undone)

    @property
    def first_unit_at(self) -> float | None:
        """When the first unit was handed in."""
        return self._performer.first_unit_at

    def withdraw(self) -> None:
        """Behind the end of a run: another driver has finished the job, so that rows which this one has staged since
        are of no use."""
        for one in self.pipelines.values():
            groups, setups = tuple(one.context.groups.values()), one.state.prepared.setups
            sink_operations.drop(groups, one.cleanup.ever_staged, setups, one.context.job, last=True)

    def end_lineage(self) -> tuple[str, ...]:
        """Behind the end of a run: targets need not remember a job that is done for ever; notes for people."""
        return ledger_retention.notify_targets(self.pipelines.values(), self._settings.ledger_days)

    def swept(self) -> tuple[str, ...]:
        """Notes for people: what a job that began anew has removed from its targets, and what it has left there."""
        lines = self.pipelines.values()
        return tuple(f"{line.pipeline.name}: {one}" for line in lines for one in line.state.prepared.swept)

    # ---------------------------------------------------------------- what requests need

    def now(self) -> float:
        return self._clock.now()

    def after(self, key: tuple[Any, ...], seconds: float, call: Callable[[], None]) -> None:
        self._timers.after(key, self.now() + seconds, call)

    def post(self, call: Callable[[], None]) -> None:
        """Have something called on the loop; from any thread."""
        self._queue.put(call)

    def newest(self, pipeline: str) -> CheckpointRecord | None:
        """Where a pipeline stands, whether it has begun in this driver or not."""
        return self.pipelines[pipeline].newest or self._authority.records.get(pipeline)

    def unconfirmed(self, pipeline: str) -> tuple[int, ...]:
        """The checkpoints of a pipeline whose rows are not known to be committed."""
        view, record = self.pipelines[pipeline].view, self._authority.records.get(pipeline)
        commits = record.uncommitted if view is None and record else ()
        return tuple(commit.checkpoint for commit in (view.commits.waiting if view else commits))

    def cancel_all(self, lines: Iterable[PipelineMachine], why: str, *, whole: bool) -> None:
        """End these at once; ``whole``: they are all there are, and the job ends."""
        if whole:
            self.stop_waiting(ExitCode.TERMINATED, why)
        for line in list(lines):
            self._admission.skip(line.key)
            self.turn(line, _stop(why, keep=False))

    def stop_waiting(self, exit_code: int, why: str = "the job was stopped") -> None:
        """No pipeline begins any more."""
        self.stopped_by = self.stopped_by or exit_code
        for key in self._admission.skip_all():
            self.turn(self.pipelines[key], _stop(why, keep=False))

    # ---------------------------------------------------------------- whose the job is

    def _look_for_another(self) -> None:
        """A driver that has nothing to store would not hear that another one has taken over (I34)."""
        self._check_claim(self._looked)

    def _check_claim(self, then: Callable[[BaseException | None], None]) -> None:
        """Ask the store whether the job is still this driver's: FencedOffError where it is another one's."""
        self._write(lambda: self._store.check(self._authority.incarnation), then)

    def _looked(self, error: BaseException | None) -> None:
        if not isinstance(error, FencedOffError):
            self.after(("another driver",), LOOK_SECONDS, self._look_for_another)
            return
        lost = events.ClaimLost(as_failure(error))
        self._admission.skip_all()
        for machine in list(self.pipelines.values()):
            self.turn(machine, lost)

    # ---------------------------------------------------------------- turns

    def _next(self) -> None:
        """Wait for something to happen, and for timers; let those begin whose turn has come."""
        with suppress(queue.Empty):
            self._queue.get(timeout=self._timers.pause(self.now()))()
        for call in self._timers.due(self.now()):
            call()
        self._admit()

    def _admit(self) -> None:
        for key in self._admission.admit():
            self._begin_pipeline(self.pipelines[key])

    def _begin_pipeline(self, machine: PipelineMachine) -> None:
        """Units of its vertices are its own from now on: another pipeline may have had them before."""
        self._owner |= dict.fromkeys((one.id for one in machine.pipeline.vertices), machine)
        self.turn(machine, events.Admitted())

    def turn(self, machine: PipelineMachine, event: events.PipelineEvent) -> None:
        """Have a pipeline handle an event, and perform the effects; an event that comes meanwhile is next."""
        self._turns.append((machine, event))
        if not self._turning:
            self._take_turns()

    def _take_turns(self) -> None:
        self._turning = True
        try:
            while self._turns:
                machine, event = self._turns.popleft()
                for effect in machine.handle(self.now(), event):
                    self._performer.perform(machine, effect)
        finally:
            self._turning = False
        self._record_batcher.look()

    def _from_engine(self, event: EngineEvent) -> None:
        match event:
            case UnitFinished(result):
                if result.failure is None and result.first_row_at:
                    self.first_row_at = min(self.first_row_at or result.first_row_at, result.first_row_at)
                self.turn(self._owner[result.id.vertex], event)
            case UnitLost(unit) | UnitStarted(unit):
                self.turn(self._owner[unit.vertex], event)
            case EngineLost(reason):
                raise EngineError(reason, "go on with --restore latest")

    def _stop_all(self, exit_code: int, why: str) -> None:
        again = bool(self.stopped_by)
        self.stop_waiting(exit_code, why)
        for machine in list(self.pipelines.values()):
            self.turn(machine, _stop(why, keep=not machine.context.bounded and not again))

    # ---------------------------------------------------------------- what pipelines cannot decide

    def tell(self, event: JobEvent) -> None:
        """For people and logs; not before the job has begun."""
        self._when_begun(partial(self._tell, event))

    def _tell(self, event: JobEvent) -> None:
        if self._request_handler is not None:
            self._request_handler.saw(event)
        self._listen(event)

    def refused(self, pipeline: str, effect: effects.RefuseRequest) -> None:
        if self._request_handler is not None:
            self._request_handler.refused(pipeline, effect.name, effect.reason)

    def completed(self, pipeline: str, effect: effects.CompleteRecord) -> None:
        if self._request_handler is not None:
            self._request_handler.completed(pipeline, effect.record)

    def counted(self, pipeline: str, work: int) -> None:
        self._admission.counted(pipeline, work)

    def closed_pipeline(self, machine: PipelineMachine, *, begin_again: bool) -> None:
        self._record_batcher.forget(machine.key)
        if begin_again:
            self._begin_anew(machine)
            return
        self._admission.ended(machine.key)
        self.closed.add(machine.key)
        if self._request_handler is not None:
            self._request_handler.look()
        if machine.shown_state is TableState.DONE:
            self.last_commit_at = machine.state.shown.ended_at
        if machine.shown_state is TableState.FAILED and self._settings.fail_fast and not self._failed_fast:
            self._failed_fast = True
            self._stop_all(ExitCode.FAILED, f"stopped because {machine.pipeline.name} failed")

    def _begin_anew(self, before: PipelineMachine) -> None:
        """Another machine takes the place of one whose rows are void (``generation_renewal.py``). Ids and epochs go on
        counting."""
        assert before.view is not None, "it has read something"
        view, key = before.view, before.key
        strays, known = before.cleanup.staged, before.isolated.known_bad
        past = self._past(key, view.newest, epochs=view.epochs, strays=strays, known_bad=known)
        machine = self._take(key, before.pipeline, past, first=view.next_checkpoint)
        machine.replaces(before)
        if self._request_handler is not None:
            self._request_handler.restarted(key)
        self.turn(machine, events.EngineReady())
        self._begin_pipeline(machine)

    # ---------------------------------------------------------------- durable things

    def _moment(self, seconds: float) -> None:
        self.after(("store",), seconds, self._record_batcher.moment_over)

    def _persist(self, write: PersistTogether) -> None:
        records = dict(write.records)
        store = self._journal_batcher.mark(self._store_records, records)
        owners = {key: self.pipelines[key] for key in records}  # one may begin again meanwhile
        self._write(store, partial(self._stored, write.number, owners))

    def _stored(self, number: int, owners: Mapping[str, PipelineMachine], error: BaseException | None) -> None:
        if error is not None and not isinstance(error, SeaTunnelError):
            raise error  # no answer of a store, but a mistake of ours
        records = self._record_batcher.stored(number)
        self._turns.extend((owners[key], _answer(record.checkpoint, error)) for key, record in records.items())
        self._take_turns()

    def _store_records(self, records: Mapping[str, CheckpointRecord]) -> None:
        failpoints.BEFORE_RECORD.hit()
        self._store.write(self._authority.incarnation, records)
        for record in records.values():
            failpoints.completed(record.kind).hit()

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

        self._check_claim(looked)


def _candidate(machine: PipelineMachine, behind: str = "") -> Candidate:
    work = sum(vertex.parallelism for vertex in machine.pipeline.vertices)
    return Candidate(machine.key, machine.context.bounded, work, behind)


def _stop(why: str, *, keep: bool) -> events.StopRequested:
    return events.StopRequested(UnitFailure(FailureKind.FATAL, why), keep)


def _answer(checkpoint: int, error: BaseException | None) -> events.RecordStored | events.RecordNotStored:
    if error is None:
        return events.RecordStored(checkpoint)
    return events.RecordNotStored(checkpoint, as_failure(error), isinstance(error, FencedOffError))
