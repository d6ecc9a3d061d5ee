"""Graphs in one line of text, and any graph at all."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Spread, Topology, Vertex, VertexDeterminism

CHAIN = "src>map map>out"
SIBLINGS = "src>a src>b"
JOIN = "left>join right>join join>out"
DIAMOND = "src>a src>b a>join b>join join>out"
LOOP = "src>map map>check check>map check>out"


def graph(
    text: str,
    *,
    indeterminate: str = "",
    unordered: str = "",
    once: str = "",
    sinks: Mapping[str, SinkKind] | None = None,
    detached: str = "",
    parallelism: Mapping[str, int] | None = None,
    spread: Spread = Spread.FORWARD,
) -> Topology:
    """``a>b`` is an edge, ``a=b`` a retained one, ``a`` alone a vertex; ``once`` are sources that cannot be read twice."""
    names: dict[str, None] = {}
    edges = []
    for word in text.split():
        ends = word.replace("=", ">").split(">")
        names |= dict.fromkeys(ends)
        if len(ends) == 2:
            edges.append(Edge(ends[0], ends[1], spread, retained="=" in word))
    determinism = dict.fromkeys(indeterminate.split(), VertexDeterminism.INDETERMINATE)
    determinism |= dict.fromkeys(unordered.split(), VertexDeterminism.UNORDERED)
    vertices = tuple(
        Vertex(
            name,
            (parallelism or {}).get(name, 1),
            determinism.get(name, VertexDeterminism.DETERMINATE),
            (sinks or {}).get(name, SinkKind.NONE),
            replayable=name not in once.split(),
        )
        for name in names
    )
    return Topology(vertices, tuple(edges), detached=frozenset(detached.split()))


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def record(checkpoint: int, **snapshots: SubtaskSnapshot) -> CheckpointRecord:
    by_subtask = {Subtask(name): snapshot for name, snapshot in snapshots.items()}
    return CheckpointRecord(checkpoint, 1, RecordKind.PERIODIC, 0, Topology(()), {}, by_subtask)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Any graph of up to six vertices: loops, several pipelines, retained and cut edges."""
    ids = "abcdef"[: draw(st.integers(1, 6))]
    vertices = tuple(
        Vertex(name, 1, draw(st.sampled_from(VertexDeterminism)), replayable=draw(st.booleans())) for name in ids
    )
    # ``a`` has no input, so that there is a source.
    pairs = [(one, two) for one in ids for two in ids[1:]]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=9)) if pairs else []
    edges = tuple(Edge(one, two, retained=draw(st.booleans())) for one, two in chosen)
    detached = draw(st.frozensets(st.sampled_from(ids), max_size=2))
    return Topology(vertices, edges, detached=detached)


def descendants(topology: Topology, name: str) -> frozenset[str]:
    """Every vertex that rows of ``name`` reach."""
    return frozenset(one for one in topology.by_id if name in topology.ancestors(one))
