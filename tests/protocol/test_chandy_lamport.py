"""The general snapshot: the worked examples with their results, then any graph, any order, any initiators."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.protocol.model.ids import Channel, Subtask
from tests.protocol.network import Network, links
from tests.protocol.reference.chandy_lamport import (
    Marker,
    Message,
    Process,
    Received,
    Recorded,
    SendMarker,
    Start,
    assemble,
    reached,
)
from tests.protocol.reference.consistent_cut import in_transit, violations

A, B = Subtask("A"), Subtask("B")
P1, P2, P3 = Subtask("P1"), Subtask("P2"), Subtask("P3")
ROUNDS_MAX = 1_000
"""Enough for the longest queue times the longest way; a snapshot that is not whole by then never will be."""

# ---------------------------------------------------------------- worked examples


def transfer(network: Network, channel: Channel, amount: int) -> None:
    network.states[channel.sender] -= amount
    network.send(channel, amount)


def bank(states: dict[Subtask, Any]) -> tuple[Network, Channel, Channel]:
    ab, ba = links(("A", "B"), ("B", "A"))
    return Network((ab, ba), states, lambda have, amount: have + amount), ab, ba


def money(network: Network) -> int:
    under_way = sum(item.content for queue in network.queues.values() for item, _ in queue if isinstance(item, Message))
    return sum(network.states.values()) + under_way


def test_money_transfer() -> None:
    """O1.1: the recorded state never was in the bank as a whole, and still not a coin is missing or there twice."""
    network, ab, ba = bank({A: 10_000, B: 5_000})
    transfer(network, ab, 1_000)
    network.start(A, 1)
    transfer(network, ba, 1_000)
    transfer(network, ba, 2_000)
    assert network.deliver(ab) == ()
    assert SendMarker(ba, Marker(1)) in network.deliver(ab), "back to where it came from (L3)"
    for _ in range(3):
        network.deliver(ba)

    snapshot = network.whole(1)
    assert snapshot is not None
    assert snapshot.states == {A: 9_000, B: 3_000}
    assert snapshot.channels == {ab: (), ba: (1_000, 2_000)}
    assert sum(snapshot.states.values()) + sum(snapshot.channels[ba]) == 15_000
    assert network.states == {A: 12_000, B: 3_000}
    assert violations(network.lines(), network.cut(1)) == ()


def test_money_goes_on_from_the_snapshot() -> None:
    """O1.1: restored from the snapshot, states and channels, the sum stays 15,000 after every step."""
    network, ab, ba = bank({A: 9_000, B: 3_000})
    for amount in (1_000, 2_000):
        network.send(ba, amount)  # the recorded contents of the channel, put back
    sums = [money(network)]
    for step in (
        lambda: network.deliver(ba),
        lambda: transfer(network, ab, 4_000),
        lambda: network.deliver(ba),
        lambda: network.start(B, 2),
        lambda: network.deliver(ab),
        lambda: network.deliver(ba),
        lambda: network.deliver(ab),
    ):
        step()
        sums.append(money(network))

    assert set(sums) == {15_000}
    assert network.states == {A: 8_000, B: 7_000}
    again = network.whole(2)
    assert again is not None
    assert (again.states, again.channels) == ({A: 8_000, B: 3_000}, {ab: (4_000,), ba: ()})


def test_three_processes() -> None:
    """O1.2: P1 starts; P2 hears of it from P3 first; the message of h is caught on its way."""
    c12, c13, c21, c23, c31, c32 = channels = links(
        ("P1", "P2"), ("P1", "P3"), ("P2", "P1"), ("P2", "P3"), ("P3", "P1"), ("P3", "P2")
    )
    network = Network(channels, {P1: (), P2: (), P3: ()})

    def happens(name: Subtask, event: str) -> None:
        network.local(name, event)
        network.states[name] = (*network.states[name], event)

    for name, event in ((P1, "a"), (P1, "b"), (P2, "f"), (P2, "g"), (P3, "i")):
        happens(name, event)
    network.states[P2] = ("f", "g", "h")
    network.send(c21, "M(h to d)", "h")

    assert network.start(P1, 1) == (SendMarker(c12, Marker(1)), SendMarker(c13, Marker(1)))
    assert network.deliver(c13) == (SendMarker(c31, Marker(1)), SendMarker(c32, Marker(1)))
    assert network.deliver(c31) == ()
    assert network.deliver(c32) == (SendMarker(c21, Marker(1)), SendMarker(c23, Marker(1)))
    assert network.deliver(c12) == (Recorded(P2, 1, ("f", "g", "h"), {c12: (), c32: ()}),)
    assert network.deliver(c21, "d") == ()
    assert network.deliver(c21) == (Recorded(P1, 1, ("a", "b"), {c21: ("M(h to d)",), c31: ()}),)
    assert network.deliver(c23) == (Recorded(P3, 1, ("i",), {c13: (), c23: ()}),)

    snapshot = network.whole(1)
    assert snapshot is not None
    assert snapshot.states == {P1: ("a", "b"), P2: ("f", "g", "h"), P3: ("i",)}
    assert {channel: contents for channel, contents in snapshot.channels.items() if contents} == {c21: ("M(h to d)",)}
    assert snapshot.channels.keys() == set(channels)
    assert {event.name for event in network.cut(1)} == set("abfghi")
    assert violations(network.lines(), network.cut(1)) == ()
    assert in_transit(network.lines(), network.cut(1)) == {c21: (1,)}


# ---------------------------------------------------------------- average time on page

PAGE, TASK = Subtask("source"), Subtask("task")
ROWS = [(f"user {number}", 1_000 if number <= 100 else number) for number in range(1, 151)]


class WorkerLost(Exception):
    pass


def time_on_page(states: dict[Subtask, Any], order: random.Random, fail_at: int = 0) -> Network:
    """Read to the end, with a snapshot after row 100; row ``fail_at`` kills the job before it is counted."""
    (channel,) = links(("source", "task"))

    def count(state: dict[str, int], seconds: int) -> dict[str, int]:
        if fail_at and state["users"] == fail_at - 1:
            raise WorkerLost(network)
        return {"users": state["users"] + 1, "times": state["times"] + seconds}

    network = Network([channel], states, count)
    while states[PAGE]["offset"] <= len(ROWS) or network.queues[channel]:
        offset = states[PAGE]["offset"]
        if network.queues[channel] and (offset > len(ROWS) or order.random() < 0.5):
            network.deliver(channel)
            continue
        network.send(channel, ROWS[offset - 1][1])
        states[PAGE] = {"offset": offset + 1}
        if offset == 100:
            network.start(PAGE, 1)
    return network


def average(network: Network) -> float:
    return network.states[TASK]["times"] / network.states[TASK]["users"]


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_average_time_on_page(order: random.Random) -> None:
    """O1.4: however far the task lags behind, the snapshot is that of 100 rows, and the restart from row 101 ends with
    the average of an undisturbed run."""

    def at_the_beginning() -> dict[Subtask, Any]:
        return {PAGE: {"offset": 1}, TASK: {"users": 0, "times": 0}}

    undisturbed = average(time_on_page(at_the_beginning(), order))
    with pytest.raises(WorkerLost) as lost:
        time_on_page(at_the_beginning(), order, fail_at=120)
    snapshot = lost.value.args[0].whole(1)

    assert snapshot is not None
    assert {str(name.vertex): state for name, state in snapshot.states.items()} == {
        "source": {"offset": 101},
        "task": {"users": 100, "times": 100000},
    }
    assert set(snapshot.channels.values()) == {()}
    assert average(time_on_page(dict(snapshot.states), order)) == undisturbed


# ---------------------------------------------------------------- one process


def test_a_late_marker_only_makes_the_channel_longer() -> None:
    """L5: the slower the marker of C, the more of its messages are recorded; the other channel is closed already."""
    a, c, out = links(("A", "B"), ("C", "B"), ("B", "A"))
    process = Process(B, [a, c], [out])

    assert process.handle(Received(a, Marker(1), "now")) == (SendMarker(out, Marker(1)),)
    for number in range(3):
        process.handle(Received(c, Message(number)))
        process.handle(Received(a, Message("behind the cut")))
    assert process.recording == {1: {c}}
    assert process.handle(Received(c, Marker(1), "later")) == (Recorded(B, 1, "now", {a: (), c: (0, 1, 2)}),)
    assert process.recording == {}


def test_a_process_without_inputs_ends_at_once() -> None:
    """L6: and its marker goes out before it says so."""
    (out,) = links(("A", "B"))

    assert Process(A, [], [out]).handle(Start(1, "s")) == (SendMarker(out, Marker(1)), Recorded(A, 1, "s", {}))


def test_markers_go_out_before_the_end_is_said() -> None:
    """L3, L4, L6: with one input the first marker is also the last; back to the sender it goes all the same."""
    into, back = links(("A", "B"), ("B", "A"))

    assert Process(B, [into], [back]).handle(Received(into, Marker(1), "s")) == (
        SendMarker(back, Marker(1)),
        Recorded(B, 1, "s", {into: ()}),
    )


def test_an_id_is_taken_once() -> None:
    """L1, L8: neither a second initiator nor a marker changes what was recorded, before or after the end."""
    (into,) = links(("A", "B"))
    process = Process(B, [into], [])

    assert process.handle(Start(1, "first")) == ()
    assert process.handle(Start(1, "second")) == ()
    assert process.handle(Received(into, Marker(1), "third")) == (Recorded(B, 1, "first", {into: ()}),)
    assert process.handle(Start(1, "fourth")) == ()
    assert process.handle(Received(into, Marker(1), "fifth")) == ()


def test_a_channel_of_another_process_is_an_error() -> None:
    """What the world wired wrongly is not recorded quietly."""
    into, other = links(("A", "B"), ("B", "A"))

    with pytest.raises(ValueError, match=r"B\[0\]->A\[0\] is no input of B\[0\]"):
        Process(B, [into], [other]).handle(Received(other, Message("m")))


def test_a_snapshot_is_whole_when_every_part_is_there() -> None:
    """L9: parts of another snapshot do not count."""
    parts = [Recorded(A, 1, "a", {}), Recorded(B, 2, "b", {})]

    assert assemble(1, [A, B], parts) is None
    whole = assemble(1, [A, B], [*parts, Recorded(B, 1, "b", {})])
    assert whole is not None and whole.states == {A: "a", B: "b"}


def test_whoever_is_not_reached_keeps_the_snapshot_from_ending() -> None:
    """L9: A and C feed B. Started at A alone, B waits for C's marker for ever; started at both, it ends."""
    a, c = links(("A", "B"), ("C", "B"))
    names = {A: "a", B: "b", Subtask("C"): "c"}
    alone, both = Network([a, c], dict(names)), Network([a, c], dict(names))
    alone.start(A, 1)
    alone.deliver(a)
    for name in (A, Subtask("C")):
        both.start(name, 1)
    for channel in (a, c):
        both.deliver(channel)

    assert reached([A], [a, c]) == {A, B} and alone.whole(1) is None and alone.processes[B].recording == {1: {c}}
    assert reached([A, Subtask("C")], [a, c]) == names.keys() and both.whole(1) is not None


# ---------------------------------------------------------------- any graph


@st.composite
def graphs(draw: st.DrawFn) -> tuple[tuple[Subtask, ...], tuple[Channel, ...], list[list[Subtask]]]:
    """Up to five processes and any channels: several between two, to oneself, parts that do not hang together; and for
    each of three or more snapshots two or more initiators, from whom everybody is reached."""
    names = tuple(Subtask(f"P{number}") for number in range(draw(st.integers(2, 5))))
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=10))
    channels = tuple(Channel(number, one, other) for number, (one, other) in enumerate(pairs))
    initiators = draw(st.lists(st.lists(st.sampled_from(names), min_size=2, unique=True), min_size=3, max_size=4))
    for some in initiators:
        some += [name for name in names if name not in some and name not in reached(some, channels)]
    return names, channels, initiators


def run(network: Network, starts: list[tuple[Subtask, int]], order: random.Random, steps: int) -> None:
    """Deliver, send and start in any order; then in rounds, in which the application sends as much as it receives."""
    for _ in range(steps):
        full = [channel for channel, queue in network.queues.items() if queue]
        match order.choice(("deliver", "send", "local", "start")):
            case "deliver" if full:
                network.deliver(order.choice(full))
            case "send" if network.channels:
                channel = order.choice(network.channels)
                network.send(channel, network.sent[channel] + 1)
            case "start" if starts:
                network.start(*starts.pop(order.randrange(len(starts))))
            case _:
                name = order.choice(list(network.states))
                network.local(name, f"local {len(network.history[name])}")
    for start in starts:
        network.start(*start)
    for _ in range(ROUNDS_MAX):
        if all(network.whole(snapshot) for snapshot in network.cuts):
            return
        for channel in network.channels:
            network.send(channel, network.sent[channel] + 1)
            network.deliver(channel)


@given(graphs(), st.randoms(use_true_random=False), st.integers(0, 120))
def test_every_snapshot_ends_in_a_consistent_cut(
    graph: tuple[tuple[Subtask, ...], tuple[Channel, ...], list[list[Subtask]]], order: random.Random, steps: int
) -> None:
    """O1.5, O1.8: two or more initiators each, markers delayed at will, three or more snapshots in a row and at once,
    any graph, an application that never stops sending: each snapshot ends, its cut is consistent, and its channels
    hold exactly what was sent in the cut and not received in it."""
    names, channels, initiators = graph
    network = Network(channels, dict.fromkeys(names))
    run(network, [(name, number) for number, some in enumerate(initiators) for name in some], order, steps)

    for snapshot in range(len(initiators)):
        whole = network.whole(snapshot)
        assert whole is not None
        assert violations(network.lines(), network.cut(snapshot)) == ()
        held = {channel: contents for channel, contents in whole.channels.items() if contents}
        assert held == in_transit(network.lines(), network.cut(snapshot))
    assert all(process.recording == {} for process in network.processes.values())
    assert len(network.parts) == len(names) * len(initiators)


@given(graphs(), st.data())
def test_whoever_is_reached_records_himself_and_nobody_else(
    graph: tuple[tuple[Subtask, ...], tuple[Channel, ...], list[list[Subtask]]], data: st.DataObject
) -> None:
    """L9: over however many channels; all markers are delivered."""
    names, channels, _ = graph
    initiators = data.draw(st.frozensets(st.sampled_from(names)))
    network = Network(channels, dict.fromkeys(names))
    for name in initiators:
        network.start(name, 1)
    while full := [channel for channel, queue in network.queues.items() if queue]:
        network.deliver(full[0])

    assert network.cuts.get(1, {}).keys() == reached(initiators, channels)


@given(st.randoms(use_true_random=False), st.integers(0, 200))
def test_money_is_conserved_in_every_snapshot(order: random.Random, steps: int) -> None:
    """O1.5: what cannot be counted in a running bank can be counted in each of its snapshots."""
    names = [Subtask(f"P{number}") for number in range(4)]
    channels = [Channel(n, one, other) for n, (one, other) in enumerate((a, b) for a in names for b in names if a != b)]
    network = Network(channels, dict.fromkeys(names, 1_000), lambda have, amount: have + amount)
    for step in range(steps):
        full = [channel for channel, queue in network.queues.items() if queue]
        if full and order.random() < 0.5:
            network.deliver(order.choice(full))
        else:
            transfer(network, order.choice(channels), order.randrange(100))
        if step % 40 == 20:
            network.start(order.choice(names), step)
    while full := [channel for channel, queue in network.queues.items() if queue]:
        network.deliver(order.choice(full))

    for snapshot in network.cuts:
        whole = network.whole(snapshot)
        assert whole is not None
        assert sum(whole.states.values()) + sum(sum(c) for c in whole.channels.values()) == 4_000
