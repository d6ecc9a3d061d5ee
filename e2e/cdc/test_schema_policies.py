"""Changes of schemas reach the targets as far as the job's policy says, and truncations exactly once."""

from __future__ import annotations

import time
from functools import partial

import psycopg
import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.cdc.test_schema_changes import AT, Writer, columns, is_equal, wait_equal
from e2e.support import wait_alive, wait_for

__all__ = ["followed", "logical"]
LENIENT = ", schema-changes.enabled = true, schema-changes.behavior = lenient"
IGNORE = ", schema-changes.enabled = true, schema-changes.behavior = ignore"
FOLLOWS = ", schema-changes.enabled = true"
FIRST = [("id", "integer"), ("note", "text"), ("seq", "integer"), ("source", "text")]


def begin(followed: Followed, source: str, sink: str = "") -> None:
    followed.write(sink, source=source)
    followed.run()
    followed.wait_equal()


def change(followed: Followed, *statements: str) -> None:
    with followed.pair.connect(followed.pair.source) as db:
        for statement in statements:
            db.execute(statement.encode())


def wait_rows(followed: Followed, query: str, wanted: list[tuple[object, ...]]) -> None:
    """Wait until the target answers the query so."""
    assert followed.process is not None

    def found() -> bool:
        with followed.pair.connect(followed.pair.target) as db:
            try:
                return db.execute(query.encode()).fetchall() == wanted
            except psycopg.errors.UndefinedColumn:
                return False  # it is added soon

    wait_alive(followed.process, query, found, SECONDS)


def test_lenient_targets_keep_columns_and_get_more(followed: Followed) -> None:
    """After a restart too: the record holds the schema that later steps have."""
    begin(followed, LENIENT)
    change(
        followed,
        "ALTER TABLE orders ADD COLUMN price int DEFAULT 3",
        "INSERT INTO orders (id, seq) VALUES (5001, 1)",
        "ALTER TABLE orders DROP COLUMN source",
        "UPDATE orders SET seq = 2 WHERE id = 1",
    )
    wait_rows(followed, "SELECT seq, source FROM orders WHERE id = 1", [(2, None)])
    followed.end()
    followed.run("--restore", "latest")
    change(
        followed, "ALTER TABLE orders RENAME COLUMN note TO remark", "ALTER TABLE orders ALTER COLUMN seq TYPE bigint",
        "UPDATE orders SET remark = 'new', seq = 5000000000 WHERE id = 2",
    )  # fmt: skip
    query = "SELECT seq, source, note, remark FROM orders WHERE id = 2"
    wait_rows(followed, query, [(5_000_000_000, None, None, "new")])
    wait_rows(followed, "SELECT source, note, remark, price FROM orders WHERE id = 3", [("first", "old", None, 3)])
    wait_rows(followed, "SELECT price FROM orders WHERE id = 5001", [(3,)])
    assert {name for name, _ in columns(followed, followed.pair.target, "orders")} == {
        "id", "seq", "source", "note", "remark", "price"
    }  # fmt: skip


def test_targets_stay_as_they_are_where_changes_are_ignored(followed: Followed) -> None:
    begin(followed, IGNORE)
    change(
        followed,
        "ALTER TABLE orders ADD COLUMN price int", "ALTER TABLE orders RENAME COLUMN note TO remark",
        "UPDATE orders SET seq = 2, price = 4, remark = 'x' WHERE id = 1",
        "ALTER TABLE orders DROP COLUMN source", "UPDATE orders SET seq = 3 WHERE id = 2",
    )  # fmt: skip
    wait_rows(followed, "SELECT seq, source, note FROM orders WHERE id = 2", [(3, None, None)])
    wait_rows(followed, "SELECT seq, source, note FROM orders WHERE id = 1", [(2, "first", None)])
    assert columns(followed, followed.pair.target, "orders") == FIRST
    assert "its targets stay as they are" in (followed.home / "errors").read_text()
    errors = followed.home / "errors"
    change(followed, "ALTER TABLE lines ALTER COLUMN seq TYPE bigint", "UPDATE lines SET seq = 5000000000 WHERE id = 1")
    wait_for(
        "a type that the target does not hold to stop its table", lambda: "ISOLATED" in errors.read_text(), SECONDS
    )
    assert "'seq' is bigint" in errors.read_text()
    change(followed, "UPDATE orders SET seq = 4 WHERE id = 2")
    wait_rows(followed, "SELECT seq FROM orders WHERE id = 2", [(4,)])


def test_only_the_changes_that_are_included_reach_the_targets(followed: Followed) -> None:
    begin(followed, FOLLOWS + ", schema-changes.exclude = [drop.column, truncate.table]")
    change(
        followed,
        "ALTER TABLE orders ADD COLUMN price int DEFAULT 3, DROP COLUMN source",
        "UPDATE orders SET seq = 2 WHERE id = 1",
    )
    wait_rows(followed, "SELECT seq, source, price FROM orders WHERE id = 1", [(2, None, 3)])
    wait_rows(followed, "SELECT source, price FROM orders WHERE id = 2", [("first", 3)])
    change(followed, "TRUNCATE lines", "INSERT INTO lines VALUES (1, 'again', 1, 'x'), (2000, 'again', 1, 'x')")
    wait_rows(followed, "SELECT count(*), count(*) FILTER (WHERE source = 'again') FROM lines", [(1001, 2)])


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
def test_a_truncated_table_empties_its_target(followed: Followed, sink: str) -> None:
    """In the place of the log where it stands: rows before it are gone, and rows after it stay, within one transaction
    too."""
    begin(followed, FOLLOWS, sink)
    with followed.pair.connect(followed.pair.source) as db, db.transaction():
        db.execute("INSERT INTO orders VALUES (7001, 'gone', 1, 'x')")
        db.execute("TRUNCATE orders, lines")
        db.execute("INSERT INTO orders VALUES (7002, 'stays', 1, 'x')")
    wait_rows(followed, "SELECT id, source FROM orders", [(7002, "stays")])
    wait_equal(followed)
    assert "RETRYING" not in (followed.home / "errors").read_text(), "no failure is shown where none is"


@pytest.mark.parametrize("point", AT)
def test_the_driver_dies_at_each_step_of_a_truncation(followed: Followed, point: str) -> None:
    """Rows that were written after it are never removed by its repetition."""
    begin(followed, FOLLOWS, ", is_exactly_once = true")
    followed.end()
    change(followed, "UPDATE orders SET seq = 7", "TRUNCATE orders", "INSERT INTO orders (id, seq) VALUES (1, 1)")
    process = followed.run_to_failpoint(f"{point}:kill", "--restore", "latest")
    wait_for("the driver to die", lambda: process.poll() is not None, SECONDS)
    change(followed, "INSERT INTO orders (id, seq) VALUES (2, 2)")
    followed.run("--restore", "latest")

    wait_equal(followed)


def test_the_driver_is_killed_while_tables_are_truncated(followed: Followed) -> None:
    begin(followed, FOLLOWS)
    with Writer(followed.source_dsn, "orders"), Writer(followed.source_dsn, "lines"):
        for pause in (0.1, 0.4, 0.7):
            change(followed, "TRUNCATE orders", "INSERT INTO orders (id) VALUES (1)")
            time.sleep(pause)
            followed.end()
            followed.run("--restore", "latest")
    wait_equal(followed)


def test_a_truncation_before_the_copy_does_not_count(followed: Followed) -> None:
    change(followed, "TRUNCATE customers", "INSERT INTO customers VALUES (1, 'copied', 1, 'x')")
    begin(followed, FOLLOWS)
    assert followed.process is not None
    change(followed, "INSERT INTO customers VALUES (2, 'followed', 1, 'x')")
    wait_alive(followed.process, "customers", partial(is_equal, followed, "customers"), SECONDS)
