"""A source that is read as other workers would read it: with what a checkpoint remembers, and what it promises then."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.api.batch import STATE_BYTES_MAX, Batch, Element, Position
from seatunnel_py.api.capabilities import Determinism, SourceCapabilities
from seatunnel_py.api.factory import JobMode, SourceFactory, StepContext
from seatunnel_py.api.source import PLAIN_READ, Reader, Source, SourceTable, Split, TableFailure, read_with
from seatunnel_py.api.types import to_arrow
from seatunnel_py.testing.findings import Broken
from seatunnel_py.testing.given_options import resolved
from seatunnel_py.work.rows.plugin_checks import Given, several
from seatunnel_py.work.rows.positions import Positions, state_bytes

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SourceTarget:
    """A source's factory with its options as a job file has them. ``rows``, where given, is a side door: every row that
    the external system holds by now, over all tables.

    Of a stream: ``streaming`` says that the job is one (``job.mode``), ``more`` puts further rows there, into splits
    that are there and into new ones, and ``quiet`` seconds without a row mean that there is nothing for now. A stream
    that is not quiet within ``limit_seconds`` or ``rows_max`` rows is not held still, and nothing can be tried.

    ``disturb`` changes rows as others would: those of a source that is not indeterminate stay what they were."""

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
    """All tables of a source. Raises Broken where it cannot describe one of those that it is tried with."""
    found: list[SourceTable] = []
    for table in source.tables():
        if isinstance(table, TableFailure):
            raise Broken(f"table {table.path} cannot be described: {table.message}")
        if isinstance(table, SourceTable):
            found.append(table)
    return found


class Reading:
    def __init__(self, target: SourceTarget) -> None:
        self.target = target
        self.source, self.capabilities = target.source()
        self.tables = {table.schema.path: table for table in tables_of(self.source)}
        self.enumerator = self.source.enumerator(list(self.tables.values()), None)
        self.splits = tuple(self.enumerator.discover())
        self.largest_position = 0

    def read(self, split: Split, start: Position | None = None, wanted: int = 0) -> list[Batch]:
        """Its batches. A stream is read until ``wanted`` rows have come, or nothing more for now."""
        return [element for element in self.elements(split, start) if isinstance(element, Batch)]

    def elements(self, split: Split, start: Position | None = None) -> Iterator[Element]:
        """Through a source and a reader of its own, as another worker would, with what a checkpoint remembers."""
        reader, split, start = self.opened(split, start)
        given = Given(f"read of {type(self.source).__name__}", ())
        positions = Positions(f"read of {type(self.source).__name__}", start)
        try:
            for element in several(f"read of {type(reader).__name__}", read_with(reader, split, start, PLAIN_READ)):
                given.element(element)
                positions.passed(element)
                self.largest_position = max(self.largest_position, positions.largest)
                yield element
        finally:
            reader.close()

    def opened(self, split: Split, start: Position | None) -> tuple[Reader, Split, Position | None]:
        """A reader of another worker, and what it is told."""
        source: Source = pickle.loads(pickle.dumps(self.source))
        split = replace(split, payload=remembered(f"the payload of split {split.id}", split.payload))
        begin = start and Position.of(remembered("a position", start.to_plain()))
        return source.reader(self.tables[split.table]), split, begin

    def stable(self) -> None:
        ids = [split.id for split in self.splits]
        if len(set(ids)) < len(ids):
            raise Broken("two splits have one id")
        other = self.target.source()[0]
        again = other.enumerator(tables_of(other), None)
        try:
            if sorted(split.id for split in again.discover()) != sorted(ids):
                raise Broken("a second enumerator names its splits otherwise")
        finally:
            again.close()
        remembered("the snapshot of the enumerator", self.enumerator.snapshot())
        if self.capabilities.bounded and tuple(self.enumerator.discover()):
            raise Broken("a bounded source finds more splits the second time")

    def whole(self) -> None:
        found = Counter(row for split in self.splits for row in rows(self.read(split)))
        self.are_all(found)

    def are_all(self, found: Counter[tuple[str, ...]], by: str = "") -> None:
        """Raises Broken where these are not the rows that are there by now; ``by`` whom they were read, for people."""
        assert self.target.rows is not None
        wanted = Counter(tuple(map(repr, row)) for row in self.target.rows())
        if found != wanted:
            raise Broken(f"{(wanted - found).total()} rows are lost, {(found - wanted).total()} are too many{by}")

    def fits(self) -> None:
        for split in self.splits:
            table: SourceTable = self.tables[split.table]
            wanted = [(column.name, to_arrow(column.dtype)) for column in table.schema.columns]
            for batch in self.read(split):
                if batch.table != split.table:
                    raise Broken(f"split {split.id}: rows of {batch.table} instead of {split.table}")
                found = [(field.name, field.type) for field in batch.data.schema]
                if found != wanted:
                    raise Broken(f"split {split.id}: {found} instead of {wanted}")
                Given(f"read of {type(self.source).__name__}", [table.schema]).element(batch)

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
        """Rows behind a position stay what they are, while others write there."""
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
        """How large a split's state is, for people. Raises Broken where it is larger than a job allows."""
        payload = max((state_bytes(split.payload) for split in self.splits), default=0)
        if payload > STATE_BYTES_MAX:
            raise Broken(f"a payload of {payload:,} bytes; {STATE_BYTES_MAX:,} are allowed")
        return f"the largest position takes {self.largest_position:,} bytes, the largest payload {payload:,}"

    def _same(self, split: Split, first: Rows, second: Rows, when: str) -> None:
        ordered = self.capabilities.determinism is Determinism.DETERMINATE
        if (first != second) if ordered else (Counter(first) != Counter(second)):
            raise Broken(f"split {split.id}: other rows {when} ({len(second)} instead of {len(first)})")


def remembered(what: str, plain: Any) -> Any:
    """As it comes back from a checkpoint: JSON holds no other kinds of values, and no keys but texts."""
    try:
        again = json.loads(json.dumps(plain))
    except (TypeError, ValueError) as error:
        raise Broken(f"no checkpoint can hold {what}: {error}") from error
    if again != _listed(plain):
        raise Broken(f"{what} comes back from a checkpoint as {again!r} instead of {plain!r}")
    return again


def _listed(plain: Any) -> Any:
    """Tuples may come back as lists."""
    if isinstance(plain, Mapping):
        return {key: _listed(value) for key, value in plain.items()}
    return [_listed(value) for value in plain] if isinstance(plain, list | tuple) else plain


def rows(batches: Sequence[Batch]) -> Rows:
    """Rows as texts, which can be compared whatever they hold."""
    return [tuple(map(repr, row.values())) for batch in batches for row in batch.data.to_pylist()]
