"""What a participant says that it may still need: whatever these refer to has to stay, the rest may go."""

from __future__ import annotations

from seatunnel_py.protocol.model.stream_elements import Barrier, BatchHandle
from tests.protocol.desk import DOWN, LEFT, RIGHT, Desk


def rows(number: int, payload: str) -> BatchHandle:
    return BatchHandle(number, 1, number, payload)


def held(desk: Desk) -> set[object]:
    return {one for one in desk.participant.holds() if one is not None}


def test_a_batch_is_held_from_its_arrival_until_the_unit_that_takes_it_is_logged() -> None:
    """In a queue, in the unit under way, and as what the unit gave until that is on its way."""
    desk = Desk()
    desk.arrive(LEFT, rows(1, "first"), rows(2, "second"))
    assert held(desk) == {"first", "second"}

    desk.done((DOWN, "given"), state="sum 1")
    assert held(desk) == {"first", "second", "given"}

    desk.logged()
    assert held(desk) == {"second", "given", "sum 1"}, "what was given is retained for whoever begins again"


def test_what_is_retained_and_states_of_snapshots_are_held_until_a_checkpoint_completes() -> None:
    desk = Desk()
    desk.arrive(LEFT, rows(1, "first"))
    desk.unit((DOWN, "given"), state="sum 1")
    desk.arrive(LEFT, Barrier(7))
    desk.arrive(RIGHT, Barrier(7), rows(1, "other"))
    desk.unit(state="sum 2")
    assert held(desk) == {"given", "sum 1", "sum 2"}

    desk.complete(7)

    assert held(desk) == {"sum 2"}


def test_what_a_barrier_overtook_is_held_by_its_recording() -> None:
    desk = Desk()
    desk.arrive(LEFT, Barrier(7, unaligned=True))
    desk.arrive(RIGHT, rows(1, "overtaken"))
    desk.unit(state="sum 1")
    assert held(desk) == {"overtaken", "sum 1"}

    desk.arrive(RIGHT, Barrier(7, unaligned=True))

    assert held(desk) == {"sum 1"}, "the acknowledgement has it now"


def test_what_comes_for_a_life_that_has_not_begun_is_held_for_it() -> None:
    desk = Desk()
    desk.arrive(LEFT, rows(1, "early"), receiver=2)

    assert held(desk) == {"early"}
