"""Numbers of one channel: each once, in order, with the rows that it had."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.model.stream_elements import BatchHandle
from seatunnel_py.protocol.participant.sequence_tracker import SequenceTracker, SequenceVerdict


@pytest.mark.parametrize(
    ("received", "number", "digest", "expected"),
    [
        (0, 1, 1, SequenceVerdict.ACCEPT),
        (0, 2, 2, SequenceVerdict.GAP),
        (3, 4, 4, SequenceVerdict.ACCEPT),
        (3, 3, 3, SequenceVerdict.DROP),
        (3, 1, 1, SequenceVerdict.DROP),
        (3, 5, 5, SequenceVerdict.GAP),
        (3, 2, 99, SequenceVerdict.CHANGED),
    ],
)
def test_a_batch_is_judged_by_its_number_and_its_content(
    received: int, number: int, digest: int, expected: SequenceVerdict
) -> None:
    """I22, I23: the next one is accepted, a known one dropped if it is the same, anything else is an alarm."""
    ids = SequenceTracker()
    for earlier in range(1, received + 1):
        assert ids.receive(BatchHandle(earlier, rows=1, digest=earlier)) is SequenceVerdict.ACCEPT

    assert ids.judge(BatchHandle(number, rows=1, digest=digest)) is expected
    assert ids.receive(BatchHandle(number, rows=1, digest=digest)) is expected
    assert ids.received == received + (expected is SequenceVerdict.ACCEPT)


def test_the_count_of_rows_is_part_of_the_content() -> None:
    """I22: a digest that agrees by chance does not hide a lost row."""
    ids = SequenceTracker()
    ids.receive(BatchHandle(1, rows=2, digest=7))

    assert ids.judge(BatchHandle(1, rows=3, digest=7)) is SequenceVerdict.CHANGED


def test_what_a_completed_checkpoint_applied_is_forgotten() -> None:
    """D4, I50: memory is bounded by what comes between two checkpoints; a forgotten number is still dropped."""
    ids = SequenceTracker()
    for number in range(1, 6):
        ids.receive(BatchHandle(number, digest=number))
    ids.forget(3)

    assert ids.remembered == 2
    assert ids.judge(BatchHandle(3, digest=99)) is SequenceVerdict.DROP
    assert ids.judge(BatchHandle(4, digest=99)) is SequenceVerdict.CHANGED


def test_channel_state_was_received() -> None:
    """I23, I25: a life begins with what its snapshot applied and with what waits in its queue."""
    ids = SequenceTracker(4, [BatchHandle(5, digest=5), BatchHandle(6, digest=6)])

    assert ids.received == 6
    assert ids.judge(BatchHandle(4, digest=99)) is SequenceVerdict.DROP
    assert ids.judge(BatchHandle(6, digest=99)) is SequenceVerdict.CHANGED
    assert ids.judge(BatchHandle(7)) is SequenceVerdict.ACCEPT


@given(st.lists(st.integers(1, 8), max_size=40), st.integers(0, 4))
def test_every_number_is_accepted_once_and_in_order(numbers: list[int], applied: int) -> None:
    """I2, I3: whatever comes again, earlier or too early, what is accepted is the plain row of numbers."""
    ids = SequenceTracker(applied)
    accepted = [number for number in numbers if ids.receive(BatchHandle(number)) is SequenceVerdict.ACCEPT]

    assert accepted == list(range(applied + 1, applied + 1 + len(accepted)))
    assert ids.received == applied + len(accepted)
