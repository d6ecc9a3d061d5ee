"""Changes of schemas reach the targets exactly, while rows are written, and whatever dies on the way."""

from __future__ import annotations

import time
from functools import partial
from random import Random

import psycopg
import pytest

from e2e.cdc.background import Background
from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical
from e2e.support import kill_driver, seatunnel, wait_alive, wait_for

__all__ = ["followed", "logical"]
FOLLOWS = ", schema-changes.enabled = true"
STATEMENTS = (
    "ALTER TABLE orders ADD COLUMN price numeric(10, 2)",
    "ALTER TABLE orders ADD COLUMN state text DEFAULT 'open'",
    "ALTER TABLE orders RENAME COLUMN note TO remark",
    "ALTER TABLE orders ALTER COLUMN seq TYPE bigint",
    "ALTER TABLE orders DROP COLUMN source",
    "ALTER TABLE orders ALTER COLUMN price TYPE numeric(14, 2)",
    "ALTER TABLE orders ADD COLUMN source boolean DEFAULT false, ADD COLUMN at timestamptz DEFAULT '2026-01-02 03:04:05+00'",
)


class Writer(Background):
    """Inserts, updates and deletes rows of one table all the time, in columns that every version of it has."""

    def __init__(self, dsn: str, table: str) -> None:
        super().__init__(f"writer of {table}")
        self._dsn, self._table = dsn, table
        self.written = 0

    def work(self) -> None:
        random = Random(7)
        with psycopg.connect(self._dsn, autocommit=True) as db:
            number = 10_000
            while not self.stopped.wait(0.005):
                number += 1
                db.execute(f"INSERT INTO {self._table} (id) VALUES (%s)".encode(), [number])
                db.execute(
                    f"UPDATE {self._table} SET seq = %s WHERE id = %s".encode(), [number, random.randint(1, 1000)]
                )
                if number % 5 == 0:
                    db.execute(f"DELETE FROM {self._table} WHERE id = %s".encode(), [random.randint(1, number)])
                self.written += 1


def columns(followed: Followed, database: str, table: str) -> list[tuple[str, str]]:
    with followed.pair.connect(database) as db:
        query = (
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attname"
        )
        return [(name, kind) for name, kind in db.execute(query, [f"public.{table}"])]


def same_columns(followed: Followed, table: str = "orders") -> bool:
    return columns(followed, followed.pair.target, table) == columns(followed, followed.pair.source, table)


def rows(followed: Followed, database: str, table: str) -> set[str]:
    """The rows as JSON, whatever the order of their columns."""
    with followed.pair.connect(database) as db:
        return {row[0] for row in db.execute(f"SELECT to_jsonb(t)::text FROM {table} t".encode())}


def is_equal(followed: Followed, table: str) -> bool:
    pair = followed.pair
    return rows(followed, pair.source, table) == rows(followed, pair.target, table)


def wait_equal(followed: Followed) -> None:
    assert followed.process is not None
    for table in TABLES:
        try:
            wait_alive(followed.process, f"{table} to be equal", partial(is_equal, followed, table), SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{difference(followed, table)}") from None


def difference(followed: Followed, table: str) -> str:
    """The columns, and the first rows that only one side has."""
    pair = followed.pair
    wanted, found = rows(followed, pair.source, table), rows(followed, pair.target, table)
    lines = [f"{name}: {columns(followed, name, table)}" for name in (pair.source, pair.target)]
    lines += [f"{len(wanted - found)} missing, {len(found - wanted)} surplus"]
    lines += [f"missing: {row[:200]}" for row in sorted(wanted - found)[:5]]
    return "\n".join([*lines, *(f"surplus: {row[:200]}" for row in sorted(found - wanted)[:5])])


def run_until_followed(followed: Followed, sink: str = "") -> None:
    followed.write(sink, source=FOLLOWS)
    followed.run()
    followed.wait_equal()


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
def test_columns_are_added_renamed_widened_and_dropped(followed: Followed, sink: str) -> None:
    run_until_followed(followed, sink)
    with Writer(followed.source_dsn, "orders"), Writer(followed.source_dsn, "lines"):
        for statement in STATEMENTS:
            with followed.pair.connect(followed.pair.source) as db:
                db.execute(statement.encode())
                db.execute("UPDATE orders SET seq = 5 WHERE id = 1")
            wait_alive(followed.process, statement, lambda: same_columns(followed), SECONDS)  # type: ignore[arg-type]

    wait_equal(followed)
    assert seatunnel(followed.home, "jobs", "cancel", "job").code == 0


SCRIPT = (
    "ALTER TABLE orders ADD COLUMN a int",
    "ALTER TABLE orders RENAME COLUMN a TO b",
    "ALTER TABLE lines ADD COLUMN c text DEFAULT 'c'",
    "ALTER TABLE orders ALTER COLUMN b TYPE bigint",
    "ALTER TABLE orders DROP COLUMN source",
    "ALTER TABLE lines RENAME COLUMN note TO remark",
    "ALTER TABLE orders RENAME COLUMN b TO d",
)


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_driver_is_killed_while_schemas_change(followed: Followed, sink: str, seed: int) -> None:
    """F-C50, F-C58: the log is read under the schema of its position, which the catalog of a later driver does not have
    any more, and each table gets its own changes."""
    run_until_followed(followed, sink)
    random, statements = Random(seed), list(SCRIPT)
    with Writer(followed.source_dsn, "orders"), Writer(followed.source_dsn, "lines"):
        while statements:
            for statement in (statements.pop(0) for _ in range(min(len(statements), random.choice((0, 1, 2))))):
                with followed.pair.connect(followed.pair.source) as db:
                    db.execute(statement.encode())
                time.sleep(random.choice((0.0, 0.05, 0.2)))
            time.sleep(random.choice((0.0, 0.1, 0.3, 0.6)))
            assert followed.process is not None
            assert followed.process.poll() is None, (followed.home / "errors").read_text()
            kill_driver(followed.process)
            followed.run("--restore", "latest")
            time.sleep(random.choice((0.5, 1.0, 2.0, 3.0)))

    wait_equal(followed)
    assert all(same_columns(followed, table) for table in TABLES)


AT = (
    "driver.schema.before", "driver.schema.altered", "driver.savepoint.durable", "driver.commit.after",
    "driver.record.durable",
)  # fmt: skip


@pytest.mark.parametrize("point", AT)
def test_the_driver_dies_at_each_step_of_a_change(followed: Followed, point: str) -> None:
    """F-C57: no change is applied again, or in another order."""
    run_until_followed(followed, ", is_exactly_once = true")
    followed.end()
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("ALTER TABLE orders ADD COLUMN state text DEFAULT 'open'")
        db.execute("UPDATE orders SET seq = seq + 1")
    process = followed.run_to_failpoint(f"{point}:kill", "--restore", "latest")
    wait_for("the driver to die", lambda: process.poll() is not None, SECONDS)
    followed.run("--restore", "latest")

    wait_equal(followed)
    assert same_columns(followed)


def test_a_change_that_the_target_refuses_isolates_its_table_once(followed: Followed) -> None:
    """The statement and the next steps are named; the others lose nothing."""
    run_until_followed(followed)
    with Writer(followed.source_dsn, "lines") as writer, followed.pair.connect(followed.pair.source) as db:
        db.execute("ALTER TABLE orders ALTER COLUMN seq TYPE text USING 'no. ' || seq")
        db.execute("UPDATE orders SET seq = 'none' WHERE id = 1")
        errors = followed.home / "errors"
        wait_for("the table to be isolated", lambda: "ISOLATED" in errors.read_text(), SECONDS)
        before = writer.written
        db.execute("UPDATE orders SET seq = 'still none' WHERE id = 2")
        wait_for("further rows", lambda: writer.written > before + 100, SECONDS)
        db.execute("ALTER TABLE customers ADD COLUMN age int")
        db.execute("UPDATE customers SET age = 3")

    for table in ("customers", "lines"):
        wait_alive(followed.process, table, partial(is_equal, followed, table), SECONDS)
    said = errors.read_text()
    assert said.count("ISOLATED") == 1
    assert "ALTER COLUMN seq TYPE text" in said
    assert rows(followed, followed.pair.target, "orders") != rows(followed, followed.pair.source, "orders")
    followed.end()
    followed.run("--restore", "latest")
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("UPDATE lines SET seq = -1")
    for table in ("customers", "lines"):
        wait_alive(followed.process, table, partial(is_equal, followed, table), SECONDS)


def test_without_the_option_a_change_isolates_its_table(followed: Followed) -> None:
    followed.write()
    followed.run()
    followed.wait_equal()
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("ALTER TABLE orders ADD COLUMN price int")
        db.execute("UPDATE orders SET price = 1")
        db.execute("UPDATE lines SET seq = 1")
    errors = followed.home / "errors"
    wait_for("the table to be isolated", lambda: "ISOLATED" in errors.read_text(), SECONDS)
    assert "ADD COLUMN price integer" in errors.read_text()
    wait_alive(followed.process, "lines", lambda: is_equal(followed, "lines"), SECONDS)  # type: ignore[arg-type]


def test_a_null_in_a_column_that_took_none_alters_the_target(followed: Followed) -> None:
    """The log describes no change of NOT NULL: the first null shows it."""
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("ALTER TABLE orders ALTER COLUMN note SET NOT NULL")
    run_until_followed(followed)
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("ALTER TABLE orders ALTER COLUMN note DROP NOT NULL")
        db.execute("UPDATE orders SET note = NULL WHERE id < 10")
    wait_equal(followed)
