"""Participants that talk to each other over a fake link: the worked examples, and whole restarts."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.stream_elements import (
    Barrier,
    BatchHandle,
    CancelMarker,
    Operation,
    OperationKind,
    Plain,
)
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Spread, Topology, Vertex
from seatunnel_py.protocol.participant import messages as msg
from tests.protocol.fake_link import FakeLink, Result, counting, snapshots_by_name
from tests.protocol.reference.consistent_cut import misaligned, uncovered

# ---------------------------------------------------------------- the word count of the asynchronous barriers

WORD_COUNT = Topology(
    (Vertex("source", 2), Vertex("count", 2), Vertex("print", 2, sink=SinkKind.AT_LEAST_ONCE)),
    (Edge("source", "count", Spread.KEYED), Edge("count", "print")),
)
SOURCES, COUNTS, PRINTS = ([Subtask(name, at) for at in (0, 1)] for name in ("source", "count", "print"))
TEXT = {SOURCES[0]: ["hello", "moon", "hello", "fox"], SOURCES[1]: ["hi", "hello", "moon", "hi"]}


def read_words(name: Subtask, state: Plain, again: Plain, choice: random.Random) -> Result:
    """A word a unit; words with an even number of letters are counted by the first task."""
    at = state if isinstance(state, int) else 0
    word = TEXT[name][at]
    output = next(c for c in WORD_COUNT.outputs(name) if c.receiver.index == len(word) % 2)
    return Result(at + 1, [(output, [word])], range=at, ended=at + 1 == len(TEXT[name]))


def count_words(name: Subtask, state: Plain, channel: Channel, taken: list[Plain]) -> Result:
    """Counts; every new count is printed."""
    counts = Counter(state if isinstance(state, dict) else {})
    counts.update(str(word) for word in taken) if name.vertex == "count" else counts.update({"lines": len(taken)})
    rows: list[Plain] = [f"{word} {counts[str(word)]}" for word in taken]
    return Result(dict(counts), [(output, rows) for output in WORD_COUNT.outputs(name)])


@pytest.mark.parametrize("seed", range(20))
def test_a_late_barrier_gives_the_state_as_if_both_streams_had_been_cut_there(seed: int) -> None:
    """O3.1: two sources, two counting and two printing tasks; the barrier of one source is late, in any schedule."""
    link = FakeLink(WORD_COUNT, read_words, count_words, seed).start()
    link.held.add(SOURCES[1])
    while link.participants[SOURCES[0]].units.taken < 2:
        link.step(SOURCES[0])
    link.trigger(1, SOURCES[0])  # looked at between units: behind the third word
    link.run()
    assert all(link.participants[count].blocked for count in COUNTS)

    link.held.clear()
    while link.participants[SOURCES[1]].units.taken < 1:
        link.step(SOURCES[1])
    link.trigger(1, SOURCES[1])  # late, behind its second word
    link.run()

    assert link.is_complete(1)
    parts = link.acknowledged[1]
    assert snapshots_by_name(parts) == {
        "source[0]": 3,
        "source[1]": 2,
        "count[0]": {"moon": 1, "hi": 1},
        "count[1]": {"hello": 3},
        "print[0]": {"lines": 2},
        "print[1]": {"lines": 3},
    }
    assert not uncovered(WORD_COUNT.channels, parts)
    assert not misaligned(WORD_COUNT, parts)
    assert link.participants[COUNTS[0]].units.state == {"moon": 2, "hi": 2}
    assert link.participants[COUNTS[1]].units.state == {"hello": 3, "fox": 1}


# ---------------------------------------------------------------- a loop

RETRY = Topology(
    (Vertex("source"), Vertex("try"), Vertex("judge"), Vertex("sink", sink=SinkKind.TWO_PHASE)),
    (Edge("source", "try"), Edge("try", "judge"), Edge("judge", "try"), Edge("judge", "sink")),
)
TO_TRY, TO_JUDGE, AGAIN, TO_SINK = RETRY.channels
TRY, JUDGE, SINK = Subtask("try"), Subtask("judge"), Subtask("sink")


def retry(seed: int = 0, rows: int = 12) -> FakeLink:
    return FakeLink(RETRY, *counting(RETRY, rows), seed=seed).start()


def test_records_on_the_back_edge_belong_to_the_cut() -> None:
    """O3.2, I47: what was judged to be tried again before the barrier, and had not come back, is in the snapshot."""
    link = retry(rows=4)
    link.held.add(AGAIN)
    link.run()
    back = [item.item for item in link.wires[AGAIN]]
    assert back, "the example needs something on the back-edge"

    link.trigger(1)
    link.run()
    assert not link.is_complete(1), "the barrier has not come round"
    link.held.clear()
    link.run()

    assert link.is_complete(1)
    parts = link.acknowledged[1]
    assert parts[TRY].channel_state == {AGAIN: tuple(item for item in back if isinstance(item, BatchHandle))}
    assert not uncovered(RETRY.channels, parts)
    assert not misaligned(RETRY, parts)


@pytest.mark.parametrize("seed", range(20))
def test_a_restart_from_such_a_cut_tries_everything_as_often_as_without_it(seed: int) -> None:
    """O3.2, I1, I2, I25: the recorded rows are taken first, and once."""
    quiet = retry(seed).run()
    quiet.trigger(1)
    quiet.run().complete(1)
    link = retry(seed).run(15)
    link.trigger(1)
    link.run(until=lambda: link.is_complete(1)).complete(1)
    link.run(10)
    link.fail("judge")
    link.run()
    link.trigger(2)
    link.run().complete(2)

    assert link.rows_visible == quiet.rows_visible


# ---------------------------------------------------------------- cancel, overtake, abort

JOIN = Topology(
    (Vertex("a"), Vertex("b"), Vertex("join"), Vertex("left", sink=SinkKind.TWO_PHASE), Vertex("right")),
    (Edge("a", "join"), Edge("b", "join"), Edge("join", "left", retained=True), Edge("join", "right")),
)
A, B, JOINED, LEFT, RIGHT = (Subtask(name) for name in JOIN.by_id)
A_JOIN, B_JOIN, JOIN_LEFT, JOIN_RIGHT = JOIN.channels


def join(seed: int = 0, rows: int = 12, timeout: float = -1.0) -> FakeLink:
    return FakeLink(JOIN, *counting(JOIN, rows), seed=seed, timeout=timeout).start()


def test_nobody_waits_for_a_source_that_is_not_running() -> None:
    """O4.7: its cancel marker reaches everybody, once on each channel, although the other source sent a barrier."""
    link = join()
    link.tell(B, msg.UnitFailed(0.0, 1, 1))
    link.units.pop(B)
    link.trigger(1)
    link.run()

    markers = Counter(c.envelope.channel for c in link.said if isinstance(c, msg.Emit) and _is_marker(c))
    assert markers == {B_JOIN: 1, JOIN_LEFT: 1, JOIN_RIGHT: 1}
    assert all(one.checkpoint is None and not one.blocked for one in link.participants.values())
    assert link.of(msg.Decline) == [msg.Decline(B, 1, 1, 1, Reason.NOT_RUNNING)]


def _is_marker(emit: msg.Emit) -> bool:
    return isinstance(emit.envelope.item, CancelMarker)


def test_the_barrier_is_on_its_way_before_the_snapshot_is_acknowledged() -> None:
    """O4.7: on every subtask, in one step with the last unit."""
    link = join()
    link.trigger(1)
    link.run()

    for name in (A, B, JOINED):
        said = [c for c in link.said if _of(c) == name]
        (acknowledged,) = [at for at, c in enumerate(said) if isinstance(c, msg.Acknowledge)]
        before = said[:acknowledged]
        barriers = [c for c in before if isinstance(c, msg.Emit) and isinstance(c.envelope.item, Barrier)]
        assert len(barriers) == len(JOIN.outputs(name))
        assert before[-len(barriers) :] == barriers


def _of(command: msg.ParticipantCommand) -> Subtask:
    return command.envelope.channel.sender if isinstance(command, msg.Emit) else command.subtask


@pytest.mark.parametrize("seed", range(10))
def test_a_newer_barrier_overtakes(seed: int) -> None:
    """O4.8, I16: the trigger of 1 reached one source only; 2 completes, and nobody is left behind (F17)."""
    link = join(seed)
    link.trigger(1, A)
    link.run(10)
    link.trigger(2)
    link.run()

    assert link.is_complete(2)
    assert {c.checkpoint for c in link.of(msg.Decline) if isinstance(c, msg.Decline)} <= {1}
    assert all(one.checkpoint is None for one in link.participants.values())


@pytest.mark.parametrize("seed", range(10))
def test_an_abort_leaves_nobody_blocked(seed: int) -> None:
    """I13, F17, F21: half a checkpoint, called off; the barriers that are still on their way are swallowed."""
    link = join(seed)
    link.trigger(1, A)
    link.run(8)
    link.abort(1)
    link.run()

    assert all(one.checkpoint is None and not one.blocked for one in link.participants.values())
    assert not any(link.wires.values())
    link.trigger(2)
    assert link.run().is_complete(2)


# ---------------------------------------------------------------- unaligned


@pytest.mark.parametrize("seed", range(20))
def test_an_unaligned_checkpoint_completes_while_everything_is_stuck(seed: int) -> None:
    """F19: the join does not get on, its queues are full; the cut holds them, and a restart applies them once (I25)."""
    quiet = join(seed).run()
    quiet.trigger(1)
    quiet.run().complete(1)
    link = join(seed)
    link.held.add(LEFT)
    link.run(until=lambda: link.participants[LEFT].queued[JOIN_LEFT] > 1)
    link.trigger(1, unaligned=True)
    link.run(until=lambda: len(link.acknowledged.get(1, ())) == 4)
    link.held.clear()
    link.run(until=lambda: link.is_complete(1))

    parts = link.acknowledged[1]
    assert not uncovered(JOIN.channels, parts)
    assert parts[LEFT].channel_state
    link.complete(1)
    assert link.fail("left") == {"left"}, "its input is retained"
    link.run()
    link.trigger(2)
    link.run().complete(2)
    assert link.rows_visible == quiet.rows_visible


@pytest.mark.parametrize("seed", range(10))
def test_an_alignment_that_lasts_too_long_goes_on_without_waiting(seed: int) -> None:
    """The switch: b is late; after the time-out the join's snapshot is taken, and b's barrier only ends a recording."""
    link = join(seed, timeout=10.0)
    link.run(10)
    link.trigger(1, A)
    link.run(until=lambda: bool(link.timers))
    (timer,) = link.timers
    assert timer.subtask == JOINED
    link.tell(JOINED, msg.AlignmentTimedOut(10.0, timer.epoch, 1))
    link.run(8)
    link.trigger(1, B)
    link.run()

    assert link.is_complete(1)
    assert not uncovered(JOIN.channels, link.acknowledged[1])


# ---------------------------------------------------------------- restarts


@pytest.mark.parametrize("seed", range(30))
def test_a_surviving_sibling_drops_what_it_has(seed: int) -> None:
    """I2, I20, I21, I22: the join restarts with its sources, both sinks survive; the numbers that come again mean the
    same rows, although the join may take its inputs in another order (I39)."""
    link = join(seed)
    link.run(30)
    link.trigger(1)
    link.run(until=lambda: link.is_complete(1)).complete(1)
    link.run(25)
    before = link.participants[LEFT].received[JOIN_LEFT]
    assert link.fail("join") == {"a", "b", "join"}
    assert link.participants[LEFT].received[JOIN_LEFT] == before
    link.run()
    link.trigger(2)
    link.run().complete(2)

    assert not link.of(msg.ReportFailed)
    assert link.participants[LEFT].received == {JOIN_LEFT: link.participants[JOINED].sent[JOIN_LEFT]}
    assert set(link.rows_visible.values()) == {1}
    assert len(link.rows_visible) == 2 * 12


@pytest.mark.parametrize("seed", range(20))
def test_a_restarted_sink_gets_the_retained_batches_again(seed: int) -> None:
    """I20, I23: alone, without gap and without doing anything twice; its sender goes on meanwhile."""
    link = join(seed)
    link.run(30)
    link.trigger(1)
    link.run(until=lambda: link.is_complete(1)).complete(1)
    link.run(25)
    sent = link.participants[JOINED].sent[JOIN_LEFT]
    assert link.fail("left") == {"left"}
    link.run()
    link.trigger(2)
    link.run().complete(2)

    assert link.participants[JOINED].sent[JOIN_LEFT] >= sent
    assert not link.of(msg.ReportFailed)
    assert set(link.rows_visible.values()) == {1}
    assert len(link.rows_visible) == 2 * 12


def test_without_the_journal_a_sibling_would_see_other_rows() -> None:
    """I22, I39: the same schedules with an empty journal are caught by the digests, so they are worth having."""
    caught = 0
    for seed in range(30):
        link = join(seed)
        link.run(60)
        link.journals = {name: [] for name in link.participants}
        try:
            link.fail("join")
            link.run()
        except AssertionError:
            caught += 1  # the fake link's own check of I22
        else:
            caught += bool(link.of(msg.ReportFailed))
    assert caught > 10


@pytest.mark.parametrize("seed", range(5))
def test_a_savepoint_that_stops_has_everything_and_nothing_follows(seed: int) -> None:
    """I44: behind the barrier nothing is read, and the sinks hold what came before it."""
    link = join(seed)
    link.run(20)
    link.trigger(1, operation=Operation(OperationKind.STOP))
    link.run()

    assert link.is_complete(1)
    parts = link.acknowledged[1]
    assert parts[JOINED].sent == link.participants[JOINED].sent
    assert parts[LEFT].applied == {JOIN_LEFT: parts[JOINED].sent[JOIN_LEFT]}
    assert not link.possible()
