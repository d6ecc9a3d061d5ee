"""Events and commands of a participant.

Each event carries ``at``, in seconds of a monotonic clock; correctness never depends on it (I49). Messages
between participants and coordinator carry incarnation and epoch (I37). The runtime performs commands in order.

May not know: the reaction to an event, and how a command is performed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.stream_elements import (
    BatchHandle,
    Envelope,
    Operation,
    Plain,
    StagedPiece,
    SubtaskSnapshot,
    TakenInput,
)

# ---------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Triggered:
    """Start a checkpoint; for sources only (O4.6), checked between units (O2.1)."""

    at: float
    incarnation: int
    epoch: int
    checkpoint: int
    operation: Operation = field(default_factory=Operation)
    unaligned: bool = False


@dataclass(frozen=True, slots=True)
class Arrived:
    """An envelope has arrived at its receiver."""

    at: float
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class UnitLogged:
    """The journal entry with this number is durable, so the unit's outputs may be sent (I39)."""

    at: float
    epoch: int
    number: int


@dataclass(frozen=True, slots=True)
class UnitDone:
    """A unit has been applied completely. ``outputs``: (channel, payload, rows, digest) in order; ``range``: read by a
    source; ``ended``: the source has read everything."""

    at: float
    epoch: int
    number: int
    state: Plain
    outputs: tuple[tuple[Channel, Plain, int, int], ...] = ()
    pieces: tuple[StagedPiece, ...] = ()
    range: Plain = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class UnitFailed:
    """A unit has not been applied at all, and its attempts are used up (I7)."""

    at: float
    epoch: int
    number: int
    reason: Reason = Reason.UNIT_FAILED


@dataclass(frozen=True, slots=True)
class AlignmentTimedOut:
    """The alignment of this checkpoint has reached ``checkpoint.alignment-timeout``."""

    at: float
    epoch: int
    checkpoint: int


@dataclass(frozen=True, slots=True)
class CheckpointAborted:
    """The coordinator has aborted this checkpoint."""

    at: float
    incarnation: int
    checkpoint: int


@dataclass(frozen=True, slots=True)
class CheckpointCompleted:
    """Reports that a checkpoint is durable; the coordinator commits its pieces."""

    at: float
    incarnation: int
    checkpoint: int


@dataclass(frozen=True, slots=True)
class Restored:
    """Start an execution with this epoch, from this snapshot (None: from nothing). ``senders`` and ``receivers``:
    epochs of the neighbours; ``journal``: inputs of the units after the snapshot, to repeat in the same order."""

    at: float
    incarnation: int
    epoch: int
    checkpoint: int
    snapshot: SubtaskSnapshot | None
    senders: Mapping[Channel, int]
    receivers: Mapping[Channel, int]
    journal: tuple[TakenInput, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """All subtasks of the restart are ready (O5.4)."""

    at: float
    incarnation: int
    epoch: int


@dataclass(frozen=True, slots=True)
class PeerRestarted:
    """The neighbours on these channels restart with these epochs. ``deliver_after``: numbers after which a restarted
    receiver needs the batches of a retained channel again."""

    at: float
    incarnation: int
    epochs: Mapping[Channel, int]
    deliver_after: Mapping[Channel, int] = field(default_factory=dict)


ParticipantEvent: TypeAlias = (
    Triggered
    | Arrived
    | UnitLogged
    | UnitDone
    | UnitFailed
    | AlignmentTimedOut
    | CheckpointAborted
    | CheckpointCompleted
    | Restored
    | Started
    | PeerRestarted
)

# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class RunUnit:
    """Run one unit on ``state``: over a batch of an input, or for a source from its state on. ``range``: an earlier
    execution read it with this unit, and it must be read again exactly. Reply: UnitDone or UnitFailed."""

    subtask: Subtask
    epoch: int
    number: int
    state: Plain
    channel: Channel | None = None
    batch: BatchHandle | None = None
    range: Plain = None


@dataclass(frozen=True, slots=True)
class LogUnit:
    """Make a journal entry durable. Reply: UnitLogged."""

    subtask: Subtask
    epoch: int
    entry: TakenInput


@dataclass(frozen=True, slots=True)
class Emit:
    """Send an element on a channel."""

    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """To the coordinator: Acknowledged."""

    subtask: Subtask
    incarnation: int
    epoch: int
    checkpoint: int
    snapshot: SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class Decline:
    """To the coordinator: Declined."""

    subtask: Subtask
    incarnation: int
    epoch: int
    checkpoint: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class ReportReady:
    """To the coordinator: SubtaskReady."""

    subtask: Subtask
    incarnation: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ReportFailed:
    """To the coordinator: SubtaskFailed."""

    subtask: Subtask
    incarnation: int
    epoch: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class ReportEnded:
    """To the coordinator: SourceEnded."""

    subtask: Subtask
    incarnation: int
    epoch: int


@dataclass(frozen=True, slots=True)
class TimeAlignment:
    """Reply with AlignmentTimedOut after ``seconds``."""

    subtask: Subtask
    epoch: int
    checkpoint: int
    seconds: float


ParticipantCommand: TypeAlias = (
    RunUnit | LogUnit | Emit | Acknowledge | Decline | ReportReady | ReportFailed | ReportEnded | TimeAlignment
)
