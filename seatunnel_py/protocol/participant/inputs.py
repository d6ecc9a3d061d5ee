"""The input side of a subtask: queues, what was received and applied of each channel, and lives of the senders.

Rules. (N1) What a restored life finds in its channel state stands first in its queues, once (I25). (N2) Inputs are read
in turn, so that none starves; the turn is fixed by what was read before, not by a clock. (N3) An envelope of a past
life of its sender is stale; a higher epoch is believed, whoever tells it first (I37). (N4) An input whose sender is
isolated is cut: nothing of it is taken any more, and nothing waits for it.

May not know: units, states, and why an input may not be read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Mapping

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import Barrier, BatchHandle, SubtaskSnapshot
from seatunnel_py.protocol.participant.sequence_tracker import SequenceTracker, SequenceVerdict


class Inputs:
    """All inputs of one subtask, in the topology's order."""

    def __init__(self, channels: tuple[Channel, ...]) -> None:
        self.channels = channels
        self.cut_off: set[Channel] = set()
        self.epochs: dict[Channel, int] = {}
        self.restore(SubtaskSnapshot(), {})

    def restore(self, snapshot: SubtaskSnapshot, epochs: Mapping[Channel, int]) -> None:
        """A life begins: everything before is forgotten, but which inputs are cut."""
        self.applied = {channel: snapshot.applied.get(channel, 0) for channel in self.channels}
        held = {channel: snapshot.channel_state.get(channel, ()) for channel in self.channels}
        self.queues: dict[Channel, deque[BatchHandle | Barrier]] = {channel: deque(held[channel]) for channel in held}
        self.ids = {channel: SequenceTracker(self.applied[channel], held[channel]) for channel in self.channels}
        for channel, epoch in epochs.items():
            self.knows_life(channel, epoch)
        self._turn = 0

    @property
    def live(self) -> tuple[Channel, ...]:
        """Inputs that take part."""
        return tuple(channel for channel in self.channels if channel not in self.cut_off)

    def knows_life(self, channel: Channel, epoch: int) -> bool:
        """False for an envelope of a past life of its sender (N3)."""
        if epoch < self.epochs.get(channel, epoch):
            return False
        self.epochs[channel] = epoch
        return True

    def receive(self, channel: Channel, batch: BatchHandle) -> SequenceVerdict:
        """Queue the batch if it is the next one."""
        verdict = self.ids[channel].receive(batch)
        if verdict is SequenceVerdict.ACCEPT:
            self.queues[channel].append(batch)
        return verdict

    def barrier(self, channel: Channel, barrier: Barrier) -> None:
        """Queue the barrier behind everything that came before it."""
        self.queues[channel].append(barrier)

    def reach_barrier(self, blocked: Container[Channel]) -> tuple[Channel, Barrier] | None:
        """A barrier that is at the head of an input that may be read; it is taken out."""
        for channel in self.channels:
            queue = self.queues[channel]
            if queue and isinstance(queue[0], Barrier) and channel not in blocked:
                barrier = queue[0]
                queue.popleft()
                return channel, barrier
        return None

    def waiting_barrier(self, checkpoint: int) -> Barrier | None:
        """The first barrier of this checkpoint that stands in a queue."""
        for queue in self.queues.values():
            for item in queue:
                if isinstance(item, Barrier) and item.checkpoint == checkpoint:
                    return item
        return None

    def choose(self, blocked: Container[Channel]) -> Channel | None:
        """The input to read next (N2)."""
        for step in range(len(self.channels)):
            channel = self.channels[(self._turn + step) % len(self.channels)]
            if channel not in blocked and self.head(channel) is not None:
                self._turn = (self._turn + step + 1) % len(self.channels)
                return channel
        return None

    def head(self, channel: Channel) -> BatchHandle | None:
        """The batch that this input would give."""
        queue = self.queues[channel]
        return queue[0] if queue and isinstance(queue[0], BatchHandle) else None

    def take(self, channel: Channel) -> BatchHandle:
        """Take the head out; it counts as applied when its unit is done."""
        batch = self.queues[channel].popleft()
        assert isinstance(batch, BatchHandle), "barriers are reached, not taken"
        return batch

    def cut(self, vertices: Collection[str]) -> None:
        """These are isolated: their rows behind the barrier do not count (N4)."""
        for channel in self.channels:
            if channel.sender.vertex in vertices:
                self.cut_off.add(channel)
                self.queues[channel].clear()

    def forget(self, applied: Mapping[Channel, int]) -> None:
        """A checkpoint with these applied numbers is completed."""
        for channel, number in applied.items():
            self.ids[channel].forget(number)
