"""The checkers of cuts: the counter-example is found and named, every way to break a record is told apart."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import BatchHandle, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, Topology, Vertex
from tests.protocol.reference.consistent_cut import Event, in_transit, misaligned, uncovered, violations

P1, P2 = Subtask("P1"), Subtask("P2")
FORTH, BACK = Channel(0, P1, P2), Channel(1, P2, P1)

# ---------------------------------------------------------------- events


def test_recording_at_a_word_of_command_is_no_snapshot() -> None:
    """O1.3: a centre tells both to record now, without markers. P1 records, then sends m (c); P2 receives m (d), then
    records: d is in, c is not."""
    a, b = Event("a", P1), Event("b", P2)
    c, d = Event("c", P1, sent=((FORTH, 1),)), Event("d", P2, received=(FORTH, 1))

    found = violations([[a, c], [b, d]], {a, b, d})
    assert [(one.inside, one.missing) for one in found] == [(d, c)]
    assert [str(one) for one in found] == ["d is in, c is not: d received what it sent"]


def test_a_hole_in_a_process_is_named() -> None:
    """K1: an event without the one before it, wherever the hole is; each neighbouring pair once."""
    first, second, third = line = [Event(name, P1) for name in ("first", "second", "third")]

    assert [str(found) for found in violations([line], {third})] == [
        "third is in, second is not: it is earlier in P1[0]"
    ]
    assert [found.missing for found in violations([line], {first, third})] == [second]
    assert violations([line], {first, second}) == violations([line], set()) == violations([line], set(line)) == ()


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([[Event("d", P2, received=(FORTH, 1))]], "d received a message that nobody sent"),
        ([[Event("a", P1), Event("a", P1)]], "an event is there twice"),
    ],
)
def test_what_is_no_history_is_refused(history: list[list[Event]], message: str) -> None:
    """A checker that guesses would find nothing wrong with it."""
    with pytest.raises(ValueError, match=message):
        violations(history, set())


def test_what_is_under_way_at_the_cut_is_the_channel_state() -> None:
    """K3: sent in the cut and not received in it, per channel, in the order of sending."""
    sent = [Event(f"s{n}", P1, sent=((FORTH, n), (BACK, n))) for n in (1, 2, 3)]
    received = [Event(f"r{n}", P2, received=(FORTH, n)) for n in (1, 2)]

    assert in_transit([sent, received], {*sent, received[0]}) == {FORTH: (2, 3), BACK: (1, 2, 3)}
    assert in_transit([sent, received], {sent[0], received[0]}) == {BACK: (1,)}
    assert in_transit([sent, received], set()) == {}


@given(st.randoms(use_true_random=False), st.integers(0, 12))
def test_a_cut_is_consistent_if_and_only_if_it_is_closed(order: random.Random, steps: int) -> None:
    """O1.8 against its definition: no pair is reported exactly where every event that happened before one of the cut,
    by however many steps, is in the cut too."""
    lines: dict[Subtask, list[Event]] = {P1: [], P2: []}
    before: dict[Event, frozenset[Event]] = {}
    sent: list[tuple[Channel, int]] = []
    sender: dict[tuple[Channel, int], Event] = {}
    for step in range(steps):
        process = order.choice((P1, P2))
        channel = FORTH if process == P1 else BACK
        due = [message for message in sent if message[0].receiver == process]
        message = order.choice([None, *due])
        event = Event(f"e{step}", process, message, ((channel, step),) if order.random() < 0.5 else ())
        sent += event.sent
        sender |= dict.fromkeys(event.sent, event)
        reasons = [*lines[process][-1:], *([sender[message]] if message else [])]
        before[event] = frozenset().union(reasons, *(before[reason] for reason in reasons))
        if message:
            sent.remove(message)
        lines[process].append(event)
    cut = {event for event in before if order.random() < 0.7}

    closed = all(before[event] <= cut for event in cut)
    assert (violations(lines.values(), cut) == ()) == closed


# ---------------------------------------------------------------- numbers

ONE, OTHER = Subtask("one"), Subtask("other")
CHANNEL = Channel(0, ONE, OTHER)


def record(sent: int, applied: int, *queued: int) -> dict[Subtask, SubtaskSnapshot]:
    state = {CHANNEL: tuple(BatchHandle(number) for number in queued)}
    return {
        ONE: SubtaskSnapshot(sent={CHANNEL: sent}),
        OTHER: SubtaskSnapshot(applied={CHANNEL: applied}, channel_state=state),
    }


@pytest.mark.parametrize(
    ("snapshots", "found"),
    [
        (record(0, 0), ()),
        (record(5, 5), ()),
        (record(5, 3, 4, 5), ()),
        (record(5, 0, 1, 2, 3, 4, 5), ()),
        (record(5, 4), ("one[0]->other[0]: 5 is lost: sent, neither applied nor in the channel state",)),
        (record(5, 1, 2), ("one[0]->other[0]: 3 to 5 are lost: sent, neither applied nor in the channel state",)),
        (record(4, 5), ("one[0]->other[0]: 5 is received, but sent behind the cut",)),
        (record(1, 1, 2, 3), ("one[0]->other[0]: 2 to 3 are received, but sent behind the cut",)),
        (record(5, 2, 4, 5), ("one[0]->other[0]: the channel state is [4, 5], after 2 it has to be [3, 4]",)),
        (record(5, 3, 3, 4, 5), ("one[0]->other[0]: the channel state is [3, 4, 5], after 3 it has to be [4, 5, 6]",)),
        (record(5, 3, 5, 4), ("one[0]->other[0]: the channel state is [5, 4], after 3 it has to be [4, 5]",)),
        ({}, ("one[0]->other[0]: one[0] has no snapshot", "one[0]->other[0]: other[0] has no snapshot")),
        ({ONE: SubtaskSnapshot()}, ("one[0]->other[0]: other[0] has no snapshot",)),
        ({ONE: SubtaskSnapshot(), OTHER: SubtaskSnapshot()}, ()),
    ],
)
def test_every_number_is_covered_exactly_once(
    snapshots: dict[Subtask, SubtaskSnapshot], found: tuple[str, ...]
) -> None:
    """I8, K4: nothing lost, nothing twice, nothing out of order, nobody missing; each is said in its own words."""
    assert uncovered([CHANNEL], snapshots) == found


def test_a_receiver_may_be_ahead_of_a_sender_that_catches_up() -> None:
    """I8 under I22, K5: numbers may be there twice then; none may be missing."""
    assert uncovered([CHANNEL], record(2, 4), [CHANNEL]) == ()
    assert uncovered([CHANNEL], record(2, 1, 2, 3, 4), [CHANNEL]) == ()
    assert len(uncovered([CHANNEL], record(5, 4), [CHANNEL])) == 1
    assert len(uncovered([CHANNEL], record(2, 1, 3, 4), [CHANNEL])) == 1


@given(st.integers(0, 8), st.integers(0, 8), st.lists(st.integers(1, 9), max_size=5))
def test_the_numbers_mean_what_the_definition_says(sent: int, applied: int, queued: list[int]) -> None:
    """I8, literally: ids(<= applied) + channel state + ids(> sent) are every id once, those of the state in order."""
    last = 20
    covered = [*range(1, applied + 1), *queued, *range(sent + 1, last)]

    right = sorted(covered) == list(range(1, last)) and queued == sorted(queued)
    assert (uncovered([CHANNEL], record(sent, applied, *queued)) == ()) == right


def test_an_aligned_cut_holds_batches_on_back_edges_only() -> None:
    """K6: the loop from `work` to itself may hold some, the way to it may not."""
    loop = Topology((Vertex("read"), Vertex("work")), (Edge("read", "work"), Edge("work", "work")))
    to, round_ = loop.channels
    work = Subtask("work")

    assert misaligned(loop, {work: SubtaskSnapshot(channel_state={to: (), round_: (BatchHandle(1),)})}) == ()
    assert misaligned(loop, {work: SubtaskSnapshot(channel_state={to: (BatchHandle(1), BatchHandle(2))})}) == (
        "read[0]->work[0]: 2 in the channel state of an aligned cut",
    )
