"""The guarantee of every source-to-sink path, computed from what the plugins on it declare, with its reason.

Rules. (1) A path promises no more than its sink. (2) An idempotent sink needs rows that come out the same when they
are read and computed again: an indeterminate step before it takes the promise away, unless the rows are kept.
(3) A two-phase sink survives indeterminate rows, for what was staged for them is dropped before they are made again.
(4) A source that cannot be read again needs its rows kept (``channel.retain``), else a failure can lose them.
"""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.api.capabilities import Determinism, Guarantee
from seatunnel_py.errors import PlanError, Problem
from seatunnel_py.plan.flows import FlowGraph, SinkNode, SourceNode, SqlNode, TableNode, TransformNode
from seatunnel_py.plan.pipelines import Pipeline


@dataclass(frozen=True, slots=True)
class PathGuarantee:
    """``source`` and ``sink`` are node ids; ``why`` is one phrase for people."""

    source: str
    sink: str
    guarantee: Guarantee
    why: str


def paths(graph: FlowGraph, pipeline: Pipeline) -> tuple[PathGuarantee, ...]:
    """The guarantee of every path of a pipeline, sinks in order."""
    upstream: dict[str, set[str]] = {}
    for edge in graph.edges:
        upstream.setdefault(edge.receiver, set()).add(edge.sender)
    found = []
    for sink in pipeline.sinks:
        ancestors = _ancestors(sink.id, upstream)
        nodes = [graph.nodes[node_id] for node_id in graph.nodes if node_id in ancestors]
        for source in nodes:
            if isinstance(source, SourceNode):
                found.append(_path(source, sink, nodes))
    return tuple(found)


def _ancestors(start: str, upstream: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for sender in upstream.get(waiting.pop(), ()):
            if sender not in found:
                found.add(sender)
                waiting.append(sender)
    return found


def _path(source: SourceNode, sink: SinkNode, nodes: list[TableNode]) -> PathGuarantee:
    declared = sink.capabilities.guarantee
    if declared is Guarantee.AT_LEAST_ONCE:
        return PathGuarantee(source.id, sink.id, declared, sink.capabilities.why)
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
