"""Defines the table graph's parts: nodes, streams, edges, and the parts that fail before the job starts."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from seatunnel_py.api.capabilities import SinkCapabilities, SourceCapabilities, TransformCapabilities
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.sink import Present, Sink
from seatunnel_py.api.source import Source, SourceTable, TableLeftOut
from seatunnel_py.api.transform import Transform
from seatunnel_py.errors import Problem
from seatunnel_py.plan.sql.analysis import Analysis
from seatunnel_py.plan.steps import Step
from seatunnel_py.redaction import redacted_text

SHOWN_MAX = 5


@dataclass(frozen=True, slots=True)
class IsolatedTable:
    """``step`` refused the source table; ``problem`` is the same as an error at the step's place in the job file."""

    table: TablePath
    step: str
    message: str
    remedy: str
    problem: Problem

    def of(self, table: TablePath, why: str) -> IsolatedTable:
        """The cause of another table that cannot run without this one."""
        if table == self.table:
            return self
        message = f"{why} table {self.table}, which fails: {self.message}"
        problem = replace(self.problem, message=f"table {table}: {message}")
        return replace(self, table=table, message=message, problem=problem)


@dataclass(slots=True)
class SharedTarget:
    """One place that several sinks of a job write to on purpose. ``first_found``: what the first that looked found."""

    first_found: list[Present | None] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def found(self, present: Present | None) -> Present | None:
        """Content of the place before all of these sinks; the first caller provides it."""
        with self._lock:
            if not self.first_found:
                self.first_found.append(present)
            return self.first_found[0]


class SourcePart(StrEnum):
    """Part of a source that a node reads. Without a log, a node reads a table. With a log, it reads the copy of one
    table, the log after such copies, or the log alone."""

    TABLE = "table"
    COPY = "copy"
    LOG_AFTER_COPY = "log after copy"
    LOG = "log"

    @property
    def is_log(self) -> bool:
        return self in (SourcePart.LOG, SourcePart.LOG_AFTER_COPY)

    @property
    def has_log(self) -> bool:
        """Whether the changes of the table are followed, by this part or by another one."""
        return self is not SourcePart.TABLE


@dataclass(frozen=True, slots=True)
class SourceNode:
    """``log_tables``: all tables of a log; ``table`` is their first."""

    id: str
    step: Step
    source: Source
    table: SourceTable
    capabilities: SourceCapabilities
    part: SourcePart = SourcePart.TABLE
    log_tables: tuple[SourceTable, ...] = ()

    @property
    def tables(self) -> tuple[SourceTable, ...]:
        """All tables that the source reads."""
        return self.log_tables or (self.table,)


@dataclass(frozen=True, slots=True)
class TransformNode:
    """``feeds`` is its only input stream. ``retries``: how often a row that it rejects comes back to it."""

    id: str
    step: Step
    transform: Transform
    table: TableSchema
    capabilities: TransformCapabilities
    retries: int = 0


@dataclass(frozen=True, slots=True)
class SqlNode:
    """A query over named inputs; ``inputs`` pairs each name with its table."""

    id: str
    step: Step
    analysis: Analysis
    inputs: tuple[tuple[str, TableSchema], ...]
    output: TableSchema


@dataclass(frozen=True, slots=True)
class SinkNode:
    """``shared``: state in common with other sinks of the job that write to the same place on purpose; ``part``: the
    part of a source that its rows come from."""

    id: str
    step: Step
    sink: Sink
    table: TableSchema
    capabilities: SinkCapabilities
    shared: SharedTarget | None = field(default=None, compare=False)
    part: SourcePart = SourcePart.TABLE

    @property
    def shown(self) -> str:
        """The target as shown to users: one of its options may hold a secret by reference."""
        return redacted_text(self.sink.target)


TableNode: TypeAlias = SourceNode | TransformNode | SqlNode | SinkNode


@dataclass(frozen=True, slots=True)
class TableStream:
    """Rows of one table as one node emits them. ``part``: the part of the source that they come from."""

    node: str
    table: TableSchema
    part: SourcePart = SourcePart.TABLE


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """``table`` is the table of the rows; ``name`` is the name that a query uses for them, empty elsewhere."""

    sender: str
    table: TablePath
    receiver: str
    name: str = ""


@dataclass(slots=True)
class FlowGraph:
    """Nodes in topological order, and the edges between them, found by either end: a job may have thousands.
    ``isolated``: tables that their source cannot describe; ``refused``: nodes that emit no rows, with the cause;
    ``left_out``: tables that a source step excludes on purpose; ``unused``: rules of steps that apply to no table."""

    nodes: dict[str, TableNode] = field(default_factory=dict)
    edges: list[GraphEdge] = field(default_factory=list)
    isolated: list[IsolatedTable] = field(default_factory=list)
    refused: dict[str, IsolatedTable] = field(default_factory=dict)
    left_out: list[tuple[str, TableLeftOut]] = field(default_factory=list)
    unused: list[Problem] = field(default_factory=list)
    _from: dict[str, list[GraphEdge]] = field(default_factory=dict)
    _into: dict[str, list[GraphEdge]] = field(default_factory=dict)

    def put(self, node: TableNode, inputs: Iterable[tuple[str, TableStream]]) -> None:
        assert node.id not in self.nodes, f"two nodes are called {node.id}"
        self.nodes[node.id] = node
        for name, stream in inputs:
            edge = GraphEdge(stream.node, stream.table.path, node.id, name)
            self.edges.append(edge)
            self._from.setdefault(edge.sender, []).append(edge)
            self._into.setdefault(edge.receiver, []).append(edge)

    def without(self, gone: Collection[str]) -> FlowGraph:
        """The graph without these nodes."""
        nodes = {node_id: node for node_id, node in self.nodes.items() if node_id not in gone}
        edges = [edge for edge in self.edges if edge.sender in nodes and edge.receiver in nodes]
        return self._replaced(nodes, edges)

    def joined(self, other: FlowGraph) -> FlowGraph:
        """The graph with the nodes and edges of another one, which has no node in common with it."""
        found = self._replaced({**self.nodes, **other.nodes}, [*self.edges, *other.edges])
        found.refused |= other.refused
        return found

    def _replaced(self, nodes: dict[str, TableNode], edges: list[GraphEdge]) -> FlowGraph:
        found = FlowGraph(nodes, edges, self.isolated, self.refused, self.left_out, self.unused)
        for edge in edges:
            found._from.setdefault(edge.sender, []).append(edge)
            found._into.setdefault(edge.receiver, []).append(edge)
        return found

    def outputs(self, node_id: str) -> Sequence[GraphEdge]:
        return self._from.get(node_id, ())

    def inputs(self, node_id: str) -> Sequence[GraphEdge]:
        return self._into.get(node_id, ())

    def notes(self) -> Iterator[str]:
        """Notes: rules that apply to no table; how many tables were excluded, and why; the sources' notes on tables."""
        yield from map(str, self.unused)
        for (step, why), names in _grouped((step, one.why, one.path) for step, one in self.left_out):
            yield f"{step} leaves out {len(names)} ({why}): {_shown(names)}"
        said = ((node.step.id, note, node.table.schema.path) for node in self.sources() for note in node.table.notes)
        for (step, note), names in _grouped(said):
            yield f"{step}: {note}: {_shown(names)}"

    def sources(self) -> Iterator[SourceNode]:
        return (node for node in self.nodes.values() if isinstance(node, SourceNode))

    def upstream(self, node_id: str) -> Iterable[str]:
        """The node itself, and every node upstream of it."""
        found: dict[str, None] = {}
        waiting = deque([node_id])
        while waiting:
            found[current := waiting.popleft()] = None
            waiting += [edge.sender for edge in self.inputs(current) if edge.sender not in found]
        return found


def _grouped(found: Iterable[tuple[str, str, TablePath]]) -> Iterable[tuple[tuple[str, str], list[str]]]:
    """Group tables by step and text: a thousand of them are one note."""
    groups: dict[tuple[str, str], list[str]] = {}
    for step, text, path in found:
        groups.setdefault((step, text), []).append(str(path))
    return groups.items()


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_MAX]) + (", …" if len(names) > SHOWN_MAX else "")
