"""The units of a subtask: one after the other, and after a restart first those of its journal.

Rules. (W1) Units run one at a time, without interruption (I7). (W2) The input of a unit is durable before its outputs
are sent and before the next unit starts (I39). (W3) After a restart the units of the journal are repeated in
order, with their numbers, before any other; they are not logged twice. (W4) If a journal does not continue at the end
of the snapshot, the restore fails. (W5) A source that has ended or was stopped reads nothing.
(W6) If a part of the journal is void, only units whose input the snapshot contains are repeated:
they produce the same batches again, even if the senders do not (R10).

May not know: checkpoints, epochs, and batch numbers of outputs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import (
    NO_SNAPSHOT,
    BatchHandle,
    JournalUse,
    Plain,
    SubtaskSnapshot,
    TakenInput,
)
from seatunnel_py.protocol.participant.messages import UnitDone


@dataclass(slots=True)
class UnitEntry:
    """The running unit; ``replayed``: the journal already contains it; ``done``: its result, while its entry is
    logged."""

    number: int
    channel: Channel | None
    batch: BatchHandle | None
    replayed: bool
    done: UnitDone | None = None

    def entry(self, done: UnitDone) -> TakenInput:
        """The journal entry that must be durable before the outputs are sent."""
        if self.channel is None or self.batch is None:
            return TakenInput(self.number, range=done.range)
        return TakenInput(self.number, self.channel, self.batch.number)


def retaken(use: JournalUse, snapshot: SubtaskSnapshot | None, entries: Iterable[TakenInput]) -> tuple[TakenInput, ...]:
    """The journal entries after the snapshot that the next execution repeats (W6), in order."""
    if use is JournalUse.WHOLE:
        return tuple(entries)
    if use is JournalUse.VOID or snapshot is None:
        return ()
    held = {(channel, batch.number) for channel, batches in snapshot.channel_state.items() for batch in batches}
    return tuple(takewhile(lambda entry: (entry.channel, entry.batch) in held, entries))


class UnitLog:
    """The running unit and the replay of a subtask."""

    def __init__(self) -> None:
        self.restore(NO_SNAPSHOT, ())

    def restore(self, snapshot: SubtaskSnapshot, journal: Iterable[TakenInput]) -> bool:
        """Start an execution; return False if the journal does not match the snapshot (W4)."""
        self.state: Plain = snapshot.state
        self.taken = snapshot.taken
        self.ended = snapshot.ended
        self.stopped_by: int | None = None
        """The checkpoint after whose barrier nothing is read."""
        self.under_way: UnitEntry | None = None
        self.journal = deque(journal)
        return [entry.number for entry in self.journal] == [
            self.taken + step for step in range(1, len(self.journal) + 1)
        ]

    @property
    def replay(self) -> TakenInput | None:
        """The journal entry to repeat next (W3)."""
        return self.journal[0] if self.journal else None

    @property
    def finished(self) -> bool:
        """True if a source has read everything or was stopped (W5)."""
        return self.ended or self.stopped_by is not None

    def begin(self, channel: Channel | None = None, batch: BatchHandle | None = None) -> UnitEntry:
        """Start the next unit (W1)."""
        replayed = bool(self.journal)
        if replayed:
            self.journal.popleft()
        self.under_way = UnitEntry(self.taken + 1, channel, batch, replayed)
        return self.under_way

    def finish(self, done: UnitDone) -> tuple[UnitEntry, bool]:
        """End the running unit, whose entry is durable. Return it, and True if the source ends with it."""
        unit, self.under_way = self.under_way, None
        assert unit is not None, "a unit that is finished was under way"
        ends = done.ended and not self.ended
        self.state, self.taken, self.ended = done.state, unit.number, self.ended or done.ended
        return unit, ends
