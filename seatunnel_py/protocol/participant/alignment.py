"""A checkpoint in one subtask: which inputs wait, when the state is cut, which batches are recorded, when it ends.

Rules. (A1) An aligned barrier takes effect when it is reached, after all earlier batches; its input is then not
read until the barriers of all awaited inputs are reached (O3.1). (A2) Back-edges are not awaited; one whose barrier is
reached early is blocked like any other input (O3.2, I47). (A3) An unaligned barrier, a trigger, or an alignment that
takes too long cuts the state at once. (A4) For every input the batches before its barrier are recorded that are queued
at the cut or arrive later; none for an input whose barrier was reached. (A5) Between the cut and
the snapshot no batch is read, so that both are the same moment. (A6) A checkpoint is acknowledged when every recording
is closed. (A7) A newer barrier ends an older checkpoint (O4.8, I16). (A8) Ids only grow (I11): barriers older than the
newest started or completed checkpoint, and barriers of cancelled ones, are discarded (I13, F21).

May not know: units, epochs, states, and the transport of messages; it handles only elements of channels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import Barrier, BatchHandle, Item, Operation


class Phase(StrEnum):
    """Phase of a checkpoint in a subtask."""

    IDLE = "idle"
    ALIGNING = "aligning"
    DUE = "due"
    RECORDING = "recording"
    ACKNOWLEDGED = "acknowledged"
    GIVEN_UP = "given up"


class Signal(StrEnum):
    """Events that change the phase."""

    BARRIER_REACHED = "barrier reached"
    ALL_REACHED = "all awaited barriers reached"
    CUT_NOW = "cut now"
    SNAPSHOT = "snapshot taken"
    ALL_CLOSED = "all recordings closed"
    CALLED_OFF = "called off"


TRANSITIONS: Mapping[tuple[Phase, Signal], Phase] = {
    (Phase.IDLE, Signal.BARRIER_REACHED): Phase.ALIGNING,
    (Phase.IDLE, Signal.ALL_REACHED): Phase.DUE,  # a source has no inputs
    (Phase.IDLE, Signal.CUT_NOW): Phase.DUE,
    (Phase.ALIGNING, Signal.BARRIER_REACHED): Phase.ALIGNING,
    (Phase.ALIGNING, Signal.ALL_REACHED): Phase.DUE,
    (Phase.ALIGNING, Signal.CUT_NOW): Phase.DUE,
    (Phase.ALIGNING, Signal.CALLED_OFF): Phase.GIVEN_UP,
    (Phase.DUE, Signal.SNAPSHOT): Phase.RECORDING,
    (Phase.DUE, Signal.CALLED_OFF): Phase.GIVEN_UP,
    (Phase.RECORDING, Signal.ALL_CLOSED): Phase.ACKNOWLEDGED,
    (Phase.RECORDING, Signal.CALLED_OFF): Phase.GIVEN_UP,
}
"""Any other transition is a bug and raises KeyError."""


class Alignment:
    """One checkpoint in a subtask. ``inputs``: all inputs that take part; ``awaited``: those that are not
    back-edges."""

    __slots__ = ("_open", "_reached", "_recorded", "awaited", "checkpoint", "inputs", "operation", "phase", "unaligned")

    def __init__(
        self, checkpoint: int, operation: Operation, inputs: Iterable[Channel], awaited: Iterable[Channel]
    ) -> None:
        self.checkpoint = checkpoint
        self.operation = operation
        self.inputs = tuple(inputs)
        self.awaited = frozenset(awaited)
        self.phase = Phase.IDLE
        self.unaligned = False
        self._reached: set[Channel] = set()
        self._open: set[Channel] = set()
        self._recorded: dict[Channel, list[BatchHandle]] = {}

    def reached(self, channel: Channel) -> None:
        """The barrier is reached on this input (A1)."""
        self._move(Signal.BARRIER_REACHED)
        self._reached.add(channel)

    @property
    def all_reached(self) -> bool:
        return self.awaited <= self._reached

    def cut(self, queues: Mapping[Channel, Iterable[Item]], *, unaligned: bool, arrived: Channel | None = None) -> None:
        """Start recording now; the state is frozen as soon as no unit is running (A3, A4).

        ``arrived``: the input whose unaligned barrier has just arrived, after everything in its queue.
        """
        self._move(Signal.ALL_REACHED if self.all_reached else Signal.CUT_NOW)
        self.unaligned = unaligned
        for channel in self.inputs:
            if channel in self._reached:
                continue
            self._recorded[channel], closed = _before(self.checkpoint, queues[channel])
            if not closed and channel != arrived:
                self._open.add(channel)

    def arrived(self, channel: Channel) -> None:
        """The barrier of this input has arrived after the cut, aligned or not: close its recording."""
        self._open.discard(channel)

    def record(self, channel: Channel, batch: BatchHandle) -> None:
        """Record a batch that arrived after the cut."""
        if channel in self._open:
            self._recorded[channel].append(batch)

    def snapshot_taken(self) -> None:
        self._move(Signal.SNAPSHOT)

    def acknowledged(self) -> None:
        self._move(Signal.ALL_CLOSED)

    def call_off(self) -> None:
        self._move(Signal.CALLED_OFF)

    @property
    def due(self) -> bool:
        """True if the snapshot must be taken as soon as no unit is running."""
        return self.phase is Phase.DUE

    @property
    def has_cut(self) -> bool:
        return self.phase in (Phase.DUE, Phase.RECORDING)

    @property
    def complete(self) -> bool:
        """True if the snapshot is taken and every recording is closed (A6)."""
        return self.phase is Phase.RECORDING and not self._open

    @property
    def blocked(self) -> frozenset[Channel]:
        """Inputs that may not be read: all of them between cut and snapshot (A5)."""
        if self.phase is Phase.DUE:
            return frozenset(self.inputs)
        return frozenset(self._reached) if self.phase is Phase.ALIGNING else frozenset()

    @property
    def missing(self) -> tuple[Channel, ...]:
        """Inputs whose barrier is still needed."""
        wanted = self._open if self.has_cut else self.awaited - self._reached
        return tuple(channel for channel in self.inputs if channel in wanted)

    @property
    def recorded(self) -> Mapping[Channel, tuple[BatchHandle, ...]]:
        """The channel state, without empty inputs."""
        return {channel: tuple(batches) for channel, batches in self._recorded.items() if batches}

    def _move(self, signal: Signal) -> None:
        self.phase = TRANSITIONS[self.phase, signal]


def _before(checkpoint: int, queue: Iterable[Item]) -> tuple[list[BatchHandle], bool]:
    """The batches before this checkpoint's barrier, and whether the queue contains the barrier."""
    batches: list[BatchHandle] = []
    for item in queue:
        if isinstance(item, BatchHandle):
            batches.append(item)
        elif isinstance(item, Barrier) and item.checkpoint == checkpoint:
            return batches, True
    return batches, False


class LocalCheckpoints:
    """The current checkpoint of a subtask, and the ids that are void (A7, A8)."""

    __slots__ = ("_called_off", "current", "newest")

    def __init__(self, newest: int = 0) -> None:
        self.current: Alignment | None = None
        self.newest = newest
        self._called_off: set[int] = set()

    def is_dead(self, checkpoint: int) -> bool:
        """True if messages of this checkpoint must be discarded."""
        if self.under_way(checkpoint) is not None:
            return False
        return checkpoint <= self.newest or checkpoint in self._called_off

    def begin(self, alignment: Alignment) -> Alignment | None:
        """Start this checkpoint, and return the older one that it ends (A7)."""
        older = self._leave()
        self.current = alignment
        self._pass(alignment.checkpoint)
        return older

    def end(self) -> Alignment:
        """End the current checkpoint, which is acknowledged."""
        assert self.current is not None, "there is a checkpoint to end"
        ended, self.current = self.current, None
        ended.acknowledged()
        return ended

    def call_off(self, checkpoint: int) -> None:
        """Cancel this checkpoint."""
        if self.under_way(checkpoint) is not None:
            self._leave()
        elif checkpoint > self.newest:
            self._called_off.add(checkpoint)

    def under_way(self, checkpoint: int) -> Alignment | None:
        """The alignment of this checkpoint, if it is the current one."""
        return self.current if self.current is not None and self.current.checkpoint == checkpoint else None

    def completed(self, checkpoint: int) -> None:
        """End the alignment of this checkpoint and of older ones: it is durable."""
        if self.current is not None and self.current.checkpoint <= checkpoint:
            self._leave()
        self._pass(max(checkpoint, self.newest))

    def _leave(self) -> Alignment | None:
        left, self.current = self.current, None
        if left is not None:
            left.call_off()
        return left

    def _pass(self, checkpoint: int) -> None:
        self.newest = checkpoint
        self._called_off = {dead for dead in self._called_off if dead > checkpoint}
