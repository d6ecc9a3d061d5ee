"""A coordinator is looked into by one frozen value, which holds until the next event."""

from __future__ import annotations

import pytest

from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.model.lifecycle import PipelineState
from tests.protocol.talk import PAIR, SINK, SOURCE, Talk


def test_it_shows_what_is_under_way() -> None:
    talk = Talk(set_up=("sink",))
    assert talk.coordinator.view.state is PipelineState.CREATED
    assert (talk.coordinator.view.newest, talk.coordinator.view.topology) == (None, PAIR)

    talk.activate()
    storing = talk.coordinator.view.storing
    assert storing is not None and storing.checkpoint == 1

    talk.persisted()
    talk.hear(ev.SetUpDone(talk.at, "sink"))
    talk.all_ready().hear(ev.Progressed(talk.at))
    talk.timer("trigger", 10.0)
    talk.ack(2, SOURCE)
    view = talk.coordinator.view
    assert view.set_up == {"sink"} and view.completed == {1} and view.next_checkpoint == 3 and view.requested
    assert [(one.checkpoint, one.missing, len(one.snapshots)) for one in view.pending] == [(2, (SINK,), 1)]
    assert (view.restarting, view.final_durable) == (False, False)


def test_it_holds_until_the_next_event() -> None:
    talk = Talk().start()
    view = talk.coordinator.view
    assert talk.coordinator.view is view

    talk.hear(ev.SubtaskFailed(talk.at, 1, talk.epoch(SINK), SINK))

    assert not view.restarting
    assert talk.coordinator.view.restarting
    with pytest.raises(AttributeError):
        view.restarting = True  # type: ignore[misc]
