"""Carries out the effects of pipelines: a table from effect to port. It decides nothing.

Rules. (1) Effects of one event are performed in order, and none of them blocks. (2) Calls run on a few side threads,
records and the journal on one thread of their own, whose order is a guarantee; units are cancelled on a third, for
Spark takes a moment for each. Answers come back as events on the loop. (3) It holds the open enumerators: a pipeline
names them by vertex. All of them are closed with their pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from seatunnel_py.api.source import Enumerator
from seatunnel_py.plan.altered_log import AlteredLog, PlanAgain
from seatunnel_py.plan.graph_nodes import SourceNode
from seatunnel_py.runtime.driver import side_tasks
from seatunnel_py.runtime.driver.executors import Executors
from seatunnel_py.runtime.driver.record_batcher import RecordBatcher
from seatunnel_py.runtime.driver.timers import Timers
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.messages.answers import Prepared, ReopenedRounds, facts_of
from seatunnel_py.runtime.messages.engine_port import Clock, Engine
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.resume import log_growth
from seatunnel_py.runtime.resume.pipeline_start import StartPlan
from seatunnel_py.runtime.resume.table_refresh import TableRefreshes
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError
from seatunnel_py.runtime.storage.journal import Journal, decision_line
from seatunnel_py.runtime.storage.journal_writer import JournalBatcher
from seatunnel_py.runtime.targets import sink_operations, tried_changes
from seatunnel_py.runtime.targets.call_failure import as_failure
from seatunnel_py.runtime.targets.commit_scope import ScopeCommit, ScopeSetUp
from seatunnel_py.runtime.targets.sink_operations import ReopenedSource
from seatunnel_py.runtime.targets.target_batcher import TargetBatcher, TargetCall
from seatunnel_py.runtime.values import failpoints
from seatunnel_py.runtime.values.chain_builder import chain_of
from seatunnel_py.work import segment_files


class JobDecisions(Protocol):
    """Handles events that concern the job as a whole."""

    def turn(self, machine: PipelineMachine, event: events.PipelineEvent) -> None:
        """Let a pipeline handle an event; on the loop only."""

    def tell(self, event: Any) -> None:
        """Send an event to the listeners."""

    def refused(self, pipeline: str, effect: effects.RefuseRequest) -> None:
        """Note that a pipeline refuses a request for now."""

    def completed(self, pipeline: str, effect: effects.CompleteRecord) -> None:
        """Note a durable record."""

    def counted(self, pipeline: str, work: int) -> None:
        """Note how many subtasks of the pipeline have work."""

    def planned_again(self, machine: PipelineMachine, found: AlteredLog) -> None:
        """Note the plan for the machine that replaces this one."""

    def closed_pipeline(self, machine: PipelineMachine, *, begin_again: bool) -> None:
        """Note that the pipeline is closed."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports through which a driver performs effects."""

    clock: Clock
    executors: Executors
    timers: Timers
    store: CheckpointStore
    incarnation: int
    journal: Journal
    journal_batcher: JournalBatcher
    record_batcher: RecordBatcher
    target_batcher: TargetBatcher
    plan_again: PlanAgain
    refreshes: TableRefreshes

    def check_claim(self, then: Callable[[BaseException | None], None]) -> None:
        """Check the claim of this driver in the store: FencedOffError if another driver has taken over."""
        self.executors.write(lambda: self.store.check(self.incarnation), then)


class Performer:
    """Performs effects. ``first_unit_at``: when the first unit was submitted."""

    def __init__(self, ports: Ports, job: JobDecisions) -> None:
        self._ports = ports
        self._job = job
        self._sources: dict[PipelineMachine, dict[str, Enumerator]] = {}
        self.engine: Engine | None = None
        self.first_unit_at: float | None = None

    def perform(self, machine: PipelineMachine, effect: effects.Effect) -> None:
        """Carry out one effect of this pipeline."""
        _TABLE[type(effect)](self, machine, effect)

    # ---------------------------------------------------------------- calls

    def _aside(
        self,
        machine: PipelineMachine,
        call: int,
        task: Callable[[], Any],
        value: Callable[[Any], Any] = lambda found: found,
    ) -> None:
        """Run ``task`` on a side thread; ``value`` makes the answer of its result, on the loop."""
        self._ports.executors.aside(
            task,
            lambda found: self._job.turn(machine, events.CallDone(call, value(found))),
            lambda failure: self._job.turn(machine, events.CallFailed(call, failure)),
        )

    def _of_target(self, machine: PipelineMachine, call: int, work: TargetCall) -> None:
        self._ports.target_batcher.ask(
            work,
            lambda _: self._job.turn(machine, events.CallDone(call)),
            lambda failure: self._job.turn(machine, events.CallFailed(call, failure)),
        )

    def _prepare(self, machine: PipelineMachine, effect: effects.Prepare) -> None:
        def prepared(plan: StartPlan) -> Prepared:
            enumerators = self._sources[machine] = dict(plan.prepared.enumerators)
            sendable = replace(plan, prepared=replace(plan.prepared, enumerators={}))
            return Prepared(sendable, {vertex: facts_of(one) for vertex, one in enumerators.items()})

        task = partial(side_tasks.prepare, machine.context, effect, self._ports.refreshes)
        self._aside(machine, effect.call, task, prepared)

    def _register(self, machine: PipelineMachine, effect: effects.RegisterChains) -> None:
        context = machine.context
        try:
            for vertex in context.pipeline.vertices:
                if vertex.id in effect.vertices:
                    chain = chain_of(
                        vertex, effect.setups, context.job, context.settings.exchange,
                        context=context.pipeline.read_context,
                    )  # fmt: skip
                    self._running_engine.register(chain)
        except Exception as error:  # noqa: BLE001 - a plugin that cannot travel concerns its own table
            self._job.turn(machine, events.CallFailed(effect.call, as_failure(error)))
        else:
            self._job.turn(machine, events.CallDone(effect.call))

    def _set_up(self, machine: PipelineMachine, effect: effects.SetUpScope) -> None:
        nodes = machine.context.groups[effect.group]
        self._of_target(machine, effect.call, ScopeSetUp(nodes, effect.setups))

    def _commit(self, machine: PipelineMachine, effect: effects.CommitScope) -> None:
        context = machine.context
        groups = context.graph.scopes.get(effect.scope, ())  # without sinks a vertex has bad rows only
        work = ScopeCommit(groups, effect.pieces, effect.setups, context.job, effect.checkpoint, effect.final)
        self._of_target(machine, effect.call, work)

    def _source(self, machine: PipelineMachine, vertex: str) -> tuple[SourceNode, Enumerator]:
        node = next(one.source for one in machine.pipeline.vertices if one.id == vertex)
        assert node is not None, f"{vertex} has no source"
        return node, self._sources[machine][vertex]

    def _discover(self, machine: PipelineMachine, effect: effects.Discover) -> None:
        source = self._source(machine, effect.vertex)
        self._aside(machine, effect.call, partial(side_tasks.discover, *source, effect))

    def _reader_events(self, machine: PipelineMachine, effect: effects.HandleReaderEvents) -> None:
        source = self._source(machine, effect.vertex)
        self._aside(machine, effect.call, partial(side_tasks.handle_reader_events, *source, effect))

    def _confirm(self, machine: PipelineMachine, effect: effects.ConfirmPositions) -> None:
        source = self._source(machine, effect.vertex)
        self._aside(machine, effect.call, partial(side_tasks.confirm_positions, *source, effect))

    def _reopen(self, machine: PipelineMachine, effect: effects.ReopenSource) -> None:
        def reopened(found: ReopenedSource) -> ReopenedRounds:
            self._sources[machine][effect.vertex] = found.enumerator
            return ReopenedRounds(found.rounds, facts_of(found.enumerator))

        source = self._source(machine, effect.vertex)
        self._aside(machine, effect.call, partial(sink_operations.reopen, *source, effect.rounds), reopened)

    def _drop(self, machine: PipelineMachine, effect: effects.AbortPieces) -> None:
        context = machine.context
        groups = tuple(context.groups.values())
        task = partial(sink_operations.drop, groups, effect.pieces, effect.setups, context.job)
        self._aside(machine, effect.call, task)

    def _close_out(self, machine: PipelineMachine, effect: effects.CloseOut) -> None:
        enumerators = tuple(self._sources.pop(machine, {}).values())
        self._aside(machine, effect.call, partial(side_tasks.close_out, machine.context, effect, enumerators))

    def _check_claim(self, machine: PipelineMachine, effect: effects.CheckClaim) -> None:
        def looked(error: BaseException | None) -> None:
            found = as_failure(error) if isinstance(error, FencedOffError) else None
            self._job.turn(machine, events.CallDone(effect.call, found))

        self._ports.check_claim(looked)

    def _plan_again(self, machine: PipelineMachine, effect: effects.PlanLogAgain) -> None:
        def planned(found: AlteredLog) -> None:
            self._job.planned_again(machine, found)

        if effect.join is not None:
            grow = partial(log_growth.grown, machine.pipeline, effect.join, machine.context.job, effect.decided)
            grow = partial(grow, self._ports.plan_again, effect.without)
            self._aside(machine, effect.call, grow, planned)
            return
        prepared, newest = machine.state.prepared, machine.newest
        plan = partial(tried_changes.planned, self._ports.plan_again, machine.pipeline, prepared, newest)
        task = partial(plan, machine.context.job, effect.alterations, effect.without)
        lines = [decision_line(machine.key, one) for one in effect.ruled]
        ask = partial(self._aside, machine, effect.call, task, planned)
        self._ports.journal_batcher.log(lines, ask, lambda: None)

    # ---------------------------------------------------------------- the engine, timers

    @property
    def _running_engine(self) -> Engine:
        assert self.engine is not None, "no pipeline runs units before there is an engine"
        return self.engine

    def _submit(self, machine: PipelineMachine, effect: effects.SubmitUnit) -> None:
        if self.first_unit_at is None:
            self.first_unit_at = self._ports.clock.now()
        self._running_engine.submit(effect.unit)

    def _cancel(self, machine: PipelineMachine, effect: effects.CancelUnit) -> None:
        self._ports.executors.of_engine(partial(self._running_engine.cancel, effect.unit))

    def _abandon(self, machine: PipelineMachine, effect: effects.AbandonUnit) -> None:
        self._ports.executors.of_engine(partial(self._running_engine.abandon, effect.unit))

    def _set_timer(self, machine: PipelineMachine, effect: effects.StartTimer) -> None:
        fired = partial(self._job.turn, machine, events.TimerFired(effect.timer))
        self._ports.timers.after((machine, effect.timer), effect.at, fired)

    def _cancel_timer(self, machine: PipelineMachine, effect: effects.StopTimer) -> None:
        self._ports.timers.forget((machine, effect.timer))

    # ---------------------------------------------------------------- durable lines and records

    def _append(self, machine: PipelineMachine, effect: effects.AppendJournal) -> None:
        self._ports.journal_batcher.log(
            effect.lines,
            lambda: self._job.turn(machine, events.Journalled(effect.entry)),
            lambda: self._job.turn(machine, events.JournalLost(effect.entry)),
        )

    def _persist(self, machine: PipelineMachine, effect: effects.StoreRecord) -> None:
        self._ports.record_batcher.add(machine.key, effect.record)

    def _complete(self, machine: PipelineMachine, effect: effects.CompleteRecord) -> None:
        self._ports.journal.forget(machine.key, effect.record)
        self._job.completed(machine.key, effect)

    def _delete(self, machine: PipelineMachine, effect: effects.RemoveRecord) -> None:
        def delete() -> None:
            self._ports.store.delete(machine.key, effect.checkpoint)
            failpoints.CLEANED.hit()

        self._ports.executors.write(delete, lambda _: None)

    def _remove_segments(self, machine: PipelineMachine, effect: effects.RemoveSegments) -> None:
        self._ports.executors.aside(partial(segment_files.remove, effect.urls), lambda _: None, lambda _: None)

    # ---------------------------------------------------------------- reports

    def _tell(self, machine: PipelineMachine, effect: effects.Tell) -> None:
        self._job.tell(effect.event)

    def _refuse(self, machine: PipelineMachine, effect: effects.RefuseRequest) -> None:
        self._job.refused(machine.key, effect)

    def _report_work(self, machine: PipelineMachine, effect: effects.ReportWork) -> None:
        self._job.counted(machine.key, effect.subtasks)

    def _hit(self, machine: PipelineMachine, effect: effects.HitFailpoint) -> None:
        effect.point.hit()

    def _closed(self, machine: PipelineMachine, effect: effects.Closed) -> None:
        self._job.closed_pipeline(machine, begin_again=effect.begin_again)


_TABLE: Mapping[type, Callable[[Performer, PipelineMachine, Any], None]] = {
    effects.Prepare: Performer._prepare,
    effects.RegisterChains: Performer._register,
    effects.SetUpScope: Performer._set_up,
    effects.CommitScope: Performer._commit,
    effects.Discover: Performer._discover,
    effects.HandleReaderEvents: Performer._reader_events,
    effects.ConfirmPositions: Performer._confirm,
    effects.ReopenSource: Performer._reopen,
    effects.AbortPieces: Performer._drop,
    effects.CloseOut: Performer._close_out,
    effects.CheckClaim: Performer._check_claim,
    effects.PlanLogAgain: Performer._plan_again,
    effects.SubmitUnit: Performer._submit,
    effects.CancelUnit: Performer._cancel,
    effects.AbandonUnit: Performer._abandon,
    effects.StartTimer: Performer._set_timer,
    effects.StopTimer: Performer._cancel_timer,
    effects.AppendJournal: Performer._append,
    effects.StoreRecord: Performer._persist,
    effects.CompleteRecord: Performer._complete,
    effects.RemoveRecord: Performer._delete,
    effects.RemoveSegments: Performer._remove_segments,
    effects.Tell: Performer._tell,
    effects.RefuseRequest: Performer._refuse,
    effects.ReportWork: Performer._report_work,
    effects.HitFailpoint: Performer._hit,
    effects.Closed: Performer._closed,
}
