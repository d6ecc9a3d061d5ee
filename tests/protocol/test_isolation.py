"""A table leaves and comes back: who leaves with it, where it stands meanwhile, and where it joins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.coordinator.isolation import (
    Detachment,
    ParkedBatches,
    behind,
    detachment,
    isolable,
    joined_by_parked,
    joined_by_reader,
    leaving,
    missing_to_rejoin,
    rejoin,
    without,
)
from seatunnel_py.protocol.failover.regions import restart_set, restored_position
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.lifecycle import advance
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import BatchHandle, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Spread, Topology, Vertex
from tests.protocol.graphs import CHAIN, DIAMOND, LOOP, SIBLINGS, descendants, graph, names, record, topologies
from tests.protocol.reference.table_lifecycle import TABLE, TableEvent, TableState

SRC, A, B = Subtask("src"), Subtask("a"), Subtask("b")


def isolate(topology: Topology, vertex: str, record: CheckpointRecord | None) -> tuple[Topology, Detachment]:
    """The topology without the table of ``vertex``, and where that table stands. ``record`` is the newest one, or the
    one of the barrier that asked for it. Raises LocalProtocolError where it is not isolable."""
    if not isolable(topology, vertex):
        raise LocalProtocolError(f"{vertex} cannot be isolated: it is already, or nothing would remain")
    gone = leaving(topology, vertex)
    return without(topology, gone), detachment(topology, gone, record)


# ---------------------------------------------------------------- who leaves


@pytest.mark.parametrize(
    ("text", "vertex", "gone"),
    [
        (SIBLINGS, "a", "a"),
        # whoever is fed by it (IS1), also together with somebody else
        ("src>a a>x x>y src>b", "a", "a x y"),
        ("src>a src>b a>both b>both b>c", "a", "a both"),
        # whoever feeds nobody else (IS2)
        ("src>t t>a src>b", "a", "t a"),
        ("src>a src>b own>a", "a", "a own"),
        ("one>a two>b", "a", "one a"),
        # everything
        (CHAIN, "out", "src map out"),
        (CHAIN, "map", "src map out"),
        (SIBLINGS, "src", "src a b"),
        (DIAMOND, "a", "src a b join out"),
        (LOOP, "check", "src map check out"),
        # a loop that feeds no sink keeps nobody, itself included
        ("src>t t>r r>t t>out src>b", "out", "t r out"),
        ("src>t t>r r>t t>out src>b", "r", "t r out"),
    ],
)
def test_who_leaves_with_an_isolated_vertex(text: str, vertex: str, gone: str) -> None:
    """IS1, IS2."""
    assert leaving(graph(text), vertex) == names(gone)


def test_a_sink_that_also_feeds_others_remains_without_them() -> None:
    """IS2: it does not run for nothing."""
    kinds = {"writes": SinkKind.TWO_PHASE}
    assert leaving(graph("src>writes writes>a", sinks=kinds), "a") == names("a")
    assert leaving(graph("src>writes writes>a"), "a") == names("src writes a")


def test_sinks_that_become_visible_together_leave_and_come_back_together() -> None:
    """IS1: with what only the other one was for."""
    writes = dict.fromkeys(("a", "b", "c"), SinkKind.TWO_PHASE)
    topology = graph("src>a src>t t>b src>c", sinks=writes)
    scoped = tuple(replace(one, scope="both") if one.id in ("a", "b") else one for one in topology.vertices)
    left, detachment = isolate(replace(topology, vertices=scoped), "a", None)

    assert leaving(topology, "a") == names("a")
    assert detachment.vertices == names("a t b")
    assert missing_to_rejoin(left, ["a"]) == names("b")
    assert rejoin(left, ["a", "t", "b"]).detached == names("")


def test_who_is_isolated_already_does_not_leave_again_and_keeps_nobody() -> None:
    """IS2: b would be the reason for src to stay, if it were there."""
    assert leaving(graph("src>a src>b src>c", detached="b"), "a") == names("a")
    assert leaving(graph(SIBLINGS, detached="b"), "a") == names("src a")


@pytest.mark.parametrize(
    ("text", "detached", "vertex", "possible"),
    [
        (SIBLINGS, "", "a", True),
        (SIBLINGS, "", "src", False),
        (SIBLINGS, "a", "a", False),
        (SIBLINGS, "a", "b", False),
        (CHAIN, "", "out", False),
        ("src>a src>b src>c", "c", "b", True),
    ],
)
def test_a_table_is_isolated_only_while_something_remains(
    text: str, detached: str, vertex: str, possible: bool
) -> None:
    """IS3."""
    topology = graph(text, detached=detached)

    assert isolable(topology, vertex) is possible
    if not possible:
        with pytest.raises(LocalProtocolError, match="cannot be isolated"):
            isolate(topology, vertex, None)


@given(topologies(), st.data())
def test_what_remains_runs_as_if_nothing_else_had_ever_been_there(topology: Topology, data: st.DataObject) -> None:
    """IS1, IS2, I21: nobody that remains reads from who left; each still reaches a sink; failures there are nobody's."""
    vertex = data.draw(st.sampled_from(sorted(topology.by_id)))
    if not isolable(topology, vertex):
        return
    after, detachment = isolate(topology, vertex, None)
    left = detachment.vertices
    senders = {edge.sender for edge in topology.edges}
    ends = {name for name in after.live if name not in senders}

    assert vertex in left
    assert after.live
    assert after.detached == topology.detached | left
    assert not topology.detached & left
    assert all(edge.sender not in left or edge.receiver in after.detached for edge in topology.edges)
    assert all(name in ends or descendants(after, name) & ends for name in after.live)
    assert restart_set(after, left) == names("")


# ---------------------------------------------------------------- detachment


def test_an_isolation_is_a_version_of_the_topology_and_a_place_in_the_record() -> None:
    """IS4, IS5, IS6: the cut channel, the table's snapshots and the source's position, all of the same record."""
    topology = graph("src>a a>out src>b")
    to_a, to_out, to_b = topology.channels
    at_4 = record(
        4,
        src=SubtaskSnapshot({"offset": 40}, sent={to_a: 9, to_b: 9}),
        a=SubtaskSnapshot(applied={to_a: 7}, sent={to_out: 7}, channel_state={to_a: (BatchHandle(8), BatchHandle(9))}),
        out=SubtaskSnapshot(applied={to_out: 7}),
        b=SubtaskSnapshot(applied={to_b: 9}),
    )
    after, detachment = isolate(topology, "a", at_4)

    assert (after.version, after.detached) == (2, names("a out"))
    assert after.channels == (to_b,)
    assert detachment == Detachment(
        names("a out"),
        4,
        {to_a: 9},
        {A: at_4.snapshots[A], Subtask("out"): at_4.snapshots[Subtask("out")]},
        {SRC: at_4.snapshots[SRC]},
    )


def test_before_the_first_checkpoint_everything_is_missing() -> None:
    """IS5."""
    topology = graph(SIBLINGS)
    _, detachment = isolate(topology, "a", None)
    assert detachment == Detachment(names("a"), 0, {topology.channels[0]: 0}, {}, {})


def test_only_sources_that_go_on_are_read_a_second_time() -> None:
    """IS6: one that left with the table goes on from its own snapshot; one that does not feed it is not needed."""
    topology = graph("src>mid mid>a mid>b own>a other>b")
    snapshots = {name: SubtaskSnapshot(taken=at) for at, name in enumerate(topology.by_id)}
    _, detachment = isolate(topology, "a", record(2, **snapshots))

    assert set(detachment.sources) == {SRC}
    assert set(detachment.snapshots) == {A, Subtask("own")}


def test_every_subtask_has_its_cut_channels() -> None:
    """IS5."""
    topology = Topology(
        (Vertex("src", 2), Vertex("a", 2), Vertex("b", 1)),
        (Edge("src", "a", Spread.KEYED), Edge("src", "b", Spread.KEYED)),
    )
    _, detachment = isolate(topology, "a", None)
    assert len(detachment.positions) == 4


def test_a_failed_table_restarts_nobody_once_it_is_isolated() -> None:
    """I21, R6: the shared source goes on, where a restart of the table would have taken it along."""
    topology = graph(SIBLINGS)
    after, _ = isolate(topology, "a", None)

    assert restart_set(topology, ["a"]) == names("src a")
    assert restart_set(after, ["a"]) == names("")


# ---------------------------------------------------------------- rejoining


def test_a_rejoining_is_a_version_too() -> None:
    """IS4."""
    left, detachment = isolate(graph(SIBLINGS), "a", None)
    back = rejoin(left, detachment.vertices)

    assert (back.version, back.detached) == (3, names(""))
    assert back.channels == graph(SIBLINGS).channels


def test_nobody_rejoins_before_whoever_feeds_him() -> None:
    """IS1 backwards: without them it would lack rows."""
    topology = graph("src>t t>a t>b src>c")
    one, _ = isolate(topology, "a", None)
    two, second = isolate(one, "b", None)

    assert second.vertices == names("t b")
    assert missing_to_rejoin(two, ["a"]) == names("t")
    assert missing_to_rejoin(two, ["t", "b"]) == names("")
    with pytest.raises(LocalProtocolError, match=r"\['a'\] cannot rejoin without \['t'\]"):
        rejoin(two, ["a"])
    assert rejoin(two, ["t", "b"]).detached == names("a")
    assert rejoin(two, ["t", "b", "a"]).detached == names("")


def test_who_did_not_leave_cannot_come_back() -> None:
    with pytest.raises(LocalProtocolError, match="not isolated"):
        rejoin(graph(SIBLINGS, detached="a"), ["a", "b"])


TO_A, TO_B = graph(SIBLINGS).channels
WORN = SubtaskSnapshot("old", {TO_A: 3}, {}, {TO_A: (BatchHandle(4),)}, (StagedPiece("p"),), since=1, taken=3)
AT_2 = record(2, src=SubtaskSnapshot(20, sent={TO_A: 4, TO_B: 4}), a=WORN)
AT_5 = record(5, src=SubtaskSnapshot(50, sent={TO_A: 6, TO_B: 9}))
GONE = isolate(graph(SIBLINGS), "a", AT_2)[1]


@pytest.mark.parametrize(("reached", "late"), [({SRC: 50}, ()), ({SRC: 49}, (SRC,)), ({SRC: 51}, (SRC,)), ({}, (SRC,))])
def test_a_side_reader_joins_exactly_at_the_barrier(reached: dict[Subtask, int], late: Iterable[Subtask]) -> None:
    """IS8: before it rows would be missing, after it they would be there twice."""
    snapshots = {**AT_5.snapshots, B: SubtaskSnapshot(applied={TO_B: 9})}
    assert behind(graph(SIBLINGS), ["a"], snapshots, reached) == frozenset(late)


def test_a_table_brought_here_by_a_side_reader_has_everything_that_was_sent() -> None:
    """IS5: so that the next number is new; what it staged on the way is committed with the joining record."""
    inner = Channel(7, A, Subtask("out"))
    caught_up = {
        A: SubtaskSnapshot("new", {TO_A: 3}, {inner: 8}, pieces=(StagedPiece("q"),)),
        Subtask("out"): SubtaskSnapshot(applied={inner: 8}),
    }
    joined = joined_by_reader(GONE, AT_5, caught_up)

    assert joined[A] == SubtaskSnapshot("new", {TO_A: 6}, {inner: 8}, pieces=(StagedPiece("q"),))
    assert joined[Subtask("out")] == caught_up[Subtask("out")]


def test_a_sender_that_never_sent_leaves_nothing_to_have() -> None:
    at_5 = record(5, src=SubtaskSnapshot(50))
    assert joined_by_reader(GONE, at_5, {A: SubtaskSnapshot()})[A].applied == {TO_A: 0}


# ---------------------------------------------------------------- parking


def park(parked: ParkedBatches, *numbers: int, size: int = 10) -> ParkedBatches:
    for number in numbers:
        parked = parked.add(TO_A, BatchHandle(number), size)
    return parked


@pytest.mark.parametrize(
    ("limit", "numbers", "kept", "lost"),
    [
        (100, [5, 6, 7], [5, 6, 7], False),
        # again, after a restart of the sender
        (100, [5, 6, 5, 6, 7], [5, 6, 7], False),
        (100, [4, 5], [5], False),
        (20, [5, 6], [5, 6], False),
        # one too many: all are worth nothing, and so are those that come afterwards
        (20, [5, 6, 7], [], True),
        (20, [5, 6, 7, 5], [], True),
        # parked from a later batch on: what came between is missing
        (100, [6], [], True),
        (100, [5, 7], [], True),
        # table.park-bytes = 0, the default: never
        (0, [5], [], True),
    ],
)
def test_parked_batches_have_no_gaps_and_a_bound(limit: int, numbers: list[int], kept: list[int], lost: bool) -> None:
    """IS7, I50."""
    parked = park(ParkedBatches(limit, GONE.positions), *numbers)

    assert [batch.number for batch in parked.batches.get(TO_A, ())] == kept
    assert (parked.lost, parked.size) == (lost, 10 * len(kept))


def test_the_bound_is_over_all_channels() -> None:
    """IS7: it is the table's."""
    other = Channel(5, B, A)
    parked = ParkedBatches(25, {TO_A: 0, other: 0}).add(TO_A, BatchHandle(1), 15)

    assert parked.add(other, BatchHandle(1), 10).size == 25
    assert parked.add(other, BatchHandle(1), 11).lost


def test_what_was_parked_is_channel_state_at_the_joining_barrier() -> None:
    """IS8, I25: behind what waited already, before anything new; the old pieces are not named a second time."""
    joined = joined_by_parked(GONE, AT_5, park(ParkedBatches(100, GONE.positions), 5, 6))

    assert joined == {
        A: SubtaskSnapshot(
            "old", {TO_A: 3}, {}, {TO_A: (BatchHandle(4), BatchHandle(5), BatchHandle(6))}, (), since=5, taken=3
        )
    }
    assert restored_position(joined[A], TO_A) == 6


def test_a_table_without_a_snapshot_begins_with_what_was_parked() -> None:
    """IS5: isolated before the first checkpoint."""
    _, detachment = isolate(graph(SIBLINGS), "a", None)
    parked = ParkedBatches(100, detachment.positions)
    for number in range(1, 7):
        parked = parked.add(TO_A, BatchHandle(number), 1)
    joined = joined_by_parked(detachment, AT_5, parked)

    assert joined == {A: SubtaskSnapshot(channel_state={TO_A: tuple(BatchHandle(number) for number in range(1, 7))})}


@pytest.mark.parametrize("numbers", [[5], [5, 6, 7], [6], [5, 6, 8], []])
def test_what_does_not_end_at_the_barrier_does_not_join(numbers: list[int]) -> None:
    """IS8: sent until then were 6."""
    assert joined_by_parked(GONE, AT_5, park(ParkedBatches(100, GONE.positions), *numbers)) is None


# ---------------------------------------------------------------- states


def test_every_state_has_a_row_and_ends_are_ends() -> None:
    assert set(TABLE) == set(TableState)
    assert [state for state, row in TABLE.items() if not row] == [
        TableState.DONE,
        TableState.FAILED,
        TableState.CANCELLED,
    ]


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ("", TableState.RUNNING),
        ("fail start", TableState.RUNNING),
        ("fail fail give-up", TableState.ISOLATED),
        # paused by a person
        ("give-up", TableState.ISOLATED),
        ("give-up rejoin join", TableState.RUNNING),
        # IS9: a failure on the way back leaves it where it was
        ("give-up rejoin fail", TableState.ISOLATED),
        ("give-up rejoin fail rejoin join finish", TableState.DONE),
        ("fail end-pipeline", TableState.FAILED),
        ("give-up cancel", TableState.CANCELLED),
    ],
)
def test_the_life_of_a_table(events: str, state: TableState) -> None:
    """IS9: RUNNING, RETRYING, ISOLATED, REJOINING, DONE."""
    now = TableState.RUNNING
    for event in events.split():
        now = advance(TABLE, now, TableEvent(event))
    assert now is state


@pytest.mark.parametrize(
    ("state", "event"),
    [
        # it came back only by joining, never by itself
        (TableState.ISOLATED, TableEvent.START),
        (TableState.ISOLATED, TableEvent.JOIN),
        (TableState.REJOINING, TableEvent.START),
        # success is never said of a table that is not there (I43)
        (TableState.ISOLATED, TableEvent.FINISH),
        (TableState.RETRYING, TableEvent.FINISH),
        (TableState.REJOINING, TableEvent.FINISH),
        (TableState.RUNNING, TableEvent.JOIN),
        (TableState.RUNNING, TableEvent.REJOIN),
    ],
)
def test_what_cannot_happen_to_a_table(state: TableState, event: TableEvent) -> None:
    with pytest.raises(LocalProtocolError, match="cannot happen"):
        advance(TABLE, state, event)


def test_whatever_lives_can_be_cancelled_and_can_fail_with_the_pipeline() -> None:
    for state, row in TABLE.items():
        if row:
            assert (row[TableEvent.CANCEL], row[TableEvent.END_PIPELINE]) == (
                TableState.CANCELLED,
                TableState.FAILED,
            ), state
