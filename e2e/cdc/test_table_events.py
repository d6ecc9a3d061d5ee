"""A captured table of PostgreSQL is dropped, renamed, or created again while it is followed: only this table stops, with
all rows before that, and the fact and the ways on in its message."""

from __future__ import annotations

import time
from functools import partial

import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_decided_changes import wait_lines
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.cdc.test_schema_changes import FOLLOWS, Writer, is_equal
from e2e.cdc.test_schema_policies import begin, change, wait_rows
from e2e.support import finish, seatunnel, wait_alive, wait_for

__all__ = ["followed", "logical"]
OTHERS = ("customers", "lines")
CREATE = "CREATE TABLE orders (id int PRIMARY KEY, source text, seq int, note text)"
EVENTS = {
    "dropped": (["DROP TABLE orders"], "was dropped at the source", "take it out of the job"),
    "renamed": (
        ["ALTER TABLE orders RENAME TO orders_old"],
        "was renamed to public.orders_old at the source",
        "name public.orders_old in the job",
    ),
    "moved": (
        ["CREATE SCHEMA archive", "ALTER TABLE orders SET SCHEMA archive"],
        "was renamed to archive.orders at the source",
        "name archive.orders in the job",
    ),
    "created again": (
        ["DROP TABLE orders", CREATE, "INSERT INTO orders VALUES (1, 'other table', 1, 'x')"],
        "was dropped and created again at the source",
        "table reset",
    ),
    "swapped": (
        ["BEGIN", "ALTER TABLE orders RENAME TO orders_old", CREATE, "COMMIT",
         "INSERT INTO orders VALUES (1, 'other table', 1, 'x')"],
        "was renamed to public.orders_old at the source, and another table has its name now",
        "table reset",
    ),
}  # fmt: skip


def said(followed: Followed) -> str:
    return (followed.home / "errors").read_text() if (followed.home / "errors").exists() else ""


def wait_isolated(followed: Followed, fact: str) -> None:
    assert followed.process is not None
    wait_alive(followed.process, "the table to be isolated", lambda: "orders: ISOLATED" in said(followed), SECONDS)
    assert fact in said(followed)


@pytest.mark.parametrize("source", ["", FOLLOWS], ids=["not followed", "followed"])
@pytest.mark.parametrize("event", EVENTS)
def test_only_the_table_stops(followed: Followed, event: str, source: str) -> None:
    """F-C50, F-C56: the log does not show it, and goes on for the others, also with the next driver. Rows of another
    table with the same name never reach the target."""
    statements, fact, _ = EVENTS[event]
    begin(followed, source)
    change(followed, "UPDATE orders SET seq = -1 WHERE id < 500", "INSERT INTO orders VALUES (5000, 'last', 1, 'x')")
    wanted = followed.pair.rows(followed.pair.source, "orders")
    with Writer(followed.source_dsn, "lines"):
        change(followed, *statements)
        wait_isolated(followed, fact)
        wait_lines(followed)
    assert followed.pair.rows(followed.pair.target, "orders") == wanted
    assert "customers: ISOLATED" not in said(followed) and "lines: ISOLATED" not in said(followed)
    followed.end()
    change(followed, "UPDATE customers SET seq = -7 WHERE id < 50")
    begin_again(followed, source)
    wait_lines(followed)
    followed.wait_equal(OTHERS)
    assert followed.pair.rows(followed.pair.target, "orders") == wanted


def begin_again(followed: Followed, source: str) -> None:
    """A job file that names a table which does not exist is refused, with the way on."""
    with followed.pair.connect(followed.pair.source) as db:
        (exists,) = db.execute("SELECT to_regclass('public.orders') IS NOT NULL").fetchone()  # type: ignore[misc]
    if exists:
        followed.run("--restore", "latest")
        return
    assert finish(followed.run("--restore", "latest"), SECONDS).code == 2
    assert f"table {followed.pair.source}.public.orders (table-names[0]) does not exist" in said(followed)
    assert "--accept-changes" in said(followed)
    followed.write(source=source, tables=OTHERS)
    followed.run("--restore", "latest", "--accept-changes")


@pytest.mark.parametrize("event", ["created again", "swapped"])
def test_a_table_that_was_created_again_can_be_copied_again(followed: Followed, event: str) -> None:
    """The way on that its message names."""
    statements, fact, _ = EVENTS[event]
    begin(followed, FOLLOWS)
    change(followed, *statements)
    wait_isolated(followed, fact)
    followed.end()
    assert seatunnel(followed.home, "table", "reset", "job", "orders").code == 0
    followed.run("--restore", "latest")
    followed.wait_equal()
    change(
        followed, "UPDATE orders SET seq = 5", "ALTER TABLE orders ADD COLUMN more int DEFAULT 1",
        "UPDATE orders SET seq = 6 WHERE id = 1",
    )  # fmt: skip
    wait_alive(followed.process, "orders", partial(is_equal, followed, "orders"), SECONDS)  # type: ignore[arg-type]


def test_a_table_that_is_gone_while_the_job_is_stopped(followed: Followed) -> None:
    """Rows that the log has of it are written first, and those of its successor never."""
    begin(followed, FOLLOWS)
    followed.end()
    change(followed, "UPDATE orders SET seq = -1 WHERE id < 500", *EVENTS["created again"][0])
    followed.run("--restore", "latest")
    wait_isolated(followed, EVENTS["created again"][1])
    wait_rows(followed, "SELECT count(*) FROM orders WHERE seq = -1", [(499,)])
    wait_lines(followed)
    with followed.pair.connect(followed.pair.target) as db:
        assert db.execute("SELECT 1 FROM orders WHERE source = 'other table'").fetchall() == []


def test_the_driver_dies_while_a_table_stops(followed: Followed) -> None:
    begin(followed, FOLLOWS, ", is_exactly_once = true")
    followed.end()
    change(followed, "UPDATE orders SET seq = -1 WHERE id < 500", *EVENTS["swapped"][0])
    for point in ("driver.savepoint.durable", "driver.journal.written", "driver.record.durable"):
        process = followed.run_to_failpoint(f"{point}:kill", "--restore", "latest")
        wait_for("the driver to die", lambda process=process: process.poll() is not None, SECONDS)
        change(followed, "UPDATE lines SET seq = seq + 1")
    followed.run("--restore", "latest")
    wait_rows(followed, "SELECT count(*) FROM orders WHERE seq = -1", [(499,)])
    followed.wait_equal(OTHERS)
    wait_isolated(followed, EVENTS["swapped"][1])


def test_a_table_is_taken_out_of_the_publication(followed: Followed) -> None:
    """By a person at the source: its changes are not in the log any more."""
    begin(followed, FOLLOWS)
    (slot,) = followed.slots()
    followed.execute(followed.pair.source, f"ALTER PUBLICATION {slot} DROP TABLE orders")
    wait_isolated(followed, f"was taken out of the publication '{slot}'")
    wait_lines(followed)
    followed.execute(followed.pair.source, f"ALTER PUBLICATION {slot} ADD TABLE orders", "UPDATE orders SET seq = 9")
    assert seatunnel(followed.home, "table", "reset", "job", "orders").code == 0
    followed.wait_equal()


@pytest.mark.parametrize("event", ["dropped", "swapped"])
def test_a_job_of_one_table_stops_with_the_fact(followed: Followed, event: str) -> None:
    statements, fact, way_on = EVENTS[event]
    followed.write(source=FOLLOWS, tables=("orders",))
    followed.run()
    followed.wait_equal(("orders",))
    change(followed, *statements)
    text = followed.wait_failed()
    assert fact in text and way_on in text


def test_a_nightly_run_finds_that_a_table_was_created_again(followed: Followed) -> None:
    """A run that ends is told it at its end."""
    night = ", stop.mode = latest"
    followed.write(source=FOLLOWS + night)
    process = followed.run()
    assert finish(process, SECONDS).code == 0
    change(followed, *EVENTS["swapped"][0], "UPDATE lines SET seq = -1 WHERE id = 1")
    time.sleep(0.1)
    finish(followed.run("--restore", "latest"), SECONDS)
    assert EVENTS["swapped"][1] in said(followed) + (followed.home / "out").read_text()
    assert followed.equal("lines")
    assert followed.pair.count("orders") == 1000
