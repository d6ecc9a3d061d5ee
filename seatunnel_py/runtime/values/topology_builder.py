"""The protocol's graph of a planned pipeline. Pure.

Rules. (1) A vertex of the plan is one of the protocol; a channel of the plan is an edge, and so is a back-edge. (2) An
edge is forward where both ends are equally parallel; else every sender reaches every receiver. (3) What shares a
committer shares a commit scope: the vertices of a union that write one table, the tables of a sink that spans tables,
and all sinks of one chain, whose rows are staged by the same units.
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
    """``channels`` by edge number; ``scopes``: the sinks that one commit finishes, by the scope's name, in groups that
    share a committer."""

    topology: Topology
    channels: tuple[PlannedChannel, ...]
    scopes: Mapping[str, tuple[tuple[SinkNode, ...], ...]]


def graph_of(pipeline: Pipeline, retain: Retain = Retain.AUTO) -> BuiltTopology:
    """The graph that the coordinator and the participants of a pipeline are made from."""
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
    """What vertices are to each other, beside how many subtasks they have, as plain data: a record of a graph that
    promised something else is of no use for this one."""
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
    """The least that any step of the chain promises."""
    promised = [Promised.DETERMINATE]
    for node in vertex.nodes:
        if isinstance(node, SqlNode):
            promised.append(node.analysis.determinism)
        elif isinstance(node, (SourceNode, TransformNode)):
            promised.append(node.capabilities.determinism)
    return VertexDeterminism[min(promised).name]


def _retained(channel: PlannedChannel, vertices: Mapping[str, PlannedVertex], retain: Retain) -> bool:
    """``auto``: where the rows could not be made again just so."""
    if retain is not Retain.AUTO:
        return retain is Retain.ALWAYS
    sender = vertices[channel.sender]
    source = sender.source
    replayable = source is None or source.capabilities.replayable
    return not replayable or _determinism(sender) is not VertexDeterminism.DETERMINATE


def _group(node: SinkNode) -> str:
    """What names a committer: the step of a sink that spans tables, else the sink of one table."""
    return node.step.id if node.capabilities.spans_tables else node.id


def _scopes(pipeline: Pipeline) -> dict[str, str]:
    """The scope of each vertex with sinks: vertices whose committers meet have one together."""
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
    """Pipelines under names that stay the same from run to run: their tables, numbered where several share one."""
    found: dict[str, Pipeline] = {}
    for pipeline in pipelines:
        names = (pipeline.name if at == 1 else f"{pipeline.name}#{at}" for at in count(1))
        found[next(name for name in names if name not in found)] = pipeline
    return found
