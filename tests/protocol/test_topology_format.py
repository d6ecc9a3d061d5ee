"""A topology as plain data and back: nothing is left out, nothing is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.encoding.topology_format import from_topology, to_topology
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Spread, Topology, Vertex, VertexDeterminism

VERTICES = st.builds(
    Vertex, st.sampled_from("abcdef"), st.integers(1, 3), st.sampled_from(VertexDeterminism), st.sampled_from(SinkKind),
    st.booleans(), st.sampled_from(["", "t"]),
)  # fmt: skip


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    vertices = draw(st.lists(VERTICES, unique_by=lambda vertex: vertex.id, max_size=5))
    names = sorted(vertex.id for vertex in vertices)
    pairs = [(a, b) for a in names for b in names if a < b]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=6)) if pairs else []
    spread = st.sampled_from([Spread.KEYED, Spread.BROADCAST])
    edges = tuple(Edge(a, b, draw(spread), draw(st.booleans())) for a, b in chosen)
    detached = frozenset(draw(st.lists(st.sampled_from(names), max_size=2))) if names else frozenset()
    return Topology(tuple(vertices), edges, draw(st.integers(1, 99)), detached)


@given(topologies())
def test_a_topology_survives_the_way_to_text_and_back(topology: Topology) -> None:
    """TF1, TF2."""
    assert to_topology(json.loads(json.dumps(from_topology(topology)))) == topology


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colour": "red"}, "'colour' is not known"),
        ({"version": True}, "True is not of the type int"),
        ({"vertices": [["a", 1]]}, "2 values instead of 6"),
        ({"edges": [["a", "z", "keyed", False]]}, "is not a vertex"),
        ({"vertices": [["a", 1, "sometimes", "none", True, ""]]}, "'sometimes' is not a valid"),
    ],
)
def test_what_is_no_topology_is_refused(change: dict[str, Any], words: str) -> None:
    plain: Any = from_topology(Topology((Vertex("a"), Vertex("b")), (Edge("a", "b"),)))

    with pytest.raises((TypeError, ValueError), match=words):
        to_topology({**plain, **change})
