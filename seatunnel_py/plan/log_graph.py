"""Adds the logs of sources to the table graph: a second graph, of nodes that process changes.

Rules. (1) A source with a log is planned twice: one node copies each table, and one node reads the log of all of them.
Every later step has a node for the copy of a table and one for its changes, with a sink of its own. (2) A table
that a step refuses is in neither. (3) If nothing is copied, the first graph only shows the refused tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from seatunnel_py.api.capabilities import SourceCapabilities
from seatunnel_py.api.log_source import LogSource
from seatunnel_py.api.source import Source, SourceTable
from seatunnel_py.plan.graph_nodes import FlowGraph, SourcePart
from seatunnel_py.plan.steps import Step

LOG_SUFFIX = "~log"
"""End of the names of nodes that process changes."""


def log_id(node: str) -> str:
    """The name of the node that processes changes, beside the one of this name that processes the copy."""
    return node if LOG_SUFFIX in node else f"{node}{LOG_SUFFIX}"


@dataclass(frozen=True, slots=True)
class SourceLog:
    """The log of a source step, and the tables that it is read for."""

    step: Step
    source: LogSource
    tables: tuple[SourceTable, ...]
    capabilities: SourceCapabilities

    @property
    def part(self) -> SourcePart:
        return SourcePart.LOG if self.source.copy_source() is None else SourcePart.LOG_AFTER_COPY


def copied(source: LogSource, capabilities: SourceCapabilities) -> tuple[Source, SourcePart, SourceCapabilities]:
    """The source that a table is copied from; the log itself if nothing is copied (rule 3)."""
    copy = source.copy_source()
    if copy is None:
        return source, SourcePart.LOG, capabilities
    return copy, SourcePart.COPY, source.copy_capabilities()


def with_logs(
    graph: FlowGraph, logs: Mapping[str, SourceLog], follow: Callable[[Mapping[str, SourceLog]], FlowGraph]
) -> FlowGraph:
    """The graph with the nodes of its logs. ``follow``: builds the graph of logs."""
    if not logs:
        return graph
    refused = {up for node in graph.refused for up in graph.upstream(node)}
    kept = {step: replace(log, tables=tuple(_kept(graph, log, refused))) for step, log in logs.items()}
    trial = {node.id for node in graph.sources() if node.part is SourcePart.LOG and node.id not in refused}
    return _without(graph, trial).joined(follow(kept))


def _kept(graph: FlowGraph, log: SourceLog, refused: set[str]) -> Iterator[SourceTable]:
    for node in graph.sources():
        if node.step.id == log.step.id and node.id not in refused:
            yield node.table


def _without(graph: FlowGraph, sources: set[str]) -> FlowGraph:
    """The graph without these sources and without the nodes that only they feed."""
    gone: set[str] = set(sources)
    for node_id in graph.nodes:
        inputs = graph.inputs(node_id)
        if inputs and all(edge.sender in gone for edge in inputs):
            gone.add(node_id)
    return graph.without(gone)
