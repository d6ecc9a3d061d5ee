"""One pipeline in one driver, as a pure state machine: ``handle(at, event) -> effects``.

Rules. (1) No input or output, no clock, no thread, no plugin: the same events in the same order give the same effects.
(2) A pipeline is *prepared* (its sinks plan, its splits are found; nothing is changed), then its coordinator takes
over: checkpoint 0, start effects, executions, units, checkpoints, commits, the end (``phases.py``). (3) Letters between
coordinator and participants stay inside, and each part handles one at a time. (4) A pipeline is
closed once, and only when none of its units, calls and lines about its targets is under way.

May not know: how effects are performed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.view import CoordinatorView
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.participant.messages import AlignmentTimedOut, Triggered
from seatunnel_py.runtime.counts.table_counts import TableCounts
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.messages.answers import Prepared
from seatunnel_py.runtime.messages.engine_port import UnitFinished, UnitLost, UnitStarted
from seatunnel_py.runtime.observe.pipeline_status import PipelineStatus
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline import call_answers, coordinator_commands, participant_commands
from seatunnel_py.runtime.pipeline.coordinator_settings import coordinator_of
from seatunnel_py.runtime.pipeline.log_replanning import events_of_start
from seatunnel_py.runtime.pipeline.parts import begin_executions, parts_of
from seatunnel_py.runtime.resume.pipeline_start import StartPlan
from seatunnel_py.runtime.state.context import PipelineContext
from seatunnel_py.runtime.state.journal_entries import Activate, AddRound, Deliver, EmptyTargets
from seatunnel_py.runtime.state.phases import PhaseEvent, PipelinePhase
from seatunnel_py.runtime.state.troubles import STORE
from seatunnel_py.runtime.storage.journal import dropped_line, emptied_line, graph_line
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution, UnitRepeated, begin_all
from seatunnel_py.runtime.subtasks.unit_table import UnitCounts
from seatunnel_py.runtime.values import failpoints
from seatunnel_py.work.unit import UnitFailure, UnitResult


class PipelineMachine:
    """Runs one pipeline. ``begins_with``: the record that it was restored from. The parts of the machine may be read
    from outside; only events change them."""

    def __init__(self, context: PipelineContext) -> None:
        self.context = context
        self.key, self.id = context.key, context.pipeline.id
        self.parts = parts = parts_of(context)
        self.state, self.executions, self.units = parts.state, parts.executions, parts.units
        self.isolated, self.cleanup, self.closing = parts.isolated, parts.cleanup, parts.closing
        self.counts = TableCounts(context.pipeline)
        self.begins_with: CheckpointRecord | None = None
        self._engine_ready = False
        self._start: tuple[StartPlan, Coordinator] | None = None

    def replaces(self, before: PipelineMachine) -> None:
        """Take over the shown state and failure counts of the machine that this one replaces."""
        self.state.shown.replaces(before.state.shown)
        self.state.failures = before.state.failures
        self.parts.renewal.tries = before.parts.renewal.tries
        self.isolated.replaces(before.isolated)
        before.parts.segments.forget()

    # ---------------------------------------------------------------- events

    def handle(self, at: float, event: events.PipelineEvent) -> Sequence[effects.Effect]:
        """Handle an event; return its effects, to be performed in order. ``at``: its time."""
        state = self.state
        state.at = at
        _HANDLERS[type(event)](self, event)
        self._drain()
        self.parts.replanning.look()
        self._drain()
        self.parts.segments.scan_if_due()
        if state.phase is PipelinePhase.CLOSING:
            self._close_if_idle()
        effects_now, state.effects = state.effects, []
        return effects_now

    def _drain(self) -> None:
        """Deliver letters until there is none."""
        mail, ends = self.state.mail, self.parts.end_of_input
        while mail:
            while mail:
                subtask, letter = mail.popleft()
                if subtask is None:
                    self._to_coordinator(letter)
                else:
                    self._to_execution(subtask, letter)
            if ends.holds:
                out = self.state.isolated
                takes_part = [one for subtask, one in self.state.participants.items() if subtask not in out]
                for event in ends.due(takes_part):
                    self.state.to_coordinator(replace(event, at=self.state.at))

    def _to_coordinator(self, event: report.CoordinatorEvent) -> None:
        assert self.state.coordinator is not None, f"a letter to the coordinator of {self.key}, which has not begun"
        for command in self.state.coordinator.handle(event):
            coordinator_commands.perform(self.parts, command)

    def _to_execution(self, subtask: Subtask, letter: Any) -> None:
        state = self.state
        if type(letter) is UnitCounts:
            self._count(letter.result)
            return
        if state.is_over or subtask in state.isolated:
            return  # a late letter begins nothing
        run = self.executions[subtask]
        if type(letter) is UnitRepeated:
            if run.unit is not None and run.unit.id == letter.result.id:
                self._judge(run, letter.result)
            return
        for command in run.participant.handle(letter):
            participant_commands.perform(self.parts, run, command)
        if type(letter) is Triggered:
            run.rest_over()

    # ---------------------------------------------------------------- the beginning

    def _admitted(self, event: events.Admitted) -> None:
        self.state.advance(PhaseEvent.ADMIT)
        if self._engine_ready:
            self.state.shown.starts(self.state.at)
        self.parts.replanning.joins(event.joins)
        if self.context.past.empties:
            self.state.journal([emptied_line(self.key)], EmptyTargets(event))
        else:
            self._prepare(event)

    def _prepare(self, event: events.Admitted) -> None:
        if not self.state.is_over:
            self.state.call("prepare", lambda number: effects.Prepare(number, self.context.past, event.copied))

    def _engine_is_ready(self, _: events.EngineReady) -> None:
        self._engine_ready = True
        if self.state.phase is not PipelinePhase.WAITING:
            self.state.shown.starts(self.state.at)
        if self.state.phase is PipelinePhase.PREPARED:
            self._register()

    def _prepared(self, value: Prepared) -> None:
        state, outcome = self.state, value.plan
        state.advance(PhaseEvent.PREPARED)
        state.prepared = outcome.prepared
        self.parts.discovery.opened_sources(value.sources)
        for event in events_of_start(self.pipeline, self.context.past, outcome, state.at):
            state.tell(event)
        self._start = outcome, coordinator_of(self.context, outcome, state.plan)
        for vertex in self.pipeline.vertices:
            begin_executions(self.parts, vertex, outcome)
        self.isolated.begin(outcome.record, self.context.past)
        self.begins_with = outcome.record
        state.checkpoints.begins_with(outcome.record)
        self.parts.replanning.begins(outcome.record)
        with_work = (run.vertex.source is None or bool(run.splits) for run in self.executions.values())
        state.emit(effects.ReportWork(sum(with_work)))
        if self._engine_ready:
            self._register()

    def _register(self) -> None:
        """Register the chains with the engine. From now on the pipeline may change things."""
        state = self.state
        state.advance(PhaseEvent.ENGINE_READY)
        done_before = self.begins_with is not None and self.begins_with.kind is RecordKind.FINAL
        vertices = () if done_before else tuple(vertex.id for vertex in self.pipeline.vertices)
        setups = state.prepared.setups
        state.call("register", lambda number: effects.RegisterChains(number, vertices, setups), retried=False)

    def _registered(self) -> None:
        state, context = self.state, self.context
        assert self._start is not None, "it was not prepared"
        outcome, state.coordinator = self._start
        lines = [dropped_line(self.key)] if outcome.anew else []
        if context.graph.topology.edges and outcome.graph != context.past.graph:  # without channels there is no journal
            lines.append(graph_line(self.key, *outcome.graph))
        if lines:
            state.journal(lines, Activate())
        else:
            self._activate()

    def _activate(self) -> None:
        state = self.state
        if not state.is_over:
            state.advance(PhaseEvent.BEGUN)
            self.parts.discovery.begin(state.newest)
            state.to_coordinator(report.Activated(state.at, self.context.job.incarnation))

    # ---------------------------------------------------------------- units

    def _finished(self, event: UnitFinished) -> None:
        """Pass the reader events of a unit to the enumerator before the unit counts."""
        result = event.result
        if result.events and result.failure is None:
            self.parts.discovery.hears(result)
        else:
            self._count(result)

    def _count(self, result: UnitResult) -> None:
        subtask = self.units.finished(result.id)
        if subtask is None:
            self.units.strays += result.pieces
        else:
            self._judge(self.executions[subtask], result)

    def _judge(self, run: SubtaskExecution, result: UnitResult) -> None:
        failure = run.finished(result)
        if failure is not None:
            self.parts.attempts.failed(run, failure)
            return
        self.parts.segments.made(result.slices)
        self.state.to_coordinator(report.Progressed(self.state.at))

    def _lost(self, event: UnitLost) -> None:
        subtask, failure = self.units.lost(event)
        if subtask is None:
            return
        if failure is None:
            self.executions[subtask].submit_again()
        else:
            self.parts.attempts.failed(self.executions[subtask], failure)

    # ---------------------------------------------------------------- answers

    def _call_done(self, event: events.CallDone) -> None:
        call = self.state.calls.ends(event.call)
        if call is None:
            return
        match call.effect:
            case effects.Prepare() if not self.state.is_over:
                self._prepared(event.value)
            case effects.RegisterChains() if not self.state.is_over:
                self._registered()
            case effects.CommitScope() if not self.state.is_over:
                call_answers.done(self.parts, call, event.value)
                self._drain()  # the coordinator knows before the failpoint is passed
                self.state.tell_committed()
                self.state.emit(effects.HitFailpoint(failpoints.CONFIRMED))
                begin_all(self.executions.values())
            case _:
                call_answers.done(self.parts, call, event.value)

    def _call_failed(self, event: events.CallFailed) -> None:
        call = self.state.calls.ends(event.call)
        if call is not None:
            call_answers.failed(self.parts, call, event.failure)

    def _journalled(self, event: events.Journalled) -> None:
        match self.state.entries.pop(event.entry):
            case EmptyTargets(admitted):
                self._prepare(admitted)
            case Activate():
                self._activate()
            case Deliver() as entry:
                coordinator_commands.durable(self.parts, entry)
            case AddRound() as added:
                self.parts.discovery.durable(added, ours=True)
            case _:
                self.closing.drop_all(ours=True)

    def _journal_lost(self, event: events.JournalLost) -> None:
        match self.state.entries.pop(event.entry):
            case EmptyTargets() | Activate() | Deliver():
                pass
            case AddRound() as added:
                self.parts.discovery.durable(added, ours=False)
            case _:
                self.closing.drop_all(ours=False)

    def _stored(self, event: events.RecordStored) -> None:
        self.state.troubles.ends(STORE)
        self.state.checkpoints.record_bytes = event.bytes
        self.state.to_coordinator(report.Persisted(self.state.at, event.checkpoint))

    def _not_stored(self, event: events.RecordNotStored) -> None:
        self.state.troubles.begins(STORE, event.failure)
        self.state.to_coordinator(report.PersistFailed(self.state.at, event.checkpoint, event.fenced))

    def _timer_fired(self, event: events.TimerFired) -> None:
        state, (kind, *about) = self.state, event.timer
        match kind:
            case "coordinator":
                state.to_coordinator(report.Timer(state.at, *about))
            case "align":
                subtask, epoch, checkpoint = about
                state.to_participant(subtask, AlignmentTimedOut(state.at, epoch, checkpoint))
            case "retry":
                (unit,) = about
                self.parts.attempts.due(self.executions[Subtask(unit.vertex, unit.subtask)], unit)
            case "idle" | "limit":
                self.executions[about[0]].begin_if_room()
            case "exchange":
                begin_all(self.executions.values())
            case "discover":
                self.parts.discovery.look(*about)
            case "stop":
                self.closing.stop_again()
            case "schema change":
                self.parts.replanning.look_again()
            case "call":
                state.call_again(*about)
            case _:
                raise AssertionError(f"an unknown timer: {event.timer}")

    # ---------------------------------------------------------------- requests

    def _savepoint(self, event: events.SavepointRequest) -> None:
        self.closing.savepoint(event.name, stop=event.stop)

    def _stop_withdrawn(self, _: events.StopWithdrawn) -> None:
        if not self.state.shown.state.ended:
            self.closing.wish = None

    def _claim_lost(self, event: events.ClaimLost) -> None:
        state = self.state
        if state.shown.state.ended:
            return
        if state.coordinator is None:
            self.closing.give_up(event.failure)
        else:
            state.troubles.begins(STORE, event.failure)
            state.to_coordinator(report.PersistFailed(state.at, 0, fenced=True))

    # ---------------------------------------------------------------- the end

    def _close_if_idle(self) -> None:
        """Close the pipeline if no unit, no call and no line about its targets is under way."""
        for result in self.parts.discovery.over():
            self._count(result)
        if not len(self.units) and not len(self.state.calls) and not self.state.is_emptying:
            self.closing.close()

    # ---------------------------------------------------------------- views

    @property
    def pipeline(self) -> Pipeline:
        """The planned pipeline."""
        return self.context.pipeline

    @property
    def shown_state(self) -> TableState:
        """The state that users see."""
        return self.state.shown.state

    @property
    def goes_on(self) -> bool:
        """Whether it is done for this run only: the next one goes on from its last record."""
        return self.closing.goes_on

    @property
    def view(self) -> CoordinatorView | None:
        """The state of its coordinator; None: it has not begun."""
        return self.state.view

    @property
    def newest(self) -> CheckpointRecord | None:
        """The pipeline's newest completed checkpoint."""
        return self.state.newest

    @property
    def failure(self) -> UnitFailure | None:
        """The cause of the end if it ended now."""
        return self.closing.failure

    @property
    def status(self) -> PipelineStatus:
        """The status of its subtasks, as a value."""
        state = self.state
        tasks = tuple(run.status for run in self.executions.values())
        return PipelineStatus(self.pipeline.name, self.shown_state, state.good, state.commit_lag, tasks)


_HANDLERS: Mapping[type, Callable[[PipelineMachine, Any], None]] = {
    events.Admitted: PipelineMachine._admitted,
    events.EngineReady: PipelineMachine._engine_is_ready,
    events.CallDone: PipelineMachine._call_done,
    events.CallFailed: PipelineMachine._call_failed,
    events.TimerFired: PipelineMachine._timer_fired,
    events.Journalled: PipelineMachine._journalled,
    events.JournalLost: PipelineMachine._journal_lost,
    events.RecordStored: PipelineMachine._stored,
    events.RecordNotStored: PipelineMachine._not_stored,
    events.StopRequest: lambda machine, event: machine.closing.stop(event.failure, keep=event.keep),
    events.SavepointRequest: PipelineMachine._savepoint,
    events.StopWithdrawn: PipelineMachine._stop_withdrawn,
    events.ClaimLost: PipelineMachine._claim_lost,
    events.UnitPresumedLost: lambda machine, event: machine.units.presume_lost(event.unit, event.reason),
    UnitStarted: lambda machine, event: machine.units.begins(event.id),
    UnitFinished: PipelineMachine._finished,
    UnitLost: PipelineMachine._lost,
}
