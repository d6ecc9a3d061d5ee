"""The one function that runs a unit: ``head -> transforms -> sinks``, batch by batch, in one process.

What it promises:

- A failure of the chain is a result, never an exception: the driver decides, the pack's other units go on.
- A unit stops at its budget, only where the split can be resumed, and leaves nothing open.
- Rows are conserved (I6): a sink that confirms fewer rows than it was handed fails the unit, and so does
  a transform that invents rows. Nothing is staged before every row has passed.
- A batch goes to every sink bound to its table, else to the output channel; one that nobody takes is an error.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from seatunnel_py.api.batch import Batch, Element, Heartbeat, Position, Rejected, SchemaChange, TransactionEnd
from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.api.native import NativeRefused
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import Writer
from seatunnel_py.errors import FatalError, RetriableError, SeaTunnelError
from seatunnel_py.work import crash_points
from seatunnel_py.work.chain import Chain, ChainChannel, ChainSink, ChainSource, ChainTransform
from seatunnel_py.work.closing import quietly, stop
from seatunnel_py.work.passage import Passage, passage_of, write_context
from seatunnel_py.work.unit import FailureKind, SinkPiece, Slice, StepCount, Unit, UnitFailure, UnitResult

if TYPE_CHECKING:
    from seatunnel_py.work.segments import SegmentWriter

T = TypeVar("T")

NEEDS_SPARK = "queries run in Spark: run the job without --local"
REASONS_SHOWN_MAX = 3  # a failure message names the first refused rows, not all of them
TRACE_CHARACTERS_MAX = 20_000  # a trace travels in results and journals


def run_unit(unit: Unit, chain: Chain) -> UnitResult:
    """Run one unit to its end or its budget.

    A failed result still names the pieces that were staged before the failure: they hold nothing that counts,
    and the driver's committer drops them.
    """
    began = time.perf_counter()
    flow: _Flow | Passage = _Flow(unit, chain)
    try:
        crash_points.BEGAN.hit()
        passage = passage_of(unit, chain)
        if passage is not None:
            flow = passage
        try:
            flow.run()
        except NativeRefused:
            flow.abort()
            flow = _Flow(unit, chain)
            flow.run()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin raises is this unit's result
        failure = _failure(error, flow.step)
        flow.abort()
        seconds = time.perf_counter() - began
        return UnitResult(unit.id, done=False, seconds=seconds, pieces=tuple(flow.pieces), failure=failure)
    return UnitResult(
        id=unit.id,
        done=flow.exhausted,
        next=None if flow.exhausted else flow.position,
        rows=flow.rows,
        bytes=flow.bytes,
        seconds=time.perf_counter() - began,
        first_row_at=flow.first_row_at,
        pieces=tuple(flow.pieces),
        slices=flow.slices,
        counts=tuple(flow.counts()),
    )


@dataclass(slots=True)
class _Tally:
    rows_in: int = 0
    rows_out: int = 0
    rejected: int = 0


@dataclass(slots=True)
class _OpenSink:
    bound: ChainSink
    writer: Writer
    handed: int = 0


class _Flow:
    """The moving parts of one run. ``step`` names the step at work: a failure says where it happened."""

    def __init__(self, unit: Unit, chain: Chain) -> None:
        self.unit = unit
        self.chain = chain
        self.step = chain.vertex
        self.exhausted = False
        self.position: Position | None = unit.start
        self.rows = 0
        self.bytes = 0
        self.first_row_at = 0.0
        self.pieces: list[SinkPiece] = []
        self.slices: tuple[Slice, ...] = ()
        self._transforms: tuple[ChainTransform, ...] = ()
        self._tallies: dict[tuple[str, TablePath], _Tally] = {}
        self._open: dict[int, _OpenSink] = {}
        self._segment: SegmentWriter | None = None

    def run(self) -> None:
        """Read, transform, write, stage."""
        self.pump()
        crash_points.BEFORE_STAGING.hit()
        self.stage()
        crash_points.STAGED.hit()

    # ---------------------------------------------------------------- reading

    def pump(self) -> None:
        """Take elements from the head and push each through the chain, until the budget is spent."""
        deadline = time.perf_counter() + self.unit.budget.seconds
        self._transforms = tuple(bound for bound in self.chain.transforms if isinstance(bound, ChainTransform))
        if len(self._transforms) < len(self.chain.transforms):
            raise FatalError(f"{self.chain.vertex} has a query among its steps", NEEDS_SPARK)
        with ExitStack() as closing:
            for bound in self._transforms:
                closing.callback(quietly, bound.transform.close)
            head, elements, resumable = self._head(closing)
            for element in self._attributed(head, elements):
                end = self._take(element, head)
                if not resumable or end is None:
                    continue
                self.position = end
                if self.unit.until is not None:
                    if end.value == self.unit.until.value:
                        break
                    continue
                if self.rows >= self.unit.budget.rows or time.perf_counter() >= deadline:
                    break
            else:
                self.exhausted = True
                if self.unit.until is not None:
                    raise FatalError(
                        f"the split of {self.unit.id} does not show again what was read of it before: it has changed",
                        "set channel.retain = always",
                    )
        for bound in self._transforms:
            self._check_balance(bound)

    def _head(self, closing: ExitStack) -> tuple[str, Iterable[Element], bool]:
        """The head's step, what it yields, and whether the unit may stop inside. Slices are taken whole: the
        driver chose how many of them make a unit."""
        head = self.chain.head
        if isinstance(head, ChainSource):
            assert self.unit.split is not None, f"unit {self.unit.id} of a source vertex has no split"
            self.step = head.step
            reader = head.source.reader(head.table)
            closing.callback(quietly, reader.close)
            elements = reader.read(self.unit.split, self.unit.start)
            closing.callback(stop, elements)
            return head.step, elements, True
        if not isinstance(head, ChainChannel):
            raise FatalError(f"{head.step} is a query", NEEDS_SPARK)
        from seatunnel_py.work.segments import read_slices

        return head.channel, read_slices(self.unit.slices), False

    def _attributed(self, step: str, items: Iterable[T]) -> Iterator[T]:
        """The same items; whatever fails while one is being made is put down to ``step``."""
        self.step = step
        iterator = iter(items)
        while True:
            self.step = step
            try:
                item = next(iterator)
            except StopIteration:
                return
            yield item

    def _take(self, element: Element, head: str) -> Position | None:
        """Push one element through; returns the position behind it, None where a split cannot be resumed."""
        match element:
            case Batch():
                tally = self._tally(head, element.table)
                tally.rows_in += element.rows
                tally.rows_out += element.rows
                self.rows += element.rows
                self.bytes += element.data.nbytes
                self._through(element, 0)
                return element.end
            case Heartbeat() | TransactionEnd():
                return element.end
            case SchemaChange():
                raise FatalError(
                    f"table {element.table} changed its schema while it was read"
                    + (f": {element.statement}" if element.statement else ""),
                    "run the job again: the new schema is looked up when a job starts",
                )

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
        tally = self._tally(bound.step, bound.table)
        tally.rows_in += batch.rows
        self.step = bound.step
        for item in self._attributed(bound.step, bound.transform.apply(batch)):
            if isinstance(item, Rejected):
                tally.rejected += item.data.num_rows
                _refuse(item, bound.step)
            else:
                tally.rows_out += item.rows
                self._through(item, index + 1)

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
        target = self._open.get(index)
        if target is None:
            target = self._open[index] = _OpenSink(bound, bound.sink.open(write_context(self.unit, self.chain, bound)))
        target.writer.write(batch)
        target.handed += batch.rows
        crash_points.HALF.hit()
        self._tally(bound.step, bound.table).rows_in += batch.rows

    def _emit(self, batch: Batch) -> None:
        output = self.chain.output
        if output is None:
            known = ", ".join(sorted({str(bound.table) for bound in self.chain.sinks})) or "none"
            raise FatalError(f"rows of table {batch.table} reach no sink; the sinks here take: {known}")
        self.step = output.channel
        if self._segment is None:
            from seatunnel_py.work.segments import SegmentWriter

            self._segment = SegmentWriter(output.location, f"{self.chain.incarnation}.{self.unit.id}")
        self._segment.add(batch)
        tally = self._tally(output.channel, batch.table)
        tally.rows_in += batch.rows
        tally.rows_out += batch.rows

    # ---------------------------------------------------------------- ending

    def stage(self) -> None:
        """Stage every writer that was opened; what a sink confirms must be what it was handed."""
        for index, target in list(self._open.items()):
            bound = target.bound
            self.step = bound.step
            piece = target.writer.stage()
            del self._open[index]
            self.pieces.append(SinkPiece(bound.step, bound.table, piece))
            self._tally(bound.step, bound.table).rows_out += piece.rows
            if piece.rows != target.handed:
                raise FatalError(
                    f"{bound.sink.target} was given {target.handed} rows of {bound.table}, but confirmed {piece.rows}"
                )
        if self._segment is not None and self.chain.output is not None:
            self.step = self.chain.output.channel
            self.slices = self._segment.finish(self.chain.output.channel)

    def abort(self) -> None:
        """Give up every writer that has not been staged."""
        for target in self._open.values():
            quietly(target.writer.abort)
        if self._segment is not None:
            quietly(self._segment.abort)

    # ---------------------------------------------------------------- counting

    def counts(self) -> Iterator[StepCount]:
        for (step, table), tally in self._tallies.items():
            yield StepCount(step, table, tally.rows_in, tally.rows_out, tally.rejected)

    def _tally(self, step: str, table: TablePath) -> _Tally:
        return self._tallies.setdefault((step, table), _Tally())

    def _check_balance(self, bound: ChainTransform) -> None:
        """No row may appear or vanish but as the step has declared (I6)."""
        tally = self._tallies.get((bound.step, bound.table))
        if tally is None or bound.cardinality is Cardinality.ANY:
            return
        after = tally.rows_out + tally.rejected
        if after > tally.rows_in or (after < tally.rows_in and bound.cardinality is Cardinality.ONE_TO_ONE):
            self.step = bound.step
            verb = "add" if after > tally.rows_in else "lose"
            raise FatalError(
                f"{tally.rows_in} rows of {bound.table} went in, {tally.rows_out} came out and "
                f"{tally.rejected} were refused: this step has declared that it does not {verb} rows"
            )


def _refuse(rejected: Rejected, step: str) -> None:
    """Refused rows have no place to go yet, and losing them silently is not one of the choices."""
    shown = "; ".join(rejected.reasons[:REASONS_SHOWN_MAX])
    more = ", …" if len(rejected.reasons) > REASONS_SHOWN_MAX else ""
    raise FatalError(f"{step} refused {rejected.data.num_rows} rows of {rejected.table}: {shown}{more}")


def _failure(error: BaseException, step: str) -> UnitFailure:
    match error:
        case RetriableError():
            kind = FailureKind.RETRIABLE
        case FatalError():
            kind = FailureKind.FATAL
        case _:
            kind = FailureKind.UNEXPECTED
    if isinstance(error, SeaTunnelError):
        message, remedy = error.message, error.remedy
    else:
        message, remedy = f"{type(error).__name__}: {error}".removesuffix(": "), ""
    return UnitFailure(
        kind=kind,
        message=message,
        remedy=remedy,
        step=step,
        error_type=f"{type(error).__module__}.{type(error).__qualname__}",
        trace="".join(traceback.format_exception(error))[-TRACE_CHARACTERS_MAX:],
    )
