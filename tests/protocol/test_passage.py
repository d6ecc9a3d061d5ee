"""How one subtask lets checkpoints pass: triggers, barriers, markers, aborts, time-outs, operations."""

from __future__ import annotations

import pytest

from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.stream_elements import (
    Barrier,
    CancelMarker,
    Operation,
    OperationKind,
    SubtaskSnapshot,
    TakenInput,
)
from seatunnel_py.protocol.model.topology import Edge, Topology, Vertex
from seatunnel_py.protocol.participant import messages as msg
from seatunnel_py.protocol.stuck import SubtaskActivity
from tests.protocol.desk import (
    BACK,
    DOWN,
    HERE,
    LEFT,
    LOOP,
    RIGHT,
    SOURCE,
    STRAIGHT,
    TOPOLOGY,
    Desk,
    acknowledged,
    batch,
    items,
    taken,
    words,
)

STOP = Operation(OperationKind.STOP)

# ---------------------------------------------------------------- sources


def test_a_trigger_is_looked_at_between_units() -> None:
    """O2.1, G1, G2: nothing is interrupted; outputs, barrier, acknowledgement, next unit, in this order (O4.7)."""
    desk = Desk(SOURCE)

    assert desk.trigger(1) == []
    assert words(desk.done((LEFT, "a"), state=1)) == ["LogUnit"]

    said = desk.logged()

    assert words(said) == ["BatchHandle", "Barrier", "Acknowledge", "RunUnit"]
    assert acknowledged(said) == SubtaskSnapshot(state=1, sent={LEFT: 1}, taken=1)


def test_a_trigger_that_comes_again_does_nothing() -> None:
    """I9, F14: while it is remembered, and after it was answered."""
    desk = Desk(SOURCE)
    desk.trigger(1)

    assert desk.trigger(1) == []
    desk.unit()
    assert desk.trigger(1) == []
    assert desk.participant.stale == 2


def test_a_newer_trigger_waits_behind_one_that_is_due() -> None:
    """G7, O4.10: only a completed checkpoint makes an older one needless; both are taken when the unit has ended."""
    desk = Desk(SOURCE)
    desk.trigger(1)

    assert desk.trigger(2) == []
    said = desk.unit()
    assert words(said) == ["LogUnit", "Barrier", "Acknowledge", "Barrier", "Acknowledge", "RunUnit"]
    assert items(said) == [(LEFT, Barrier(1)), (LEFT, Barrier(2))]


def test_triggers_that_come_faster_than_units_end_lose_no_checkpoint() -> None:
    """G7: else each would give up the one before it, without end, and none would count as failed."""
    desk = Desk(SOURCE)
    for checkpoint in range(1, 7):
        assert desk.trigger(checkpoint) == []

    said = desk.unit()
    assert [one.checkpoint for one in said if isinstance(one, msg.Acknowledge)] == [1, 2, 3, 4, 5, 6]
    assert not [one for one in said if isinstance(one, msg.Decline)]


def test_a_trigger_that_waits_is_forgotten_with_its_checkpoint_and_with_its_life() -> None:
    """G7: what was given up meanwhile, was said twice, or is of a life that is over begins nothing."""
    desk = Desk(SOURCE)
    for checkpoint in (1, 2, 3, 3):
        desk.trigger(checkpoint)
    desk.abort(2)
    assert [item.checkpoint for _, item in items(desk.unit()) if isinstance(item, Barrier)] == [1, 3]

    desk.trigger(4)
    desk.trigger(5)
    desk.restore(epoch=2, checkpoint=3, peers={LEFT: 1})
    assert words(desk.start()) == ["RunUnit"]
    assert words(desk.unit()) == ["LogUnit", "RunUnit"]


def test_an_initiator_with_inputs_gives_up_what_it_still_records_for_a_newer_trigger() -> None:
    """O4.8: its snapshot is taken, and the barriers of the older one may never come."""
    desk = Desk()
    desk.trigger(1)

    assert desk.trigger(2)[0] == msg.Decline(HERE, 1, 1, 1, Reason.SUBSUMED)


@pytest.mark.parametrize("failed", [False, True], ids=["restoring", "failed"])
def test_a_source_that_does_not_run_cancels(failed: bool) -> None:
    """O4.7, G1: nobody downstream need wait, and the coordinator hears of it; also when it runs by then."""
    desk = Desk(SOURCE, start=failed)
    if failed:
        desk.put(msg.UnitFailed(0.0, 1, 1))
    said = desk.trigger(4)

    assert items(said) == [(LEFT, CancelMarker(4))]
    assert said[-1] == msg.Decline(SOURCE, 1, 1, 4, Reason.NOT_RUNNING)
    assert desk.trigger(4) == []


def test_an_initiator_with_inputs_records_them() -> None:
    """Chandy-Lamport in general: any subtask may start; its inputs are recorded until their barriers arrive."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), batch(2))
    said = [*desk.trigger(1), *desk.unit()]

    assert items(said) == [(DOWN, Barrier(1, unaligned=True))]
    desk.arrive(RIGHT, batch(1), Barrier(1, unaligned=True))
    snapshot = acknowledged(desk.arrive(LEFT, Barrier(1, unaligned=True)))
    assert snapshot.applied == {LEFT: 1, RIGHT: 0}
    assert snapshot.channel_state == {LEFT: (batch(2),), RIGHT: (batch(1),)}


# ---------------------------------------------------------------- aligned


def test_only_the_input_with_the_barrier_waits() -> None:
    """O3.1, A1: the state holds what came before the barriers, of both inputs, and nothing else."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), Barrier(1), batch(2))

    assert taken(desk.unit((DOWN, "a"), state="L1")) == []
    assert taken(desk.arrive(RIGHT, batch(1))) == [(RIGHT, 1)]
    desk.unit((DOWN, "b"), state="L1R1")
    said = desk.arrive(RIGHT, Barrier(1))

    assert words(said) == ["Barrier", "Acknowledge", "RunUnit"]
    assert taken(said) == [(LEFT, 2)]
    assert acknowledged(said) == SubtaskSnapshot("L1R1", {LEFT: 1, RIGHT: 1}, {DOWN: 2}, taken=2)


def test_the_snapshot_waits_for_the_unit_under_way() -> None:
    """I7: barriers pass between units."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), Barrier(1))

    assert desk.arrive(RIGHT, Barrier(1)) == []
    assert words(desk.unit()) == ["LogUnit", "Barrier", "Acknowledge"]


def test_barriers_that_wait_behind_one_another_pass_in_one_go() -> None:
    """O4.11: several checkpoints in flight."""
    desk = Desk()
    desk.arrive(LEFT, Barrier(1), Barrier(2))

    assert words(desk.arrive(RIGHT, Barrier(1), Barrier(2))) == ["Barrier", "Acknowledge"] * 2


def test_a_back_edge_belongs_to_the_cut() -> None:
    """O3.2, I47: from the own snapshot until the barrier comes round; what is recorded is processed all the same."""
    desk = Desk(topology=TOPOLOGY)
    desk.arrive(LEFT, Barrier(1))
    desk.arrive(BACK, batch(1), batch(2))
    desk.arrive(RIGHT, Barrier(1))
    said = desk.unit((LOOP, "x"))

    assert words(said) == ["LogUnit", "BatchHandle", "Barrier", "Barrier", "RunUnit"]
    desk.arrive(BACK, batch(3))
    desk.unit()
    snapshot = acknowledged(desk.arrive(BACK, Barrier(1)))
    assert snapshot.applied[BACK] == 1
    assert snapshot.channel_state == {BACK: (batch(2), batch(3))}
    assert snapshot.sent == {DOWN: 0, LOOP: 1}


def test_a_newer_barrier_ends_an_older_alignment() -> None:
    """O4.8, A7: the older one is declined, its inputs are read again, its late barrier is swallowed."""
    desk = Desk()
    desk.arrive(LEFT, Barrier(1), batch(1))
    said = desk.arrive(RIGHT, Barrier(2))

    assert said == [msg.Decline(HERE, 1, 1, 1, Reason.SUBSUMED), msg.RunUnit(HERE, 1, 1, None, LEFT, batch(1))]
    desk.unit()
    assert desk.arrive(RIGHT, Barrier(1)) == []
    assert acknowledged(desk.arrive(LEFT, Barrier(2))).applied == {LEFT: 1, RIGHT: 0}


def test_an_abort_unblocks_and_is_not_passed_on() -> None:
    """I13, F21, G3: no input stays held back, and a late barrier of it is swallowed."""
    desk = Desk()
    desk.arrive(LEFT, Barrier(1), batch(1))

    assert desk.abort(1) == [msg.RunUnit(HERE, 1, 1, None, LEFT, batch(1))]
    assert desk.arrive(RIGHT, Barrier(1)) == []
    assert desk.participant.queued[RIGHT] == 0


def test_an_unaligned_barrier_of_a_dead_id_is_swallowed_on_arrival() -> None:
    """F21: there is no queue in which it could wait for its end; obeyed, it would cut after the abort."""
    desk = Desk()
    desk.abort(1)

    assert desk.arrive(LEFT, Barrier(1, unaligned=True)) == []
    assert desk.participant.checkpoint is None


def test_barriers_that_die_in_a_queue_are_swallowed_when_they_are_reached() -> None:
    """F21: the abort comes while the barrier waits behind a batch."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), batch(2), Barrier(1), batch(3))
    desk.abort(1)

    assert [taken(desk.unit()), taken(desk.unit())] == [[(LEFT, 2)], [(LEFT, 3)]]


def test_a_cancel_marker_is_passed_on_once() -> None:
    """G3, O4.7: it ends the waiting here and everywhere behind; its barriers are swallowed afterwards (F21)."""
    desk = Desk()
    desk.arrive(LEFT, Barrier(3), batch(1))
    said = desk.arrive(RIGHT, CancelMarker(3))

    assert items(said) == [(DOWN, CancelMarker(3))]
    assert taken(said) == [(LEFT, 1)]
    assert desk.arrive(LEFT, CancelMarker(3)) == []
    assert desk.arrive(RIGHT, Barrier(3)) == []
    assert desk.participant.checkpoint is None


def test_a_completed_newer_checkpoint_ends_an_older_one_here() -> None:
    """O4.10: it can never complete, so nothing is held back for it."""
    desk = Desk()
    desk.arrive(LEFT, Barrier(1), batch(1))

    assert taken(desk.complete(2)) == [(LEFT, 1)]


def test_a_replay_does_not_wait_behind_a_barrier() -> None:
    """G4: the journal wants what stands behind the barrier, and the barrier would wait for the journal."""
    desk = Desk(restored=False)
    desk.restore(journal=[TakenInput(1, LEFT, 1), TakenInput(2, RIGHT, 1)])
    desk.start()
    desk.arrive(RIGHT, batch(1))
    assert (desk.participant.waiting_on.doing, desk.participant.waiting_on.channels) == (
        SubtaskActivity.REPLAYING,
        (LEFT,),
    )
    said = desk.arrive(LEFT, Barrier(1), batch(1))

    assert items(said) == [(DOWN, CancelMarker(1))]
    assert msg.Decline(HERE, 1, 1, 1, Reason.NOT_RUNNING) in said
    assert taken(said) == [(LEFT, 1)]


# ---------------------------------------------------------------- unaligned, and the switch


def test_an_unaligned_barrier_overtakes_what_is_queued() -> None:
    """Obeyed when it arrives: the unit under way is in the state, what is queued is channel state, nothing between."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), batch(2))
    desk.arrive(RIGHT, batch(1))

    assert desk.arrive(LEFT, Barrier(1, unaligned=True)) == []

    said = desk.unit((DOWN, "a"), state="L1")

    assert words(said) == ["LogUnit", "BatchHandle", "Barrier", "RunUnit"]
    assert items(said)[-1] == (DOWN, Barrier(1, unaligned=True))
    desk.arrive(RIGHT, batch(2))
    snapshot = acknowledged(desk.arrive(RIGHT, Barrier(1)))
    assert (snapshot.state, snapshot.applied, snapshot.sent) == ("L1", {LEFT: 1, RIGHT: 0}, {DOWN: 1})
    assert snapshot.channel_state == {LEFT: (batch(2),), RIGHT: (batch(1), batch(2))}


def test_an_alignment_that_takes_too_long_is_cut() -> None:
    """The switch: the reached input has no channel state, and the barrier goes on as an unaligned one."""
    desk = Desk(timeout=10.0)
    desk.arrive(RIGHT, batch(1))
    said = desk.arrive(LEFT, Barrier(1), batch(1))
    assert said == [msg.TimeAlignment(HERE, 1, 1, 10.0)]
    desk.unit()
    desk.arrive(RIGHT, batch(2))

    desk.put(msg.AlignmentTimedOut(0.0, 1, 1))
    said = desk.unit()

    assert items(said) == [(DOWN, Barrier(1, unaligned=True))]
    assert acknowledged(desk.arrive(RIGHT, Barrier(1))).channel_state == {}


def test_a_barrier_in_a_full_queue_is_timed_too() -> None:
    """G6, F19: back-pressure is what unaligned checkpoints are for. The barrier that was overtaken is swallowed."""
    desk = Desk(timeout=10.0)
    said = desk.arrive(LEFT, batch(1), batch(2), Barrier(1))
    said += desk.arrive(RIGHT, batch(1), Barrier(1), batch(2))
    assert said.count(msg.TimeAlignment(HERE, 1, 1, 10.0)) == 1

    desk.put(msg.AlignmentTimedOut(0.0, 1, 1))
    said = desk.unit()

    assert acknowledged(said).channel_state == {LEFT: (batch(2),), RIGHT: (batch(1),)}
    assert [taken(said), taken(desk.unit()), taken(desk.unit())] == [[(RIGHT, 1)], [(LEFT, 2)], [(RIGHT, 2)]]


@pytest.mark.parametrize("timeout", [-1.0, 0.0])
def test_without_a_time_out_nothing_is_timed(timeout: float) -> None:
    desk = Desk(timeout=timeout)

    assert desk.arrive(LEFT, Barrier(1)) == []


def test_a_barrier_reached_after_the_cut_has_counted_already() -> None:
    """The cut saw it in the queue; reaching it while other inputs are recorded is nothing new."""
    desk = Desk(timeout=10.0)
    desk.arrive(LEFT, batch(1), Barrier(1), batch(2))
    desk.put(msg.AlignmentTimedOut(0.0, 1, 1))

    assert taken(desk.unit()) == [(LEFT, 2)]
    assert desk.participant.checkpoint == 1


@pytest.mark.parametrize(
    "case", ["not started", "cut already", "another under way", "another queued", "not there", "dead"]
)
def test_a_time_out_that_comes_too_late_does_nothing(case: str) -> None:
    desk = Desk(timeout=10.0, start=case != "not started")
    if case == "another under way":
        desk.arrive(LEFT, Barrier(1), Barrier(2))
    elif case == "another queued":
        desk.arrive(LEFT, batch(1), batch(2), Barrier(3))
    elif case != "not there":
        desk.arrive(LEFT, batch(1), batch(2), Barrier(2))
    if case == "cut already":
        desk.put(msg.AlignmentTimedOut(0.0, 1, 2))
    if case == "dead":
        desk.abort(2)
    before = desk.participant.checkpoint

    assert desk.put(msg.AlignmentTimedOut(0.0, 1, 2)) == []
    assert desk.participant.checkpoint == before
    assert desk.participant.stale == 1


def test_an_unaligned_barrier_turns_an_alignment_into_a_cut() -> None:
    """A sender that has switched takes its receivers along."""
    desk = Desk()
    desk.arrive(LEFT, Barrier(1))
    said = desk.arrive(RIGHT, Barrier(1, unaligned=True))

    assert words(said) == ["Barrier", "Acknowledge"]
    assert items(said) == [(DOWN, Barrier(1, unaligned=True))]


# ---------------------------------------------------------------- operations


def test_behind_a_stop_nothing_is_read() -> None:
    """I44, G5: it goes on answering; a stop that is called off is no stop, another abort changes nothing."""
    desk = Desk(SOURCE)
    desk.trigger(1, STOP)

    assert words(desk.unit((LEFT, "a"))) == ["LogUnit", "BatchHandle", "Barrier", "Acknowledge"]
    assert words(desk.trigger(2)) == ["Barrier", "Acknowledge"]
    assert desk.abort(2) == []
    assert words(desk.abort(1)) == ["RunUnit"]


def test_a_speed_is_remembered_and_passed_on() -> None:
    """O6.2, Q3: also over a restart."""
    desk = Desk()
    speed = Operation(OperationKind.SPEED, 500)
    desk.arrive(LEFT, Barrier(1, speed))

    assert items(desk.arrive(RIGHT, Barrier(1, speed))) == [(DOWN, Barrier(1, speed))]
    desk.restore(epoch=2, checkpoint=1)
    assert desk.participant.speed == 500


@pytest.mark.parametrize("kind", [OperationKind.SCHEMA_CHANGE, OperationKind.ADD, OperationKind.REMOVE])
def test_other_operations_are_passed_on(kind: OperationKind) -> None:
    """O6.2: and cut nothing off here, whatever they name."""
    desk = Desk(SOURCE)
    desk.trigger(1, Operation(kind, "here"))

    assert items(desk.unit()) == [(LEFT, Barrier(1, Operation(kind, "here")))]
    assert words(desk.unit((LEFT, "a"))) == ["LogUnit", "BatchHandle", "RunUnit"]
    assert desk.participant.speed is None


ISOLATE_RIGHT = Operation(OperationKind.ISOLATE, ["right"])


def test_an_isolated_sender_is_not_waited_for() -> None:
    """N4: what it sent and was not applied does not count; later envelopes of it are dropped."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), Barrier(1, ISOLATE_RIGHT))
    desk.arrive(RIGHT, batch(1), batch(2))
    snapshot = acknowledged(desk.unit())

    assert snapshot.applied == {LEFT: 1, RIGHT: 0}
    assert desk.participant.queued[RIGHT] == 0
    assert desk.arrive(RIGHT, batch(3)) == []
    assert words(desk.arrive(LEFT, Barrier(2))) == ["Barrier", "Acknowledge"]


def test_nothing_is_sent_to_isolated_receivers() -> None:
    """U4: behind the barrier neither batches nor numbers nor barriers; others get theirs; several may leave together."""
    topology = Topology(
        tuple(Vertex(name) for name in ("left", "good", "bad", "worse")),
        (Edge("left", "good"), Edge("left", "bad"), Edge("left", "worse")),
    )
    good, bad, worse = topology.channels
    desk = Desk(SOURCE, topology)
    desk.trigger(1, Operation(OperationKind.ISOLATE, ["bad", "worse"]))

    assert [channel for channel, _ in items(desk.unit())] == [good, bad, worse]
    assert [channel for channel, _ in items(desk.unit((good, "a"), (bad, "a")))] == [good]
    desk.trigger(2)
    assert [channel for channel, _ in items(desk.unit())] == [good]
    assert desk.participant.sent == {good: 1, bad: 0, worse: 0}


def test_a_life_takes_part_in_the_channels_that_it_is_told_of() -> None:
    """Q3: who is left out is not named; a restart before the isolation was durable names everybody again."""
    desk = Desk(topology=STRAIGHT)
    desk.arrive(LEFT, Barrier(1, ISOLATE_RIGHT))
    without = dict.fromkeys((LEFT, DOWN), 1)
    desk.put(msg.Restored(0.0, 1, 2, 1, None, without, without))
    desk.start()
    assert words(desk.arrive(LEFT, Barrier(2))) == ["Barrier", "Acknowledge"]

    desk.restore(epoch=3, checkpoint=2)
    desk.start()
    assert words(desk.arrive(LEFT, Barrier(3))) == []
    assert words(desk.arrive(RIGHT, Barrier(3))) == ["Barrier", "Acknowledge"]
