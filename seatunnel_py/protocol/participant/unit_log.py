"""What a subtask does between barriers: one unit after the other, and after a restart first those of its journal.

Rules. (W1) One unit at a time, and none is interrupted (I7). (W2) What a unit took is durable before what it made is
shown, and before the next one begins (I39). (W3) After a restart the units of the journal are taken again in their
order, with their numbers, before any other; they are not logged twice. (W4) A journal that does not go on where the
snapshot ends is not replayed: that restore has failed. (W5) A source that has ended or was told to stop takes nothing.
(W6) Of a journal that is no longer wholly true, units are taken again as far as the snapshot holds what they took:
these make the same batches again, whatever the senders now make (R10).

May not know: checkpoints, epochs, and the numbers of batches on outputs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import BatchHandle, JournalUse, Plain, SubtaskSnapshot, TakenInput
from seatunnel_py.protocol.participant.messages import UnitDone


@dataclass(slots=True)
class UnitEntry:
    """The unit under way; a ``replayed`` one stands in the journal; ``done`` is there while its entry is logged."""

    number: int
    channel: Channel | None
    batch: BatchHandle | None
    replayed: bool
    done: UnitDone | None = None

    def entry(self, done: UnitDone) -> TakenInput:
        """What the journal has to hold before its outputs are shown."""
        if self.channel is None or self.batch is None:
            return TakenInput(self.number, range=done.range)
        return TakenInput(self.number, self.channel, self.batch.number)


def retaken(use: JournalUse, snapshot: SubtaskSnapshot | None, entries: Iterable[TakenInput]) -> tuple[TakenInput, ...]:
    """What the next life takes again of the journal behind its snapshot (W6); the entries in their order."""
    if use is JournalUse.WHOLE:
        return tuple(entries)
    if use is JournalUse.VOID or snapshot is None:
        return ()
    held = {(channel, batch.number) for channel, batches in snapshot.channel_state.items() for batch in batches}
    return tuple(takewhile(lambda entry: (entry.channel, entry.batch) in held, entries))


class UnitLog:
    """State of the subtask's own work."""

    def __init__(self) -> None:
        self.restore(SubtaskSnapshot(), ())

    def restore(self, snapshot: SubtaskSnapshot, journal: Iterable[TakenInput]) -> bool:
        """A life begins; false if the journal does not fit (W4)."""
        self.state: Plain = snapshot.state
        self.taken = snapshot.taken
        self.ended = snapshot.ended
        self.stopped_by: int | None = None
        """The checkpoint behind whose barrier nothing more is read."""
        self.under_way: UnitEntry | None = None
        self.journal = deque(journal)
        return [entry.number for entry in self.journal] == [
            self.taken + step for step in range(1, len(self.journal) + 1)
        ]

    @property
    def replay(self) -> TakenInput | None:
        """The journal entry that has to be taken next (W3)."""
        return self.journal[0] if self.journal else None

    @property
    def finished(self) -> bool:
        """A source has nothing more to read (W5)."""
        return self.ended or self.stopped_by is not None

    def begin(self, channel: Channel | None = None, batch: BatchHandle | None = None) -> UnitEntry:
        """The next unit is under way (W1)."""
        replayed = bool(self.journal)
        if replayed:
            self.journal.popleft()
        self.under_way = UnitEntry(self.taken + 1, channel, batch, replayed)
        return self.under_way

    def finish(self, done: UnitDone) -> tuple[UnitEntry, bool]:
        """The unit under way is over, and its entry durable. Also true if the source ends with it."""
        unit, self.under_way = self.under_way, None
        assert unit is not None, "a unit that is finished was under way"
        ends = done.ended and not self.ended
        self.state, self.taken, self.ended = done.state, unit.number, self.ended or done.ended
        return unit, ends
