"""Changes of schemas at PostgreSQL reach targets of other kinds: MariaDB, SQLite, files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pymysql
import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.cdc.test_schema_changes import FOLLOWS, Writer
from e2e.support import kill_driver, wait_for, write_job
from tests.servers.mariadb import MariadbServer

__all__ = ["followed", "logical"]
STATEMENTS = (
    "ALTER TABLE orders ADD COLUMN price numeric(10, 2)",
    "ALTER TABLE orders RENAME COLUMN note TO remark",
    "ALTER TABLE orders ADD COLUMN state varchar(10) DEFAULT 'it''s'",
    "ALTER TABLE orders DROP COLUMN source",
    "TRUNCATE orders",
    "ALTER TABLE orders ADD COLUMN open boolean DEFAULT true, ADD COLUMN day date DEFAULT '2026-02-03'",
)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariadbServer]:
    with MariadbServer.running() as server:
        yield server


def job(followed: Followed, sink: str) -> None:
    pair = followed.pair
    write_job(
        followed.home,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 300 }}
        source {{ Postgres-CDC {{ url = "{pair.server.jdbc_url(pair.source)}", user = postgres,
                                  table-names = ["{pair.source}.public.orders"] {FOLLOWS} }} }}
        sink {{ {sink} }}""",
    )


def shown(rows: list[tuple[object, ...]]) -> set[str]:
    """Rows as texts; a database without booleans has numbers."""
    return {str([str(int(one)) if isinstance(one, bool) else None if one is None else str(one) for one in row])
            for row in rows}  # fmt: skip


def columns_there(followed: Followed) -> list[str]:
    with followed.pair.connect(followed.pair.source) as db:
        query = (
            "SELECT attname FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum > 0 "
            "AND NOT attisdropped ORDER BY attname"
        )
        return [str(row[0]) for row in db.execute(query)]


def source_rows(followed: Followed, names: list[str]) -> set[str]:
    with followed.pair.connect(followed.pair.source) as db:
        return shown(db.execute(f"SELECT {', '.join(names)} FROM orders".encode()).fetchall())


Read = Callable[[str], list[tuple[object, ...]]]


def follow_all(followed: Followed, read: Read, columns: Callable[[], list[str]]) -> None:
    """Run the statements, one after the other; kill the driver in the middle."""

    def equal() -> bool:
        names = columns_there(followed)
        return sorted(columns()) == names and shown(read(", ".join(names))) == source_rows(followed, names)

    followed.run()
    wait_for("the copy to be equal", equal, SECONDS)
    with Writer(followed.source_dsn, "orders"):
        for number, statement in enumerate(STATEMENTS):
            with followed.pair.connect(followed.pair.source) as db:
                db.execute(statement.encode())
                db.execute("UPDATE orders SET seq = 5 WHERE id = 1")
            if number == 2:
                assert followed.process is not None
                kill_driver(followed.process)
                followed.run("--restore", "latest")
            wait_for(statement, lambda: sorted(columns()) == columns_there(followed), SECONDS)
    wait_for("the rows to be equal", equal, SECONDS)


@pytest.mark.parametrize("more", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
def test_mariadb_is_altered(followed: Followed, mariadb: MariadbServer, more: str) -> None:
    name = followed.pair.target
    with pymysql.connect(**mariadb.connection("test"), autocommit=True) as db, db.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")

    def ask(query: str) -> list[tuple[object, ...]]:
        with pymysql.connect(**mariadb.connection(name), autocommit=True) as db, db.cursor() as cursor:
            try:
                cursor.execute(query)
            except pymysql.err.ProgrammingError:  # it is not there yet
                return []
            return list(cursor.fetchall())

    about = mariadb.connection(name)
    job(followed, f"""Jdbc {{ url = "jdbc:mariadb://{about['host']}:{about['port']}/{name}", user = {about['user']},
                              password = "{about.get('password', '')}", generate_sink_sql = true, table = orders {more} }}""")  # fmt: skip
    query = (
        f"SELECT column_name FROM information_schema.columns WHERE table_schema = '{name}' AND table_name = 'orders'"
    )
    follow_all(
        followed,
        lambda names: ask(f"SELECT {names} FROM orders"),
        lambda: [str(row[0]) for row in ask(query)],
    )


def test_sqlite_is_altered(followed: Followed, tmp_path: Path) -> None:
    file = tmp_path / "into.db"

    def ask(query: str) -> list[tuple[object, ...]]:
        with sqlite3.connect(file, timeout=30) as db:
            try:
                return db.execute(query).fetchall()
            except sqlite3.OperationalError:  # it is not there yet
                return []

    job(followed, f'Jdbc {{ url = "jdbc:sqlite:{file}", generate_sink_sql = true, table = orders }}')
    follow_all(
        followed,
        lambda names: ask(f"SELECT {names} FROM orders"),
        lambda: [str(row[0]) for row in ask("SELECT name FROM pragma_table_info('orders')")],
    )


def test_later_files_have_the_new_columns(followed: Followed, tmp_path: Path) -> None:
    place = tmp_path / "files"
    job(followed, f'LocalFile {{ path = "{place}", file_format_type = parquet }}')
    followed.run()
    wait_for("the copy", lambda: list(place.glob("*.parquet")), SECONDS)
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("ALTER TABLE orders ADD COLUMN price numeric(10, 2)")
        db.execute("INSERT INTO orders VALUES (5000, 'new', 1, 'x', 1.25)")

    def found() -> list[dict[str, object]]:
        tables = (pq.ParquetFile(file).read() for file in place.glob("*.parquet"))
        return [row for table in tables for row in table.to_pylist() if row["id"] == 5000]

    wait_for("the row", found, SECONDS)
    (row,) = found()
    assert str(row["price"]) == "1.25"


def test_files_cannot_be_emptied(followed: Followed, tmp_path: Path) -> None:
    place = tmp_path / "files"
    job(followed, f'LocalFile {{ path = "{place}", file_format_type = parquet }}')
    process = followed.run()
    wait_for("the copy", lambda: list(place.glob("*.parquet")), SECONDS)
    files = set(place.glob("*.parquet"))
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("TRUNCATE orders")
    wait_for("the job to end", lambda: process.poll() is not None, SECONDS)
    said = (followed.home / "out").read_text()
    assert "cannot be emptied while the job runs" in said
    assert "schema-changes.exclude = [truncate.table]" in said
    assert files <= set(place.glob("*.parquet"))
