"""Runs a unit with bad rows: finds and quarantines them, and stages the others.

How. The unit's rows are read again, into a spool. Some rows are *tried*: they pass through the chain into writers that
are never staged. Bisection finds the bad rows. Bad rows are written to the quarantine's file of the unit. Then the
other rows are written and staged, under the unit's own name: for the target it is a unit like any other.

Rules. (1) The choice of bad rows is made once for the rows of a unit, and is durable before any of the others is
staged. Later attempts read to the same position, and follow it. (2) Exceeding the allowed number of bad rows ends the
search, and fails the table. (3) Only errors about values start a search (BadRowsError, ValueError, ArithmeticError).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from seatunnel_py.api.batch import Batch, Element, Position, Rejected
from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.api.sink import WriteContext
from seatunnel_py.api.text.shown import shown_rows
from seatunnel_py.errors import BadRowsError, FatalError
from seatunnel_py.work.bad_rows import quarantine_file
from seatunnel_py.work.bad_rows.bisect import Fault, TooManyFaultsError, conflicts, faults
from seatunnel_py.work.bad_rows.limits import STAGED, ErrorLimits, own_prefix
from seatunnel_py.work.bad_rows.quarantine_file import BadRowsOfBatch, QuarantineDecision
from seatunnel_py.work.bad_rows.spool import Spool
from seatunnel_py.work.chain import Chain, ChainChannel, ChainSink, ChainSource, ChainTransform
from seatunnel_py.work.rows.flow import Flow
from seatunnel_py.work.unit import Budget, SinkPiece, Unit

VALUE_ERRORS = (BadRowsError, ValueError, ArithmeticError)
ERRORS_SHOWN_MAX = 3
_UNBOUNDED = Budget(rows=1 << 62, seconds=float("inf"))


def decided(unit: Unit, chain: Chain, limits: ErrorLimits) -> bool:
    """Whether an earlier attempt at these rows has recorded its choice of bad rows. Only later attempts need to
    check."""
    later = unit.id.attempt or unit.id.epoch or chain.incarnation > 1
    return bool(later) and quarantine_file.decision(limits.location, unit, chain) is not None


class BadRowIsolation:
    """``flow`` is the current flow; at the end it is the one whose pieces count."""

    def __init__(self, unit: Unit, chain: Chain, limits: ErrorLimits) -> None:
        self.unit = unit
        self.chain = chain
        self.limits = limits
        self.flow = Flow(unit, chain)

    def run(self) -> None:
        """Read the rows, find and quarantine the bad ones, write and stage the rest."""
        known = quarantine_file.decision(self.limits.location, self.unit, self.chain)
        if known is not None and self.unit.until is not None and known.end != self.unit.until:
            known = None  # an earlier execution cut these rows otherwise
        place = f"{self.limits.location.rstrip('/')}/{STAGED}"
        spool = Spool(place, own_prefix(self.chain.lineage))
        try:
            read = self._read(spool, known)
            found = _followed(known, spool) if known is not None else None
            if found is None:
                found = self._within(spool, lambda most: faults(spool.rows, self._tried_in(spool), most))
            self._write(spool, found, read)
        finally:
            spool.drop()

    def _read(self, spool: Spool, known: QuarantineDecision | None) -> Flow:
        unit = self.unit
        if known is not None:
            unit = replace(unit, budget=_UNBOUNDED, until=known.end, until_rows=known.rows)
        self.flow = reading = _Reading(unit, self.chain, spool)
        reading.pump()
        spool.finish()
        return reading

    def _tried_in(self, spool: Spool) -> Callable[[Sequence[int]], Fault | None]:
        def refused(rows: Sequence[int]) -> Fault | None:
            self.flow = trial = _DryRun(self.unit, self.chain, spool, rows)
            try:
                trial.pump()
                trial.flush()
            except VALUE_ERRORS as error:
                return _fault(trial, error, rows)
            finally:
                trial.abort()
            return None

        return refused

    def _within(self, spool: Spool, search: Callable[[int], dict[int, Fault]], already: int = 0) -> dict[int, Fault]:
        """Run ``search`` within the limits of the job; it receives the number of further rows that may be bad."""
        undecoded = sum(rejected.data.num_rows for rejected, _ in spool.rejected)
        try:
            most = self.limits.most(spool.rows + undecoded) - undecoded - already
            if most < 0:
                raise TooManyFaultsError({row: Fault("", rejected.reasons[0]) for rejected, row in spool.rejected})
            return search(most)
        except TooManyFaultsError as many:
            shown = [f"row {row + 1}: {fault.error}" for row, fault in sorted(many.found.items())[:ERRORS_SHOWN_MAX]]
            raise FatalError(
                f"more rows of {self._table()} are bad than {self.limits} allows; the first of "
                f"{self.unit.data_id}: {'; '.join(shown)}",
                "correct the data, or raise env.error.max-rows or env.error.max-ratio",
            ) from None

    def _write(self, spool: Spool, found: dict[int, Fault], read: Flow) -> None:
        """Quarantine the bad rows, then stage the others. Rows that exclude one another are found only now,
        together."""
        looked_at_together = False
        while True:
            rest = [row for row in range(spool.rows) if row not in found]
            self.flow = flow = _GoodRows(self.unit, self.chain, spool, rest)
            try:
                flow.pump()
                flow.exhausted, flow.position, flow.rows, flow.bytes = (
                    read.exhausted,
                    read.position,
                    read.rows,
                    read.bytes,
                )
                flow.reports = read.reports
                flow.balance.adopt(read.balance)  # rows skipped by the reader; the rows themselves are counted here
                aside = self._set_aside(spool, found, None if read.exhausted else read.position)
                flow.stage()
                break
            except VALUE_ERRORS:
                if flow.pieces or looked_at_together:
                    raise  # a sink holds these rows already: the decision stands
                flow.abort()
                tried = self._tried_in(spool)
                more = self._within(spool, lambda most: conflicts(rest, tried, most), len(found))  # noqa: B023
                found, looked_at_together = found | more, True
        if aside is not None:
            flow.pieces.append(aside)

    def _set_aside(self, spool: Spool, found: dict[int, Fault], end: Position | None) -> SinkPiece | None:
        bad = [quarantine_file.undecoded(rejected, row) for rejected, row in spool.rejected]
        for batch, rows in spool.batches(sorted(found)):
            bad.append(BadRowsOfBatch(batch, rows, [found[row] for row in rows]))
        for one in bad:
            self.flow.balance.rejected(_head(self.chain), one.batch.table, one.batch.rows)
        if not bad:
            return None
        return quarantine_file.write(self.limits.location, self.unit, self.chain, bad, end, rows=self.flow.rows)

    def _table(self) -> str:
        head = self.chain.head
        return str(head.table.schema.path) if isinstance(head, ChainSource) else self.chain.vertex


def _fault(trial: Flow, error: Exception, rows: Sequence[int]) -> Fault:
    """Locate the bad row of an error. The row number is usable only if each step emits one row per input row: a
    transform counts within its batch, a writer over all rows."""
    if not isinstance(error, BadRowsError):
        return Fault(trial.step, str(error))
    steps = trial.chain.transforms
    if trial.step in {bound.step for bound in steps}:
        error = error.shifted(trial.before)
    bad = [] if error.row is None else [(error.row, error.message), *error.others]
    alike = all(isinstance(bound, ChainTransform) and bound.cardinality is Cardinality.ONE_TO_ONE for bound in steps)
    known = bad and bad[-1][0] < len(rows) and alike and len(trial.chain.sinks) == 1
    return Fault(trial.step, error.message, error.row, error.others) if known else Fault(trial.step, error.message)


def _head(chain: Chain) -> str:
    """Key under which the counts of a unit list its head."""
    return chain.head.channel if isinstance(chain.head, ChainChannel) else chain.head.step


def _followed(known: QuarantineDecision, spool: Spool) -> dict[int, Fault] | None:
    """The decision of an earlier attempt, if it covers the rows that were read now."""
    found: dict[int, Fault] = {}
    for bad in known.bad:
        now = [row for batch, _ in spool.batches(bad.rows) for row in shown_rows(batch.data)]
        if repr(now) != repr(shown_rows(bad.batch.data)):
            return None
        found |= dict(zip(bad.rows, bad.faults, strict=True))
    return found


class _Reading(Flow):
    """Reads the unit's rows into the spool."""

    tolerant = True

    def __init__(self, unit: Unit, chain: Chain, spool: Spool) -> None:
        super().__init__(unit, chain)
        self._spool = spool

    def _take(self, element: Element, head: str) -> Position | None:
        match element:
            case Batch():
                self._spool.add(element)
                self.rows += element.rows
                self.bytes += element.data.nbytes
                return element.end
            case Rejected():
                self._spool.rejected.append((element, self._spool.rows))
                self.rows += element.data.num_rows
                return element.end
        return super()._take(element, head)


class _GoodRows(Flow):
    """Some of the rows, from the spool to the sinks."""

    def __init__(self, unit: Unit, chain: Chain, spool: Spool, rows: Sequence[int]) -> None:
        super().__init__(replace(unit, until=None), chain)
        self._spool = spool
        self._rows = rows

    def _head(self, closing: ExitStack) -> tuple[str, Iterable[Element], bool]:
        return _head(self.chain), (batch for batch, _ in self._spool.batches(self._rows)), False


class _DryRun(_GoodRows):
    """Rows that are written and never staged. The unit has another name: rows of the unit that the target already holds
    must not be taken for them."""

    def _context(self, bound: ChainSink) -> WriteContext:
        context = super()._context(bound)
        return replace(context, data_id=f"{context.data_id}?", trial=True)

    def _emit(self, batch: Batch) -> None:
        """A channel takes any row."""

    def flush(self) -> None:
        for target in self._open.values():
            self.step = target.bound.step
            target.writer.flush()
