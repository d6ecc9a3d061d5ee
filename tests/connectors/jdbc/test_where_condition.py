"""What stands around a condition does not change it: a semicolon at its end, a comment, an OR."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py import app
from seatunnel_py.errors import JobFileError
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import copy_tables
from tests.connectors.jdbc.test_target_names import job

CONDITIONS = [
    "where id = 1 or id > 18;",
    "WHERE id = 1 or id > 18 -- the first, and the last",
    "where id = 1 or id > 18; -- order by id",
    "where /* limit 1; */ id = 1\n or id > 18 ; ",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_postgres_and_sqlalchemy(pg: PostgresPlace, condition: str) -> None:
    pg.db.execute("CREATE TABLE a.t (id int PRIMARY KEY); INSERT INTO a.t SELECT generate_series(1, 20)")
    more: dict[str, Any] = {"where_condition": condition, "partition_column": "id", "partition_num": 3}
    generic = {"url": pg.url.removeprefix("jdbc:").replace("postgresql://", "postgresql+psycopg://postgres@")}
    copy_tables(pg.source(table_path="a.t", **more), pg.sink(table="b.t"))
    copy_tables({**generic, "dialect": "sqlalchemy", "table_path": "a.t", **more}, pg.sink(table="b.u"))

    for table in "tu":
        assert pg.rows(f"SELECT id FROM b.{table} ORDER BY id") == [(1,), (19,), (20,)]


@pytest.mark.mariadb
@pytest.mark.parametrize("condition", CONDITIONS)
def test_mariadb_and_sqlite(maria: MariadbPlace, tmp_path: Path, condition: str) -> None:
    numbers = ", ".join(f"({n})" for n in range(1, 21))
    statements = ("CREATE TABLE {}t (id int PRIMARY KEY)", f"INSERT INTO {{}}t VALUES {numbers}")
    maria.run(*(one.format("a.") for one in statements))
    with closing(sqlite3.connect(tmp_path / "in.db")) as db, db:
        for one in statements:
            db.execute(one.format(""))
    more: dict[str, Any] = {"where_condition": condition, "partition_column": "id", "partition_num": 3}
    copy_tables(maria.source(table_path="a.t", **more), maria.sink(table="t"))
    copy_tables({"url": f"jdbc:sqlite:{tmp_path}/in.db", "table_path": "t", **more}, maria.sink(table="u"))

    for table in "tu":
        assert maria.rows(f"SELECT id FROM b.{table} ORDER BY id") == [(1,), (19,), (20,)]


def test_check_names_the_option_and_its_place(tmp_path: Path) -> None:
    source = {"url": "jdbc:sqlite:none.db", "table_path": "t", "where_condition": "where id > 1 limit 5"}

    with pytest.raises(JobFileError, match="where_condition.*LIMIT 5, which is not part of a condition; .*`query`"):
        app.check(job(tmp_path, source, ("Console", {})))
