"""The output side of a subtask: numbers, batches that are kept for a restarted receiver, and lives of the receivers.

Rules. (U1) Batches of an output are numbered from 1 without gaps, over restarts of the sender too (C2). (U2) On a
retained channel everything sent since the newest completed checkpoint is kept, and nothing else (I50). (U3) A
restarted receiver gets again, once for each of its lives, what it lacks, in order and before anything new.
(U4) Barriers and markers go to every receiver; to an isolated one nothing goes any more, not even numbers.

May not know: states, alignments, and what is in a batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import (
    Barrier,
    BatchHandle,
    CancelMarker,
    Envelope,
    Item,
    Plain,
    SubtaskSnapshot,
)


class Outputs:
    """All outputs of one subtask, in the topology's order. What comes back from its methods is to be emitted."""

    def __init__(self, channels: tuple[Channel, ...], retained: frozenset[Channel]) -> None:
        self.channels = channels
        self.retained = retained
        self.cut_off: set[Channel] = set()
        self.epochs: dict[Channel, int] = {}
        self.restore(0, SubtaskSnapshot(), {})

    def restore(self, epoch: int, snapshot: SubtaskSnapshot, epochs: Mapping[Channel, int]) -> None:
        """A life with this epoch begins: everything before is forgotten, but which outputs are cut."""
        self.epoch = epoch
        self.sent = {channel: snapshot.sent.get(channel, 0) for channel in self.channels}
        self.kept: dict[Channel, deque[BatchHandle]] = {channel: deque() for channel in self.channels}
        for channel, known in epochs.items():
            self.epochs[channel] = max(known, self.epochs.get(channel, known))

    def send(self, channel: Channel, payload: Plain, rows: int, digest: int) -> tuple[Envelope, ...]:
        """The next batch of this output (U1)."""
        if channel in self.cut_off:
            return ()
        self.sent[channel] += 1
        batch = BatchHandle(self.sent[channel], rows, digest, payload)
        if channel in self.retained:
            self.kept[channel].append(batch)
        return (self._envelope(channel, batch),)

    def broadcast(self, item: Barrier | CancelMarker) -> tuple[Envelope, ...]:
        """To every receiver (U4)."""
        return tuple(self._envelope(channel, item) for channel in self.channels if channel not in self.cut_off)

    def peer_restarted(self, channel: Channel, epoch: int, after: int | None) -> tuple[Envelope, ...]:
        """The receiver begins a life; kept batches after this number go out again, if it asks for any (U3)."""
        if epoch <= self.epochs.get(channel, epoch - 1):
            return ()
        self.epochs[channel] = epoch
        if after is None:
            return ()
        return tuple(self._envelope(channel, batch) for batch in self.kept[channel] if batch.number > after)

    def cut(self, vertices: Collection[str]) -> None:
        """These are isolated (U4)."""
        self.cut_off.update(channel for channel in self.channels if channel.receiver.vertex in vertices)

    def forget(self, sent: Mapping[Channel, int]) -> None:
        """A checkpoint with these sent numbers is completed (U2)."""
        for channel, number in sent.items():
            kept = self.kept[channel]
            while kept and kept[0].number <= number:
                kept.popleft()

    def _envelope(self, channel: Channel, item: Item) -> Envelope:
        return Envelope(channel, self.epoch, self.epochs.get(channel, 0), item)
