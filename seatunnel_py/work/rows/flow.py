"""Moves rows through a chain: reads, pushes them through the transforms one batch at a time, writes, stages.

Rules. (1) A batch is pushed depth first: one is held at a time. (2) Nothing is staged before every row has passed, and
a sink must confirm exactly the rows that it received. (3) A unit stops at its budget, only where the split can be
resumed, and at a change of a table's schema.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from seatunnel_py.api.batch import (
    Batch,
    Element,
    Heartbeat,
    Position,
    ReaderEvent,
    Rejected,
    SchemaChange,
    Skipped,
    TableStopped,
    TableTruncated,
    TransactionEnd,
)
from seatunnel_py.api.sink import Reached, WriteContext, Writer
from seatunnel_py.api.source import Reader, Split, read_with
from seatunnel_py.errors import BadRowsError, FatalError
from seatunnel_py.nouns import counted
from seatunnel_py.work import failpoints
from seatunnel_py.work.chain import Chain, ChainChannel, ChainSink, ChainSource, ChainTransform
from seatunnel_py.work.close_quietly import quietly
from seatunnel_py.work.reader_cache import OpenReader, ReaderCache
from seatunnel_py.work.rows.native_copy import write_context
from seatunnel_py.work.rows.plugin_checks import OutputChecker, expect_instance, expect_iterable, piece_given
from seatunnel_py.work.rows.positions import Positions
from seatunnel_py.work.rows.projection import projected
from seatunnel_py.work.rows.reader_reports import ReaderReports
from seatunnel_py.work.rows.resume_trim import no_further, up_to
from seatunnel_py.work.rows.row_balance import Balance
from seatunnel_py.work.unit import SinkPiece, Slice, StepCount, Unit

if TYPE_CHECKING:
    from seatunnel_py.work.segments import SegmentWriter

T = TypeVar("T")

NEEDS_SPARK = "queries run in Spark: run the job without --local"
REASONS_SHOWN_MAX = 3  # a failure message names the first refused rows, not all of them


@dataclass(slots=True)
class OpenSink:
    """An open sink, and the number of rows that it received."""

    bound: ChainSink
    writer: Writer
    handed: int = 0


class Flow:
    """The moving parts of one run. ``step`` is the current step, for failure messages."""

    tolerant = False

    def __init__(self, unit: Unit, chain: Chain, residence: ReaderCache | None = None) -> None:
        self.unit = unit
        self.chain = chain
        self._residence = residence
        self._reading: OpenReader | None = None
        self.step = chain.vertex
        self.exhausted = False
        self.position: Position | None = unit.start
        self.rows = 0
        self.before = 0  # rows before the current batch
        self.bytes = 0
        self.first_row_at = 0.0
        self.pieces: list[SinkPiece] = []
        self.reports = ReaderReports(unit, chain)
        self.slices: tuple[Slice, ...] = ()
        self._transforms: tuple[ChainTransform, ...] = ()
        self.balance = Balance()
        self._open: dict[int, OpenSink] = {}
        self._segment: SegmentWriter | None = None
        self._first_time = not (unit.id.attempt or unit.id.epoch or chain.incarnation > 1)
        self._looked_back = False
        self._reached: Reached | None = None
        self._given: dict[int, OutputChecker] = {}  # by the transform's index
        tables = chain.head.log_tables if isinstance(chain.head, ChainSource) else ()
        self._projections = {one.schema.path: one.projection for one in tables if one.projection is not None}

    def run(self) -> None:
        """Read, transform, write, stage."""
        try:
            self.pump()
            failpoints.BEFORE_STAGING.hit()
            self.stage()
            failpoints.STAGED.hit()
            self._stay()
        finally:
            if self._reading is not None:
                self._reading.close()

    def _stay(self) -> None:
        """Keep a resident source's reader for the next unit, if it stands at that unit's start: after a held-back
        element it has read further."""
        reports = self.reports
        held_back = self._reached is not None or self.unit.until is not None or bool(reports.altered or reports.cut)
        if self._residence is None or self._reading is None or self.exhausted or self.position is None or held_back:
            return
        reading, self._reading = self._reading, None
        self._residence.keep(self.unit, self.position, reading)

    # ---------------------------------------------------------------- reading

    def pump(self) -> None:
        """Read elements from the head and push each through the chain, until the budget is spent."""
        deadline = time.perf_counter() + self.unit.budget.seconds
        self._transforms = tuple(bound for bound in self.chain.transforms if isinstance(bound, ChainTransform))
        if len(self._transforms) < len(self.chain.transforms):
            raise FatalError(f"{self.chain.vertex} has a query among its steps", NEEDS_SPARK)
        with ExitStack() as closing:
            for bound in self._transforms:
                closing.callback(quietly, bound.transform.close)
            head, elements, resumable = self._head(closing)
            positions, stands = Positions(self._reader_name(), self.unit.start, self.unit.budget.state_bytes), True
            for element in self._attributed(head, elements):
                self._look_at(element)
                if resumable and stands and self._reached is None and self.reports.cuts(element):
                    break  # a sink that fails at it would lose the rows that came with it
                if resumable and not self.unit.is_relayed:
                    positions.passed(element)
                end = self._take(self._as_followed(self._skip_already_applied(element) if resumable else element), head)
                stands = end is not None
                if not resumable or end is None:
                    continue
                self.position = end
                if self._ends_at(end, deadline):
                    break
            else:
                self.exhausted = True
                if self.unit.until is not None:
                    raise FatalError(
                        f"the split of {self.unit.id} no longer holds the rows that were read before: it has changed",
                        "set channel.retain = always",
                    )
        for bound in self._transforms:
            self.step = bound.step
            self.balance.check(bound)

    def _ends_at(self, end: Position, deadline: float) -> bool:
        """Whether the unit ends at this position."""
        if self.reports.altered:
            return True  # the chain is made for the earlier schema
        if self.unit.until is not None:
            return end.value == self.unit.until.value
        if self._reached is not None:
            return end == self._reached.end
        return self.rows >= self.unit.budget.rows or time.perf_counter() >= deadline

    def _head(self, closing: ExitStack) -> tuple[str, Iterable[Element], bool]:
        """The head's step, its elements, and whether the unit may stop inside. Slices are read whole: the driver chose
        how many of them make a unit."""
        head = self.chain.head
        if isinstance(head, ChainSource):
            assert self.unit.split is not None, f"unit {self.unit.id} of a source vertex has no split"
            self.step = head.step
            opened = self._residence.take(self.unit) if self._residence is not None else None
            if opened is None:
                opened = self._opened_head(head, self.unit.split)
            if self.unit.confirmed is not None:
                opened.confirm(self.unit.confirmed)
            if self._residence is not None:
                self._reading = opened
            else:
                closing.callback(opened.close)
            return head.step, opened.elements, True
        if not isinstance(head, ChainChannel):
            raise FatalError(f"{head.step} is a query", NEEDS_SPARK)
        from seatunnel_py.work.segments import read_slices

        return head.channel, read_slices(self.unit.slices), False

    def _opened_head(self, head: ChainSource, split: Split) -> OpenReader:
        reader = head.reader()
        expect_instance(f"reader of {type(head.source).__name__}", reader, Reader)
        with_metadata = self.tolerant or bool(self.chain.transforms) or self.chain.output is not None
        context = replace(head.context, until=self.unit.until, tolerant=self.tolerant, with_metadata=with_metadata)
        try:
            elements = expect_iterable(
                f"read of {type(reader).__name__}", read_with(reader, split, self.unit.start, context)
            )
            return OpenReader(reader, iter(elements))
        except BaseException:
            quietly(reader.close)
            raise

    def _attributed(self, step: str, items: Iterable[T]) -> Iterator[T]:
        """Yield the same items; a failure while one is being made is attributed to ``step``."""
        self.step = step
        iterator = iter(items)
        while True:
            self.step = step
            try:
                item = next(iterator)
            except StopIteration:
                return
            yield item

    def _skip_already_applied(self, element: Element) -> Element:
        """Cut rows of an earlier attempt at the end that some target has recorded, if one has. A heartbeat at the start
        asks no target: writers that stage nothing would record that the following rows were done."""
        element = self._cut_as_recorded(element)
        if self._first_time or (isinstance(element, Heartbeat) and element.end == self.unit.start):
            return element
        if not self._looked_back:
            self._looked_back = True
            found = [self._opened(index, bound).writer.reached for index, bound in self._marking()]
            self._reached = next((one for one in found if one is not None), None)
        return element if self._reached is None else no_further(element, self.rows, self._reached)

    def _as_followed(self, element: Element) -> Element:
        """The rows of a followed table in the schema that later steps have."""
        if not self._projections or not isinstance(element, Batch) or element.table not in self._projections:
            return element
        return projected(element, self._projections[element.table])

    def _cut_as_recorded(self, element: Element) -> Element:
        """End the element at the same place as in an earlier execution that emitted its rows."""
        unit, head = self.unit, self.chain.head
        if unit.until is None or unit.until_rows is None or not isinstance(head, ChainSource):
            return element
        self.step = head.step
        return up_to(element, self.rows, Reached(unit.until_rows, unit.until), ordered=head.ordered)

    def _marking(self) -> list[tuple[int, ChainSink]]:
        return [one for one in enumerate(self.chain.sinks) if one[1].sink.marks_units(one[1].setup)]

    def _take(self, element: Element, head: str) -> Position | None:
        """Push one element through; return the position after it, None if a split cannot be resumed."""
        match element:
            case Batch():
                self.balance.passed(head, element.table, element.rows)
                self.reports.tables.add(element.table)
                self.before = self.rows
                self.rows += element.rows
                self.bytes += element.data.nbytes
                self._through(element, 0)
                return element.end
            case Heartbeat() | TransactionEnd():
                return element.end
            case TableStopped() | ReaderEvent() | SchemaChange() | TableTruncated():
                self.reports.take(element)
                return element.end
            case Skipped():
                self.balance.skipped(head, element.table, element.rows)
                return element.end
            case Rejected():
                raise refusal(element, head)

    def _reader_name(self) -> str:
        head = self.chain.head
        return f"read of {type(head.source).__name__}" if isinstance(head, ChainSource) else self.chain.vertex

    def _look_at(self, element: Element) -> None:
        """Check an element; slices of a channel were checked by the unit that made them."""
        head = self.chain.head
        if isinstance(head, ChainSource):
            if -1 not in self._given:
                self._given[-1] = OutputChecker(
                    self._reader_name(), [one.schema for one in head.tables], nulls=not self.tolerant
                )
            self._given[-1].element(element)

    # ---------------------------------------------------------------- transforming and writing

    def _through(self, batch: Batch, index: int) -> None:
        """Push a batch through the transforms from ``index`` on, depth first: one batch at a time is held."""
        if index == len(self._transforms):
            if batch.rows:
                self._deliver(batch)
            return
        bound = self._transforms[index]
        if bound.table != batch.table:
            self._through(batch, index + 1)
            return
        tally = self.balance.at(bound.step, bound.table)
        tally.rows_in += batch.rows
        self.step = bound.step
        items = expect_iterable(f"apply of {type(bound.transform).__name__}", bound.transform.apply(batch))
        for item in self._attributed(bound.step, items):
            self._given_by(index, bound).element(item, (Batch, Rejected))
            if isinstance(item, Rejected):
                raise refusal(item, bound.step)
            tally.rows_out += item.rows
            self._through(item, index + 1)

    def _given_by(self, index: int, bound: ChainTransform) -> OutputChecker:
        """Checker for the output of a transform: only tables and columns that it has announced."""
        if index not in self._given:
            output, side = bound.transform.output(), bound.transform.side_outputs()
            schemas = [*([] if output is None else [output]), *side]
            self._given[index] = OutputChecker(f"apply of {type(bound.transform).__name__}", schemas)
        return self._given[index]

    def _deliver(self, batch: Batch) -> None:
        self.first_row_at = self.first_row_at or time.time()
        taken = False
        for index, bound in enumerate(self.chain.sinks):
            if bound.table == batch.table:
                taken = True
                self._write(index, bound, batch)
        if not taken:
            self._emit(batch)

    def _write(self, index: int, bound: ChainSink, batch: Batch) -> None:
        self.step = bound.step
        target = self._opened(index, bound)
        target.writer.write(batch)
        target.handed += batch.rows
        failpoints.HALF.hit()
        self.balance.at(bound.step, bound.table).rows_in += batch.rows

    def _opened(self, index: int, bound: ChainSink) -> OpenSink:
        target = self._open.get(index)
        if target is None:
            self.step = bound.step
            writer = bound.sink.open(self._context(bound))
            expect_instance(f"open of {type(bound.sink).__name__}", writer, Writer)
            target = self._open[index] = OpenSink(bound, writer)
        return target

    def _context(self, bound: ChainSink) -> WriteContext:
        return write_context(self.unit, self.chain, bound)

    def _emit(self, batch: Batch) -> None:
        output = self.chain.output
        if output is None:
            known = ", ".join(sorted({str(bound.table) for bound in self.chain.sinks})) or "none"
            raise FatalError(f"rows of table {batch.table} reach no sink; the sinks here take: {known}")
        self.step = output.channel
        if self._segment is None:
            from seatunnel_py.work.row_digest import RowDigest
            from seatunnel_py.work.segments import SegmentWriter

            name = f"{self.chain.incarnation}.{self.unit.id}"
            self._segment = SegmentWriter(output.location, name, contents=RowDigest())
        self._segment.add(batch)
        self.balance.passed(output.channel, batch.table, batch.rows)

    # ---------------------------------------------------------------- ending

    def stage(self) -> None:
        """Stage every open writer; a sink must confirm exactly the rows that it received."""
        self._record_end()
        for index, target in list(self._open.items()):
            bound = target.bound
            self.step = bound.step
            piece = piece_given(f"stage of {type(target.writer).__name__}", target.writer.stage())
            del self._open[index]
            self.pieces.append(SinkPiece(bound.step, bound.table, piece))
            self.balance.at(bound.step, bound.table).rows_out += piece.rows
            if piece.rows != target.handed:
                raise FatalError(
                    f"{bound.sink.target} was given {target.handed} rows of {bound.table}, but confirmed {piece.rows}"
                )
        if self._segment is not None and self.chain.output is not None:
            self.step = self.chain.output.channel
            self.slices = self._segment.finish(self.chain.output.channel)
        self.slices += tuple(self.reports.stopped)

    def _record_end(self) -> None:
        if not isinstance(self.chain.head, ChainSource):
            return
        if not self.exhausted and self.position != self.unit.start:
            for index, bound in self._marking():
                self._opened(index, bound)
        for target in self._open.values():
            target.writer.ends_at(Reached(self.rows, self.position))

    def abort(self) -> None:
        """Abort every writer that has not been staged."""
        for target in self._open.values():
            quietly(target.writer.abort)
        if self._segment is not None:
            quietly(self._segment.abort)

    def counts(self) -> Iterator[StepCount]:
        return self.balance.counts()


def refusal(rejected: Rejected, step: str) -> BadRowsError:
    """Return refused rows as a failure: without a quarantine they are one."""
    shown = "; ".join(rejected.reasons[:REASONS_SHOWN_MAX])
    more = ", …" if len(rejected.reasons) > REASONS_SHOWN_MAX else ""
    return BadRowsError(f"{step} refused {counted(rejected.data.num_rows, 'row')} of {rejected.table}: {shown}{more}")
