"""The outputs of a subtask: batch numbers, batches retained for a restarted receiver, and epochs of the receivers.

Rules. (U1) Batches of an output are numbered from 1 without gaps, also over restarts of the sender (C2). (U2) A
retained channel keeps exactly the batches since the newest completed checkpoint (I50). (U3) A
restarted receiver gets the batches that it lacks again, once per execution, in order and before any new batch.
(U4) Barriers and markers go to every receiver; an isolated receiver gets nothing, and uses no numbers.

May not know: states, alignments, and the content of a batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import (
    NO_SNAPSHOT,
    Barrier,
    BatchHandle,
    CancelMarker,
    Envelope,
    Item,
    Plain,
    SubtaskSnapshot,
)


class Outputs:
    """All outputs of one subtask, in the topology's order. The methods return envelopes to send."""

    def __init__(self, channels: tuple[Channel, ...], retained: frozenset[Channel]) -> None:
        self.channels = channels
        self.retained = retained
        self.cut_off: set[Channel] = set()
        self.epochs: dict[Channel, int] = {}
        self.restore(0, NO_SNAPSHOT, {})

    def restore(self, epoch: int, snapshot: SubtaskSnapshot, epochs: Mapping[Channel, int]) -> None:
        """Start an execution with this epoch: reset everything except the cut outputs."""
        self.epoch = epoch
        self.sent = {channel: snapshot.sent.get(channel, 0) for channel in self.channels}
        self.kept: dict[Channel, deque[BatchHandle]] = {channel: deque() for channel in self.channels}
        for channel, known in epochs.items():
            self.epochs[channel] = max(known, self.epochs.get(channel, known))

    def send(self, channel: Channel, payload: Plain, rows: int, digest: int) -> tuple[Envelope, ...]:
        """Number and retain the next batch of this output (U1)."""
        if channel in self.cut_off:
            return ()
        self.sent[channel] += 1
        batch = BatchHandle(self.sent[channel], rows, digest, payload)
        if channel in self.retained:
            self.kept[channel].append(batch)
        return (self._envelope(channel, batch),)

    def broadcast(self, item: Barrier | CancelMarker) -> tuple[Envelope, ...]:
        """Send an element to every receiver (U4)."""
        return tuple(self._envelope(channel, item) for channel in self.channels if channel not in self.cut_off)

    def peer_restarted(self, channel: Channel, epoch: int, after: int | None) -> tuple[Envelope, ...]:
        """The receiver restarts: send the retained batches after this number again, if it needs any (U3)."""
        if epoch <= self.epochs.get(channel, epoch - 1):
            return ()
        self.epochs[channel] = epoch
        if after is None:
            return ()
        return tuple(self._envelope(channel, batch) for batch in self.kept[channel] if batch.number > after)

    def cut(self, vertices: Collection[str]) -> None:
        """Cut the outputs to isolated vertices (U4)."""
        self.cut_off.update(channel for channel in self.channels if channel.receiver.vertex in vertices)

    def forget(self, sent: Mapping[Channel, int]) -> None:
        """Drop retained batches up to these numbers of a completed checkpoint (U2)."""
        for channel, number in sent.items():
            kept = self.kept[channel]
            while kept and kept[0].number <= number:
                kept.popleft()

    def _envelope(self, channel: Channel, item: Item) -> Envelope:
        return Envelope(channel, self.epoch, self.epochs.get(channel, 0), item)
