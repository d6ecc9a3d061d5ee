"""Reads and computes the first rows after every step of a plan in this process; opens no sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from seatunnel_py.api.batch import Batch, Rejected
from seatunnel_py.api.schema import TableSchema
from seatunnel_py.errors import FatalError
from seatunnel_py.plan.graph_nodes import FlowGraph, SinkNode, SourceNode, SqlNode, TransformNode
from seatunnel_py.plan.sql.analysis import SqlAnalyst

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class StepRows:
    """Some rows of one table after one step; ``rejected`` are reasons of rows that the step refused."""

    node: str
    plugin: str
    table: TableSchema
    rows: pa.Table
    rejected: tuple[str, ...] = ()


def first_rows(graph: FlowGraph, rows: int, analyst: SqlAnalyst | None) -> Iterator[StepRows]:
    """Return at most ``rows`` rows after every source, transform and query, in topological order."""
    import pyarrow as pa

    streams: dict[tuple[str, str], list[Batch]] = {}
    for node in graph.nodes.values():
        if isinstance(node, SinkNode):
            continue
        rejected: list[str] = []
        if isinstance(node, SourceNode):
            batches = list(_head(node, rows))
        elif isinstance(node, SqlNode):
            batches = [_queried(node, graph, streams, analyst)]
        else:
            batches, rejected = _transformed(node, graph, streams)
        for table in _tables(node):
            mine = [batch for batch in batches if batch.table == table.path]
            streams[(node.id, str(table.path))] = mine
            data = pa.Table.from_batches([batch.data for batch in mine], schema=table.arrow())
            yield StepRows(node.id, node.step.plugin, table, data.slice(0, rows), tuple(rejected))


def _tables(node: SourceNode | TransformNode | SqlNode) -> Iterable[TableSchema]:
    if isinstance(node, SourceNode):
        return (node.table.schema,)
    if isinstance(node, SqlNode):
        return (node.output,)
    output = node.transform.output()
    return (*((output,) if output else ()), *node.transform.side_outputs())


def _head(node: SourceNode, rows: int) -> Iterator[Batch]:
    """Read the first rows of the first splits; the enumerator stays open while its splits are read."""
    enumerator = node.source.enumerator([node.table], None)
    reader = node.source.reader(node.table)
    left = rows
    try:
        for split in enumerator.discover():
            for element in reader.read(split, None):
                if isinstance(element, Batch) and element.rows:
                    yield _shortened(element, left)
                    left -= min(left, element.rows)
                if not left:
                    return
    finally:
        reader.close()
        enumerator.close()


def _shortened(batch: Batch, rows: int) -> Batch:
    return replace(
        batch,
        data=batch.data.slice(0, rows),
        kinds=batch.kinds.slice(0, rows) if batch.kinds is not None else None,
        absent=batch.absent.slice(0, rows) if batch.absent is not None else None,
        metadata={name: values.slice(0, rows) for name, values in batch.metadata.items()},
    )


def _inputs(node_id: str, graph: FlowGraph, streams: dict[tuple[str, str], list[Batch]]) -> Iterator[tuple[str, Batch]]:
    for edge in graph.inputs(node_id):
        for batch in streams[(edge.sender, str(edge.table))]:
            yield edge.name, batch


def _transformed(
    node: TransformNode, graph: FlowGraph, streams: dict[tuple[str, str], list[Batch]]
) -> tuple[list[Batch], list[str]]:
    batches: list[Batch] = []
    rejected: list[str] = []
    for _, batch in _inputs(node.id, graph, streams):
        for out in node.transform.apply(batch):
            if isinstance(out, Rejected):
                rejected += out.reasons
            else:
                batches.append(out)
    return batches, rejected


def _queried(
    node: SqlNode, graph: FlowGraph, streams: dict[tuple[str, str], list[Batch]], analyst: SqlAnalyst | None
) -> Batch:
    import pyarrow as pa

    assert analyst is not None, "a plan with queries was made by an analyst"
    parts: dict[str, list[pa.RecordBatch]] = {name: [] for name, _ in node.inputs}
    for name, batch in _inputs(node.id, graph, streams):
        parts[name].append(batch.data)
    tables = {name: pa.Table.from_batches(parts[name], schema=schema.arrow()) for name, schema in node.inputs}
    try:
        found = analyst.rows(node.analysis.query, tables)
    except ValueError as error:
        raise FatalError(f"{node.id}: {error}", "correct the query, or its input rows") from None
    answer = found.cast(node.output.arrow()).combine_chunks()
    batches = answer.to_batches()
    data = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=answer.schema)
    return Batch(node.output.path, data)
