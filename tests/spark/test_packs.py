"""Packs: order, size, and whom nobody wants to travel with."""

from __future__ import annotations

from seatunnel_py.spark.packs.pack_queue import UNITS_PER_PACK_MAX, PackQueue
from seatunnel_py.work.unit import Unit, UnitId


def queue_of(*costs: float, servers: int = 3) -> PackQueue:
    queue = PackQueue(servers)
    for number, cost in enumerate(costs):
        queue.put(Unit(UnitId("v", number), cost_seconds=cost))
    return queue


def sizes(queue: PackQueue) -> list[int]:
    found = []
    while len(queue):
        found.append(len(queue.take()))
    return found


def test_units_leave_in_the_order_in_which_they_came() -> None:
    """First in, first out, across packs."""
    queue = queue_of(*[0.05] * 30)

    taken = [unit.id.sequence for _ in range(30) for unit in queue.take()]

    assert taken == list(range(30))


def test_a_big_unit_travels_alone() -> None:
    """Nothing small waits behind it for its result."""
    assert sizes(queue_of(5.0, 5.0, 0.1, 5.0)) == [1, 1, 1, 1]


def test_small_units_share_a_pack_and_the_last_packs_are_small() -> None:
    """Much work is cut into whole packs; its end is shared out, so that the slots end together."""
    found = sizes(queue_of(*[0.01] * 1000))

    assert sum(found) == 1000
    assert min(found[:3]) > 90
    assert found[-3:] == sorted(found[-3:], reverse=True)
    assert len(found) < 30


def test_a_pack_is_bounded_however_little_its_units_cost() -> None:
    """A lost worker takes at most so many with it."""
    assert max(sizes(queue_of(*[0.0] * 1000))) == UNITS_PER_PACK_MAX


def test_a_suspect_runs_alone_in_every_later_attempt() -> None:
    """What killed its process once kills nobody else; its neighbours still share."""
    queue = queue_of()
    queue.suspect(UnitId("v", 1, attempt=0))
    for number in range(4):
        queue.put(Unit(UnitId("v", number, attempt=1), cost_seconds=0.01))

    assert [[unit.id.sequence for unit in queue.take()] for _ in range(3)] == [[0], [1], [2, 3]]


def test_a_waiting_unit_can_be_taken_out() -> None:
    """A cancelled unit leaves no trace in the packs that follow."""
    queue = queue_of(0.01, 0.01, 0.01)

    assert queue.remove(UnitId("v", 1))
    assert not queue.remove(UnitId("v", 1))
    assert [unit.id.sequence for unit in queue.take()] == [0, 2]


def test_nothing_waits_nothing_leaves() -> None:
    """An empty queue has no pack."""
    assert queue_of().take() == ()
