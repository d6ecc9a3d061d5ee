"""What happens to rows that are there is said, and a second run never doubles a keyless table in silence."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from seatunnel_py import app
from seatunnel_py.cli.view import receipt_view
from seatunnel_py.plan import plan_data
from seatunnel_py.runtime.storage.home import Home
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.test_target_names import job


def run(tmp_path: Path, path: Path, **options: Any) -> Any:
    home = Home(tmp_path / "home")
    chosen = app.RunOptions({}, local=True, **options)
    return app.run(path, chosen, home, lambda event: None, lambda driver: None)


def planned(path: Path) -> tuple[dict[str, Mapping[str, Any]], str]:
    """The sinks of the plan by source table, and its text."""
    found = app.plan(path)
    plan = plan_data.describe(found.job, found.graph, found.pipelines, found.isolated, look=True)
    sinks = {sink["table"].rpartition(".")[2]: sink for line in plan["pipelines"] for sink in line["sinks"]}
    return sinks, plan_data.text(plan)


def there(receipt: Any) -> dict[str, str]:
    return {
        table["table"].rpartition(".")[2]: table["targets"][0]["present"]["text"]
        for table in receipt.to_plain()["tables"]
    }


@pytest.fixture
def shop(pg: PostgresPlace) -> PostgresPlace:
    pg.db.execute(
        "CREATE TABLE a.keyed (id int PRIMARY KEY); INSERT INTO a.keyed VALUES (1), (2), (3);"
        "CREATE TABLE a.log (v text); INSERT INTO a.log VALUES ('x'), ('x')"
    )
    return pg


ALL = {"table_path": r"a[.].*", "use_regex": True}


@pytest.mark.parametrize("once", [False, True])
def test_a_second_run_doubles_nothing_and_says_what_it_does(shop: PostgresPlace, tmp_path: Path, once: bool) -> None:
    """P1-the same copy again, P1-rerun with exactly-once: the keyless table fails alone, with the ways on."""
    sink = shop.sink(table="b.${table_name}", is_exactly_once=once)
    path = job(tmp_path, shop.source(**ALL), ("Jdbc", sink))

    first = run(tmp_path, path)
    sinks, text = planned(path)
    second = run(tmp_path, path)

    assert there(first) == {"keyed": "new", "log": "new"}
    assert sinks["keyed"]["present"]["text"] == "updated by key (3 rows there)"
    assert sinks["keyed"]["present"]["count"] == 3 and "b.keyed: updated by key (3 rows there)" in text
    assert "holds 2 rows" in sinks["log"]["problem"] and "--append" in sinks["log"]["remedy"]
    assert second.exit_code == 3
    states = {table.table.rpartition(".")[2]: table for table in second.tables}
    assert states["keyed"].state == "DONE" and states["log"].state == "ISOLATED"
    assert "would be there twice" in states["log"].cause.message and "DROP_DATA" in states["log"].cause.remedy
    assert "updated by key (3 rows there)" in receipt_view.receipt_text(second, Home(tmp_path / "home"))
    assert shop.rows("SELECT count(*) FROM b.log") == [(2,)]
    assert shop.rows("SELECT id FROM b.keyed ORDER BY id") == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("more", "text", "rows"),
    [
        ({"data_save_mode": "APPEND_DATA"}, "appended to 2 rows", 4),
        ({"data_save_mode": "DROP_DATA"}, "replaced (2 rows there)", 2),
        ({"schema_save_mode": "RECREATE_SCHEMA"}, "replaced (2 rows there)", 2),
    ],
)
def test_what_the_job_file_says_is_done(
    shop: PostgresPlace, tmp_path: Path, more: dict[str, str], text: str, rows: int
) -> None:
    sink = shop.sink(table="b.${table_name}")
    source = shop.source(table_path="a.log")
    run(tmp_path, job(tmp_path, source, ("Jdbc", sink)))

    receipt = run(tmp_path, job(tmp_path, source, ("Jdbc", sink | more)))

    assert receipt.exit_code == 0 and there(receipt) == {"log": text}
    assert shop.rows("SELECT count(*) FROM b.log") == [(rows,)]


def test_a_target_that_refuses_rows_which_it_has_needs_no_word(shop: PostgresPlace, tmp_path: Path) -> None:
    """enable_upsert = false into a keyed table: the second run fails by the key, nothing is there twice."""
    shop.db.execute("CREATE TABLE b.keyed (id int PRIMARY KEY)")
    path = job(tmp_path, shop.source(table_path="a.keyed"), ("Jdbc", shop.sink(table="b.keyed", enable_upsert=False)))

    codes = [run(tmp_path, path).exit_code for _ in range(2)]

    assert codes == [0, 1]
    assert shop.rows("SELECT count(*) FROM b.keyed") == [(3,)]


def test_shards_into_one_keyless_target_are_judged_once(shop: PostgresPlace, tmp_path: Path) -> None:
    """P3-60: each of them finds rows of the others, which are no rows of another run."""
    shop.db.execute("CREATE TABLE a.log2 AS TABLE a.log; CREATE TABLE a.log3 AS TABLE a.log")
    source = shop.source(table_path=r"a[.]log.*", use_regex=True)
    path = job(tmp_path, source, ("Jdbc", shop.sink(table="b.logs")))

    first, second = run(tmp_path, path), run(tmp_path, path)

    assert first.exit_code == 0 and set(there(first).values()) == {"new"}
    assert second.exit_code == 1 and {table.state for table in second.tables} <= {"ISOLATED", "FAILED"}
    assert shop.rows("SELECT count(*) FROM b.logs") == [(6,)]


def test_files_of_an_earlier_run_are_not_doubled(shop: PostgresPlace, tmp_path: Path) -> None:
    """P1-the same copy again: files were doubled too."""
    sink = {"path": f"{tmp_path}/out/${{table_name}}", "file_format_type": "parquet"}
    source = shop.source(table_path="a.log")
    first = run(tmp_path, job(tmp_path, source, ("LocalFile", sink)))
    second = run(tmp_path, job(tmp_path, source, ("LocalFile", sink)))

    assert there(first) == {"log": "new"} and second.exit_code == 1
    assert "holds 1 file" in second.tables[0].cause.message and "--replace" in second.tables[0].cause.remedy
    assert pq.read_table(tmp_path / "out/log").num_rows == 2
    for mode, text, rows in (("APPEND_DATA", "appended to 1 file", 4), ("DROP_DATA", "replaced (2 files there)", 2)):
        receipt = run(tmp_path, job(tmp_path, source, ("LocalFile", sink | {"data_save_mode": mode})))
        assert there(receipt) == {"log": text}
        assert pq.read_table(tmp_path / "out/log").num_rows == rows


@pytest.mark.mariadb
def test_mariadb_and_sqlite_too(shop: PostgresPlace, maria: MariadbPlace, tmp_path: Path) -> None:
    database = {"url": f"jdbc:sqlite:{tmp_path}/shop.db", "generate_sink_sql": True}
    for sink in (maria.sink(), database):
        path = job(tmp_path, shop.source(**ALL), ("Jdbc", sink))
        run(tmp_path, path)
        assert planned(path)[0]["keyed"]["present"]["text"] == "updated by key (3 rows there)"
        assert run(tmp_path, path).exit_code == 3
    assert maria.rows("SELECT count(*) FROM b.log") == [(2,)]
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        assert db.execute("SELECT count(*) FROM log").fetchone() == (2,)


def test_a_job_that_goes_on_does_not_judge_its_own_rows(shop: PostgresPlace, tmp_path: Path) -> None:
    """What a table holds that failed half-way is of this job: `--restore latest` finishes it."""
    shop.db.execute("CREATE TABLE b.log (v text); CREATE TABLE b.keyed (id text PRIMARY KEY CHECK (id <> '3'))")
    path = job(tmp_path, shop.source(**ALL), ("Jdbc", shop.sink(table="b.${table_name}")))

    first = run(tmp_path, path, job_id="j")
    shop.db.execute("ALTER TABLE b.keyed DROP CONSTRAINT keyed_id_check")
    second = run(tmp_path, path, job_id="j", restore="latest")

    assert [first.exit_code, second.exit_code] == [3, 0]
    assert shop.rows("SELECT count(*) FROM b.log") == [(2,)] and shop.rows("SELECT count(*) FROM b.keyed") == [(3,)]


def test_many_rows_are_not_counted(shop: PostgresPlace, tmp_path: Path) -> None:
    """Beyond 100,000 the statistics answer, and the word says so."""
    shop.db.execute("CREATE TABLE b.log AS SELECT 'x' AS v FROM generate_series(1, 120000)")
    path = job(tmp_path, shop.source(table_path="a.log"), ("Jdbc", shop.sink(table="b.log")))

    assert "holds more than 100,000 rows" in planned(path)[0]["log"]["problem"]
    shop.db.execute("ANALYZE b.log")
    assert "holds about 120,000 rows" in planned(path)[0]["log"]["problem"]


@pytest.mark.mariadb
def test_names_with_per_cent_signs_in_a_second_run(pg: PostgresPlace, maria: MariadbPlace, tmp_path: Path) -> None:
    """P1-per cent: a `%` in a name is no placeholder of the driver, in any statement of any database."""
    pg.db.execute(
        'CREATE TABLE a."100 % s" (id int PRIMARY KEY, "%s" text, "a%%b" int);'
        """INSERT INTO a."100 % s" VALUES (1, '%s', 5), (2, '%%', 6)"""
    )
    name = "100 % s"
    (tmp_path / "db").mkdir()
    lite = f"jdbc:sqlite:{tmp_path}/db/out.db"
    for number, sink in enumerate((
        pg.sink(table="b.${table_name}"), maria.sink(table="${table_name}"),
        {"url": lite, "generate_sink_sql": True, "table": "${table_name}"},
    )):  # fmt: skip
        path = job(tmp_path, pg.source(**ALL), ("Jdbc", sink))
        assert [run(tmp_path, path).exit_code for _ in range(2)] == [0, 0], number
    expected = [(1, "%s", 5), (2, "%%", 6)]
    with closing(sqlite3.connect(tmp_path / "db/out.db")) as db:
        assert db.execute(f'SELECT * FROM "{name}" ORDER BY id').fetchall() == expected
    assert pg.rows(f'SELECT * FROM b."{name}" ORDER BY id') == expected
    assert maria.rows(f"SELECT * FROM b.`{name}` ORDER BY id") == expected
    for database, source in (
        ("mysql", maria.source(table_path=f"b.{name}")),
        ("sqlite", {"url": lite, "table_path": name}),
    ):
        path = job(tmp_path, source, ("Jdbc", pg.sink(table=f'b."%{database}"')))
        assert [run(tmp_path, path).exit_code for _ in range(2)] == [0, 0]
        assert pg.rows(f'SELECT * FROM b."%{database}" ORDER BY id') == expected
