"""Sources and sinks of a chain, whose connections its units use."""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.api.sink import Sink
from seatunnel_py.api.source import Source
from seatunnel_py.plan.graph_nodes import SourceNode
from seatunnel_py.plan.pipelines import PlannedVertex


def endpoints(vertex: PlannedVertex) -> Mapping[str, Source | Sink]:
    """The sources and sinks of a chain, by display name."""
    sources = {node.step.id: node.source for node in vertex.nodes if isinstance(node, SourceNode)}
    return {**sources, **{node.shown: node.sink for node in vertex.sinks}}
