"""Reads MySQL through ConnectorX: a query at a time, each on its own connection. See ``encrypted`` for those with TLS.

ConnectorX cannot be stopped in the middle of a result: its thread and the server's would wait forever. So rows in
primary key order are read in pages, always to the page's end. A page counts rows, not bytes: their width is taken from
the table's statistics, because 20,000 rows of 1 MB exceed a worker's memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import connectorx
import pyarrow as pa

from seatunnel_connectors.jdbc.dialect import PLANNED_ANEW, Snapshot
from seatunnel_connectors.jdbc.mysql.connection import text_conversion, types
from seatunnel_connectors.jdbc.mysql.connection.session import explained, literal, quote, reading_url, sessions
from seatunnel_connectors.jdbc.mysql.read import encrypted
from seatunnel_connectors.jdbc.source.source import Hints, hints_of, range_of, rows_planned
from seatunnel_connectors.jdbc.source.splits import Probe, as_plain
from seatunnel_connectors.jdbc.target.set_aside import elements
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, FatalError, Position, Rejected, RetriableError, SourceTable, Split

BATCH_ROWS = 20_000
BATCH_BYTES = 16 << 20
PAGE_ROWS = 100_000  # rows that may be read in vain when a unit ends
PAGE_BYTES = 64 << 20  # ConnectorX prefetches this much


def read(
    address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool = False
) -> Iterator[Batch | Rejected]:
    hints = hints_of(table)
    if encrypted.is_needed(address):
        hints = encrypted.in_all_digits(hints, table.schema)
    what = f"reading table {table.schema.path}, split {split.id}"
    page = rows_within(PAGE_BYTES, PAGE_ROWS, table)
    if not hints.ordered or split.payload.get("nulls"):
        for data in _query(address, _select(hints, split, None, page), table, what):
            yield from _elements(table, data, None, None, what, tolerant=tolerant)
        return
    key_at = table.schema.names.index(hints.key)
    begin = start
    while True:
        rows = 0
        for data in _query(address, _select(hints, split, begin, page), table, what):
            rows += data.num_rows
            end = Position({"after": as_plain(data.column(key_at)[-1].as_py())})
            yield from _elements(table, data, begin, end, what, tolerant=tolerant)
            begin = end
        if rows < page:
            return


def rows_within(size: int, most: int, table: SourceTable) -> int:
    """Number of the table's rows in about ``size`` bytes, at most ``most``."""
    rows = rows_planned(table)
    if not rows or not table.bytes:
        return most
    return max(1, min(most, size * rows // table.bytes))


def _select(hints: Hints, split: Split, after: Position | None, page: int) -> str:
    conditions = [f"({hints.where}\n)"] if hints.where else []
    key = quote(hints.key) if hints.key else ""
    if condition := range_of(split).condition(key, literal):
        conditions.append(condition)
    if after is not None:
        conditions.append(f"{key} > {literal(str(after.value['after']))}")
    columns = ", ".join(types.selected(expression, name) for name, expression in hints.columns)
    sql = f"SELECT {columns} FROM {hints.relation}"
    if conditions:
        sql += " WHERE " + " AND ".join(conditions)
    if hints.ordered and not split.payload.get("nulls"):
        sql += f" ORDER BY {key} LIMIT {page}"
    return sql


def _query(address: Address, sql: str, table: SourceTable, what: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one query as they come. A reader that is closed early reads the rest and drops it."""
    rows = rows_within(BATCH_BYTES, BATCH_ROWS, table)
    if encrypted.is_needed(address):
        yield from encrypted.batches(address, sql, rows, table.schema.arrow(), what)
        return
    batches = _batches(address, sql, rows, what)
    try:
        for found in batches:
            if found.num_rows:
                yield found
    except GeneratorExit:
        for _ in batches:
            pass
        raise


def _batches(address: Address, sql: str, rows: int, what: str) -> Iterator[pa.RecordBatch]:
    try:
        reader = connectorx.read_sql(
            reading_url(address), sql, return_type="arrow_stream", batch_size=rows, protocol="binary"
        )
    except BaseException as error:  # noqa: BLE001 - the library panics instead of raising; not all are Exceptions
        raise _failure(error, what) from None
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except BaseException as error:  # noqa: BLE001
            raise _failure(error, what) from None
        yield batch


def _failure(error: BaseException, what: str) -> BaseException:
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
        return error
    text = " ".join(str(error).split())[:500]
    lost = any(word in text for word in ("IO error", "IoError", "timed out", "Connection", "DriverError", "pool"))
    if lost:
        return RetriableError(f"{what}: {text}", "check that the server is up and can be reached")
    changed = any(code in text for code in ("ERROR 1054 ", "ERROR 1146 "))  # no such column, no such table
    return FatalError(f"{what}: {text}", PLANNED_ANEW if changed else "cast the column with `query`")


def _elements(
    table: SourceTable, found: pa.RecordBatch, start: Position | None, end: Position | None, what: str, *,
    tolerant: bool,
) -> Iterator[Batch | Rejected]:  # fmt: skip
    schema = table.schema.arrow()

    def make(first: int, length: int) -> pa.RecordBatch:
        part = found.slice(first, length)
        arrays = [text_conversion.from_wire(part.column(at), field.type, field.name) for at, field in enumerate(schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    return elements(
        table.schema.path, found.num_rows, make, lambda at: dict(found.slice(at, 1).to_pylist()[0]), start=start,
        end=end, tolerant=tolerant, what=what, remedy=f"replace the value with `query`; {PLANNED_ANEW}",
    )  # fmt: skip


class MysqlSnapshot(Snapshot):
    """Answers queries about keys. Readers cannot share a view: each split reads the table as of its own start."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def probe(self, table: SourceTable, column: str) -> Probe:
        return _MysqlKeyProbe(self, table, column)

    def count(self, table: SourceTable) -> int:
        return int(self.ask(f"SELECT count(*) FROM {hints_of(table).source}")[0][0])

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        with explained(f"dividing a table of {self.address.display}"), sessions(self.address) as session:
            return session.ask(sql)

    def close(self) -> None:
        return None


class _MysqlKeyProbe(Probe):
    def __init__(self, snapshot: MysqlSnapshot, table: SourceTable, column: str) -> None:
        self.snapshot = snapshot
        self.table = table
        self.hints = hints_of(table)
        self.column = quote(column)

    def bounds(self) -> tuple[Any, Any]:
        low, high = self.snapshot.ask(f"SELECT min({self.column}), max({self.column}) FROM {self.hints.source}")[0]
        return low, high

    def quantiles(self, parts: int, *, exact: bool) -> list[Any]:
        """One step through the index per split, by its target number of rows."""
        where = f"({self.hints.where}\n) AND " if self.hints.where else ""
        rows = rows_planned(self.table) or int(self.snapshot.ask(f"SELECT count(*) FROM {self.hints.source}")[0][0])
        step = max(1, rows // parts)
        found: list[Any] = []
        while len(found) < parts * 2:
            after = f"{self.column} > {literal(str(found[-1]))}" if found else f"{self.column} IS NOT NULL"
            row = self.snapshot.ask(
                f"SELECT {self.column} FROM {self.hints.relation} WHERE {where}{after} "
                f"ORDER BY {self.column} LIMIT 1 OFFSET {step}"
            )
            if not row:
                break
            found.append(row[0][0])
        return found
