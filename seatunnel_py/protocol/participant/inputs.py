"""The inputs of a subtask: queues, received and applied batches of each channel, and epochs of the senders.

Rules. (N1) After a restore the channel state comes first in the queues, once (I25). (N2) Inputs are read
in turn, so that none starves; the turn depends on earlier reads, not on a clock. (N3) An envelope of an earlier
epoch of its sender is stale; a higher epoch is accepted from any message (I37). (N4) An input whose sender is
isolated is cut: none of its batches are read, and nothing waits for it.

May not know: units, states, and why an input is blocked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Mapping

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import NO_SNAPSHOT, Barrier, BatchHandle, SubtaskSnapshot
from seatunnel_py.protocol.participant.sequence_tracker import SequenceTracker, SequenceVerdict


class Inputs:
    """All inputs of one subtask, in the topology's order."""

    def __init__(self, channels: tuple[Channel, ...]) -> None:
        self.channels = channels
        self.cut_off: set[Channel] = set()
        self.epochs: dict[Channel, int] = {}
        self.restore(NO_SNAPSHOT, {})

    def restore(self, snapshot: SubtaskSnapshot, epochs: Mapping[Channel, int]) -> None:
        """Start an execution: reset everything except the cut inputs."""
        self.applied = {channel: snapshot.applied.get(channel, 0) for channel in self.channels}
        held = {channel: snapshot.channel_state.get(channel, ()) for channel in self.channels}
        self.queues: dict[Channel, deque[BatchHandle | Barrier]] = {channel: deque(held[channel]) for channel in held}
        self.ids = {channel: SequenceTracker(self.applied[channel], held[channel]) for channel in self.channels}
        for channel, epoch in epochs.items():
            self.knows_life(channel, epoch)
        self._turn = 0

    @property
    def live(self) -> tuple[Channel, ...]:
        """Inputs that are not cut."""
        if not self.cut_off:
            return self.channels
        return tuple(channel for channel in self.channels if channel not in self.cut_off)

    def knows_life(self, channel: Channel, epoch: int) -> bool:
        """False for an envelope of an earlier epoch of its sender (N3)."""
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
        """Queue the barrier after all earlier elements."""
        self.queues[channel].append(barrier)

    def reach_barrier(self, blocked: Container[Channel]) -> tuple[Channel, Barrier] | None:
        """Remove and return a barrier at the head of an input that is not blocked."""
        for channel in self.channels:
            queue = self.queues[channel]
            if queue and isinstance(queue[0], Barrier) and channel not in blocked:
                barrier = queue[0]
                queue.popleft()
                return channel, barrier
        return None

    def waiting_barrier(self, checkpoint: int) -> Barrier | None:
        """The first queued barrier of this checkpoint."""
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
        """The next batch of this input."""
        queue = self.queues[channel]
        return queue[0] if queue and isinstance(queue[0], BatchHandle) else None

    def take(self, channel: Channel) -> BatchHandle:
        """Remove and return the next batch; it counts as applied when its unit is done."""
        batch = self.queues[channel].popleft()
        assert isinstance(batch, BatchHandle), "barriers are reached, not taken"
        return batch

    def cut(self, vertices: Collection[str]) -> None:
        """Cut the inputs from isolated vertices: their rows after the barrier do not count (N4)."""
        for channel in self.channels:
            if channel.sender.vertex in vertices:
                self.cut_off.add(channel)
                self.queues[channel].clear()

    def forget(self, applied: Mapping[Channel, int]) -> None:
        """Forget batches up to these applied numbers of a completed checkpoint."""
        for channel, number in applied.items():
            self.ids[channel].forget(number)
