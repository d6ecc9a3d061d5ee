"""Random small pipelines: the graph for the protocol, and what each vertex does with rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.protocol.topology import Determinism, Edge, SinkKind, Spread, Topology, Vertex
from tests.simulation.choices import Stream


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
    """``rows``: how many each subtask of a source holds. ``order``: number of a vertex, for row ids."""

    shape: str
    topology: Topology
    roles: dict[str, Role]
    rows: dict[str, int]
    capacity: int
    budget: int

    def number(self, vertex: str) -> int:
        return [each.id for each in self.topology.vertices].index(vertex)


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
    "two joins": ("AJ", "BJ", "AG", "BG", "JK", "GL"),
}
WEIGHTED = (
    *("pair", "chain", "fan-out", "join", "diamond", "diamond", "loop", "loop behind join", "tight loop"),
    *("base", "base", "base", "base", "wide", "wide", "two joins"),
)
SOURCES, SINKS = "AB", "KLM"
SINK_KINDS = (
    *(SinkKind.TWO_PHASE,) * 7,
    *(SinkKind.IDEMPOTENT,) * 2,
    SinkKind.AT_LEAST_ONCE,
)
LEVELS = (*(Determinism.DETERMINATE,) * 9, Determinism.UNORDERED, Determinism.INDETERMINATE)


def generate(plan: Stream) -> Pipeline:
    """A pipeline that the plan stream decides; all zeroes: one source, one sink, few rows."""
    shape = plan.pick(WEIGHTED)
    edges = list(SHAPES[shape])
    if plan.chance(0.35) and len(edges) < 6:
        edges = _insert(edges, plan)
    names = sorted({name for edge in edges for name in edge}, key=lambda name: (name in SINKS, name not in SOURCES, name))
    width = plan.pick((1, 1, 1, 2, 2, 3)) if len(names) <= 5 else plan.pick((1, 1, 1, 2))
    calm = plan.chance(0.5)
    vertices, roles, rows = [], {}, {}
    for name in names:
        parallelism = max(1, width - plan.pick((0, 0, 0, 1)))
        level = plan.pick(LEVELS) if not calm else Determinism.DETERMINATE
        kind = plan.pick(SINK_KINDS) if name in SINKS else SinkKind.NONE
        role = _role(name, plan, looped="T" in names)
        if role in (Role.SINK, Role.RETRY) or name in "RX":
            level = Determinism.DETERMINATE
        vertices.append(Vertex(name, parallelism, level, kind))
        roles[name] = role
        if name in SOURCES:
            rows[name] = plan.between(2, 24)
    retained = plan.chance(0.4)
    by_name = {vertex.id: vertex for vertex in vertices}
    topology = Topology(tuple(vertices), tuple(_edge(edge, by_name, plan, retained) for edge in edges))
    return Pipeline(shape, topology, roles, rows, plan.pick((4, 1, 2, 8)), plan.between(1, 4))


def _insert(edges: list[str], plan: Stream) -> list[str]:
    """One more vertex in the middle of an edge."""
    at = plan.below(len(edges))
    sender, receiver = edges[at]
    if sender == receiver or "X" in "".join(edges):
        return edges
    return [*edges[:at], f"{sender}X", f"X{receiver}", *edges[at + 1 :]]


def _role(name: str, plan: Stream, looped: bool) -> Role:
    if name in SOURCES:
        return Role.SOURCE
    if name in SINKS:
        return Role.SINK
    if name == "T":
        return Role.RETRY
    if name == "R" or (name == "X" and looped):
        return Role.PASS
    if name in "JG":
        return plan.pick((Role.COUNT, Role.COUNT, Role.COUNT, Role.PASS))
    return plan.pick((Role.PASS, Role.COUNT, Role.FILTER))


def _edge(edge: str, by_name: dict[str, Vertex], plan: Stream, retained: bool) -> Edge:
    sender, receiver = edge
    same = by_name[sender].parallelism == by_name[receiver].parallelism
    u = plan.draw()
    spread = Spread.KEYED
    if same and u < 0.5:
        spread = Spread.FORWARD
    elif u > 0.93 and "T" not in edge and "R" not in edge:
        spread = Spread.BROADCAST
    return Edge(sender, receiver, spread, retained and plan.chance(0.6))
