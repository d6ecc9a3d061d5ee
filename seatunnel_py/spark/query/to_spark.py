"""Implements the end of a stage before a query: its rows go to Spark, and data that Spark cannot carry bypasses it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from seatunnel_py.api.batch import Batch
from seatunnel_py.api.sink import Piece, Sink, WriteContext, Writer
from seatunnel_py.errors import FatalError
from seatunnel_py.spark.plugins.arrow_wire import to_wire
from seatunnel_py.spark.query.from_spark import SparkFeed
from seatunnel_py.spark.query.stage import ROW_BITS, QueryStage, StageCancelledError
from seatunnel_py.spark.query.types import ROW
from seatunnel_py.work.chain import ChainChannel, ChainSink
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.segments import SegmentWriter

BYPASS = "round"
_WAITING_BATCHES_MAX = 2  # read ahead of Spark, so that reading and computing overlap
_WAIT_SECONDS = 0.5  # how often a stage that waits for room checks whether its rows are still needed


class Bridge:
    """Runs a stage in its own thread and hands its rows to Spark, for Spark pulls and a stage pushes."""

    def __init__(self, stage: QueryStage) -> None:
        assert stage.behind is not None
        self.stage, self.behind = stage, stage.behind
        self.abandoned = threading.Event()
        self._queue: queue.Queue[pa.RecordBatch | None] = queue.Queue(_WAITING_BATCHES_MAX)
        self._sent = 0

    def run(self, batches: Iterator[pa.RecordBatch]) -> None:
        """The whole stage, to its result."""
        stage, behind = self.stage, self.behind
        bypass = ChainChannel(f"{BYPASS}.{stage.number}", str(stage.place))
        sinks = (ChainSink(behind.step, behind.table.path, _BridgeSink(self)),)
        try:
            if not stage.fed:
                result = run_unit(stage.unit, replace(stage.chain, sinks=sinks, output=bypass))
            else:
                result = SparkFeed(stage, batches).run(sinks=sinks, output=bypass)
            stage.end(result)
        finally:
            self._put(None)

    def rows(self) -> Iterator[pa.RecordBatch]:
        while (item := self._queue.get()) is not None:
            yield item

    def send(self, batch: Batch) -> None:
        """Give a batch to Spark, and the data that Spark cannot carry to the next stage."""
        if batch.lacks_cells:
            raise FatalError(
                f"rows of {batch.table} have cells that the source did not send, and a query would read them as null",
                "let the source send whole rows",
            )
        stage = self.stage
        header = replace(batch, data=batch.data.select([]), absent=None)
        writer = SegmentWriter(str(stage.place), f"{stage.number}.{self._sent}")
        writer.add(header)
        writer.finish("")
        data = to_wire(batch.data, self.behind.table)
        first = self._sent << ROW_BITS
        rows = pa.array(np.arange(first, first + batch.rows, dtype=np.int64))
        self._sent += 1
        self._put(data.append_column(pa.field(ROW, pa.int64()), rows))

    def _put(self, item: pa.RecordBatch | None) -> None:
        while not self.abandoned.is_set():
            try:
                self._queue.put(item, timeout=_WAIT_SECONDS)
                return
            except queue.Full:
                continue
        if item is not None:
            raise StageCancelledError("Spark takes no more rows")


@dataclass(frozen=True)
class _BridgeSink(Sink):
    """The end of a stage before a query. Stays in one process, so it may hold the bridge itself."""

    bridge: Bridge

    def open(self, context: WriteContext) -> Writer:
        return _BridgeWriter(self.bridge)


class _BridgeWriter(Writer):
    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._rows = 0

    def write(self, batch: Batch) -> None:
        if self._bridge.stage.stopped:
            raise StageCancelledError("the steps after the query have failed")
        self._bridge.send(batch)
        self._rows += batch.rows

    def stage(self) -> Piece:
        return Piece(self._rows)

    def abort(self) -> None:
        return None
