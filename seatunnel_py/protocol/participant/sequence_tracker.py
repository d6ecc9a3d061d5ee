"""Book-keeping of the numbers on one input channel: what came, what is missing, what came twice.

Rules. (D1) Numbers have no gaps: the next one is accepted, a later one is a gap and fatal (I23). (D2) A number that was
received is dropped, whoever sends it again (I2). (D3) It is dropped only with the rows that it had: other rows, or
another count of them, are an alarm and never silence (I22). (D4) What was received up to the newest completed
checkpoint need not be known any longer: no restart re-emits it (I50).

May not know: epochs, queues, checkpoints, and whose numbers these are.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from seatunnel_py.protocol.model.stream_elements import BatchHandle


class SequenceVerdict(StrEnum):
    """What to do with a batch that arrived."""

    ACCEPT = "accept"
    DROP = "drop"
    GAP = "gap"
    CHANGED = "changed"


class SequenceTracker:
    """The numbers of one channel. ``received`` is the highest one, and all below it came before."""

    __slots__ = ("_known", "received")

    def __init__(self, applied: int = 0, channel_state: Iterable[BatchHandle] = ()) -> None:
        """A life begins: ``applied`` is in its state, ``channel_state`` waits in its queue (I25)."""
        self.received = applied
        self._known: dict[int, tuple[int, int]] = {}
        for batch in channel_state:
            self._remember(batch)

    def judge(self, batch: BatchHandle) -> SequenceVerdict:
        """What this batch is. Changes nothing."""
        if batch.number > self.received + 1:
            return SequenceVerdict.GAP
        if batch.number > self.received:
            return SequenceVerdict.ACCEPT
        content = (batch.rows, batch.digest)
        # An unknown one was received before the newest completed checkpoint, or by an earlier life (D4).
        return SequenceVerdict.DROP if self._known.get(batch.number, content) == content else SequenceVerdict.CHANGED

    def receive(self, batch: BatchHandle) -> SequenceVerdict:
        """As ``judge``, and an accepted batch is received."""
        verdict = self.judge(batch)
        if verdict is SequenceVerdict.ACCEPT:
            self._remember(batch)
        return verdict

    def forget(self, applied: int) -> None:
        """A checkpoint that had applied up to this number is completed (D4)."""
        for number in [number for number in self._known if number <= applied]:
            del self._known[number]

    @property
    def remembered(self) -> int:
        """How many contents are kept: bounded by what comes between two checkpoints (I50)."""
        return len(self._known)

    def _remember(self, batch: BatchHandle) -> None:
        self.received = batch.number
        self._known[batch.number] = (batch.rows, batch.digest)
