"""The coordinator of one pipeline: the thin hub round its deciders. ``handle(event) -> commands`` is its only door.

Rules. (CO1) Before any side effect there is checkpoint 0; set-up units run behind it and before any data, each once:
what its record or a done record names is not run again. (CO2) A driver that comes later restores the newest record
and issues again what that names as uncommitted (I28, P2). (CO3) Success is said after the last commit was confirmed
(I43); so is the end of a stop (I44). (CO4) What ends the pipeline is said once, and nothing is said after it. (CO5)
A newer driver ends this one without another word to the target (I34). (CO6) Messages of past lives are dropped and
counted (I37). (CO7) Positions that are void are worth nothing: the pipeline begins again from checkpoint 0, unless
rows of them are visible.

May not know: clocks, stores, targets, what units do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from seatunnel_py.protocol import coordinator_events as ev
from seatunnel_py.protocol.backoff import Backoff
from seatunnel_py.protocol.checkpoints import EXPIRE, TRIGGER, Checkpoints
from seatunnel_py.protocol.commits import CommitQueue, FailedCommit
from seatunnel_py.protocol.coordinator_commands import (
    CoordinatorCommand,
    Persist,
    PipelineEnded,
    SetTimer,
    SetUp,
)
from seatunnel_py.protocol.failure_policy import POLICIES
from seatunnel_py.protocol.items import Plain
from seatunnel_py.protocol.lifecycle import PIPELINE, PipelineEvent, PipelineState, has_ended
from seatunnel_py.protocol.pipeline_state import Shared
from seatunnel_py.protocol.reasons import Reason
from seatunnel_py.protocol.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.recovery import RESTART, Recovery
from seatunnel_py.protocol.retention import retained
from seatunnel_py.protocol.topology import Topology
from seatunnel_py.protocol.trigger import (
    CheckpointSettings,
    TriggerKind,
    TriggerRequest,
    first_trigger,
    next_trigger,
)

COMMIT = "commit "


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
        self.recovery = Recovery(self.shared, backoff or Backoff())
        self.set_up = tuple(set_up)
        self.trigger_due: float | None = None
        self.stopping = ""
        self.commit_failures: dict[str, int] = {}

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
        shared, record = self.shared, self.shared.newest
        shared.incarnation = event.incarnation
        self.trigger_due = first_trigger(event.at, shared.settings)
        if record is None:
            shared.epochs = dict.fromkeys(shared.topology.by_id, 0)
            shared.storing = CheckpointRecord(
                shared.take_id(), event.incarnation, RecordKind.ZERO, 0, shared.topology.version, dict(shared.epochs),
                {}, plan=shared.plan,
            )  # fmt: skip
            shared.say(Persist(shared.storing))
            return
        shared.epochs = {name: record.epochs.get(name, 0) for name in shared.topology.by_id}
        shared.commits = CommitQueue.restored(record)
        self.checkpoints.completed[record.checkpoint] = retained(record)
        shared.issue_commits()
        self._set_up_next()
        if record.kind is RecordKind.FINAL:
            # Nothing is left to be read: no life begins, only commits are issued again.
            shared.advance(PipelineEvent.ALL_READY)
            shared.advance(PipelineEvent.SOURCES_ENDED)
            self._end_if_confirmed()

    def _set_up_next(self) -> None:
        """Start effects of every table that has none yet; then lives begin (CO1)."""
        shared = self.shared
        assert shared.newest is not None, "set-up before checkpoint 0"
        left = [unit for unit in self.set_up if unit not in shared.set_up]
        if left and shared.state is PipelineState.CREATED:
            shared.advance(PipelineEvent.SET_UP)
            shared.say(*(SetUp(unit, shared.newest.checkpoint) for unit in left))
        if not left:
            shared.advance(PipelineEvent.RESTORE)
            if shared.newest.kind is not RecordKind.FINAL:
                self.recovery.begin_lives(shared.topology.live)

    def _set_up_done(self, event: ev.SetUpDone) -> None:
        if event.unit in self.shared.set_up or self.shared.state is not PipelineState.SETTING_UP:
            return
        self.shared.set_up.add(event.unit)
        self._set_up_next()

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
            self.shared.commits = self.shared.commits.retry(name.removeprefix(COMMIT))
            self.shared.issue_commits()
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
        shared, storing = self.shared, self.shared.storing
        if storing is not None and storing.kind is RecordKind.ZERO and storing.checkpoint == event.checkpoint:
            shared.newest, shared.storing = storing, None
            self.checkpoints.completed[storing.checkpoint] = retained(storing)
            if shared.state is PipelineState.CREATED:
                self._set_up_next()
            elif not self.recovery.fail_void(event.at):
                self._end(Reason.POSITIONS_VOID)
            return
        self.checkpoints.persisted(event.checkpoint, event.at)
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
        """A new checkpoint 0 takes the place of the old one, so that no later driver restores what is void (CO7)."""
        shared = self.shared
        self.checkpoints.abort_all(Reason.POSITIONS_VOID, event.at)
        if shared.commits.ledgers or shared.commits.waiting or shared.storing is not None or shared.newest is None:
            self._end(Reason.POSITIONS_VOID)
            return
        shared.storing = replace(
            shared.newest, checkpoint=shared.take_id(), kind=RecordKind.ZERO, previous=shared.newest.checkpoint,
            incarnation=shared.incarnation, epochs=dict(shared.epochs), snapshots={},
        )  # fmt: skip
        shared.say(Persist(shared.storing))

    # ---------------------------------------------------------------- commits

    def _confirmed(self, event: ev.CommitConfirmed) -> None:
        shared = self.shared
        if event.incarnation != shared.incarnation:
            shared.stale += 1
            return
        self.commit_failures.pop(event.scope, None)
        shared.commits = shared.commits.confirmed(event.scope, event.checkpoint)
        shared.issue_commits()
        self._go_on(event.at)

    def _commit_failed(self, event: ev.CommitFailed) -> None:
        """Tried again for ever, ever more rarely (I29); what never will succeed ends the pipeline."""
        shared = self.shared
        if event.incarnation != shared.incarnation:
            shared.stale += 1
            return
        shared.commits, follows = shared.commits.failed(event.scope, event.checkpoint, event.reason)
        if follows is FailedCommit.END:
            self._end(event.reason)
        elif follows is FailedCommit.RETRY:
            failures = self.commit_failures[event.scope] = self.commit_failures.get(event.scope, 0) + 1
            shared.say(SetTimer(f"{COMMIT}{event.scope}", self.recovery.backoff.pause(failures - 1)))

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
        if shared.stop_failed:
            self._restart_after_stop(at)
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

    def _restart_after_stop(self, at: float) -> None:
        """Some sources are silent behind the barrier of a stop that did not come about (L5)."""
        shared = self.shared
        shared.stop_failed, self.stopping = False, ""
        if self.recovery.under_way:
            self.recovery.failed.update(shared.topology.live)
        elif not self.recovery.fail(shared.topology.live, at):
            self._end(Reason.RESTORE_FAILED)

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
        if has_ended(PIPELINE, shared.state):
            return
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
