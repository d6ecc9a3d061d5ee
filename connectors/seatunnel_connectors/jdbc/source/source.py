"""Defines the Jdbc source: tables looked up together, splits by key range or place, readers that resume by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from seatunnel_connectors.jdbc.dataset_names import table_dataset
from seatunnel_connectors.jdbc.dialect import Snapshot, SourceDialect, dialect_of
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.source.condition import condition_of
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.source.splits import KeyRange, key_ranges, parts_wanted
from seatunnel_connectors.jdbc.source.table_request import Partition, reads_query, requests_of
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    PLAIN_READ,
    Dataset,
    Element,
    Enumerator,
    FatalError,
    JobRegistry,
    NativeForm,
    NativeReader,
    NativeSource,
    Plain,
    Position,
    ReadContext,
    Reader,
    RowSelection,
    Source,
    SourceTable,
    Split,
)


@dataclass(frozen=True, slots=True)
class Hints:
    """A dialect's knowledge of a table beyond its schema; travels as plain data in ``SourceTable.hints``.

    ``relation`` follows FROM; ``columns`` pairs each column with its SELECT expression. ``key`` is the column for
    ranges; ``ordered``: it is unique and reading in its order costs nothing, so a reader can resume after a key.
    ``pages`` is the size on disk for splits by place; ``sampled``: the relation can be sampled by blocks. ``fulls`` are
    the columns' types in the database's own words, with their modifiers. ``guess`` is the number of rows to plan with
    if none were counted or sampled (0: unknown).
    """

    relation: str
    columns: tuple[tuple[str, str], ...]
    where: str = ""
    key: str = ""
    ordered: bool = False
    pages: int = 0
    sampled: bool = False
    count: bool = False
    fulls: tuple[str, ...] = ()
    guess: int = 0
    partition: Partition = field(default_factory=Partition)

    @property
    def source(self) -> str:
        """Text after FROM, with the table's own condition if it has one."""
        return f"{self.relation} WHERE ({self.where}\n)" if self.where else self.relation

    def to_plain(self) -> dict[str, Plain]:
        part = self.partition
        return {
            "relation": self.relation,
            "columns": [list(pair) for pair in self.columns],
            "where": self.where,
            "key": self.key,
            "ordered": self.ordered,
            "pages": self.pages,
            "sampled": self.sampled,
            "count": self.count,
            "fulls": list(self.fulls),
            "guess": self.guess,
            "partition": [part.column, part.number, part.lower, part.upper, part.limits],
        }


def hints_of(table: SourceTable) -> Hints:
    """Parse the result of ``Hints.to_plain``."""
    data = cast("dict[str, Any]", dict(table.hints))
    data["columns"] = tuple((name, expression) for name, expression in data["columns"])
    data["fulls"] = tuple(data.get("fulls", ()))
    data.pop("natives", None)  # an older version stored the types without their modifiers
    data["partition"] = Partition(*data["partition"])
    return Hints(**data)


def rows_planned(table: SourceTable) -> int | None:
    """Number of rows to plan splits and units for."""
    guess = table.hints.get("guess")
    return table.rows if table.rows is not None or not guess else int(str(guess))


def _as_measured(found: Found) -> Found:
    """Drop the row count of tables with a condition: the number of selected rows is unknown."""
    if not isinstance(found, SourceTable) or not hints_of(found).where:
        return found
    guess = rows_planned(found) or 0
    return replace(found, rows=None, hints={**found.hints, "guess": guess})


@dataclass(frozen=True, slots=True)
class JdbcSource(Source, NativeSource):
    """One Jdbc entry of a job file."""

    address: Address
    options: JdbcSourceOptions
    parallelism: int = 1
    registry: JobRegistry = field(default_factory=JobRegistry, compare=False, repr=False)

    def tables(self) -> Sequence[Found]:
        found = dialect_of(self.address).describe(self.address, requests_of(self.options), self.options)
        return [_as_measured(one) for one in found]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return JdbcEnumerator(self, tables)

    def reader(self, table: SourceTable) -> Reader:
        return JdbcReader(self.address, table)

    def datasets(self, table: SourceTable) -> Sequence[Dataset]:
        if reads_query(self.options, table.schema.path):
            return ()  # it may read any number of tables, and its columns have other names
        return (table_dataset(self.address, table.schema.path),)

    def current_rows(self) -> Source:
        # One statement reads a table, so that its rows are of one moment where the database has such. A copy of a log
        # is a source of another class, which would mark or claim the log.
        return JdbcSource(self.address, self.options.model_copy(update={"concurrent_read": False}))

    def filtered(self, table: SourceTable, rows: RowSelection) -> SourceTable | None:
        hints = hints_of(table)
        conditions = [hints.where] if hints.where else []
        if rows.condition:
            conditions.append(condition_of(f"where {rows.condition}"))
        if rows.column:
            listed = dialect_of(self.address).is_one_of(rows.column, rows.values)
            if not listed:
                return None
            conditions.append(listed)
        return replace(table, hints=replace(hints, where="\n) AND (".join(conditions)).to_plain())

    def blocked_by(self) -> Sequence[str]:
        return dialect_of(self.address).blocked_by(self.address)

    def at_work(self, seconds: float) -> Sequence[str] | None:
        return dialect_of(self.address).at_work(self.address, seconds)

    def native_form(self, table: SourceTable) -> NativeForm | None:
        return dialect_of(self.address).native_form(table)

    def native_reader(self, table: SourceTable) -> NativeReader:
        return dialect_of(self.address).native_reader(self.address, table)


class JdbcEnumerator(Enumerator):
    """Divides tables. A table with one split needs no query; tables with several share one snapshot, which is kept
    until ``close`` so that all their rows are of the same moment."""

    def __init__(self, source: JdbcSource, tables: Sequence[SourceTable]) -> None:
        self.source = source
        self.all = tuple(tables)
        self.tables = list(tables)
        self.dialect: SourceDialect = dialect_of(source.address)
        self.kept: Snapshot | None = None

    def discover(self) -> Iterable[Split]:
        tables, self.tables = self.tables, []
        return [split for table in tables for split in self._divide(table)]

    def renew(self, splits: Sequence[Split]) -> Sequence[Split]:
        if not any(split.generation for split in splits):
            return splits
        generation = self._snapshot().generation
        return [
            replace(split, payload={**split.payload, "snapshot": generation}, generation=generation)
            if split.generation
            else split
            for split in splits
        ]

    def close(self) -> None:
        if self.kept is not None:
            self.kept.close()
            self.kept = None

    def _snapshot(self) -> Snapshot:
        if self.kept is None:
            self.kept = self.open_snapshot()
        return self.kept

    def open_snapshot(self) -> Snapshot:
        """Open a snapshot of the tables, which splits share."""
        return self.dialect.snapshot(self.source.address, self.all, self.source.registry)

    def _divide(self, table: SourceTable) -> list[Split]:
        hints = hints_of(table)
        rows = self._snapshot().count(table) if hints.count else rows_planned(table)
        parts = hints.partition.number
        if not self.source.options.concurrent_read:
            parts = 1
        elif parts is None:
            parts = parts_wanted(rows, table.bytes, self.source.options, self.source.parallelism)
        whole = [Split(f"{table.schema.path}#0", table.schema.path, {}, rows, table.bytes)]
        if parts <= 1 and not hints.partition.limits:
            return whole
        if hints.pages and not hints.partition.column:
            places = self.dialect.physical_splits(table, parts, self._snapshot().generation)
            if places:
                return places
        return self._by_key(table, hints, rows, parts) if hints.key else whole

    def _by_key(self, table: SourceTable, hints: Hints, rows: int | None, parts: int) -> list[Split]:
        column = table.schema.column(hints.key)
        assert column is not None
        snapshot = self._snapshot()
        try:
            ranges = key_ranges(
                column.dtype, parts, rows, column.nullable, hints.partition, self.source.options,
                snapshot.probe(table, hints.key),
            )  # fmt: skip
        except ValueError as error:
            raise FatalError(f"table {table.schema.path}: {error}", "correct the partition options") from None
        share = None if rows is None else max(1, rows // len(ranges))
        size = None if table.bytes is None else table.bytes // len(ranges)
        return [
            Split(
                f"{table.schema.path}#{at}",
                table.schema.path,
                {**_ends(part), "nulls": part.nulls, "snapshot": snapshot.generation},
                share,
                size,
                generation=snapshot.generation,
            )
            for at, part in enumerate(ranges)
        ]


def _ends(part: KeyRange) -> dict[str, Plain]:
    """The ends of a range as stored in a split; a limit only if there is one."""
    limits = {name: text for name, text in (("floor", part.floor), ("ceiling", part.ceiling)) if text is not None}
    return {"low": part.low, "high": part.high, **limits}


def range_of(split: Split) -> KeyRange:
    """The key range of a split; a split without one has open ends."""
    ends = {name: split.payload.get(name) for name in ("low", "high", "floor", "ceiling")}
    texts = {name: None if end is None else str(end) for name, end in ends.items()}
    return KeyRange(**texts, nulls=bool(split.payload.get("nulls")))


class JdbcReader(Reader):
    """Reads splits through the dialect; keeps nothing between two of them."""

    def __init__(self, address: Address, table: SourceTable) -> None:
        self.address = address
        self.table = table

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        return dialect_of(self.address).read(self.address, self.table, split, start, tolerant=context.tolerant)
