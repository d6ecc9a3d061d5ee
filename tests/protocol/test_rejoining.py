"""Isolated tables come back: what is refused and why, what the barrier opens, what its record shows, who begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.commands import RejoinObstacle
from seatunnel_py.protocol.failover.regions import restored_position
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PipelineState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import (
    Barrier,
    BatchHandle,
    JournalUse,
    Operation,
    OperationKind,
    StagedPiece,
)
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot as Snapshot
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Topology, Vertex
from seatunnel_py.protocol.participant import messages as msg
from tests.protocol.desk import Desk, items
from tests.protocol.talk import FORK, SOURCE, Talk

LEFT, RIGHT, OWN = Subtask("left"), Subtask("right"), Subtask("own")
TO_LEFT, TO_RIGHT = FORK.channels
APART = Topology((*FORK.vertices[::2], Vertex("own"), FORK.vertices[1]), (Edge("source", "right"), Edge("own", "left")))
"""Two tables, each with a source of its own, in one pipeline."""
ALONE = APART.channels[1]
NEVER = Backoff(retries=0)
BROUGHT = {LEFT: Snapshot("caught up", {TO_LEFT: 3}, pieces=(StagedPiece("missed"),), taken=9)}


def ack(told: Talk, checkpoint: int, **snapshots: Snapshot) -> Talk:
    for name, snapshot in snapshots.items():
        subtask = Subtask(name)
        told.hear(ev.Acknowledged(told.at, told.incarnation, told.epoch(subtask), subtask, checkpoint, snapshot))
    return told


def without_left(topology: Topology = FORK, backoff: Backoff = NEVER, **left: Any) -> Talk:
    """A pipeline whose left table has been left out, after a checkpoint in which it took part."""
    told = Talk(topology, backoff=backoff).start().progress().timer("trigger", 10.0)
    number = told.last(cc.SendTrigger).checkpoint
    others = {one.vertex: Snapshot(3, sent={TO_LEFT: 3, TO_RIGHT: 3}) for one in topology.subtasks()}
    others |= {"right": Snapshot(applied={TO_RIGHT: 3}), "left": Snapshot("durable", {TO_LEFT: 3}, taken=3)}
    ack(told, number, **{name: others[name] for name in topology.by_id} | left).persisted()
    told.fail(LEFT, Reason.UNIT_REFUSED)
    return live(told, told.last(cc.SendTrigger).checkpoint).persisted()


def live(told: Talk, checkpoint: int, at: int = 5, **more: Snapshot) -> Talk:
    """Those who remain acknowledge: the source has read up to ``at``."""
    parts = {"source": Snapshot(at, sent={TO_LEFT: 3, TO_RIGHT: at}), "right": Snapshot(applied={TO_RIGHT: at})}
    return ack(told, checkpoint, **parts | more)


def ask(told: Talk, *vertices: str, reached: Mapping[Subtask, Any] | None = None, **more: Any) -> Talk:
    return told.hear_and_return(ev.RejoinRequested(told.at, vertices, reached or {}, **more))


def bring(told: Talk, reached: int = 5, brought: Mapping[Subtask, Snapshot] = BROUGHT) -> Talk:
    """Somebody has read for the left table what it missed."""
    return ask(told, "left", reached={SOURCE: reached}, brought=brought)


def refusals(told: Talk) -> list[tuple[RejoinObstacle, tuple[str, ...]]]:
    return [(one.lack, one.about) for one in told.all(cc.RejoinRefused)]


# ---------------------------------------------------------------- what is lacking


def test_where_a_source_went_on_for_others_somebody_has_to_bring_what_was_missed() -> None:
    """RJ1, IS5: the rows that its sibling got are nowhere in the record."""
    told = ask(without_left().forget(), "left")
    assert told.said == [cc.RejoinRefused(("left",), RejoinObstacle.ROWS, ("source",))]


@pytest.mark.parametrize("vertices", [("right",), ("nobody",), ()])
def test_who_was_not_isolated_cannot_come_back(vertices: tuple[str, ...]) -> None:
    """IS8."""
    told = ask(without_left().forget(), *vertices)
    assert refusals(told) == [(RejoinObstacle.STRANGERS, vertices)]


def test_nobody_comes_back_before_it_is_durable_that_he_left() -> None:
    """IS4: who leaves at this moment stays out until then."""
    told = Talk(FORK, backoff=NEVER).start().fail(LEFT).forget()
    assert refusals(ask(told, "left")) == [(RejoinObstacle.LEAVING, ("left",))]


@pytest.mark.parametrize(
    ("topology", "about"),
    [
        (APART, ("own",)),
        (
            Topology(
                (
                    Vertex("source"),
                    *(Vertex(name, sink=SinkKind.TWO_PHASE, scope="one") for name in ("left", "twin")),
                    FORK.vertices[2],
                ),
                tuple(Edge("source", name) for name in ("left", "twin", "right")),
            ),
            ("twin",),
        ),
    ],
    ids=["feeds it", "finishes with it"],
)
def test_nobody_comes_back_without_those_who_left_with_him_and_are_needed(
    topology: Topology, about: tuple[str, ...]
) -> None:
    """IS1 backwards."""
    told = Talk(topology, backoff=NEVER).start().fail(LEFT)
    told.ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT).persisted().forget()
    assert refusals(ask(told, "left")) == [(RejoinObstacle.COMPANY, about)]


def test_a_source_that_cannot_be_read_twice_does_not_come_back() -> None:
    """RJ1, FO4: what it read after the checkpoint is gone."""
    once = Topology(tuple(v if v.id != "own" else Vertex("own", replayable=False) for v in APART.vertices), APART.edges)
    told = without_left(once).forget()
    assert refusals(ask(told, "own", "left")) == [(RejoinObstacle.READ_ONCE, ("own",))]


def test_a_table_that_was_ahead_of_its_own_source_does_not_come_back() -> None:
    """RJ1, R12, I22: the source would now give the same numbers to other batches."""
    told = without_left(APART, own=Snapshot(2, sent={ALONE: 2}), left=Snapshot("ahead", {ALONE: 3})).forget()
    assert refusals(ask(told, "own", "left")) == [(RejoinObstacle.AHEAD, ("left",))]


def test_what_waits_to_be_applied_was_not_brought() -> None:
    """RJ1, IS5: under the numbers of now nobody could tell what it is."""
    waiting = {LEFT: Snapshot("x", {TO_LEFT: 2}, channel_state={TO_LEFT: (BatchHandle(3),)})}
    assert refusals(bring(without_left().forget(), brought=waiting)) == [(RejoinObstacle.ROWS, ("source",))]


# ---------------------------------------------------------------- with sources of its own


def test_a_table_with_sources_of_its_own_goes_on_from_what_the_record_holds() -> None:
    """RJ1, RJ4, R11, I21: from the checkpoint at which it stood, in new lives, beside the others."""
    told = without_left(APART)
    stood = {one: told.last(cc.Persist).record.snapshots[one] for one in (OWN, LEFT)}
    ask(told.forget(), "own", "left")
    number = told.last(cc.SendTrigger).checkpoint
    assert [(one.subtask, one.operation.argument) for one in told.all(cc.SendTrigger)] == [
        (SOURCE, {"left": 3, "own": 3})
    ]
    live(told, number)
    record = told.last(cc.Persist).record
    assert (record.topology.detached, {one: record.snapshots[one] for one in stood}) == (set(), stood)
    assert not told.all(cc.Restart), "not before it is durable"

    told.persisted()

    assert {(one.subtask, one.epoch, one.checkpoint, one.replay) for one in told.all(cc.Restart)} == {
        (OWN, 3, number, JournalUse.VOID),
        (LEFT, 3, number, JournalUse.VOID),
    }
    assert told.last(cc.Rejoined) == cc.Rejoined(("left", "own"), number)
    told.all_ready_of(OWN, LEFT)
    assert {one.subtask for one in told.all(cc.SendStart)} == {OWN, LEFT}
    told.progress().timer("trigger", 60.0)
    assert {one.subtask for one in told.all(cc.SendTrigger)[-2:]} == {SOURCE, OWN}


def test_who_comes_back_has_all_attempts_and_is_left_out_again_when_they_are_used_up() -> None:
    """RE8, IS9, I21: from the record at which it came back; the others do not notice."""
    told = without_left(APART, Backoff(retries=1, first=1.0))
    ask(told, "own", "left")
    joined = told.last(cc.SendTrigger).checkpoint
    live(told, joined).persisted().forget()
    told.fail(LEFT, Reason.RESTORE_FAILED).timer("restart", 30.0)
    assert {one.subtask for one in told.all(cc.Restart)} == {OWN, LEFT}
    told.fail(LEFT, Reason.RESTORE_FAILED)

    assert {one.subtask for one in told.all(cc.EndExecution)} == {OWN, LEFT}
    live(told, told.last(cc.SendTrigger).checkpoint).persisted()
    assert told.last(cc.Isolated).stand_at == joined
    assert told.last(cc.Persist).record.snapshots[LEFT].state == "durable"


def test_a_table_that_ended_its_sources_ends_them_again() -> None:
    """RE6, I46: and those of others do not end the pipeline without it."""
    told = without_left(APART, own=Snapshot(9, ended=True, sent={ALONE: 3}), left=Snapshot("all", {ALONE: 3}))
    ask(told, "own", "left")
    live(told, told.last(cc.SendTrigger).checkpoint).persisted().all_ready_of(OWN, LEFT)
    assert told.coordinator.shared.ended == {OWN}


@pytest.mark.parametrize("argument", [["own", "left"], ("left", "own"), "left"])
def test_an_operation_that_adds_is_the_same_request_with_nothing_brought(argument: Any) -> None:
    """O6.2, RJ1."""
    told = without_left(APART).forget()
    told.hear(ev.OperationRequested(told.at, Operation(OperationKind.ADD, argument)))
    if argument == "left":
        assert told.said == [cc.RejoinRefused(("left",), RejoinObstacle.COMPANY, ("own",))]
    else:
        assert told.last(cc.SendTrigger).operation.argument == {"left": 3, "own": 3}


# ---------------------------------------------------------------- with what was brought


def test_what_was_brought_joins_exactly_at_the_barrier() -> None:
    """RJ3, IS5, IS8: it has, under whatever numbers, all that was sent; what it staged on the way is committed then."""
    told = bring(without_left().forget())
    number = told.last(cc.SendTrigger).checkpoint
    live(told, number).persisted()
    record = told.last(cc.Persist).record

    assert record.snapshots[LEFT] == Snapshot("caught up", {TO_LEFT: 3}, pieces=(StagedPiece("missed"),), taken=9)
    assert restored_position(record.snapshots[LEFT], TO_LEFT) == record.snapshots[SOURCE].sent[TO_LEFT]
    assert [(one.scope, one.pieces) for one in told.all(cc.CommitPieces)] == [("left", (StagedPiece("missed"),))]
    (restart,) = told.all(cc.Restart)
    assert (restart.subtask, restart.epoch, restart.snapshot) == (LEFT, 3, record.snapshots[LEFT])
    assert told.coordinator.shared.state is PipelineState.RESTORING
    told.all_ready_of(LEFT)
    assert told.coordinator.shared.state is PipelineState.RUNNING


@pytest.mark.parametrize(
    ("parts", "about"),
    [
        ({"source": Snapshot(6, sent={TO_LEFT: 3, TO_RIGHT: 5})}, ("source[0]",)),
        ({"source": Snapshot(4, sent={TO_LEFT: 3, TO_RIGHT: 5})}, ("source[0]",)),
    ],
)
def test_what_does_not_end_at_the_barrier_is_refused_and_nobody_notices(
    parts: dict[str, Snapshot], about: tuple[str, ...]
) -> None:
    """RJ3, I12: before it rows would be missing, after it they would be there twice. Answered once."""
    told = bring(without_left().forget())
    number = told.last(cc.SendTrigger).checkpoint
    live(told, number, **parts)

    assert told.all(cc.RejoinRefused) == [cc.RejoinRefused(("left",), RejoinObstacle.BEHIND, about)]
    assert not told.all(cc.Persist) and not told.all(cc.Refused)
    assert {one.subtask for one in told.all(cc.SendAborted)} == {SOURCE, RIGHT}
    assert told.coordinator.shared.topology.detached == {"left"}
    assert told.coordinator.checkpoints.failed.count == 0
    assert told.last(cc.EndExecution) == cc.EndExecution(LEFT, 1, 4), (
        "what was sent to the third life keeps nobody waiting"
    )

    bring(told, reached=parts["source"].state)
    assert told.last(cc.SendTrigger).operation.argument == {"left": 5}, "an unused life is used up (I11)"


def test_rows_before_the_barrier_that_are_still_to_come_behind_it_would_come_twice() -> None:
    """RJ3, I25: a vertex between source and table, with batches in its channel state."""
    topology = Topology(
        (Vertex("source"), Vertex("between"), *FORK.vertices[1:]),
        (Edge("source", "between"), Edge("between", "left"), Edge("between", "right")),
    )
    into, to_left, to_right = topology.channels
    told = Talk(topology, backoff=NEVER).start().fail(LEFT)
    told.ack(told.last(cc.SendTrigger).checkpoint, SOURCE, Subtask("between"), RIGHT).persisted()
    brought = {LEFT: Snapshot("x")}
    ask(told, "left", reached={SOURCE: 5}, brought=brought)
    parts = {
        "source": Snapshot(5, sent={into: 4}),
        "between": Snapshot(applied={into: 3}, channel_state={into: (BatchHandle(4),)}, sent={to_right: 3}),
        "right": Snapshot(applied={to_right: 3}),
    }
    ack(told, told.last(cc.SendTrigger).checkpoint, **parts)
    assert refusals(told) == [(RejoinObstacle.BEHIND, ("between[0]",))]

    parts["between"] = Snapshot(applied={into: 4}, sent={to_right: 3})
    ask(told, "left", reached={SOURCE: 5}, brought=brought)
    ack(told, told.last(cc.SendTrigger).checkpoint, **parts)
    assert told.last(cc.Persist).record.snapshots[LEFT] == Snapshot("x", {to_left: 0})


def test_what_was_brought_for_others_is_of_no_concern() -> None:
    """RJ3: nobody's own snapshot is overwritten."""
    told = bring(without_left(), brought={**BROUGHT, RIGHT: Snapshot("not mine")})
    live(told, told.last(cc.SendTrigger).checkpoint)
    assert told.last(cc.Persist).record.snapshots[RIGHT] == Snapshot(applied={TO_RIGHT: 5})


# ---------------------------------------------------------------- what comes between


def test_an_attempt_for_others_sake_given_up_is_made_again() -> None:
    """CK6, RJ2: in lives that were not announced before."""
    told = bring(without_left(backoff=Backoff(retries=1, first=1.0))).forget()
    told.fail(RIGHT).timer("restart", 30.0).all_ready_of(SOURCE, RIGHT)
    assert told.last(cc.SendTrigger).operation.argument == {"left": 5}


def test_an_attempt_that_is_not_acknowledged_is_answered() -> None:
    """CK6, CO4: and may be made again by whoever asked."""
    told = bring(without_left().forget())
    told.timer(f"expire {told.last(cc.SendTrigger).checkpoint}")
    assert told.all(cc.Refused) == [cc.Refused("operation", Reason.EXPIRED)]


def test_what_has_become_impossible_while_it_waited_is_refused() -> None:
    """RJ1: two asked for the same."""
    told = without_left()
    told.progress().timer("trigger", 40.0)
    number = told.last(cc.SendTrigger).checkpoint
    for _ in range(2):
        bring(told)
    live(told.forget(), number).persisted()
    live(told, told.last(cc.SendTrigger).checkpoint).persisted().all_ready_of(LEFT)

    assert refusals(told) == [(RejoinObstacle.STRANGERS, ("left",))]
    assert [one.vertices for one in told.all(cc.Rejoined)] == [("left",)]


def test_who_fails_while_the_record_is_stored_restarts_together_with_those_who_come_back() -> None:
    """CK4, RE3: from that record, in the lives that were announced."""
    told = bring(without_left(backoff=Backoff(retries=1, first=1.0)).forget())
    number = told.last(cc.SendTrigger).checkpoint
    live(told, number).fail(RIGHT).persisted(number)
    assert not told.all(cc.Restart)
    told.timer("restart", 30.0)

    assert {(one.subtask, one.epoch, one.checkpoint) for one in told.all(cc.Restart)} == {
        (SOURCE, 2, number),
        (RIGHT, 2, number),
        (LEFT, 3, number),
    }
    told.all_ready_of(SOURCE, RIGHT, LEFT)
    assert told.coordinator.shared.state is PipelineState.RUNNING


def uses(told: Talk) -> dict[Subtask, JournalUse]:
    return {one.subtask: one.replay for one in told.all(cc.Restart)}


def test_what_was_taken_before_they_left_is_void_also_where_others_restart_with_them() -> None:
    """RE9, RJ4: what was brought has numbers of its own."""
    told = bring(without_left(backoff=Backoff(retries=1, first=1.0)).forget())
    number = told.last(cc.SendTrigger).checkpoint
    live(told, number).fail(RIGHT).persisted(number).timer("restart", 30.0)

    assert uses(told) == {SOURCE: JournalUse.WHOLE, RIGHT: JournalUse.WHOLE, LEFT: JournalUse.VOID}


def test_what_was_taken_before_they_left_is_void_until_they_have_started() -> None:
    """RE9, RE3: a first attempt may not have begun everywhere; what the new life took itself counts again."""
    told = without_left(APART, Backoff(retries=3, first=1.0))
    live(ask(told, "own", "left"), told.last(cc.SendTrigger).checkpoint).persisted()
    told.fail(OWN).forget().timer("restart", 30.0)
    assert uses(told) == {OWN: JournalUse.VOID, LEFT: JournalUse.VOID}

    told.all_ready().fail(OWN).forget().timer("restart", 60.0)
    assert uses(told) == {OWN: JournalUse.WHOLE}


def test_what_was_taken_before_they_left_is_void_to_a_later_driver_too() -> None:
    """RJ4: the one that let them in may have died before it could begin their lives."""
    told = bring(without_left().forget())
    live(told, told.last(cc.SendTrigger).checkpoint)
    record = told.last(cc.Persist).record

    later = Talk(FORK, record=record, first_checkpoint=record.checkpoint + 10)
    later.incarnation = 2
    later.activate(2)
    assert uses(later) == {SOURCE: JournalUse.WHOLE, RIGHT: JournalUse.WHOLE, LEFT: JournalUse.VOID}

    later.all_ready().progress()
    assert not later.checkpoint().joined, "from the next record on their journals are of the new lives"


def test_where_a_feeder_has_left_meanwhile_the_others_stay_out() -> None:
    """RJ5: with what the record of their barrier holds; the next barrier names them again."""
    topology = Topology(
        (Vertex("source"), Vertex("between"), *FORK.vertices[1:], Vertex("other", sink=SinkKind.TWO_PHASE)),
        (Edge("source", "between"), Edge("between", "left"), Edge("between", "other"), Edge("source", "right")),
    )
    to_left = topology.channels[1]
    told = Talk(topology, backoff=NEVER).start().fail(LEFT)
    others = [one for one in topology.subtasks() if one != LEFT]
    told.ack(told.last(cc.SendTrigger).checkpoint, *others).persisted()
    ask(told, "left", reached={SOURCE: None}, brought={LEFT: Snapshot("x")})
    number = told.last(cc.SendTrigger).checkpoint
    told.ack(number, *others).fail(Subtask("between")).forget().persisted(number)

    assert told.last(cc.SendTrigger).operation.argument == ("between", "left", "other")
    assert told.all(cc.EndExecution) == [cc.EndExecution(LEFT, 1, 4)], (
        "also the life that was announced, which is the third"
    )
    assert not told.all(cc.Rejoined)
    told.ack(told.last(cc.SendTrigger).checkpoint, SOURCE, RIGHT)
    record: CheckpointRecord = told.last(cc.Persist).record
    assert record.snapshots[LEFT] == Snapshot("x", {to_left: 0}, since=number)


# ---------------------------------------------------------------- the participants' side


WITHOUT = Topology(FORK.vertices, FORK.edges, detached=frozenset({"left"}))
BACK = Operation(OperationKind.ADD, {"left": 7})
SUBTASK = Subtask("source")


def source() -> Desk:
    """A source that a later driver made: one of its tables is out."""
    desk = Desk(SUBTASK, WITHOUT, restored=False)
    channels = {TO_RIGHT: 1}
    desk.put(msg.Restored(0.0, 1, 1, 4, Snapshot(4, sent={TO_LEFT: 3, TO_RIGHT: 3}), {}, channels))
    desk.start()
    return desk


def test_a_barrier_lets_them_in_behind_it_with_the_next_number_and_for_the_life_that_it_names() -> None:
    """RJ2, G5, U4: what is sent before it is for others only."""
    desk = source()
    desk.trigger(5, BACK)
    said = desk.unit((TO_LEFT, "missed"), (TO_RIGHT, "a"))
    assert items(said) == [(TO_RIGHT, BatchHandle(4, 1, 97, "a")), (TO_RIGHT, Barrier(5, BACK))]
    said = desk.unit((TO_LEFT, "b"), (TO_RIGHT, "b"))
    (envelope,) = [one.envelope for one in said if isinstance(one, msg.Emit) and one.envelope.channel == TO_LEFT]
    assert (envelope.receiver_epoch, envelope.item) == (7, BatchHandle(4, 1, 98, "b"))


@pytest.mark.parametrize("given_up", [5, 6])
def test_an_attempt_that_was_given_up_shuts_them_out_again(given_up: int) -> None:
    """RJ2, G5: and no other."""
    desk = source()
    desk.trigger(5, BACK)
    desk.unit()
    desk.abort(given_up)
    sent = [channel for channel, _ in items(desk.unit((TO_LEFT, "b")))]
    assert sent == ([] if given_up == 5 else [TO_LEFT])


def test_a_life_that_begins_in_between_knows_only_who_takes_part() -> None:
    """Q3: an attempt ends with the life."""
    desk = source()
    desk.trigger(5, BACK)
    desk.unit()
    desk.put(msg.Restored(0.0, 1, 2, 4, None, {}, {TO_RIGHT: 1}))
    desk.start()
    desk.abort(5)
    assert items(desk.unit((TO_LEFT, "b"))) == []
