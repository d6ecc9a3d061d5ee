"""Stable properties on recorded snapshots, and explanations of pipelines that hang."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, Spread, Topology, Vertex
from seatunnel_py.protocol.stuck import SubtaskActivity, SubtaskWait, explain, terminated
from tests.protocol.network import Network, links
from tests.protocol.reference.stable_properties import deadlocks, step_reached

A, B, C, D = (Subtask(name) for name in "ABCD")

# ---------------------------------------------------------------- records

READ0, READ1, WORK, WRITE = Subtask("read", 0), Subtask("read", 1), Subtask("work"), Subtask("write")
LOOP = Topology(
    (Vertex("read", 2), Vertex("work"), Vertex("write")),
    (Edge("read", "work", Spread.KEYED), Edge("work", "work"), Edge("work", "write")),
)
ROUND = LOOP.channels[2]


def record(**snapshots: SubtaskSnapshot) -> CheckpointRecord:
    names = {"read0": READ0, "read1": READ1, "work": WORK, "write": WRITE}
    return CheckpointRecord(
        checkpoint=1,
        incarnation=1,
        kind=RecordKind.PERIODIC,
        previous=0,
        topology=Topology(()),
        epochs={},
        snapshots={names[name]: snapshot for name, snapshot in snapshots.items()},
    )


ENDED, GOING = SubtaskSnapshot(ended=True), SubtaskSnapshot()


@pytest.mark.parametrize(
    ("cut", "over"),
    [
        (record(read0=ENDED, read1=ENDED, work=GOING, write=GOING), True),
        (record(read0=ENDED, read1=ENDED, work=SubtaskSnapshot(channel_state={ROUND: ()}), write=GOING), True),
        (record(read0=ENDED, read1=GOING, work=GOING, write=GOING), False),
        (record(read0=ENDED, work=GOING, write=GOING), False),
        (record(read0=ENDED, read1=ENDED, work=SubtaskSnapshot(channel_state={ROUND: (BatchHandle(3),)})), False),
    ],
    ids=["ended and empty", "an empty loop", "one still reads", "one is not recorded", "rows in the loop"],
)
def test_a_pipeline_has_terminated(cut: CheckpointRecord, over: bool) -> None:
    """O1.6, Y1: every source has ended and every channel was empty, the back-edge included."""
    assert terminated(cut, LOOP) is over


def test_isolated_sources_are_not_asked() -> None:
    """Y1: a table that was taken out does not keep the others from ending."""
    two = (Vertex("a"), Vertex("b"), Vertex("to"))
    alone = Topology(two, (Edge("a", "to"), Edge("b", "to")), version=2, detached=frozenset({"b"}))
    cut = record(read0=ENDED)
    ended_a = CheckpointRecord(2, 1, RecordKind.PERIODIC, 1, alone, {}, {Subtask("a"): ENDED, Subtask("to"): GOING})

    assert terminated(ended_a, alone)
    assert not terminated(cut, alone)


def test_a_step_is_reached_when_the_slowest_of_its_subtasks_is() -> None:
    """O1.6, Y2."""
    cut = record(read0=SubtaskSnapshot(taken=7), read1=SubtaskSnapshot(taken=4), work=GOING)

    assert step_reached(cut, "read", 4)
    assert not step_reached(cut, "read", 5)
    assert step_reached(cut, "work", 0)
    assert not step_reached(cut, "nobody", 0)


# ---------------------------------------------------------------- deadlock

AB, BA, CB, AC = links(("A", "B"), ("B", "A"), ("C", "B"), ("A", "C"))


@pytest.mark.parametrize(
    ("waits", "channels", "found"),
    [
        ({A: [BA], B: [AB]}, {}, ((A, B),)),
        ({A: [BA], B: [AB]}, {AB: (), BA: ()}, ((A, B),)),
        ({A: [BA], B: [AB]}, {AB: ("on its way",)}, ()),
        ({A: [BA]}, {}, ()),
        ({A: [BA], B: [AB, CB]}, {}, ()),
        ({A: [BA], B: [AB, CB], C: [AC]}, {}, ((A, B),)),
        ({A: [BA], B: [CB], C: [AC]}, {}, ((A, B, C),)),
        ({A: [BA], B: [AB], C: [AC]}, {}, ((A, B),)),
        ({A: [], B: [AB]}, {}, ()),
        ({}, {}, ()),
    ],
    ids=[
        "two of each other",
        "channels recorded as empty",
        "a message is under way",
        "the other one works",
        "a third one could set it going",
        "the third one waits as well",
        "a cycle of three",
        "a third one waits for the cycle",
        "one that waits for nothing",
        "nobody waits",
    ],
)
def test_deadlock(
    waits: dict[Subtask, list[Channel]],
    channels: dict[Channel, tuple[str, ...]],
    found: tuple[tuple[Subtask, ...], ...],
) -> None:
    """O1.6, Y3: a cycle of processes each waiting on an empty recorded channel, and nothing that only looks like one."""
    assert deadlocks(waits, channels) == found


def test_two_deadlocks_are_two() -> None:
    """Y3: cycles that do not touch are named one by one."""
    cd, dc = links(("C", "D"), ("D", "C"))

    assert deadlocks({D: [cd], C: [dc], B: [AB], A: [BA]}, {}) == ((A, B), (C, D))


@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_nobody_who_is_deadlocked_can_ever_be_set_going(order: random.Random, size: int) -> None:
    """Y3 is stable: set going whoever can be, for as long as anything changes; the cycles found are among those left,
    they are cycles, and something is found exactly where somebody is left."""
    names = [Subtask(f"P{number}") for number in range(size)]
    channels = [Channel(0, one, other) for one in names for other in names]
    full = {channel for channel in channels if order.random() < 0.1}
    waits = {
        name: [channel for channel in channels if channel.receiver == name and order.random() < 0.4]
        for name in names
        if order.random() < 0.9
    }
    going = {name for name in names if not waits.get(name)}
    for _ in names:
        going |= {n for n, wanted in waits.items() if any(c in full or c.sender in going for c in wanted)}

    found = deadlocks(waits, dict.fromkeys(full, "m"))
    assert bool(found) == (going != set(names))
    for cycle in found:
        assert not going & set(cycle)
        for one, other in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert other in {channel.sender for channel in waits[one]}


def test_a_deadlock_is_found_while_the_program_goes_on() -> None:
    """O3.4: A and B each wait for the other's answer, while C and D, who know both, exchange messages throughout. A
    snapshot started by D names A and B, and C and D never paused for it."""
    channels = links(("A", "B"), ("B", "A"), ("C", "D"), ("D", "C"), ("D", "A"), ("B", "C"), ("C", "B"))
    ab, ba, cd, dc, _, _, _ = channels
    network = Network(channels, {A: (ba,), B: (ab,), C: (), D: ()})
    network.send(cd, "ping")
    network.start(D, 1)
    handed_over = 0
    while (snapshot := network.whole(1)) is None:
        for channel in (cd, dc, *channels):
            if network.queues[channel]:
                before = len(network.history[channel.receiver])
                network.deliver(channel)
                if len(network.history[channel.receiver]) > before:
                    network.send(dc if channel == cd else cd, "ping")
                    handed_over += 1

    waits = {name: waiting for name, waiting in snapshot.states.items() if waiting}
    assert deadlocks(waits, snapshot.channels) == ((A, B),)
    assert handed_over > 2
    assert any(network.queues[channel] for channel in (cd, dc))


# ---------------------------------------------------------------- explanations

PLAN = Topology(
    (Vertex("left"), Vertex("right"), Vertex("join"), Vertex("sink")),
    (Edge("left", "join"), Edge("right", "join"), Edge("join", "sink")),
)
LEFT, RIGHT, JOIN, SINK = PLAN.subtasks()
LEFT_JOIN, RIGHT_JOIN, JOIN_SINK = PLAN.channels


def test_a_slow_source_is_named_before_those_who_wait_for_it() -> None:
    """O1.6: the chain from the cause to its effects, with the barrier that keeps one input unread."""
    seen = [
        SubtaskWait(SINK, SubtaskActivity.INPUT_EMPTY, 60, channels=(JOIN_SINK,)),
        SubtaskWait(
            JOIN,
            SubtaskActivity.INPUT_EMPTY,
            50,
            channels=(RIGHT_JOIN,),
            checkpoint=7,
            blocked=(LEFT_JOIN,),
            missing=(RIGHT_JOIN,),
        ),
        SubtaskWait(LEFT, SubtaskActivity.OUTPUT_FULL, 80, channels=(LEFT_JOIN,)),
        SubtaskWait(RIGHT, SubtaskActivity.RUNNING, 10, unit=12),
    ]

    assert explain(seen, at=110) == (
        "right[0] runs unit 12, for 100 s; join[0], left[0], sink[0] wait for it",
        "join[0] has nothing to take, for 60 s; it does not read left[0]->join[0] until the barrier of checkpoint 7 is"
        " there on right[0]->join[0]; it waits for right[0] to send on right[0]->join[0]",
        "left[0] cannot emit, for 30 s; it waits for join[0] to take from left[0]->join[0]",
        "sink[0] has nothing to take, for 50 s; it waits for join[0] to send on join[0]->sink[0]",
    )


def test_a_slow_sink_holds_everybody_up() -> None:
    """Full channels point downstream: the root is the sink, whose journal entry does not come."""
    seen = [
        SubtaskWait(LEFT, SubtaskActivity.OUTPUT_FULL, 3, channels=(LEFT_JOIN,)),
        SubtaskWait(RIGHT, SubtaskActivity.RUNNING, 9, unit=2),
        SubtaskWait(JOIN, SubtaskActivity.OUTPUT_FULL, 2, channels=(JOIN_SINK,)),
        SubtaskWait(SINK, SubtaskActivity.JOURNAL, 1, unit=4, checkpoint=3, missing=(JOIN_SINK,)),
    ]

    assert explain(seen, at=10) == (
        "sink[0] waits for the journal to hold unit 4, for 9 s; it records join[0]->sink[0] until the barrier of"
        " checkpoint 3 is there; join[0], left[0] wait for it",
        "right[0] runs unit 2, for 1 s",
        "join[0] cannot emit, for 8 s; it waits for sink[0] to take from join[0]->sink[0]",
        "left[0] cannot emit, for 7 s; it waits for join[0] to take from left[0]->join[0]",
    )


def test_a_deadlock_comes_first_and_is_called_one() -> None:
    """Y5: fork and join with an alignment: fork cannot emit to join, which reads only what slow would send, which gets
    nothing more from fork. The source, which only suffers from it, comes last; the sink that nobody saw before it."""
    plan = Topology(
        (Vertex("source"), Vertex("fork"), Vertex("slow"), Vertex("join")),
        (Edge("source", "fork"), Edge("fork", "join"), Edge("fork", "slow"), Edge("slow", "join")),
    )
    source, fork, slow, join = plan.subtasks()
    source_fork, fork_join, fork_slow, slow_join = plan.channels
    seen = [
        SubtaskWait(source, SubtaskActivity.OUTPUT_FULL, 0, channels=(source_fork,)),
        SubtaskWait(fork, SubtaskActivity.OUTPUT_FULL, 0, channels=(fork_join,)),
        SubtaskWait(slow, SubtaskActivity.INPUT_EMPTY, 0, channels=(fork_slow,)),
        SubtaskWait(
            join,
            SubtaskActivity.INPUT_EMPTY,
            0,
            channels=(slow_join,),
            checkpoint=2,
            blocked=(fork_join,),
            missing=(slow_join,),
        ),
    ]

    told = explain(seen, at=1)
    assert told[0] == "deadlock: fork[0] waits for join[0], join[0] waits for slow[0], slow[0] waits for fork[0]"
    assert [sentence.split()[0] for sentence in told[1:]] == ["fork[0]", "join[0]", "slow[0]", "source[0]"]


def test_room_is_needed_on_every_full_channel_input_on_any() -> None:
    """Y4: who emits to two waits for both, so one of them in a cycle is enough; who takes from two needs one."""
    ab, ac, ba, ca = links(("A", "B"), ("A", "C"), ("B", "A"), ("C", "A"))
    emits = SubtaskWait(A, SubtaskActivity.OUTPUT_FULL, 0, channels=(ab, ac))
    takes = SubtaskWait(A, SubtaskActivity.INPUT_EMPTY, 0, channels=(ba, ca))
    others = [
        SubtaskWait(B, SubtaskActivity.INPUT_EMPTY, 0, channels=(ab,)),
        SubtaskWait(C, SubtaskActivity.RUNNING, 0, unit=1),
    ]

    assert explain([emits, *others], 1)[0] == "deadlock: A[0] waits for B[0], B[0] waits for A[0]"
    assert "A[0] cannot emit, for 1 s; it waits for B[0] to take from A[0]->B[0] and C[0] to take from A[0]->C[0]" in (
        explain([emits, *others], 1)
    )
    assert explain([takes, *others], 1) == (
        "C[0] runs unit 1, for 1 s; A[0], B[0] wait for it",
        "A[0] has nothing to take, for 1 s; it waits for B[0] to send on B[0]->A[0] or C[0] to send on C[0]->A[0]",
        "B[0] has nothing to take, for 1 s; it waits for A[0] to send on A[0]->B[0]",
    )


@pytest.mark.parametrize(
    ("view", "sentence"),
    [
        (SubtaskWait(A, SubtaskActivity.NOT_STARTED, 1), "A[0] is not started, for 4 s"),
        (SubtaskWait(A, SubtaskActivity.INPUT_EMPTY, 1), "A[0] has nothing to take, for 4 s"),
        (SubtaskWait(A, SubtaskActivity.ENDED, 1), "A[0] has ended, for 4 s"),
        (SubtaskWait(A, SubtaskActivity.RUNNING, 1, unit=3, channels=(BA,)), "A[0] runs unit 3, for 4 s"),
    ],
)
def test_who_waits_for_nobody_says_what_it_is_at(view: SubtaskWait, sentence: str) -> None:
    """A source without news is a root, not a riddle; channels of one that runs a unit mean nothing."""
    assert explain([view], at=5) == (sentence,)


def test_a_replay_that_waits_names_its_unit() -> None:
    """I39: after a restart one certain batch is wanted, and nothing else will do; who sends it has not been seen."""
    assert explain([SubtaskWait(A, SubtaskActivity.REPLAYING, 0, unit=5, channels=(BA,))], at=2) == (
        "B[0] has not been seen; A[0] waits for it",
        "A[0] waits for the batch that unit 5 took before the restart, for 2 s; it waits for B[0] to send on B[0]->A[0]",
    )


def test_the_likelier_cause_comes_first() -> None:
    """Y5: the one for whom most others wait, then the one that has been at it longest; those who have ended last,
    though somebody waits for them too."""
    da, db = links(("D", "A"), ("D", "B"))
    seen = [
        SubtaskWait(D, SubtaskActivity.ENDED, 0),
        SubtaskWait(A, SubtaskActivity.INPUT_EMPTY, 2, channels=(da, BA)),
        SubtaskWait(B, SubtaskActivity.RUNNING, 9, unit=1),
        SubtaskWait(C, SubtaskActivity.RUNNING, 8, unit=1),
        SubtaskWait(Subtask("E"), SubtaskActivity.RUNNING, 7, unit=1),
    ]

    assert [sentence.split()[0] for sentence in explain(seen, 10)] == ["B[0]", "E[0]", "C[0]", "D[0]", "A[0]"]
    assert explain(seen, 10)[0] == "B[0] runs unit 1, for 1 s; A[0] waits for it"
    assert db.receiver == B


def test_long_lists_are_cut() -> None:
    """A source of a thousand tables does not fill a screen."""
    many = [Channel(number, A, Subtask(f"w{number}")) for number in range(8)]
    seen = [SubtaskWait(A, SubtaskActivity.RUNNING, 0, unit=1)]
    seen += [SubtaskWait(channel.receiver, SubtaskActivity.INPUT_EMPTY, 0, channels=(channel,)) for channel in many]

    assert explain(seen, 0)[0] == "A[0] runs unit 1, for 0 s; w0[0], w1[0], w2[0], w3[0], w4[0] and 3 more wait for it"


@given(st.randoms(use_true_random=False), st.integers(0, 6))
def test_everybody_is_mentioned_once_and_no_cause_is_missing(order: random.Random, size: int) -> None:
    """Y5 for any state: a sentence for each, those behind the first waiter explained before it or deadlocked."""
    names = [Subtask(f"P{number}") for number in range(size)]
    channels = [Channel(0, one, other) for one in names for other in names]
    seen = []
    for name in names:
        doing = order.choice(list(SubtaskActivity))
        ends = [c for c in channels if (c.sender if doing is SubtaskActivity.OUTPUT_FULL else c.receiver) == name]
        seen.append(SubtaskWait(name, doing, 0, 1, tuple(c for c in ends if order.random() < 0.4)))

    told = explain(seen, 1)
    about = [sentence.split()[0] for sentence in told if not sentence.startswith("deadlock")]
    assert sorted(about) == [str(name) for name in names]
    if names and not any(sentence.startswith("deadlock") for sentence in told):
        assert "it waits for" not in told[0]
