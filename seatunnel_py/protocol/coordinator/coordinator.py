"""The coordinator of one pipeline passes events to the modules that decide: ``handle(event) -> commands``.

Rules. (CO1) After the end there are no commands. (CO2) Stale messages are dropped and counted (I37). (CO3) While
a region restarts nothing is triggered (O4.1). (CO4) Every request of a user gets a reply.

May not know: clocks, stores, targets, what units do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from seatunnel_py.protocol.commit.commit_retries import COMMIT, CommitRetries
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator import trigger as tr
from seatunnel_py.protocol.coordinator.checkpoints import EXPIRE, TRIGGER, Checkpoints
from seatunnel_py.protocol.coordinator.commands import CoordinatorCommand, SetTimer
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.coordinator.failing import NO_LIMITS, Failing, FailureLimits
from seatunnel_py.protocol.coordinator.isolating import Isolating
from seatunnel_py.protocol.coordinator.isolation import isolable
from seatunnel_py.protocol.coordinator.rejoining import Rejoining
from seatunnel_py.protocol.coordinator.shutdown import Shutdown
from seatunnel_py.protocol.coordinator.startup import Startup
from seatunnel_py.protocol.coordinator.view import CoordinatorView, view_of
from seatunnel_py.protocol.failover.decisions import FailoverPolicy
from seatunnel_py.protocol.failover.recovery import RESTART, Recovery
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.lifecycle import PIPELINE, PipelineState, has_ended
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import OperationKind, Plain
from seatunnel_py.protocol.model.topology import Topology


class Coordinator:
    """Coordinates one pipeline. ``record``: its newest one, None for a new pipeline. ``first_checkpoint``: above every
    id ever used. ``epochs``: epochs that this driver has already used (BE7). ``set_up``: names of the set-up units;
    ``done``: those with a done record. Without ``replay`` the journals belong to another graph than the record, and are
    void. ``policy``: whether a table that fails for good is isolated, or fails the pipeline."""

    def __init__(
        self,
        topology: Topology,
        settings: tr.CheckpointSettings,
        backoff: Backoff | None = None,
        *,
        record: CheckpointRecord | None = None,
        first_checkpoint: int = 1,
        epochs: Mapping[str, int] | None = None,
        set_up: Iterable[str] = (),
        done: Iterable[str] = (),
        replay: bool = True,
        plan: Plain = None,
        policy: FailoverPolicy = FailoverPolicy.CONTINUE_OTHER_TABLES,
        limits: FailureLimits = NO_LIMITS,
    ) -> None:
        if record is not None:
            topology = replace(topology, version=record.topology.version, detached=record.topology.detached)
        settings = tr.settings_for(topology, settings)
        self.shared = CoordinatorState(topology, settings, newest=record, next_checkpoint=first_checkpoint)
        self.shared.epochs = dict(epochs or {})
        self.shared.plan = plan if record is None else record.plan
        self.shared.set_up = set(done) | (set(record.set_up) if record else set())
        self.leaving = Isolating(self.shared)
        self.rejoining = Rejoining(self.shared, self.leaving)
        self.checkpoints = Checkpoints(self.shared, self.leaving, self.rejoining)
        if record is not None:
            self.checkpoints.keep(record)
        self.recovery = Recovery(self.shared, self.leaving, backoff or Backoff(), policy, limits.undroppable)
        self.recovery.void = not replay
        self.beginning = Startup(self.shared, self.recovery, tuple(set_up))
        self.committing = CommitRetries(self.shared, self.recovery.backoff, limits.commit_tries)
        self.trigger_due: float | None = None
        self.ending = Shutdown(self.shared, self.checkpoints, self.recovery)
        self.failing = Failing(self.shared, self.beginning, self.checkpoints, self.recovery, self.ending, limits)
        self._view: CoordinatorView | None = None

    @property
    def view(self) -> CoordinatorView:
        """A frozen view of its state, valid until the next event."""
        if self._view is None:
            self._view = view_of(self.shared, self.checkpoints, self.recovery, self.committing)
        return self._view

    # ---------------------------------------------------------------- entry and beginning

    def handle(self, event: ev.CoordinatorEvent) -> tuple[CoordinatorCommand, ...]:
        """Handle an event, and return the commands in order."""
        shared = self.shared
        if has_ended(PIPELINE, shared.state):
            shared.stale += 1
            return ()
        self._view = None
        _HANDLERS[type(event)](self, event)
        said, shared.out = tuple(shared.out), []
        return said

    def _activated(self, event: ev.Activated) -> None:
        self.trigger_due = tr.first_trigger(event.at, self.shared.settings)
        self.beginning.activate(event.incarnation)
        self._go_on(event.at)

    def _set_up_done(self, event: ev.SetUpDone) -> None:
        self.beginning.set_up_done(event.unit)

    def _ready(self, event: ev.SubtaskReady) -> None:
        if not self.shared.is_stale(event):
            self.recovery.ready(event.subtask)
            if self.recovery.resumed:
                self._go_on(event.at)

    # ---------------------------------------------------------------- checkpoints

    def _arm(self, at: float) -> None:
        """Set the timer of the next periodic checkpoint (O4.1, O4.2)."""
        due = self.trigger_due
        if due is not None:
            self.trigger_due = due = due if due > at else tr.next_trigger(due, at, self.shared.settings)
        if due is not None:
            self.shared.say(SetTimer(TRIGGER, due - at))

    def _timer(self, event: ev.Timer) -> None:
        name = event.name
        if name == RESTART:
            self.recovery.pause_over()
        elif name == TRIGGER:
            self._periodic(event.at)
        elif name.startswith(EXPIRE):
            self.checkpoints.expired(int(name.removeprefix(EXPIRE)), event.at)
        else:
            self.committing.retry(name.removeprefix(COMMIT))
        self._go_on(event.at)

    def _periodic(self, at: float) -> None:
        if self.shared.kept:
            return
        self.checkpoints.ask_queued(at, stops=not self.leaving.comes_first)
        if self.trigger_due is not None and at >= self.trigger_due:
            self.checkpoints.request(tr.TriggerRequest(tr.TriggerKind.PERIODIC, at))
        if self.shared.state is PipelineState.RUNNING:
            self._arm(at)

    def _acknowledged(self, event: ev.Acknowledged) -> None:
        if not self.shared.is_stale(event):
            before = len(self.checkpoints.pending)
            self.checkpoints.acknowledged(event)
            if len(self.checkpoints.pending) < before:
                self._go_on(event.at)

    def _declined(self, event: ev.Declined) -> None:
        if not self.shared.is_stale(event):
            self.checkpoints.declined(event)
            self._go_on(event.at)

    def _persisted(self, event: ev.Persisted) -> None:
        storing = self.shared.storing
        if storing is None or storing.checkpoint != event.checkpoint:
            return
        if storing.kind is not RecordKind.ZERO:
            self.checkpoints.persisted(event.checkpoint, event.at)
            if joined := self.rejoining.take_joined():
                self.recovery.join(joined)
        elif not self.beginning.zero_persisted(storing, event.at):
            self.ending.end(Reason.POSITIONS_VOID, event.at)
        self.checkpoints.keep(storing)
        self.checkpoints.sweep()
        self._go_on(event.at)

    def _not_persisted(self, event: ev.PersistFailed) -> None:
        shared = self.shared
        if event.fenced:
            self.ending.end(Reason.FENCED, event.at)
        elif shared.storing is not None and shared.storing.kind is RecordKind.ZERO:
            self.ending.end(Reason.STORE_FAILED, event.at)
        else:
            self.checkpoints.not_persisted(event.checkpoint, event.at)
            self._go_on(event.at)

    def _voided(self, event: ev.RecordsVoided) -> None:
        self.shared.voided()
        self._go_on(event.at)

    def _progressed(self, event: ev.Progressed) -> None:
        self.shared.moved = True

    def _plan_grew(self, event: ev.PlanGrew) -> None:
        self.shared.plan = event.plan

    # ---------------------------------------------------------------- failures

    def _failed(self, event: ev.SubtaskFailed) -> None:
        if not self.shared.is_stale(event):
            self.failing.failed(event)
            self._go_on(event.at)

    def _exhausted(self, event: ev.UnitExhausted) -> None:
        if not self.shared.is_stale(event):
            self.failing.exhausted(event)

    def _void(self, event: ev.PositionsVoid) -> None:
        self.failing.void(event.at)

    # ---------------------------------------------------------------- commits

    def _confirmed(self, event: ev.CommitConfirmed) -> None:
        self.committing.confirmed(event)
        self.checkpoints.sweep()
        self._go_on(event.at)

    def _commit_failed(self, event: ev.CommitFailed) -> None:
        reason = self.committing.failed(event)
        if reason is not None and not self.ending.goes_on_without(event.scope, reason, event.at):
            self.ending.end(reason, event.at)
        self._go_on(event.at)

    # ---------------------------------------------------------------- requests

    def _savepoint(self, event: ev.SavepointRequested) -> None:
        kind = tr.TriggerKind.STOP if event.stop else tr.TriggerKind.SAVEPOINT
        self.checkpoints.request(tr.TriggerRequest(kind, event.at, event.name))
        self._go_on(event.at)

    def _operation(self, event: ev.OperationRequested) -> None:
        operation = event.operation
        if operation.kind is OperationKind.ISOLATE and not isolable(self.shared.topology, str(operation.argument)):
            self.shared.refuse(operation.kind, Reason.NOT_POSSIBLE)
            return
        self.checkpoints.request(tr.TriggerRequest(tr.TriggerKind.OPERATION, event.at, "", event.operation))

    def _rejoin(self, event: ev.RejoinRequested) -> None:
        if request := self.rejoining.ask(event):
            self.checkpoints.request(request)

    def _cancel(self, event: ev.CancelRequested) -> None:
        self.checkpoints.abort_all(Reason.CANCELLED, event.at)
        self.ending.end(Reason.CANCELLED, event.at)

    def _source_ended(self, event: ev.SourceEnded) -> None:
        if not self.shared.is_stale(event):
            self.shared.ended.add(event.subtask)
            self._go_on(event.at)

    # ---------------------------------------------------------------- after each event

    def _go_on(self, at: float) -> None:
        shared = self.shared
        if has_ended(PIPELINE, shared.state):
            return
        if self.checkpoints.too_many_failed:
            self.ending.end(Reason.TOO_MANY_FAILED_CHECKPOINTS, at)
            return
        if shared.kept:
            self.ending.end_if_confirmed()
            return
        if self.beginning.lost and shared.storing is None:
            self.failing.void(at)
            return
        if shared.stop_failed and not self.ending.give_up_stop(at):
            self.ending.end(Reason.RESTORE_FAILED, at)
            return
        self.recovery.begin()
        if self.recovery.hopeless:
            self.ending.end(Reason.CONTENT_CHANGED, at)
            return
        if self.recovery.resumed:
            self.recovery.resumed = False
            self._arm(at)
        if not self.recovery.under_way:
            self.checkpoints.ask_queued(at, stops=not self.leaving.comes_first)
            if due := self.leaving.due(at, self.checkpoints.requests):
                self.checkpoints.request(due)
            self.ending.approach(at)


_HANDLERS: dict[type, Callable[[Coordinator, Any], None]] = {
    ev.Activated: Coordinator._activated,
    ev.Timer: Coordinator._timer,
    ev.Acknowledged: Coordinator._acknowledged,
    ev.Declined: Coordinator._declined,
    ev.SubtaskReady: Coordinator._ready,
    ev.SubtaskFailed: Coordinator._failed,
    ev.UnitExhausted: Coordinator._exhausted,
    ev.SourceEnded: Coordinator._source_ended,
    ev.Progressed: Coordinator._progressed,
    ev.PlanGrew: Coordinator._plan_grew,
    ev.Persisted: Coordinator._persisted,
    ev.PersistFailed: Coordinator._not_persisted,
    ev.RecordsVoided: Coordinator._voided,
    ev.CommitConfirmed: Coordinator._confirmed,
    ev.CommitFailed: Coordinator._commit_failed,
    ev.SetUpDone: Coordinator._set_up_done,
    ev.SavepointRequested: Coordinator._savepoint,
    ev.OperationRequested: Coordinator._operation,
    ev.RejoinRequested: Coordinator._rejoin,
    ev.CancelRequested: Coordinator._cancel,
    ev.PositionsVoid: Coordinator._void,
}
