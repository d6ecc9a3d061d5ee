"""Any small graph, any schedule: every cut is consistent, and every row arrives once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.protocol.model.topology import Edge, SinkKind, Spread, Topology, Vertex
from seatunnel_py.protocol.participant import messages as msg
from tests.protocol.fake_link import FakeLink, counting
from tests.protocol.reference.consistent_cut import misaligned, uncovered

ROWS = 8
ROUNDS_MAX = 12
"""Final checkpoints until one is complete with empty channels; a loop needs a few, more would be a hang."""


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """One or two sources, a tree of inner vertices, sinks at some of them, in one graph of three a loop."""
    wide = st.sampled_from((1, 2))
    retained = st.booleans()
    sources, inner, sinks = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    parallel = draw(wide)
    vertices = [Vertex(f"source{at}", draw(wide)) for at in range(sources)]
    vertices += [Vertex(f"inner{at}", parallel) for at in range(inner)]
    vertices += [Vertex(f"sink{at}", draw(wide), sink=SinkKind.TWO_PHASE) for at in range(sinks)]
    to = [0, draw(st.integers(0, inner - 1))]
    edges = [Edge(f"source{at}", f"inner{to[at]}", Spread.KEYED, draw(retained)) for at in range(sources)]
    for at in range(1, inner):
        sender = draw(st.integers(0, at - 1))
        edges.append(Edge(f"inner{sender}", f"inner{at}", draw(st.sampled_from(Spread)), draw(retained)))
    for at in range(sinks):
        edges.append(Edge(f"inner{draw(st.integers(0, inner - 1))}", f"sink{at}", Spread.KEYED, draw(retained)))
    if draw(st.integers(0, 2)) == 0:
        edges.append(Edge(f"inner{inner - 1}", "inner0", Spread.KEYED, draw(retained)))
    return Topology(tuple(vertices), tuple(edges))


@settings(max_examples=120)
@given(topologies(), st.integers(0, 2**32), st.booleans())
def test_every_acknowledged_checkpoint_is_a_consistent_cut(topology: Topology, seed: int, unaligned: bool) -> None:
    """I8: ids(<= applied) + channel state + ids(> sent) cover every id of every channel once, whatever the schedule,
    with checkpoints that overtake each other, that are called off, and alignments that time out."""
    link = FakeLink(topology, *counting(topology, ROWS), seed=seed, timeout=float(seed % 2)).start()
    for checkpoint in range(1, 9):
        link.run(link.random.randint(1, 20))
        link.trigger(checkpoint, unaligned=unaligned and link.random.random() < 0.8)
        link.run(link.random.randint(1, 60))
        if link.timers and link.random.random() < 0.5:
            timer = link.random.choice(link.timers)
            link.tell(timer.subtask, msg.AlignmentTimedOut(0.0, timer.epoch, timer.checkpoint))
        if link.random.random() < 0.2:
            link.abort(checkpoint, *(link.participants if link.random.random() < 0.3 else ()))
    link.run()
    for checkpoint in sorted(link.triggered):
        if not link.is_complete(checkpoint):
            link.abort(checkpoint)  # declined or expired: what another one has ended here and not there
    link.run()

    assert not link.of(msg.ReportFailed)
    for checkpoint in link.acknowledged:
        if link.is_complete(checkpoint):
            assert uncovered(topology.channels, link.acknowledged[checkpoint]) == ()
            if not unaligned and not link.timers:
                assert misaligned(topology, link.acknowledged[checkpoint]) == ()
    assert all(participant.checkpoint is None for participant in link.participants.values())


@settings(max_examples=120)
@given(topologies(), st.integers(0, 2**32), st.booleans())
def test_every_row_becomes_visible_once_whatever_fails(topology: Topology, seed: int, unaligned: bool) -> None:
    """I1, I2, I8, I22, I25, I46: regional restarts at any moment, also during one another's; what is visible in the
    end is what an undisturbed run shows."""
    quiet = FakeLink(topology, *counting(topology, ROWS), seed=seed + 1).start()
    _to_the_end(quiet, 1)
    link = FakeLink(topology, *counting(topology, ROWS), seed=seed, timeout=float(seed % 2)).start()
    for checkpoint in range(1, 9):
        link.trigger(checkpoint, unaligned=unaligned)
        link.run(link.random.randint(1, 60))
        if link.random.random() < 0.5:
            link.fail(link.random.choice(topology.vertices).id)
            link.run(link.random.randint(0, 30))
        if link.is_complete(checkpoint):
            # A subtask that repeats itself after a restart may be behind its surviving receivers, never ahead.
            assert uncovered(topology.channels, link.acknowledged[checkpoint], topology.channels) == ()
            link.complete(checkpoint)
    _to_the_end(link, 9)

    assert not link.of(msg.ReportFailed)
    assert link.rows_visible == quiet.rows_visible


def _to_the_end(link: FakeLink, first: int) -> None:
    """Checkpoints until one shows that everything has ended (O1.6)."""
    for checkpoint in range(first, first + ROUNDS_MAX):
        link.run()
        link.trigger(checkpoint)
        link.run()
        parts = link.acknowledged.get(checkpoint, {})
        if link.is_complete(checkpoint) and not any(part.channel_state for part in parts.values()):
            link.complete(checkpoint)
            return
    raise AssertionError("the pipeline does not end")
