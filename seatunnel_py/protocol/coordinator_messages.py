"""What goes into a coordinator (events) and what comes out of it (commands).

Each event carries ``at`` as a participant's do; messages of participants carry incarnation and epoch (I37). The world
performs commands in order, and answers with events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from seatunnel_py.protocol.ids import Channel, Subtask
from seatunnel_py.protocol.items import Operation, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.reasons import Reason
from seatunnel_py.protocol.records import CheckpointRecord

# ---------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Activated:
    """The pipeline shall run: from the newest record of its store, or from nothing."""

    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that was asked for."""

    at: float
    name: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A subtask's part of a checkpoint."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask
    checkpoint: int
    snapshot: SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class Declined:
    """A subtask will not acknowledge this checkpoint."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask
    checkpoint: int
    reason: Reason = Reason.DECLINED


@dataclass(frozen=True, slots=True)
class SubtaskReady:
    """A subtask has restored its state and waits for the start."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask


@dataclass(frozen=True, slots=True)
class SubtaskFailed:
    """A life of a subtask is over."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask
    reason: Reason = Reason.UNIT_FAILED


@dataclass(frozen=True, slots=True)
class SourceEnded:
    """A source subtask has nothing more to read."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask


@dataclass(frozen=True, slots=True)
class Persisted:
    """The record of this checkpoint is durable: one atomic act (I10)."""

    at: float
    checkpoint: int


@dataclass(frozen=True, slots=True)
class PersistFailed:
    """The record is not there; ``fenced``: a newer incarnation owns the store (I34)."""

    at: float
    checkpoint: int
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class CommitConfirmed:
    """The target's ledger holds this checkpoint for this scope."""

    at: float
    incarnation: int
    scope: str
    checkpoint: int


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """The commit has to be tried again, or (LOST, FENCED) never will succeed."""

    at: float
    incarnation: int
    scope: str
    checkpoint: int
    reason: Reason = Reason.COMMIT_FAILED


@dataclass(frozen=True, slots=True)
class SetUpDone:
    """The start effects of one table are done, and their record is durable."""

    at: float
    unit: str


@dataclass(frozen=True, slots=True)
class SavepointRequested:
    """By a person; ``stop``: the pipeline ends behind its barrier (I44)."""

    at: float
    name: str
    stop: bool = False


@dataclass(frozen=True, slots=True)
class OperationRequested:
    """By a person or the runtime: a control operation that shall travel with the next barrier (O6.2)."""

    at: float
    operation: Operation


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """By a person: end now, nothing unfinished becomes visible."""

    at: float


@dataclass(frozen=True, slots=True)
class PositionsVoid:
    """The generation of positions is gone (a snapshot died with its connection)."""

    at: float
    generation: str


CoordinatorEvent: TypeAlias = (
    Activated
    | Timer
    | Acknowledged
    | Declined
    | SubtaskReady
    | SubtaskFailed
    | SourceEnded
    | Persisted
    | PersistFailed
    | CommitConfirmed
    | CommitFailed
    | SetUpDone
    | SavepointRequested
    | OperationRequested
    | CancelRequested
    | PositionsVoid
)

# ---------------------------------------------------------------- commands


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
    """End whatever life the subtask has (its units are cancelled, its queues emptied) and begin another: Restored, to
    which the world adds the durable journal after ``snapshot.taken``."""

    subtask: Subtask
    incarnation: int
    epoch: int
    checkpoint: int
    snapshot: SubtaskSnapshot | None
    senders: Mapping[Channel, int]
    receivers: Mapping[Channel, int]


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
    """Store the record, atomically, only if this incarnation still owns the store. Answer: Persisted, PersistFailed."""

    record: CheckpointRecord


@dataclass(frozen=True, slots=True)
class CommitPieces:
    """Commit in the target, decided by its ledger (I28). Answer: CommitConfirmed or CommitFailed."""

    incarnation: int
    scope: str
    checkpoint: int
    pieces: tuple[StagedPiece, ...]


@dataclass(frozen=True, slots=True)
class DropPieces:
    """Pieces that no checkpoint will ever name (I33)."""

    scope: str
    pieces: tuple[StagedPiece, ...]


@dataclass(frozen=True, slots=True)
class DeleteRecord:
    """Retention: a failure to delete is nobody's concern (I18)."""

    checkpoint: int


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Answer after ``seconds``: Timer. A second timer of the same name replaces the first."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """A timer that is not needed any longer."""

    name: str


@dataclass(frozen=True, slots=True)
class SetUp:
    """Perform the start effects of one table: intent record, effects, done record. Answer: SetUpDone."""

    unit: str
    checkpoint: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A trigger or a request was refused, without side effect."""

    what: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class CheckpointEnded:
    """For people: how a checkpoint ended; ``missing`` names who had not answered."""

    checkpoint: int
    reason: Reason | None
    missing: tuple[Subtask, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineEnded:
    """The pipeline has ended: ``reason`` is None for success."""

    reason: Reason | None
    savepoint: str = ""


CoordinatorCommand: TypeAlias = (
    SendTrigger
    | SendAborted
    | SendCompleted
    | Restart
    | SendPeerRestarted
    | SendStart
    | Persist
    | CommitPieces
    | DropPieces
    | DeleteRecord
    | SetTimer
    | CancelTimer
    | SetUp
    | Refused
    | CheckpointEnded
    | PipelineEnded
)
