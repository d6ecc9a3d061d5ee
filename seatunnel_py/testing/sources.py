"""What a source promises, tried."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.api.batch import Batch, Position
from seatunnel_py.api.capabilities import Determinism, SourceCapabilities
from seatunnel_py.api.factory import SourceFactory, StepContext
from seatunnel_py.api.source import Source, SourceTable, Split
from seatunnel_py.api.types import to_arrow
from seatunnel_py.testing.findings import Broken, Finding, Report, Verdict, tried
from seatunnel_py.work.given import Given

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SourceTarget:
    """A source's factory with its options as a job file has them. ``rows``, where given, is a side door: every row that
    the external system holds, over all tables."""

    factory: SourceFactory[Any]
    options: Mapping[str, Any]
    rows: Callable[[], Sequence[tuple[Any, ...]]] | None = None

    def source(self) -> tuple[Source, SourceCapabilities]:
        """The source as the engine makes it: through a pickle."""
        options = self.factory.options.model_validate(dict(self.options), context={"job_file": True})
        context = StepContext("source", "conformance")
        made = self.factory.create(options, context)
        return pickle.loads(pickle.dumps(made)), self.factory.capabilities(options, context)


def check_source(target: SourceTarget) -> Report:
    """Try everything that a bounded source promises."""
    capabilities = target.source()[1]
    read = _Reading(target)
    again = capabilities.replayable and capabilities.determinism > Determinism.INDETERMINATE
    properties: list[tuple[str, Callable[[], None], bool]] = [
        ("splits have ids that stay the same", read.stable, True),
        ("every row is read once", read.whole, target.rows is not None),
        ("batches are what the schema says", read.fits, True),
        ("a split that is read twice gives the same rows", read.twice, again),
        ("behind every position exactly the rest is read", read.resumes, again),
    ]
    findings = [
        tried(name, attempt) if promised else Finding(name, Verdict.NOT_PROMISED)
        for name, attempt, promised in properties
    ]
    return Report(target.factory.name, f"{capabilities.determinism.name.lower()} rows", tuple(findings))


class _Reading:
    def __init__(self, target: SourceTarget) -> None:
        self.target = target
        self.source, self.capabilities = target.source()
        self.tables = {table.schema.path: table for table in self.source.tables()}
        self.enumerator = self.source.enumerator(list(self.tables.values()), None)
        self.splits = tuple(self.enumerator.discover())

    def read(self, split: Split, start: Position | None = None) -> list[Batch]:
        """Through a source and a reader of its own, as another worker would, with what a checkpoint remembers."""
        source: Source = pickle.loads(pickle.dumps(self.source))
        split = replace(split, payload=_remembered(f"the payload of split {split.id}", split.payload))
        reader = source.reader(self.tables[split.table])
        given = Given(f"read of {type(source).__name__}", ())
        found = []
        try:
            for element in reader.read(split, start and Position.of(_remembered("a position", start.to_plain()))):
                given.element(element)
                if isinstance(element, Batch):
                    found.append(element)
        finally:
            reader.close()
        return found

    def stable(self) -> None:
        ids = [split.id for split in self.splits]
        if len(set(ids)) < len(ids):
            raise Broken("two splits have one id")
        other = self.target.source()[0]
        again = other.enumerator(list(other.tables()), None)
        try:
            if sorted(split.id for split in again.discover()) != sorted(ids):
                raise Broken("a second enumerator names its splits otherwise")
        finally:
            again.close()
        _remembered("the snapshot of the enumerator", self.enumerator.snapshot())
        if self.capabilities.bounded and tuple(self.enumerator.discover()):
            raise Broken("a bounded source finds more splits the second time")

    def whole(self) -> None:
        assert self.target.rows is not None
        found = Counter(row for split in self.splits for row in rows(self.read(split)))
        wanted = Counter(tuple(map(repr, row)) for row in self.target.rows())
        if found != wanted:
            raise Broken(f"{(wanted - found).total()} rows are lost, {(found - wanted).total()} are too many")

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

    def twice(self) -> None:
        for split in self.splits:
            self._same(split, rows(self.read(split)), rows(self.read(split)), "the second time")

    def resumes(self) -> None:
        for split in self.splits:
            batches = self.read(split)
            for at, batch in enumerate(batches):
                if batch.end is not None:
                    rest = rows(self.read(split, batch.end))
                    self._same(split, rows(batches[at + 1 :]), rest, f"behind {batch.end.value}")

    def _same(self, split: Split, first: Rows, second: Rows, when: str) -> None:
        ordered = self.capabilities.determinism is Determinism.DETERMINATE
        if (first != second) if ordered else (Counter(first) != Counter(second)):
            raise Broken(f"split {split.id}: other rows {when} ({len(second)} instead of {len(first)})")


def _remembered(what: str, plain: Any) -> Any:
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
