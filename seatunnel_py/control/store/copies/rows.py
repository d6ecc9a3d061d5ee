"""All rows of a server's database in another one, which may be of another kind.

Rules. (1) The other database has the same rows afterwards, and no others. (2) They are compared in the transaction that
writes them: a row that is missing, doubled or changed by a single value is an error, so nothing of the copy is kept.
(3) Memory is bounded: rows are read, written and compared in batches. (4) Both databases are asked all the time while
rows are copied, and only the one that is written while they are compared: PostgreSQL ends a transaction that idles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Row, Table, delete, inspect, select, update

from seatunnel_py.api.process.failpoints import failpoint
from seatunnel_py.control.store.copies.backup_file import BackupError
from seatunnel_py.control.store.places.store_place import insert_many, stored
from seatunnel_py.control.store.tables import LEASE, METADATA

BATCH = 1_000
TABLE_COPIED = failpoint("store.copy.table", "The rows of a table are written, and not committed.")


@dataclass(slots=True)
class TableDigest:
    """The rows of a table, whatever their order: their number, and the sum of the SHA-256 of each."""

    rows: int = 0
    sum: int = 0

    def add(self, values: tuple[Any, ...] | Row[Any]) -> None:
        """Count a row. Its values are compared with their types: 1 is not 1.0."""
        self.rows += 1
        self.sum += int.from_bytes(hashlib.sha256(repr(tuple(values)).encode()).digest())


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A table with the columns of its version, and the rows that were written to it."""

    table: Table
    columns: Sequence[Column[Any]]
    written: TableDigest


def copy_rows(source: Connection, into: Connection, shape: Connection) -> Sequence[CopiedTable]:
    """Give ``into`` the rows of ``source``. ``shape``: the one of both that is in SQLite, whose tables and columns are
    copied."""
    made = []
    for table, columns in _tables(shape):
        written = TableDigest()
        if table is not LEASE:
            into.execute(delete(table))
        for batch in _batches(source, columns):
            rows = [tuple(stored(value, into.dialect) for value in row) for row in batch]
            for row in rows:
                written.add(row)
            if table is LEASE:  # its row stays locked for the other servers
                into.execute(update(LEASE).values(dict(zip(columns, rows[0], strict=True))))
            else:
                insert_many(into, table, columns, rows)
        made.append(CopiedTable(table, columns, written))
        TABLE_COPIED.hit()
    return made


def require_same(into: Connection, copied: Sequence[CopiedTable]) -> None:
    """Read again what was written. Raises BackupError if a table is not the same: the caller undoes the transaction."""
    for one in copied:
        found = TableDigest()
        for batch in _batches(into, one.columns):
            for row in batch:
                found.add(row)
        _require_equal(one.table, one.written, found)


def _tables(connection: Connection) -> Iterator[tuple[Table, Sequence[Column[Any]]]]:
    """The tables of a database with the columns that they have in its version."""
    found = inspect(connection)
    there = set(found.get_table_names())
    for table in METADATA.sorted_tables:
        if table.name in there:
            yield table, [table.columns[one["name"]] for one in found.get_columns(table.name)]


def _batches(connection: Connection, columns: Sequence[Column[Any]]) -> Iterator[Sequence[Row[Any]]]:
    return connection.execute(select(*columns).execution_options(yield_per=BATCH)).partitions()


def _require_equal(table: Table, written: TableDigest, found: TableDigest) -> None:
    if written.rows != found.rows:
        why = f"{written.rows} rows were written, and {found.rows} are there"
    elif written != found:
        why = f"a value of its {found.rows} rows has changed"
    else:
        return
    raise BackupError(f"the copy of the table {table.name!r} is not exact: {why}", "nothing was changed; report this")
