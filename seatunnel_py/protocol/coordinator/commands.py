"""What comes out of a coordinator. The world performs commands in order, and answers with events.

May not know: how anything is performed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

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
    """End whatever life the subtask has (its units are cancelled, its queues emptied) and begin another: Restored, to
    which the world adds what ``units.retaken`` leaves of the durable journal after ``snapshot.taken``; the rest of it
    is void and is dropped, durably, before the new life begins."""

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
    """End whatever life below this epoch the subtask has, or is about to have, as Restart does, and begin no other: it
    is left out. What is still sent to it is dropped, and keeps no sender waiting for room."""

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
    """Store the record, atomically, only if this incarnation still owns the store. Answer: Persisted, PersistFailed."""

    record: CheckpointRecord


@dataclass(frozen=True, slots=True)
class CommitPieces:
    """Commit in the target, decided by its ledger (I28); ``previous``: where that has to stand, where known (I30).
    Answer: CommitConfirmed or CommitFailed."""

    incarnation: int
    scope: str
    checkpoint: int
    pieces: tuple[StagedPiece, ...]
    previous: int | None = None


@dataclass(frozen=True, slots=True)
class CommitWaits:
    """For people: so many ``tries`` of a commit have failed in a row, and the next one follows after ``pause``
    seconds."""

    scope: str
    checkpoint: int
    tries: int
    pause: float


@dataclass(frozen=True, slots=True)
class RetryUnit:
    """Try the unit again after ``pause`` seconds, in the same epoch: no restart can help it, and it may still pass."""

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
class Isolated:
    """For people and the runtime: it is durable that these are left out. They have what checkpoint ``stand_at`` holds,
    whose record stays until they are back; whoever reads for them begins where the sources stand in that one (0: at
    the beginning)."""

    vertices: tuple[str, ...]
    checkpoint: int
    stand_at: int


@dataclass(frozen=True, slots=True)
class Rejoined:
    """For people and the runtime: these take part again, from this checkpoint on."""

    vertices: tuple[str, ...]
    checkpoint: int


class RejoinObstacle(StrEnum):
    """Why isolated vertices cannot come back. The value is what people read."""

    STRANGERS = "nobody isolated them"
    LEAVING = "it is not durable yet that they are left out"
    COMPANY = "others, who feed them or finish with them, would have to come back too"
    READ_ONCE = "their source cannot be read again from where it stood"
    ROWS = "the sources went on without them, and nobody brought what they missed"
    AHEAD = "at the checkpoint at which they stand one of them was ahead of a sender that was catching up"
    BEHIND = "what was brought does not end at the barrier"


@dataclass(frozen=True, slots=True)
class RejoinRefused:
    """These stay where they are; ``about`` names whom the reason is about."""

    vertices: tuple[str, ...]
    lack: RejoinObstacle
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckpointEnded:
    """For people: how a checkpoint ended; ``missing`` names who had not answered."""

    checkpoint: int
    reason: Reason | None
    missing: tuple[Subtask, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineEnded:
    """The pipeline has ended: ``reason`` is None for success. ``shows_twice``: sinks for whose sake it could not be
    restarted, since they show rows already that would come again as others (FO2)."""

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
