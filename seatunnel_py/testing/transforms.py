"""Tests a transform's promises.

The rows of the target go in with the engine's additions: row kinds, positions, and in the metadata a number for each
row, by which the kit recognises it after the step. A row may be refused (``Rejected``, ``BadRowsError``), but never
because of the others in its batch: the engine cuts different batches at each attempt.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from seatunnel_py.api.batch import Batch, Position, Rejected, RowKind
from seatunnel_py.api.capabilities import Cardinality, Determinism, TransformCapabilities
from seatunnel_py.api.factory import StepContext, TransformFactory
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.transform import Transform
from seatunnel_py.errors import BadRowsError
from seatunnel_py.testing.findings import BrokenPropertyError, Finding, Report, Verdict, tried
from seatunnel_py.testing.given_options import resolved
from seatunnel_py.work.rows.plugin_checks import OutputChecker, expect_iterable

NUMBER = "ConformanceRow"
KINDS = (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
BEGIN, END = Position({"conformance": 0}), Position({"conformance": 1})

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TransformTarget:
    """A transform's factory with its options as in a job file, the table that it is bound to, and rows of it, which
    should include nulls, empty texts and other special values. ``wanted``, if given: the output rows over all tables if
    all of these are inserts. ``new_kinds``: the transform is meant to change row kinds."""

    factory: TransformFactory[Any]
    options: Mapping[str, Any]
    table: TableSchema
    rows: Sequence[Row]
    wanted: Callable[[], Sequence[Row]] | None = None
    new_kinds: bool = False

    def transform(self) -> tuple[Transform, TransformCapabilities]:
        """The transform as the engine makes it: through a pickle."""
        options = resolved(self.factory, self.options)
        made = self.factory.create(options, self.table, StepContext("transform", "conformance"))
        return pickle.loads(pickle.dumps(made)), self.factory.capabilities(options)

    def batch(self, places: Sequence[int], *, plain: bool = False) -> Batch:
        """Some of the rows; with ``plain``, all are inserts."""
        import pyarrow as pa

        arrow = self.table.arrow()
        rows = [self.rows[place] for place in places]
        columns = [pa.array([row[at] for row in rows], one.type) for at, one in enumerate(arrow)]
        kinds = None if plain else pa.array([self.kind(place) for place in places], pa.uint8())
        data: pa.RecordBatch = pa.RecordBatch.from_arrays(columns, schema=arrow)
        numbers = pa.array(list(places), pa.int64())
        return Batch(self.table.path, data, END, BEGIN, kinds, metadata={NUMBER: numbers})

    @staticmethod
    def kind(place: int) -> RowKind:
        return next(islice(cycle(KINDS), place, None))


@dataclass(frozen=True, slots=True)
class _Out:
    """An output row: the number of its input row, its table, and its kind."""

    number: int | None
    table: TablePath
    kind: RowKind
    values: tuple[str, ...]


@dataclass(slots=True)
class _Seen:
    """Output of a batch; ``whole``: the batch was refused as a whole, because some of its rows are bad."""

    rows: list[_Out] = field(default_factory=list)
    rejected: int = 0
    whole: bool = False


def check_transform(target: TransformTarget) -> Report:
    """Test everything that a transform promises."""
    if not target.rows:
        raise ValueError("a target without rows proves nothing: give it some")
    capabilities = target.transform()[1]
    run = _Applying(target, capabilities)
    same = capabilities.determinism > Determinism.INDETERMINATE
    key = target.table.primary_key
    counted = capabilities.cardinality is not Cardinality.ANY
    properties: list[tuple[str, Callable[[], None], bool, str]] = [
        ("what comes out is what it announces", run.fits, True, ""),
        ("a batch without rows is accepted", run.empty, True, ""),
        ("no row is lost or made up", run.balances, counted, "it declares any number of rows"),
        ("the rows are those that are wanted", run.wanted, target.wanted is not None, "the target names none"),
        ("kinds, metadata and positions stay with their rows", run.together, True, ""),
        ("a batch that comes twice gives the same rows", run.twice, same, "it declares indeterminate rows"),
        ("rows are the same however they are cut into batches", run.cut, same, "it declares indeterminate rows"),
        (
            "values of key columns are kept exactly, and no row comes twice",
            run.keys,
            capabilities.keeps_keys and key is not None,
            "the target's table has no primary key" if capabilities.keeps_keys else "it declares no kept keys",
        ),
    ]
    findings = [
        tried(name, attempt) if promised else Finding(name, Verdict.NOT_PROMISED, why)
        for name, attempt, promised, why in properties
    ]
    guarantee = f"{capabilities.determinism.name.lower()} rows, {capabilities.cardinality}"
    return Report(target.factory.name, guarantee, tuple(findings))


class _Applying:
    def __init__(self, target: TransformTarget, capabilities: TransformCapabilities) -> None:
        self.target, self.capabilities = target, capabilities
        self.all = range(len(target.rows))

    def apply(self, batch: Batch) -> _Seen:
        """Apply a new transform, as another worker would."""
        transform = self.target.transform()[0]
        output = transform.output()
        known = {one.path: one for one in (output, *transform.side_outputs()) if one is not None}
        given = OutputChecker(f"apply of {type(transform).__name__}", known.values())
        seen = _Seen()
        try:
            for item in expect_iterable(f"apply of {type(transform).__name__}", transform.apply(batch)):
                given.element(item, (Batch, Rejected))
                if isinstance(item, Rejected):
                    seen.rejected += item.data.num_rows
                elif item.table not in known:
                    raise BrokenPropertyError(f"rows of {item.table}, which neither output nor side_outputs announces")
                else:
                    seen.rows += self._rows(item)
        except BadRowsError:
            return _Seen(rejected=batch.rows, whole=batch.rows > 1)
        finally:
            transform.close()
        return seen

    def _rows(self, batch: Batch) -> list[_Out]:
        if (batch.start, batch.end) != (BEGIN, END):
            raise BrokenPropertyError(
                f"the batch comes out with the positions {batch.start}, {batch.end} instead of its own"
            )
        numbers: list[int | None] = [None] * batch.rows
        if NUMBER in batch.metadata:
            numbers = batch.metadata[NUMBER].to_pylist()
        kinds = [RowKind.INSERT] * batch.rows if batch.kinds is None else list(map(RowKind, batch.kinds.to_pylist()))
        values = [tuple(map(repr, row.values())) for row in batch.data.to_pylist()]
        return [_Out(*one) for one in zip(numbers, [batch.table] * batch.rows, kinds, values, strict=True)]

    def whole(self) -> _Seen:
        """All rows in one batch; if it is refused as a whole, only the rows that are accepted alone."""
        seen = self.apply(self.target.batch(self.all))
        if not seen.whole:
            return seen
        good = [place for place in self.all if not self.apply(self.target.batch([place])).rejected]
        if len(good) == len(self.all):
            raise BrokenPropertyError("it refuses a batch, but none of its rows alone")
        seen = self.apply(self.target.batch(good))
        if seen.whole:
            raise BrokenPropertyError("it refuses a batch of rows that it takes one by one")
        seen.rejected += len(self.all) - len(good)
        return seen

    def fits(self) -> None:
        self.whole()

    def empty(self) -> None:
        seen = self.apply(self.target.batch([]))
        if seen.rows or seen.rejected:
            raise BrokenPropertyError(f"{len(seen.rows) + seen.rejected} rows come out of none")

    def balances(self) -> None:
        seen, given = self.whole(), len(self.all)
        out = len(seen.rows) + seen.rejected
        if out > given or (out < given and self.capabilities.cardinality is Cardinality.ONE_TO_ONE):
            raise BrokenPropertyError(
                f"{given} rows went in, {len(seen.rows)} came out and {seen.rejected} were refused"
            )

    def wanted(self) -> None:
        assert self.target.wanted is not None
        found = Counter(one.values for one in self.apply(self.target.batch(self.all, plain=True)).rows)
        wanted = Counter(tuple(map(repr, row)) for row in self.target.wanted())
        if found != wanted:
            lost, more = list((wanted - found).elements()), list((found - wanted).elements())
            first = f"; the first: {' | '.join((lost or more)[0])}"
            raise BrokenPropertyError(f"{len(lost)} of them are missing, {len(more)} others are there{first}")

    def together(self) -> None:
        for one in self.whole().rows:
            if one.number is None:
                raise BrokenPropertyError("metadata of the batch are lost")
            if not self.target.new_kinds and one.kind is not self.target.kind(one.number):
                wanted = self.target.kind(one.number).short
                raise BrokenPropertyError(f"row {one.number} went in as {wanted} and comes out as {one.kind.short}")

    def twice(self) -> None:
        self._same(self.whole().rows, self.whole().rows, "when the batch comes again")

    def cut(self) -> None:
        alone = [row for place in self.all for row in self.apply(self.target.batch([place])).rows]
        self._same(self.whole().rows, alone, "one by one")

    def _same(self, first: list[_Out], second: list[_Out], when: str) -> None:
        ordered = self.capabilities.determinism is Determinism.DETERMINATE and not self._several
        if (first != second) if ordered else (Counter(first) != Counter(second)):
            odd = next((one for one in second if one not in first), None) or next(iter(second or first))
            raise BrokenPropertyError(
                f"{len(second)} rows {when} instead of {len(first)}, or other ones: {' | '.join(odd.values)}"
            )

    @property
    def _several(self) -> bool:
        """True if the rows go to several tables: the order between tables is not promised."""
        return bool(self.target.transform()[0].side_outputs())

    def keys(self) -> None:
        key, output = self.target.table.primary_key, self.target.transform()[0].output()
        if key is None or output is None:
            return
        renamed = output.primary_key
        names = key.columns if renamed is None or len(renamed.columns) != len(key.columns) else renamed.columns
        gone = [name for name in names if name not in output.names]
        if gone:
            raise BrokenPropertyError(f"key columns are gone: {', '.join(gone)}")
        places = [output.names.index(name) for name in names]
        before = [self.target.table.names.index(name) for name in key.columns]
        found = [one for one in self.whole().rows if one.table == output.path]
        for one in found:
            wanted = None if one.number is None else self.target.rows[one.number]
            if wanted is not None and [one.values[at] for at in places] != [repr(wanted[at]) for at in before]:
                raise BrokenPropertyError(
                    f"row {one.number} has another key: {', '.join(one.values[at] for at in places)}"
                )
        again = [number for number, times in Counter(one.number for one in found).items() if times > 1]
        if again:
            raise BrokenPropertyError(
                f"row {again[0]} comes out {Counter(one.number for one in found)[again[0]]} times"
            )
