"""What a target will refuse shows while a unit is staged, where its row can be set aside; not in the commit of all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from seatunnel_py.api import BadRowsError, FatalError
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.exactly_once import Target, target

__all__ = ["target"]


def plan(target: Target, table: str, **more: object) -> None:
    """A load into another table than the one that is there."""
    target.plan(table=target.options["table"].replace("t", table), **more)


def test_a_null_where_the_target_takes_none(target: Target) -> None:
    target.run("CREATE TABLE r (id bigint NOT NULL, s varchar(100) NOT NULL)")
    plan(target, "r")

    with pytest.raises(BadRowsError, match="null"):
        target.stage("u1", ("+I", 1, "a"), ("+I", 2, None))  # type: ignore[arg-type]
    target.commit(1, target.stage("u2", ("+I", 1, "a")))

    assert target.ask("SELECT id, s FROM r") == [(1, "a")]


def test_of_a_row_that_goes_nothing_is_asked_but_its_key(target: Target) -> None:
    """Change logs often know no more of it."""
    target.run("CREATE TABLE r (id bigint NOT NULL PRIMARY KEY, s varchar(100) NOT NULL)")
    target.run("INSERT INTO r VALUES (1, 'a'), (2, 'b')")
    plan(target, "r", primary_keys=["id"])

    target.commit(1, target.stage("u1", ("+I", 3, "c"), ("-D", 1, None), ("+U", 2, "B")))  # type: ignore[arg-type]

    assert target.ask("SELECT id, s FROM r ORDER BY id") == [(2, "B"), (3, "c")]


def test_what_the_database_fills_may_be_absent(target: Target) -> None:
    """A key that it counts up, in a table without one of the upstream's."""
    if "postgresql" in target.options["url"]:
        target.run("CREATE TABLE r (id bigint, s varchar(100) NOT NULL DEFAULT 'x')")
    elif "sqlite" in target.options["url"]:
        target.run("CREATE TABLE r (id integer PRIMARY KEY, s varchar(100))")
    else:
        target.run("CREATE TABLE r (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, s varchar(100))")
    plan(target, "r")

    target.commit(1, target.stage("u1", ("+I", None, "a"), ("+I", None, "b")))  # type: ignore[arg-type]

    assert [s for (s,) in target.ask("SELECT s FROM r ORDER BY s")] == ["a", "b"]


def test_a_condition_of_the_target(pg: PostgresPlace) -> None:
    """One that looks at columns of the load; one on another column is the commit's business."""
    pg.db.execute(
        b"SET search_path = b; CREATE TABLE b.r (id bigint, s text, other int DEFAULT 7, "
        b'CONSTRAINT "s\'s length" CHECK (length(s) < 3), CHECK (other + id > 0))'
    )
    target = Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.r"))
    target.plan()

    with pytest.raises(BadRowsError, match="s's length"):
        target.stage("u1", ("+I", 1, "abc"))
    target.commit(1, target.stage("u2", ("+I", 1, "ab")))

    assert pg.rows("SELECT id, s, other FROM r") == [(1, "ab", 7)]


def test_a_trigger_that_changes_rows_has_the_first_word(pg: PostgresPlace) -> None:
    """What it is given may break every rule."""
    pg.db.execute(
        b"SET search_path = b; CREATE TABLE b.r (id bigint, s text NOT NULL CHECK (s = 'filled')); "
        b"CREATE FUNCTION b.fill() RETURNS trigger LANGUAGE plpgsql AS "
        b"$$ BEGIN new.s := 'filled'; RETURN new; END $$; "
        b"CREATE TRIGGER fill BEFORE INSERT ON b.r FOR EACH ROW EXECUTE FUNCTION b.fill()"
    )
    target = Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.r"))
    target.plan()

    target.commit(1, target.stage("u1", ("+I", 1, None), ("+I", 2, "b")))  # type: ignore[arg-type]

    assert pg.rows("SELECT id, s FROM r ORDER BY id") == [(1, "filled"), (2, "filled")]


def test_a_constraint_that_commit_looks_at_is_named(pg: PostgresPlace) -> None:
    """It was taken for another attempt that was faster, and tried sixteen times."""
    pg.db.execute(
        b"SET search_path = b; CREATE TABLE b.r (id bigint, s text, "
        b"CONSTRAINT one_s UNIQUE (s) DEFERRABLE INITIALLY DEFERRED)"
    )
    target = Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.r"))
    target.plan(recipe="direct")

    with pytest.raises(BadRowsError, match=r"committing a unit of table b\.r: .*one_s.*\(s\)=\(a\)"):
        target.stage("u1", ("+I", 1, "a"), ("+I", 2, "a"))
    target.commit(1, target.stage("u2", ("+I", 1, "a")))

    assert pg.rows("SELECT id, s FROM r") == [(1, "a")]


@pytest.mark.parametrize("recipe", ["staged", "direct"])
@pytest.mark.parametrize("there", [(9, "a"), (9, "A"), (9, "ab")])
def test_a_row_of_another_key_keeps_its_place(maria: MariadbPlace, recipe: str, there: tuple[int, str]) -> None:
    """F-C47: MySQL updates whatever row is equal in any unique key: rows replaced one another, with success."""
    maria.run(
        "USE b",
        "CREATE TABLE r (id bigint PRIMARY KEY, s varchar(9) COLLATE utf8mb4_general_ci, UNIQUE (s(1))) ENGINE=InnoDB",
        f"INSERT INTO r VALUES {there}, (2, 'b')",
    )
    target = Target(maria.rows, maria.run, maria.sink(table="r"))
    target.plan(recipe=recipe, primary_keys=["id"])

    def arrive(unit: str, *rows: tuple[str, int, str]) -> None:
        pieces = target.stage(unit, *rows)
        target.commit(int(unit[1:]), *([pieces] if recipe == "staged" else []))

    with pytest.raises(BadRowsError, match="the row of id = 1 is equal to a row of another key in another unique key"):
        arrive("u1", ("+I", 1, "a"), ("+I", 2, "c"))
    with pytest.raises(BadRowsError, match="the row of id = [34]"):
        arrive("u2", ("+I", 3, "x"), ("+I", 4, "x"))
    assert target.ask("SELECT id, s FROM r ORDER BY id") == [(2, "b"), there]

    target.plan(recipe=recipe, primary_keys=["id"])  # another run
    target.lineage += "b"
    arrive("u3", ("+I", 5, "e"), ("+U", 2, "f"), ("-D", 9, ""), ("+I", 1, "a"), ("+I", 6, "g"), ("-D", 6, ""))
    assert target.ask("SELECT id, s FROM r ORDER BY id") == [(1, "a"), (2, "f"), (5, "e")]


@pytest.mark.parametrize("recipe", ["staged", "direct"])
@pytest.mark.parametrize(
    "refuses",
    [
        "s text UNIQUE ON CONFLICT IGNORE); INSERT INTO r VALUES (9, 'a'",
        "s text); CREATE TRIGGER x BEFORE INSERT ON r WHEN new.id = 1 BEGIN SELECT raise(ignore); END; SELECT (1",
    ],
)
def test_rows_that_sqlite_leaves_out_are_missed(tmp_path: Path, recipe: str, refuses: str) -> None:
    """A conflict clause or a trigger dropped rows, with success, where rows were merged by key."""
    target = sqlite_place(tmp_path, f"CREATE TABLE r (id integer PRIMARY KEY, {refuses})")
    before = target.ask("SELECT id, s FROM r")
    target.plan(recipe=recipe, primary_keys=["id"])

    with pytest.raises(FatalError, match="leaves rows out"):
        target.commit(1, target.stage("u1", ("+I", 1, "a"), ("+I", 2, "b")))
    assert target.ask("SELECT id, s FROM r") == before


@pytest.mark.parametrize(
    ("columns", "more"),
    [
        ("id integer PRIMARY KEY, s text UNIQUE ON CONFLICT REPLACE", {}),
        ("id integer PRIMARY KEY, s text NOT NULL ON CONFLICT REPLACE DEFAULT 'x'", {}),
        ("id integer PRIMARY KEY ON CONFLICT REPLACE, s text", {"enable_upsert": False}),
    ],
)
def test_a_table_whose_rows_replace_others_is_refused(tmp_path: Path, columns: str, more: dict[str, bool]) -> None:
    target = sqlite_place(tmp_path, f"CREATE TABLE r ({columns})")
    with pytest.raises(FatalError, match="ON CONFLICT REPLACE"):
        target.plan(primary_keys=["id"], **more)


def test_a_key_that_replaces_is_no_obstacle_to_an_update_by_key(tmp_path: Path) -> None:
    target = sqlite_place(tmp_path, "CREATE TABLE r (id integer PRIMARY KEY ON CONFLICT REPLACE, s text)")
    target.plan(primary_keys=["id"])
    target.commit(1, target.stage("u1", ("+I", 1, "a"), ("+U", 1, "b")))
    assert target.ask("SELECT id, s FROM r") == [(1, "b")]


def sqlite_place(tmp_path: Path, script: str) -> Target:
    path = tmp_path / "target.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)

    def ask(sql: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(path)) as db:
            return db.execute(sql).fetchall()

    options = {"url": f"jdbc:sqlite:{path}", "generate_sink_sql": True, "table": "r"}
    return Target(ask, lambda sql: None, options)
