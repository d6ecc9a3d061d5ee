"""Positions are void, and the new checkpoint 0 that says so is on its way to the store: nothing of before may get in."""

from __future__ import annotations

import pytest

from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import JournalUse
from tests.protocol.talk import Talk

REQUESTS = (
    ev.Timer(20.0, "trigger"),
    ev.SavepointRequested(20.0, "kept"),
    ev.SavepointRequested(20.0, "last", stop=True),
)


@pytest.mark.parametrize("request_", REQUESTS, ids=["periodic", "savepoint", "stop"])
def test_be5_no_checkpoint_begins_before_the_new_checkpoint_0_is_durable(request_: ev.CoordinatorEvent) -> None:
    """It would hold positions that are void, and overtake the record that says so."""
    talk = Talk().start().progress()
    talk.hear(ev.PositionsVoid(15.0, "g"))
    zero = talk.last(cc.Persist).record
    talk.forget().hear(request_)

    assert zero.kind is RecordKind.ZERO and not talk.all(cc.SendTrigger)


def test_i24_nothing_is_pending_when_everything_begins_again() -> None:
    talk = Talk().start().progress()
    talk.hear(ev.PositionsVoid(5.0, "g"))
    number = talk.last(cc.Persist).record.checkpoint
    talk.timer("trigger", 10.0).persisted(number).forget().timer("restart", 12.0)

    assert talk.all(cc.Restart) and not talk.coordinator.checkpoints.pending
    talk.all_ready().progress().forget().timer("trigger", 20.0)
    assert talk.all(cc.SendTrigger)


def test_be5_a_later_driver_takes_nothing_again_that_was_taken_before_the_new_checkpoint_0() -> None:
    """The driver that made it may have died before the journals were dropped."""
    first = Talk().start().progress()
    zero = first.last(cc.Persist).record
    first.hear(ev.PositionsVoid(5.0, "g"))
    anew = first.last(cc.Persist).record

    assert {one.replay for one in later(zero).all(cc.Restart)} == {JournalUse.WHOLE}
    assert {one.replay for one in later(anew).all(cc.Restart)} == {JournalUse.VOID}


def later(record: CheckpointRecord) -> Talk:
    """The next driver, from this record."""
    return Talk(record=record, first_checkpoint=1000).activate(2)
