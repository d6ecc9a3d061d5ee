"""What goes into a participant (events) and what comes out of it (commands).

Each event carries ``at``, in seconds of a clock that never goes back; safety never depends on it (I49). Messages
between participants and coordinator carry incarnation and epoch (I37). The world performs commands in order.

May not know: what an event leads to, and how a command is performed.
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
    """To sources only (O4.6): a flag that is looked at between units (O2.1)."""

    at: float
    incarnation: int
    epoch: int
    checkpoint: int
    operation: Operation = field(default_factory=Operation)
    unaligned: bool = False


@dataclass(frozen=True, slots=True)
class Arrived:
    """An envelope reached its receiver."""

    at: float
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class UnitLogged:
    """The journal entry with this number is durable: what the unit emits may be shown (I39)."""

    at: float
    epoch: int
    number: int


@dataclass(frozen=True, slots=True)
class UnitDone:
    """A unit was applied wholly. ``outputs`` are (channel, payload, rows, digest) in order; ``range`` is what a source
    read; ``ended``: the source has nothing more."""

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
    """A unit was not applied at all, and its attempts are used up (I7)."""

    at: float
    epoch: int
    number: int
    reason: Reason = Reason.UNIT_FAILED


@dataclass(frozen=True, slots=True)
class AlignmentTimedOut:
    """The alignment of this checkpoint has lasted ``checkpoint.alignment-timeout``."""

    at: float
    epoch: int
    checkpoint: int


@dataclass(frozen=True, slots=True)
class CheckpointAborted:
    """The coordinator gave this checkpoint up."""

    at: float
    incarnation: int
    checkpoint: int


@dataclass(frozen=True, slots=True)
class CheckpointCompleted:
    """This checkpoint is durable; its pieces will be committed by the coordinator."""

    at: float
    incarnation: int
    checkpoint: int


@dataclass(frozen=True, slots=True)
class Restored:
    """Begin a life: with this epoch, from this snapshot (None: from nothing). ``senders`` and ``receivers`` are the
    epochs of the other ends; ``journal`` is what units took after the snapshot, to be taken again in the same order."""

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
    """All subtasks that begin a life together are ready (O5.4)."""

    at: float
    incarnation: int
    epoch: int


@dataclass(frozen=True, slots=True)
class PeerRestarted:
    """The other end of these channels begins a life with these epochs. ``deliver_after``: batches that a restarted
    receiver wants again from this (retained) channel, after the number given."""

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
    """Run one unit on ``state``: over a batch of an input, or for a source from its state on; ``range`` is what an
    earlier life read with this unit and must be read again exactly. Answer: UnitDone or UnitFailed."""

    subtask: Subtask
    epoch: int
    number: int
    state: Plain
    channel: Channel | None = None
    batch: BatchHandle | None = None
    range: Plain = None


@dataclass(frozen=True, slots=True)
class LogUnit:
    """Make a journal entry durable. Answer: UnitLogged."""

    subtask: Subtask
    epoch: int
    entry: TakenInput


@dataclass(frozen=True, slots=True)
class Emit:
    """Put an item into a channel."""

    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Answer to the coordinator: Acknowledged."""

    subtask: Subtask
    incarnation: int
    epoch: int
    checkpoint: int
    snapshot: SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class Decline:
    """Answer to the coordinator: Declined."""

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
    """Answer after ``seconds``: AlignmentTimedOut."""

    subtask: Subtask
    epoch: int
    checkpoint: int
    seconds: float


ParticipantCommand: TypeAlias = (
    RunUnit | LogUnit | Emit | Acknowledge | Decline | ReportReady | ReportFailed | ReportEnded | TimeAlignment
)
