"""A unique key that takes nulls is no key to write by: rows with nulls there are not unique."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.test_rows_there import planned, run
from tests.connectors.jdbc.test_target_names import job

ROWS = [(None, 1), (None, 2), (3, 3)]


def test_rows_with_nulls_arrive_in_a_table_that_is_made(pg: PostgresPlace, tmp_path: Path) -> None:
    """P3-F7: the key was made the primary key, and the job refused its own table."""
    pg.db.execute("CREATE TABLE a.un (k int UNIQUE, v int); INSERT INTO a.un VALUES (null, 1), (null, 2), (3, 3)")
    path = job(tmp_path, pg.source(table_path="a.un"), ("Jdbc", pg.sink(table="b.un")))

    receipt = run(tmp_path, path)

    assert receipt.exit_code == 0, receipt.tables[0].cause
    assert pg.rows("SELECT * FROM b.un ORDER BY v") == ROWS
    assert pg.rows("SELECT indisunique, indisprimary FROM pg_index WHERE indrelid = 'b.un'::regclass") == [
        (True, False)
    ]
    assert "no key to update them by" in planned(path)[0]["un"]["problem"]


def test_a_key_without_nulls_behind_one_with_nulls_is_the_key(pg: PostgresPlace, tmp_path: Path) -> None:
    pg.db.execute(
        "CREATE TABLE a.un (a int UNIQUE, b int NOT NULL UNIQUE); INSERT INTO a.un VALUES (null, 1), (null, 2)"
    )
    path = job(tmp_path, pg.source(table_path="a.un"), ("Jdbc", pg.sink(table="b.un")))

    codes = [run(tmp_path, path).exit_code for _ in range(2)]

    assert codes == [0, 0] and pg.rows("SELECT * FROM b.un ORDER BY b") == [(None, 1), (None, 2)]


@pytest.mark.mariadb
def test_mariadb_and_sqlite_too(maria: MariadbPlace, tmp_path: Path) -> None:
    maria.run("CREATE TABLE a.un (k int UNIQUE, v int)", "INSERT INTO a.un VALUES (null, 1), (null, 2), (3, 3)")
    database = {"url": f"jdbc:sqlite:{tmp_path}/shop.db", "generate_sink_sql": True}
    for sink in (maria.sink(), database):
        receipt = run(tmp_path, job(tmp_path, maria.source(table_path="a.un"), ("Jdbc", sink)))
        assert receipt.exit_code == 0, receipt.tables[0].cause

    assert maria.rows("SELECT * FROM b.un ORDER BY v") == ROWS
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        db.execute("CREATE UNIQUE INDEX one ON un (k)")
    receipt = run(
        tmp_path,
        job(
            tmp_path, {"url": f"jdbc:sqlite:{tmp_path}/shop.db", "table_path": "un"}, ("Jdbc", maria.sink(table="back"))
        ),
    )
    assert receipt.exit_code == 0, receipt.tables[0].cause
    assert maria.rows("SELECT * FROM b.back ORDER BY v") == ROWS


TAKES_NULLS = "k int UNIQUE, v int"


@pytest.mark.parametrize("recipe", ["", "direct", "staged"])
@pytest.mark.parametrize("kind", ["postgres", "mariadb", "sqlite"])
def test_a_row_without_its_key_is_refused(
    pg: PostgresPlace, request: pytest.FixtureRequest, tmp_path: Path, kind: str, recipe: str
) -> None:
    """It came once more with each run, or took the place of the others without a key."""
    pg.db.execute(f"CREATE TABLE a.un ({TAKES_NULLS}); INSERT INTO a.un VALUES (null, 1), (null, 2), (3, 3)".encode())
    more = {"primary_keys": ["k"], **({"is_exactly_once": True, "exactly_once_recipe": recipe} if recipe else {})}
    if kind == "postgres":
        pg.db.execute(f"CREATE TABLE b.un ({TAKES_NULLS})".encode())
        rows, sink = (lambda: pg.rows("SELECT * FROM b.un")), pg.sink(table="b.un", **more)
    elif kind == "mariadb":
        maria: MariadbPlace = request.getfixturevalue("maria")
        maria.run(f"CREATE TABLE b.un ({TAKES_NULLS})")
        rows, sink = (lambda: maria.rows("SELECT * FROM b.un")), maria.sink(table="un", **more)
    else:
        db = sqlite3.connect(tmp_path / "shop.db")
        request.addfinalizer(db.close)
        db.execute(f"CREATE TABLE un ({TAKES_NULLS})")
        rows = lambda: db.execute("SELECT * FROM un").fetchall()  # noqa: E731
        sink = {"url": f"jdbc:sqlite:{tmp_path}/shop.db", "generate_sink_sql": True, "table": "un", **more}

    receipt = run(tmp_path, job(tmp_path, pg.source(table_path="a.un"), ("Jdbc", sink)))

    assert receipt.exit_code == 1 and rows() == []
    assert "has no value in column 'k', by which the target knows its rows" in str(receipt.tables[0].cause)
    pg.db.execute("DELETE FROM a.un WHERE k IS NULL")
    assert run(tmp_path, job(tmp_path, pg.source(table_path="a.un"), ("Jdbc", sink))).exit_code == 0
    assert rows() == [(3, 3)]


@pytest.mark.mariadb
def test_a_database_makes_up_no_key(pg: PostgresPlace, maria: MariadbPlace, tmp_path: Path) -> None:
    """A null became the next number of AUTO_INCREMENT, or of a row id."""
    pg.db.execute("CREATE TABLE a.un (k int, v int); INSERT INTO a.un VALUES (7, 7), (null, 1)")
    maria.run("CREATE TABLE b.un (k int AUTO_INCREMENT PRIMARY KEY, v int)")
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        db.execute("CREATE TABLE un (k INTEGER PRIMARY KEY, v int)")
    database = {"url": f"jdbc:sqlite:{tmp_path}/shop.db", "generate_sink_sql": True, "table": "un"}
    for sink in (maria.sink(table="un"), database):
        more = {"primary_keys": ["k"]}
        receipt = run(tmp_path, job(tmp_path, pg.source(table_path="a.un"), ("Jdbc", {**sink, **more})))
        assert receipt.exit_code == 1 and "has no value in column 'k'" in str(receipt.tables[0].cause)
    assert maria.rows("SELECT * FROM b.un") == []
