"""One participant: its lives, its units, what it emits when, and what it drops."""

from __future__ import annotations

import pytest

from seatunnel_py.protocol.model.lifecycle import ExecutionState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.stream_elements import (
    Barrier,
    BatchHandle,
    Envelope,
    StagedPiece,
    SubtaskSnapshot,
    TakenInput,
)
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
    TOPOLOGY,
    Desk,
    acknowledged,
    batch,
    items,
    taken,
    words,
)

# ---------------------------------------------------------------- lives


def test_nothing_runs_before_the_start() -> None:
    """S1, O5.4: a restored subtask says that it is ready, queues what arrives, and waits for the others."""
    desk = Desk(restored=False)

    assert words(desk.restore()) == ["ReportReady"]
    assert desk.arrive(LEFT, batch(1)) == []
    assert taken(desk.start()) == [(LEFT, 1)]


def test_answers_that_may_be_lost_are_given_again() -> None:
    """S3: a second restore of the same life changes nothing; after the start it is one of the past."""
    desk = Desk(start=False)
    desk.arrive(LEFT, batch(1))

    assert words(desk.restore()) == ["ReportReady"]
    assert desk.participant.queued[LEFT] == 1

    desk.start()

    assert desk.restore() == []
    assert desk.start() == []
    assert desk.participant.stale == 2


def test_a_failed_life_says_so_until_another_begins() -> None:
    """S1: whatever the coordinator says is answered with the failure, for the report may have been lost."""
    desk = Desk()
    desk.arrive(LEFT, batch(1))
    failed = desk.put(msg.UnitFailed(0.0, 1, 1, Reason.UNIT_FAILED))

    assert failed == [msg.ReportFailed(HERE, 1, 1, Reason.UNIT_FAILED)]
    assert desk.abort(1) == failed
    assert desk.arrive(LEFT, batch(2)) == []
    assert desk.put(msg.UnitDone(0.0, 1, 1, None)) == []
    assert desk.participant.stale == 2

    desk.restore(epoch=2)

    assert taken([*desk.start(), *desk.arrive(LEFT, batch(1))]) == [(LEFT, 1)]


STALE: list[msg.ParticipantEvent] = [
    msg.Triggered(0.0, 1, 1, 5),
    msg.Triggered(0.0, 0, 2, 5),
    msg.CheckpointCompleted(0.0, 0, 5),
    msg.CheckpointCompleted(0.0, 1, 4),
    msg.CheckpointAborted(0.0, 0, 5),
    msg.PeerRestarted(0.0, 0, {}),
    msg.Restored(0.0, 1, 1, 0, None, {}, {}),
    msg.Restored(0.0, 0, 9, 0, None, {}, {}),
    msg.Started(0.0, 1, 1),
    msg.Started(0.0, 0, 2),
    msg.UnitDone(0.0, 1, 7, None),
    msg.UnitDone(0.0, 2, 6, None),
    msg.UnitFailed(0.0, 1, 7),
    msg.UnitFailed(0.0, 2, 6),
    msg.UnitLogged(0.0, 1, 7),
    msg.AlignmentTimedOut(0.0, 1, 5),
    msg.AlignmentTimedOut(0.0, 2, 4),
    msg.Arrived(0.0, Envelope(LEFT, 1, 1, BatchHandle(4))),
    msg.Arrived(0.0, Envelope(LEFT, 1, 2, BatchHandle(4))),
]


def test_the_journal_of_an_earlier_life_confirms_nothing_in_this_one() -> None:
    """I37, I39: a confirmation that comes late names a unit of the same number, whose entry is not durable yet."""
    desk = Desk(SOURCE)
    desk.done((LEFT, "old"))
    desk.restore(epoch=2)
    desk.start()
    desk.done((LEFT, "new"))

    assert desk.put(msg.UnitLogged(0.0, 1, 1)) == []
    assert desk.participant.stale == 1
    assert words(desk.logged()) == ["BatchHandle", "RunUnit"]


@pytest.mark.parametrize("event", STALE, ids=lambda event: type(event).__name__)
def test_what_belongs_to_the_past_is_dropped_and_counted(event: msg.ParticipantEvent) -> None:
    """I37, F15: in a second life, restored from checkpoint 4, with unit 7 under way."""
    desk = Desk(restored=False)
    desk.restore(epoch=2, checkpoint=4, snapshot=SubtaskSnapshot(applied={LEFT: 2}, taken=6), peers={LEFT: 2})
    desk.start()
    desk.arrive(LEFT, batch(3), sender=2)
    assert desk.participant.running_unit == 7

    assert desk.put(event) == []
    assert desk.participant.stale == 1
    assert (desk.participant.running_unit, desk.participant.received[LEFT]) == (7, 3)


def test_a_unit_is_done_once() -> None:
    """I37: the same answer again while its entry is being logged."""
    desk = Desk()
    desk.arrive(LEFT, batch(1))
    desk.done()

    assert desk.put(msg.UnitDone(0.0, 1, 1, None)) == []
    assert desk.participant.stale == 1


def test_an_envelope_for_a_life_to_come_waits_for_it() -> None:
    """S2: the sender may hear of a restart earlier than the restarted one itself; a life that never came is past."""
    desk = Desk()
    desk.arrive(LEFT, batch(8), receiver=2)
    desk.arrive(LEFT, batch(1), receiver=3)

    assert desk.participant.received[LEFT] == 0

    desk.restore(epoch=3)

    assert desk.participant.received[LEFT] == 1
    assert desk.participant.stale == 1


def test_a_new_life_of_a_sender_is_believed_whoever_tells_it() -> None:
    """N3: its envelopes may come before the coordinator's word, which then is no news; the old life's are dropped."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), sender=2)
    desk.put(msg.PeerRestarted(0.0, 1, {LEFT: 2, RIGHT: 2}))

    assert desk.arrive(LEFT, batch(2), sender=1) == []
    assert desk.arrive(RIGHT, batch(1), sender=1) == []
    assert desk.participant.stale == 2
    assert desk.participant.received == {LEFT: 1, RIGHT: 0}


def test_a_restore_tells_the_lives_of_the_others() -> None:
    """I37: what an older life of a sender sent is dropped from the start, and receivers get their own epoch."""
    desk = Desk(restored=False)
    desk.restore(epoch=2, peers={LEFT: 3, DOWN: 5})
    desk.start()

    assert desk.arrive(LEFT, batch(1), sender=2) == []
    assert desk.participant.stale == 1
    desk.arrive(LEFT, batch(1), sender=3)
    (sent,) = (one.envelope for one in desk.unit((DOWN, "a")) if isinstance(one, msg.Emit))
    assert (sent.sender_epoch, sent.receiver_epoch) == (2, 5)


@pytest.mark.parametrize(
    ("second", "reason"), [(batch(3), Reason.GAP), (batch(1, digest=99), Reason.CONTENT_CHANGED)], ids=["gap", "other"]
)
def test_a_missing_or_a_changed_batch_ends_the_life(second: BatchHandle, reason: Reason) -> None:
    """I22, I23: never dropped silently."""
    desk = Desk()
    desk.arrive(LEFT, batch(1))

    assert desk.arrive(LEFT, second) == [msg.ReportFailed(HERE, 1, 1, reason)]
    assert desk.participant.life is ExecutionState.FAILED


def test_the_same_batch_again_is_dropped_by_its_id() -> None:
    """I2, I23: a surviving receiver keeps what it has when its sender repeats itself."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), batch(2))

    assert desk.arrive(LEFT, batch(1), batch(2), sender=2) == []
    assert desk.participant.received[LEFT] == 2
    assert desk.participant.queued[LEFT] == 1


# ---------------------------------------------------------------- units and journal


def test_outputs_are_shown_when_the_journal_has_the_entry() -> None:
    """I39, W2: neither they nor the next unit before."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), batch(2))

    assert desk.done((DOWN, "a"), (DOWN, "b")) == [msg.LogUnit(HERE, 1, TakenInput(1, LEFT, 1))]
    assert desk.participant.applied[LEFT] == 0

    said = desk.logged()

    assert words(said) == ["BatchHandle", "BatchHandle", "RunUnit"]
    assert [item.number for _, item in items(said) if isinstance(item, BatchHandle)] == [1, 2]
    assert desk.participant.applied[LEFT] == 1


def test_inputs_are_read_in_turn() -> None:
    """N2: a full input does not let another one starve."""
    desk = Desk()
    desk.arrive(LEFT, batch(1), batch(2), batch(3))
    desk.arrive(RIGHT, batch(1))

    assert [taken(desk.unit())[0] for _ in range(3)] == [(RIGHT, 1), (LEFT, 2), (LEFT, 3)]


def test_a_restarted_subtask_takes_again_what_it_took() -> None:
    """W3, I39: in the order of its journal, whatever arrives first, with the old numbers and without logging."""
    desk = Desk(restored=False)
    snapshot = SubtaskSnapshot(state="s", applied={LEFT: 4}, sent={DOWN: 9}, taken=6)
    desk.restore(2, 3, snapshot, [TakenInput(7, RIGHT, 1), TakenInput(8, LEFT, 5)])
    desk.start()

    assert desk.arrive(LEFT, batch(5), batch(6)) == []
    assert (desk.participant.waiting_on.doing, desk.participant.waiting_on.channels) == (
        SubtaskActivity.REPLAYING,
        (RIGHT,),
    )
    assert desk.arrive(RIGHT, batch(1)) == [msg.RunUnit(HERE, 2, 7, "s", RIGHT, batch(1))]

    said = desk.done((DOWN, "again"), state="t")

    assert items(said) == [(DOWN, BatchHandle(10, 1, 512, "again"))]
    assert taken(said) == [(LEFT, 5)]
    assert taken(desk.done()) == [(LEFT, 6)]
    assert words(desk.done()) == ["LogUnit"]


def test_a_restarted_source_reads_the_same_ranges() -> None:
    """W3: the range is fixed by the journal, and free again behind it."""
    desk = Desk(SOURCE, restored=False)
    desk.restore(journal=[TakenInput(1, range=[0, 5]), TakenInput(2, range=[5, 7])])

    assert desk.start() == [msg.RunUnit(SOURCE, 1, 1, None, range=[0, 5])]
    assert desk.done((LEFT, "x"), range=[0, 5])[-1] == msg.RunUnit(SOURCE, 1, 2, None, range=[5, 7])
    assert desk.done(range=[5, 7]) == [msg.RunUnit(SOURCE, 1, 3, None)]
    assert desk.done(range=[7, 9]) == [msg.LogUnit(SOURCE, 1, TakenInput(3, range=[7, 9]))]


def test_a_journal_that_does_not_fit_is_not_replayed() -> None:
    """W4: a hole would make other rows out of the same numbers."""
    desk = Desk(restored=False)
    said = desk.restore(snapshot=SubtaskSnapshot(taken=1), journal=[TakenInput(2, LEFT, 1), TakenInput(4, LEFT, 2)])

    assert said == [msg.ReportFailed(HERE, 1, 1, Reason.RESTORE_FAILED)]
    assert desk.start() == []


def test_channel_state_is_taken_first_and_once() -> None:
    """I25: before new data, in order; what comes again of it is dropped."""
    desk = Desk(restored=False)
    desk.restore(2, 3, SubtaskSnapshot(applied={LEFT: 4}, channel_state={LEFT: (batch(5), batch(6))}))
    desk.arrive(LEFT, batch(6), batch(7))

    assert taken(desk.start()) == [(LEFT, 5)]
    assert [taken(desk.unit()) for _ in range(3)] == [[(LEFT, 6)], [(LEFT, 7)], []]


def test_a_source_that_ends_says_so_once_a_life_and_goes_on_answering() -> None:
    """I46, W5: the flag is in its snapshots, also in those of a life that began at its end."""
    desk = Desk(SOURCE)
    desk.done((LEFT, "last"), ended=True)

    assert words(desk.logged()) == ["BatchHandle", "ReportEnded"]
    snapshot = acknowledged(desk.trigger(1))
    assert snapshot.ended
    assert desk.participant.waiting_on.doing is SubtaskActivity.ENDED

    desk.restore(2, 1, snapshot)

    assert words(desk.start()) == ["ReportEnded"]
    assert acknowledged(desk.trigger(2)).ended


# ---------------------------------------------------------------- a restarted receiver


def test_a_restarted_receiver_gets_again_what_it_lacks() -> None:
    """U3: what was sent since the completed checkpoint, behind the number asked for, once for each of its lives."""
    desk = Desk()
    for number in (1, 2, 3):
        desk.arrive(LEFT, batch(number))
        desk.unit((DOWN, f"row {number}"))
    again = msg.PeerRestarted(0.0, 1, {DOWN: 2}, {DOWN: 1})
    said = desk.put(again)

    assert [(one.envelope.receiver_epoch, one.envelope.item) for one in said if isinstance(one, msg.Emit)] == [
        (2, BatchHandle(number, 1, sum(map(ord, f"row {number}")), f"row {number}")) for number in (2, 3)
    ]
    assert desk.put(again) == []
    assert desk.put(msg.PeerRestarted(0.0, 1, {DOWN: 3}, {})) == []


def test_only_a_retained_channel_keeps_and_only_until_a_checkpoint_completes() -> None:
    """U2, I50: memory is bounded by what comes between two checkpoints."""
    desk = Desk(topology=TOPOLOGY)
    desk.arrive(LEFT, batch(1))
    desk.unit((DOWN, "a"), (LOOP, "a"))
    desk.trigger(1)
    desk.arrive(LEFT, batch(2))
    desk.unit((DOWN, "b"), (LOOP, "b"))

    assert desk.participant.remembered == 2 + 2

    desk.complete(1)

    assert desk.participant.remembered == 1 + 1
    assert items(desk.put(msg.PeerRestarted(0.0, 1, {DOWN: 2, LOOP: 2}, {DOWN: 0, LOOP: 0}))) == [
        (DOWN, BatchHandle(2, 1, 98, "b"))
    ]


# ---------------------------------------------------------------- pieces


def test_pieces_are_carried_until_a_checkpoint_with_them_is_completed() -> None:
    """I14, Q1: an aborted checkpoint loses nothing, a completed one ends the carrying of what it holds."""
    desk = Desk()
    found = []
    for number, checkpoint in enumerate((1, 2, 3), 1):
        desk.arrive(LEFT, batch(number))
        desk.unit(pieces=[f"piece {number}"])
        said = [*desk.arrive(LEFT, Barrier(checkpoint)), *desk.arrive(RIGHT, Barrier(checkpoint))]
        found.append(acknowledged(said))
        if checkpoint == 1:
            desk.abort(1)
        if checkpoint == 2:
            desk.complete(2)

    assert [[piece.name for piece in snapshot.pieces] for snapshot in found] == [
        ["piece 1"],
        ["piece 1", "piece 2"],
        ["piece 3"],
    ]
    assert [snapshot.since for snapshot in found] == [0, 0, 2]


def test_a_new_life_begins_without_pieces() -> None:
    """I33: what the old life staged is dead or named by a completed checkpoint; the new one stages anew."""
    desk = Desk()
    desk.arrive(LEFT, batch(1))
    desk.unit(pieces=["old"])
    desk.restore(epoch=2, checkpoint=0)

    assert desk.participant.pieces == ()
    assert desk.participant.dead_pieces == (StagedPiece("old"),)


# ---------------------------------------------------------------- the explanation of a stuck pipeline


def test_whoever_waits_can_say_for_what() -> None:
    """Q4, O1.6: from the latest state alone, in the words of ``explain``."""
    desk = Desk(topology=TOPOLOGY, restored=False)
    found = [desk.participant.waiting_on]
    desk.restore()
    desk.start()
    found.append(desk.participant.waiting_on)
    desk.arrive(LEFT, batch(1))
    found.append(desk.participant.waiting_on)
    desk.done()
    found.append(desk.participant.waiting_on)
    desk.logged()
    desk.arrive(LEFT, Barrier(1))
    found.append(desk.participant.waiting_on)
    desk.arrive(RIGHT, Barrier(1))
    found.append(desk.participant.waiting_on)
    desk.arrive(LEFT, batch(9))
    found.append(desk.participant.waiting_on)

    assert [(one.doing, one.unit, one.channels) for one in found] == [
        (SubtaskActivity.NOT_STARTED, 0, ()),
        (SubtaskActivity.INPUT_EMPTY, 0, (LEFT, RIGHT, BACK)),
        (SubtaskActivity.RUNNING, 1, ()),
        (SubtaskActivity.JOURNAL, 1, ()),
        (SubtaskActivity.INPUT_EMPTY, 0, (RIGHT, BACK)),
        (SubtaskActivity.INPUT_EMPTY, 0, (LEFT, RIGHT, BACK)),
        (SubtaskActivity.NOT_STARTED, 0, ()),
    ]
    assert [(one.checkpoint, one.blocked, one.missing) for one in found[4:6]] == [
        (1, (LEFT,), (RIGHT,)),
        (1, (), (BACK,)),
    ]
    assert {one.subtask for one in found} == {HERE}


def test_the_time_of_an_explanation_is_that_of_the_last_word() -> None:
    """O1.6: how long it has been waiting."""
    desk = Desk()
    desk.put(msg.Arrived(7.0, Envelope(LEFT, 1, 1, batch(1))))
    desk.put(msg.Arrived(9.0, Envelope(LEFT, 1, 1, batch(2))))

    assert desk.participant.waiting_on.since == 7.0
