"""Runs a unit whose rows pass from source to sink in their native form, without conversion.

The choice depends on the chain and the capabilities of both ends, never on earlier attempts: any attempt at a unit may
use either path. A native copy cannot stop midway, so it takes a split whole, and only one that fits a unit's budget.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from seatunnel_py.api.native import NativeSink, NativeSource, NativeWriter
from seatunnel_py.api.sink import WriteContext
from seatunnel_py.work import failpoints
from seatunnel_py.work.chain import Chain, ChainSink, ChainSource
from seatunnel_py.work.close_quietly import quietly, stop
from seatunnel_py.work.rows.reader_reports import ReaderReports
from seatunnel_py.work.unit import SinkPiece, Slice, StepCount, Unit

OVER_BUDGET_MAX = 2.0  # a split's size is an estimate, and finishing it is cheaper than starting another unit


class NativeCopy:
    """The moving parts of one run. ``step`` is the current step."""

    exhausted = True
    position = None
    slices: tuple[Slice, ...] = ()

    def __init__(
        self, unit: Unit, chain: Chain, head: ChainSource, source: NativeSource, bound: ChainSink, sink: NativeSink
    ) -> None:
        self.unit = unit
        self.chain = chain
        self.head = head
        self.source = source
        self.bound = bound
        self.sink = sink
        self.step = head.step
        self.rows = 0
        self.bytes = 0
        self.first_row_at = 0.0
        self.pieces: list[SinkPiece] = []
        self.reports = ReaderReports(unit, chain)
        self._writer: NativeWriter | None = None

    def run(self) -> None:
        """Read the split to its end and stage it."""
        assert self.unit.split is not None, f"unit {self.unit.id} of a source vertex has no split"
        reader = self.source.native_reader(self.head.table)
        blocks = reader.read(self.unit.split, self.unit.start)
        try:
            for block in blocks:
                self.first_row_at = self.first_row_at or time.time()
                self.bytes += len(block)
                self.step = self.bound.step
                if self._writer is None:
                    self._writer = self.sink.open_native(write_context(self.unit, self.chain, self.bound))
                self._writer.write(block)
                failpoints.HALF.hit()
                self.step = self.head.step
            self.rows = reader.rows
        finally:
            stop(blocks)
            quietly(reader.close)
        self.step = self.bound.step
        if self._writer is not None:
            failpoints.BEFORE_STAGING.hit()
            piece = self._writer.stage(self.rows)
            failpoints.STAGED.hit()
            self._writer = None
            self.pieces.append(SinkPiece(self.bound.step, self.bound.table, piece))

    def abort(self) -> None:
        """Abort the writer unless it has been staged."""
        if self._writer is not None:
            quietly(self._writer.abort)

    def counts(self) -> Iterator[StepCount]:
        """Count the same rows for source and sink: ``stage`` has checked that the sink confirmed them all."""
        for step in (self.head.step, self.bound.step):
            yield StepCount(step, self.bound.table, self.rows, self.rows)


def write_context(unit: Unit, chain: Chain, bound: ChainSink) -> WriteContext:
    """Identity of the writer, the same for both paths."""
    return WriteContext(
        job_id=chain.job_id,
        lineage=chain.lineage,
        step=bound.step,
        data_id=unit.data_id,
        incarnation=chain.incarnation,
        epoch=unit.id.epoch,
        attempt=unit.id.attempt,
        setup=bound.setup,
        staging=chain.staging,
        vertex=unit.id.vertex,
    )


def passage_of(unit: Unit, chain: Chain) -> NativeCopy | None:
    """The native copy that this unit can use; None: its rows go through Arrow."""
    head = chain.head
    if not isinstance(head, ChainSource) or chain.transforms or chain.output or len(chain.sinks) != 1:
        return None
    bound = chain.sinks[0]
    if bound.table != head.table.schema.path or not _fits(unit):
        return None
    source, sink = head.source, bound.sink
    if not isinstance(source, NativeSource) or not isinstance(sink, NativeSink):
        return None
    form = source.native_form(head.table)
    if form is None or not sink.takes_native(form, bound.setup):
        return None
    return NativeCopy(unit, chain, head, source, bound, sink)


def _fits(unit: Unit) -> bool:
    rows = unit.split.rows if unit.split else None
    return rows is not None and rows <= unit.budget.rows * OVER_BUDGET_MAX
