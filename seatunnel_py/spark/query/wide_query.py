"""Implements the workers' side of a wide query: reads channels into Spark, and writes its answer as a segment per
partition."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_py.api.batch import Batch, RowKind
from seatunnel_py.errors import FatalError
from seatunnel_py.spark.plugins.arrow_wire import from_wire, to_wire
from seatunnel_py.work.row_digest import RowDigest
from seatunnel_py.work.segments import SegmentWriter, read_slices

if TYPE_CHECKING:
    from seatunnel_py.api.schema import TableSchema
    from seatunnel_py.work.unit import Slice

SLICES = "slices"
PARTS_MAX = 32  # partitions of an input: enough for the cores of a small cluster, each costs a Python task


@dataclass(frozen=True, slots=True)
class QueryInput:
    """The batches of one input, distributed to partitions. ``step`` is the query."""

    step: str
    table: TableSchema
    parts: tuple[tuple[Slice, ...], ...]


@dataclass(frozen=True, slots=True)
class QueryOutput:
    """Place of the answer. ``name`` is unique to the unit's attempt; each partition appends its number."""

    table: TableSchema
    channel: str
    location: str
    name: str


def deal(slices: Sequence[Slice], cores: int) -> tuple[tuple[Slice, ...], ...]:
    """Group adjacent batches into parts of about the same number of rows; at least one part, so that there is a
    view."""
    wanted = max(1, min(len(slices), cores, PARTS_MAX))
    target = sum(item.rows for item in slices) / wanted
    parts: list[list[Slice]] = [[]]
    filled = 0
    for item in slices:
        if filled >= target * len(parts) and len(parts) < wanted:
            parts.append([])
        parts[-1].append(item)
        filled += item.rows
    return tuple(tuple(part) for part in parts)


def reading(payload: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow`` over the numbers of parts: yield their rows."""
    task: QueryInput = pickle.loads(payload)
    for numbers in batches:
        for number in numbers.column(0).to_pylist():
            for batch in read_slices(task.parts[number]):
                _refuse_changes(batch, task.step)
                yield to_wire(batch.data, task.table)


def _refuse_changes(batch: Batch, step: str) -> None:
    """A join or a sum takes each row as an insert: the effect of an update or a delete on its answer is not defined."""
    if batch.kinds is None:
        return
    changes = pc.filter(batch.kinds, pc.not_equal(batch.kinds, int(RowKind.INSERT)))
    if len(changes):
        kind = RowKind(changes[0].as_py())
        raise FatalError(
            f"{step} joins, sorts or aggregates, and got a row of kind {kind.name} of {batch.table}",
            "take changes out with FilterRowKind, or make them inserts with RowKindExtractor",
        )


def writing(payload: bytes, names: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow`` over the answer: write a partition as a segment; yield its slices as JSON."""
    from pyspark import TaskContext

    task: QueryOutput = pickle.loads(payload)
    context = TaskContext.get()
    number = context.partitionId() if context else 0
    writer: SegmentWriter | None = None
    try:
        for data in batches:
            if data.num_rows:
                writer = writer or SegmentWriter(task.location, f"{task.name}.{number}", contents=RowDigest())
                rows = from_wire(data.rename_columns(list(names)), task.table)
                writer.add(Batch(task.table.path, rows))
    except BaseException:
        if writer is not None:
            writer.abort()
        raise
    slices = writer.finish(task.channel) if writer is not None else ()
    yield pa.RecordBatch.from_pydict({SLICES: [json.dumps([asdict(item) for item in slices])]})
