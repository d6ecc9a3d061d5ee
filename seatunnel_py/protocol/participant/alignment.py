"""One subtask's way through one checkpoint: which inputs wait, when the state is cut, what is recorded, when it ends.

Rules. (A1) An aligned barrier counts when it is reached, behind everything that came before it; its input is then not
read until all awaited inputs are there (O3.1). (A2) Back-edges are not awaited; one whose barrier is reached early is
held back like any other input (O3.2, I47). (A3) The cut comes at once for an unaligned barrier, for a trigger and for
an alignment that lasts too long. (A4) Recorded is, for every input, what is queued before its barrier at the cut, and
what arrives later until its barrier arrives; of an input whose barrier was reached, nothing. (A5) Between the cut and
the snapshot nothing is taken, so that both are the same moment. (A6) A checkpoint is acknowledged when every recording
is closed. (A7) A newer barrier ends an older checkpoint (O4.8, I16). (A8) Ids only grow (I11): below the newest one
that was begun or is completed, and among those that were called off, every barrier is swallowed (I13, F21).

May not know: units, epochs, states, and how messages travel. Applied are numbers of someone else; here are only items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import Barrier, BatchHandle, Item, Operation


class Phase(StrEnum):
    """Where a subtask is on its way through a checkpoint."""

    IDLE = "idle"
    ALIGNING = "aligning"
    DUE = "due"
    RECORDING = "recording"
    ACKNOWLEDGED = "acknowledged"
    GIVEN_UP = "given up"


class Signal(StrEnum):
    """What moves it on."""

    BARRIER_REACHED = "barrier reached"
    ALL_REACHED = "all awaited barriers reached"
    CUT_NOW = "cut now"
    SNAPSHOT = "snapshot taken"
    ALL_CLOSED = "all recordings closed"
    CALLED_OFF = "called off"


TRANSITIONS: Mapping[tuple[Phase, Signal], Phase] = {
    (Phase.IDLE, Signal.BARRIER_REACHED): Phase.ALIGNING,
    (Phase.IDLE, Signal.ALL_REACHED): Phase.DUE,  # a source waits for nobody
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
"""Whatever does not stand here is an error of ours: KeyError."""


class Alignment:
    """The way through one checkpoint. ``inputs`` take part, ``awaited`` are those among them that are waited for."""

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
        """The barrier is at the head of this input (A1)."""
        self._move(Signal.BARRIER_REACHED)
        self._reached.add(channel)

    @property
    def all_reached(self) -> bool:
        return self.awaited <= self._reached

    def cut(self, queues: Mapping[Channel, Iterable[Item]], *, unaligned: bool, arrived: Channel | None = None) -> None:
        """The state will be frozen as soon as no unit is under way; recording begins now (A3, A4).

        ``arrived``: the input whose unaligned barrier has just arrived; it stands behind everything in the queue.
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
        """After the cut: the barrier of this input, aligned or not, closes its recording."""
        self._open.discard(channel)

    def record(self, channel: Channel, batch: BatchHandle) -> None:
        """A batch arrived."""
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
        """The snapshot is taken as soon as no unit is under way."""
        return self.phase is Phase.DUE

    @property
    def has_cut(self) -> bool:
        return self.phase in (Phase.DUE, Phase.RECORDING)

    @property
    def complete(self) -> bool:
        """Snapshot taken and every recording closed (A6)."""
        return self.phase is Phase.RECORDING and not self._open

    @property
    def blocked(self) -> frozenset[Channel]:
        """Inputs that may not be read: all of them between cut and snapshot (A5)."""
        if self.phase is Phase.DUE:
            return frozenset(self.inputs)
        return frozenset(self._reached) if self.phase is Phase.ALIGNING else frozenset()

    @property
    def missing(self) -> tuple[Channel, ...]:
        """Inputs whose barrier is needed to go on."""
        wanted = self._open if self.has_cut else self.awaited - self._reached
        return tuple(channel for channel in self.inputs if channel in wanted)

    @property
    def recorded(self) -> Mapping[Channel, tuple[BatchHandle, ...]]:
        """The channel state; inputs without any do not appear."""
        return {channel: tuple(batches) for channel, batches in self._recorded.items() if batches}

    def _move(self, signal: Signal) -> None:
        self.phase = TRANSITIONS[self.phase, signal]


def _before(checkpoint: int, queue: Iterable[Item]) -> tuple[list[BatchHandle], bool]:
    """The batches before this checkpoint's barrier, and whether the barrier is there."""
    batches: list[BatchHandle] = []
    for item in queue:
        if isinstance(item, BatchHandle):
            batches.append(item)
        elif isinstance(item, Barrier) and item.checkpoint == checkpoint:
            return batches, True
    return batches, False


class LocalCheckpoints:
    """Which checkpoint is under way here, and which ids are dead (A7, A8)."""

    __slots__ = ("_called_off", "current", "newest")

    def __init__(self, newest: int = 0) -> None:
        self.current: Alignment | None = None
        self.newest = newest
        self._called_off: set[int] = set()

    def is_dead(self, checkpoint: int) -> bool:
        """Nothing of this checkpoint is of interest any longer."""
        if self.under_way(checkpoint) is not None:
            return False
        return checkpoint <= self.newest or checkpoint in self._called_off

    def begin(self, alignment: Alignment) -> Alignment | None:
        """This one is under way now; returned is the older one that it ends (A7)."""
        older = self._leave()
        self.current = alignment
        self._pass(alignment.checkpoint)
        return older

    def end(self) -> Alignment:
        """The current one is acknowledged."""
        assert self.current is not None, "there is a checkpoint to end"
        ended, self.current = self.current, None
        ended.acknowledged()
        return ended

    def call_off(self, checkpoint: int) -> None:
        """This one will never be."""
        if self.under_way(checkpoint) is not None:
            self._leave()
        elif checkpoint > self.newest:
            self._called_off.add(checkpoint)

    def under_way(self, checkpoint: int) -> Alignment | None:
        """The way through this checkpoint, if it is the current one."""
        return self.current if self.current is not None and self.current.checkpoint == checkpoint else None

    def completed(self, checkpoint: int) -> None:
        """This one is durable: whatever is older will never be."""
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
