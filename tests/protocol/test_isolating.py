"""The coordinator leaves a table out: who leaves, what the barrier says, what the record holds, and who goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatunnel_py.protocol.commit.claims import ID_RESERVE
from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.failover.decisions import FailoverPolicy
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PipelineState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import Operation, OperationKind, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Topology, Vertex
from tests.protocol.talk import FORK, SOURCE, Talk

LEFT, RIGHT, BEHIND = Subtask("left"), Subtask("right"), Subtask("behind")
ONCE = Backoff(retries=1, first=1.0)
NEVER = Backoff(retries=0)
ISOLATE_LEFT = Operation(OperationKind.ISOLATE, ("left",))
TAIL = Topology((*FORK.vertices, Vertex("behind")), (*FORK.edges, Edge("left", "behind")))
"""The left branch goes on to another vertex."""


def talk(topology: Topology = FORK, backoff: Backoff = NEVER, **more: Any) -> Talk:
    return Talk(topology, backoff=backoff, **more).start().progress()


def ask(told: Talk, vertex: str) -> Talk:
    return told.hear_and_return(ev.OperationRequested(told.at, Operation(OperationKind.ISOLATE, vertex)))


def triggered(told: Talk) -> list[tuple[str, Operation]]:
    return [(one.subtask.vertex, one.operation) for one in told.all(cc.SendTrigger)]


# ---------------------------------------------------------------- by itself


def test_a_vertex_whose_attempts_are_used_up_is_left_out_and_nobody_restarts_for_it() -> None:
    """RE8, FO5, I21: the bounded attempts first, each a restart of the region; then the table, not the pipeline."""
    told = talk(backoff=ONCE)
    told.fail(LEFT)
    assert told.last(cc.SetTimer).name == "restart"
    told.timer("restart", 2.0).all_ready().forget()

    told.fail(LEFT)

    assert triggered(told) == [("source", ISOLATE_LEFT)]
    assert not told.all(cc.Restart)
    assert not told.all(cc.PipelineEnded)
    assert told.coordinator.shared.state is PipelineState.RUNNING


def test_a_stable_period_gives_the_attempts_back() -> None:
    """RE5, B3: who failed long ago is restarted again, and not left out."""
    told = talk(backoff=Backoff(retries=1, first=1.0, reset_after=100.0))
    told.fail(LEFT).timer("restart", 2.0).all_ready().forget()
    told.at = 500.0

    told.fail(LEFT)

    assert told.last(cc.SetTimer).name == "restart"
    assert told.coordinator.shared.topology.detached == set()


@pytest.mark.parametrize(
    ("policy", "failed", "reason"),
    [
        (FailoverPolicy.FAIL_FAST, LEFT, Reason.UNIT_FAILED),
        # nothing would remain
        (FailoverPolicy.CONTINUE_OTHER_TABLES, SOURCE, Reason.UNIT_FAILED),
        # no table's affair
        (FailoverPolicy.CONTINUE_OTHER_TABLES, LEFT, Reason.GAP),
    ],
)
def test_where_a_table_cannot_be_left_out_the_pipeline_fails(
    policy: FailoverPolicy, failed: Subtask, reason: Reason
) -> None:
    """FO6, FO7, IS3."""
    told = talk(policy=policy).fail(failed, reason)
    assert told.last(cc.PipelineEnded) == cc.PipelineEnded(reason)


def test_what_no_try_can_mend_leaves_at_once() -> None:
    """FO5: attempts that are left are not used up for it."""
    told = talk(backoff=Backoff(retries=5)).forget().fail(LEFT, Reason.UNIT_REFUSED)
    assert triggered(told) == [("source", ISOLATE_LEFT)]


def test_the_last_other_table_cannot_be_left_out() -> None:
    """IS3: the second one fails the pipeline."""
    told = talk().fail(LEFT).fail(RIGHT)
    assert told.last(cc.PipelineEnded) == cc.PipelineEnded(Reason.UNIT_FAILED)


# ---------------------------------------------------------------- who leaves, and how


def test_all_who_leave_are_named_by_the_barrier_and_their_lives_are_over() -> None:
    """LE1, LE2, IS1: who is fed by it leaves with it; nobody waits for them; what they still say is of a past life."""
    told = talk(TAIL).forget().fail(LEFT)
    number = told.last(cc.SendTrigger).checkpoint
    assert triggered(told) == [("source", Operation(OperationKind.ISOLATE, ("behind", "left")))]
    assert told.all(cc.EndExecution) == [cc.EndExecution(BEHIND, 1, 2), cc.EndExecution(LEFT, 1, 2)]

    stale = told.coordinator.shared.stale
    for epoch, subtask in ((1, BEHIND), (1, LEFT)):
        told.hear(ev.Acknowledged(0.0, 1, epoch, subtask, number, SubtaskSnapshot()))
        told.hear(ev.SubtaskFailed(0.0, 1, epoch, subtask))
    assert told.coordinator.shared.stale == stale + 4
    told.ack(number, SOURCE, RIGHT).persisted()

    assert told.last(cc.Isolated) == cc.Isolated(("behind", "left"), number, 0)


def test_who_becomes_visible_together_leaves_together() -> None:
    """IS1: half a table is none."""
    topology = Topology(
        (
            Vertex("source"),
            *(Vertex(name, sink=SinkKind.TWO_PHASE, scope="both") for name in ("left", "right")),
            Vertex("other", sink=SinkKind.TWO_PHASE),
        ),
        (Edge("source", "left"), Edge("source", "right"), Edge("source", "other")),
    )
    told = talk(topology).fail(LEFT)
    assert told.last(cc.SendTrigger).operation == Operation(OperationKind.ISOLATE, ("left", "right"))


def test_a_healthy_table_leaves_in_the_same_way() -> None:
    """LE2: it is cut with its trigger, so that what it staged since the last checkpoint is not committed."""
    told = ask(talk().forget(), "left")
    assert told.said[0] == cc.EndExecution(LEFT, 1, 2)
    told.ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT, pieces=["p"]).persisted()

    assert [(one.scope, one.pieces) for one in told.all(cc.CommitPieces)] == [("right", (StagedPiece("p"),))]
    assert {one.subtask for one in told.all(cc.SendCompleted)} == {SOURCE, RIGHT}


def test_an_isolation_that_waited_too_long_is_no_longer_possible() -> None:
    """IS3, CO4: meanwhile the other table failed; asked again when the barrier would begin."""
    told = talk()
    told.timer("trigger", 10.0)
    ask(told, "left")
    told.forget().fail(RIGHT)

    assert cc.Refused("isolate", Reason.NOT_POSSIBLE) in told.said
    assert [operation.argument for _, operation in triggered(told)] == [("right",)]


def test_one_isolation_on_demand_is_one_barrier() -> None:
    """LE1: who failed in the meantime is named by the barrier that was asked for, and no second one follows."""
    told = talk(TAIL)
    told.timer("trigger", 10.0)
    number = told.last(cc.SendTrigger).checkpoint
    ask(told, "left")
    told.ack(number, SOURCE, LEFT, RIGHT, BEHIND).forget()
    told.fail(LEFT)
    assert triggered(told) == [], "the store has not answered"
    told.persisted(number)

    assert triggered(told) == [("source", Operation(OperationKind.ISOLATE, ("behind", "left")))]
    assert len(told.coordinator.checkpoints.requests) == 1


# ---------------------------------------------------------------- while others restart


def test_a_restart_goes_on_without_those_who_leave() -> None:
    """RE4, RE8: the others of the region start when they are ready, and then the barrier follows."""
    told = talk(backoff=ONCE)
    told.fail(LEFT).timer("restart", 2.0)
    assert {one.subtask for one in told.all(cc.Restart)[-2:]} == {SOURCE, LEFT}
    told.forget().fail(LEFT, Reason.RESTORE_FAILED)
    assert triggered(told) == []
    assert not told.all(cc.SendStart)

    told.all_ready_of(SOURCE)

    assert [one.subtask for one in told.all(cc.SendStart)] == [SOURCE]
    assert triggered(told) == [("source", ISOLATE_LEFT)]
    assert told.coordinator.shared.state is PipelineState.RUNNING


def test_the_last_one_that_was_waited_for_may_leave() -> None:
    """RE4: then all who remain are ready, and periodic checkpoints go on (O4.1)."""
    told = talk(backoff=ONCE)
    told.fail(LEFT).timer("restart", 2.0).all_ready_of(SOURCE).forget().fail(LEFT, Reason.RESTORE_FAILED)

    assert [one.subtask for one in told.all(cc.SendStart)] == [SOURCE]
    assert [one.name for one in told.all(cc.SetTimer) if one.name == "trigger"] == ["trigger"]
    assert triggered(told) == [("source", ISOLATE_LEFT)]


def test_a_pause_that_ends_with_nobody_left_to_restart_is_just_over() -> None:
    """RE8, R6: it failed once more in the pause; nobody begins a life."""
    told = talk(backoff=ONCE).fail(LEFT).fail(LEFT, Reason.SNAPSHOT_FAILED).forget()
    told.timer("restart", 2.0)

    assert not told.all(cc.Restart)
    assert told.coordinator.shared.state is PipelineState.RUNNING
    assert triggered(told) == [("source", ISOLATE_LEFT)]


# ---------------------------------------------------------------- the record


def test_the_record_holds_those_who_left_as_they_were_last() -> None:
    """LE4, I27: without the pieces that were committed then; what they did since counts for nothing."""
    told = talk()
    first = told.checkpoint(pieces=["p"], state="durable", taken=7)
    told.fail(LEFT).ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT, pieces=["q"]).persisted()
    second = told.last(cc.Persist).record

    assert (second.topology.detached, second.topology.version) == ({"left"}, first.topology.version + 1)
    assert second.snapshots[LEFT] == SubtaskSnapshot("durable", taken=7, since=first.checkpoint)
    assert told.last(cc.Isolated) == cc.Isolated(("left",), second.checkpoint, first.checkpoint)
    told.progress().timer("trigger", 40.0).ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT).persisted()
    assert told.last(cc.Persist).record.snapshots[LEFT] == second.snapshots[LEFT]


def test_the_record_at_which_a_table_stands_stays() -> None:
    """LE5, IS6, I18: it says where the sources were; others go as always."""
    told = talk()
    stand_at = told.checkpoint().checkpoint
    told.fail(LEFT)
    for _ in range(8):
        number = told.last(cc.SendTrigger).checkpoint
        told.ack(number, SOURCE, RIGHT).persisted(number).progress().timer("trigger", told.at + 10.0)
    deleted = {one.checkpoint for one in told.all(cc.DeleteRecord)}

    assert stand_at not in deleted
    assert stand_at + 1 in deleted


def test_a_later_driver_knows_and_a_crash_before_the_record_undoes_it() -> None:
    """IS4, I10: what was not durable was not; nothing behind it was committed either."""
    told = talk()
    before = told.checkpoint()
    told.fail(LEFT).ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT)
    after = told.last(cc.Persist).record
    restarted = [
        {one.subtask for one in Talk(FORK, record=record, first_checkpoint=50).activate(2).all(cc.Restart)}
        for record in (before, after)
    ]
    assert restarted == [{SOURCE, LEFT, RIGHT}, {SOURCE, RIGHT}]


def test_a_table_that_leaves_while_a_record_is_stored_is_a_part_of_that_record() -> None:
    """CK4, LE4: it had acknowledged; the topology of that record does not bring it back."""
    told = talk()
    told.timer("trigger", 10.0)
    number = told.last(cc.SendTrigger).checkpoint
    told.ack(number, state="last").fail(LEFT).persisted(number)
    assert told.coordinator.shared.topology.detached == {"left"}

    told.ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT)
    assert told.last(cc.Persist).record.snapshots[LEFT] == SubtaskSnapshot("last", since=number)


def test_void_positions_leave_nothing_of_those_who_left() -> None:
    """BE5: they stand nowhere, and are still out."""
    told = talk(backoff=ONCE).fail(LEFT, Reason.UNIT_REFUSED).hear_and_return(ev.PositionsVoid(1.0, "g"))
    told.persisted().timer("restart", 5.0).all_ready_of(SOURCE, RIGHT)
    told.ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT).persisted()

    assert LEFT not in told.last(cc.Persist).record.snapshots
    assert told.last(cc.Isolated).stand_at == 0


# ---------------------------------------------------------------- until it is durable


def test_the_barrier_is_asked_for_until_a_record_shows_it() -> None:
    """LE3, I15: each attempt that fails counts; whoever asked is not told of the attempts."""
    settings = CheckpointSettings(alignment_timeout=None, tolerable_failures=2)
    told = talk(settings=settings).fail(LEFT)
    for _ in range(2):
        told.timer(f"expire {told.last(cc.SendTrigger).checkpoint}")
    number = told.last(cc.SendTrigger).checkpoint
    assert len(told.all(cc.SendTrigger)) == 3
    assert not told.all(cc.Refused)

    told.forget().timer(f"expire {number}")
    assert told.last(cc.PipelineEnded) == cc.PipelineEnded(Reason.TOO_MANY_FAILED_CHECKPOINTS)


def test_a_restart_of_others_comes_before_the_barrier() -> None:
    """CO3: the attempt is given up with everything pending (I24), and made again; they leave all the same."""
    told = talk(backoff=ONCE).fail(LEFT, Reason.UNIT_REFUSED).forget()
    told.fail(RIGHT)
    assert triggered(told) == []
    told.timer("restart", 5.0).all_ready_of(SOURCE, RIGHT)

    assert {one.subtask for one in told.all(cc.Restart)} == {SOURCE, RIGHT}
    assert triggered(told) == [("source", ISOLATE_LEFT)]


def test_a_final_record_shows_it_as_well() -> None:
    """LE3, EN3: behind it nobody needs a barrier any more; success is that of those who remain."""
    told = talk().end(SOURCE)
    number = told.last(cc.SendTrigger).checkpoint
    told.ack(number, ended=True).fail(LEFT)
    told.persisted(number).confirm(number, "left").confirm(number, "right")
    assert told.last(cc.Persist).record.kind is RecordKind.FINAL
    assert told.last(cc.PipelineEnded) == cc.PipelineEnded(None), "it had acknowledged everything: it has arrived"

    late = talk().fail(LEFT)
    late.ack(late.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT).persisted().end(SOURCE)
    late.ack(late.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT, ended=True).persisted()
    assert late.last(cc.Persist).record.topology.detached == {"left"}
    assert late.coordinator.leaving.going == set()


def test_a_stop_that_is_broken_off_leaves_the_table_out_first() -> None:
    """EN6: those who remain restart, and the barrier of the isolation follows."""
    told = talk(backoff=ONCE)
    told.hear(ev.SavepointRequested(1.0, "s", stop=True))
    told.fail(LEFT, Reason.UNIT_REFUSED).forget().timer("restart", 5.0).all_ready_of(SOURCE, RIGHT)

    assert {one.subtask for one in told.all(cc.Restart)} == {SOURCE, RIGHT}
    assert triggered(told) == [("source", ISOLATE_LEFT)]


# ---------------------------------------------------------------- ids


def test_a_driver_uses_no_id_that_the_next_one_would_not_expect() -> None:
    """CL5, I11: checkpoints that are given up without being counted use up ids too."""
    told = talk(settings=CheckpointSettings(alignment_timeout=None), backoff=Backoff(retries=2 * ID_RESERVE))
    told.hear(ev.OperationRequested(1.0, Operation(OperationKind.SPEED, 5)))
    for _ in range(ID_RESERVE):
        if told.all(cc.PipelineEnded):
            break
        told.said = told.all(cc.SendTrigger)[-1:]
        told.fail(SOURCE).timer("restart")
        told.all_ready_of(SOURCE, LEFT, RIGHT)

    assert told.last(cc.PipelineEnded) == cc.PipelineEnded(Reason.TOO_MANY_FAILED_CHECKPOINTS)
    assert told.coordinator.shared.next_checkpoint == 1 + ID_RESERVE


def test_where_a_checkpoint_would_show_rows_early_the_last_one_shows_who_left() -> None:
    """LE6: no barrier is asked for; the others go on to the end, and the final record holds who was left out."""
    at_end = CheckpointSettings(interval=None, alignment_timeout=None, at_end_only=True)
    told = Talk(FORK, at_end, backoff=NEVER).start().forget().fail(LEFT)

    assert triggered(told) == []
    assert told.all(cc.EndExecution) == [cc.EndExecution(LEFT, 1, 2)]

    told.end(SOURCE)
    number = told.last(cc.SendTrigger).checkpoint
    told.ack(number, SOURCE, RIGHT, ended=True).persisted()

    record = told.last(cc.Persist).record
    assert record.kind is RecordKind.FINAL and record.topology.detached == {"left"}
    assert told.last(cc.Isolated) == cc.Isolated(("left",), number, 0)


# ---------------------------------------------------------------- commits that are refused

SINKS = Topology(
    (Vertex("source"), *(Vertex(name, sink=SinkKind.TWO_PHASE) for name in ("left", "right"))),
    (Edge("source", "left"), Edge("source", "right")),
)


def committing(**more: Any) -> tuple[Talk, int]:
    """Both sinks have to commit."""
    told = talk(SINKS, **more)
    return told, told.checkpoint(pieces=["p"]).checkpoint


def refuse(told: Talk, checkpoint: int, scope: str = "left", reason: Reason = Reason.COMMIT_REFUSED) -> Talk:
    return told.hear_and_return(ev.CommitFailed(told.at, 1, scope, checkpoint, reason))


def test_whose_commit_is_refused_for_good_leaves_with_what_it_has_not_committed() -> None:
    """CN4, FO5, P2: the others go on to success; every record carries the commit, and nobody waits for it."""
    told, first = committing()
    told.confirm(first, "right").progress().timer("trigger", told.at + 10.0)
    pending = told.last(cc.SendTrigger).checkpoint

    refuse(told.forget(), first)

    assert cc.CheckpointEnded(pending, Reason.RESTARTING, (LEFT, RIGHT, SOURCE)) in told.said
    assert triggered(told) == [("source", ISOLATE_LEFT)]
    told.ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT, pieces=["q"]).persisted()
    assert told.last(cc.Isolated).stand_at == first
    told.confirm(told.last(cc.Persist).record.checkpoint, "right").end(SOURCE)
    told.ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT, ended=True).persisted()
    record = told.last(cc.Persist).record
    assert [(one.scope, one.checkpoint) for one in record.uncommitted if one.scope == "left"] == [("left", first)]
    told.confirm(record.checkpoint, "right")
    assert told.last(cc.PipelineEnded) == cc.PipelineEnded(None)


def test_a_last_commit_that_is_refused_keeps_nobody_from_success() -> None:
    """CN4, EN3: no barrier is needed, for the record holds the commit, and a later driver makes it."""
    told = talk(SINKS).end(SOURCE)
    number = told.last(cc.SendTrigger).checkpoint
    told.ack(number, ended=True, pieces=["p"]).persisted().forget()

    refuse(told, number)
    assert told.all(cc.EndExecution) == [cc.EndExecution(LEFT, 1, 2)] and not told.all(cc.PipelineEnded)
    told.confirm(number, "right")

    assert told.last(cc.PipelineEnded) == cc.PipelineEnded(None)


def test_a_commit_of_one_that_is_out_already_harms_nobody() -> None:
    """CN4."""
    told, first = committing()
    told.fail(LEFT).forget()
    refuse(told, first)
    assert not told.all(cc.PipelineEnded) and not told.all(cc.EndExecution)

    lost, first = committing()
    refuse(lost.fail(LEFT), first, reason=Reason.LOST)
    assert lost.last(cc.PipelineEnded) == cc.PipelineEnded(Reason.LOST), "never a success (I31)"


@pytest.mark.parametrize(
    ("scope", "reason", "topology", "policy"),
    [
        ("left", Reason.COMMIT_REFUSED, SINKS, FailoverPolicy.FAIL_FAST),
        ("left", Reason.LOST, SINKS, FailoverPolicy.CONTINUE_OTHER_TABLES),
        ("left", Reason.COMMIT_REFUSED, replace(SINKS, vertices=SINKS.vertices[:2], edges=SINKS.edges[:1]), None),
    ],
)
def test_otherwise_a_commit_that_never_will_succeed_fails_the_pipeline(
    scope: str, reason: Reason, topology: Topology, policy: FailoverPolicy | None
) -> None:
    """CN2, FO6, FO7, IS3."""
    told = talk(topology, policy=policy or FailoverPolicy.CONTINUE_OTHER_TABLES)
    refuse(told, told.checkpoint(pieces=["p"]).checkpoint, scope, reason)
    assert told.last(cc.PipelineEnded) == cc.PipelineEnded(reason)


def test_bad_rows_of_a_vertex_without_sinks_are_nobodys_table() -> None:
    """CN2: what they are committed with is no sink that others could go on without."""
    told = talk(replace(SINKS, vertices=tuple(replace(one, sink=SinkKind.NONE) for one in SINKS.vertices)))
    number = told.checkpoint(pieces=["p"]).checkpoint
    refuse(told, number, "left")
    assert told.last(cc.PipelineEnded) == cc.PipelineEnded(Reason.COMMIT_REFUSED)
