"""The number of rows that plan and discover tell was counted or sampled by somebody, or none is told."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.api import SourceTable
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import make_source


def told(options: Mapping[str, Any]) -> int | None:
    [found] = make_source(options).tables()
    assert isinstance(found, SourceTable)
    return found.rows


def splits(options: Mapping[str, Any]) -> int:
    source = make_source(options)
    tables = [one for one in source.tables() if isinstance(one, SourceTable)]
    enumerator = source.enumerator(tables, None)
    try:
        return len(list(enumerator.discover()))
    finally:
        enumerator.close()


def test_a_table_that_postgres_never_analysed(pg: PostgresPlace) -> None:
    """It said a number by the table's size: "about 157 rows"."""
    pg.db.execute(
        "CREATE TABLE a.t (id int PRIMARY KEY, s text) WITH (autovacuum_enabled = off);"
        "INSERT INTO a.t SELECT n, 'x' FROM generate_series(1, 1000) n; CREATE TABLE a.none (id int)"
    )
    assert told(pg.source(table_path="a.t")) is None
    assert told(pg.source(query="SELECT * FROM a.t")) is None
    assert told(pg.source(table_path="a.none")) == 0, "it has no block"
    assert splits(pg.source(table_path="a.t", **{"split.size": 100})) > 1, "it is divided all the same"
    pg.db.execute("ANALYZE a.t")
    assert told(pg.source(table_path="a.t")) == 1000


def test_a_partitioned_table(pg: PostgresPlace) -> None:
    pg.db.execute(
        "CREATE TABLE a.p (id int PRIMARY KEY) PARTITION BY HASH (id);"
        "CREATE TABLE a.p0 PARTITION OF a.p FOR VALUES WITH (MODULUS 1, REMAINDER 0) WITH (autovacuum_enabled = off);"
        "INSERT INTO a.p SELECT generate_series(1, 1000)"
    )
    assert told(pg.source(table_path="a.p")) is None
    pg.db.execute("ANALYZE a.p")
    assert told(pg.source(table_path="a.p")) == 1000


def test_of_rows_that_a_condition_chooses_nobody_knows_the_number(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE a.t (id int); INSERT INTO a.t SELECT generate_series(1, 1000); ANALYZE a.t")

    assert told(pg.source(table_path="a.t", where_condition="where id = 1")) is None


@pytest.mark.mariadb
def test_a_query_of_mariadb(maria: MariadbPlace) -> None:
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY)", "INSERT INTO a.t VALUES (1), (2), (3)")

    assert told(maria.source(query="SELECT * FROM t WHERE id > 2")) is None


def test_row_ids_of_sqlite_have_gaps(tmp_path: Path) -> None:
    """The span of row ids was told as the number of rows."""
    source = {"url": f"jdbc:sqlite:{tmp_path}/in.db", "table_path": "t"}
    with closing(sqlite3.connect(tmp_path / "in.db")) as db, db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        db.execute("INSERT INTO t VALUES (1), (90000)")
    assert told(source) == 2
    with closing(sqlite3.connect(tmp_path / "in.db")) as db, db:
        db.execute("INSERT INTO t VALUES (9000000)")
    assert told(source) is None and splits({**source, "split.size": 1_000_000}) > 1
