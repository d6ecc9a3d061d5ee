"""Reads a SQLite file in the order of its row ids, so that a reader can resume after any row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from seatunnel_connectors.jdbc.dialect import Snapshot
from seatunnel_connectors.jdbc.source.source import hints_of, range_of, rows_planned
from seatunnel_connectors.jdbc.source.splits import Probe, as_plain, even_bounds
from seatunnel_connectors.jdbc.sqlite.describe import row_id
from seatunnel_connectors.jdbc.sqlite.session import explained, literal, quote, sessions
from seatunnel_connectors.jdbc.sqlite.values import Moment, moment_of, to_column
from seatunnel_connectors.jdbc.target.set_aside import elements
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, Position, Rejected, SourceTable, Split

BATCH_ROWS = 10_000


def read(
    address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool = False
) -> Iterator[Batch | Rejected]:
    hints = hints_of(table)
    row = row_id(table.schema.names)
    by_row_id = bool(hints.pages)
    conditions = [f"({hints.where}\n)"] if hints.where else []
    if by_row_id:
        first, until = split.payload.get("first"), split.payload.get("until")
        if first is not None:
            conditions.append(f"{row} >= {int(str(first))}")
        if until is not None:
            conditions.append(f"{row} < {int(str(until))}")
        if start is not None:
            conditions.append(f"{row} > {int(str(start.value['after']))}")
    elif hints.key and (condition := range_of(split).condition(quote(hints.key), literal)):
        conditions.append(condition)
    columns = ", ".join(expression for _, expression in hints.columns)
    sql = f"SELECT {columns}{f', {row}' if by_row_id else ''} FROM {hints.relation}"
    if conditions:
        sql += " WHERE " + " AND ".join(conditions)
    if by_row_id:
        sql += f" ORDER BY {row}"
    what = f"reading table {table.schema.path}, split {split.id}"
    moment = moment_of(address.parameters.get("date_class", ""), address.parameters.get("date_precision", ""))
    with explained(what), sessions(address, writing=False) as session:
        cursor = session.db.execute(sql)
        try:
            yield from _batches(cursor, table, by_row_id, start, what, moment, tolerant)
        except GeneratorExit:
            return
        finally:
            cursor.close()


def _batches(
    cursor: sqlite3.Cursor, table: SourceTable, by_row_id: bool, start: Position | None, what: str, moment: Moment,
    tolerant: bool,
) -> Iterator[Batch | Rejected]:  # fmt: skip
    names, schema = table.schema.names, table.schema.arrow()
    begin = start
    while rows := cursor.fetchmany(BATCH_ROWS):

        def make(first: int, length: int, rows: list[Any] = rows) -> pa.RecordBatch:
            values = list(zip(*rows[first : first + length], strict=True))
            arrays = [
                to_column(values[at], column.dtype, column.name, moment)
                for at, column in enumerate(table.schema.columns)
            ]
            return pa.RecordBatch.from_arrays(arrays, schema=schema)

        def row(at: int, rows: list[Any] = rows) -> dict[str, Any]:
            return dict(zip(names, rows[at], strict=False))

        end = Position({"after": as_plain(rows[-1][-1])}) if by_row_id else None
        yield from elements(
            table.schema.path, len(rows), make, row, start=begin, end=end, tolerant=tolerant, what=what,
            remedy="correct the value, or cast the column with `query`",
        )  # fmt: skip
        begin = end


class SqliteSnapshot(Snapshot):
    """Answers queries about keys. Connections cannot share a view of the file, so each split reads the file as of its
    own start."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def probe(self, table: SourceTable, column: str) -> Probe:
        return _SqliteKeyProbe(self, table, column)

    def count(self, table: SourceTable) -> int:
        return int(self.ask(f"SELECT count(*) FROM {hints_of(table).source}")[0][0])

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        with explained(f"dividing a table of {self.address.path}"), sessions(self.address, writing=False) as session:
            return session.ask(sql)

    def close(self) -> None:
        return None


class _SqliteKeyProbe(Probe):
    def __init__(self, snapshot: SqliteSnapshot, table: SourceTable, column: str) -> None:
        self.snapshot = snapshot
        self.hints = hints_of(table)
        self.dtype = next(one.dtype for one in table.schema.columns if one.name == column)
        self.name = column
        self.column = quote(column)

    def bounds(self) -> tuple[Any, Any]:
        found = self.snapshot.ask(f"SELECT min({self.column}), max({self.column}) FROM {self.hints.source}")[0]
        parameters = self.snapshot.address.parameters
        moment = moment_of(parameters.get("date_class", ""), parameters.get("date_precision", ""))
        low, high = to_column(list(found), self.dtype, self.name, moment).to_pylist()
        return low, high

    def quantiles(self, parts: int, *, exact: bool) -> list[Any]:
        where = f"({self.hints.where}\n) AND " if self.hints.where else ""
        found = self.snapshot.ask(
            f"SELECT min(k) FROM (SELECT {self.column} AS k, ntile({parts}) OVER (ORDER BY {self.column}) AS part "
            f"FROM {self.hints.relation} WHERE {where}{self.column} IS NOT NULL) GROUP BY part ORDER BY part"
        )
        return [value for (value,) in found[1:]]


def row_id_ranges(table: SourceTable, parts: int) -> list[Split]:
    """Ranges between the smallest and the largest row id; the hints hold their distance as ``pages``."""
    low = int(table.schema.options["rowid_low"])
    bounds = even_bounds(low, low + hints_of(table).pages - 1, parts)
    edges = [None, *bounds, None]
    rows = rows_planned(table)
    share = None if rows is None else max(1, rows // (len(edges) - 1))
    return [
        Split(f"{table.schema.path}#{at}", table.schema.path, {"first": edges[at], "until": edges[at + 1]}, share)
        for at in range(len(edges) - 1)
    ]
