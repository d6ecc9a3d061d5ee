"""What units have staged in tables of their own is added to the target, in the commit's transaction.

Rules. (1) Units are added in the order in which they were staged: of two rows with one key the later one wins. (2) What
goes into the target, the ledger's row and the end of the unit's tables are one transaction, so that any of them can be
seen only with the others. (3) A table that is not there although a checkpoint names it is lost, never done (I31).
"""

from __future__ import annotations

from collections.abc import Iterable

import psycopg

from seatunnel_connectors.jdbc.postgres.ddl import listed
from seatunnel_connectors.jdbc.postgres.ledger import Books
from seatunnel_connectors.jdbc.postgres.merge import KIND, ORDER, Staging, on_conflict
from seatunnel_connectors.jdbc.postgres.plan import Load
from seatunnel_connectors.jdbc.postgres.session import Statements, quote
from seatunnel_py.api import NoWayOn, RowKind


def add_named(db: Statements, load: Load, books: Books) -> None:
    """Add every unit that a checkpoint has named, and forget it."""
    units = db.execute(books.named().encode()).fetchall()
    for table, there, kinds in units:
        if not there:
            raise NoWayOn(
                f"table {load.schema}.{load.table}: the table {table} with staged rows of it is gone: they are lost",
                "run the job again with --fresh",
            )
        _add(db, load, table, kinds=kinds)
    drop(db, load.schema, (table for table, _, _ in units))
    db.execute(books.forget_named().encode())


def drop(db: Statements, schema: str, tables: Iterable[str]) -> None:
    """Drop tables of units."""
    names = ", ".join(quote(schema, table) for table in tables)
    if names:
        db.execute(f"DROP TABLE IF EXISTS {names}".encode())


def _add(db: Statements, load: Load, table: str, *, kinds: bool) -> None:
    if kinds and load.key:
        staging = _staging(load, table, KIND)
        db.execute(staging.delete().encode())
        for statement in [staging.upsert()] if load.upsert else [staging.update(), staging.insert()]:
            db.execute(statement.encode())
    elif load.key and load.upsert:
        _upsert(db, load, table)
    else:
        db.execute(_insert(load, table).encode())


def _upsert(db: Statements, load: Load, table: str) -> None:
    """All rows at once, as long as no two of them have one key: looking for the last row of each costs a sort."""
    db.execute(b"SAVEPOINT unit")
    try:
        db.execute(f"{_insert(load, table)}{on_conflict(load)}".encode())
    except psycopg.errors.CardinalityViolation:
        db.execute(b"ROLLBACK TO SAVEPOINT unit")
        db.execute(_staging(load, table, str(RowKind.INSERT.value)).upsert().encode())
    db.execute(b"RELEASE SAVEPOINT unit")


def _insert(load: Load, table: str) -> str:
    names = listed(column.name for column in load.columns)
    return (
        f"INSERT INTO {quote(load.schema, load.table)} AS t ({names}) SELECT {names} FROM {quote(load.schema, table)}"
    )


def _staging(load: Load, table: str, kind: str) -> Staging:
    """Its rows in the order in which the unit wrote them, which is the order in which they lie there."""
    columns = listed(column.name for column in load.columns)
    rows = f"SELECT {columns}, ctid AS {ORDER}, {kind} AS {KIND} FROM {quote(load.schema, table)}"
    return Staging(load, (False,) * len(load.columns), rows)
