"""One checkpoint in flight: from its trigger to its only end.

Rules. (PE1) It waits for exactly the subtasks that it was created with, each in the epoch that its vertex had then
(I9). (PE2) A subtask answers once: a second answer changes nothing. (PE3) What comes from somebody who is not waited
for, or from a life that is not known yet, is refused. (PE4) What comes from an older incarnation or epoch is discarded
(I37). (PE5) It has one end: nothing that comes after it has an effect (I12, F16), and an aborted one gives up what it
has collected. (PE6) A decline by somebody who is waited for ends it (O4.11); any other decline does not. (PE7) While
the store is at it, only the store ends it: its record may be durable already, and then it has completed (I10).

May not know: what snapshots contain, how records look, who is told about the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from seatunnel_py.protocol.coordinator.events import Acknowledged, Declined
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import CHECKPOINT, CheckpointEvent, CheckpointState, advance, has_ended
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import Operation, SubtaskSnapshot


class AnswerOutcome(StrEnum):
    """What became of an answer (O4.9). Only SUCCESS changed anything."""

    SUCCESS = "success"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"
    DISCARDED = "discarded"


class PendingCheckpoint:
    """Changed by its owner, the coordinator, alone; everything that it hands out is a value."""

    __slots__ = (
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
        self._subtasks = frozenset(subtasks)
        self._missing = set(self._subtasks)
        self._snapshots: dict[Subtask, SubtaskSnapshot] = {}
        if not self._subtasks:
            raise LocalProtocolError(f"checkpoint {checkpoint} waits for nobody: it could never be acknowledged")

    @property
    def missing(self) -> tuple[Subtask, ...]:
        """Who has not acknowledged, in order."""
        return tuple(sorted(self._missing))

    @property
    def complete(self) -> bool:
        """Everybody has acknowledged, and the store has not been asked yet."""
        return self.state is CheckpointState.COMPLETE

    @property
    def ended(self) -> bool:
        return has_ended(CHECKPOINT, self.state)

    @property
    def abortable(self) -> bool:
        """It has not ended, and is not in the store's hands (PE7)."""
        return CheckpointEvent.ABORT in CHECKPOINT[self.state]

    @property
    def snapshots(self) -> Mapping[Subtask, SubtaskSnapshot]:
        """What was acknowledged; for the record when it is complete."""
        return dict(self._snapshots)

    def expired(self, now: float) -> bool:
        """It is time to give it up (O4.11)."""
        return self.abortable and now >= self.expires_at

    def acknowledge(self, answer: Acknowledged) -> AnswerOutcome:
        """Take a subtask's part. COMPLETE after the last one (O4.10)."""
        outcome = self._judge(answer)
        if outcome is AnswerOutcome.SUCCESS:
            self._missing.discard(answer.subtask)
            self._snapshots[answer.subtask] = answer.snapshot
            if not self._missing:
                self._advance(CheckpointEvent.ALL_ACKNOWLEDGED)
        return outcome

    def decline(self, answer: Declined) -> AnswerOutcome:
        """A subtask that is waited for will not acknowledge: aborted for its reason (PE6)."""
        outcome = self._judge(answer)
        if outcome is AnswerOutcome.SUCCESS:
            self.abort(answer.reason)
        return outcome

    def store(self) -> Mapping[Subtask, SubtaskSnapshot]:
        """The store is asked now; what its record shall contain."""
        self._advance(CheckpointEvent.STORE)
        return self.snapshots

    def stored(self) -> None:
        """The store says that the record is durable: it has completed."""
        self._advance(CheckpointEvent.STORED)

    def not_stored(self, reason: Reason = Reason.STORE_FAILED) -> None:
        """The store says that there is no record: aborted by this."""
        self._end(CheckpointEvent.NOT_STORED, reason)

    def abort(self, reason: Reason) -> bool:
        """Give it up. False: it is in the store's hands (PE7) or has ended (I12), and nothing changes."""
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
