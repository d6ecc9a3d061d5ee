"""Adds units that are staged in their own tables to the target, in the commit's transaction.

Rules. (1) Units are added in the order of staging: of two rows with one key the later one wins. (2) The new rows in the
target, the ledger's row and the dropping of the units' tables are one transaction, so none is ever visible without the
others. (3) If a checkpoint names a table that does not exist, it is lost, never done (I31). (4) The number of moved
rows is compared with the staged number: missing rows are lost, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import psycopg

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, quote
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import PostgresLedger
from seatunnel_connectors.jdbc.postgres.write.ddl import listed
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load
from seatunnel_connectors.jdbc.postgres.write.merge import KIND, MASK, ORDER, ROUND, Staging, on_conflict
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_py.api import CannotResumeError, RowKind


@dataclass(frozen=True, slots=True)
class StagedUnit:
    """The table of one unit: whether it has row kinds, rounds of rows with absent cells, and numbers of rows, and how
    many rows were staged."""

    table: str
    kinds: bool
    rounds: bool
    numbered: bool
    rows: int


def add_named(db: Statements, load: Load, books: PostgresLedger) -> None:
    """Add every unit that is in a checkpoint, and delete its record."""
    found = db.execute(books.named().encode()).fetchall()
    for table, there, kinds, rounds, numbered, rows in found:
        if not there:
            raise lost(load, table, rows, 0)
        _add(db, load, StagedUnit(table, kinds, rounds, numbered, rows))
    drop(db, load.schema, (table for table, *_ in found))
    db.execute(books.forget_named().encode())


def lost(load: Load, table: str, staged: int, found: int) -> CannotResumeError:
    return conservation.lost_rows(load.shown, f"{load.schema}.{table}", staged, found, load.restart_remedy)


def count(db: Statements, load: Load, table: str) -> int:
    """Count a table's rows, locked until the transaction ends."""
    relation = quote(load.schema, table)
    db.execute(f"LOCK TABLE {relation} IN SHARE MODE".encode())
    row = db.execute(f"SELECT count(*) FROM {relation}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def drop(db: Statements, schema: str, tables: Iterable[str]) -> None:
    """Drop tables of units."""
    names = ", ".join(quote(schema, table) for table in tables)
    if names:
        db.execute(f"DROP TABLE IF EXISTS {names}".encode())


def _add(db: Statements, load: Load, unit: StagedUnit) -> None:
    """Add one unit. If the server reports the number of moved rows, it is compared with the staged number; if rows with
    one key are merged, or older ones are skipped, the staged rows are counted before."""
    if unit.rounds:
        _expect_all(db, load, unit)
        _add_rounds(db, load, unit)
    elif unit.kinds and load.key:
        _expect_all(db, load, unit)
        staging = _staging(load, unit, KIND)
        db.execute(staging.delete().encode())
        for statement in [staging.upsert()] if load.upsert else [staging.update(), staging.insert()]:
            db.execute(statement.encode())
    elif load.key and load.upsert:
        _upsert(db, load, unit)
    else:
        _expect_moved(db, load, unit, db.execute(_insert(load, unit.table).encode()).rowcount)


def _add_rounds(db: Statements, load: Load, unit: StagedUnit) -> None:
    """Add a unit with absent cells: a later round finds the rows of the earlier ones in the target."""
    relation = quote(load.schema, unit.table)
    for (number,) in db.execute(f"SELECT DISTINCT {ROUND} FROM {relation} ORDER BY 1".encode()).fetchall():
        staging = _staging(load, unit, KIND, f", {MASK}", f" WHERE {ROUND} = {number}")
        whole = [staging.upsert()] if load.upsert else [staging.update(), staging.insert()]
        for statement in (staging.delete(), staging.change(), *whole):
            db.execute(statement.encode())


def _upsert(db: Statements, load: Load, unit: StagedUnit) -> None:
    """Upsert all rows at once, if no two of them have the same key: finding the last row of each key costs a sort."""
    if load.versioned_by:
        _expect_all(db, load, unit)
    db.execute(b"SAVEPOINT unit")
    try:
        moved = db.execute(f"{_insert(load, unit.table)}{on_conflict(load)}".encode()).rowcount
    except psycopg.errors.CardinalityViolation:
        db.execute(b"ROLLBACK TO SAVEPOINT unit")
        _expect_all(db, load, unit)
        db.execute(_staging(load, unit, str(RowKind.INSERT.value)).upsert().encode())
    else:
        if not load.versioned_by:
            _expect_moved(db, load, unit, moved)
    db.execute(b"RELEASE SAVEPOINT unit")


def _expect_all(db: Statements, load: Load, unit: StagedUnit) -> None:
    found = count(db, load, unit.table)
    if found != unit.rows:
        raise lost(load, unit.table, unit.rows, found)


def _expect_moved(db: Statements, load: Load, unit: StagedUnit, moved: int) -> None:
    if moved != unit.rows:
        _expect_all(db, load, unit)
        raise conservation.not_taken(load.shown, unit.rows, moved)


def _insert(load: Load, table: str) -> str:
    names = listed(column.name for column in load.columns)
    return (
        f"INSERT INTO {quote(load.schema, load.table)} AS t ({names}) SELECT {names} FROM {quote(load.schema, table)}"
    )


def _staging(load: Load, unit: StagedUnit, kind: str, more: str = "", where: str = "") -> Staging:
    """Rows in the order in which the unit wrote them: their numbers; before these, and in tables of earlier releases,
    their physical order."""
    columns = listed(column.name for column in load.columns)
    order = f"row_number() OVER (ORDER BY {ORDER}, ctid)" if unit.numbered else "ctid"
    rows = f"SELECT {columns}, {order} AS {ORDER}, {kind} AS {KIND}{more} FROM {quote(load.schema, unit.table)}{where}"
    return Staging(load, (False,) * len(load.columns), rows)
