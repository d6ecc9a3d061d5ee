"""Takes the checkpoints of one pipeline, from the request to the completed record.

Rules. (CK1) Only sources get a trigger (O4.6); all subtasks are notified of an abort or a completion (I13). (CK2) One
record is stored at a time, the newest complete one first: an older one would already be subsumed. (CK3) Nothing is
committed or reported before the record is durable (I10, I27). (CK4) While a record
is being stored its outcome is unknown, so it is neither aborted nor timed out. (CK5) A final checkpoint is final only
if its record shows that everything has ended (O1.6); otherwise another one follows. (CK6) A user's request is repeated
if its checkpoint was aborted for another reason than its own failure; a failure is reported. (CK7) The final one waits
for all rows, and the number of queued rows is unknown: its time-out restarts as long as units are done. (CK8) A
record whose storing has failed is in doubt (PS3).

May not know: which subtasks fail and restart, and the reaction to that (``recovery.py``).
"""

from __future__ import annotations

from dataclasses import replace

from seatunnel_py.protocol import stuck
from seatunnel_py.protocol.commit.claims import Claim, may_use
from seatunnel_py.protocol.commit.retention import Retained, retained, subsumed, to_delete
from seatunnel_py.protocol.coordinator import commands as cmd
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.coordinator.events import Acknowledged, Declined
from seatunnel_py.protocol.coordinator.failure_policy import FailedInARow, FailureVerdict
from seatunnel_py.protocol.coordinator.isolating import Isolating
from seatunnel_py.protocol.coordinator.pending import AnswerOutcome, PendingCheckpoint
from seatunnel_py.protocol.coordinator.rejoining import Rejoining
from seatunnel_py.protocol.coordinator.trigger import (
    OURS,
    Run,
    TriggerKind,
    TriggerRequest,
    TriggerView,
    Wait,
    decide,
    enqueue,
)
from seatunnel_py.protocol.model.lifecycle import PIPELINE, CheckpointState, PipelineState, has_ended
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import OperationKind

TRIGGER = "trigger"
EXPIRE = "expire "
AGAIN = frozenset({TriggerKind.SAVEPOINT, TriggerKind.STOP, TriggerKind.OPERATION})
"""Kinds that are requested again after an abort (CK6); a stop after a restart, because its sources may have stopped
emitting (LC5). FINAL is not among them: the coordinator requests it as long as it is due."""
FOR_OTHERS = frozenset({Reason.RESTARTING, Reason.SUBSUMED})
ACTIVE = frozenset({PipelineState.RUNNING, PipelineState.FINISHING, PipelineState.STOPPING})


class Checkpoints:
    """Pending and completed checkpoints. ``late`` counts acknowledgements without effect: too late, or stale."""

    def __init__(self, shared: CoordinatorState, leaving: Isolating, rejoining: Rejoining) -> None:
        self.shared = shared
        self.leaving = leaving
        self.rejoining = rejoining
        self.begins = {OperationKind.ISOLATE: leaving.begin, OperationKind.ADD: rejoining.begin}
        self.claim = Claim(shared.incarnation, first=shared.next_checkpoint)
        self.pending: dict[int, PendingCheckpoint] = {}
        self.asked_as: dict[int, TriggerRequest] = {}
        self.queue: tuple[TriggerRequest, ...] = ()
        self.completed: dict[int, Retained] = {}
        self.failed = FailedInARow()
        self.last_end: float | None = None
        self.late = 0

    @property
    def storing(self) -> PendingCheckpoint | None:
        """The checkpoint whose record is being stored."""
        return next((one for one in self.pending.values() if one.state is CheckpointState.STORING), None)

    @property
    def asked(self) -> dict[TriggerKind, TriggerRequest]:
        """The newest pending or waiting request of each kind."""
        waiting = {request.kind: request for request in self.queue if request.kind is not TriggerKind.STOP}
        return waiting | {request.kind: request for request in self.asked_as.values()}

    @property
    def requests(self) -> tuple[TriggerRequest, ...]:
        """All pending and waiting requests."""
        return (*self.queue, *self.asked_as.values())

    # ---------------------------------------------------------------- requests

    def request(self, request: TriggerRequest) -> None:
        """Start the checkpoint now, queue the request, or refuse it."""
        decision = decide(request, self._view(request.kind, request.at), self.shared.settings)
        if isinstance(decision, Run):
            self._start(request, decision)
        elif isinstance(decision, Wait):
            self.queue = enqueue(self.queue, request)
            if decision.until is not None:
                self.shared.say(cmd.SetTimer(TRIGGER, max(decision.until - request.at, 0.0)))
        else:
            self.shared.refuse(request.name or request.kind, decision.reason)

    def ask_queued(self, at: float, *, stops: bool) -> None:
        """Check the waiting requests again, in order, after a change; without ``stops`` all but stops."""
        again = [request for request in self.queue if stops or request.kind is not TriggerKind.STOP]
        self.queue = tuple(request for request in self.queue if request not in again)
        for request in again:
            self.request(replace(request, at=at))

    def _view(self, kind: TriggerKind, at: float) -> TriggerView:
        shared = self.shared
        # A checkpoint that starts before a new checkpoint 0 is durable would hold void positions (BE5).
        anew = shared.storing is not None and shared.storing.kind is RecordKind.ZERO
        return TriggerView(
            now=at,
            ended=shared.kept or has_ended(PIPELINE, shared.state),
            active=shared.state in ACTIVE and not anew,
            periodic=shared.state is PipelineState.RUNNING,
            queued=len(self.queue),
            pending=len(self.pending),
            crowded=bool(self.asked.keys() - {kind} if kind is TriggerKind.PERIODIC else self.pending),
            last_end=self.last_end,
            uncommitted=shared.commits.lag,
            moved=shared.moved,
        )

    def _start(self, request: TriggerRequest, run: Run) -> None:
        shared, begin = self.shared, self.begins.get(run.operation.kind)
        operation = begin(run.operation) if begin else run.operation
        if operation is None:  # it has become impossible, and was refused
            return
        number = shared.take_id()
        self.asked_as[number] = request
        self.pending[number] = PendingCheckpoint(
            number, shared.incarnation, shared.topology.subtasks(), shared.epochs, started_at=request.at,
            expires_at=request.at + shared.settings.timeout, kind=run.kind, operation=operation,
            unaligned=run.unaligned, name=run.name,
        )  # fmt: skip
        shared.moved = False
        shared.say(cmd.SetTimer(f"{EXPIRE}{number}", shared.settings.timeout))
        for source in shared.topology.reading:
            epoch = shared.epochs[source.vertex]
            shared.say(cmd.SendTrigger(source, shared.incarnation, epoch, number, operation, run.unaligned))

    # ---------------------------------------------------------------- answers

    def acknowledged(self, event: Acknowledged) -> None:
        """Handle a subtask's acknowledgement."""
        pending = self.pending.get(event.checkpoint)
        if pending is None or pending.acknowledge(event) is not AnswerOutcome.SUCCESS:
            self.late += 1
        else:
            self._store_next(event.at)

    def declined(self, event: Declined) -> None:
        """Handle a decline; only those of awaited subtasks count."""
        pending = self.pending.get(event.checkpoint)
        if pending is None or pending.state is CheckpointState.STORING:
            self.late += 1
        elif pending.decline(event) is AnswerOutcome.SUCCESS:
            self._aborted(pending, event.at)
        else:
            self.late += 1

    def expired(self, number: int, at: float) -> None:
        """Handle a time-out (O4.11), unless the final checkpoint still makes progress (CK7)."""
        pending = self.pending.get(number)
        if pending is None or pending.state is CheckpointState.STORING:
            return
        if pending.kind is RecordKind.FINAL and self.shared.moved:
            self.shared.moved = False
            self.shared.say(cmd.SetTimer(f"{EXPIRE}{number}", self.shared.settings.timeout))
        else:
            self.abort(pending, Reason.EXPIRED, at)

    # ---------------------------------------------------------------- ends

    def _store_next(self, at: float) -> None:
        """Store the newest complete record, unless one is being stored (CK2)."""
        complete = [one for one in self.pending.values() if one.complete]
        if complete and self.storing is None:
            chosen = max(complete, key=lambda one: one.checkpoint)
            if not self.rejoining.fits(chosen):
                self.abort(chosen, Reason.NOT_POSSIBLE, at)
                return
            self.shared.say(cmd.CancelTimer(f"{EXPIRE}{chosen.checkpoint}"), cmd.Persist(self._record(chosen)))

    def _record(self, pending: PendingCheckpoint) -> CheckpointRecord:
        shared, newest = self.shared, self.shared.newest
        record = CheckpointRecord(
            checkpoint=pending.checkpoint, incarnation=shared.incarnation, kind=pending.kind,
            previous=newest.checkpoint if newest else 0, topology=shared.topology,
            epochs=dict(shared.epochs), snapshots=pending.store(), name=pending.name,
            set_up=frozenset(shared.set_up), plan=shared.plan, ledgers=dict(shared.commits.ledgers),
        )  # fmt: skip
        if pending.kind is RecordKind.FINAL and not stuck.terminated(record, shared.topology):
            record = replace(record, kind=RecordKind.PERIODIC)
        final = record.kind is RecordKind.FINAL
        record = self.rejoining.shown(self.leaving.kept(record), pending.operation)
        commits = shared.commits.uncommitted(pending.checkpoint, record.snapshots, shared.topology, final=final)
        shared.storing = replace(record, uncommitted=commits)
        return shared.storing

    def persisted(self, checkpoint: int, at: float) -> None:
        """The record is durable: the checkpoint has completed."""
        shared, pending, record = self.shared, self.pending[checkpoint], self.shared.storing
        assert record is not None, f"checkpoint {checkpoint} is durable, but no record was on its way"
        pending.stored()
        everybody = shared.topology.subtasks()
        shared.kept = record.kind is RecordKind.FINAL or self.asked_as[checkpoint].kind is TriggerKind.STOP
        self._forget(pending, at)
        shared.stored(record)
        self.failed = self.failed.completed()
        shared.say(cmd.CheckpointEnded(checkpoint, None, timing=pending.timing))
        self.leaving.completed(record, pending.operation)
        self.rejoining.completed(record, pending.operation)
        for subtask in everybody:
            shared.say(cmd.SendCompleted(subtask, shared.incarnation, checkpoint))
        for older in subsumed(self.pending.values(), checkpoint):
            self.abort(older, Reason.SUBSUMED, at)
        shared.commits = shared.commits.completed(record)
        shared.issue_commits()
        if shared.kept:
            self.close(at)
        self._store_next(at)

    def not_persisted(self, checkpoint: int, at: float) -> None:
        """Storing the record has failed: the checkpoint counts as failed, the pipeline goes on (F22, CK8)."""
        pending, record = self.pending.get(checkpoint), self.shared.storing
        if pending is not None and record is not None and pending.state is CheckpointState.STORING:
            self.shared.not_stored(record)
            pending.not_stored()
            self._aborted(pending, at)
            self._store_next(at)

    def close(self, at: float) -> None:
        """Take no further checkpoints: abort the pending ones, refuse the waiting ones."""
        self.abort_all(Reason.OPERATION_ENDED, at)
        waiting, self.queue = self.queue, ()
        for request in waiting:
            if request.kind not in OURS:
                self.shared.refuse(request.name or request.kind, Reason.SHUT_DOWN)

    def abort_all(self, reason: Reason, at: float) -> None:
        """Abort every checkpoint that is not being stored (I24, CK4)."""
        for pending in list(self.pending.values()):
            if pending.state is not CheckpointState.STORING:
                self.abort(pending, reason, at)

    def abort(self, pending: PendingCheckpoint, reason: Reason, at: float) -> None:
        """Abort one checkpoint."""
        pending.abort(reason)
        self._aborted(pending, at)

    def _aborted(self, pending: PendingCheckpoint, at: float) -> None:
        """Notify all subtasks of the abort, and count it or repeat the request."""
        shared, reason = self.shared, pending.reason
        assert reason is not None, f"checkpoint {pending.checkpoint} ended without a reason"
        request = self.asked_as[pending.checkpoint]
        self._forget(pending, at)
        self.failed = self.failed.aborted(pending.kind, reason)
        shared.moved = True
        shared.say(cmd.CancelTimer(f"{EXPIRE}{pending.checkpoint}"))
        shared.say(cmd.CheckpointEnded(pending.checkpoint, reason, pending.missing, pending.timing))
        for subtask in shared.topology.subtasks():
            shared.say(cmd.SendAborted(subtask, shared.incarnation, pending.checkpoint))
        self.rejoining.given_up(pending.operation)
        if request.kind in AGAIN and reason in FOR_OTHERS:
            self.queue = enqueue(self.queue, replace(request, at=at))
        elif request.kind not in OURS and not _answered(request, reason):
            shared.refuse(request.name or request.kind, reason)
        shared.stop_failed |= request.kind is TriggerKind.STOP

    def _forget(self, pending: PendingCheckpoint, at: float) -> None:
        del self.pending[pending.checkpoint], self.asked_as[pending.checkpoint]
        self.last_end = at

    # ---------------------------------------------------------------- afterwards

    @property
    def too_many_failed(self) -> bool:
        """More failures than tolerated (I15), or no ids left (CL5)."""
        shared = self.shared
        left = may_use(shared.next_checkpoint, self.claim, shared.newest.checkpoint if shared.newest else 0)
        return not left or self.failed.verdict(shared.settings.tolerable_failures) is FailureVerdict.FAIL

    def keep(self, record: CheckpointRecord) -> None:
        """Register a record for retention."""
        self.completed[record.checkpoint] = retained(record)

    def sweep(self) -> None:
        """Delete the records that retention releases (I18)."""
        unconfirmed = {commit.checkpoint for commit in self.shared.commits.waiting}
        gone = to_delete(self.completed.values(), unconfirmed, self.shared.settings.max_retained)
        for checkpoint in (one for one in gone if one not in self.leaving.stood_at):
            del self.completed[checkpoint]
            self.shared.say(cmd.DeleteRecord(checkpoint))


def _answered(request: TriggerRequest, reason: Reason) -> bool:
    """True if the request needs no repetition: isolated vertices are gone anyway (LE3), a refused rejoining was
    reported (RJ3)."""
    return request.operation.kind is OperationKind.ISOLATE or reason is Reason.NOT_POSSIBLE
