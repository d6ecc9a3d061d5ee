"""The coordinator of one pipeline: the thin hub round its deciders. ``handle(event) -> commands`` is its only door.

Rules. (CO1) Success is said after the last commit was confirmed (I43); so is the end of a stop (I44). (CO2) What ends
the pipeline is said once, and nothing is said after it. (CO3) A newer driver ends this one without another word to the
target (I34). (CO4) Messages of past lives are dropped and counted (I37). (CO5) A failure first aborts what is pending
(I24), and content that changed takes along who has seen it (I22). (CO6) Once everything is in a durable record no
failure undoes that: only commits are left (F54). (CO7) The final checkpoint is asked for as long as it is due.

May not know: clocks, stores, targets, what units do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from seatunnel_py.protocol import coordinator_events as ev
from seatunnel_py.protocol.backoff import Backoff
from seatunnel_py.protocol.beginning import Beginning
from seatunnel_py.protocol.checkpoints import EXPIRE, TRIGGER, Checkpoints
from seatunnel_py.protocol.committing import COMMIT, Committing
from seatunnel_py.protocol.coordinator_commands import CoordinatorCommand, PipelineEnded, SetTimer
from seatunnel_py.protocol.failure_policy import POLICIES
from seatunnel_py.protocol.items import Plain
from seatunnel_py.protocol.lifecycle import PIPELINE, PipelineEvent, PipelineState, has_ended
from seatunnel_py.protocol.pipeline_state import Shared
from seatunnel_py.protocol.reasons import Reason
from seatunnel_py.protocol.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.recovery import RESTART, Recovery
from seatunnel_py.protocol.topology import Topology
from seatunnel_py.protocol.trigger import (
    CheckpointSettings,
    TriggerKind,
    TriggerRequest,
    first_trigger,
    next_trigger,
)


class Coordinator:
    """One pipeline's. ``record``: the newest of its store, None for a fresh one; ``first_checkpoint``: above every id
    that was ever used for it; ``set_up``: the set-up units, by name; ``done``: those with a done record."""

    def __init__(
        self,
        topology: Topology,
        settings: CheckpointSettings,
        backoff: Backoff | None = None,
        *,
        record: CheckpointRecord | None = None,
        first_checkpoint: int = 1,
        set_up: Iterable[str] = (),
        done: Iterable[str] = (),
        plan: Plain = None,
    ) -> None:
        self.shared = Shared(topology, settings, newest=record, next_checkpoint=first_checkpoint)
        self.shared.plan = plan if record is None else record.plan
        self.shared.set_up = set(done) | (set(record.set_up) if record else set())
        self.checkpoints = Checkpoints(self.shared)
        if record is not None:
            self.checkpoints.keep(record)
        self.recovery = Recovery(self.shared, backoff or Backoff())
        self.beginning = Beginning(self.shared, self.recovery, tuple(set_up))
        self.committing = Committing(self.shared, self.recovery.backoff)
        self.trigger_due: float | None = None
        self.stopping = ""

    # ---------------------------------------------------------------- the door

    def handle(self, event: ev.CoordinatorEvent) -> tuple[CoordinatorCommand, ...]:
        """What this event leads to, in the order in which it is to be performed."""
        shared = self.shared
        if has_ended(PIPELINE, shared.state):
            shared.stale += 1
            return ()
        _HANDLERS[type(event)](self, event)
        said, shared.out = tuple(shared.out), []
        return said

    # ---------------------------------------------------------------- beginning

    def _activated(self, event: ev.Activated) -> None:
        self.trigger_due = first_trigger(event.at, self.shared.settings)
        self.beginning.activate(event.incarnation)
        self._go_on(event.at)

    def _set_up_done(self, event: ev.SetUpDone) -> None:
        self.beginning.set_up_done(event.unit)

    def _ready(self, event: ev.SubtaskReady) -> None:
        if self._stale(event):
            return
        if self.recovery.ready(event.subtask):
            self._arm(event.at)
            self._go_on(event.at)

    # ---------------------------------------------------------------- checkpoints

    def _arm(self, at: float) -> None:
        """Ask for the timer of the next periodic one (O4.1, O4.2)."""
        due = self.trigger_due
        if due is not None:
            self.trigger_due = due = due if due > at else next_trigger(due, at, self.shared.settings)
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
        self.checkpoints.ask_queued(at)
        if self.trigger_due is not None and at >= self.trigger_due:
            self.checkpoints.request(TriggerRequest(TriggerKind.PERIODIC, at))
        if self.shared.state is PipelineState.RUNNING:
            self._arm(at)

    def _acknowledged(self, event: ev.Acknowledged) -> None:
        if not self._stale(event):
            self.checkpoints.acknowledged(event)

    def _declined(self, event: ev.Declined) -> None:
        if not self._stale(event):
            self.checkpoints.declined(event)
            self._go_on(event.at)

    def _persisted(self, event: ev.Persisted) -> None:
        storing = self.shared.storing
        if storing is None or storing.checkpoint != event.checkpoint:
            return
        if storing.kind is not RecordKind.ZERO:
            self.checkpoints.persisted(event.checkpoint, event.at)
        elif not self.beginning.zero_persisted(storing, event.at):
            self._end(Reason.POSITIONS_VOID)
        self.checkpoints.keep(storing)
        self._go_on(event.at)

    def _not_persisted(self, event: ev.PersistFailed) -> None:
        shared = self.shared
        if event.fenced:
            self._end(Reason.FENCED)
        elif shared.storing is not None and shared.storing.kind is RecordKind.ZERO:
            self._end(Reason.STORE_FAILED)
        else:
            self.checkpoints.not_persisted(event.checkpoint, event.at)
            self._go_on(event.at)

    def _progressed(self, event: ev.Progressed) -> None:
        self.shared.moved = True

    # ---------------------------------------------------------------- failures

    def _failed(self, event: ev.SubtaskFailed) -> None:
        if self._stale(event) or self._all_is_kept:
            return
        shared = self.shared
        self.checkpoints.abort_all(Reason.RESTARTING, event.at)
        vertices = {event.subtask.vertex}
        if event.reason is Reason.CONTENT_CHANGED:
            # What this one took for new, those behind it took as well (I22).
            vertices |= shared.topology.descendants(event.subtask.vertex)
        if POLICIES[event.reason].fails or not self.recovery.fail(vertices, event.at):
            self._end(event.reason)
        self._go_on(event.at)

    def _void(self, event: ev.PositionsVoid) -> None:
        self.checkpoints.abort_all(Reason.POSITIONS_VOID, event.at)
        if not self.beginning.void():
            self._end(Reason.POSITIONS_VOID)

    # ---------------------------------------------------------------- commits

    def _confirmed(self, event: ev.CommitConfirmed) -> None:
        self.committing.confirmed(event)
        self._go_on(event.at)

    def _commit_failed(self, event: ev.CommitFailed) -> None:
        reason = self.committing.failed(event)
        if reason is not None:
            self._end(reason)

    # ---------------------------------------------------------------- requests

    def _savepoint(self, event: ev.SavepointRequested) -> None:
        kind = TriggerKind.STOP if event.stop else TriggerKind.SAVEPOINT
        self.checkpoints.request(TriggerRequest(kind, event.at, event.name))
        self._go_on(event.at)

    def _operation(self, event: ev.OperationRequested) -> None:
        self.checkpoints.request(TriggerRequest(TriggerKind.OPERATION, event.at, "", event.operation))

    def _cancel(self, event: ev.CancelRequested) -> None:
        self.checkpoints.abort_all(Reason.CANCELLED, event.at)
        self._end(Reason.CANCELLED)

    def _source_ended(self, event: ev.SourceEnded) -> None:
        if not self._stale(event):
            self.shared.ended.add(event.subtask)
            self._go_on(event.at)

    # ---------------------------------------------------------------- what follows from what has become true

    def _go_on(self, at: float) -> None:
        shared, checkpoints = self.shared, self.checkpoints
        if has_ended(PIPELINE, shared.state):
            return
        if checkpoints.too_many_failed:
            self._end(Reason.TOO_MANY_FAILED_CHECKPOINTS)
            return
        if shared.stop_failed and not self._restart_after_stop(at):
            self._end(Reason.RESTORE_FAILED)
            return
        self.recovery.begin()
        if self._all_is_kept:
            self._end_if_confirmed()
        elif not self.recovery.under_way:
            checkpoints.ask_queued(at)
            self._finish(at)
        checkpoints.sweep()

    def _finish(self, at: float) -> None:
        """Ask for the final checkpoint while all sources have ended, and note that a stop has begun."""
        shared, asked = self.shared, self.checkpoints.asked
        stop = asked.get(TriggerKind.STOP)
        if stop is not None and shared.state is not PipelineState.STOPPING:
            shared.advance(PipelineEvent.STOP)
            self.stopping = stop.name
        if shared.state is PipelineState.RUNNING and shared.all_ended:
            shared.advance(PipelineEvent.SOURCES_ENDED)
        if shared.state is PipelineState.FINISHING and TriggerKind.FINAL not in asked:
            self.checkpoints.request(TriggerRequest(TriggerKind.FINAL, at))

    def _restart_after_stop(self, at: float) -> bool:
        """Some sources are silent behind the barrier of a stop that did not come about. False: no attempt is left."""
        shared = self.shared
        shared.stop_failed, self.stopping = False, ""
        if self.recovery.under_way:
            self.recovery.failed.update(shared.topology.live)
            return True
        return self.recovery.fail(shared.topology.live, at)

    @property
    def _all_is_kept(self) -> bool:
        """Everything is in a durable record: only commits are left, and no failure can undo that (F54)."""
        newest = self.shared.newest
        if newest is None or (newest.incarnation != self.shared.incarnation and newest.kind is not RecordKind.FINAL):
            return False
        stopped = self.shared.state is PipelineState.STOPPING and newest.kind is RecordKind.SAVEPOINT
        return newest.kind is RecordKind.FINAL or (stopped and newest.name == self.stopping)

    def _end_if_confirmed(self) -> None:
        shared = self.shared
        if shared.commits.lag:
            return
        final = shared.state is PipelineState.FINISHING
        shared.advance(PipelineEvent.FINAL_CONFIRMED if final else PipelineEvent.SAVEPOINT_CONFIRMED)
        shared.say(PipelineEnded(None, "" if final else self.stopping))

    def _end(self, reason: Reason) -> None:
        """The end, without success; said once (CO4). A fenced driver says nothing else (CO5)."""
        shared = self.shared
        if reason is Reason.FENCED:
            shared.out.clear()
        shared.advance(PipelineEvent.CANCEL if reason is Reason.CANCELLED else PipelineEvent.FAIL)
        shared.say(PipelineEnded(reason))

    def _stale(
        self, event: ev.SubtaskReady | ev.Acknowledged | ev.Declined | ev.SubtaskFailed | ev.SourceEnded
    ) -> bool:
        return self.shared.is_stale(event.subtask.vertex, event.incarnation, event.epoch)


_HANDLERS: dict[type, Callable[[Coordinator, Any], None]] = {
    ev.Activated: Coordinator._activated,
    ev.Timer: Coordinator._timer,
    ev.Acknowledged: Coordinator._acknowledged,
    ev.Declined: Coordinator._declined,
    ev.SubtaskReady: Coordinator._ready,
    ev.SubtaskFailed: Coordinator._failed,
    ev.SourceEnded: Coordinator._source_ended,
    ev.Progressed: Coordinator._progressed,
    ev.Persisted: Coordinator._persisted,
    ev.PersistFailed: Coordinator._not_persisted,
    ev.CommitConfirmed: Coordinator._confirmed,
    ev.CommitFailed: Coordinator._commit_failed,
    ev.SetUpDone: Coordinator._set_up_done,
    ev.SavepointRequested: Coordinator._savepoint,
    ev.OperationRequested: Coordinator._operation,
    ev.CancelRequested: Coordinator._cancel,
    ev.PositionsVoid: Coordinator._void,
}
