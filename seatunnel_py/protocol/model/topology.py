"""The graph of one pipeline, and facts derived from it. Versioned: every record stores the version of its graph.

Rules. (T1) Edges that close a cycle are back-edges, found by a depth-first search from the sources: an edge to a vertex
on the current path. (T2) The other edges form no cycle, so waiting for barriers on them ends (O3.2).
(T3) A vertex without inputs is a source.

May not know: which subtasks run or failed, and how a vertex processes rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from seatunnel_py.protocol.model.ids import Channel, Subtask


class VertexDeterminism(StrEnum):
    """Result of a second run over the same input: the same batches; the same rows in another order; other rows."""

    DETERMINATE = "determinate"
    UNORDERED = "unordered"
    INDETERMINATE = "indeterminate"


class SinkKind(StrEnum):
    """Guarantee of a sink vertex; NONE for any other vertex."""

    NONE = "none"
    AT_LEAST_ONCE = "at-least-once"
    IDEMPOTENT = "idempotent"
    TWO_PHASE = "two-phase"


class Spread(StrEnum):
    """How an edge connects subtasks: one to one, every one to every other by key, every one to all."""

    FORWARD = "forward"
    KEYED = "keyed"
    BROADCAST = "broadcast"


@dataclass(frozen=True, slots=True)
class Vertex:
    """``replayable``: a source can read the same rows again. ``scope``: the commit scope of a sink's pieces; vertices
    with the same scope finish together."""

    id: str
    parallelism: int = 1
    determinism: VertexDeterminism = VertexDeterminism.DETERMINATE
    sink: SinkKind = SinkKind.NONE
    replayable: bool = True
    scope: str = ""

    @property
    def commit_scope(self) -> str:
        """The commit scope; by default one per vertex."""
        return self.scope or self.id


@dataclass(frozen=True, slots=True)
class Edge:
    """``retained``: batches since the last completed checkpoint are kept, and can be sent again without a restart of
    their sender."""

    sender: str
    receiver: str
    spread: Spread = Spread.FORWARD
    retained: bool = False


@dataclass(frozen=True)
class Topology:
    """Immutable. Raises ValueError if vertices and edges do not form a valid graph."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...] = ()
    version: int = 1
    detached: frozenset[str] = field(default_factory=frozenset)
    """Isolated vertices, whose channels are cut."""

    def __post_init__(self) -> None:
        names = [vertex.id for vertex in self.vertices]
        if len(set(names)) < len(names):
            raise ValueError(f"a vertex is named twice in {names}")
        for edge in self.edges:
            if missing := {edge.sender, edge.receiver} - set(names):
                raise ValueError(f"an edge names {sorted(missing)}, which is not a vertex")
            if (
                edge.spread is Spread.FORWARD
                and self.vertex(edge.sender).parallelism != self.vertex(edge.receiver).parallelism
            ):
                raise ValueError(f"{edge.sender} and {edge.receiver} differ in parallelism on a forward edge")
        if self.vertices and not self.sources:
            raise ValueError("every vertex has inputs, so there is no source to start with")

    @cached_property
    def by_id(self) -> Mapping[str, Vertex]:
        return {vertex.id: vertex for vertex in self.vertices}

    def vertex(self, name: str) -> Vertex:
        return self.by_id[name]

    @cached_property
    def sources(self) -> tuple[str, ...]:
        receivers = {edge.receiver for edge in self.edges}
        return tuple(vertex.id for vertex in self.vertices if vertex.id not in receivers)

    @cached_property
    def commit_scopes(self) -> tuple[str, ...]:
        """The scopes of all sinks that are not isolated, each once."""
        sinks = (self.by_id[name] for name in self.live if self.by_id[name].sink is not SinkKind.NONE)
        return tuple(dict.fromkeys(vertex.commit_scope for vertex in sinks))

    @cached_property
    def live(self) -> tuple[str, ...]:
        """All vertices that are not isolated."""
        return tuple(vertex.id for vertex in self.vertices if vertex.id not in self.detached)

    def subtasks(self, names: Iterable[str] | None = None) -> tuple[Subtask, ...]:
        """The subtasks of these vertices; None: of all that are not isolated."""
        if names is None:
            return self._everybody
        return tuple(Subtask(name, at) for name in names for at in range(self.vertex(name).parallelism))

    @cached_property
    def _everybody(self) -> tuple[Subtask, ...]:
        """Cached, because each checkpoint needs it several times."""
        return self.subtasks(self.live)

    @cached_property
    def reading(self) -> tuple[Subtask, ...]:
        """The subtasks of all sources that are not isolated."""
        return self.subtasks(name for name in self.sources if name not in self.detached)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """Every channel between subtasks that are not isolated."""
        found = []
        for number, edge in enumerate(self.edges):
            if {edge.sender, edge.receiver} & self.detached:
                continue
            for sender in self.subtasks([edge.sender]):
                for receiver in self.subtasks([edge.receiver]):
                    if edge.spread is not Spread.FORWARD or sender.index == receiver.index:
                        found.append(Channel(number, sender, receiver))
        return tuple(found)

    def inputs(self, subtask: Subtask) -> tuple[Channel, ...]:
        return tuple(channel for channel in self.channels if channel.receiver == subtask)

    def outputs(self, subtask: Subtask) -> tuple[Channel, ...]:
        return tuple(channel for channel in self.channels if channel.sender == subtask)

    @cached_property
    def back_edges(self) -> frozenset[int]:
        """Numbers of the edges that close a cycle (T1)."""
        found: set[int] = set()
        seen: set[str] = set()

        def visit(name: str, path: frozenset[str]) -> None:
            seen.add(name)
            inside = path | {name}
            for number, edge in enumerate(self.edges):
                if edge.sender != name:
                    continue
                if edge.receiver in inside:
                    found.add(number)
                elif edge.receiver not in seen:
                    visit(edge.receiver, inside)

        for name in (*self.sources, *self.by_id):
            if name not in seen:
                visit(name, frozenset())
        return frozenset(found)

    def ancestors(self, name: str) -> frozenset[str]:
        """All vertices whose rows reach ``name``."""
        return self._closure(name, {(edge.receiver, edge.sender) for edge in self.edges})

    def _closure(self, name: str, steps: Iterable[tuple[str, str]]) -> frozenset[str]:
        steps = tuple(steps)
        found: set[str] = set()
        waiting = [name]
        while waiting:
            here = waiting.pop()
            for near, far in steps:
                if near == here and far not in found:
                    found.add(far)
                    waiting.append(far)
        return frozenset(found)
