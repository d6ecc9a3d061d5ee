"""Databases through SQLAlchemy, tried on two that have fast paths of their own."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.api import FatalError
from seatunnel_py.api.process.resources import close_all
from seatunnel_py.work.unit import Budget
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import copy_tables, make_source, same_rows


@pytest.fixture
def urls(tmp_path: Path) -> Any:
    for name in ("a.db", "b.db"):
        sqlite3.connect(tmp_path / name).close()
    yield {name: {"url": f"sqlite:///{tmp_path}/{name}.db", "dialect": "sqlalchemy"} for name in "ab"}
    close_all()


def script(urls: Any, name: str, text: str) -> list[Any]:
    with sqlite3.connect(urls[name]["url"].removeprefix("sqlite:///")) as db:
        found = db.execute(text).fetchall() if text.startswith("SELECT") else db.executescript(text).fetchall()
    db.close()
    return found


TABLE = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR(20), d DOUBLE, n NUMERIC(10, 2), b BOOLEAN, x BLOB, da DATE, ts TIMESTAMP);
    INSERT INTO t VALUES (1, 'a:b ?', 1.5, 12.34, 1, x'00ff', '2024-02-29', '2024-01-02 03:04:05.678901'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
"""


def test_rows_and_updates_arrive(urls: Any) -> None:
    script(urls, "a", TABLE)

    copy_tables({**urls["a"], "table_path": "t"}, {**urls["b"], "table": "t"})
    script(urls, "b", "UPDATE t SET s = 'changed'; DELETE FROM t WHERE id = 2")
    copy_tables({**urls["a"], "table_path": "t"}, {**urls["b"], "table": "t"})

    same_rows(script(urls, "a", "SELECT * FROM t"), script(urls, "b", "SELECT * FROM t"))


def test_splits_budgets_queries_and_modes(urls: Any) -> None:
    script(
        urls,
        "a",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) INSERT INTO t SELECT i, i % 7 FROM n;",
    )

    [copied] = copy_tables(
        {**urls["a"], "table_path": "t", "split.size": 20_000}, {**urls["b"], "table": "t"}, budget=Budget(rows=5_000)
    )
    copy_tables({**urls["a"], "query": "SELECT v, count(*) AS n FROM t GROUP BY v;"}, {**urls["b"], "table": "q"})
    copy_tables(
        {**urls["a"], "table_path": "t", "where_condition": "where id <= 10"},
        {**urls["b"], "table": "t", "schema_save_mode": "RECREATE_SCHEMA"},
    )

    assert len(copied.splits) == 2 and len(copied.results) >= 4 and copied.rows == 30_000
    assert script(urls, "b", "SELECT count(*), sum(n) FROM q") == [(7, 30_000)]
    assert script(urls, "b", "SELECT count(*) FROM t") == [(10,)]
    with pytest.raises(FatalError, match="nope"):
        make_source({**urls["a"], "table_path": "nope"}).tables()


@pytest.mark.postgres
def test_postgresql_by_the_slow_path(pg: PostgresPlace) -> None:
    pg.db.execute(
        "CREATE TABLE a.t (id bigint PRIMARY KEY, n numeric(12, 3), u uuid, j jsonb, ts timestamptz, t time, x bytea, b boolean);"
        """INSERT INTO a.t VALUES (1, 1.250, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1}', '2024-01-01Z', '01:02:03', '\\x00ff', true); INSERT INTO a.t VALUES (2)"""
    )
    slow = {
        "url": pg.url.removeprefix("jdbc:").replace("postgresql", "postgresql+psycopg"),
        "username": "postgres",
        "dialect": "sqlalchemy",
    }

    copy_tables({**slow, "table_path": "a.t"}, {**slow, "table": "b.t"})

    shown = "id, n, u::text, j::text, ts, t, x, b"
    same_rows(pg.rows(f"SELECT {shown} FROM a.t"), pg.rows(f"SELECT {shown} FROM b.t"))


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("INTEGER", "1.5"), ("BOOLEAN", "2"), ("TIMESTAMP", "1706700000"), ("DATE", "1706700000"),
        ("DATE", "'2024-01-31 23:59:59'"), ("TIMESTAMP", "'2024-01-31 12:34:56.1234567'"), ("NUMERIC(10, 2)", "1.005"),
        ("TIMESTAMP", "'2024-01-31 12:34:56+05:30'"), ("VARCHAR(9)", "x'00'"), ("BLOB", "'text'"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(urls: Any, declared: str, value: str) -> None:
    """T7, T8, T12, T13, T16, T17 through SQLAlchemy: nothing is cut, rounded or guessed."""
    script(urls, "a", f"CREATE TABLE t (id INTEGER PRIMARY KEY, x {declared}); INSERT INTO t VALUES (1, {value});")

    with pytest.raises(FatalError, match="column 'x'"):
        copy_tables({**urls["a"], "table_path": "t"}, {**urls["b"], "table": "t"})


def test_numbers_keep_their_digits(urls: Any) -> None:
    """T1, T10, T22: numbers without bounds, of more than 38 digits, and of 64 bits where a REAL has them."""
    script(
        urls,
        "a",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n NUMERIC, w NUMERIC(50, 10), r REAL);"
        "INSERT INTO t VALUES (1, 1e-20, 12345, 0.30000000000000004);",
    )

    copy_tables({**urls["a"], "table_path": "t"}, {**urls["b"], "table": "t"})

    assert script(urls, "b", "SELECT n, r FROM t") == [("0.00000000000000000001", 0.30000000000000004)]
