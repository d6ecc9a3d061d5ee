"""Finds the comparisons of a job: for each target the tables whose rows it holds, and their way through the job.

The rows of a source are computed again from the rows that it holds now. So a table is refused, with the reason, if its
rows pass through a query, through a transform with another result each time, or through one that needs the kind or the
metadata of a change. A target that cannot be read back, or is none of one table, is refused as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.sink import Sink, StoredRows
from seatunnel_py.api.source import RowSelection, Source, SourceTable
from seatunnel_py.api.transform import Transform
from seatunnel_py.errors import FatalError
from seatunnel_py.plan.graph_nodes import FlowGraph, GraphEdge, SinkNode, SourceNode, SourcePart, TransformNode
from seatunnel_py.reconcile.column_forms import ColumnPair, column_pairs


@dataclass(frozen=True, slots=True)
class PathStep:
    """A transform on the way; only its rows of the table ``output`` are on the way."""

    transform: Transform
    output: TablePath


@dataclass(frozen=True, slots=True)
class RowPath:
    """The way of one table's rows from the source to the sink, whose table has the schema ``schema``."""

    source: Source
    table: SourceTable
    steps: tuple[PathStep, ...]
    schema: TableSchema


@dataclass(frozen=True, slots=True)
class TargetRows:
    """One target, and the sinks that write to it. ``table`` names the tables of the source; ``refused``: why they are
    not compared."""

    table: str
    target: str
    sinks: tuple[SinkNode, ...]
    sources: tuple[str, ...]
    refused: FatalError | None = None


@dataclass(frozen=True, slots=True)
class TableComparison:
    """Both sides of one comparison. ``paths`` have the columns of ``pairs`` each. ``key``: columns of the sink's table;
    all of them if it has no key. ``follows``: the changes of the source are followed."""

    table: str
    target: str
    paths: tuple[RowPath, ...]
    pairs: tuple[tuple[ColumnPair, ...], ...]
    stored: StoredRows
    key: tuple[str, ...]
    has_key: bool
    follows: bool


def targets(graph: FlowGraph) -> list[TargetRows]:
    """The targets of a job, in the order of its sinks."""
    grouped: dict[object, list[SinkNode]] = {}
    for node in graph.nodes.values():
        if isinstance(node, SinkNode) and node.part is not SourcePart.LOG_AFTER_COPY and node.id not in graph.refused:
            grouped.setdefault(node.sink.target_place or node.id, []).append(node)
    return [_target(graph, sinks) for sinks in grouped.values()]


def _target(graph: FlowGraph, sinks: Sequence[SinkNode]) -> TargetRows:
    ways = [way for node in sinks for way in _ways(graph, node)]
    sources = tuple(dict.fromkeys(str(way[-1].table) for way in ways))
    found = filter(None, (_refusal(graph, way, sinks[0].part) for way in ways))
    return TargetRows(", ".join(sources), sinks[0].shown, tuple(sinks), sources, next(found, None))


def _ways(graph: FlowGraph, node: SinkNode) -> Iterator[tuple[GraphEdge, ...]]:
    """The edges from the sink up to a source or a query, for each of the streams that meet at the sink."""
    for edge in graph.inputs(node.id):
        way = [edge]
        while isinstance(graph.nodes[way[-1].sender], TransformNode):
            way += graph.inputs(way[-1].sender)  # one
        yield tuple(way)


def _refusal(graph: FlowGraph, way: Sequence[GraphEdge], part: SourcePart) -> FatalError | None:
    for edge in way[:-1]:
        sender = graph.nodes[edge.sender]
        assert isinstance(sender, TransformNode), "only transforms lie between source and sink"
        if sender.capabilities.determinism is Determinism.INDETERMINATE:
            return _cannot(f"transform {sender.step.id} may give the same row another value each time")
        if sender.capabilities.depends_on_change and part.has_log:
            return _cannot(f"transform {sender.step.id} needs the kind or the metadata of changes")
    first = graph.nodes[way[-1].sender]
    if not isinstance(first, SourceNode):
        return _cannot(f"{first.step.id} is a query over whole tables, which cannot be repeated for some rows")
    able = first.capabilities
    again = first.part.has_log or (able.bounded and able.replayable)
    if again and able.determinism is not Determinism.INDETERMINATE:
        return None
    return _cannot(f"the rows of source {first.step.id} cannot be read again")


def _cannot(message: str) -> FatalError:
    return FatalError(message, "compare its rows with statements of your own")


def opened(graph: FlowGraph, rows: TargetRows, condition: str) -> TableComparison:
    """Connect to the target and describe it. ``condition``: for the rows of both sides. Raises SeaTunnelError if the
    tables cannot be compared."""
    if rows.refused is not None:
        raise rows.refused
    stored = stored_rows(rows.sinks[0].sink)
    stored = replace(stored, table=restricted(stored.source, stored.table, condition))
    paths = tuple(_path(graph, way, node.table, condition) for node in rows.sinks for way in _ways(graph, node))
    pairs = tuple(column_pairs(path.schema, stored.table.schema, stored.columns) for path in paths)
    if len({tuple((pair.name, pair.target) for pair in one) for one in pairs}) > 1:
        raise _cannot("tables with different columns share this target")
    key = _key(rows.sinks)
    names = tuple(pair.name for pair in pairs[0])
    if unknown := [column for column in key if column not in names]:
        raise FatalError(
            f"the key of the sink names {', '.join(unknown)}, which the table lacks", "correct primary_keys"
        )
    follows = any(node.part.has_log for node in rows.sinks)
    return TableComparison(rows.table, rows.target, paths, pairs, stored, key or names, bool(key), follows)


def _key(sinks: Iterable[SinkNode]) -> tuple[str, ...]:
    """The columns by which the sinks know their rows, or by which the source does; empty if they do not agree."""
    found = {node.capabilities.keys or node.table.key for node in sinks}
    return found.pop() if len(found) == 1 else ()


def stored_rows(sink: Sink) -> StoredRows:
    """The rows of the sink's target. Raises FatalError if they cannot be read back."""
    stored = sink.stored_rows()
    if stored is None:
        raise FatalError(
            "the sink cannot be read back",
            "compare its rows with statements of your own; Jdbc can be read back in PostgreSQL, MySQL, MariaDB and "
            "SQLite, without `query`",
        )
    return stored


def _path(graph: FlowGraph, way: Sequence[GraphEdge], schema: TableSchema, condition: str) -> RowPath:
    first = graph.nodes[way[-1].sender]
    assert isinstance(first, SourceNode), "a way that is not refused begins at a source"
    table = next(one for one in first.tables if one.schema.path == way[-1].table)
    source = first.source.current_rows()
    if source is None:
        raise _cannot(f"the rows of source {first.step.id} cannot be read again")
    steps = []
    for edge in reversed(way[:-1]):
        sender = graph.nodes[edge.sender]
        assert isinstance(sender, TransformNode), "only transforms lie between source and sink"
        steps.append(PathStep(sender.transform, edge.table))
    return RowPath(source, restricted(source, table, condition), tuple(steps), schema)


def restricted(source: Source, table: SourceTable, condition: str) -> SourceTable:
    """The table with this condition for its rows, if it is not empty."""
    if not condition:
        return table
    try:
        found = source.filtered(table, RowSelection(condition))
    except ValueError as error:
        raise FatalError(f"--where {error}", "give one condition, such as --where 'id > 1000'") from None
    if found is None:
        raise FatalError(f"table {table.schema.path} cannot be read by a condition", "leave out --where")
    return found
