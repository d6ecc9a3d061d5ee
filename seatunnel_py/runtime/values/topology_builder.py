"""Builds the protocol's graph of a planned pipeline. Pure.

Rules. (1) Each vertex of the plan becomes a vertex of the protocol; each channel, including back-edges, an edge. (2) An
edge is forward if both ends have equal parallelism; else every sender is connected to every receiver. (3) Sinks with a
shared committer share a commit scope: the vertices of a union that write one table, the tables of a sink that spans
tables, and all sinks of one chain, whose rows are staged by the same units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from seatunnel_py.api.capabilities import Determinism as Promised
from seatunnel_py.api.capabilities import Guarantee
from seatunnel_py.config.env import Retain
from seatunnel_py.plan.graph_nodes import SinkNode, SourceNode, SqlNode, TransformNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex
from seatunnel_py.protocol.model import topology as protocol
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Spread, Topology, VertexDeterminism

_SINKS = {
    Guarantee.AT_LEAST_ONCE: SinkKind.AT_LEAST_ONCE,
    Guarantee.IDEMPOTENT: SinkKind.IDEMPOTENT,
    Guarantee.TWO_PHASE_COMMIT: SinkKind.TWO_PHASE,
}


@dataclass(frozen=True, slots=True)
class BuiltTopology:
    """``channels``: by edge number; ``scopes``: the sinks of each commit scope, by its name, in groups that share a
    committer."""

    topology: Topology
    channels: tuple[PlannedChannel, ...]
    scopes: Mapping[str, tuple[tuple[SinkNode, ...], ...]]


def graph_of(pipeline: Pipeline, retain: Retain = Retain.AUTO) -> BuiltTopology:
    """The graph for the coordinator and the participants of a pipeline."""
    scopes = _scopes(pipeline)
    own = {vertex.id: vertex for vertex in pipeline.vertices}
    onwards = [channel for vertex in pipeline.vertices for channel in vertex.outputs]
    channels = (*onwards, *(vertex.retry.channel for vertex in pipeline.vertices if vertex.retry is not None))
    vertices = tuple(_vertex(vertex, scopes) for vertex in pipeline.vertices)
    wide = {vertex.id: vertex.parallelism for vertex in vertices}
    edges = tuple(
        Edge(
            channel.sender,
            channel.receiver,
            Spread.FORWARD if wide[channel.sender] == wide[channel.receiver] else Spread.KEYED,
            _retained(channel, own, retain),
        )
        for channel in channels
    )
    members = {
        name: tuple(tuple(group) for group in groups.values()) for name, groups in _members(pipeline, scopes).items()
    }
    return BuiltTopology(Topology(vertices, edges), channels, members)


def promised(topology: Topology) -> list[list[object]]:
    """Guarantees and edges of the graph, without parallelism, as plain data: a record of a graph with others cannot be
    restored into this one."""
    vertices: list[list[object]] = [
        [one.id, one.determinism.value, one.sink.value, one.replayable, one.commit_scope] for one in topology.vertices
    ]
    edges: list[list[object]] = [[edge.sender, edge.receiver, edge.retained] for edge in topology.edges]
    return [*vertices, *edges]


def _vertex(vertex: PlannedVertex, scopes: Mapping[str, str]) -> protocol.Vertex:
    source = vertex.source
    return protocol.Vertex(
        vertex.id,
        1 if vertex.query is not None else vertex.parallelism,
        _determinism(vertex),
        _SINKS[min(node.capabilities.guarantee for node in vertex.sinks)] if vertex.sinks else SinkKind.NONE,
        source is None or source.capabilities.replayable,
        scopes.get(vertex.id, ""),
    )


def _determinism(vertex: PlannedVertex) -> VertexDeterminism:
    """The weakest determinism of the steps of the chain."""
    promised = [Promised.DETERMINATE]
    for node in vertex.nodes:
        if isinstance(node, SqlNode):
            promised.append(node.analysis.determinism)
        elif isinstance(node, (SourceNode, TransformNode)):
            promised.append(node.capabilities.determinism)
    return VertexDeterminism[min(promised).name]


def _retained(channel: PlannedChannel, vertices: Mapping[str, PlannedVertex], retain: Retain) -> bool:
    """Return True if the channel retains its batches; ``auto``: if the same batches could not be produced again, or not
    for one receiver alone."""
    if retain is not Retain.AUTO:
        return retain is Retain.ALWAYS
    sender = vertices[channel.sender]
    source = sender.source
    if source is not None and source.part.is_log:
        return True  # the trouble of one table must not make the log be read again for all
    replayable = source is None or source.capabilities.replayable
    return not replayable or _determinism(sender) is not VertexDeterminism.DETERMINATE


def _group(node: SinkNode) -> str:
    """Name of a committer: the step of a sink that spans tables, else the sink of one table."""
    return node.step.id if node.capabilities.spans_tables else node.id


def _scopes(pipeline: Pipeline) -> dict[str, str]:
    """The scope of each vertex with sinks; vertices with a common committer share one."""
    scope_of_group: dict[str, str] = {}
    scope_of: dict[str, str] = {}
    for vertex in pipeline.vertices:
        groups = [_group(node) for node in vertex.sinks]
        met = {scope_of_group[group] for group in groups if group in scope_of_group}
        if not groups:
            continue
        scope = min(met) if met else groups[0]
        for merged in met:
            scope_of_group = {group: scope if own == merged else own for group, own in scope_of_group.items()}
            scope_of = {name: scope if own == merged else own for name, own in scope_of.items()}
        scope_of_group |= dict.fromkeys(groups, scope)
        scope_of[vertex.id] = scope
    return scope_of


def _members(pipeline: Pipeline, scopes: Mapping[str, str]) -> dict[str, dict[str, list[SinkNode]]]:
    members: dict[str, dict[str, list[SinkNode]]] = {}
    for vertex in pipeline.vertices:
        for node in vertex.sinks:
            group = members.setdefault(scopes[vertex.id], {}).setdefault(_group(node), [])
            if node not in group:
                group.append(node)
    return members


def keys(pipelines: Iterable[Pipeline]) -> dict[str, Pipeline]:
    """Pipelines by stable names, derived from their tables, with a number if several share a table."""
    found: dict[str, Pipeline] = {}
    for pipeline in pipelines:
        names = (pipeline.name if at == 1 else f"{pipeline.name}#{at}" for at in count(1))
        found[next(name for name in names if name not in found)] = pipeline
    return found
