"""A target's name at which no table stands: refused by what it is, before anything is made."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.test_rows_there import planned
from tests.connectors.jdbc.test_target_names import job

MODES: list[dict[str, Any]] = [
    {}, {"schema_save_mode": "RECREATE_SCHEMA"}, {"data_save_mode": "DROP_DATA"}, {"is_exactly_once": True},
    {"enable_upsert": False},
]  # fmt: skip


def problem(tmp_path: Path, source: dict[str, Any], sink: dict[str, Any]) -> str:
    sinks, text = planned(job(tmp_path, source, ("Jdbc", sink)))
    [one] = sinks.values()
    assert "`query` runs a statement of your own" in text
    return str(one["problem"])


@pytest.mark.parametrize("more", MODES)
def test_postgres(pg: PostgresPlace, tmp_path: Path, more: dict[str, Any]) -> None:
    pg.db.execute(
        "CREATE TABLE a.t (id int PRIMARY KEY); CREATE TABLE b.base (id int PRIMARY KEY);"
        "CREATE VIEW b.seen AS SELECT * FROM b.base; CREATE MATERIALIZED VIEW b.kept AS SELECT * FROM b.base;"
        "CREATE SEQUENCE b.numbers; CREATE INDEX by_id ON b.base (id); CREATE TYPE b.pair AS (id int);"
        "CREATE EXTENSION postgres_fdw; CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw;"
        "CREATE FOREIGN TABLE b.far (id int) SERVER s"
    )
    kinds = {
        "seen": "a view", "kept": "a materialized view", "numbers": "a sequence", "by_id": "an index",
        "pair": "a composite type", "far": "a foreign table",
    }  # fmt: skip
    for name, kind in kinds.items():
        said = problem(tmp_path, pg.source(table_path="a.t"), pg.sink(table=f"b.{name}", **more))
        assert f"the sink table b.{name} is {kind}, and rows are written to tables only" in said


@pytest.mark.mariadb
@pytest.mark.parametrize("more", MODES)
def test_mariadb(maria: MariadbPlace, tmp_path: Path, more: dict[str, Any]) -> None:
    maria.run(
        "CREATE TABLE a.t (id int PRIMARY KEY)", "CREATE TABLE b.base (id int PRIMARY KEY)",
        "CREATE VIEW b.seen AS SELECT * FROM b.base", "CREATE SEQUENCE b.numbers",
    )  # fmt: skip
    for name, kind in {"seen": "a view", "numbers": "a sequence"}.items():
        said = problem(tmp_path, maria.source(table_path="a.t"), maria.sink(table=name, **more))
        assert f"the sink table b.{name} is {kind}, and rows are written to tables only" in said


@pytest.mark.parametrize("generic", [False, True], ids=["sqlite", "sqlalchemy"])
@pytest.mark.parametrize("more", MODES)
def test_sqlite_and_sqlalchemy(tmp_path: Path, more: dict[str, Any], generic: bool) -> None:
    """CREATE TABLE IF NOT EXISTS took a view for the table, and said nothing."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        db.executescript(
            "CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE VIEW seen AS SELECT * FROM t; CREATE INDEX by_id ON t (id)"
        )
    url = {"url": f"jdbc:sqlite:{tmp_path}/shop.db"}
    sink = {"url": f"sqlite:///{tmp_path}/shop.db", "dialect": "sqlalchemy"} if generic else url
    for name, kind in {"seen": "a view"}.items() if generic else {"SEEN": "a view", "by_id": "an index"}.items():
        said = problem(tmp_path, {**url, "table_path": "t"}, {**sink, "generate_sink_sql": True, "table": name, **more})
        assert f"the sink table {name} is {kind}, and rows are written to tables only" in said
