"""One pending checkpoint, from its trigger to its end.

Rules. (PE1) It waits for exactly the subtasks that it was created with, each in the epoch that its vertex had then
(I9). (PE2) A subtask acknowledges once: a second acknowledgement has no effect. (PE3) A message from a subtask that is
not awaited, or of an unknown epoch, is refused. (PE4) A message of an older incarnation or epoch is discarded
(I37). (PE5) It ends once: later messages have no effect (I12, F16), and an aborted one drops the snapshots that it
has collected. (PE6) A decline by an awaited subtask ends it (O4.11); any other decline does not. (PE7) While its record
is being stored, only the store ends it: the record may be durable already, and then it has completed (I10).

May not know: the content of snapshots, the format of records, which subtasks are notified of the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.protocol.coordinator.events import Acknowledged, Declined
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import CHECKPOINT, CheckpointEvent, CheckpointState, advance, has_ended
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import Operation, SubtaskSnapshot


class AnswerOutcome(StrEnum):
    """Outcome of an acknowledgement or decline (O4.9). Only SUCCESS changed anything."""

    SUCCESS = "success"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True)
class CheckpointTiming:
    """The course of a checkpoint, in seconds of the time in events. ``acknowledged_at``: when ``slowest``, its last
    subtask, acknowledged; None: some never did."""

    kind: RecordKind
    name: str
    triggered_at: float
    acknowledged_at: float | None
    slowest: Subtask | None


class PendingCheckpoint:
    """A mutable object of the coordinator; all values that it returns are immutable."""

    __slots__ = (
        "_last",
        "_missing",
        "_snapshots",
        "_subtasks",
        "checkpoint",
        "epochs",
        "expires_at",
        "incarnation",
        "kind",
        "name",
        "operation",
        "reason",
        "started_at",
        "state",
        "unaligned",
    )

    def __init__(
        self,
        checkpoint: int,
        incarnation: int,
        subtasks: Iterable[Subtask],
        epochs: Mapping[str, int],
        *,
        started_at: float,
        expires_at: float,
        kind: RecordKind = RecordKind.PERIODIC,
        operation: Operation | None = None,
        unaligned: bool = False,
        name: str = "",
    ) -> None:
        self.checkpoint = checkpoint
        self.incarnation = incarnation
        self.epochs = dict(epochs)
        self.started_at = started_at
        self.expires_at = expires_at
        self.kind = kind
        self.operation = Operation() if operation is None else operation
        self.unaligned = unaligned
        self.name = name
        self.state = CheckpointState.PENDING
        self.reason: Reason | None = None
        self._last: tuple[float, Subtask] | tuple[None, None] = (None, None)
        self._subtasks = frozenset(subtasks)
        self._missing = set(self._subtasks)
        self._snapshots: dict[Subtask, SubtaskSnapshot] = {}
        if not self._subtasks:
            raise LocalProtocolError(f"checkpoint {checkpoint} waits for no subtask: it could never be acknowledged")

    @property
    def missing(self) -> tuple[Subtask, ...]:
        """Subtasks that have not acknowledged, in order."""
        return tuple(sorted(self._missing))

    @property
    def complete(self) -> bool:
        """All subtasks have acknowledged, and the record is not being stored yet."""
        return self.state is CheckpointState.COMPLETE

    @property
    def timing(self) -> CheckpointTiming:
        """The course of the checkpoint so far."""
        return CheckpointTiming(self.kind, self.name, self.started_at, *self._last)

    @property
    def ended(self) -> bool:
        return has_ended(CHECKPOINT, self.state)

    @property
    def abortable(self) -> bool:
        """True if it has not ended, and is not being stored (PE7)."""
        return CheckpointEvent.ABORT in CHECKPOINT[self.state]

    @property
    def snapshots(self) -> Mapping[Subtask, SubtaskSnapshot]:
        """The acknowledged snapshots, for the record when it is complete."""
        return dict(self._snapshots)

    def expired(self, now: float) -> bool:
        """True after its time-out (O4.11)."""
        return self.abortable and now >= self.expires_at

    def acknowledge(self, answer: Acknowledged) -> AnswerOutcome:
        """Handle an acknowledgement. The last one makes it COMPLETE (O4.10)."""
        outcome = self._judge(answer)
        if outcome is AnswerOutcome.SUCCESS:
            self._missing.discard(answer.subtask)
            self._snapshots[answer.subtask] = answer.snapshot
            if not self._missing:
                self._last = answer.at, answer.subtask
                self._advance(CheckpointEvent.ALL_ACKNOWLEDGED)
        return outcome

    def decline(self, answer: Declined) -> AnswerOutcome:
        """Handle a decline: one by an awaited subtask aborts the checkpoint with its reason (PE6)."""
        outcome = self._judge(answer)
        if outcome is AnswerOutcome.SUCCESS:
            self.abort(answer.reason)
        return outcome

    def store(self) -> Mapping[Subtask, SubtaskSnapshot]:
        """Begin to store, and return the snapshots for the record."""
        self._advance(CheckpointEvent.STORE)
        return self.snapshots

    def stored(self) -> None:
        """The record is durable: the checkpoint has completed."""
        self._advance(CheckpointEvent.STORED)

    def not_stored(self, reason: Reason = Reason.STORE_FAILED) -> None:
        """The record was not stored: the checkpoint is aborted."""
        self._end(CheckpointEvent.NOT_STORED, reason)

    def abort(self, reason: Reason) -> bool:
        """Abort it. False: it is being stored (PE7) or has ended (I12), and nothing changes."""
        if not self.abortable:
            return False
        self._end(CheckpointEvent.ABORT, reason)
        return True

    def _judge(self, answer: Acknowledged | Declined) -> AnswerOutcome:
        if answer.checkpoint != self.checkpoint:
            raise LocalProtocolError(f"an answer about checkpoint {answer.checkpoint} was given to {self.checkpoint}")
        if self.ended:
            return AnswerOutcome.DISCARDED
        if answer.subtask not in self._subtasks:
            return AnswerOutcome.UNKNOWN
        here = (self.incarnation, self.epochs[answer.subtask.vertex])
        there = (answer.incarnation, answer.epoch)
        if there != here:
            return AnswerOutcome.DISCARDED if there < here else AnswerOutcome.UNKNOWN
        return AnswerOutcome.SUCCESS if answer.subtask in self._missing else AnswerOutcome.DUPLICATE

    def _end(self, event: CheckpointEvent, reason: Reason) -> None:
        self._advance(event)
        self.reason = reason
        self._snapshots.clear()

    def _advance(self, event: CheckpointEvent) -> None:
        self.state = advance(CHECKPOINT, self.state, event)
