"""Elements of channels: batches, barriers and cancel markers, each in an envelope.

Rules. (C1) A channel is FIFO. (C2) Batches of a channel are numbered from 1 without gaps: (channel, number) is the
channel data id. (C3) Equal ids mean equal content (I22), verified by a digest. (C4) An envelope carries the epochs
of both its ends as known to the sender; one of an earlier epoch is dropped and counted (I37).

Transport: a full channel never delays barriers and markers (F20).

May not know: what a row is, and when elements are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from seatunnel_py.protocol.model.ids import Channel

Plain: TypeAlias = "bool | int | float | str | list[Plain] | tuple[Plain, ...] | Mapping[str, Plain] | None"


class OperationKind(StrEnum):
    """Operation that every subtask performs at the barrier (O6.2).

    SPEED, SCHEMA_CHANGE, ADD and REMOVE are for change data capture: the runtime does not send them yet.
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
    """``argument``: rows per second for SPEED, the change for SCHEMA_CHANGE, a vertex for REMOVE, names of the leaving
    vertices for ISOLATE, epochs by vertex for ADD."""

    kind: OperationKind = OperationKind.SNAPSHOT
    argument: Plain = None


@dataclass(frozen=True, slots=True)
class BatchHandle:
    """A reference to rows. ``digest`` covers the rows in any order; the protocol does not interpret ``payload``."""

    number: int
    rows: int = 0
    digest: int = 0
    payload: Plain = None


@dataclass(frozen=True, slots=True)
class Barrier:
    """Mark of a checkpoint, which contains all batches before it. An ``unaligned`` barrier takes effect when it
    arrives, others when they are reached."""

    checkpoint: int
    operation: Operation = field(default_factory=Operation)
    unaligned: bool = False


@dataclass(frozen=True, slots=True)
class CancelMarker:
    """No barrier of this checkpoint will come, so downstream subtasks stop waiting (O4.7)."""

    checkpoint: int


Item: TypeAlias = BatchHandle | Barrier | CancelMarker


@dataclass(frozen=True, slots=True)
class Envelope:
    """An element in transport on a channel."""

    channel: Channel
    sender_epoch: int
    receiver_epoch: int
    item: Item


@dataclass(frozen=True, slots=True)
class StagedPiece:
    """Staged rows of a sink: a unique name, which identifies the writer, and the sink's own description."""

    name: str
    data: Plain = None


@dataclass(frozen=True, slots=True)
class TakenInput:
    """Input of a unit: a batch of a channel, or for a source the range that it read (I39)."""

    number: int
    channel: Channel | None = None
    batch: int = 0
    range: Plain = None


class JournalUse(StrEnum):
    """Part of the journal that a new execution repeats (R10)."""

    WHOLE = "whole"
    HELD = "as far as the snapshot holds the batches themselves"
    VOID = "nothing"


@dataclass(frozen=True, slots=True)
class SubtaskSnapshot:
    """State of a subtask at its cut.

    - ``applied``: the last batch of each input that its state contains; ``sent``: the last batch of each output.
    - ``channel_state``: batches that were received but not applied, in order.
    - ``pieces``: all pieces staged since checkpoint ``since``; ``taken``: number of units in its journal.
    - ``ended``: the source has read everything.
    """

    state: Plain = None
    applied: Mapping[Channel, int] = field(default_factory=dict)
    sent: Mapping[Channel, int] = field(default_factory=dict)
    channel_state: Mapping[Channel, tuple[BatchHandle, ...]] = field(default_factory=dict)
    pieces: tuple[StagedPiece, ...] = ()
    since: int = 0
    taken: int = 0
    ended: bool = False


NO_SNAPSHOT = SubtaskSnapshot()
"""The state of a subtask that begins from nothing."""
