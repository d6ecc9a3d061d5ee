"""Implements the head of a stage whose rows come from Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_py.api.batch import Batch, Element, Position
from seatunnel_py.api.source import PLAIN_READ, Enumerator, ReadContext, Reader, Source, SourceTable, Split
from seatunnel_py.errors import FatalError
from seatunnel_py.spark.plugins.arrow_wire import from_wire
from seatunnel_py.spark.query.stage import ROW_BITS, ROW_MASK, QueryStage, StageCancelledError
from seatunnel_py.spark.query.types import ROW
from seatunnel_py.work.chain import ChainChannel, ChainSink, ChainSource
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.segments import read_slice, read_slices
from seatunnel_py.work.unit import Budget, StepCount, Unit, UnitResult

_NO_LIMIT = Budget(rows=1 << 62, seconds=1e12)  # only the first stage may stop: the others take all their input


@dataclass(frozen=True, slots=True)
class BridgedUnit(Unit):
    """The unit after a query: the same rows under the same name, though they come from no split of its own."""

    named: str = ""

    @property
    def is_relayed(self) -> bool:
        return True

    @property
    def data_id(self) -> str:
        return self.named


class SparkFeed(Source):
    """The head of a stage whose rows come from Spark. After a query it rejoins them with the parts that bypassed it."""

    def __init__(self, stage: QueryStage, batches: Iterator[pa.RecordBatch]) -> None:
        self.stage = stage
        if stage.before is not None:
            self.step, self.table = stage.before.step, stage.before.output
        else:
            assert isinstance(stage.chain.head, ChainSource)
            self.step, self.table = stage.chain.head.step, stage.chain.head.table.schema
        self._batches = batches

    def run(self, *, sinks: Sequence[ChainSink], output: ChainChannel | None) -> UnitResult:
        """The stage from this head to its sinks."""
        head = ChainSource(self.step, self, SourceTable(self.table))
        chain = replace(self.stage.chain, head=head, sinks=tuple(sinks), output=output)
        unit = self.stage.unit
        split = unit.split or Split(unit.data_id, self.table.path)
        bridged = BridgedUnit(unit.id, split, None, (), _NO_LIMIT, named=unit.data_id)
        result = run_unit(bridged, chain)
        if any((count.step, count.table) == (self.step, self.table.path) for count in result.counts):
            return result
        # No row came out of the query: without a count it would seem that all that went in did.
        return replace(result, counts=(StepCount(self.step, self.table.path, 0, 0), *result.counts))

    def elements(self) -> Iterator[Element]:
        """Yield batches in their order; then the rows that bypassed the query."""
        if self.stage.before is None:
            for data in self._batches:
                yield Batch(self.table.path, from_wire(data, self.table))
            return
        number = self.stage.number - 1
        pieces = self._pieces()
        held = next(pieces, None)
        while held is not None:
            following = next(pieces, None)
            last = following is None or following[0] != held[0]
            yield self._batch(*held, last=last)
            held = following
        if len(self.stage.results_before()) != number + 1:
            raise FatalError("the steps before the query ended without a result")
        result = self.stage.results_before()[number]
        if result.failure is not None:
            raise StageCancelledError("the steps before the query have failed")
        yield from read_slices(result.slices)

    def _pieces(self) -> Iterator[tuple[int, pa.Array, pa.RecordBatch]]:
        """Spark's rows cut at the batch boundaries of the stage before: (batch number, row numbers, data)."""
        for data in self._batches:
            if not data.num_rows:
                continue
            row = data.column(ROW)
            batch = pc.shift_right(row, ROW_BITS)
            ends = pc.indices_nonzero(pc.not_equal(batch.slice(1), batch.slice(0, len(batch) - 1))).to_pylist()
            start = 0
            for end in [*(at + 1 for at in ends), data.num_rows]:
                rows = pc.bit_wise_and(row.slice(start, end - start), ROW_MASK)
                yield batch[start].as_py(), rows, data.slice(start, end - start)
                start = end

    def _batch(self, number: int, rows: pa.Array, data: pa.RecordBatch, *, last: bool) -> Batch:
        header = read_slice(str(self.stage.place / f"{self.stage.number - 1}.{number}.segment"), 0)
        end: Position | None = header.end if last else None
        return Batch(
            table=self.table.path,
            data=from_wire(data, self.table),
            end=end,
            start=header.start,
            kinds=header.kinds.take(rows) if header.kinds is not None else None,
            schema_version=header.schema_version,
            metadata={name: values.take(rows) for name, values in header.metadata.items()},
        )

    def tables(self) -> Sequence[SourceTable]:
        return (SourceTable(self.table),)

    def enumerator(self, tables: Sequence[SourceTable], state: Any) -> Enumerator:
        raise AssertionError("rows that come from Spark are not enumerated")

    def reader(self, table: SourceTable) -> Reader:
        return _FeedReader(self)


class _FeedReader(Reader):
    def __init__(self, feed: SparkFeed) -> None:
        self._feed = feed

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        return self._feed.elements()
