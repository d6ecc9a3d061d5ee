"""What a coordinator does about a failure: of a unit, of a subtask, of a commit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.failing import FailureLimits
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PipelineState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.topology import Topology, Vertex, VertexDeterminism
from tests.protocol.talk import FORK, PAIR, SETTINGS, SINK, SOURCE, Talk

ONCE = Backoff(retries=1, first=1.0, longest=5.0)
LEFT = Subtask("left")
RESTARTABLE = [Reason.UNIT_FAILED, Reason.SNAPSHOT_FAILED, Reason.RESTORE_FAILED, Reason.CONTENT_CHANGED]


def other_rows(graph: Topology = PAIR) -> Topology:
    """Its source gives other rows when it runs again."""
    first, *rest = graph.vertices
    return replace(graph, vertices=(replace(first, determinism=VertexDeterminism.INDETERMINATE), *rest))


def exhausted(talk: Talk, subtask: Subtask = SOURCE, *, retriable: bool = True, epoch: int = 0) -> list[object]:
    told = ev.UnitExhausted(talk.at, talk.incarnation, epoch or talk.epoch(subtask), subtask, 7, retriable)
    return list(talk.hear(told))


# ---------------------------------------------------------------- units


@pytest.mark.parametrize(("endless", "retriable"), [(False, True), (True, False)])
def test_a_unit_whose_attempts_are_used_up_fails(endless: bool, retriable: bool) -> None:
    """FA4: also when all restarts are used up."""
    talk = Talk(backoff=Backoff(retries=0), limits=FailureLimits(endless=endless)).start()

    assert exhausted(talk, retriable=retriable) == [cc.FailUnit(SOURCE, talk.epoch(SOURCE), 7, Reason.UNIT_FAILED)]


def test_a_stream_tries_on_what_may_pass_once_its_restarts_are_used_up() -> None:
    """FO9: the restarts come first, and are not used up by the question."""
    talk = Talk(backoff=ONCE, limits=FailureLimits(endless=True)).start()
    assert [type(one) for one in exhausted(talk)] == [cc.FailUnit]
    assert [type(one) for one in exhausted(talk)] == [cc.FailUnit]

    talk.fail(SOURCE).timer("restart", 2.0).all_ready()

    assert exhausted(talk) == [cc.RetryUnit(SOURCE, talk.epoch(SOURCE), 7, ONCE.longest)]
    assert exhausted(talk, SINK) == [cc.FailUnit(SINK, talk.epoch(SINK), 7, Reason.UNIT_FAILED)]


def test_a_unit_of_a_past_life_is_not_answered() -> None:
    """CO2, FA4."""
    talk = Talk(limits=FailureLimits(endless=True)).start()
    past = talk.epoch(SOURCE)
    talk.fail(SOURCE).timer("restart", 2.0).all_ready()

    assert exhausted(talk, epoch=past) == []


# ---------------------------------------------------------------- subtasks


def test_a_vertex_that_fails_for_one_reason_fails_once() -> None:
    """FA3: another subtask of it that says the same costs no attempt; another reason is another failure."""
    wide = Topology((Vertex("source", parallelism=2),), ())
    talk = Talk(wide, backoff=Backoff(retries=2, first=1.0)).start()

    talk.fail(Subtask("source", 0)).fail(Subtask("source", 1))
    assert len([one for one in talk.all(cc.SetTimer) if one.name == "restart"]) == 1
    talk.fail(Subtask("source", 1), Reason.SNAPSHOT_FAILED)
    assert len([one for one in talk.all(cc.SetTimer) if one.name == "restart"]) == 2


@pytest.mark.parametrize("reason", RESTARTABLE)
def test_what_would_be_shown_twice_is_not_restarted(reason: Reason) -> None:
    """FO2, B8: it fails for its own reason, and says for whose sake."""
    talk = Talk(other_rows(), limits=FailureLimits(undroppable=frozenset({"sink"}))).start().forget()

    talk.fail(SOURCE, reason)

    assert talk.all(cc.PipelineEnded) == [cc.PipelineEnded(reason, shows_twice=("sink",))]


@pytest.mark.parametrize("reason", RESTARTABLE)
def test_who_would_show_rows_twice_is_left_out_where_others_remain(reason: Reason) -> None:
    """FO2, FO7."""
    talk = Talk(other_rows(FORK), limits=FailureLimits(undroppable=frozenset({"left"}))).start().forget()
    left = replace(talk.coordinator.shared.topology.vertex("left"), determinism=VertexDeterminism.INDETERMINATE)
    shared = talk.coordinator.shared
    shared.topology = replace(shared.topology, vertices=(*shared.topology.vertices[:1], left, *FORK.vertices[2:]))

    talk.fail(LEFT, reason)

    assert [one.subtask for one in talk.all(cc.EndExecution)] == [LEFT]
    assert not talk.all(cc.PipelineEnded)


def test_content_that_changed_is_judged_by_who_is_trusted_then() -> None:
    """FO2, FO8: before that the sender was believed to give the same rows again."""
    talk = Talk(limits=FailureLimits(undroppable=frozenset({"sink"}))).start().forget()

    talk.fail(SINK, Reason.CONTENT_CHANGED)

    assert talk.last(cc.PipelineEnded) == cc.PipelineEnded(Reason.CONTENT_CHANGED, shows_twice=("sink",))


def test_a_gap_stays_a_gap() -> None:
    """B8, FO6: an error of ours is no isolation, whatever a restart would show."""
    talk = Talk(other_rows(FORK), limits=FailureLimits(undroppable=frozenset({"left", "right"}))).start().forget()

    talk.fail(LEFT, Reason.GAP)

    assert talk.all(cc.PipelineEnded) == [cc.PipelineEnded(Reason.GAP)]


def test_a_restart_that_shows_nothing_twice_is_made() -> None:
    talk = Talk(limits=FailureLimits(undroppable=frozenset({"sink"}))).start().forget()

    talk.fail(SOURCE)

    assert talk.last(cc.SetTimer).name == "restart"


def test_a_stop_that_fails_does_not_begin_again_what_would_be_shown_twice() -> None:
    """FO2, TR8."""
    limits = FailureLimits(undroppable=frozenset({"sink"}))
    talk = Talk(other_rows(), replace(SETTINGS, tolerable_failures=5), limits=limits).start()
    talk.hear(ev.SavepointRequested(talk.at, "stop", stop=True))
    number = talk.last(cc.SendTrigger).checkpoint

    talk.hear(ev.Declined(talk.at, talk.incarnation, talk.epoch(SINK), SINK, number, Reason.SNAPSHOT_FAILED))

    assert talk.last(cc.PipelineEnded) == cc.PipelineEnded(Reason.RESTORE_FAILED, shows_twice=("sink",))


# ---------------------------------------------------------------- commits


def waiting(tries: int | None) -> Talk:
    talk = Talk(PAIR, limits=FailureLimits(commit_tries=tries), backoff=Backoff(first=1.0, longest=64.0)).start()
    talk.progress().checkpoint(pieces=["p"])
    return talk.forget()


def fails(talk: Talk, reason: Reason = Reason.COMMIT_FAILED) -> list[object]:
    return list(talk.hear(ev.CommitFailed(talk.at, talk.incarnation, "sink", 2, reason)))


def test_a_commit_is_tried_as_often_as_it_may_be() -> None:
    """CN1: after that it counts as refused."""
    talk = waiting(3)
    for tries in (1, 2):
        pause = float(tries)
        assert fails(talk) == [cc.SetTimer("commit sink", pause), cc.CommitWaits("sink", 2, tries, pause)]
        assert talk.coordinator.view.commit_failures == {"sink": tries}
        talk.timer("commit sink")

    fails(talk)

    assert talk.last(cc.PipelineEnded).reason is Reason.COMMIT_REFUSED


def test_without_a_bound_it_is_tried_for_ever() -> None:
    """CN1, I29."""
    talk = waiting(None)
    for tries in range(1, 40):
        assert fails(talk)[-1] == cc.CommitWaits("sink", 2, tries, min(2.0 ** (tries - 1), 64.0))
        talk.timer("commit sink")
    assert talk.coordinator.shared.state is PipelineState.RUNNING


def test_a_commit_that_succeeds_gives_the_tries_back() -> None:
    """CN1."""
    talk = waiting(2)
    fails(talk)
    talk.timer("commit sink").confirm(2)
    assert talk.coordinator.view.commit_failures == {}


@pytest.mark.parametrize("reason", [Reason.LOST, Reason.FENCED, Reason.FOREIGN])
def test_what_a_target_says_of_a_commit_ends_the_pipeline_for_that(reason: Reason) -> None:
    """B7, CN2: it is no refusal, which would leave one table out."""
    talk = Talk(FORK).start()
    talk.progress().checkpoint(pieces=["p"])
    talk.hear(ev.CommitFailed(talk.at, talk.incarnation, "left", 2, reason))
    assert talk.last(cc.PipelineEnded).reason is reason
