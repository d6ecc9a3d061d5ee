"""Reading: one split is one binary COPY, in the order of its key where that costs nothing."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from seatunnel_connectors.jdbc.dialect import Snapshot
from seatunnel_connectors.jdbc.postgres import wire
from seatunnel_connectors.jdbc.postgres.session import (
    Rows,
    Statements,
    connect,
    explained,
    literal,
    quote,
    rows,
)
from seatunnel_connectors.jdbc.source import Hints, hints_of, range_of
from seatunnel_connectors.jdbc.splits import Probe, as_plain
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, FatalError, GenerationLost, Position, SourceTable, Split

BATCH_BYTES = 1 << 20  # measured (bench/README.md): a batch of this size stays in the cache on its way through

# ---------------------------------------------------------------- the statement


def statement(hints: Hints, split: Split, start: Position | None, *, native: bool = False) -> str:
    """The SELECT of one split after a position; ``native`` leaves every column in its own type."""
    conditions = [f"({hints.where}\n)"] if hints.where else []
    key = quote(hints.key) if hints.key else ""
    place = _place(split)
    if place:
        conditions.append(place)
    elif range_of(split).condition(key, literal):
        conditions.append(range_of(split).condition(key, literal))
    if start is not None:
        conditions.append(f"{key} > {literal(str(start.value['after']))}")
    columns = ", ".join(
        quote(name) if native or expression == quote(name) else f"{expression} AS {quote(name)}"
        for name, expression in hints.columns
    )
    sql = f"SELECT {columns} FROM {hints.relation}"
    if conditions:
        sql += " WHERE " + " AND ".join(conditions)
    return sql + (f" ORDER BY {key}" if _resumable(hints, split) else "")


def _place(split: Split) -> str:
    """Blocks of the table, half open like key ranges; the last has no end."""
    first, until = split.payload.get("first"), split.payload.get("until")
    parts = [] if first is None else [f"ctid >= '({first},0)'::tid"]
    if until is not None:
        parts.append(f"ctid < '({until},0)'::tid")
    return " AND ".join(parts)


def _resumable(hints: Hints, split: Split) -> bool:
    """Whether the split is read in the order of its unique key, so that it can be gone on with after any row."""
    return hints.ordered and not split.payload.get("nulls") and "first" not in split.payload


# ---------------------------------------------------------------- the reader


def read(address: Address, table: SourceTable, split: Split, start: Position | None) -> Iterator[Batch]:
    hints = hints_of(table)
    schema = table.schema.arrow()
    generation = str(split.payload.get("snapshot") or "")
    resumable = _resumable(hints, split)
    key_at = table.schema.names.index(hints.key) if resumable else -1
    what = f"reading table {table.schema.path}, split {split.id}"
    sql = statement(hints, split, start)
    with explained(what), rows(address) as connection:
        if generation:
            _join(connection, generation, table)
        begin = start
        copying = connection.copy(sql, BATCH_BYTES)
        try:
            for found in copying:
                if not found.num_rows:
                    continue
                data = _declared(found, schema, what)
                end = _after(data, key_at, generation) if resumable else None
                yield Batch(table.schema.path, data, end=end, start=begin)
                begin = end
        except GeneratorExit:
            # The unit's budget is spent, which is no failure: the connection stays good for the next one. The
            # statement also takes up a cancel that reached the server after the COPY had ended.
            copying.close()
            connection.run("ROLLBACK")
            return
        if generation:
            connection.run("COMMIT")


def _declared(found: pa.RecordBatch, schema: pa.Schema, what: str) -> pa.RecordBatch:
    try:
        return wire.from_wire(found, schema)
    except wire.ValueRefused as error:
        raise FatalError(f"{what}: {error}") from None


def _after(data: pa.RecordBatch, key_at: int, generation: str) -> Position:
    return Position({"after": as_plain(data.column(key_at)[-1].as_py())}, generation)


def join_snapshot(generation: str) -> str:
    """Statements that begin a transaction which sees what the exported snapshot saw."""
    return f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT {literal(generation)}"


def check_snapshot(error: Exception, generation: str, table: SourceTable) -> None:
    """GenerationLost if the error says that the snapshot is gone."""
    if generation and generation in str(error) and getattr(error, "sqlstate", "") in ("22023", "42704"):
        raise GenerationLost(
            f"table {table.schema.path}: the snapshot {generation} that it is read under is gone: "
            "the connection that held it has ended",
            "run the job again; the table is then read from its beginning",
            generation,
        ) from error


def _join(connection: Rows, generation: str, table: SourceTable) -> None:
    try:
        connection.run(join_snapshot(generation))
    except Exception as error:
        check_snapshot(error, generation, table)
        raise


def places(table: SourceTable, parts: int, generation: str) -> list[Split]:
    """Splits by ranges of blocks: even in bytes whatever the keys look like, and each block is read once."""
    pages = hints_of(table).pages
    step = max(1, math.ceil(pages / parts))
    firsts = list(range(0, pages, step))
    count = len(firsts)
    return [
        Split(
            f"{table.schema.path}#{at}",
            table.schema.path,
            {"first": first, "until": first + step if at + 1 < count else None, "snapshot": generation},
            None if table.rows is None else max(1, table.rows // count),
            None if table.bytes is None else table.bytes // count,
            generation=generation,
        )
        for at, first in enumerate(firsts)
    ]


# ---------------------------------------------------------------- the snapshot


class _Keeper:
    """The connection that an exported snapshot lives in. All enumerators of a process that read one database at
    the same time share it: hundreds of tables then need one connection, and are of one moment."""

    def __init__(self, address: Address) -> None:
        self.users = 0
        self.lock = threading.Lock()
        self.db: Statements = connect(address)
        self.db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        row = self.db.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        self.generation = str(row[0])

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        with self.lock:
            return self.db.execute(sql.encode()).fetchall()


_keepers: dict[tuple[object, ...], _Keeper] = {}
_keepers_lock = threading.Lock()


class PostgresSnapshot(Snapshot):
    """A share in a keeper."""

    def __init__(self, address: Address) -> None:
        self.identity = address.identity
        with _keepers_lock, explained(f"opening a snapshot of {address.display}"):
            keeper = _keepers.get(self.identity)
            if keeper is None or keeper.db.closed or keeper.db.broken:
                keeper = _keepers[self.identity] = _Keeper(address)
            keeper.users += 1
            self.keeper = keeper
        self.generation = keeper.generation

    def probe(self, table: SourceTable, column: str) -> Probe:
        return _KeyProbe(self.keeper, table, column)

    def count(self, table: SourceTable) -> int:
        with explained(f"counting the rows of table {table.schema.path}"):
            return int(self.keeper.ask(f"SELECT count(*) FROM {hints_of(table).source}")[0][0])

    def close(self) -> None:
        with _keepers_lock:
            self.keeper.users -= 1
            if self.keeper.users == 0:
                if _keepers.get(self.identity) is self.keeper:
                    del _keepers[self.identity]
                self.keeper.db.close()


class _KeyProbe(Probe):
    """What the planning of splits asks about a key column, answered under the snapshot."""

    def __init__(self, keeper: _Keeper, table: SourceTable, column: str) -> None:
        self.keeper = keeper
        self.table = table
        self.hints = hints_of(table)
        self.column = quote(column)

    def bounds(self) -> tuple[Any, Any]:
        low, high = self._ask(f"SELECT min({self.column}), max({self.column}) FROM {self.hints.source}")[0]
        return low, high

    def quantiles(self, parts: int, *, exact: bool) -> list[Any]:
        """Sampled from whole blocks, about a thousand rows a split; exact where sampling is not allowed."""
        source, rows_known = self.hints.relation, self.table.rows or 0
        wanted = parts * 1000
        if not exact and rows_known > wanted and self.hints.sampled:
            percent = max(0.01, min(100.0, 100.0 * wanted / rows_known))
            source += f" TABLESAMPLE SYSTEM ({percent:.4f}) REPEATABLE (1)"
        where = f"({self.hints.where}\n) AND " if self.hints.where else ""
        found = self._ask(
            f"SELECT min(k) FROM (SELECT {self.column} AS k, ntile({parts}) OVER (ORDER BY {self.column}) AS part "
            f"FROM {source} WHERE {where}{self.column} IS NOT NULL) AS sampled GROUP BY part ORDER BY part OFFSET 1"
        )
        return [value for (value,) in found]

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        with explained(f"dividing table {self.table.schema.path} by {self.column}"):
            return self.keeper.ask(sql)
