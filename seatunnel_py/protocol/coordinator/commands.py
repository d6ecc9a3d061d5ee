"""Commands of a coordinator. The runtime performs them in order, and replies with events.

May not know: how a command is performed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from seatunnel_py.protocol.coordinator.pending import CheckpointTiming
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import JournalUse, Operation, StagedPiece, SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class SendTrigger:
    """To a source subtask: Triggered."""

    subtask: Subtask
    incarnation: int
    epoch: int
    checkpoint: int
    operation: Operation
    unaligned: bool


@dataclass(frozen=True, slots=True)
class SendAborted:
    """To every subtask: CheckpointAborted (I13)."""

    subtask: Subtask
    incarnation: int
    checkpoint: int


@dataclass(frozen=True, slots=True)
class SendCompleted:
    """To every subtask: CheckpointCompleted."""

    subtask: Subtask
    incarnation: int
    checkpoint: int


@dataclass(frozen=True, slots=True)
class Restart:
    """End the subtask's execution (cancel its units, empty its queues) and start another: Restored, to which the
    runtime adds the entries that ``unit_log.retaken`` selects from the durable journal after ``snapshot.taken``. The
    other entries are void, and are deleted durably before the new execution starts."""

    subtask: Subtask
    incarnation: int
    epoch: int
    checkpoint: int
    snapshot: SubtaskSnapshot | None
    senders: Mapping[Channel, int]
    receivers: Mapping[Channel, int]
    replay: JournalUse = JournalUse.WHOLE


@dataclass(frozen=True, slots=True)
class EndExecution:
    """End every execution of the subtask below this epoch, as Restart does, and start no other: it is isolated.
    Messages to it are dropped, and block no sender."""

    subtask: Subtask
    incarnation: int
    epoch: int


@dataclass(frozen=True, slots=True)
class SendPeerRestarted:
    """To a subtask outside the region: PeerRestarted."""

    subtask: Subtask
    incarnation: int
    epochs: Mapping[Channel, int]
    deliver_after: Mapping[Channel, int]


@dataclass(frozen=True, slots=True)
class SendStart:
    """To a restored subtask: Started."""

    subtask: Subtask
    incarnation: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Persist:
    """Store the record atomically, if this incarnation still owns the store. Reply: Persisted or PersistFailed."""

    record: CheckpointRecord


@dataclass(frozen=True, slots=True)
class VoidRecords:
    """Durably exclude records from a restore: storing them has failed, and they may be in the store. ``newest``: the
    newest durable record. Reply: RecordsVoided."""

    checkpoints: tuple[int, ...]
    newest: int


@dataclass(frozen=True, slots=True)
class CommitPieces:
    """Commit in the target, if its ledger lacks the commit (I28); ``previous``: the expected last checkpoint in the
    ledger, if known (I30). Reply: CommitConfirmed or CommitFailed."""

    incarnation: int
    scope: str
    checkpoint: int
    pieces: tuple[StagedPiece, ...]
    previous: int | None = None


@dataclass(frozen=True, slots=True)
class CommitWaits:
    """Report: ``tries`` of a commit have failed in a row, and the next one follows after ``pause`` seconds."""

    scope: str
    checkpoint: int
    tries: int
    pause: float


@dataclass(frozen=True, slots=True)
class RetryUnit:
    """Try the unit again after ``pause`` seconds, in the same epoch: a restart cannot help, but a retry may."""

    subtask: Subtask
    epoch: int
    number: int
    pause: float


@dataclass(frozen=True, slots=True)
class FailUnit:
    """To the subtask: UnitFailed."""

    subtask: Subtask
    epoch: int
    number: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class DropPieces:
    """Delete pieces that no checkpoint will ever contain (I33)."""

    scope: str
    pieces: tuple[StagedPiece, ...]


@dataclass(frozen=True, slots=True)
class DeleteRecord:
    """Delete a record that retention releases; a failure is ignored (I18)."""

    checkpoint: int


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Reply with Timer after ``seconds``. A second timer of the same name replaces the first."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Cancel a timer."""

    name: str


@dataclass(frozen=True, slots=True)
class SetUp:
    """Perform the start effects of one table: intent record, effects, done record. Reply: SetUpDone."""

    unit: str
    checkpoint: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A trigger or a request was refused, without side effect."""

    what: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Isolated:
    """Report: the isolation of these vertices is durable. Their state is that of checkpoint ``stand_at``, whose record
    is kept until they rejoin; their rows must be read from the positions of that checkpoint (0: from the
    beginning)."""

    vertices: tuple[str, ...]
    checkpoint: int
    stand_at: int


@dataclass(frozen=True, slots=True)
class Rejoined:
    """Report: these vertices take part again, from this checkpoint on."""

    vertices: tuple[str, ...]
    checkpoint: int


class RejoinObstacle(StrEnum):
    """Why isolated vertices cannot rejoin. The value is the text for users."""

    STRANGERS = "they are not isolated"
    LEAVING = "their isolation is not durable yet"
    COMPANY = "other vertices, which feed them or finish with them, would have to rejoin too"
    READ_ONCE = "their source cannot be read again from where it stood"
    ROWS = "the sources went on without them, and the missing rows were not delivered"
    AHEAD = "at the checkpoint at which they stand one of them was ahead of a sender that was catching up"
    BEHIND = "what was brought does not end at the barrier"


@dataclass(frozen=True, slots=True)
class RejoinRefused:
    """Reports that vertices stay isolated; ``about`` names the vertices that the reason concerns."""

    vertices: tuple[str, ...]
    lack: RejoinObstacle
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckpointEnded:
    """Report: the outcome of a checkpoint; ``missing`` names the subtasks that had not acknowledged. ``timing`` is
    a report, and no part of the outcome."""

    checkpoint: int
    reason: Reason | None
    missing: tuple[Subtask, ...] = ()
    timing: CheckpointTiming | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PipelineEnded:
    """The pipeline has ended: ``reason`` is None for success. ``shows_twice``: sinks that prevented a restart, because
    they already show rows that would come again with other content (FO2)."""

    reason: Reason | None
    savepoint: str = ""
    shows_twice: tuple[str, ...] = ()


CoordinatorCommand: TypeAlias = (
    SendTrigger
    | SendAborted
    | SendCompleted
    | Restart
    | EndExecution
    | SendPeerRestarted
    | SendStart
    | Persist
    | VoidRecords
    | CommitPieces
    | CommitWaits
    | RetryUnit
    | FailUnit
    | DropPieces
    | DeleteRecord
    | SetTimer
    | CancelTimer
    | SetUp
    | Refused
    | Isolated
    | Rejoined
    | RejoinRefused
    | CheckpointEnded
    | PipelineEnded
)
