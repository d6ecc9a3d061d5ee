"""One target belongs to one source table: what collides is refused with both names, and names arrive as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py import app
from seatunnel_py.errors import PlanError
from seatunnel_py.plan import plan_data
from seatunnel_py.runtime.storage.home import Home
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace


def job(tmp_path: Path, source: Mapping[str, Any], *sinks: tuple[str, Mapping[str, Any]]) -> Path:
    """A job file as JSON, which needs no quoting of what is quoted already."""
    import json

    steps = [{"plugin_name": name, "plugin_input": ["in"], **options} for name, options in sinks]
    text = {"source": [{"plugin_name": "Jdbc", "plugin_output": "in", **source}], "sink": steps}
    (path := tmp_path / "job.json").write_text(json.dumps(text))
    return path


def run(tmp_path: Path, path: Path) -> Any:
    home = Home(tmp_path / "home")
    receipt = app.run(path, app.RunOptions({}, local=True), home, lambda event: None, lambda driver: None)
    assert receipt.exit_code == 0, [table.cause for table in receipt.tables]
    return receipt


def refused(path: Path) -> str:
    with pytest.raises(PlanError) as caught:
        app.plan(path)
    return str(caught.value)


@pytest.fixture
def same(pg: PostgresPlace) -> PostgresPlace:
    """P3-F1: tables of one name in two schemas, with keys that meet."""
    pg.db.execute(
        "CREATE TABLE a.same (id int PRIMARY KEY, v text); INSERT INTO a.same VALUES (1, 'a'), (2, 'a');"
        "CREATE SCHEMA s; CREATE TABLE s.same (id int PRIMARY KEY, v text); INSERT INTO s.same VALUES (2, 's');"
        "CREATE SCHEMA target"
    )
    return pg


BOTH = {"table_path": r".*[.](a|s)[.].*", "use_regex": True}


def test_tables_of_one_name_are_refused_with_both_names(same: PostgresPlace, tmp_path: Path) -> None:
    """P3-F1, P1-schemas merged: by default, by a placeholder, and in files; nothing is made."""
    into = [
        ("Jdbc", same.sink()),
        ("Jdbc", same.sink(table="target.${table_name}")),
        ("LocalFile", {"path": f"{tmp_path}/out/${{table_name}}", "file_format_type": "parquet"}),
    ]
    for sink in into:
        text = refused(job(tmp_path, same.source(**BOTH), sink))

        assert ".a.same" in text and ".s.same" in text and "${schema_name}" in text, text
    assert not (tmp_path / "out").exists()
    assert same.rows("SELECT to_regclass('target.same'), to_regclass('public.same')") == [(None, None)]


def test_each_goes_where_its_schema_says(same: PostgresPlace, tmp_path: Path) -> None:
    run(tmp_path, job(tmp_path, same.source(**BOTH), ("Jdbc", same.sink(table="to_${schema_name}.${table_name}"))))

    assert same.rows("SELECT * FROM to_a.same ORDER BY id") == [(1, "a"), (2, "a")]
    assert same.rows("SELECT * FROM to_s.same") == [(2, "s")]


def test_a_named_target_takes_shards_and_the_plan_says_so(same: PostgresPlace, tmp_path: Path) -> None:
    """P3-60: what the job file says on purpose stays."""
    path = job(tmp_path, same.source(**BOTH), ("Jdbc", same.sink(table="target.all_of_them")))

    found = app.plan(path)
    run(tmp_path, path)

    assert any("2 tables into one" in note and "target.all_of_them" in note for note in found.job.notes)
    assert "2 tables into one" in plan_data.text(
        plan_data.describe(found.job, found.graph, found.pipelines, look=False)
    )
    assert same.rows("SELECT count(*) FROM target.all_of_them") == [(2,)]


def test_two_steps_may_not_write_one_place_by_chance(same: PostgresPlace, tmp_path: Path) -> None:
    """`same` and `public.same` are one table: the connection's schema is asked for."""
    sinks = [("Jdbc", same.sink(table=table)) for table in ("${table_name}", "public.${table_name}")]

    text = refused(job(tmp_path, same.source(table_path="a.same"), *sinks))

    assert "by each of the steps" in text


def test_a_name_with_dots_is_one_name_everywhere(pg: PostgresPlace, tmp_path: Path) -> None:
    """P3-F2, T40: neither a schema nor a table is made of its parts, whichever way it is named."""
    pg.db.execute(
        'CREATE TABLE a."Ta.b" (id int PRIMARY KEY); INSERT INTO a."Ta.b" VALUES (1);'
        'CREATE TABLE a."a..b" (id int PRIMARY KEY); INSERT INTO a."a..b" VALUES (2);'
        'CREATE TABLE a."we""ird " (id int PRIMARY KEY); INSERT INTO a."we""ird " VALUES (3)'
    )
    everything = {"table_path": r"a[.].*", "use_regex": True}
    run(tmp_path, job(tmp_path, pg.source(**everything), ("Jdbc", pg.sink())))
    run(tmp_path, job(tmp_path, pg.source(**everything), ("Jdbc", pg.sink(table="b.${table_name}"))))
    run(tmp_path, job(tmp_path, pg.source(table_path='a."Ta.b"'), ("Jdbc", pg.sink(table='b."x.y"'))))

    for schema in ("public", "b"):
        assert pg.rows(f'SELECT * FROM {schema}."Ta.b"') == [(1,)]
        assert pg.rows(f'SELECT * FROM {schema}."a..b"') == [(2,)]
        assert pg.rows(f'SELECT * FROM {schema}."we""ird "') == [(3,)]
    assert pg.rows('SELECT * FROM b."x.y"') == [(1,)]
    assert pg.rows("SELECT count(*) FROM pg_namespace WHERE nspname IN ('Ta', 'x')") == [(0,)]


def test_a_variable_may_hold_a_quoted_name(pg: PostgresPlace, tmp_path: Path) -> None:
    """P3-F2: `-i table='a."Ta.b"'`."""
    pg.db.execute('CREATE TABLE a."Ta.b" (id int PRIMARY KEY)')
    path = job(tmp_path, pg.source(table_path="${which}"), ("Console", {}))

    [pipeline] = app.plan(path, {"which": 'a."Ta.b"'}).pipelines

    assert [path.table for path in pipeline.tables] == ["Ta.b"]


def test_sqlite_keeps_names_and_refuses_what_it_folds(pg: PostgresPlace, tmp_path: Path) -> None:
    """T40: `a.b` and `a..b` were one table `b`; letters of ASCII fold there."""
    pg.db.execute(
        'CREATE TABLE a."a.b" (id int PRIMARY KEY); INSERT INTO a."a.b" VALUES (1);'
        'CREATE TABLE a."a..b" (id int PRIMARY KEY); INSERT INTO a."a..b" VALUES (2)'
    )
    sink = ("Jdbc", {"url": f"jdbc:sqlite:{tmp_path}/shop.db", "generate_sink_sql": True})
    everything = pg.source(table_path=r"a[.].*", use_regex=True)
    run(tmp_path, job(tmp_path, everything, sink))

    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        assert db.execute('SELECT * FROM "a.b"').fetchall() == [(1,)]
        assert db.execute('SELECT * FROM "a..b"').fetchall() == [(2,)]
    pg.db.execute('CREATE TABLE a."A.B" (id int PRIMARY KEY)')
    text = refused(job(tmp_path, everything, sink))
    assert '"A.B"' in text and '"a.b"' in text
    assert "only main" in refused(job(tmp_path, pg.source(table_path='a."a.b"'), (sink[0], sink[1] | {"table": "x.y"})))


def test_two_dots_do_not_leave_the_directory(pg: PostgresPlace, tmp_path: Path) -> None:
    """T41."""
    pg.db.execute('CREATE TABLE a.".." (id int PRIMARY KEY); INSERT INTO a.".." VALUES (1)')
    sink = ("LocalFile", {"path": f"{tmp_path}/deep/out/${{table_name}}", "file_format_type": "parquet"})

    text = refused(job(tmp_path, pg.source(table_path='a.".."'), sink))

    assert "'..' cannot be a directory's or a file's name" in text and "LocalFile.path" in text

    assert not (tmp_path / "deep").exists()


def test_a_placeholder_without_a_value_is_no_name(tmp_path: Path) -> None:
    """SQLite has no schemas: a directory called ${schema_name} was made."""
    with closing(sqlite3.connect(tmp_path / "in.db")) as db:
        db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    source = {"url": f"jdbc:sqlite:{tmp_path}/in.db", "table_path": "t"}
    sink = {"path": f"{tmp_path}/out/${{schema_name}}", "file_format_type": "parquet"}

    assert "${schema_name:...}" in refused(job(tmp_path, source, ("LocalFile", sink)))


@pytest.mark.parametrize("long", ["é" * 31 + "x", "x" * 62])
def test_a_name_that_would_be_cut_is_refused(pg: PostgresPlace, tmp_path: Path, long: str) -> None:
    """T44: 63 bytes in PostgreSQL; two tables whose ends differ became one."""
    pg.db.execute(f'CREATE TABLE a."{long}" (id int PRIMARY KEY)'.encode())

    text = refused(job(tmp_path, pg.source(table_path=f"a.{long}"), ("Jdbc", pg.sink(table="b.p_${table_name}"))))

    assert "the target takes 63" in text and f"p_{long}" in text


def test_indexes_of_long_names_are_all_made(pg: PostgresPlace, tmp_path: Path) -> None:
    """T44's kind: two tables whose names differ at their ends got one index between them."""
    for ending in "xy":
        name = "n" * 60 + ending
        pg.db.execute(f"CREATE TABLE a.{name} (id int PRIMARY KEY, u int NOT NULL UNIQUE)".encode())

    source = pg.source(table_path=r"a[.].*", use_regex=True)
    run(tmp_path, job(tmp_path, source, ("Jdbc", pg.sink(table="b.${table_name}"))))

    unique = (
        "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE relnamespace = 'b'::regnamespace"
    )
    assert pg.rows(f"{unique} AND NOT indisprimary AND indisunique AND relname LIKE 'nnn%'") == [(2,)]


@pytest.mark.mariadb
def test_mariadb_makes_no_database_of_a_dot(pg: PostgresPlace, maria: MariadbPlace, tmp_path: Path) -> None:
    """T40: `a.b` made the database `a` on the way."""
    pg.db.execute('CREATE TABLE a."x.y" (id int PRIMARY KEY); INSERT INTO a."x.y" VALUES (7)')

    run(tmp_path, job(tmp_path, pg.source(table_path='a."x.y"'), ("Jdbc", maria.sink())))

    assert maria.rows("SELECT * FROM b.`x.y`") == [(7,)]
    assert maria.rows("SHOW DATABASES LIKE 'x'") == []
    run(tmp_path, job(tmp_path, maria.source(table_path="b.`x.y`"), ("Jdbc", maria.sink(table='"y.z"'))))
    assert maria.rows("SELECT * FROM b.`y.z`") == [(7,)]


@pytest.mark.mariadb
def test_mariadb_is_asked_whether_case_counts(pg: PostgresPlace, maria: MariadbPlace, tmp_path: Path) -> None:
    """Two tables that differ in letter case are two here (lower_case_table_names = 0), two columns are one."""
    pg.db.execute('CREATE TABLE a.t (id int PRIMARY KEY); CREATE TABLE a."T" (id int PRIMARY KEY, "Aa" int, "aA" int)')
    source = pg.source(table_path=r".*[.]a[.](t|T)", use_regex=True)
    sensitive = maria.rows("SELECT @@lower_case_table_names") == [(0,)]
    assert sensitive, "the test server runs on a file system where case counts"

    found = app.plan(job(tmp_path, source, ("Jdbc", maria.sink())))

    plan = plan_data.describe(found.job, found.graph, found.pipelines, look=True)
    problems = {sink["table"][-1]: sink.get("problem", "") for line in plan["pipelines"] for sink in line["sinks"]}
    assert problems["t"] == "" and "'Aa' and 'aA' have the same name" in problems["T"]


@pytest.mark.mariadb
@pytest.mark.parametrize(("name", "why"), [("trail ", "ends with a character"), ("x" * 63, "takes 64")])
def test_mariadb_names_are_refused_early(
    pg: PostgresPlace, maria: MariadbPlace, tmp_path: Path, name: str, why: str
) -> None:
    pg.db.execute(f'CREATE TABLE a."{name}" (id int PRIMARY KEY)'.encode())
    table = "${table_name}" if name.endswith(" ") else "pp${table_name}"

    assert why in refused(job(tmp_path, pg.source(table_path=f'a."{name}"'), ("Jdbc", maria.sink(table=table))))
