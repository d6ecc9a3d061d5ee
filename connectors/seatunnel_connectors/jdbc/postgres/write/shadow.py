"""Turns a shadow into the target: its key and indexes are created last, then it takes the target's name.

Rules. (1) The shadow's row count is compared with the staged count, in the commit's transaction: a difference is LOST,
and everything is rolled back (conservation). (2) Rows are read once: building the key counts them, and PostgreSQL
stores that count with the table and the index (``pg_class.reltuples``). It is trusted only if both are the staged
number; otherwise the rows are counted. (3) A table that has taken the name in the meantime keeps it: the rows are added
to it.
"""

from __future__ import annotations

import psycopg

from seatunnel_connectors.jdbc.postgres.connection import catalog
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, literal, quote
from seatunnel_connectors.jdbc.postgres.ledger import staged
from seatunnel_connectors.jdbc.postgres.write import ddl
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load
from seatunnel_connectors.jdbc.postgres.write.merge import on_conflict

# For building indexes: enough to sort a few million keys in memory.
_MEMORY = "SET LOCAL maintenance_work_mem = '256MB'; SET LOCAL max_parallel_maintenance_workers = 2"

# reltuples is a float of 24 bits: greater numbers may be rounded to the expected one.
_EXACT_MAX = 1 << 24


def finish(db: Statements, load: Load, rows: int) -> None:
    """Finish the shadow; ``rows`` is the staged count. Raise LOST (CannotResumeError) if the shadow is missing or holds
    another number."""
    if not catalog.is_there(db, load.schema, load.into):
        raise staged.lost(load, load.into, rows, 0)
    # Two sinks of one run may want the same name at the same time.
    db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{load.schema}.{load.table}"])
    taken = db.execute(
        "SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s",
        [load.schema, load.table],
    ).fetchone()
    if taken is not None:
        _expect(db, load, rows)
        _add(db, load)
        return
    relation = quote(load.schema, load.into)
    db.execute(_MEMORY.encode())
    # First: PostgreSQL 18 stores no count for a table without autovacuum.
    db.execute(f"ALTER TABLE {relation} RESET (autovacuum_enabled)".encode())
    pkey = ddl.cut(load.into, "_pkey")
    if load.key:
        _add_key(db, load, pkey, rows)
    else:
        _expect(db, load, rows)
    for statement in load.finish:
        db.execute(statement.encode())
    db.execute(f"ALTER TABLE {relation} RENAME TO {quote(load.table)}".encode())
    if load.key:
        _name_key(db, load, pkey)


def _expect(db: Statements, load: Load, rows: int) -> None:
    found = staged.count(db, load, load.into)
    if found != rows:
        raise staged.lost(load, load.into, rows, found)


def _add_key(db: Statements, load: Load, pkey: str, rows: int) -> None:
    """Add the key. If rows that others have added may break the key, the error mentions it."""
    relation = quote(load.schema, load.into)
    db.execute(b"SAVEPOINT key")
    try:
        db.execute(f"ALTER TABLE {relation} ADD CONSTRAINT {quote(pkey)} PRIMARY KEY ({ddl.listed(load.key)})".encode())
    except psycopg.errors.IntegrityError:
        db.execute(b"ROLLBACK TO SAVEPOINT key")
        _expect(db, load, rows)
        raise
    db.execute(b"RELEASE SAVEPOINT key")
    if not _counted(db, load, pkey, rows):
        _expect(db, load, rows)


def _counted(db: Statements, load: Load, pkey: str, rows: int) -> bool:
    """True if building the key has counted these rows. The index is new: its row cannot hold an older count."""
    counts = db.execute(
        "SELECT array_agg(reltuples::float8) FROM pg_class WHERE oid IN (to_regclass(%s), to_regclass(%s))",
        [quote(load.schema, load.into), quote(load.schema, pkey)],
    ).fetchone()
    return 0 < rows <= _EXACT_MAX and counts == ([rows, rows],)


def _name_key(db: Statements, load: Load, pkey: str) -> None:
    """Give the key the name that CREATE TABLE would have chosen, if it is free."""
    wanted = ddl.cut(load.table, "_pkey")
    free = db.execute(f"SELECT to_regclass({literal(quote(load.schema, wanted))}) IS NULL".encode()).fetchone()
    if free and free[0]:
        db.execute(
            f"ALTER TABLE {quote(load.schema, load.table)} RENAME CONSTRAINT {quote(pkey)} TO {quote(wanted)}".encode()
        )


def _add(db: Statements, load: Load) -> None:
    """Add the rows to a table that another sink of this run (several upstream tables, one target) created first."""
    names = ddl.listed(column.name for column in load.columns)
    conflict = on_conflict(load) if load.key and load.upsert else ""
    relation = quote(load.schema, load.into)
    db.execute(
        f"INSERT INTO {quote(load.schema, load.table)} AS t ({names}) SELECT {names} FROM {relation}{conflict}; "
        f"DROP TABLE {relation}".encode()
    )
