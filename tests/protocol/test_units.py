"""What a new life takes again of its journal (W6)."""

from __future__ import annotations

import pytest

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import BatchHandle, JournalUse, SubtaskSnapshot, TakenInput
from seatunnel_py.protocol.participant.unit_log import retaken

A, B = (Channel(edge, Subtask("src", edge), Subtask("map")) for edge in range(2))
JOURNAL = (TakenInput(1, A, 1), TakenInput(2, B, 1), TakenInput(3, A, 2), TakenInput(4, B, 2))


def holding(*batches: tuple[Channel, int]) -> SubtaskSnapshot:
    state = {channel: tuple(BatchHandle(number) for at, number in batches if at == channel) for channel in (A, B)}
    return SubtaskSnapshot(channel_state=state)


@pytest.mark.parametrize(
    ("use", "snapshot", "again"),
    [
        (JournalUse.WHOLE, None, 4),
        (JournalUse.WHOLE, holding(), 4),
        (JournalUse.VOID, holding((A, 1), (B, 1)), 0),
        (JournalUse.HELD, None, 0),
        (JournalUse.HELD, holding(), 0),
        (JournalUse.HELD, holding((A, 1)), 1),
        (JournalUse.HELD, holding((A, 1), (A, 2)), 1),
        (JournalUse.HELD, holding((A, 1), (A, 2), (B, 1)), 3),
        (JournalUse.HELD, holding((A, 1), (A, 2), (A, 3), (B, 1), (B, 2)), 4),
    ],
)
def test_units_are_taken_again_as_far_as_what_they_took_is_there(
    use: JournalUse, snapshot: SubtaskSnapshot | None, again: int
) -> None:
    """W6: without a gap, from the first."""
    assert retaken(use, snapshot, JOURNAL) == JOURNAL[:again]


def test_a_range_of_a_source_is_held_by_nobody() -> None:
    """W6: only what lies in a channel was kept."""
    journal = (TakenInput(1, range=[0, 5]),)

    assert retaken(JournalUse.HELD, SubtaskSnapshot(), journal) == ()
    assert retaken(JournalUse.WHOLE, SubtaskSnapshot(), journal) == journal
