"""What a target will refuse shows while a unit is staged, where its row can be set aside; not in the commit of all."""

from __future__ import annotations

import pytest

from seatunnel_py.api import BadRows
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.exactly_once import Target, target

__all__ = ["target"]


def plan(target: Target, table: str, **more: object) -> None:
    """A load into another table than the one that is there."""
    target.plan(table=target.options["table"].replace("t", table), **more)


def test_a_null_where_the_target_takes_none(target: Target) -> None:
    target.run("CREATE TABLE r (id bigint NOT NULL, s varchar(100) NOT NULL)")
    plan(target, "r")

    with pytest.raises(BadRows, match="null"):
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

    with pytest.raises(BadRows, match="s's length"):
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

    with pytest.raises(BadRows, match=r"committing a unit of table b\.r: .*one_s.*\(s\)=\(a\)"):
        target.stage("u1", ("+I", 1, "a"), ("+I", 2, "a"))
    target.commit(1, target.stage("u2", ("+I", 1, "a")))

    assert pg.rows("SELECT id, s FROM r") == [(1, "a")]
