"""Changes of schemas reach the targets exactly, while rows are written, and whatever dies on the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest

from e2e.cdc.test_postgres_cdc import SECONDS, TABLES, Followed, followed, logical
from e2e.support import kill_driver, seatunnel, wait_alive

__all__ = ["followed", "logical"]
FOLLOWS = ", schema-changes.enabled = true"
STATEMENTS = (
    "ALTER TABLE orders ADD COLUMN price numeric(10, 2)",
    "ALTER TABLE orders ADD COLUMN state text DEFAULT 'open'",
    "ALTER TABLE orders RENAME COLUMN note TO remark",
    "ALTER TABLE orders ALTER COLUMN seq TYPE bigint",
    "ALTER TABLE orders DROP COLUMN source",
    "ALTER TABLE orders ALTER COLUMN price TYPE numeric(14, 2)",
    "ALTER TABLE orders ADD COLUMN source boolean DEFAULT false, ADD COLUMN at timestamptz DEFAULT '2026-01-02 03:04:05+00'",
)


class Writer:
    """Inserts, updates and deletes rows of one table all the time, in columns that every version of it has."""

    def __init__(self, dsn: str, table: str) -> None:
        self._dsn, self._table = dsn, table
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.written = 0

    def _write(self) -> None:
        random = Random(7)
        with psycopg.connect(self._dsn, autocommit=True) as db:
            number = 10_000
            while not self._ends.is_set():
                number += 1
                db.execute(f"INSERT INTO {self._table} (id) VALUES (%s)".encode(), [number])
                db.execute(f"UPDATE {self._table} SET seq = %s WHERE id = %s".encode(), [number, random.randint(1, 1000)])
                if number % 5 == 0:
                    db.execute(f"DELETE FROM {self._table} WHERE id = %s".encode(), [random.randint(1, number)])
                self.written += 1
                time.sleep(0.005)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()


def columns(followed: Followed, database: str, table: str) -> list[tuple[str, str]]:
    with followed.pair.connect(database) as db:
        query = (
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attname"
        )
        return [(name, kind) for name, kind in db.execute(query, [f"public.{table}"])]


def same_columns(followed: Followed, table: str = "orders") -> bool:
    return columns(followed, followed.pair.target, table) == columns(followed, followed.pair.source, table)


def rows(followed: Followed, database: str, table: str) -> set[str]:
    """The rows as JSON, whatever the order of their columns."""
    with followed.pair.connect(database) as db:
        return {row[0] for row in db.execute(f"SELECT to_jsonb(t)::text FROM {table} t".encode())}


def is_equal(followed: Followed, table: str) -> bool:
    pair = followed.pair
    return rows(followed, pair.source, table) == rows(followed, pair.target, table)


def wait_equal(followed: Followed) -> None:
    assert followed.process is not None
    for table in TABLES:
        wait_alive(followed.process, f"{table} to be equal", lambda table=table: is_equal(followed, table), SECONDS)


def run_until_followed(followed: Followed, sink: str = "") -> None:
    followed.write(sink, source=FOLLOWS)
    followed.run()
    followed.wait_equal()


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
def test_columns_are_added_renamed_widened_and_dropped(followed: Followed, sink: str) -> None:
    run_until_followed(followed, sink)
    with Writer(followed.source_dsn, "orders"), Writer(followed.source_dsn, "lines"):
        for statement in STATEMENTS:
            with followed.pair.connect(followed.pair.source) as db:
                db.execute(statement.encode())
                db.execute("UPDATE orders SET seq = 5 WHERE id = 1")
            wait_alive(followed.process, statement, lambda: same_columns(followed), SECONDS)  # type: ignore[arg-type]

    wait_equal(followed)
    assert seatunnel(followed.home, "jobs", "cancel", "job").code == 0
