"""One subtask's way through one checkpoint, and which ids are dead."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import Barrier, BatchHandle, Item, Operation
from seatunnel_py.protocol.participant.alignment import TRANSITIONS, Alignment, LocalCheckpoints, Phase, Signal

HERE = Subtask("here")
LEFT, RIGHT, BACK = (Channel(edge, Subtask(name), HERE) for edge, name in enumerate(["left", "right", "back"]))
EMPTY: Mapping[Channel, tuple[Item, ...]] = {LEFT: (), RIGHT: (), BACK: ()}


def aligning(*reached: Channel, checkpoint: int = 1) -> Alignment:
    """Inputs left and right are awaited, back is a back-edge."""
    alignment = Alignment(checkpoint, Operation(), (LEFT, RIGHT, BACK), (LEFT, RIGHT))
    for channel in reached:
        alignment.reached(channel)
    return alignment


def batches(*numbers: int) -> tuple[BatchHandle, ...]:
    return tuple(BatchHandle(number) for number in numbers)


# ---------------------------------------------------------------- the table


ENDS = {Phase.ACKNOWLEDGED, Phase.GIVEN_UP}


def test_every_phase_can_be_reached_and_left() -> None:
    """No dead ends but the two ends, and every phase that is under way can be called off (I13)."""
    assert set(TRANSITIONS.values()) == set(Phase) - {Phase.IDLE}
    assert {phase for phase, _ in TRANSITIONS} == set(Phase) - ENDS
    for phase in (Phase.ALIGNING, Phase.DUE, Phase.RECORDING):
        assert TRANSITIONS[phase, Signal.CALLED_OFF] is Phase.GIVEN_UP


@pytest.mark.parametrize("end", sorted({Phase.IDLE, *ENDS}))
def test_what_is_not_in_the_table_is_an_error(end: Phase) -> None:
    """A checkpoint that is over, or has not begun, cannot be called off."""
    alignment = aligning()
    alignment.phase = end

    with pytest.raises(KeyError):
        alignment.call_off()


# ---------------------------------------------------------------- aligned


def test_inputs_wait_one_by_one_until_all_awaited_are_there() -> None:
    """O3.1, A1: only the input whose barrier was reached is held back."""
    alignment = aligning(LEFT)

    assert alignment.blocked == {LEFT}
    assert alignment.missing == (RIGHT,)
    assert not alignment.all_reached

    alignment.reached(RIGHT)

    assert alignment.all_reached
    assert alignment.missing == ()


def test_an_aligned_cut_has_no_channel_state() -> None:
    """O3.1, I8: what stands behind the barriers is not part of the cut."""
    alignment = Alignment(1, Operation(), (LEFT, RIGHT), (LEFT, RIGHT))
    alignment.reached(LEFT)
    alignment.reached(RIGHT)
    alignment.cut({LEFT: batches(4, 5), RIGHT: batches(7)}, unaligned=False)

    assert alignment.due
    assert alignment.blocked == {LEFT, RIGHT}

    alignment.snapshot_taken()

    assert alignment.complete
    assert alignment.blocked == frozenset()
    assert alignment.recorded == {}
    alignment.acknowledged()
    assert alignment.phase is Phase.ACKNOWLEDGED


def test_between_cut_and_snapshot_no_input_is_read() -> None:
    """A5: not even a back-edge, for what it gives would be in the state and in the recording."""
    alignment = aligning(LEFT, RIGHT)
    alignment.cut(EMPTY, unaligned=False)

    assert alignment.blocked == {LEFT, RIGHT, BACK}


def test_a_source_waits_for_nobody() -> None:
    """O4.6: the trigger is all that it needs."""
    alignment = Alignment(1, Operation(), (), ())
    alignment.cut({}, unaligned=False)
    alignment.snapshot_taken()

    assert alignment.complete


# ---------------------------------------------------------------- back-edges


def test_a_back_edge_is_recorded_until_its_barrier_comes_round() -> None:
    """O3.2, I47: what is queued at the snapshot, and what arrives until the barrier."""
    alignment = aligning(LEFT, RIGHT)
    alignment.cut({**EMPTY, BACK: batches(1)}, unaligned=False)
    alignment.record(BACK, BatchHandle(2))
    alignment.snapshot_taken()
    alignment.record(BACK, BatchHandle(3))
    alignment.record(LEFT, BatchHandle(9))

    assert not alignment.complete
    assert alignment.missing == (BACK,)
    assert alignment.blocked == frozenset()

    alignment.arrived(BACK)
    alignment.record(BACK, BatchHandle(4))

    assert alignment.complete
    assert alignment.recorded == {BACK: batches(1, 2, 3)}


def test_a_back_edge_that_is_early_is_held_back_and_not_recorded() -> None:
    """A2: its barrier came before the own snapshot, so what follows it is behind the cut."""
    alignment = aligning(LEFT, BACK)

    assert alignment.blocked == {LEFT, BACK}
    assert alignment.missing == (RIGHT,)

    alignment.reached(RIGHT)
    alignment.cut({**EMPTY, BACK: batches(5)}, unaligned=False)
    alignment.snapshot_taken()

    assert alignment.complete
    assert alignment.recorded == {}


# ---------------------------------------------------------------- unaligned


def test_an_unaligned_barrier_cuts_at_once() -> None:
    """A3, A4: everything that is queued is recorded; the inputs without a barrier until theirs arrives."""
    alignment = aligning()
    alignment.cut({LEFT: batches(3, 4), RIGHT: batches(8), BACK: ()}, unaligned=True, arrived=LEFT)
    alignment.snapshot_taken()
    alignment.record(LEFT, BatchHandle(5))
    alignment.record(RIGHT, BatchHandle(9))
    alignment.arrived(RIGHT)
    alignment.record(RIGHT, BatchHandle(10))

    assert alignment.unaligned
    assert alignment.missing == (BACK,)

    alignment.arrived(BACK)

    assert alignment.complete
    assert alignment.recorded == {LEFT: batches(3, 4), RIGHT: batches(8, 9)}


def test_a_late_alignment_becomes_an_unaligned_cut() -> None:
    """The switch after a time-out: reached inputs have no channel state, a queued barrier ends the state of its
    input, and an older barrier in the queue means nothing."""
    alignment = aligning(LEFT, checkpoint=2)
    right = (BatchHandle(5), Barrier(1), BatchHandle(6), Barrier(2), BatchHandle(7))
    alignment.cut({LEFT: batches(4), RIGHT: right, BACK: batches(9)}, unaligned=True)
    alignment.snapshot_taken()

    assert alignment.missing == (BACK,)
    assert alignment.recorded == {RIGHT: batches(5, 6), BACK: batches(9)}


# ---------------------------------------------------------------- which ids are dead


def begun(checkpoint: int, newest: int = 0) -> LocalCheckpoints:
    checkpoints = LocalCheckpoints(newest)
    alignment = aligning(LEFT, checkpoint=checkpoint)
    checkpoints.begin(alignment)
    return checkpoints


def dead(checkpoints: LocalCheckpoints, among: int = 8) -> list[int]:
    return [checkpoint for checkpoint in range(1, among + 1) if checkpoints.is_dead(checkpoint)]


def test_what_is_under_way_is_alive_and_what_is_older_is_not() -> None:
    """A8: ids only grow."""
    checkpoints = begun(4)

    assert dead(checkpoints) == [1, 2, 3]
    assert checkpoints.under_way(4) is checkpoints.current
    assert checkpoints.under_way(5) is None


def test_an_acknowledged_checkpoint_is_dead_here() -> None:
    checkpoints = begun(4)
    assert checkpoints.current is not None
    checkpoints.current.cut(EMPTY, unaligned=True)
    checkpoints.current.snapshot_taken()

    assert checkpoints.end().phase is Phase.ACKNOWLEDGED
    assert checkpoints.current is None
    assert dead(checkpoints) == [1, 2, 3, 4]


def test_a_newer_one_ends_an_older_one() -> None:
    """A7, O4.8."""
    checkpoints = begun(4)
    older = checkpoints.begin(aligning(RIGHT, checkpoint=6))

    assert older is not None
    assert (older.checkpoint, older.phase) == (4, Phase.GIVEN_UP)
    assert dead(checkpoints) == [1, 2, 3, 4, 5]


def test_calling_off_kills_exactly_that_one() -> None:
    """I13: an abort may come before the barriers, out of order, and twice; another checkpoint stays as it is."""
    checkpoints = begun(4)
    for checkpoint in (6, 2, 6):
        checkpoints.call_off(checkpoint)

    assert checkpoints.under_way(4) is not None
    assert dead(checkpoints) == [1, 2, 3, 6]

    checkpoints.call_off(4)

    assert checkpoints.current is None
    assert dead(checkpoints) == [1, 2, 3, 4, 6]


@pytest.mark.parametrize(("completed", "stays"), [(3, True), (4, False), (7, False)])
def test_a_completed_checkpoint_ends_what_is_not_newer(completed: int, stays: bool) -> None:
    """O4.10: older pending ones are subsumed; a late notice of an older one changes nothing."""
    checkpoints = begun(4)
    checkpoints.call_off(6)
    checkpoints.completed(completed)

    assert (checkpoints.under_way(4) is not None) is stays
    assert dead(checkpoints) == sorted({*range(1, max(3, completed) + 1), 6})


def test_what_was_called_off_is_remembered_only_as_long_as_needed() -> None:
    """I50: ids below the newest one need no memory of their own."""
    checkpoints = LocalCheckpoints()
    for checkpoint in range(1, 100):
        checkpoints.call_off(checkpoint)
    checkpoints.begin(aligning(LEFT, checkpoint=98))

    assert checkpoints._called_off == {99}
