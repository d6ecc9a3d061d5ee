"""Tracks the batch numbers of one input channel: new, repeated and missing ones.

Rules. (D1) Numbers have no gaps: the next one is accepted, a later one is a gap and fatal (I23). (D2) A received
number is dropped when it comes again (I2). (D3) It is dropped only if it has the same rows: other rows, or
another count, raise an alarm (I22). (D4) Contents up to the newest completed
checkpoint are forgotten, because no restart sends them again (I50).

May not know: epochs, queues, checkpoints, and the sender.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from seatunnel_py.protocol.model.stream_elements import BatchHandle


class SequenceVerdict(StrEnum):
    """Verdict on an arrived batch."""

    ACCEPT = "accept"
    DROP = "drop"
    GAP = "gap"
    CHANGED = "changed"


class SequenceTracker:
    """The numbers of one channel. ``received``: the highest one; all lower ones were received too."""

    __slots__ = ("_known", "received")

    def __init__(self, applied: int = 0, channel_state: Iterable[BatchHandle] = ()) -> None:
        """Start an execution: ``applied`` is in its state, ``channel_state`` waits in its queue (I25)."""
        self.received = applied
        self._known: dict[int, tuple[int, int]] = {}
        for batch in channel_state:
            self._remember(batch)

    def judge(self, batch: BatchHandle) -> SequenceVerdict:
        """Return the verdict on a batch, without a change."""
        if batch.number > self.received + 1:
            return SequenceVerdict.GAP
        if batch.number > self.received:
            return SequenceVerdict.ACCEPT
        content = (batch.rows, batch.digest)
        # An unknown one was received before the newest completed checkpoint, or in an earlier execution (D4).
        return SequenceVerdict.DROP if self._known.get(batch.number, content) == content else SequenceVerdict.CHANGED

    def receive(self, batch: BatchHandle) -> SequenceVerdict:
        """Like ``judge``, but count an accepted batch as received."""
        verdict = self.judge(batch)
        if verdict is SequenceVerdict.ACCEPT:
            self._remember(batch)
        return verdict

    def forget(self, applied: int) -> None:
        """Forget contents up to this applied number of a completed checkpoint (D4)."""
        for number in [number for number in self._known if number <= applied]:
            del self._known[number]

    @property
    def remembered(self) -> int:
        """Number of remembered contents, limited by the batches between two checkpoints (I50)."""
        return len(self._known)

    def _remember(self, batch: BatchHandle) -> None:
        self.received = batch.number
        self._known[batch.number] = (batch.rows, batch.digest)
