"""Runs the pipelines of one job: passes each event to its pipeline, and performs the effects at once.

Rules. (1) It has no thread and no queue, and never waits: ``driver.py`` does that, and passes in events. (2) Pipelines
share only channel space and read limits, so that the end of one does not affect another. (3) A pipeline that begins
again keeps its key, and continues the numbers of checkpoints and epochs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from seatunnel_py.api.schema import TablePath
from seatunnel_py.errors import EngineError, ExitCode
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import AlteredLog, PlanAgain
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.commit.record_batcher import PersistTogether
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.control.request_handler import RequestHandler
from seatunnel_py.runtime.diagnosis.table_receipts import receipts_of
from seatunnel_py.runtime.driver.admission import Admission, Candidate, candidate_of
from seatunnel_py.runtime.driver.deferred_calls import DeferredCalls
from seatunnel_py.runtime.driver.executors import Executors
from seatunnel_py.runtime.driver.identity import identity_of
from seatunnel_py.runtime.driver.log_pipelines import LogPipelines
from seatunnel_py.runtime.driver.performer import Performer, Ports
from seatunnel_py.runtime.driver.record_batcher import RecordBatcher
from seatunnel_py.runtime.driver.record_writer import RecordWriter
from seatunnel_py.runtime.driver.timers import Timers
from seatunnel_py.runtime.messages import effects, engine_port, events
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.resume import isolated_sink_recovery as recovery
from seatunnel_py.runtime.resume.job_claim import JobClaim
from seatunnel_py.runtime.resume.pipeline_start import past_of
from seatunnel_py.runtime.resume.table_refresh import TableRefreshes
from seatunnel_py.runtime.state.context import context_of
from seatunnel_py.runtime.state.shared_use import SharedUse
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.storage.journal_writer import JournalBatcher
from seatunnel_py.runtime.targets.call_failure import as_failure
from seatunnel_py.runtime.targets.target_batcher import TargetBatcher
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.runtime.values.topology_builder import keys

LOOK_SECONDS = 5.0


class JobRunner:
    """Runs one job. ``open``: keys of its pipelines; ``closed``: the receipts of others; ``stopped_by``: the exit code
    of a stopped job, or 0; ``runs_again``: its process begins another run then; ``first_row_at``: wall clock, measured
    by workers."""

    def __init__(
        self,
        pipelines: tuple[Pipeline, ...],
        job_id: str,
        authority: JobClaim,
        store: CheckpointStore,
        journal: JournalFile,
        settings: Settings,
        clock: engine_port.Clock,
        executors: Executors,
        post: Callable[[Callable[[], None]], None],
        listen: Callable[[JobEvent], None],
        plan_again: PlanAgain,
        refreshes: TableRefreshes,
    ) -> None:
        self.post = post
        self._when_begun = DeferredCalls()
        self._settings = settings = settings.isolating(several=len(pipelines) > 1 or bool(authority.apart))
        self._clock, self._listen = clock, listen
        self._journal, self._authority = journal, authority
        self._executors = executors
        self._identity = identity_of(job_id, authority, settings)
        self._shared = SharedUse(journal.journal, settings)
        self.pipelines: dict[str, PipelineMachine] = {}
        self._owner: dict[str, PipelineMachine] = {}
        self.logs = LogPipelines(refreshes)
        self._admission = Admission(self._candidates(pipelines))
        self.open: Collection[str] = self._admission.open
        self._turns: deque[tuple[PipelineMachine, events.PipelineEvent]] = deque()
        self._turning = False
        self.timers = Timers()
        check = partial(store.check, authority.incarnation)
        self._journal_batcher = JournalBatcher(journal, executors.write, check, self._journal_failed)
        self._records = RecordBatcher(self.pipelines, settings.checkpoint.interval, self._moment, self._persist)
        self._writer = RecordWriter(store, authority.incarnation, self._journal_batcher)
        self._ports = ports = Ports(
            clock, executors, self.timers, store, authority.incarnation, journal.journal, self._journal_batcher,
            self._records, TargetBatcher(executors.aside, post), plan_again, refreshes,
        )  # fmt: skip
        self._performer = Performer(ports, self)
        self._failed_fast = False
        self._request_handler: RequestHandler | None = None
        self.closed: dict[str, tuple[TableReceipt, ...]] = {}
        self.stopped_by, self.runs_again = 0, False
        self.last_commit_at: float | None = None
        self.first_row_at: float | None = None

    def _candidates(self, pipelines: tuple[Pipeline, ...]) -> Iterator[Candidate]:
        """Yield the pipelines of the job, each before the pipelines that finish its isolated sinks."""
        authority, named = self._authority, keys(pipelines)
        after = self.logs.order(named)
        for key, pipeline in named.items():
            past = self._past(pipeline, key, authority.records.get(key))
            of_its_own = partial(self._past, pipeline)
            recoveries = tuple(recovery.recovery_pipelines(key, pipeline, past, authority, of_its_own))
            machine = self._take(key, pipeline, recovery.without_recovered(past, recoveries))
            yield candidate_of(machine.context, after[key])
            behind = key
            for rest in recoveries:
                machine.isolated.spoken_for(rest.scope, rest.why if isinstance(rest, recovery.Unfinished) else None)
                if isinstance(rest, recovery.RecoveryPipeline):
                    yield candidate_of(self._take(rest.key, rest.pipeline, rest.past).context, frozenset({behind}))
                    behind = rest.key

    def _past(self, pipeline: Pipeline, key: str, record: CheckpointRecord | None, **more: Any) -> EarlierRun:
        per_split = self._settings.per_split or pipeline.log_corrects
        past = past_of(self._journal.journal, key, record, per_split=per_split)
        more |= {"altered": self.logs.take(key), "refreshes": self.logs.refreshes.take(key)}
        return replace(past, stood_at=self._authority.stood_at.get(key, {}), **more)

    def _take(self, key: str, pipeline: Pipeline, past: EarlierRun, *, first: int = 0) -> PipelineMachine:
        """Make the machine of a pipeline. ``first``: the number of its first checkpoint if it begins again, else 0."""
        claim = self._authority.claims[key]
        claim = replace(claim, first=first) if first else claim
        context = context_of(key, pipeline, self._settings, self._identity, claim, past, self._shared)
        self.pipelines[key] = PipelineMachine(context)
        return self.pipelines[key]

    # ---------------------------------------------------------------- beginning and end

    @property
    def at_work(self) -> bool:
        """Whether a pipeline is open or waits for its turn."""
        return bool(self._admission)

    @property
    def busy(self) -> bool:
        """Whether the job has to wait for a pipeline, the journal or a request."""
        handler = self._request_handler
        return self.at_work or self._journal_batcher.busy or (handler is not None and handler.busy)

    @property
    def engine(self) -> engine_port.Engine:
        """The engine; only after `begin()`."""
        assert self._performer.engine is not None, "there is no engine yet"
        return self._performer.engine

    def begin(self, engine: engine_port.Engine) -> None:
        """Start to submit units to this engine."""
        self._performer.engine = engine
        self._admission.slots = engine.slots
        self._when_begun.begin()
        for machine in list(self.pipelines.values()):
            self.turn(machine, events.EngineReady())
        if self._request_handler is not None:
            self._request_handler.begin(self, self.pipelines)
        self.look_for_another()

    def end(self) -> None:
        """Close the request handler, because no more events come."""
        if self._request_handler is not None:
            self._request_handler.close()

    def attach_control(self, handler: RequestHandler) -> None:
        """Set the handler that reads requests while the job runs."""
        self._request_handler = handler

    # ---------------------------------------------------------------- turns

    def now(self) -> float:
        return self._clock.now()

    def after(self, key: tuple[Any, ...], seconds: float, call: Callable[[], None]) -> None:
        self.timers.after(key, self.now() + seconds, call)

    def fire_timers(self) -> None:
        """Make the calls that are due."""
        for call in self.timers.due(self.now()):
            call()

    def admit(self) -> None:
        """Begin the pipelines whose turn has come."""
        for key in self._admission.admit():
            self._begin_pipeline(self.pipelines[key])

    def _begin_pipeline(self, machine: PipelineMachine) -> None:
        """Route units of its vertices to this machine, which may replace an earlier one, and begin it."""
        copied = self.logs.copied(machine.pipeline, self.pipelines)
        joins = self.logs.joining(machine.pipeline, copied)
        if machine.pipeline.after and machine.pipeline.log is not None and machine.context.past.begins_anew:
            machine = self._following(machine, copied)
        self._owner |= dict.fromkeys((one.id for one in machine.pipeline.vertices), machine)
        self.turn(machine, events.Admitted(copied, joins))

    def _following(self, machine: PipelineMachine, copied: Collection[TablePath]) -> PipelineMachine:
        """The machine of a log for the tables that were copied; the others stay out of it."""
        if not copied or all(path in copied for path in machine.pipeline.tables):
            return machine  # without a table its sources refuse to begin
        pipeline = log_tables.following(machine.pipeline, copied)
        smaller = self._take(machine.key, pipeline, machine.context.past)
        if self._performer.engine is not None:
            self.turn(smaller, events.EngineReady())
        return smaller

    def turn(self, machine: PipelineMachine, event: events.PipelineEvent) -> None:
        """Let a pipeline handle an event, and perform its effects; events that come meanwhile are queued."""
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
        self._records.look()

    def from_engine(self, event: engine_port.EngineEvent) -> None:
        """Pass an event of the engine to its pipeline. Raises EngineError if the engine is lost."""
        match event:
            case engine_port.UnitFinished(result):
                if result.failure is None and result.first_row_at:
                    self.first_row_at = min(self.first_row_at or result.first_row_at, result.first_row_at)
                self.turn(self._owner[result.id.vertex], event)
            case engine_port.UnitLost(unit) | engine_port.UnitStarted(unit):
                self.turn(self._owner[unit.vertex], event)
            case engine_port.EngineLost(reason):
                raise EngineError(reason, "go on with --restore latest")

    # ---------------------------------------------------------------- stopping

    def stop_all(self, exit_code: int, why: str, *, again: bool = False) -> None:
        """End the job. At the first call streaming pipelines end after a savepoint; at a second one all end at once."""
        first, self.runs_again = not self.stopped_by, again
        self.stop_waiting(exit_code, why)
        for machine in list(self.pipelines.values()):
            self.turn(machine, events.StopRequest.of_user(why, keep=not machine.context.bounded and first))

    def cancel_all(self, machines: Iterable[PipelineMachine], why: str, *, whole: bool) -> None:
        """End these pipelines at once; ``whole``: these are all pipelines, so the job ends."""
        if whole:
            self.stop_waiting(ExitCode.TERMINATED, why)
        for machine in list(machines):
            self._admission.skip(machine.key)
            self.turn(machine, events.StopRequest.of_user(why, keep=False))

    def stop_waiting(self, exit_code: int, why: str = "the job was stopped") -> None:
        """Start no more pipelines."""
        self.stopped_by = self.stopped_by or exit_code
        for key in self._admission.skip_all():
            self.turn(self.pipelines[key], events.StopRequest.of_user(why, keep=False))

    # ---------------------------------------------------------------- for requests and receipts

    @property
    def first_unit_at(self) -> float | None:
        """When the first unit was submitted."""
        return self._performer.first_unit_at

    @property
    def resumable(self) -> bool:
        """Whether a pipeline that is not done, or done for this run only, can be resumed from a checkpoint."""
        undone = (one for one in self.pipelines.values() if one.shown_state is not TableState.DONE or one.goes_on)
        return any(one.cleanup.resumable for one in undone)

    def newest(self, pipeline: str) -> CheckpointRecord | None:
        """The last record of a pipeline, also of one that has not begun in this driver."""
        return self.pipelines[pipeline].newest or self._authority.records.get(pipeline)

    def unconfirmed(self, pipeline: str) -> tuple[int, ...]:
        """The checkpoints of a pipeline whose commits are not confirmed."""
        view, record = self.pipelines[pipeline].view, self._authority.records.get(pipeline)
        commits = record.uncommitted if view is None and record else ()
        return tuple(commit.checkpoint for commit in (view.commits.waiting if view else commits))

    # ---------------------------------------------------------------- claim of the job

    def look_for_another(self) -> None:
        """Check now and then whether another driver has taken over, because a driver without writes would not learn it
        from the store (I34)."""
        self._ports.check_claim(self._looked)

    def _looked(self, error: BaseException | None) -> None:
        if not isinstance(error, FencedOffError):
            self.after(("another driver",), LOOK_SECONDS, self.look_for_another)
            return
        lost = events.ClaimLost(as_failure(error))
        self._admission.skip_all()
        for machine in list(self.pipelines.values()):
            self.turn(machine, lost)

    # ---------------------------------------------------------------- decisions of the job

    def tell(self, event: JobEvent) -> None:
        """Send an event to the listeners; events before the beginning of the job are queued."""
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

    def planned_again(self, machine: PipelineMachine, found: AlteredLog) -> None:
        for name, why in self.logs.note(machine.key, found).items():
            self.tell(TableChanged(f"isolated {name}", name, TableState.ISOLATED, self.now(), why, (name,)))

    def closed_pipeline(self, machine: PipelineMachine, *, begin_again: bool) -> None:
        self._records.forget(machine.key)
        if not begin_again:
            self._ended(machine)
            return
        lines = self.logs.resets_done(machine, self.pipelines, self._journal.journal.resets)
        self._journal_batcher.log(lines, partial(self._begin_again, machine), partial(self._ended, machine))

    def _ended(self, machine: PipelineMachine) -> None:
        self._admission.ended(machine.key)
        self.closed[machine.key] = receipts_of(machine, self.now())
        if self._request_handler is not None:
            self._request_handler.look()
        if held := self.logs.held_up(machine, self.pipelines):
            why = f"it is copied again when it has left {machine.pipeline.name}, and that has ended"
            self.cancel_all(held, why, whole=False)
        if machine.shown_state is TableState.DONE:
            self.last_commit_at = machine.state.shown.ended_at
        if machine.shown_state is TableState.FAILED and self._settings.fail_fast and not self._failed_fast:
            self._failed_fast = True
            self.stop_all(ExitCode.FAILED, f"stopped because {machine.pipeline.name} failed")

    def _begin_again(self, before: PipelineMachine) -> None:
        """Replace a machine whose rows are void (``generation_renewal.py``), or that needs another plan
        (``log_replanning.py``)."""
        assert before.view is not None, "it has read something"
        view, key, strays, bad = before.view, before.key, before.cleanup.staged, before.isolated.known_bad
        past = self._past(before.pipeline, key, view.newest, epochs=view.epochs, strays=strays, known_bad=bad)
        pipeline = before.pipeline if past.altered is None else past.altered.pipeline
        machine = self._take(key, pipeline, past, first=view.next_checkpoint)
        machine.replaces(before)
        if self._request_handler is not None:
            self._request_handler.restarted(key)
        self.turn(machine, events.EngineReady())
        if self.stopped_by or before.closing.missed_stop:  # while neither machine was at work
            self.turn(machine, events.StopRequest.of_user("it was stopped", keep=False))
        elif awaited := self.logs.awaited(pipeline, self.pipelines, self.closed):
            self._admission.again(candidate_of(machine.context, awaited))
        else:
            self._begin_pipeline(machine)

    # ---------------------------------------------------------------- records and the journal

    def _moment(self, seconds: float) -> None:
        self.after(("store",), seconds, self._records.moment_over)

    def _persist(self, write: PersistTogether) -> None:
        owners = {key: self.pipelines[key] for key in write.records}  # one may begin again meanwhile
        self._executors.write(self._writer.task(write), partial(self._stored, write.number, owners))

    def _stored(self, number: int, owners: Mapping[str, PipelineMachine], error: BaseException | None) -> None:
        answers = self._writer.answers(self._records.stored(number), error)
        self._turns.extend((owners[key], answer) for key, answer in answers.items())
        self._take_turns()

    def _journal_failed(self, error: BaseException, overtaken: Iterable[Callable[[], None]]) -> None:
        """End the job with this error, resumable, because no unit can be committed without the journal. Another driver
        that has finished the job has removed the journal, so the claim is checked first (I34)."""

        def looked(fenced: BaseException | None) -> None:
            if not isinstance(fenced, FencedOffError):
                raise error
            self._journal_batcher.give_up()
            self._looked(fenced)
            for call in overtaken:
                call()

        self._ports.check_claim(looked)
