"""What travels on channels: batches, barriers and cancel markers, each in an envelope.

Rules. (C1) A channel is FIFO. (C2) Batches of a channel are numbered from 1 without gaps: (channel, number) is the
channel data id. (C3) The same id means the same content (I22); the digest says so. (C4) An envelope carries the epochs
of both its ends as the sender knew them; one of a past life is dropped and counted (I37).

Asked of whoever carries them: barriers and markers are never held back by a full channel (F20).

May not know: what a row is, and who sends what when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from seatunnel_py.protocol.model.ids import Channel

Plain: TypeAlias = "bool | int | float | str | list[Plain] | tuple[Plain, ...] | Mapping[str, Plain] | None"


class OperationKind(StrEnum):
    """What a barrier asks of everyone whom it passes (O6.2).

    SPEED, SCHEMA_CHANGE, ADD and REMOVE wait for change data capture: no runtime sends them yet.
    """

    SNAPSHOT = "snapshot"
    STOP = "stop"
    SPEED = "speed"
    SCHEMA_CHANGE = "schema-change"
    ADD = "add"
    REMOVE = "remove"
    ISOLATE = "isolate"


@dataclass(frozen=True, slots=True)
class Operation:
    """``argument``: rows a second for SPEED, the change for SCHEMA_CHANGE, a vertex for REMOVE, the names of those that
    leave for ISOLATE, their epochs by name for ADD."""

    kind: OperationKind = OperationKind.SNAPSHOT
    argument: Plain = None


@dataclass(frozen=True, slots=True)
class BatchHandle:
    """A handle on rows. ``digest`` is over the rows without their order; ``payload`` means nothing to the protocol."""

    number: int
    rows: int = 0
    digest: int = 0
    payload: Plain = None


@dataclass(frozen=True, slots=True)
class Barrier:
    """Everything before it belongs to the checkpoint. ``unaligned`` barriers are obeyed when they arrive, others when
    they are reached."""

    checkpoint: int
    operation: Operation = field(default_factory=Operation)
    unaligned: bool = False


@dataclass(frozen=True, slots=True)
class CancelMarker:
    """Nobody downstream need wait for the barrier of this checkpoint (O4.7)."""

    checkpoint: int


Item: TypeAlias = BatchHandle | Barrier | CancelMarker


@dataclass(frozen=True, slots=True)
class Envelope:
    """An item on its way."""

    channel: Channel
    sender_epoch: int
    receiver_epoch: int
    item: Item


@dataclass(frozen=True, slots=True)
class StagedPiece:
    """What a sink staged: its unique name, which contains who staged it, and the sink's own description."""

    name: str
    data: Plain = None


@dataclass(frozen=True, slots=True)
class TakenInput:
    """What a unit took: a batch of an input, or for a source the range that it read (I39)."""

    number: int
    channel: Channel | None = None
    batch: int = 0
    range: Plain = None


class JournalUse(StrEnum):
    """What a new life takes again of the journal (R10)."""

    WHOLE = "whole"
    HELD = "as far as the snapshot holds the batches themselves"
    VOID = "nothing"


@dataclass(frozen=True, slots=True)
class SubtaskSnapshot:
    """A subtask at its cut.

    ``applied``: the last batch of each input that its state contains; ``sent``: the last batch of each output;
    ``channel_state``: batches that were received but not applied, in order; ``pieces``: everything staged since
    checkpoint ``since``; ``taken``: how many units its journal held; ``ended``: the source has nothing more.
    """

    state: Plain = None
    applied: Mapping[Channel, int] = field(default_factory=dict)
    sent: Mapping[Channel, int] = field(default_factory=dict)
    channel_state: Mapping[Channel, tuple[BatchHandle, ...]] = field(default_factory=dict)
    pieces: tuple[StagedPiece, ...] = ()
    since: int = 0
    taken: int = 0
    ended: bool = False
