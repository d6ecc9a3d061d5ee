"""The coordinator as a story: what it says to a well-behaved world, and to one that is late, deaf or gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PipelineState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import (
    BatchHandle,
    JournalUse,
    Operation,
    OperationKind,
    StagedPiece,
    SubtaskSnapshot,
)
from seatunnel_py.protocol.model.topology import Edge, Topology, Vertex
from tests.protocol.talk import FORK, PAIR, SINK, SOURCE, Talk

LEFT, RIGHT = Subtask("left"), Subtask("right")


def kinds(talk: Talk) -> list[str]:
    return [type(command).__name__ for command in talk.said]


def final(talk: Talk, *pieces: str) -> int:
    """The sources have ended and everybody acknowledges the final checkpoint."""
    talk.end(SOURCE)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number, ended=True, pieces=pieces).persisted()
    return number


# ---------------------------------------------------------------- beginning


def test_checkpoint_0_is_durable_before_any_side_effect() -> None:
    """BE1: nothing but the record is asked for until it is there."""
    talk = Talk(set_up=["a", "b"]).activate()

    assert kinds(talk) == ["Persist"] and talk.last(cc.Persist).record.kind is RecordKind.ZERO
    talk.persisted()
    assert [command.unit for command in talk.all(cc.SetUp)] == ["a", "b"] and not talk.all(cc.Restart)


def test_lives_begin_when_every_set_up_unit_is_done_once() -> None:
    talk = Talk(set_up=["a", "b"]).activate().persisted()

    talk.hear(ev.SetUpDone(0.0, "a"))
    talk.hear(ev.SetUpDone(0.0, "a"))
    assert not talk.all(cc.Restart)
    talk.hear(ev.SetUpDone(0.0, "b"))
    talk.hear(ev.SetUpDone(0.0, "b"))

    assert [command.subtask for command in talk.all(cc.Restart)] == [SOURCE, SINK]
    assert {command.snapshot for command in talk.all(cc.Restart)} == {None}


def test_set_up_units_with_a_done_record_are_not_run_again() -> None:
    """BE2."""
    talk = Talk(set_up=["a", "b"], done=["a"]).activate().persisted()

    assert [command.unit for command in talk.all(cc.SetUp)] == ["b"]


def test_a_store_that_refuses_checkpoint_0_ends_the_pipeline_before_it_began() -> None:
    talk = Talk().activate()

    talk.hear(ev.PersistFailed(0.0, 1))

    assert talk.last(cc.PipelineEnded).reason is Reason.STORE_FAILED


def test_subtasks_start_only_when_all_are_ready() -> None:
    """O5.4."""
    talk = Talk().activate().persisted()
    first, second = talk.all(cc.Restart)

    talk.hear(ev.SubtaskReady(0.0, 1, first.epoch, first.subtask))
    talk.hear(ev.SubtaskReady(0.0, 1, first.epoch, first.subtask))
    assert not talk.all(cc.SendStart)
    talk.hear(ev.SubtaskReady(0.0, 1, second.epoch, second.subtask))

    assert {command.subtask for command in talk.all(cc.SendStart)} == {SOURCE, SINK}
    assert talk.coordinator.shared.state is PipelineState.RUNNING


# ---------------------------------------------------------------- a checkpoint


def test_a_checkpoint_from_its_timer_to_its_commit() -> None:
    """O4.5, O4.6, O4.10, I10, I27: each step only after the one before it."""
    talk = Talk().start().progress().forget()

    talk.timer("trigger", 10.0)
    [trigger] = talk.all(cc.SendTrigger)
    assert trigger.subtask == SOURCE
    talk.forget().ack(trigger.checkpoint, SOURCE)
    assert talk.said == []
    talk.ack(trigger.checkpoint, SINK, pieces=["p"])
    assert kinds(talk) == ["CancelTimer", "Persist"]
    talk.forget().persisted(trigger.checkpoint)

    assert kinds(talk) == ["CheckpointEnded", "SendCompleted", "SendCompleted", "CommitPieces"]
    assert talk.last(cc.CommitPieces) == cc.CommitPieces(1, "sink", trigger.checkpoint, (StagedPiece("p"),))


def test_the_next_commit_of_a_scope_waits_for_the_one_before() -> None:
    """I30; what is not confirmed travels in the record (P2)."""
    talk = Talk().start()
    first = talk.progress().checkpoint(pieces=["a"])
    second = talk.progress().checkpoint(pieces=["a", "b"])

    assert [commit.checkpoint for commit in talk.all(cc.CommitPieces)] == [first.checkpoint]
    assert second.uncommitted == (
        CommitRecord("sink", first.checkpoint, (StagedPiece("a"),)),
        CommitRecord("sink", second.checkpoint, (StagedPiece("b"),)),
    )
    talk.confirm(first.checkpoint)
    assert talk.last(cc.CommitPieces).pieces == (StagedPiece("b"),)


def test_an_idle_pipeline_takes_none() -> None:
    talk = Talk().start().forget()

    talk.timer("trigger", 10.0)

    assert talk.all(cc.Refused) == [cc.Refused("periodic", Reason.NOTHING_NEW)] and not talk.all(cc.SendTrigger)
    assert talk.last(cc.SetTimer).name == "trigger"


def test_without_an_interval_no_timer_is_asked_for() -> None:
    talk = Talk(settings=CheckpointSettings()).start()

    assert not talk.all(cc.SetTimer)


def test_the_minimum_pause_is_waited_for() -> None:
    talk = Talk(settings=CheckpointSettings(interval=1.0, min_pause=5.0, alignment_timeout=None)).start().progress()
    talk.timer("trigger", 10.0)
    talk.ack(talk.last(cc.SendTrigger).checkpoint).persisted().progress().forget()

    talk.timer("trigger", 11.0)

    assert cc.SetTimer("trigger", 4.0) in talk.said and not talk.all(cc.SendTrigger)
    talk.timer("trigger", 15.0)
    assert talk.all(cc.SendTrigger)


def test_commit_lag_stops_triggers_until_a_confirmation() -> None:
    talk = Talk(settings=CheckpointSettings(interval=10.0, max_uncommitted=1, alignment_timeout=None)).start()
    first = talk.progress().checkpoint(pieces=["a"])
    talk.progress().forget().timer("trigger", talk.at + 10.0)
    assert not talk.all(cc.SendTrigger)

    talk.confirm(first.checkpoint)

    assert talk.all(cc.SendTrigger)


def test_answers_that_come_twice_late_or_from_nobody_change_nothing() -> None:
    """I9, I12, F14, F16."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number, SOURCE).ack(number, SOURCE).ack(99, SINK)
    assert not talk.all(cc.Persist)[1:]

    talk.timer(f"expire {number}", 70.0).forget()
    talk.ack(number, SINK)
    talk.hear(ev.Declined(70.0, 1, talk.epoch(SINK), SINK, number))

    assert talk.said == [] and talk.coordinator.checkpoints.late == 4


def test_answers_of_past_lives_are_dropped_and_counted() -> None:
    """I37."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    before = talk.coordinator.shared.stale

    for incarnation, epoch in ((0, 1), (1, 0)):
        talk.hear(ev.Declined(10.0, incarnation, epoch, SINK, number))
        talk.hear(ev.SubtaskFailed(10.0, incarnation, epoch, SINK))
        talk.hear(ev.SubtaskReady(10.0, incarnation, epoch, SINK))
        talk.hear(ev.SourceEnded(10.0, incarnation, epoch, SOURCE))
        talk.hear(ev.Acknowledged(10.0, incarnation, epoch, SINK, number, SubtaskSnapshot()))
    talk.hear(ev.CommitConfirmed(10.0, 0, "sink", number))
    talk.hear(ev.CommitFailed(10.0, 0, "sink", number))

    assert talk.coordinator.shared.stale == before + 12 and number in talk.coordinator.checkpoints.pending


def test_a_past_life_is_neither_ready_nor_at_its_end() -> None:
    """CO2: what it said arrives when the next one has begun already."""
    talk = Talk().start()
    past = {subtask: talk.epoch(subtask) for subtask in (SOURCE, SINK)}
    talk.fail(SINK).timer("restart").forget()

    for subtask, epoch in past.items():
        talk.hear(ev.SubtaskReady(talk.at, 1, epoch, subtask))
    talk.hear(ev.SourceEnded(talk.at, 1, past[SOURCE], SOURCE))
    assert talk.said == []
    talk.all_ready_of(SOURCE, SINK)

    assert talk.coordinator.shared.state is PipelineState.RUNNING and not talk.all(cc.SendTrigger)


def test_answers_of_targets_to_another_driver_change_nothing() -> None:
    """CN3: what they confirm or refuse was not issued by this one."""
    talk = Talk().start()
    first = talk.progress().checkpoint(pieces=["a"])
    talk.progress().checkpoint(pieces=["a", "b"])
    talk.forget()

    for reason in (Reason.UNIT_FAILED, Reason.LOST, Reason.FENCED):
        talk.hear(ev.CommitFailed(talk.at, 0, "sink", first.checkpoint, reason))
    talk.hear(ev.CommitConfirmed(talk.at, 0, "sink", first.checkpoint))

    assert talk.said == [] and talk.coordinator.shared.commits.lag == 2


def test_who_has_acknowledged_cannot_decline_any_longer() -> None:
    """PE6."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number, SINK)

    talk.hear(ev.Declined(10.0, 1, talk.epoch(SINK), SINK, number))

    assert number in talk.coordinator.checkpoints.pending and talk.coordinator.checkpoints.late == 1


def test_a_record_that_nobody_waits_for_changes_nothing() -> None:
    talk = Talk().start().forget()

    talk.hear(ev.Persisted(1.0, 77))

    assert talk.said == []


def test_a_trigger_timer_that_comes_early_or_while_a_region_restarts_triggers_nothing() -> None:
    """O4.1: checkpoints go on when all subtasks run again."""
    talk = Talk().start().progress().forget()
    talk.timer("trigger", 5.0)
    assert not talk.all(cc.SendTrigger) and talk.last(cc.SetTimer) == cc.SetTimer("trigger", 5.0)

    talk.fail(SINK).forget().timer("trigger", 10.0)

    assert not talk.all(cc.SendTrigger)
    assert not any(command.name == "trigger" for command in talk.all(cc.SetTimer))


# ---------------------------------------------------------------- what does not complete


def test_an_expired_checkpoint_is_aborted_everywhere_and_named() -> None:
    """I13, F19; it does not fail the job (I15)."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number, SOURCE).forget()

    talk.timer(f"expire {number}", 70.0)

    assert talk.last(cc.CheckpointEnded) == cc.CheckpointEnded(number, Reason.EXPIRED, (SINK,))
    assert {command.subtask for command in talk.all(cc.SendAborted)} == {SOURCE, SINK}
    assert talk.coordinator.shared.state is PipelineState.RUNNING
    talk.forget().timer(f"expire {number}")
    assert talk.said == []


def test_the_final_checkpoint_waits_for_rows_that_come() -> None:
    """CK7: what is queued in front of its barrier may take longer than any time-out; when nothing moves it is over."""
    talk = Talk().start().progress()
    number = talk.end(SOURCE).last(cc.SendTrigger).checkpoint
    for round_ in range(1, 4):
        talk.progress().forget().timer(f"expire {number}", 100.0 * round_)
        assert talk.said == [cc.SetTimer(f"expire {number}", talk.coordinator.shared.settings.timeout)]

    talk.timer(f"expire {number}", 1000.0)

    assert talk.last(cc.CheckpointEnded).reason is Reason.EXPIRED
    assert talk.last(cc.SendTrigger).checkpoint > number, "it is asked for again"


def test_rows_that_come_do_not_prolong_another_checkpoint() -> None:
    """F19: an aligned one that waits behind a full channel ends when its time is up."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint

    talk.progress().timer(f"expire {number}", 70.0)

    assert talk.last(cc.CheckpointEnded).reason is Reason.EXPIRED


def test_one_failed_checkpoint_too_many_in_a_row_fails_the_pipeline() -> None:
    """I15: a success in between sets the count back."""
    settings = CheckpointSettings(interval=10.0, tolerable_failures=1, alignment_timeout=None)
    talk = Talk(settings=settings).start()

    def decline() -> None:
        talk.progress().timer("trigger", talk.at + 10.0)
        talk.hear(ev.Declined(talk.at, 1, talk.epoch(SINK), SINK, talk.last(cc.SendTrigger).checkpoint))

    decline()
    talk.progress().checkpoint()
    decline()
    assert not talk.all(cc.PipelineEnded)
    decline()

    assert talk.last(cc.PipelineEnded).reason is Reason.TOO_MANY_FAILED_CHECKPOINTS


def test_a_store_that_fails_costs_the_checkpoint_only() -> None:
    """F22."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number).forget()

    talk.hear(ev.PersistFailed(10.0, number))
    talk.hear(ev.PersistFailed(10.0, number))

    assert talk.last(cc.CheckpointEnded).reason is Reason.STORE_FAILED and not talk.all(cc.PipelineEnded)
    assert talk.coordinator.shared.newest is not None and talk.coordinator.shared.newest.kind is RecordKind.ZERO


def in_doubt() -> tuple[Talk, int]:
    """A pipeline of which one record may be in the store, and the number of that."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number).forget().hear(ev.PersistFailed(10.0, number))
    return talk, number


def test_no_execution_restarts_before_a_record_in_doubt_is_void() -> None:
    """PS3, RE2: else a later driver resumes from a record whose pieces were deleted."""
    talk, number = in_doubt()
    assert [one.checkpoint for one in talk.coordinator.view.in_doubt] == [number]
    zero = talk.coordinator.view.newest
    assert zero is not None and not talk.all(cc.VoidRecords), "as long as nothing restarts, it does no harm"

    talk.fail(SINK).timer("restart").timer("trigger", 20.0)
    assert talk.all(cc.VoidRecords) == [cc.VoidRecords((number,), zero.checkpoint)] and not talk.all(cc.Restart)

    talk.hear(ev.RecordsVoided(20.0))
    assert {restart.checkpoint for restart in talk.all(cc.Restart)} == {zero.checkpoint}
    assert talk.coordinator.view.in_doubt == ()


def test_records_are_made_void_once_more_behind_another_restart() -> None:
    """PS3: in the same life of the pipeline."""
    talk, first = in_doubt()
    talk.fail(SINK).timer("restart").hear_and_return(ev.RecordsVoided(20.0))
    talk.all_ready().progress().timer("trigger", 30.0)
    second = talk.last(cc.SendTrigger).checkpoint
    talk.ack(second).hear(ev.PersistFailed(30.0, second))

    talk.forget().fail(SINK).timer("restart")

    assert second > first
    assert [one.checkpoints for one in talk.all(cc.VoidRecords)] == [(second,)] and not talk.all(cc.Restart)


def test_a_newer_record_settles_what_was_in_doubt() -> None:
    """A later driver resumes from the newer one, whether the other is in the store or not."""
    talk, _ = in_doubt()
    talk.progress().checkpoint()
    assert talk.coordinator.view.in_doubt == ()

    talk.forget().fail(SINK).timer("restart")
    assert talk.all(cc.Restart) and not talk.all(cc.VoidRecords)


def test_a_record_older_than_the_one_in_doubt_settles_nothing() -> None:
    settings = CheckpointSettings(interval=10.0, max_concurrent=2, max_uncommitted=9, alignment_timeout=None)
    talk = Talk(settings=settings).start()
    numbers = []
    for at in (10.0, 20.0):
        talk.progress().timer("trigger", at)
        numbers.append(talk.last(cc.SendTrigger).checkpoint)
    older, newer = numbers
    talk.ack(newer).ack(older).hear(ev.PersistFailed(20.0, newer))
    assert talk.last(cc.Persist).record.checkpoint == older
    talk.persisted(older)

    talk.forget().fail(SINK).timer("restart")

    assert talk.all(cc.VoidRecords) == [cc.VoidRecords((newer,), older)] and not talk.all(cc.Restart)


def test_while_a_record_is_being_stored_nothing_else_ends_its_checkpoint() -> None:
    """CK4: its outcome is unknown."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number).forget()

    talk.timer(f"expire {number}", 70.0)
    talk.hear(ev.Declined(70.0, 1, talk.epoch(SINK), SINK, number))
    talk.fail(SINK)

    assert not talk.all(cc.CheckpointEnded)
    talk.timer("restart")
    assert not talk.all(cc.Restart), "the record may be the one to restore"
    talk.persisted(number)
    assert {command.checkpoint for command in talk.all(cc.Restart)} == {number}


def test_a_newer_one_subsumes_the_older() -> None:
    """O4.10, I12: the older one's acknowledgement was lost."""
    settings = CheckpointSettings(interval=10.0, max_concurrent=2, alignment_timeout=None)
    talk = Talk(settings=settings).start().progress().timer("trigger", 10.0)
    older = talk.last(cc.SendTrigger).checkpoint
    talk.ack(older, SOURCE).progress().timer("trigger", 20.0)
    newer = talk.last(cc.SendTrigger).checkpoint
    assert newer > older

    talk.ack(newer).persisted(newer)

    assert cc.CheckpointEnded(older, Reason.SUBSUMED, (SINK,)) in talk.said
    assert talk.coordinator.checkpoints.failed.count == 0


def test_one_record_is_stored_at_a_time_the_newest_first() -> None:
    """CK2."""
    settings = CheckpointSettings(interval=10.0, max_concurrent=3, alignment_timeout=None)
    talk = Talk(settings=settings).start()
    numbers = []
    for at in (10.0, 20.0, 30.0):
        talk.progress().timer("trigger", at)
        numbers.append(talk.last(cc.SendTrigger).checkpoint)
    first, second, third = numbers
    talk.forget().ack(first).ack(second).ack(third)
    assert [command.record.checkpoint for command in talk.all(cc.Persist)] == [first]

    talk.persisted(first)

    assert talk.last(cc.Persist).record.checkpoint == third
    talk.hear(ev.PersistFailed(30.0, third))
    assert talk.last(cc.Persist).record.checkpoint == second


def test_retention_deletes_what_nobody_needs() -> None:
    """I18: savepoints stay, and what is not confirmed stays."""
    settings = CheckpointSettings(interval=10.0, max_retained=1, max_uncommitted=9, alignment_timeout=None)
    talk = Talk(settings=settings).start()
    first = talk.progress().checkpoint(pieces=["a"])
    second = talk.progress().checkpoint(pieces=["a", "b"])
    assert not talk.all(cc.DeleteRecord)

    talk.confirm(first.checkpoint).confirm(second.checkpoint)

    assert [command.checkpoint for command in talk.all(cc.DeleteRecord)] == [first.checkpoint]


# ---------------------------------------------------------------- failures


def test_a_failure_aborts_first_and_restarts_the_region_from_the_newest_record() -> None:
    """I24, O4.12, O5.2: the sibling is only told."""
    talk = Talk(FORK).start().progress()
    record = talk.checkpoint()
    talk.progress().timer("trigger", talk.at + 10.0).forget()

    talk.fail(LEFT)
    assert kinds(talk)[:2] == ["CancelTimer", "CheckpointEnded"] and kinds(talk)[-1] == "SetTimer"
    talk.timer("restart")

    assert {(one.subtask, one.checkpoint) for one in talk.all(cc.Restart)} == {
        (SOURCE, record.checkpoint), (LEFT, record.checkpoint),
    }  # fmt: skip
    assert [one.subtask for one in talk.all(cc.SendPeerRestarted)] == [RIGHT]
    talk.forget().all_ready_of(SOURCE, LEFT)
    assert {one.subtask for one in talk.all(cc.SendStart)} == {SOURCE, LEFT}


def test_failures_during_a_restart_join_it() -> None:
    """I26, F6: the same record, the union of the regions."""
    talk = Talk(FORK).start().fail(LEFT).timer("restart").forget()

    talk.fail(RIGHT).timer("restart")

    assert {one.subtask for one in talk.all(cc.Restart)} == {SOURCE, LEFT, RIGHT}
    assert {one.checkpoint for one in talk.all(cc.Restart)} == {1}


def test_attempts_are_bounded_and_end_with_the_cause() -> None:
    """F3."""
    talk = Talk(backoff=Backoff(retries=1)).start()

    talk.fail(SINK, Reason.RESTORE_FAILED).timer("restart").all_ready().fail(SINK, Reason.RESTORE_FAILED)

    assert talk.last(cc.PipelineEnded).reason is Reason.RESTORE_FAILED


def test_some_failures_are_never_tried_again() -> None:
    """I23: a gap means that a batch got lost."""
    talk = Talk().start().fail(SINK, Reason.GAP)

    assert talk.last(cc.PipelineEnded).reason is Reason.GAP


def test_whoever_sent_changed_content_is_not_trusted_any_longer() -> None:
    """I22: the sender and everybody who has seen its batches begin again, and journals of its numbers are void."""
    chain = Topology(
        (Vertex("a"), Vertex("b"), Vertex("c")), (Edge("a", "b", retained=True), Edge("b", "c", retained=True))
    )
    talk = Talk(chain).start().fail(Subtask("b"), Reason.CONTENT_CHANGED).forget().timer("restart")

    assert {one.subtask.vertex for one in talk.all(cc.Restart) if one.replay is not JournalUse.WHOLE} >= {"b", "c"}


def test_a_record_ahead_of_a_sender_that_is_not_trusted_cannot_be_restored() -> None:
    """RE7, R12: going on would lose rows and double others."""
    talk = Talk().start().progress()
    [channel] = PAIR.channels
    talk.timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number, SOURCE, sent={channel: 2}).ack(number, SINK, applied={channel: 4}).persisted()

    talk.fail(SINK, Reason.CONTENT_CHANGED).forget().timer("restart")

    assert not talk.all(cc.Restart) and talk.last(cc.PipelineEnded).reason is Reason.CONTENT_CHANGED


def test_in_a_loop_one_checkpoint_is_under_way_at_a_time() -> None:
    """O4.8: its head would give up every older one."""
    loop = Topology((Vertex("source"), Vertex("sink")), (Edge("source", "sink"), Edge("sink", "sink")))
    settings = CheckpointSettings(interval=10.0, max_concurrent=3, alignment_timeout=None)
    talk = Talk(loop, settings).start().progress().timer("trigger", 10.0).progress().timer("trigger", 20.0)

    assert len(talk.all(cc.SendTrigger)) == 1


def test_a_restart_timer_without_a_failure_does_nothing() -> None:
    talk = Talk().start().forget().timer("restart")

    assert talk.said == []


# ---------------------------------------------------------------- commits


def test_a_failed_commit_is_tried_again_ever_more_rarely() -> None:
    """I28, I29, F4."""
    talk = Talk().start()
    record = talk.progress().checkpoint(pieces=["a"])
    pauses = []
    for _ in range(3):
        talk.forget().hear(ev.CommitFailed(talk.at, 1, "sink", record.checkpoint))
        pauses.append(talk.last(cc.SetTimer).seconds)
        talk.timer("commit sink")
        assert talk.last(cc.CommitPieces).checkpoint == record.checkpoint

    assert pauses == [1.0, 2.0, 4.0]
    talk.hear(ev.CommitFailed(talk.at, 1, "other", record.checkpoint))
    assert not talk.all(cc.PipelineEnded)


@pytest.mark.parametrize("reason", [Reason.LOST, Reason.FENCED])
def test_a_commit_that_never_will_succeed_ends_the_pipeline(reason: Reason) -> None:
    """I31, I34."""
    talk = Talk().start()
    record = talk.progress().checkpoint(pieces=["a"])

    talk.forget().hear(ev.CommitFailed(talk.at, 1, "sink", record.checkpoint, reason))

    assert talk.said == [cc.PipelineEnded(reason)]


def test_what_is_pending_is_given_up_before_the_end_is_said() -> None:
    """EN4, I12; and who waits gets an answer."""
    talk = Talk().start()
    record = talk.progress().checkpoint(pieces=["a"])
    talk.progress().timer("trigger", talk.at + 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.hear(ev.SavepointRequested(talk.at, "s"))
    talk.forget()

    talk.hear(ev.CommitFailed(talk.at, 1, "sink", record.checkpoint, Reason.LOST))

    assert cc.CheckpointEnded(number, Reason.OPERATION_ENDED, (SINK, SOURCE)) in talk.said
    assert {command.subtask for command in talk.all(cc.SendAborted)} == {SOURCE, SINK}
    assert talk.said[-2:] == [cc.Refused("s", Reason.SHUT_DOWN), cc.PipelineEnded(Reason.LOST)]


# ---------------------------------------------------------------- the end


def test_success_is_said_after_the_last_confirmation() -> None:
    """I43."""
    talk = Talk().start()

    number = final(talk, "p")
    assert not talk.all(cc.PipelineEnded)
    talk.confirm(number)

    assert talk.last(cc.PipelineEnded) == cc.PipelineEnded(None)
    talk.forget().progress()
    assert talk.said == [] and talk.coordinator.shared.state is PipelineState.FINISHED


def test_a_final_checkpoint_with_something_left_in_a_loop_is_not_final() -> None:
    """O1.6, I47: it is taken again until its record shows the end."""
    talk = Talk().start().end(SOURCE)
    channel = PAIR.channels[0]
    first = talk.last(cc.SendTrigger).checkpoint

    talk.ack(first, ended=True, channel_state={channel: (BatchHandle(1),)}).persisted()

    assert talk.last(cc.Persist).record.kind is RecordKind.PERIODIC
    second = talk.last(cc.SendTrigger).checkpoint
    assert second > first
    talk.ack(second, ended=True).persisted()
    assert not talk.all(cc.PipelineEnded), "nothing was staged, but the sink has to be finished"
    talk.confirm(second)
    assert talk.last(cc.PipelineEnded).reason is None


def test_a_final_checkpoint_that_fails_is_asked_for_again() -> None:
    talk = Talk().start().end(SOURCE)
    first = talk.last(cc.SendTrigger).checkpoint

    talk.timer(f"expire {first}", 60.0)

    assert talk.last(cc.SendTrigger).checkpoint > first


def test_a_source_that_restarts_has_ended_only_if_its_snapshot_says_so() -> None:
    """I46."""
    talk = Talk().start().end(SOURCE).fail(SINK).forget().timer("restart").all_ready()

    assert not talk.all(cc.SendTrigger) and talk.coordinator.shared.state is PipelineState.RUNNING


def test_a_source_that_had_ended_in_its_snapshot_still_has() -> None:
    talk = Talk().start().progress()
    talk.checkpoint(ended=True)
    talk.fail(SINK).forget().timer("restart").all_ready()

    assert talk.all(cc.SendTrigger) and talk.coordinator.shared.state is PipelineState.FINISHING


def test_a_failure_behind_the_final_record_undoes_nothing() -> None:
    """F54."""
    talk = Talk().start()
    number = final(talk, "p")

    talk.forget().fail(SINK)
    assert talk.said == []
    talk.confirm(number)

    assert talk.last(cc.PipelineEnded).reason is None


def test_cancelling_ends_it_and_nothing_unfinished_becomes_visible() -> None:
    """F58."""
    talk = Talk().start().progress().timer("trigger", 10.0).forget()

    talk.hear(ev.CancelRequested(11.0))

    assert not talk.all(cc.CommitPieces) and talk.said[-1] == cc.PipelineEnded(Reason.CANCELLED)
    assert talk.hear(ev.CancelRequested(12.0)) == ()


def test_a_fenced_driver_says_nothing_else() -> None:
    """I34."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number).forget()

    talk.hear(ev.PersistFailed(10.0, number, fenced=True))

    assert talk.said == [cc.PipelineEnded(Reason.FENCED)]


def test_a_fenced_driver_is_silent_about_what_else_is_under_way() -> None:
    """EN5: that is the newer one's now."""
    settings = CheckpointSettings(interval=10.0, max_concurrent=2, alignment_timeout=None)
    talk = Talk(settings=settings).start().progress().timer("trigger", 10.0).progress().timer("trigger", 20.0)
    first, _ = sorted({command.checkpoint for command in talk.all(cc.SendTrigger)})
    talk.hear(ev.SavepointRequested(20.0, "s"))
    talk.ack(first).forget()

    talk.hear(ev.PersistFailed(20.0, first, fenced=True))

    assert talk.said == [cc.PipelineEnded(Reason.FENCED)]


# ---------------------------------------------------------------- a plan that grows


def test_every_later_record_holds_the_plan_that_grew() -> None:
    """I41: also the next driver's, which is told of the record alone."""
    talk = Talk(plan={"splits": 1}).start()
    assert talk.progress().checkpoint().plan == {"splits": 1}
    talk.hear(ev.PlanGrew(talk.at, {"splits": 2}))

    record = talk.progress().checkpoint()
    again = Talk(record=record, first_checkpoint=2000, plan={"splits": "found anew"}).activate(2).all_ready()

    assert record.plan == again.progress().checkpoint().plan == {"splits": 2}


# ---------------------------------------------------------------- requests


def test_a_savepoint_is_pinned_and_named() -> None:
    """I44."""
    talk = Talk().start().hear_and_return(ev.SavepointRequested(1.0, "before-upgrade"))

    talk.ack(talk.last(cc.SendTrigger).checkpoint).persisted()

    assert (talk.last(cc.Persist).record.kind, talk.last(cc.Persist).record.name) == (
        RecordKind.SAVEPOINT, "before-upgrade",
    )  # fmt: skip
    assert talk.coordinator.shared.state is PipelineState.RUNNING


def test_a_savepoint_waits_for_its_turn_and_survives_a_restart() -> None:
    """F53."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    running = talk.last(cc.SendTrigger).checkpoint
    talk.hear(ev.SavepointRequested(11.0, "s"))
    assert talk.last(cc.SendTrigger).checkpoint == running
    talk.ack(running).persisted()
    savepoint = talk.last(cc.SendTrigger).checkpoint
    assert savepoint > running

    talk.fail(SINK).timer("restart").all_ready()

    assert talk.last(cc.SendTrigger).checkpoint > savepoint
    talk.ack(talk.last(cc.SendTrigger).checkpoint).persisted()
    assert talk.last(cc.Persist).record.name == "s"


def test_only_periodic_checkpoints_run_beside_each_other() -> None:
    """TR8: a savepoint waits for what is under way, and while it waits or runs no periodic one begins."""
    settings = CheckpointSettings(interval=10.0, max_concurrent=3, alignment_timeout=None)
    talk = Talk(settings=settings).start().progress().timer("trigger", 10.0)
    periodic = talk.last(cc.SendTrigger).checkpoint
    talk.forget().hear(ev.SavepointRequested(11.0, "s"))
    talk.progress().timer("trigger", 20.0)
    assert not talk.all(cc.SendTrigger)

    talk.ack(periodic).persisted(periodic)
    savepoint = talk.last(cc.SendTrigger).checkpoint
    talk.progress().timer("trigger", 30.0)

    assert len(talk.all(cc.SendTrigger)) == 1
    talk.ack(savepoint).persisted(savepoint)
    assert talk.last(cc.Persist).record.name == "s" and talk.last(cc.SendTrigger).checkpoint > savepoint


def test_a_savepoint_that_fails_is_answered() -> None:
    talk = Talk().start().hear_and_return(ev.SavepointRequested(1.0, "s"))

    talk.timer(f"expire {talk.last(cc.SendTrigger).checkpoint}", 70.0)

    assert talk.last(cc.Refused) == cc.Refused("s", Reason.EXPIRED)


def test_stopping_with_a_savepoint_ends_behind_its_commits() -> None:
    """I44: the barrier stops the sources."""
    talk = Talk().start().hear_and_return(ev.SavepointRequested(1.0, "s", stop=True))
    trigger = talk.last(cc.SendTrigger)
    assert trigger.operation.kind is OperationKind.STOP

    talk.ack(trigger.checkpoint, pieces=["p"]).persisted()
    assert not talk.all(cc.PipelineEnded)
    talk.fail(SINK).confirm(trigger.checkpoint)

    assert talk.last(cc.PipelineEnded) == cc.PipelineEnded(None, "s")
    assert talk.coordinator.shared.state is PipelineState.STOPPED


def test_a_stop_that_fails_restarts_everything() -> None:
    """LC5: some sources are silent behind its barrier already."""
    talk = Talk().start().hear_and_return(ev.SavepointRequested(1.0, "s", stop=True))
    number = talk.last(cc.SendTrigger).checkpoint

    talk.timer(f"expire {number}", 70.0)
    assert talk.last(cc.Refused) == cc.Refused("s", Reason.EXPIRED)
    talk.forget().timer("restart").all_ready()

    assert {one.subtask for one in talk.all(cc.Restart)} == {SOURCE, SINK}
    assert talk.coordinator.shared.state is PipelineState.RUNNING


def test_a_stop_that_a_failure_ended_restarts_everything_too() -> None:
    talk = Talk(FORK).start().hear_and_return(ev.SavepointRequested(1.0, "s", stop=True))

    talk.fail(LEFT).forget().timer("restart")

    assert {one.subtask for one in talk.all(cc.Restart)} == {SOURCE, LEFT, RIGHT}


def test_a_stop_that_fails_without_an_attempt_left_fails_the_pipeline() -> None:
    talk = Talk(backoff=Backoff(retries=0)).start().hear_and_return(ev.SavepointRequested(1.0, "s", stop=True))

    talk.timer(f"expire {talk.last(cc.SendTrigger).checkpoint}", 70.0)

    assert talk.last(cc.PipelineEnded).reason is Reason.RESTORE_FAILED


def test_what_waits_behind_a_stop_is_given_up_with_it() -> None:
    """EN3: the one that a timer asked for is nobody's loss, a person gets an answer."""
    talk = Talk().start().progress().hear_and_return(ev.SavepointRequested(1.0, "first"))
    talk.timer("trigger", 10.0)
    talk.hear(ev.SavepointRequested(11.0, "last", stop=True))
    talk.hear(ev.SavepointRequested(12.0, "too-late"))
    talk.ack(talk.last(cc.SendTrigger).checkpoint).persisted().progress()
    stop = talk.last(cc.SendTrigger)
    assert stop.operation.kind is OperationKind.STOP

    talk.forget().ack(stop.checkpoint).persisted()

    assert talk.all(cc.Refused) == [cc.Refused("too-late", Reason.SHUT_DOWN)]
    assert talk.last(cc.PipelineEnded) == cc.PipelineEnded(None, "last") and not talk.all(cc.SendTrigger)


def test_a_failure_during_the_store_of_a_stop_undoes_nothing_once_it_is_durable() -> None:
    """F53, F54: no life begins behind it."""
    talk = Talk().start().hear_and_return(ev.SavepointRequested(1.0, "s", stop=True))
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number).fail(SINK).timer("restart").forget()

    talk.persisted(number)

    assert not talk.all(cc.Restart) and talk.last(cc.PipelineEnded) == cc.PipelineEnded(None, "s")


def test_an_operation_travels_with_a_barrier() -> None:
    """O6.2."""
    talk = Talk().start()
    speed = Operation(OperationKind.SPEED, 100)

    talk.hear(ev.OperationRequested(1.0, speed))

    assert talk.last(cc.SendTrigger).operation == speed


def test_an_isolation_is_durable_with_the_record_of_its_barrier() -> None:
    """IS4: behind it nobody waits for the table, and a later driver knows."""
    talk = Talk(FORK).start().hear_and_return(ev.OperationRequested(1.0, Operation(OperationKind.ISOLATE, "left")))
    talk.ack(talk.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT).persisted()
    record = talk.last(cc.Persist).record
    assert (record.topology.detached, record.topology.version) == ({"left"}, 2)
    assert {one.subtask for one in talk.all(cc.SendCompleted)} == {SOURCE, RIGHT}

    talk.progress().timer("trigger", 20.0)
    talk.ack(talk.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT)
    assert talk.last(cc.Persist).record.checkpoint > record.checkpoint
    later = Talk(FORK, record=record, first_checkpoint=50)
    later.activate(2)

    assert {one.subtask for one in later.all(cc.Restart)} == {SOURCE, RIGHT}


@pytest.mark.parametrize("vertex", ["source", "nobody"])
def test_an_isolation_after_which_nothing_remains_is_refused(vertex: str) -> None:
    talk = Talk(FORK).start().forget()

    talk.hear(ev.OperationRequested(1.0, Operation(OperationKind.ISOLATE, vertex)))

    assert talk.said == [cc.Refused("isolate", Reason.NOT_POSSIBLE)]


def test_a_request_that_waits_is_not_started_behind_the_final_record() -> None:
    """EN3; each checkpoint has one end (I12)."""
    talk = Talk().start().end(SOURCE)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.hear(ev.SavepointRequested(1.0, "s", stop=True))
    talk.ack(number, ended=True, pieces=["p"]).persisted().forget()

    talk.timer("trigger", 20.0)

    assert talk.said == []


def test_a_request_behind_the_final_record_is_refused() -> None:
    """EN3: only commits are left."""
    talk = Talk().start()
    final(talk, "p")

    talk.forget().hear(ev.SavepointRequested(talk.at, "late"))

    assert talk.said == [cc.Refused("late", Reason.SHUT_DOWN)]


def test_what_is_asked_for_before_it_runs_is_refused() -> None:
    """O4.1, O4.4: without a side effect."""
    talk = Talk().activate().hear_and_return(ev.SavepointRequested(0.0, "early"))

    assert talk.last(cc.Refused) == cc.Refused("early", Reason.NOT_RUNNING)


def test_a_stop_that_is_asked_for_before_it_runs_comes_when_it_does() -> None:
    """B1 of the machine's study: it was refused, and a stream that was told to stop while it began ran on."""
    talk = Talk().activate().hear_and_return(ev.SavepointRequested(0.0, "stop", True))
    assert not talk.all(cc.SendTrigger) and not talk.all(cc.Refused)

    talk.persisted().all_ready()

    assert {one.operation.kind for one in talk.all(cc.SendTrigger)} == {"stop"}


@pytest.mark.parametrize("when", ["while it restarts", "and its checkpoint is given up for a restart"])
def test_a_stop_that_meets_a_restart_comes_behind_it(when: str) -> None:
    talk = Talk().start().progress()
    steps = [lambda: talk.fail(SINK), lambda: talk.hear(ev.SavepointRequested(talk.at, "stop", True))]

    for step in steps if when == "while it restarts" else reversed(steps):
        step()
    talk.forget().timer("restart").all_ready()

    assert {one.operation.kind for one in talk.all(cc.SendTrigger)} == {"stop"}
    assert not talk.all(cc.Refused)


# ---------------------------------------------------------------- void positions


def test_void_positions_begin_again_from_a_new_checkpoint_0() -> None:
    """BE5: durable, so that no later driver restores what is void; the journals are void as well."""
    talk = Talk(set_up=["a"]).activate().persisted().hear_and_return(ev.SetUpDone(0.0, "a")).all_ready().progress()
    talk.checkpoint()

    talk.hear(ev.PositionsVoid(talk.at, "00000003-1"))
    record = talk.last(cc.Persist).record
    assert (record.kind, record.snapshots, record.set_up) == (RecordKind.ZERO, {}, frozenset({"a"}))
    talk.persisted().forget().timer("restart")

    assert {(one.subtask, one.snapshot, one.replay) for one in talk.all(cc.Restart)} == {
        (SOURCE, None, JournalUse.VOID), (SINK, None, JournalUse.VOID),
    }  # fmt: skip


def test_a_driver_that_begins_anew_lives_no_epoch_again() -> None:
    """BE7, I11: workers of the epochs that it has lived may still be at work."""
    talk = Talk(epochs={"source": 3, "sink": 1, "gone": 7}).start()

    assert talk.coordinator.shared.newest.epochs == {"source": 3, "sink": 1, "gone": 7}
    assert {one.subtask: one.epoch for one in talk.all(cc.Restart)} == {SOURCE: 4, SINK: 2}


def test_void_positions_abort_first_what_is_pending() -> None:
    """RE1, I24: whoever has acknowledged has done so with a position that is void."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number, SOURCE).forget()

    talk.hear(ev.PositionsVoid(10.0, "g"))

    assert cc.CheckpointEnded(number, Reason.POSITIONS_VOID, (SINK,)) in talk.said
    assert {command.subtask for command in talk.all(cc.SendAborted)} == {SOURCE, SINK}
    assert kinds(talk)[-1] == "Persist"


def test_void_positions_of_rows_that_may_be_visible_fail_the_pipeline() -> None:
    talk = Talk().start().progress()
    talk.checkpoint(pieces=["p"])

    talk.hear(ev.PositionsVoid(talk.at, "g"))

    assert talk.last(cc.PipelineEnded).reason is Reason.POSITIONS_VOID


def test_positions_that_become_void_before_anything_was_read_cost_a_record_only() -> None:
    """BE5, BE6: lives begin once, behind the new checkpoint 0, whichever of set-up and store is ready first."""
    for order in (["set-up", "store"], ["store", "set-up"]):
        talk = Talk(set_up=["a"]).activate().persisted().hear_and_return(ev.PositionsVoid(1.0, "g"))
        record = talk.last(cc.Persist).record
        for one in order:
            assert not talk.all(cc.Restart)
            if one == "store":
                talk.persisted(record.checkpoint)
            else:
                talk.hear(ev.SetUpDone(2.0, "a"))

        assert (record.kind, record.previous) == (RecordKind.ZERO, 1)
        assert {(one.subtask, one.checkpoint) for one in talk.all(cc.Restart)} == {(SOURCE, 2), (SINK, 2)}


def test_positions_that_become_void_before_checkpoint_0_is_durable_wait_for_it() -> None:
    """BE6."""
    talk = Talk().activate().hear_and_return(ev.PositionsVoid(1.0, "g"))
    assert kinds(talk) == ["Persist"]
    talk.persisted()
    assert talk.last(cc.Persist).record.previous == 1

    talk.persisted().forget().timer("restart").all_ready()

    assert talk.coordinator.shared.state is PipelineState.RUNNING


def test_behind_the_last_record_no_position_is_needed() -> None:
    """BE6, FA2: also where that record is in the hands of the store."""
    for late in (False, True):
        talk = Talk().start().end(SOURCE)
        number = talk.last(cc.SendTrigger).checkpoint
        talk.ack(number, ended=True, pieces=["p"])
        if late:
            talk.persisted().hear(ev.PositionsVoid(9.0, "g"))
        else:
            talk.hear_and_return(ev.PositionsVoid(9.0, "g")).persisted()
        talk.confirm(number)

        assert talk.last(cc.PipelineEnded) == cc.PipelineEnded(None, "")


def test_positions_that_become_void_while_a_record_is_stored_are_void_whatever_comes_of_it() -> None:
    """BE6: before the record nothing was shown; behind it rows may be."""
    talk = Talk().start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint
    talk.ack(number, pieces=["p"]).hear(ev.PositionsVoid(10.0, "g"))
    lost = talk.forget().hear_and_return(ev.PersistFailed(10.0, number, fenced=False))
    assert lost.last(cc.Persist).record.kind is RecordKind.ZERO

    talk = Talk().start().progress().timer("trigger", 10.0)
    talk.ack(number, pieces=["p"]).hear_and_return(ev.PositionsVoid(10.0, "g")).persisted()
    assert talk.last(cc.PipelineEnded).reason is Reason.POSITIONS_VOID


def test_void_positions_without_an_attempt_left_fail_the_pipeline() -> None:
    talk = Talk(backoff=Backoff(retries=0)).start().hear_and_return(ev.PositionsVoid(0.0, "g"))

    talk.persisted()

    assert talk.last(cc.PipelineEnded).reason is Reason.POSITIONS_VOID


# ---------------------------------------------------------------- later drivers


def restored(record: CheckpointRecord, **more: object) -> Talk:
    talk = Talk(record=record, first_checkpoint=record.checkpoint + 10, **more)
    talk.incarnation = 2
    return talk.activate(2)


def test_a_later_driver_issues_what_is_uncommitted_and_restores_the_newest_record() -> None:
    """I17, I28, F7: the epochs and ids of the earlier one are not used again (I11)."""
    first = Talk().start().progress()
    record = first.checkpoint(pieces=["p"])

    talk = restored(record)

    assert talk.said[0] == cc.CommitPieces(2, "sink", record.checkpoint, (StagedPiece("p"),))
    assert all(one.epoch > record.epochs[one.subtask.vertex] for one in talk.all(cc.Restart))
    talk.all_ready().progress()
    assert talk.checkpoint().checkpoint > record.checkpoint


def test_journals_of_another_graph_are_void() -> None:
    """RS8: what units took under another parallelism names channels that are not there any longer."""
    first = Talk().start().progress()
    record = first.checkpoint()

    assert [one.replay for one in restored(record).all(cc.Restart)] == [JournalUse.WHOLE] * 2
    assert [one.replay for one in restored(record, replay=False).all(cc.Restart)] == [JournalUse.VOID] * 2


def test_journals_before_a_checkpoint_0_that_voids_positions_are_void() -> None:
    """BE5, also where the driver that asked for it died before anybody restarted."""
    first = Talk().start().progress()
    before = first.checkpoint()
    first.hear(ev.PositionsVoid(first.at, "g"))
    void = first.last(cc.Persist).record

    assert void.kind is RecordKind.ZERO and void.previous == before.checkpoint
    assert [one.replay for one in restored(void).all(cc.Restart)] == [JournalUse.VOID] * 2


def test_a_later_driver_finishes_the_set_up_that_was_begun() -> None:
    zero = Talk(set_up=["a", "b"]).activate().last(cc.Persist).record

    talk = restored(zero, set_up=["a", "b"], done=["a"])

    assert [command.unit for command in talk.all(cc.SetUp)] == ["b"] and not talk.all(cc.Restart)


@pytest.mark.parametrize("confirmed", [False, True])
def test_behind_a_final_record_only_commits_are_left(confirmed: bool) -> None:
    """BE4, I43."""
    first = Talk().start()
    final(first, "p")
    record = first.last(cc.Persist).record

    talk = restored(replace(record, uncommitted=() if confirmed else record.uncommitted))

    assert not talk.all(cc.Restart)
    if not confirmed:
        assert not talk.all(cc.PipelineEnded)
        talk.confirm(record.checkpoint)
    assert talk.last(cc.PipelineEnded).reason is None


def test_unaligned_settings_begin_unaligned() -> None:
    talk = Talk(settings=CheckpointSettings(interval=10.0, alignment_timeout=0)).start().progress()

    talk.timer("trigger", 10.0)

    assert talk.last(cc.SendTrigger).unaligned
