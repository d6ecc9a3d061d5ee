"""Column lineage: for each column that a sink writes, the columns of sources that it depends on.

Rules. (1) It is computed from the plan, without a row. (2) The lineage of a step is composed with those of the steps
before it. (3) A step that does not declare its lineage, or emits another table beside its output, is unknown: its
columns depend on all of its input, and are named as such. (4) A source column is named by its step and the table
there. (5) A target that several tables are merged into depends on the columns of all of them, and each row on its
table. (6) Rows that a later step refuses do not count as filtered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.transform import ColumnLineage, ColumnUse, LineageKind
from seatunnel_py.plan.graph_nodes import FlowGraph, GraphEdge, SinkNode, SourceNode, SqlNode, TransformNode

DIRECT = (LineageKind.IDENTITY, LineageKind.TRANSFORMATION, LineageKind.AGGREGATION)


@dataclass(frozen=True, slots=True, order=True)
class SourceColumn:
    """A column of a table that a source step reads, and how something depends on it."""

    step: str
    table: TablePath
    column: str
    kind: LineageKind
    masking: bool = False


@dataclass(frozen=True, slots=True)
class StreamLineage:
    """The lineage of the rows of one table. ``unknown``: columns after a step without a declared lineage (rule 3)."""

    columns: Mapping[str, frozenset[SourceColumn]]
    rows: frozenset[SourceColumn] = frozenset()
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SinkLineage:
    """The lineage of a table that a sink step writes. ``node``: in the table graph; ``target``: as shown to users."""

    node: str
    step: str
    target: str
    table: TablePath
    stream: StreamLineage

    def to_plain(self) -> dict[str, Any]:
        """As JSON-ready data, in a fixed order. Columns with the same uses have one list of them."""
        stream = self.stream
        same = {id(uses): uses for uses in (*stream.columns.values(), stream.rows)}
        lists = {key: [_plain(one) for one in sorted(uses)] for key, uses in same.items()}
        return {
            "step": self.step,
            "target": self.target,
            "table": str(self.table),
            "columns": {name: lists[id(uses)] for name, uses in stream.columns.items()},
            "rows": lists[id(stream.rows)],
            "unknown": sorted(stream.unknown),
        }


def _plain(one: SourceColumn) -> dict[str, Any]:
    plain: dict[str, Any] = {"step": one.step, "table": str(one.table), "column": one.column, "kind": one.kind.value}
    return {**plain, "masking": True} if one.masking else plain


def composed(inner: LineageKind, outer: LineageKind) -> LineageKind:
    """How an output depends on a column that it uses as ``outer``, through another one that uses it as ``inner``."""
    if outer not in DIRECT:
        return outer
    if inner not in DIRECT:
        return inner
    return max(inner, outer, key=DIRECT.index)


def lineage_of(graph: FlowGraph) -> tuple[SinkLineage, ...]:
    """The lineage of each table of each sink; of a table that is followed, the part that copies it and the one that
    follows it have one of their own."""
    streams: dict[tuple[str, TablePath], StreamLineage] = {}
    found: list[SinkLineage] = []
    for node in graph.nodes.values():
        if node.id in graph.refused:
            continue
        if isinstance(node, SinkNode):
            parts = [streams[key] for edge in graph.inputs(node.id) if (key := _key(edge)) in streams]
            if parts:
                stream = _united(parts, node.table)
                found.append(SinkLineage(node.id, node.step.id, node.shown, node.table.path, stream))
            continue
        streams |= {(node.id, path): stream for path, stream in _emitted(graph, node, streams)}
    return tuple(found)


def _key(edge: GraphEdge) -> tuple[str, TablePath]:
    return edge.sender, edge.table


def _emitted(
    graph: FlowGraph,
    node: SourceNode | TransformNode | SqlNode,
    streams: Mapping[tuple[str, TablePath], StreamLineage],
) -> Iterator[tuple[TablePath, StreamLineage]]:
    """The lineage of each table that the node emits."""
    if isinstance(node, SourceNode):
        for one in node.tables:
            yield one.schema.path, _read(node.step.id, one.schema)
        return
    inputs = {edge.name: streams[key] for edge in graph.inputs(node.id) if (key := _key(edge)) in streams}
    if isinstance(node, SqlNode):
        yield node.output.path, _through(node.analysis.lineage, node.output, inputs)
        return
    single = dict(zip([""], inputs.values(), strict=bool(inputs)))
    if (output := node.transform.output()) is not None:
        yield output.path, _through(node.transform.column_lineage(), output, single)
    for side in node.transform.side_outputs():
        yield side.path, _through(None, side, single)


def _read(step: str, table: TableSchema) -> StreamLineage:
    columns = {name: frozenset({SourceColumn(step, table.path, name, LineageKind.IDENTITY)}) for name in table.names}
    return StreamLineage(columns)


def _through(lineage: ColumnLineage | None, output: TableSchema, inputs: Mapping[str, StreamLineage]) -> StreamLineage:
    """The lineage after a step, by that of its inputs (rules 2 and 3)."""
    before = frozenset(one for stream in inputs.values() for one in stream.rows)
    if lineage is None:
        every = _used(_all_of(inputs), inputs)
        return StreamLineage(dict.fromkeys(output.names, every), before | _as(every, LineageKind.FILTER), _set(output))
    columns = {name: _used(lineage.columns.get(name, ()), inputs) for name in output.names}
    unknown = frozenset(
        name
        for name in output.names
        if any(use.column in inputs[use.input].unknown for use in lineage.columns.get(name, ()) if use.input in inputs)
    )
    return StreamLineage(columns, before | _used(lineage.rows, inputs), unknown)


def _all_of(inputs: Mapping[str, StreamLineage]) -> Iterator[ColumnUse]:
    for name, stream in inputs.items():
        for column in stream.columns:
            yield ColumnUse(column, LineageKind.TRANSFORMATION, input=name)


def _used(uses: Iterable[ColumnUse], inputs: Mapping[str, StreamLineage]) -> frozenset[SourceColumn]:
    uses = tuple(uses)
    if len(uses) == 1 and _goes_on(uses[0]) and uses[0].input in inputs:
        # After a step of unknown lineage each column has as many uses as there are columns: they stay one set.
        return inputs[uses[0].input].columns[uses[0].column]
    return frozenset(
        replace(one, kind=composed(one.kind, use.kind), masking=one.masking or use.masking)
        for use in uses
        if use.input in inputs
        for one in inputs[use.input].columns[use.column]
    )


def _goes_on(use: ColumnUse) -> bool:
    """Whether the output is the input column, as it is."""
    return use.kind is LineageKind.IDENTITY and not use.masking


def _as(columns: Iterable[SourceColumn], kind: LineageKind) -> frozenset[SourceColumn]:
    return frozenset(replace(one, kind=kind, masking=False) for one in columns)


def _set(table: TableSchema) -> frozenset[str]:
    return frozenset(table.names)


def _united(parts: list[StreamLineage], table: TableSchema) -> StreamLineage:
    """The lineage of a sink that takes these streams (rule 5)."""
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: frozenset(one for part in parts for one in part.columns.get(name, frozenset())) for name in table.names
    }
    rows = frozenset(one for part in parts for one in part.rows)
    return StreamLineage(columns, rows, frozenset(name for part in parts for name in part.unknown))
