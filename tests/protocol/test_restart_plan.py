"""What everyone is told when a region restarts, or a table joins. That what is pending is aborted first (I24, O4.12) is the
coordinator's part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.coordinator.commands import Restart, SendPeerRestarted
from seatunnel_py.protocol.failover.decisions import distrust
from seatunnel_py.protocol.failover.regions import plan_joining, plan_restart, restart_set, restored_position, unsound
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, JournalUse, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, Spread, Topology, Vertex
from tests.protocol.graphs import CHAIN, LOOP, SIBLINGS, graph, names, record, topologies

SRC, A, B, OUT = (Subtask(name) for name in ("src", "a", "b", "out"))


def test_the_plan_of_a_region_beside_a_survivor() -> None:
    """I20, I21, R8, R9: the region begins new lives in new epochs, the sibling is told and keeps its own."""
    topology = graph(SIBLINGS)
    to_a, to_b = topology.channels
    at_3 = record(3, src=SubtaskSnapshot(sent={to_a: 5, to_b: 5}), a=SubtaskSnapshot(applied={to_a: 5}))
    plan = plan_restart(topology, ["a"], {"src": 4, "a": 6, "b": 2}, at_3, 9)

    assert plan.vertices == names("src a")
    assert plan.epochs == {"src": 5, "a": 7, "b": 2}
    assert plan.restarts == (
        Restart(SRC, 9, 5, 3, at_3.snapshots[SRC], {}, {to_a: 7, to_b: 2}, JournalUse.WHOLE),
        Restart(A, 9, 7, 3, at_3.snapshots[A], {to_a: 5}, {}, JournalUse.WHOLE),
    )
    assert plan.peers == (SendPeerRestarted(B, 9, {to_b: 5}, {}),)


def test_from_nothing() -> None:
    """Nothing completed: from checkpoint 0, without snapshots; all live vertices failed is the whole pipeline."""
    topology = graph("src>a src>b", detached="b")
    plan = plan_restart(topology, topology.live, {}, None, 1)

    assert plan.vertices == names("src a")
    assert plan.epochs == {"src": 1, "a": 1, "b": 0}
    assert [(one.subtask, one.checkpoint, one.snapshot) for one in plan.restarts] == [(SRC, 0, None), (A, 0, None)]
    assert plan.peers == ()


def test_a_subtask_that_the_record_does_not_know_begins_from_nothing() -> None:
    plan = plan_restart(graph(CHAIN), ["map"], {}, record(2, src=SubtaskSnapshot(taken=1)), 1)
    assert [(one.subtask.vertex, one.checkpoint, one.snapshot is None) for one in plan.restarts] == [
        ("src", 2, False),
        ("map", 2, True),
    ]


def test_the_sender_of_a_retained_channel_learns_from_where_on_to_deliver_again() -> None:
    """R9: the receiver restarts, the sender does not; only channels to the region are delivered again."""
    topology = graph("src=a src>b a>out")
    to_a, _, to_out = topology.channels
    at_7 = record(7, a=SubtaskSnapshot(applied={to_a: 11}, sent={to_out: 4}), out=SubtaskSnapshot(applied={to_out: 4}))
    plan = plan_restart(topology, ["a"], {"src": 1, "a": 1, "b": 1, "out": 1}, at_7, 2)

    assert plan.vertices == names("a")
    assert plan.peers == (
        SendPeerRestarted(SRC, 2, {to_a: 2}, {to_a: 11}),
        SendPeerRestarted(OUT, 2, {to_out: 2}, {}),
    )
    assert plan.restarts == (Restart(A, 2, 2, 7, at_7.snapshots[A], {to_a: 1}, {to_out: 1}, JournalUse.WHOLE),)


def test_a_survivor_between_two_restarted_ones_hears_of_both() -> None:
    """R9: one message for the sender before it and the receiver behind it."""
    topology = graph("src>a a=out")
    to_a, to_out = topology.channels
    plan = plan_restart(topology, ["src", "out"], {}, None, 1)

    assert plan.vertices == names("src out")
    assert plan.peers == (SendPeerRestarted(A, 1, {to_a: 1, to_out: 1}, {to_out: 0}),)


@pytest.mark.parametrize(
    ("snapshot", "position"),
    [
        (None, 0),
        (SubtaskSnapshot(), 0),
        (SubtaskSnapshot(applied={Channel(0, SRC, A): 4}), 4),
        (SubtaskSnapshot(applied={Channel(0, SRC, A): 4}, channel_state={Channel(0, SRC, A): ()}), 4),
        (SubtaskSnapshot({}, {Channel(0, SRC, A): 4}, {}, {Channel(0, SRC, A): (BatchHandle(5), BatchHandle(6))}), 6),
        (SubtaskSnapshot(applied={Channel(1, SRC, A): 4}), 0),
    ],
)
def test_what_waits_in_channel_state_was_received_too(snapshot: SubtaskSnapshot | None, position: int) -> None:
    """I25: it is replayed from the snapshot, so nobody need send it."""
    assert restored_position(snapshot, Channel(0, SRC, A)) == position


def test_every_subtask_of_a_vertex_restarts_with_all_its_channels() -> None:
    """The vertex is what restarts as one; epochs are the vertex's."""
    topology = graph("src>a", parallelism={"src": 2, "a": 3}, spread=Spread.KEYED)
    plan = plan_restart(topology, ["a"], {"src": 1, "a": 1}, None, 1)

    assert [(one.subtask, len(one.senders), len(one.receivers)) for one in plan.restarts] == [
        (Subtask("src", 0), 0, 3),
        (Subtask("src", 1), 0, 3),
        (Subtask("a", 0), 2, 0),
        (Subtask("a", 1), 2, 0),
        (Subtask("a", 2), 2, 0),
    ]
    assert all({*one.senders.values(), *one.receivers.values()} == {2} for one in plan.restarts)


@pytest.mark.parametrize(
    ("text", "indeterminate", "failed", "void", "held"),
    [
        (CHAIN, "", "out", "", ""),
        (CHAIN, "src", "out", "src", "map out"),
        (CHAIN, "map", "out", "map", "out"),
        ("src=a a>out", "src", "a", "", ""),
        (LOOP, "check", "map", "check", "map out"),
        # the other source of the join is replayed as it was; only the join itself is free
        ("src>join other>join", "src", "src", "src", "join"),
    ],
)
def test_the_journal_of_whoever_reads_other_rows_is_void(
    text: str, indeterminate: str, failed: str, void: str, held: str
) -> None:
    """R10: it might wait for a batch that never comes again, unless it holds it; everyone else replays (I39)."""
    plan = plan_restart(graph(text, indeterminate=indeterminate), names(failed), {}, None, 1)
    assert {one.subtask.vertex for one in plan.restarts if one.replay is JournalUse.VOID} == names(void)
    assert {one.subtask.vertex for one in plan.restarts if one.replay is JournalUse.HELD} == names(held)


def test_a_failure_during_a_restart_is_a_restart_of_the_union_from_the_same_record() -> None:
    """F6, I26: the vertices of the first restart get new epochs once more, so that its messages are stale (I37)."""
    topology = graph("src=a a>x src=b b>y")
    at_3 = record(3, a=SubtaskSnapshot(taken=2))
    first = plan_restart(topology, ["x"], dict.fromkeys(topology.by_id, 1), at_3, 1)
    second = plan_restart(topology, ["x", "y"], first.epochs, at_3, 1)

    assert first.vertices == names("a x")
    assert second.vertices == names("a x b y")
    assert second.epochs == {"src": 1, "a": 3, "x": 3, "b": 2, "y": 2}
    assert {one.checkpoint for one in (*first.restarts, *second.restarts)} == {3}


def test_whoever_joins_pulls_nobody_in() -> None:
    """R11: a table that comes back has what was sent before its barrier; its sender is told and goes on."""
    topology = graph(SIBLINGS)
    to_a, _ = topology.channels
    at_5 = record(5, a=SubtaskSnapshot(applied={to_a: 8}))
    plan = plan_joining(topology, ["a"], {"src": 3, "a": 2, "b": 1}, at_5, 4)

    assert plan.vertices == names("a")
    assert plan.epochs == {"src": 3, "a": 3, "b": 1}
    assert plan.restarts == (Restart(A, 4, 3, 5, at_5.snapshots[A], {to_a: 3}, {}, JournalUse.VOID),)
    assert plan.peers == (SendPeerRestarted(SRC, 4, {to_a: 3}, {to_a: 8}),)


@given(topologies(), st.data())
def test_everyone_next_to_the_region_is_told_once_and_nobody_else(topology: Topology, data: st.DataObject) -> None:
    """I21, I24, R8, R9: for any graph and any failures."""
    failed = data.draw(st.frozensets(st.sampled_from(sorted(topology.by_id))))
    before = {name: data.draw(st.integers(0, 3)) for name in topology.by_id}
    plan = plan_restart(topology, failed, before, None, 1)
    bordering = [
        channel
        for channel in topology.channels
        if (channel.sender.vertex in plan.vertices) is not (channel.receiver.vertex in plan.vertices)
    ]
    told = [(channel, one.subtask) for one in plan.peers for channel in one.epochs]
    again = {channel for one in plan.peers for channel in one.deliver_after}

    assert {one.subtask.vertex for one in plan.restarts} == plan.vertices == restart_set(topology, failed)
    assert plan.epochs == {name: epoch + (name in plan.vertices) for name, epoch in before.items()}
    assert sorted(channel for channel, _ in told) == sorted(bordering)
    assert all(one.vertex not in plan.vertices and one in (c.sender, c.receiver) for c, one in told)
    assert again == {channel for channel in bordering if channel.receiver.vertex in plan.vertices}
    assert all(topology.edges[channel.edge].retained for channel in again)


def test_a_record_in_which_a_receiver_is_ahead_of_a_sender_that_makes_others_cannot_be_restored() -> None:
    """R12, I22: numbers would mean two things."""
    topology = Topology((Vertex("a"), Vertex("b")), (Edge("a", "b"),))
    [channel] = topology.channels
    a, b = topology.subtasks()

    def record_of(sent: int, applied: int) -> CheckpointRecord:
        parts = {a: SubtaskSnapshot(sent={channel: sent}), b: SubtaskSnapshot(applied={channel: applied})}
        return CheckpointRecord(3, 1, RecordKind.PERIODIC, 1, topology, {"a": 1, "b": 1}, parts)

    def judge(record: CheckpointRecord | None, graph: Topology) -> tuple[Channel, ...]:
        return unsound(graph, record, plan_restart(graph, ["b"], {"a": 1, "b": 1}, record, 1).restarts)

    other = distrust(topology, "b")
    assert judge(record_of(2, 4), other) == (channel,)
    assert judge(record_of(4, 4), other) == () and judge(None, other) == ()
    assert judge(record_of(2, 4), topology) == (), "the journal makes the same batches again"


def test_a_determinate_vertex_that_was_repeating_itself_goes_on_below_an_indeterminate_source() -> None:
    """R10, R12: a sibling lived on while ``map`` was restarted, a checkpoint was taken meanwhile, then all dies. What
    ``map`` has to repeat is in its snapshot, so that what the source now makes is not asked for."""
    topology = graph("src=map map=out", indeterminate="src")
    into, out_of = topology.channels
    src, middle, out = topology.subtasks()
    parts = {
        src: SubtaskSnapshot(sent={into: 3}, taken=3),
        middle: SubtaskSnapshot(channel_state={into: (BatchHandle(1), BatchHandle(2), BatchHandle(3))}),
        out: SubtaskSnapshot(applied={out_of: 2}, taken=2),
    }
    record = CheckpointRecord(3, 1, RecordKind.PERIODIC, 1, topology, {}, parts)
    plan = plan_restart(topology, topology.live, {}, record, 2)

    assert not unsound(topology, record, plan.restarts)
    assert {one.subtask: one.replay for one in plan.restarts} == {
        src: JournalUse.VOID, middle: JournalUse.HELD, out: JournalUse.HELD,
    }  # fmt: skip
