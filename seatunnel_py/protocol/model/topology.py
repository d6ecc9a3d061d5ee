"""The graph of one pipeline, and what can be read off it. Versioned: every record says which version it was made of.

Rules. (T1) Edges that close a cycle are back-edges, found by a depth-first search from the sources: an edge to a vertex
on the present path. (T2) Without them no cycle is left, so that waiting for barriers along the others ends (O3.2).
(T3) A vertex without inputs is a source.

May not know: who lives, what failed, and what a vertex does with rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from seatunnel_py.protocol.model.ids import Channel, Subtask


class VertexDeterminism(StrEnum):
    """What a second run over the same input gives: the same batches; the same rows in another order; other rows."""

    DETERMINATE = "determinate"
    UNORDERED = "unordered"
    INDETERMINATE = "indeterminate"


class SinkKind(StrEnum):
    """What a sink vertex promises; NONE for a vertex that is no sink."""

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
    """``replayable`` is about sources: what was read once can be read again. ``scope`` names what a sink's pieces
    become visible with; vertices that share one finish together."""

    id: str
    parallelism: int = 1
    determinism: VertexDeterminism = VertexDeterminism.DETERMINATE
    sink: SinkKind = SinkKind.NONE
    replayable: bool = True
    scope: str = ""

    @property
    def commit_scope(self) -> str:
        """By default a vertex has one of its own."""
        return self.scope or self.id


@dataclass(frozen=True, slots=True)
class Edge:
    """``retained``: batches sent since the last completed checkpoint can be delivered again without their sender."""

    sender: str
    receiver: str
    spread: Spread = Spread.FORWARD
    retained: bool = False


@dataclass(frozen=True)
class Topology:
    """Immutable. Raises ValueError where it is no graph of known vertices."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...] = ()
    version: int = 1
    detached: frozenset[str] = field(default_factory=frozenset)
    """Isolated vertices: they are no longer waited for, and their channels are cut."""

    def __post_init__(self) -> None:
        names = [vertex.id for vertex in self.vertices]
        if len(set(names)) < len(names):
            raise ValueError(f"a vertex is named twice in {names}")
        for edge in self.edges:
            if missing := {edge.sender, edge.receiver} - set(names):
                raise ValueError(f"an edge names {sorted(missing)}, which is no vertex")
            if (
                edge.spread is Spread.FORWARD
                and self.vertex(edge.sender).parallelism != self.vertex(edge.receiver).parallelism
            ):
                raise ValueError(f"{edge.sender} and {edge.receiver} differ in parallelism on a forward edge")
        if self.vertices and not self.sources:
            raise ValueError("no vertex is without inputs: nothing could start")

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
        """The scopes of all sinks that take part, each once."""
        sinks = (self.by_id[name] for name in self.live if self.by_id[name].sink is not SinkKind.NONE)
        return tuple(dict.fromkeys(vertex.commit_scope for vertex in sinks))

    @cached_property
    def live(self) -> tuple[str, ...]:
        """Vertices that take part: all but the isolated ones."""
        return tuple(vertex.id for vertex in self.vertices if vertex.id not in self.detached)

    def subtasks(self, names: Iterable[str] | None = None) -> tuple[Subtask, ...]:
        """The subtasks of these vertices; None: of all that take part."""
        if names is None:
            return self._everybody
        return tuple(Subtask(name, at) for name in names for at in range(self.vertex(name).parallelism))

    @cached_property
    def _everybody(self) -> tuple[Subtask, ...]:
        """Asked for several times at each checkpoint."""
        return self.subtasks(self.live)

    @cached_property
    def reading(self) -> tuple[Subtask, ...]:
        """The subtasks of sources that take part."""
        return self.subtasks(name for name in self.sources if name not in self.detached)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """Every channel between subtasks that take part."""
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
        """Every vertex from which rows reach ``name``."""
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
