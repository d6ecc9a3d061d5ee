"""Two tables in memory, for comparisons: sources of the public interface, whose rows may depend on the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from seatunnel_py.api import (
    BIGINT,
    PLAIN_READ,
    STRING,
    Batch,
    Column,
    Element,
    Position,
    PrimaryKey,
    ReadContext,
    Reader,
    Rejected,
    Source,
    SourceTable,
    Split,
    StoredRows,
    TablePath,
    TableSchema,
)
from seatunnel_py.reconcile.column_forms import column_pairs
from seatunnel_py.reconcile.comparisons import RowPath, TableComparison, TargetRows

Row = tuple[Any, ...]
SCHEMA = TableSchema(
    TablePath.parse("shop.orders"),
    (Column("id", BIGINT, nullable=False), Column("note", STRING), Column("part", STRING)),
    PrimaryKey(("id",)),
)
TARGET = TargetRows("shop.orders", "there.orders", (), ("shop.orders",))


@dataclass(frozen=True)
class ListedRows(Source):
    """Rows that a function lists at the moment of reading, in batches of ``size``."""

    rows: Callable[[], Sequence[Row]]
    size: int = 3
    schema: TableSchema = SCHEMA
    unreadable: int = 0
    reads: list[int] = field(default_factory=list)

    def tables(self) -> Sequence[SourceTable]:
        return [SourceTable(self.schema)]

    def reader(self, table: SourceTable) -> Reader:
        return _ListReader(self)


class _ListReader(Reader):
    def __init__(self, source: ListedRows) -> None:
        self.source = source

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        rows = list(self.source.rows())
        self.source.reads.append(len(rows))
        arrow = self.source.schema.arrow()
        if self.source.unreadable:
            raw = pa.RecordBatch.from_pydict({"raw": [b"?"] * self.source.unreadable})
            yield Rejected(split.table, raw, ("damaged",) * self.source.unreadable)
        for first in range(0, len(rows), self.source.size):
            columns = zip(*rows[first : first + self.source.size], strict=True)
            arrays = [pa.array(column, kind.type) for column, kind in zip(columns, arrow, strict=True)]
            yield Batch(split.table, pa.RecordBatch.from_arrays(arrays, schema=arrow))


def comparison(
    source: Source,
    target: Source,
    *,
    follows: bool = False,
    key: tuple[str, ...] = ("id",),
    schema: TableSchema = SCHEMA,
) -> TableComparison:
    """The comparison of two such tables; without a key whole rows are compared."""
    names = {name: name for name in schema.names}
    pairs = column_pairs(schema, schema, names)
    path = RowPath(source, SourceTable(schema), (), schema)
    stored = StoredRows(target, SourceTable(schema), names)
    return TableComparison(
        "shop.orders", "there.orders", (path,), (pairs,), stored, key or schema.names, bool(key), follows
    )
