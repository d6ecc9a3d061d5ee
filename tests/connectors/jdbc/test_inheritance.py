"""Tables that inherit from others: PostgreSQL shows the rows of all heirs with a table; a copy has each row once."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatunnel_py import app
from seatunnel_py.plan import plan_data
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.exactly_once import Target
from tests.connectors.jdbc.test_rows_there import ALL, run, there
from tests.connectors.jdbc.test_target_names import job


@pytest.fixture
def family(pg: PostgresPlace) -> PostgresPlace:
    """Two generations; a parent and an heir hold the same key, which PostgreSQL allows."""
    pg.db.execute(
        "CREATE TABLE a.base (id int PRIMARY KEY, v text); INSERT INTO a.base VALUES (1, 'base'), (2, 'base');"
        "CREATE TABLE a.child (extra int, PRIMARY KEY (id)) INHERITS (a.base);"
        "INSERT INTO a.child VALUES (1, 'child', 7), (3, 'child', 8);"
        "CREATE TABLE a.grandchild (PRIMARY KEY (id)) INHERITS (a.child); INSERT INTO a.grandchild VALUES (4, 'gc', 9)"
    )
    return pg


def test_a_pattern_reads_each_row_once(family: PostgresPlace, tmp_path: Path) -> None:
    """P1-inheritance: rows of heirs came with those of their parent too, and took the place of rows with their key."""
    path = job(tmp_path, family.source(**ALL), ("Jdbc", family.sink(table="b.${table_name}")))

    found = app.plan(path)
    text = plan_data.text(plan_data.describe(found.job, found.graph, found.pipelines, look=True))
    receipt = run(tmp_path, path)

    assert receipt.exit_code == 0, receipt
    assert family.rows("SELECT * FROM b.base ORDER BY id") == [(1, "base"), (2, "base")]
    assert family.rows("SELECT * FROM b.child ORDER BY id") == [(1, "child", 7), (3, "child", 8)]
    assert family.rows("SELECT * FROM b.grandchild") == [(4, "gc", 9)]
    assert "not carried over: 1 inheritance (a.base)" in text


def test_a_table_alone_brings_the_rows_of_its_heirs_and_proves_no_key(family: PostgresPlace, tmp_path: Path) -> None:
    """As a query does. Two rows have one key, and nothing is built on its being unique: no shadow is filled."""
    family.db.execute("INSERT INTO a.base SELECT n, 'many' FROM generate_series(10, 60000) n; ANALYZE a.base")
    source = family.source(table_path="a.base")
    path = job(tmp_path, source, ("Jdbc", family.sink(table="b.base", enable_upsert=False, create_index=False)))

    receipt = run(tmp_path, path)

    assert receipt.exit_code == 0
    assert family.rows("SELECT id FROM b.base WHERE id < 10 ORDER BY 1") == [(1,), (1,), (2,), (3,), (4,)]


def test_an_excluded_heir_does_not_come_with_its_parent(family: PostgresPlace, tmp_path: Path) -> None:
    source = family.source(**ALL, exclude=["a[.].*child"])
    path = job(tmp_path, source, ("Jdbc", family.sink(table="b.${table_name}")))

    assert run(tmp_path, path).exit_code == 0
    assert family.rows("SELECT * FROM b.base ORDER BY id") == [(1, "base"), (2, "base")]


def test_an_heir_that_nobody_reads_is_named(family: PostgresPlace, tmp_path: Path) -> None:
    family.db.execute("CREATE TABLE a.other () INHERITS (a.base); INSERT INTO a.other VALUES (5, 'other')")
    source = family.source(table_path="a[.](base|child)", use_regex=True)
    path = job(tmp_path, source, ("Jdbc", family.sink(table="b.${table_name}")))

    found = app.plan(path)

    plan = plan_data.describe(found.job, found.graph, found.pipelines, look=False)
    assert {one["table"].rpartition(".")[2] for one in plan["left_out"]} == {"other"}
    assert all("read without the rows of its heirs" in one["why"] for one in plan["left_out"])
    assert run(tmp_path, path).exit_code == 0
    assert family.rows("SELECT id FROM b.base UNION ALL SELECT id FROM b.child ORDER BY 1") == [
        (1,),
        (1,),
        (2,),
        (3,),
        (4,),
    ]


def test_a_target_is_emptied_without_its_heirs(family: PostgresPlace, tmp_path: Path) -> None:
    """DROP_DATA is about the target table: rows of tables that inherit from it are neither counted nor removed."""
    family.db.execute(
        "CREATE TABLE b.log (id int, v text, extra int); INSERT INTO b.log VALUES (90, 'old');"
        "CREATE TABLE b.heir () INHERITS (b.log); INSERT INTO b.heir VALUES (91, 'heir'), (92, 'heir')"
    )
    sink = family.sink(table="b.log", enable_upsert=False, data_save_mode="DROP_DATA")

    receipt = run(tmp_path, job(tmp_path, family.source(table_path="a.grandchild"), ("Jdbc", sink)))

    assert receipt.exit_code == 0, receipt
    assert there(receipt) == {"grandchild": "replaced (1 row there)"}
    assert family.rows("SELECT id FROM ONLY b.log") == [(4,)]
    assert family.rows("SELECT id FROM b.heir ORDER BY id") == [(91,), (92,)]


@pytest.mark.parametrize("upsert", [True, False], ids=["upsert", "insert"])
@pytest.mark.parametrize("recipe", ["staged", "direct"])
def test_changes_and_removals_leave_rows_of_heirs_alone(pg: PostgresPlace, recipe: str, upsert: bool) -> None:
    """An heir may hold the same keys: they are not the target's."""
    pg.db.execute(
        "SET search_path = b; CREATE TABLE b.t (id bigint PRIMARY KEY, s text); CREATE TABLE b.heir () INHERITS (b.t);"
        "INSERT INTO b.t VALUES (1, 'own'), (2, 'own'); INSERT INTO b.heir VALUES (1, 'heir'), (2, 'heir')"
    )
    target = Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.t"))
    target.plan(recipe=recipe, primary_keys=["id"], enable_upsert=upsert)

    target.commit(1, target.stage("u1", ("+U", 1, "new"), ("-D", 2, "own"), ("+I", 3, "new")))

    assert pg.rows("SELECT * FROM ONLY b.t ORDER BY id") == [(1, "new"), (3, "new")]
    assert pg.rows("SELECT * FROM b.heir ORDER BY id") == [(1, "heir"), (2, "heir")]


def test_changes_and_removals_reach_every_partition(pg: PostgresPlace) -> None:
    pg.db.execute(
        "SET search_path = b; CREATE TABLE b.t (id bigint PRIMARY KEY, s text) PARTITION BY HASH (id);"
        "CREATE TABLE b.t0 PARTITION OF b.t FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
        "CREATE TABLE b.t1 PARTITION OF b.t FOR VALUES WITH (MODULUS 2, REMAINDER 1);"
        "INSERT INTO b.t SELECT n, 'own' FROM generate_series(1, 4) n"
    )
    target = Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.t"))
    target.plan(primary_keys=["id"])

    target.commit(1, target.stage("u1", ("+U", 1, "new"), ("-D", 2, "own"), ("+U", 3, "new"), ("-D", 4, "own")))

    assert target.rows == [(1, "new"), (3, "new")]
