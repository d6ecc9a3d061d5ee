"""Computes the guarantee of every source-to-sink path from the capabilities of its plugins, with the reason.

Rules. (1) A path promises no more than its sink. (2) An idempotent sink needs rows that are equal when they are read
and computed again: an indeterminate step before it voids the promise, unless the rows are kept. (3) A two-phase sink
survives indeterminate rows, for their staged rows are dropped before they are made again. (4) A source that cannot be
read again needs its rows kept (``channel.retain``), else a failure can lose them. (5) A source of indeterminate rows
promises nothing: a unit may stop inside a split, and the next one may read other rows than those in which its position
was counted. (6) If the log of a source repeats changes that its copy holds, only a sink that writes by key has each of
them once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from seatunnel_py.api.capabilities import Determinism, Guarantee
from seatunnel_py.errors import PlanError, Problem
from seatunnel_py.plan.graph_nodes import FlowGraph, SinkNode, SourceNode, SqlNode, TableNode, TransformNode
from seatunnel_py.plan.pipelines import Pipeline


@dataclass(frozen=True, slots=True)
class PathGuarantee:
    """``source`` and ``sink`` are node ids; ``why`` is one phrase for the user."""

    source: str
    sink: str
    guarantee: Guarantee
    why: str


def paths(graph: FlowGraph, pipeline: Pipeline) -> tuple[PathGuarantee, ...]:
    """Return the guarantee of every path of a pipeline, sinks in order."""
    found = []
    for sink in pipeline.sinks:
        ancestors = _ancestors(graph, [sink.id])
        for node_id in ancestors:
            source = graph.nodes[node_id]
            if isinstance(source, SourceNode):
                found.append(_path(source, sink, _between(graph, source, ancestors)))
    return tuple(found)


def _ancestors(graph: FlowGraph, start: Iterable[str]) -> list[str]:
    """All upstream nodes, without those in ``start``; the nearest first, in the order of inputs."""
    found: dict[str, None] = {}
    waiting = deque(start)
    while waiting:
        for edge in graph.inputs(waiting.popleft()):
            if edge.sender not in found:
                found[edge.sender] = None
                waiting.append(edge.sender)
    return list(found)


def _between(graph: FlowGraph, source: SourceNode, ancestors: list[str]) -> list[TableNode]:
    """The nodes that affect the result for the rows of ``source``: those on its way, and, at a query over several
    inputs on that way, those upstream of its other inputs too. Nodes that only share the sink do not count."""
    inside = set(ancestors)
    way = {source.id: None}
    waiting = deque(way)
    while waiting:
        for edge in graph.outputs(waiting.popleft()):
            if edge.receiver in inside and edge.receiver not in way:
                way[edge.receiver] = None
                waiting.append(edge.receiver)
    joins = [node_id for node_id in way if len(graph.inputs(node_id)) > 1]
    return [graph.nodes[node_id] for node_id in dict.fromkeys([*way, *_ancestors(graph, joins)])]


def _path(source: SourceNode, sink: SinkNode, nodes: list[TableNode]) -> PathGuarantee:
    declared = sink.capabilities.guarantee
    if source.capabilities.determinism is Determinism.INDETERMINATE:
        why = (
            f"{source.step.plugin} may give other rows when it is read again (it declares INDETERMINATE): where a unit "
            "stops inside a split, rows can come again or be missing"
        )
        return PathGuarantee(source.id, sink.id, Guarantee.AT_LEAST_ONCE, why)
    if declared is Guarantee.AT_LEAST_ONCE:
        return PathGuarantee(source.id, sink.id, declared, sink.capabilities.why)
    if source.capabilities.overlaps_log and not sink.capabilities.keys:
        why = (
            f"{source.step.plugin} repeats changes that are made during the copy from its log, and this sink does not "
            "write by key"
        )
        return PathGuarantee(source.id, sink.id, Guarantee.AT_LEAST_ONCE, why)
    if not source.capabilities.replayable:
        why = f"{source.step.plugin} cannot be read again, and its rows are not kept"
        return PathGuarantee(source.id, sink.id, Guarantee.AT_LEAST_ONCE, why)
    if declared is Guarantee.IDEMPOTENT:
        for node in nodes:
            if _determinism(node) is Determinism.INDETERMINATE:
                why = f"{node.step.id} gives other rows when it runs again, and the sink knows rows only by key"
                return PathGuarantee(source.id, sink.id, Guarantee.AT_LEAST_ONCE, why)
    return PathGuarantee(source.id, sink.id, declared, sink.capabilities.why)


def _determinism(node: TableNode) -> Determinism:
    match node:
        case SqlNode():
            return node.analysis.determinism
        case SourceNode() | TransformNode():
            return node.capabilities.determinism
        case SinkNode():
            return Determinism.DETERMINATE


def require(graph: FlowGraph, pipelines: tuple[Pipeline, ...], wanted: str | None) -> None:
    """Refuse a job whose paths promise less than ``env.guarantee`` asks for. Raises PlanError naming each path."""
    if wanted != "exactly-once":
        return
    problems: list[Problem] = []
    for pipeline in pipelines:
        for path in paths(graph, pipeline):
            if path.guarantee is Guarantee.AT_LEAST_ONCE:
                node = graph.nodes[path.sink].step.node
                text = f"{path.source} to {path.sink} is only at-least-once: {path.why}"
                problems.append(node.problem(text, remedy="env.guarantee asks for exactly-once on every path"))
    if problems:
        raise PlanError(tuple(problems))
