"""The benchmark's PostgreSQL server: settings, source tables, and a clean start for each measurement."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql

from tests.servers.postgres import PostgresServer

SETTINGS = {
    "max_wal_size": "8GB",
    "shared_buffers": "1GB",
    "fsync": "on",
    "wal_level": "replica",
    # Every measurement begins with a CHECKPOINT; one that the clock starts in its midst would be noise.
    "checkpoint_timeout": "30min",
    "max_connections": "200",
}
SOURCE = "source"
TARGET = "target"
BIG_TABLE = "big"
ROWS = 3_000_000
SMALL_ROWS = 1_000

COLUMNS = """
    id bigint NOT NULL{key},
    name text NOT NULL,
    quantity integer NOT NULL,
    price double precision NOT NULL,
    happened_at timestamptz NOT NULL,
    digest text NOT NULL
"""
ROWS_QUERY = """
    SELECT i, 'customer ' || i, (i * 7919 % 100000)::int, i * 0.37::double precision,
           timestamptz '2020-01-01 00:00:00Z' + i * interval '1 second', md5(i::text)
    FROM generate_series({first}::bigint, {last}::bigint) AS i
"""


@contextlib.contextmanager
def server(directory: Path | None = None, **more: str) -> Iterator[PostgresServer]:
    """A durable server with two empty schemas: `source` and `target`; `more` are settings beside those above. SIGTERM
    ends it as an exception would."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with PostgresServer.running(directory, settings=SETTINGS | more, durable=True) as running:
        with connect(running) as db:
            db.execute(f"CREATE SCHEMA {SOURCE}; CREATE SCHEMA {TARGET}")
        yield running


def connect(running: PostgresServer) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(running.dsn, autocommit=True)


def make_big_table(running: PostgresServer, rows: int = ROWS, name: str = BIG_TABLE) -> None:
    """The source of the one-table benchmarks, vacuumed so that no reader pays for hint bits."""
    with connect(running) as db:
        db.execute(f"CREATE TABLE {SOURCE}.{name} ({COLUMNS.format(key='')})")
        db.execute(f"INSERT INTO {SOURCE}.{name} {ROWS_QUERY.format(first=1, last=rows)}")
        db.execute(f"ALTER TABLE {SOURCE}.{name} ADD PRIMARY KEY (id)")
        db.execute(f"VACUUM (FREEZE, ANALYZE) {SOURCE}.{name}")


def make_small_tables(running: PostgresServer, count: int, rows: int = SMALL_ROWS) -> list[str]:
    """Tables `t0001`, `t0002`, ... of the source schema, each with its own rows; returns their names."""
    names = [f"t{number:04d}" for number in range(1, count + 1)]
    with connect(running) as db:
        for number, name in enumerate(names):
            first = number * rows + 1
            db.execute(f"CREATE TABLE {SOURCE}.{name} ({COLUMNS.format(key=' PRIMARY KEY')})")
            db.execute(f"INSERT INTO {SOURCE}.{name} {ROWS_QUERY.format(first=first, last=first + rows - 1)}")
        db.execute("VACUUM (FREEZE, ANALYZE)")
    return names


def make_target(running: PostgresServer, name: str = BIG_TABLE, *, keyed: bool) -> None:
    with connect(running) as db:
        db.execute(f"DROP TABLE IF EXISTS {TARGET}.{name}")
        db.execute(f"CREATE TABLE {TARGET}.{name} ({COLUMNS.format(key=' PRIMARY KEY' if keyed else '')})")


def fill_target(running: PostgresServer, rows: int, name: str = BIG_TABLE) -> None:
    """Rows above all keys of the source, so that an append meets a table that is not empty."""
    first = 1_000_000_000
    with connect(running) as db:
        db.execute(f"INSERT INTO {TARGET}.{name} {ROWS_QUERY.format(first=first, last=first + rows - 1)}")
        db.execute(f"VACUUM (FREEZE, ANALYZE) {TARGET}.{name}")


def drop_targets(running: PostgresServer) -> None:
    """Empty the target schema, in transactions small enough for the server's lock table."""
    with connect(running) as db:
        names = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [TARGET]).fetchall()
        for (name,) in names:
            db.execute(sql.SQL("DROP TABLE {} CASCADE").format(sql.Identifier(TARGET, str(name))))


def set_targets_aside(running: PostgresServer) -> None:
    """An empty target schema without a file deleted. ext4 gives nobody an inode that was freed in the last minutes, and
    looks at each of those first: with a thousand of them that was a quarter of what the server did for 200 tables,
    and more from round to round, for every way alike."""
    with connect(running) as db:
        (number,) = db.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'aside%'").fetchone() or (0,)
        db.execute(f"ALTER SCHEMA {TARGET} RENAME TO aside_{number}; CREATE SCHEMA {TARGET}")


def checkpoint(running: PostgresServer) -> None:
    """All dirty pages on disk: the next measurement pays for its own writes only."""
    with connect(running) as db:
        db.execute("CHECKPOINT")


def count(running: PostgresServer, name: str = BIG_TABLE, schema: str = TARGET) -> int:
    with connect(running) as db:
        row = db.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, name))).fetchone()
    assert row is not None
    return int(str(row[0]))


def expect_copied(running: PostgresServer, rows: int, name: str = BIG_TABLE) -> None:
    """A measurement of a copy that lost rows is worth nothing."""
    found = count(running, name)
    if found != rows:
        raise AssertionError(f"{TARGET}.{name} holds {found} rows instead of {rows}")


def has_primary_key(running: PostgresServer, name: str = BIG_TABLE) -> bool:
    with connect(running) as db:
        row = db.execute(
            "SELECT 1 FROM pg_constraint WHERE contype = 'p' AND conrelid = to_regclass(%s)",
            [f"{TARGET}.{name}"],
        ).fetchone()
    return row is not None
