"""Table graphs drawn by hand: the smallest plugins that a planner can ask, and a builder for graphs of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from seatunnel_py.api import (
    Batch,
    Cardinality,
    Column,
    Determinism,
    Effect,
    Enumerator,
    Guarantee,
    Plain,
    Reader,
    Rejected,
    Setup,
    Sink,
    SinkCapabilities,
    Source,
    SourceCapabilities,
    SourceTable,
    Split,
    TablePath,
    TableSchema,
    Transform,
    TransformCapabilities,
    WriteContext,
    Writer,
    parse_type,
)
from seatunnel_py.plan.graph_nodes import FlowGraph, SinkNode, SourceNode, SqlNode, TableStream, TransformNode
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.plan.sql.analysis import Analysis
from seatunnel_py.plan.steps import Step

NUMBER = Column("n", parse_type("bigint"), nullable=False)


def schema(name: str) -> TableSchema:
    quoted = not name.isprintable() or set(name) & set('"`<>')
    return TableSchema(TablePath("", "", name) if quoted else TablePath.parse(name), (NUMBER,))


@dataclass(frozen=True)
class ToySource(Source):
    """``error`` is what its enumerator raises."""

    splits: int = 1
    error: Exception | None = None

    def tables(self) -> Sequence[SourceTable]:
        return []

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return _ToyEnumerator(self, tables[0].schema.path)

    def reader(self, table: SourceTable) -> Reader:
        raise AssertionError("nothing is read by a planner")


class _ToyEnumerator(Enumerator):
    def __init__(self, source: ToySource, path: TablePath) -> None:
        self._source, self._path = source, path

    def discover(self) -> Iterable[Split]:
        if self._source.error is not None:
            raise self._source.error
        return [Split(f"s{number}", self._path) for number in range(self._source.splits)]


@dataclass(frozen=True)
class ToyTransform(Transform):
    kept: TableSchema | None
    side: tuple[TableSchema, ...] = ()

    def output(self) -> TableSchema | None:
        return self.kept

    def side_outputs(self) -> Sequence[TableSchema]:
        return self.side

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        return (batch,)


@dataclass(frozen=True)
class ToySink(Sink):
    name: str = "target"
    effects: tuple[Effect, ...] = ()
    error: Exception | None = None

    @property
    def target(self) -> str:
        return self.name

    def plan_setup(self) -> Setup:
        if self.error is not None:
            raise self.error
        return Setup(self.effects)

    def open(self, context: WriteContext) -> Writer:
        raise AssertionError("nothing is written by a planner")


@dataclass
class Graph:
    """Draws a graph: each method adds a node and returns the streams behind it."""

    flow: FlowGraph = field(default_factory=FlowGraph)

    def source(self, step: str, table: str = "t", source: Source | None = None, **capable: Any) -> TableStream:
        node = SourceNode(
            f"{step}[{table}]",
            _step(step, PluginKind.SOURCE),
            source or ToySource(),
            SourceTable(schema(table), rows=10),
            SourceCapabilities(**{"determinism": Determinism.DETERMINATE, **capable}),
        )
        self.flow.put(node, ())
        return TableStream(node.id, node.table.schema)

    def transform(
        self,
        step: str,
        stream: TableStream,
        *,
        output: str | None = "",
        side: Iterable[str] = (),
        determinism: Determinism = Determinism.DETERMINATE,
        retries: int = 0,
    ) -> list[TableStream]:
        """``output``: the table behind it, by default the same; None takes the table out of the flow."""
        kept = None if output is None else schema(output) if output else stream.table
        others = tuple(schema(name) for name in side)
        node = TransformNode(
            f"{step}[{stream.table.path}]",
            _step(step, PluginKind.TRANSFORM),
            ToyTransform(kept, others),
            stream.table,
            TransformCapabilities(determinism, Cardinality.FILTER),
            retries,
        )
        self.flow.put(node, [("", stream)])
        return [TableStream(node.id, table) for table in (*((kept,) if kept else ()), *others)]

    def query(
        self,
        step: str,
        inputs: Mapping[str, TableStream],
        *,
        narrow: bool = False,
        determinism: Determinism = Determinism.DETERMINATE,
    ) -> TableStream:
        output = schema(step)
        node = SqlNode(
            f"{step}[{output.path}]",
            _step(step, PluginKind.TRANSFORM),
            Analysis("SELECT 1", (NUMBER,), narrow, determinism),
            tuple((name, stream.table) for name, stream in inputs.items()),
            output,
        )
        self.flow.put(node, inputs.items())
        return TableStream(node.id, output)

    def sink(
        self,
        step: str,
        streams: Iterable[TableStream],
        *,
        spans: bool = False,
        guarantee: Guarantee = Guarantee.TWO_PHASE_COMMIT,
        sink: Sink | None = None,
        keys: tuple[str, ...] = (),
    ) -> None:
        """One node per table, as the planner makes them."""
        tables: dict[TablePath, list[TableStream]] = {}
        for stream in streams:
            tables.setdefault(stream.table.path, []).append(stream)
        for path, group in tables.items():
            node = SinkNode(
                f"{step}[{path}]",
                _step(step, PluginKind.SINK),
                sink or ToySink(f"{step}.{path}"),
                group[0].table,
                SinkCapabilities(guarantee, "toys keep their word", spans_tables=spans, keys=keys),
            )
            self.flow.put(node, [("", stream) for stream in group])


def _step(step_id: str, kind: PluginKind) -> Step:
    nothing: Any = None
    return Step(step_id, kind, "Toy", nothing, None, nothing)


def steps_of(work: Callable[[], object]) -> int:
    """How many instructions of Python that takes: the same on any machine, however busy it is."""
    count = 0

    def tell(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return tell

    before = sys.gettrace()
    sys.settrace(tell)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
