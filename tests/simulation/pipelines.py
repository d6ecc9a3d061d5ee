"""Random small pipelines: the graph for the protocol, and what each vertex does with rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from seatunnel_py.protocol.model.topology import Edge, SinkKind, Spread, Topology, Vertex, VertexDeterminism
from tests.simulation.choices import Choices, Stream


class Role(StrEnum):
    SOURCE = "source"
    PASS = "pass"
    COUNT = "count"
    """Gives every row its ordinal: what it emits depends on the order in which it took its inputs."""
    FILTER = "filter"
    RETRY = "retry"
    """Sends a row round the loop as often as the row wants, then on."""
    SINK = "sink"


@dataclass(frozen=True)
class Pipeline:
    """``rows``: how many each split of a source holds; ``splits``: how many splits it has; ``set_up``: vertices whose
    target has start effects; ``elastic``: it may be restored into another parallelism."""

    shape: str
    topology: Topology
    roles: dict[str, Role]
    rows: dict[str, int]
    capacity: int
    budget: int
    splits: dict[str, int]
    set_up: tuple[str, ...]
    elastic: bool


# name -> edges; sources are A, B; sinks are K, L, M; the rest in between
SHAPES: dict[str, tuple[str, ...]] = {
    "pair": ("AK",),
    "chain": ("AD", "DE", "EK"),
    "fan-out": ("AD", "DK", "DL"),
    "join": ("AJ", "BJ", "JK"),
    "base": ("AJ", "BJ", "JK", "JL"),
    "diamond": ("AD", "DE", "DF", "EJ", "FJ", "JK"),
    "loop": ("AT", "TR", "RT", "TK"),
    "tight loop": ("AT", "TT", "TK"),
    "loop behind join": ("AJ", "BJ", "JT", "TR", "RT", "TK", "JL"),
    "wide": ("AD", "BE", "DJ", "EJ", "JK", "JL", "EM"),
    "tables": ("AK", "BL"),
    "tables apart": ("AD", "DK", "BL", "BM"),
    "two joins": ("AJ", "BJ", "AG", "BG", "JK", "GL"),
}
WEIGHTED = (
    *("pair", "chain", "fan-out", "join", "diamond", "diamond", "loop", "loop behind join", "tight loop"),
    *("base", "base", "base", "base", "wide", "wide", "two joins", "tables", "tables apart", "tables apart"),
)
SOURCES, SINKS = "AB", "KLM"
SINK_KINDS = (
    *(SinkKind.TWO_PHASE,) * 7,
    *(SinkKind.IDEMPOTENT,) * 2,
    SinkKind.AT_LEAST_ONCE,
)
LEVELS = (*(VertexDeterminism.DETERMINATE,) * 9, VertexDeterminism.UNORDERED, VertexDeterminism.INDETERMINATE)


def generate(choices: Choices) -> Pipeline:
    """A pipeline that the choices decide; all zeroes: one source, one sink, few rows."""
    shape_of, vertex_of, edge_of = choices.shape, choices.vertices, choices.edges
    shape = shape_of.pick(WEIGHTED)
    edges = _insert(list(SHAPES[shape]), shape_of)
    names = sorted(
        {name for edge in edges for name in edge}, key=lambda name: (name in SINKS, name not in SOURCES, name)
    )
    widths = (1, 1, 1, 2, 2, 3) if len(names) <= 5 else (1, 1, 1, 2)
    width, moody = shape_of.pick(widths), shape_of.chance(0.5)
    capacity, budget, retained = shape_of.pick((4, 1, 2, 8)), shape_of.between(1, 4), shape_of.chance(0.4)
    more = choices.graph
    elastic, careful = more.chance(0.3), more.chance(0.4)
    vertices, roles, rows, splits = [], {}, {}, {}
    for name in names:
        parallelism = max(1, width - vertex_of.pick((0, 0, 0, 1)))
        level, kind, count = vertex_of.pick(LEVELS), vertex_of.pick(SINK_KINDS), vertex_of.between(2, 24)
        role = roles[name] = _role(name, vertex_of, looped="T" in names)
        if not moody or role in (Role.SINK, Role.RETRY) or name in "RX":
            level = VertexDeterminism.DETERMINATE
        sink = kind if role is Role.SINK else SinkKind.NONE
        once = role is Role.SOURCE and more.chance(0.15)
        vertices.append(Vertex(name, parallelism, level, sink, replayable=not once))
        if role is Role.SOURCE:
            splits[name] = parallelism + (more.below(3) if elastic else 0)
            rows[name] = max(2, count * parallelism // splits[name])
    by_name = {vertex.id: vertex for vertex in vertices}
    tied = 0.15 if elastic else 0.5
    topology = Topology(tuple(vertices), tuple(_edge(edge, by_name, edge_of, retained, tied) for edge in edges))
    set_up = tuple(name for name in names if roles[name] is Role.SINK) if careful else ()
    return Pipeline(shape, topology, roles, rows, capacity, budget, splits, set_up, elastic)


def movable(topology: Topology) -> list[str]:
    """Vertices whose parallelism may change: sources, and those all of whose inputs are keyed (I45)."""
    tied = {edge.sender for edge in topology.edges if edge.spread is Spread.FORWARD}
    tied |= {edge.receiver for edge in topology.edges if edge.spread is not Spread.KEYED}
    return [vertex.id for vertex in topology.vertices if vertex.id not in tied]


def resized(pipeline: Pipeline, more: Stream) -> Pipeline:
    """The same pipeline with another parallelism here and there."""
    free = movable(pipeline.topology)
    vertices = tuple(
        replace(vertex, parallelism=more.between(1, 3)) if vertex.id in free and more.chance(0.6) else vertex
        for vertex in pipeline.topology.vertices
    )
    return replace(pipeline, topology=Topology(vertices, pipeline.topology.edges))


def _insert(edges: list[str], shape: Stream) -> list[str]:
    """Sometimes one more vertex, in the middle of an edge."""
    wanted, at = shape.chance(0.4), shape.below(len(edges))
    sender, receiver = edges[at]
    if not wanted or sender == receiver or len(edges) > 5:
        return edges
    return [*edges[:at], f"{sender}X", f"X{receiver}", *edges[at + 1 :]]


def _role(name: str, vertex: Stream, looped: bool) -> Role:
    inner = vertex.pick((Role.PASS, Role.COUNT, Role.FILTER))
    join = vertex.pick((Role.COUNT, Role.COUNT, Role.COUNT, Role.PASS))
    if name in SOURCES:
        return Role.SOURCE
    if name in SINKS:
        return Role.SINK
    if name == "T":
        return Role.RETRY
    if name == "R" or (name == "X" and looped):
        return Role.PASS
    if name in "JG":
        return join
    return inner


def _edge(edge: str, by_name: dict[str, Vertex], choice: Stream, retained: bool, tied: float) -> Edge:
    sender, receiver = edge
    same = by_name[sender].parallelism == by_name[receiver].parallelism
    u, kept = choice.draw(), choice.chance(0.6)
    spread = Spread.KEYED
    if same and u < tied:
        spread = Spread.FORWARD
    elif u > 0.93 and "T" not in edge and "R" not in edge:
        spread = Spread.BROADCAST
    once = not by_name[sender].replayable
    return Edge(sender, receiver, spread, (retained or once) and kept)
