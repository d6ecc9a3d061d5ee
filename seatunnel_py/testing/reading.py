"""Reads a source as other workers would: with the state of a checkpoint. Then checks what the source promises."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.api.batch import Batch, Element, Position
from seatunnel_py.api.capabilities import Determinism, SourceCapabilities
from seatunnel_py.api.factory import JobMode, SourceFactory, StepContext
from seatunnel_py.api.plain_data import STATE_BYTES_MAX
from seatunnel_py.api.source import PLAIN_READ, Reader, Source, SourceTable, Split, TableFailure, read_with
from seatunnel_py.api.types import to_arrow
from seatunnel_py.testing.findings import BrokenPropertyError
from seatunnel_py.testing.given_options import resolved
from seatunnel_py.work.rows.plugin_checks import OutputChecker, expect_iterable
from seatunnel_py.work.rows.positions import Positions, state_bytes

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SourceTarget:
    """A source's factory with its options as in a job file. ``rows``, if given, is a side door: every row that the
    external system holds by now, over all tables.

    For a stream: ``streaming`` is true (``job.mode``), ``more`` adds rows, in existing splits and in new ones, and
    ``quiet`` seconds without a row mean that there are none for now. A stream that is not quiet within
    ``limit_seconds`` or ``rows_max`` rows cannot be tested: stop its other writers.

    ``disturb`` changes rows as other writers would: unless a source is indeterminate, rows read again must stay the
    same."""

    factory: SourceFactory[Any]
    options: Mapping[str, Any]
    rows: Callable[[], Sequence[tuple[Any, ...]]] | None = None
    more: Callable[[], None] | None = None
    streaming: bool = False
    quiet: float = 0.5
    limit_seconds: float = 30.0
    rows_max: int = 1_000_000
    disturb: Callable[[], None] | None = None

    def source(self) -> tuple[Source, SourceCapabilities]:
        """The source as the engine makes it: through a pickle."""
        options = resolved(self.factory, self.options)
        mode = JobMode.STREAMING if self.streaming else JobMode.BATCH
        context = StepContext("source", "conformance", mode=mode)
        made = self.factory.create(options, context)
        return pickle.loads(pickle.dumps(made)), self.factory.capabilities(options, context)


def tables_of(source: Source) -> list[SourceTable]:
    """All tables of a source. Raises Broken if it cannot describe one of the tables under test."""
    found: list[SourceTable] = []
    for table in source.tables():
        if isinstance(table, TableFailure):
            raise BrokenPropertyError(f"table {table.path} cannot be described: {table.message}")
        if isinstance(table, SourceTable):
            found.append(table)
    return found


class SourceReading:
    def __init__(self, target: SourceTarget) -> None:
        self.target = target
        self.source, self.capabilities = target.source()
        self.tables = {table.schema.path: table for table in tables_of(self.source)}
        self.enumerator = self.source.enumerator(list(self.tables.values()), None)
        self.splits = tuple(self.enumerator.discover())
        self.largest_position = 0

    def close(self) -> None:
        self.enumerator.close()

    def read(self, split: Split, start: Position | None = None, wanted: int = 0) -> list[Batch]:
        """Batches of a split. A stream is read until ``wanted`` rows have come, or until it is quiet."""
        return [element for element in self.elements(split, start) if isinstance(element, Batch)]

    def elements(self, split: Split, start: Position | None = None) -> Iterator[Element]:
        """Read with a new source and reader, as another worker would, from the state of a checkpoint."""
        reader, split, start = self.opened(split, start)
        given = OutputChecker(f"read of {type(self.source).__name__}", ())
        positions = Positions(f"read of {type(self.source).__name__}", start)
        try:
            for element in expect_iterable(
                f"read of {type(reader).__name__}", read_with(reader, split, start, PLAIN_READ)
            ):
                given.element(element)
                positions.passed(element)
                self.largest_position = max(self.largest_position, positions.largest)
                yield element
        finally:
            reader.close()

    def opened(self, split: Split, start: Position | None) -> tuple[Reader, Split, Position | None]:
        """Open a reader as another worker would, and return its arguments."""
        source: Source = pickle.loads(pickle.dumps(self.source))
        split = replace(split, payload=remembered(f"the payload of split {split.id}", split.payload))
        begin = start and Position.of(remembered("a position", start.to_plain()))
        return source.reader(self.tables[split.table]), split, begin

    def stable(self) -> None:
        ids = [split.id for split in self.splits]
        if len(set(ids)) < len(ids):
            raise BrokenPropertyError("two splits have one id")
        other = self.target.source()[0]
        again = other.enumerator(tables_of(other), None)
        try:
            if sorted(split.id for split in again.discover()) != sorted(ids):
                raise BrokenPropertyError("a second enumerator names its splits otherwise")
        finally:
            again.close()
        remembered("the snapshot of the enumerator", self.enumerator.snapshot())
        if self.capabilities.bounded and tuple(self.enumerator.discover()):
            raise BrokenPropertyError("a bounded source finds more splits the second time")

    def whole(self) -> None:
        found = Counter(row for split in self.splits for row in rows(self.read(split)))
        self.are_all(found)

    def are_all(self, found: Counter[tuple[str, ...]], by: str = "") -> None:
        """Raise Broken unless these are exactly the rows that exist by now; ``by`` names the reader, for the
        message."""
        assert self.target.rows is not None
        wanted = Counter(tuple(map(repr, row)) for row in self.target.rows())
        if found != wanted:
            raise BrokenPropertyError(
                f"{(wanted - found).total()} rows are lost, {(found - wanted).total()} are too many{by}"
            )

    def fits(self) -> None:
        for split in self.splits:
            table: SourceTable = self.tables[split.table]
            wanted = [(column.name, to_arrow(column.dtype)) for column in table.schema.columns]
            for batch in self.read(split):
                if batch.table != split.table:
                    raise BrokenPropertyError(f"split {split.id}: rows of {batch.table} instead of {split.table}")
                found = [(field.name, field.type) for field in batch.data.schema]
                if found != wanted:
                    raise BrokenPropertyError(f"split {split.id}: {found} instead of {wanted}")
                OutputChecker(f"read of {type(self.source).__name__}", [table.schema]).element(batch)

    def twice(self) -> None:
        for split in self.splits:
            first = rows(self.read(split))
            self._same(split, first, rows(self.read(split, None, len(first))), "the second time")

    def resumes(self) -> None:
        for split in self.splits:
            batches = self.read(split)
            for at, batch in enumerate(batches):
                if batch.end is not None:
                    wanted = rows(batches[at + 1 :])
                    rest = rows(self.read(split, batch.end, len(wanted)))
                    self._same(split, wanted, rest, f"behind {batch.end.value}")

    def undisturbed(self) -> None:
        """Check that rows after a position stay the same while other writers change rows."""
        assert self.target.disturb is not None
        before = {split.id: self.read(split) for split in self.splits}
        self.target.disturb()
        for split in self.splits:
            batches = before[split.id]
            self._same(split, rows(batches), rows(self.read(split)), "after others have written there")
            for at, batch in enumerate(batches):
                if batch.end is not None:
                    rest = rows(self.read(split, batch.end))
                    when = f"behind {batch.end.value}, after others have written there"
                    self._same(split, rows(batches[at + 1 :]), rest, when)

    def sizes(self) -> str:
        """Describe the size of a split's state. Raises Broken if it is larger than a job allows."""
        payload = max((state_bytes(split.payload) for split in self.splits), default=0)
        if payload > STATE_BYTES_MAX:
            raise BrokenPropertyError(f"a payload of {payload:,} bytes; {STATE_BYTES_MAX:,} are allowed")
        return f"the largest position takes {self.largest_position:,} bytes, the largest payload {payload:,}"

    def _same(self, split: Split, first: Rows, second: Rows, when: str) -> None:
        ordered = self.capabilities.determinism is Determinism.DETERMINATE
        if (first != second) if ordered else (Counter(first) != Counter(second)):
            raise BrokenPropertyError(f"split {split.id}: other rows {when} ({len(second)} instead of {len(first)})")


def remembered(what: str, plain: Any) -> Any:
    """Convert a value as a checkpoint does: JSON supports no other kinds of values, and only texts as keys."""
    try:
        again = json.loads(json.dumps(plain))
    except (TypeError, ValueError) as error:
        raise BrokenPropertyError(f"no checkpoint can hold {what}: {error}") from error
    if again != _listed(plain):
        raise BrokenPropertyError(f"{what} comes back from a checkpoint as {again!r} instead of {plain!r}")
    return again


def _listed(plain: Any) -> Any:
    """Convert tuples to lists, as they may come back so."""
    if isinstance(plain, Mapping):
        return {key: _listed(value) for key, value in plain.items()}
    return [_listed(value) for value in plain] if isinstance(plain, list | tuple) else plain


def rows(batches: Sequence[Batch]) -> Rows:
    """Rows as texts, which are comparable whatever their types."""
    return [tuple(map(repr, row.values())) for batch in batches for row in batch.data.to_pylist()]
