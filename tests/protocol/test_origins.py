"""What the project owes to others, where no other test says it in their words. docs/origins.md has the whole list."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import Barrier, Operation, OperationKind
from seatunnel_py.protocol.model.topology import Spread
from seatunnel_py.protocol.participant import messages as msg
from tests.docs import walk
from tests.docs.small_world import SmallWorld
from tests.protocol.fake_link import FakeLink, counting
from tests.protocol.graphs import JOIN, LOOP, graph
from tests.protocol.talk import SETTINGS, SOURCE, Talk


def test_o2_1_a_raised_flag_interrupts_nothing() -> None:
    """Whenever the flag is raised, each source passes the barrier between two whole units, and reads on to its end."""
    topology = graph(JOIN)
    for steps in range(0, 60, 3):
        link = FakeLink(topology, *counting(topology, 9), seed=3).start().run(steps)

        link.trigger(1)
        link.run()

        assert link.is_complete(1)
        for name in topology.subtasks(topology.sources):
            snapshot = link.acknowledged[1][name]
            assert set(snapshot.sent.values()) == {snapshot.taken}, "a unit was cut in two"
            assert len(link.of(msg.ReportEnded, name)) == 1


def test_o5_3_the_plan_of_a_checkpoint_is_read_off_the_graph() -> None:
    """Vertices before they are made parallel key the state; sources are triggered; everybody is waited for."""
    topology = graph("a>join b>join join>out", parallelism={"a": 2, "out": 3}, spread=Spread.KEYED)
    talk = Talk(topology).start().progress().timer("trigger", 10.0)
    number = talk.last(cc.SendTrigger).checkpoint

    triggered = {trigger.subtask for trigger in talk.all(cc.SendTrigger)}
    talk.ack(number)

    record = talk.last(cc.Persist).record
    assert triggered == {Subtask("a", 0), Subtask("a", 1), Subtask("b")}
    assert record.checkpoint == number
    assert set(record.epochs) == {"a", "b", "join", "out"}
    assert set(record.snapshots) == set(topology.subtasks())


def test_o5_5_at_the_limit_the_next_waits_for_a_completion() -> None:
    """The timer's request is not lost: it starts when the one under way has ended."""
    settings = replace(SETTINGS, max_concurrent=1)
    talk = Talk(settings=settings).start().progress().timer("trigger", 10.0)
    first = talk.last(cc.SendTrigger).checkpoint

    talk.progress().timer("trigger", 20.0)
    assert [trigger.checkpoint for trigger in talk.all(cc.SendTrigger)] == [first]
    talk.ack(first).persisted()

    assert talk.last(cc.SendTrigger).checkpoint == first + 1


def test_o5_5_by_hand_it_is_a_savepoint() -> None:
    """A person needs no timer and no news."""
    talk = Talk(settings=replace(SETTINGS, interval=None)).start()

    talk.hear(ev.SavepointRequested(1.0, "before the upgrade"))
    talk.ack(talk.last(cc.SendTrigger).checkpoint)

    record = talk.last(cc.Persist).record
    assert (record.kind, record.name) == (RecordKind.SAVEPOINT, "before the upgrade")


def test_o5_7_a_bounded_source_completes_without_a_timer() -> None:
    """No interval, and still everything is committed as soon as the source has ended."""
    settings = replace(SETTINGS, interval=None)
    seconds = {"src": 0.05, "good": 0.02, "bad": 0.06}

    world = SmallWorld(walk.SIBLINGS, settings, seconds, {"src": 5}).run()

    triggers = [line for line in world.lines if "trigger" in line]
    assert triggers == ["coordinator->>src: trigger 2"]
    assert world.lines.index(triggers[0]) > world.lines.index("src->>coordinator: has nothing more")
    assert world.ended == cc.PipelineEnded(None)
    assert Counter(world.visible) == Counter({f"src{row}": 2 for row in range(1, 6)})


def test_o5_7_a_vertex_that_fails_after_its_source_has_ended_still_ends_well() -> None:
    """The completing barrier comes again with the next life."""
    settings = replace(SETTINGS, interval=None)
    seconds = {"src": 0.01, "good": 0.02, "bad": 0.06}

    world = SmallWorld(walk.SIBLINGS, settings, seconds, {"src": 5}, fails=("bad", 5)).run()

    assert world.ended == cc.PipelineEnded(None)
    assert Counter(world.visible) == Counter({f"src{row}": 2 for row in range(1, 6)})


@pytest.mark.parametrize("kind", OperationKind)
def test_o6_2_control_operations_reach_everybody_inside_the_stream(kind: OperationKind) -> None:
    """Each travels with the barrier, over every channel that stays, behind exactly the data of the cut."""
    topology = graph(LOOP)
    operation = Operation(kind, {OperationKind.ISOLATE: ("out",), OperationKind.SPEED: 100}.get(kind))
    link = FakeLink(topology, *counting(topology, 9), seed=5).start().run(30)

    link.trigger(1, operation=operation)
    link.run()

    barriers = [
        c.envelope for c in link.of(msg.Emit) if isinstance(c, msg.Emit) and isinstance(c.envelope.item, Barrier)
    ]
    assert link.is_complete(1)
    assert {envelope.channel for envelope in barriers} == set(topology.channels)
    assert {item.operation for item in (envelope.item for envelope in barriers) if isinstance(item, Barrier)} == {
        operation
    }


def test_o6_2_what_the_graph_does_not_have_is_not_asked_of_it() -> None:
    """A control operation that could not be obeyed never becomes a barrier."""
    talk = Talk().start().forget()

    talk.hear(ev.OperationRequested(1.0, Operation(OperationKind.ISOLATE, SOURCE.vertex)))

    assert talk.said == [cc.Refused(OperationKind.ISOLATE, Reason.NOT_POSSIBLE)]


@pytest.mark.parametrize("unaligned", [False, True])
def test_i19_a_snapshot_does_not_change_after_it_was_acknowledged(unaligned: bool) -> None:
    """The world may write it away while the subtask goes on."""
    topology = graph(LOOP)
    link = FakeLink(topology, *counting(topology, 20), seed=2).start().run(40)
    link.trigger(1, unaligned=unaligned)
    link.run(until=lambda: link.is_complete(1))
    then = repr(link.acknowledged[1])

    link.complete(1)
    link.trigger(2)
    link.run()

    assert link.is_complete(2)
    assert repr(link.acknowledged[1]) == then
    assert repr(link.acknowledged[2]) != then
