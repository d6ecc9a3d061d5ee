"""A record, read into another graph: what is moved where, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.commit.commit_queue import CommitQueue
from seatunnel_py.protocol.failover.restore import (
    KEY_GROUPS,
    RestoredSplits,
    adapted,
    deal,
    enumerator_state,
    redistribute,
    subtask_of,
)
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, Plain, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, Spread, Topology, Vertex, VertexDeterminism

State = Mapping[str, list[Plain]]
NO_SPLITS = "the state is not made of splits: it cannot be divided"


def graph(edges: str, *, spread: Spread = Spread.KEYED, detached: str = "", **parallelism: int) -> Topology:
    """Vertices are single letters, edges pairs of them: "AC CK"."""
    pairs = edges.split()
    names = sorted({*parallelism, *"".join(pairs)})
    return Topology(
        tuple(Vertex(name, parallelism.get(name, 1)) for name in names),
        tuple(Edge(sender, receiver, spread) for sender, receiver in pairs),
        detached=frozenset(detached),
    )


def record(topology: Topology, states: State | None = None, **changes: SubtaskSnapshot) -> CheckpointRecord:
    """A record of this graph; ``changes`` replace whole snapshots, by vertex and index as in A0."""
    found = {}
    for subtask in topology.subtasks():
        state = (states or {}).get(subtask.vertex)
        found[subtask] = SubtaskSnapshot(state[subtask.index] if state else None)
    found |= {Subtask(name[0], int(name[1:])): snapshot for name, snapshot in changes.items()}
    return CheckpointRecord(9, 1, RecordKind.PERIODIC, 8, topology, {}, found)


def moved(made: CheckpointRecord, new: Topology) -> Mapping[Subtask, SubtaskSnapshot]:
    result = redistribute(made, new)
    assert not isinstance(result, RestoreRefusal), result
    assert result.keys() == set(new.subtasks())
    return result


def states(snapshots: Mapping[Subtask, SubtaskSnapshot], vertex: str) -> list[Plain]:
    return [snapshots[subtask].state for subtask in sorted(snapshots) if subtask.vertex == vertex]


def splits(assigned: dict[str, Plain], unassigned: str = "", finished: str = "") -> Plain:
    return {"assigned": assigned, "unassigned": [*unassigned], "finished": [*finished]}


def test_the_same_graph_gets_the_same_snapshots() -> None:
    """Also where its version, or what it promises, is another: neither is in a snapshot. Channel state stays."""
    old = graph("AC CK", C=2)
    channel = old.inputs(Subtask("C", 1))[0]
    made = record(old, C1=SubtaskSnapshot({"x": 1}, {channel: 3}, channel_state={channel: (BatchHandle(4),)}, since=7))
    new = replace(
        old, vertices=tuple(replace(one, determinism=VertexDeterminism.UNORDERED) for one in old.vertices), version=2
    )

    assert redistribute(made, new) is made.snapshots


def test_checkpoint_0_is_a_start_from_nothing() -> None:
    """It has no snapshots, whatever the graph is now."""
    old = graph("AK")
    made = CheckpointRecord(1, 1, RecordKind.ZERO, 0, old, {}, {})

    assert redistribute(made, graph("AK", A=3)) == {}


def test_a_record_is_adapted_to_the_new_graph() -> None:
    """It says so by a new version; the same graph leaves it as it is, and what is refused stays refused."""
    old, new = graph("AC CK", C=2), graph("AC CK", C=3)
    made = replace(record(old), epochs={"A": 2, "X": 5})

    assert adapted(made, old) is made
    assert adapted(made, new) == replace(made, snapshots=moved(made, new), topology=replace(new, version=2))
    assert adapted(replace(made, snapshots={}), new) == RestoreRefusal("the record has no snapshot of A[0]")


def test_i9_a_record_without_everybody_is_refused() -> None:
    """Even where the graph is the same."""
    old = graph("AK", K=2)
    made = record(old)
    short = replace(made, snapshots={one: made.snapshots[one] for one in list(made.snapshots)[:-1]})

    assert redistribute(short, old) == RestoreRefusal("the record has no snapshot of K[1]")


# ---------------------------------------------------------------- sources: by split


def test_i41_splits_are_dealt_to_the_new_readers() -> None:
    """Positions travel with their splits; nobody has ended before all had."""
    old, new = graph("AK", A=2), graph("AK", A=3)
    parts: State = {"A": [splits({"a": 1, "c": 3}, "u", "z"), splits({"b": 2, "d": 4}, "v")]}
    made = record(
        old, parts, A0=SubtaskSnapshot(parts["A"][0], ended=True, taken=4), A1=SubtaskSnapshot(parts["A"][1], taken=7)
    )

    after = moved(made, new)

    assert states(after, "A") == [splits({"a": 1, "d": 4}, "u", "z"), splits({"b": 2}, "v"), splits({"c": 3})]
    assert {(one.taken, one.ended) for subtask, one in after.items() if subtask.vertex == "A"} == {(7, False)}


def test_a_reader_that_has_no_state_yet_holds_no_split() -> None:
    """It had not begun when the checkpoint came."""
    old, new = graph("AK", A=2), graph("AK", A=1)

    assert states(moved(record(old, {"A": [splits({"a": 1}), None]}), new), "A") == [splits({"a": 1})]


def test_i46_a_source_whose_readers_had_all_ended_stays_ended() -> None:
    """It is restored finished."""
    old, new = graph("AK", A=2), graph("AK", A=1)
    made = record(old, A0=SubtaskSnapshot(ended=True), A1=SubtaskSnapshot(ended=True))

    assert moved(made, new)[Subtask("A")].ended


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"offset": 101}, NO_SPLITS),
        ([1], NO_SPLITS),
        ({"assigned": {}, "unassigned": [], "finished": [], "more": 1}, NO_SPLITS),
        ({"assigned": {}, "unassigned": [], "finished": "ab"}, NO_SPLITS),
        ({"assigned": {}, "unassigned": [], "finished": [1]}, NO_SPLITS),
        ({"assigned": ["a"], "unassigned": [], "finished": []}, NO_SPLITS),
        (splits({"a": 2}), "split 'a' stands in the record twice"),
        (splits({}, "a"), "split 'a' stands in the record twice"),
        (splits({}, "", "a"), "split 'a' stands in the record twice"),
    ],
)  # fmt: skip
def test_i41_what_cannot_be_divided_is_refused(state: Plain, why: str) -> None:
    """Neither a position of the whole source nor a split in two hands."""
    old, new = graph("AK", A=2), graph("AK", A=1)
    made = record(old, {"A": [splits({"a": 1}), state]})

    assert redistribute(made, new) == RestoreRefusal(f"A, 2 -> 1 subtasks: {why}")


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.tuples(st.integers(0, 3), st.sampled_from("auf"))),
    st.integers(1, 6),
)
def test_i41_reader_state_reaches_the_enumerator_whole(placed: dict[str, tuple[int, str]], parallelism: int) -> None:
    """O5.4: assigned + unassigned + finished = all, each once, however often it is dealt and gathered."""
    before = []
    for reader in range(4):
        mine = sorted(name for name, (owner, _) in placed.items() if owner == reader)
        kinds = {kind: tuple(name for name in mine if placed[name][1] == kind) for kind in "auf"}
        before.append(RestoredSplits({name: placed[name][0] for name in kinds["a"]}, kinds["u"], kinds["f"]))

    gathered = enumerator_state(one.plain() for one in before)
    assert isinstance(gathered, RestoredSplits)
    again = enumerator_state(one.plain() for one in deal(gathered, parallelism))

    assert again == gathered
    assert Counter([*gathered.assigned, *gathered.unassigned, *gathered.finished]) == Counter(placed.keys())
    assert all(gathered.assigned[name] == placed[name][0] for name in gathered.assigned)
    assert max(len(one.assigned) for one in deal(gathered, parallelism)) <= -(-len(gathered.assigned) // parallelism)


# ---------------------------------------------------------------- keyed vertices: by key group


@given(
    st.integers(1, 9), st.integers(1, 9), st.dictionaries(st.integers(0, KEY_GROUPS - 1), st.integers(), max_size=20)
)
@settings(deadline=None)
def test_i45_key_groups_are_partitioned(before: int, after: int, groups: dict[int, int]) -> None:
    """Every group is in exactly one new subtask, with its state: the one that its rows are routed to. And back again
    gives the same states."""
    old, new = graph("AC CK", C=before), graph("AC CK", C=after)
    parts: list[Plain] = [
        {str(group): groups[group] for group in sorted(groups) if subtask_of(group, before) == at}
        for at in range(before)
    ]
    made = record(old, {"C": parts})

    result = states(moved(made, new), "C")
    back = states(moved(record(new, {"C": result}), old), "C")

    held = [
        (int(name), at, value)
        for at, one in enumerate(result)
        if isinstance(one, Mapping)
        for name, value in one.items()
    ]
    assert sorted((group, value) for group, _, value in held) == sorted(groups.items())
    assert all(at == subtask_of(group, after) for group, at, _ in held)
    assert back == parts


@pytest.mark.parametrize("parallelism", [1, 2, 3, 7, KEY_GROUPS])
def test_every_subtask_has_key_groups(parallelism: int) -> None:
    """Consecutive ones, about as many as the others."""
    counts = Counter(subtask_of(group, parallelism) for group in range(KEY_GROUPS))

    assert list(counts) == list(range(parallelism))
    assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ([1], None, "the state is not made of key groups: it cannot be divided"),
        ({"count": 3}, None, "'count' is not a key group, or is in the record twice"),
        ({"128": 3}, None, "'128' is not a key group, or is in the record twice"),
        ({"1": 3}, {"1": 3}, "'1' is not a key group, or is in the record twice"),
    ],
)
def test_i45_what_is_not_made_of_key_groups_is_refused(first: Plain, second: Plain, why: str) -> None:
    """Nothing is guessed."""
    old, new = graph("AC CK", C=2), graph("AC CK", C=1)

    assert redistribute(record(old, {"C": [first, second]}), new) == RestoreRefusal(f"C, 2 -> 1 subtasks: {why}")


def test_there_are_no_more_subtasks_than_key_groups() -> None:
    """One of them would never see a row."""
    old, new = graph("AC CK"), graph("AC CK", C=129)

    refused = redistribute(record(old, {"C": [{"1": 1}]}), new)

    assert refused == RestoreRefusal("C, 1 -> 129 subtasks: there are 128 key groups only")


@pytest.mark.parametrize(("before", "after"), [(Spread.BROADCAST, Spread.KEYED), (Spread.KEYED, Spread.BROADCAST)])
def test_i45_other_state_does_not_move(before: Spread, after: Spread) -> None:
    """Keyed it must have been, and be."""
    old, new = graph("AC", spread=before, C=2), graph("AC", spread=after, C=1)
    made = record(old, {"C": [{"1": 1}, None]})

    refused = RestoreRefusal("C, 2 -> 1 subtasks: it has state, and not all of its inputs are keyed")
    assert redistribute(made, new) == refused


def test_who_has_no_state_is_rescaled_freely() -> None:
    """A forward chain grows as one."""
    old, new = (
        graph("AC CK", spread=Spread.FORWARD, A=2, C=2, K=2),
        graph("AC CK", spread=Spread.FORWARD, A=3, C=3, K=3),
    )

    assert all(one == SubtaskSnapshot(since=9) for one in moved(record(old), new).values())


# ---------------------------------------------------------------- channels

PLAIN = graph("AC CK", C=2)
AC1 = Channel(0, Subtask("A"), Subtask("C", 1))
C1K = Channel(1, Subtask("C", 1), Subtask("K"))


def test_a_channel_between_unchanged_vertices_goes_on() -> None:
    """Its numbers and what is queued on it stay, though its edge has another number now; what was staged is forgotten
    by the sinks, and committed by the queue."""
    new = graph("AB AC CK", C=2)
    turned = replace(new, edges=(new.edges[0], new.edges[2], new.edges[1]))
    made = record(
        PLAIN,
        A0=SubtaskSnapshot(sent={AC1: 7}),
        C1=SubtaskSnapshot(
            applied={AC1: 5}, channel_state={AC1: (BatchHandle(6), BatchHandle(7))}, sent={C1K: 4}, since=3
        ),
        K0=SubtaskSnapshot(applied={C1K: 4}, pieces=(StagedPiece("p"),), since=3, taken=6),
    )

    after = moved(made, turned)

    now = replace(AC1, edge=2)
    assert after[Subtask("A")].sent == {now: 7}
    assert after[Subtask("C", 1)] == SubtaskSnapshot(
        applied={now: 5}, channel_state={now: (BatchHandle(6), BatchHandle(7))}, sent={C1K: 4}, since=9
    )
    assert after[Subtask("K")] == SubtaskSnapshot(applied={C1K: 4}, since=9, taken=6)
    assert after[Subtask("B")] == SubtaskSnapshot(since=9)


@pytest.mark.parametrize(
    "new", [graph("AC CK", C=3), graph("AC CK", C=2, A=2), graph("AC CK", spread=Spread.BROADCAST, C=2)]
)
def test_a_channel_one_end_of_which_has_changed_begins_anew(new: Topology) -> None:
    """Both ends restart, so number 1 is known to both as the first."""
    made = record(PLAIN, A0=SubtaskSnapshot(sent={AC1: 7}), C1=SubtaskSnapshot(applied={AC1: 7}))

    after = moved(made, new)

    assert all(not one.sent for subtask, one in after.items() if subtask.vertex == "A")
    assert all(not one.applied for subtask, one in after.items() if subtask.vertex == "C")


@pytest.mark.parametrize("spread", [Spread.KEYED, Spread.BROADCAST])
def test_f52_i45_channel_state_does_not_move(spread: Spread) -> None:
    """A batch holds rows of many key groups, or belongs to a receiver that is not there any longer."""
    old, new = graph("AC CK", spread=spread, C=2), graph("AC CK", spread=spread, C=1)
    made = record(old, A0=SubtaskSnapshot(sent={AC1: 7}), C1=SubtaskSnapshot(channel_state={AC1: (BatchHandle(7),)}))

    assert redistribute(made, new) == RestoreRefusal(
        "1 batches are queued on A[0]->C[1], one end of which has changed: restore from a savepoint"
    )


def test_i47_a_loop_that_is_not_empty_does_not_move() -> None:
    """What is on a back-edge belongs to the cut of every checkpoint, savepoints too: that is said differently."""
    old, new = graph("AT TR RT"), graph("AT TR RT", R=2)
    back = Channel(2, Subtask("R"), Subtask("T"))
    made = record(old, R0=SubtaskSnapshot(sent={back: 1}), T0=SubtaskSnapshot(channel_state={back: (BatchHandle(1),)}))

    assert redistribute(made, new) == RestoreRefusal(
        "1 batches are queued on R[0]->T[0], one end of which has changed: let the loop run empty"
    )


def test_twin_edges_stay_apart() -> None:
    """The second of two alike stays the second."""
    old, second = graph("AC AC"), Channel(1, Subtask("A"), Subtask("C"))
    made = record(old, A0=SubtaskSnapshot(sent={second: 7}), C0=SubtaskSnapshot(applied={second: 7}))

    assert moved(made, graph("AC AC AK"))[Subtask("A")].sent == {second: 7}


@pytest.mark.parametrize("new", [graph("AC CK", C=3), graph("AB AC CK", C=2)])
@pytest.mark.parametrize(
    ("received", "queued"), [(8, ()), (6, ()), (5, (BatchHandle(6),)), (6, (BatchHandle(7), BatchHandle(8)))]
)
def test_i8_a_receiver_that_is_not_level_with_its_sender_does_not_move(
    new: Topology, received: int, queued: tuple[BatchHandle, ...]
) -> None:
    """One that is ahead, of a sender that is catching up, would get again what it holds; one that is behind has lost
    something."""
    state = {AC1: queued} if queued else {}
    made = record(
        PLAIN, A0=SubtaskSnapshot(sent={AC1: 7}), C1=SubtaskSnapshot(applied={AC1: received}, channel_state=state)
    )

    result = redistribute(made, new)

    assert isinstance(result, RestoreRefusal)
    assert "A[0]->C[1]" in result.why


# ---------------------------------------------------------------- vertices that come and go


def test_i45_pieces_of_vanished_subtasks_are_still_committed() -> None:
    """The record names them by scope, and the queue does not ask the graph."""
    old, new = graph("AK", A=1, K=2), graph("AL")
    staged = (StagedPiece("p"),)
    made = replace(record(old, K1=SubtaskSnapshot(pieces=staged)), uncommitted=(CommitRecord("K", 9, staged),))

    assert moved(made, new).keys() == {Subtask("A"), Subtask("L")}
    assert CommitQueue.restored(made).issue()[1] == made.uncommitted


def test_state_of_a_vertex_that_is_gone_is_not_lost_silently() -> None:
    """Only who says so gives it up."""
    old, new = graph("AC CK"), graph("AK")
    made = record(old, {"C": [{"1": 1}]})

    assert redistribute(made, new) == RestoreRefusal("C is gone, and the state of C[0] would be lost")
    assert redistribute(made, new, give_up={"C"}) == dict.fromkeys(new.subtasks(), SubtaskSnapshot(since=9))


def left_out() -> tuple[CheckpointRecord, Topology]:
    """B is left out beside C; both are fed by sources of their own."""
    old = graph("AC DB", detached="DB", C=2)
    channel = Topology(old.vertices, old.edges).inputs(Subtask("B"))[0]
    stood = SubtaskSnapshot({"1": 1}, {channel: 3}, taken=4, since=6)
    return record(old, B0=stood, D0=SubtaskSnapshot(sent={channel: 3}, since=6)), old


def test_who_was_left_out_stays_out_as_he_left() -> None:
    """RS9: where he stands is no checkpoint of the new graph, and the numbers of his channels are the new ones."""
    made, old = left_out()
    new = Topology(graph("AC DB", C=3).vertices, tuple(reversed(old.edges)))
    result = adapted(made, new)

    assert not isinstance(result, RestoreRefusal)
    assert result.topology.detached == {"B", "D"}
    channel = new.inputs(Subtask("B"))[0]
    assert result.snapshots[Subtask("B")] == SubtaskSnapshot({"1": 1}, {channel: 3}, taken=4, since=6)
    assert result.snapshots[Subtask("D")] == SubtaskSnapshot(sent={channel: 3}, since=6)
    assert {one.since for at, one in result.snapshots.items() if at.vertex == "C"} == {9}


@pytest.mark.parametrize(
    ("edges", "wide", "changed"),
    [("AC DB", "B", "B"), ("AC DB", "D", "D"), ("AC DB AB", "", "what it is fed by"), ("AC DB DE", "", "E")],
)
def test_nothing_changes_under_those_who_were_left_out(edges: str, wide: str, changed: str) -> None:
    """RS9."""
    made, _ = left_out()
    new = graph(edges, C=2, **dict.fromkeys(wide, 2))

    result = redistribute(made, new)
    assert isinstance(result, RestoreRefusal)
    assert result.why.endswith(f"is isolated: {changed} may change once it has rejoined")


def test_the_state_of_one_who_was_left_out_is_not_lost_silently_either() -> None:
    """RS7."""
    made, _ = left_out()

    assert redistribute(made, graph("AC", C=2)) == RestoreRefusal("B is gone, and the state of B[0] would be lost")
    assert not isinstance(redistribute(made, graph("AC", C=2), give_up="B"), RestoreRefusal)
