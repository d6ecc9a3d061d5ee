"""What a subtask knows, over its lives and inside one of its snapshots."""

from __future__ import annotations

from seatunnel_py.protocol.model.stream_elements import Barrier
from seatunnel_py.protocol.participant import messages as msg
from tests.protocol.desk import DOWN, LEFT, RIGHT, Desk, acknowledged, batch, words


def test_a_unit_behind_the_cut_does_not_show_in_the_snapshot() -> None:
    """Q2, I19: neither its state, nor what it took, sent and staged, though it ends before the acknowledgement."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), Barrier(1, unaligned=True))
    desk.unit((DOWN, "a"), state="before", pieces=["before"])
    desk.arrive(LEFT, batch(2))
    desk.unit((DOWN, "b"), state="behind", pieces=["behind"])
    snapshot = acknowledged(desk.arrive(RIGHT, Barrier(1, unaligned=True)))

    assert (snapshot.state, snapshot.taken) == ("before", 1)
    assert (snapshot.applied, snapshot.sent) == ({LEFT: 1, RIGHT: 0}, {DOWN: 1})
    assert [piece.name for piece in snapshot.pieces] == ["before"]


def test_the_start_of_an_earlier_life_starts_nothing() -> None:
    """S2, I37: it was under way when the next life was restored."""
    desk = Desk(start=False)
    desk.restore(epoch=2)
    desk.arrive(LEFT, batch(1))

    assert desk.put(msg.Started(0.0, 1, 1)) == []
    assert desk.participant.stale == 1
    assert words(desk.put(msg.Started(0.0, 1, 2))) == ["RunUnit"]
