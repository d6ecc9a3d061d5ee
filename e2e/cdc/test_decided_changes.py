"""Persons decide about changes of schemas: a table waits at its change, loses nothing, and goes on exactly from there,
while the others are followed."""

from __future__ import annotations

import itertools
import time
from functools import partial

import pytest

from e2e.cdc.decisions import changes, decide, wait_waiting, waiting
from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical
from e2e.cdc.test_schema_changes import FOLLOWS, Writer, columns, is_equal, rows, same_columns, wait_equal
from e2e.cdc.test_schema_policies import FIRST, begin, change, wait_rows
from e2e.support import events, kill_driver, seatunnel, wait_alive, wait_for

__all__ = ["followed", "logical"]
INBOX = ", schema-changes.enabled = true, schema-changes.behavior = inbox"
OTHERS = tuple(one for one in TABLES if one != "orders")


_marks = itertools.count(1)


def wait_lines(followed: Followed) -> None:
    """Wait until a row of another table has arrived. Each has its own value: the target may still have an earlier one."""
    mark = next(_marks)
    change(followed, f"INSERT INTO lines (id, seq) VALUES (9000001, {mark})")
    wait_rows(followed, "SELECT seq FROM lines WHERE id = 9000001", [(mark,)])
    change(followed, "DELETE FROM lines WHERE id = 9000001")


def test_a_change_in_the_inbox_waits_and_is_followed_exactly(followed: Followed) -> None:
    begin(followed, INBOX)
    with Writer(followed.source_dsn, "orders"), Writer(followed.source_dsn, "lines"):
        change(followed, "ALTER TABLE orders ADD COLUMN state text DEFAULT 'open'")
        (name,) = wait_waiting(followed)
        before = rows(followed, followed.pair.target, "orders")
        change(followed, "UPDATE orders SET state = 'paid' WHERE id < 20", "DELETE FROM orders WHERE id = 30")
        wait_lines(followed)
        time.sleep(1.0)
        assert rows(followed, followed.pair.target, "orders") == before
        assert columns(followed, followed.pair.target, "orders") == FIRST
        decide(followed, "approve", name)
        wait_alive(followed.process, "the target to be altered", partial(same_columns, followed), SECONDS)  # type: ignore[arg-type]
        time.sleep(0.5)
    wait_equal(followed)
    (one,) = changes(followed)
    assert (one["waits"], one["verdict"], one["by"]) == (False, "approve", "anna")
    assert one["checkpoint"] > 0
    assert "ADD COLUMN state text" in one["statement"]


def test_a_rejected_change_reaches_no_target(followed: Followed) -> None:
    begin(followed, INBOX)
    change(
        followed, "ALTER TABLE orders ADD COLUMN state text", "ALTER TABLE orders DROP COLUMN source",
        "UPDATE orders SET seq = -2, state = 'x' WHERE id = 1",
    )  # fmt: skip
    (name,) = wait_waiting(followed)
    change(followed, "INSERT INTO orders (id, seq) VALUES (70001, 7)", "DELETE FROM orders WHERE id = 2")
    wait_lines(followed)
    decide(followed, "reject", name)
    wait_rows(
        followed,
        "SELECT id, seq, source FROM orders WHERE id IN (1, 2, 70001) ORDER BY id",
        [(1, -2, None), (70001, 7, None)],
    )
    assert columns(followed, followed.pair.target, "orders") == FIRST
    followed.end()
    followed.run("--restore", "latest")
    change(followed, "UPDATE orders SET seq = -3 WHERE id = 1")
    wait_rows(followed, "SELECT seq FROM orders WHERE id = 1", [(-3,)])
    assert changes(followed)[0]["verdict"] == "reject"


REFUSED = "ALTER TABLE orders ALTER COLUMN seq TYPE text USING 'no. ' || seq"


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
def test_a_table_goes_on_when_its_target_is_mended(followed: Followed, sink: str) -> None:
    """A change that the target refuses: an approval before the target is altered leaves the table where it is."""
    begin(followed, FOLLOWS, sink)
    errors = followed.home / "errors"
    with Writer(followed.source_dsn, "lines") as writer:
        change(followed, REFUSED, "UPDATE orders SET seq = 'none' WHERE id = 1")
        (name,) = wait_waiting(followed)
        change(followed, "INSERT INTO orders (id, seq) VALUES (70001, 'seven')", "DELETE FROM orders WHERE id = 2")
        wait_lines(followed)
        decide(followed, "approve", name)
        wait_for("the target to refuse again", lambda: errors.read_text().count("ISOLATED") > 1, SECONDS)
        assert waiting(followed) == [name]
        followed.execute(followed.pair.target, REFUSED)
        change(followed, "UPDATE orders SET seq = 'later' WHERE id = 3")
        before = writer.written
        decide(followed, "approve", name)
        wait_for("further rows", lambda: writer.written > before + 100, SECONDS)
    wait_equal(followed)
    assert same_columns(followed)
    assert waiting(followed) == []


def test_tables_wait_at_different_places(followed: Followed) -> None:
    """The log goes back to the place of each, whatever the order of the decisions; changes that come meanwhile wait."""
    begin(followed, INBOX)
    with (
        Writer(followed.source_dsn, "orders"),
        Writer(followed.source_dsn, "lines"),
        Writer(followed.source_dsn, "customers"),
    ):
        change(followed, "ALTER TABLE orders ADD COLUMN a int DEFAULT 1")
        (first,) = wait_waiting(followed)
        change(followed, "ALTER TABLE orders ADD COLUMN b int DEFAULT 2")
        time.sleep(1.0)
        change(followed, "ALTER TABLE lines ADD COLUMN c int DEFAULT 3")
        second = next(one for one in wait_waiting(followed, 2) if one != first)
        time.sleep(1.0)
        decide(followed, "approve", second)
        wait_alive(followed.process, "lines", partial(same_columns, followed, "lines"), SECONDS)  # type: ignore[arg-type]
        time.sleep(1.0)
        decide(followed, "approve", first)
        wait_for("the next change of orders", lambda: [one for one in waiting(followed) if one != first], SECONDS)
        time.sleep(0.5)
        decide(followed, "approve", waiting(followed)[0])
        wait_alive(followed.process, "orders", partial(same_columns, followed), SECONDS)  # type: ignore[arg-type]
    wait_equal(followed)
    assert waiting(followed) == []


AT = (
    "driver.schema.before", "driver.schema.altered", "driver.savepoint.durable", "driver.commit.after",
    "driver.record.durable",
)  # fmt: skip


@pytest.mark.parametrize("point", AT)
def test_the_driver_dies_between_an_approval_and_its_effect(followed: Followed, point: str) -> None:
    begin(followed, INBOX, ", is_exactly_once = true")
    change(followed, "ALTER TABLE orders ADD COLUMN state text DEFAULT 'open'", "UPDATE orders SET seq = seq + 1")
    (name,) = wait_waiting(followed)
    change(followed, "UPDATE lines SET seq = seq + 1", "UPDATE orders SET state = 'paid' WHERE id < 100")
    wait_lines(followed)
    followed.end()
    decide(followed, "approve", name)
    process = followed.run_to_failpoint(f"{point}:kill", "--restore", "latest")
    wait_for("the driver to die", lambda: process.poll() is not None, SECONDS)
    change(followed, "UPDATE lines SET seq = seq + 1", "INSERT INTO orders (id, seq) VALUES (80001, 1)")
    followed.run("--restore", "latest")
    wait_equal(followed)
    assert same_columns(followed)


def test_a_running_driver_dies_after_an_approval(followed: Followed) -> None:
    begin(followed, INBOX)
    with Writer(followed.source_dsn, "orders"), Writer(followed.source_dsn, "lines"):
        for number, pause in enumerate((0.0, 0.2, 0.5, 0.9)):
            change(followed, f"ALTER TABLE orders ADD COLUMN c{number} int DEFAULT {number}")
            (name,) = wait_waiting(followed)
            decide(followed, "approve", name)
            time.sleep(pause)
            assert followed.process is not None
            kill_driver(followed.process)
            followed.run("--restore", "latest")
            wait_alive(followed.process, "the target", partial(same_columns, followed), SECONDS)
    wait_equal(followed)


def test_an_unknown_change_is_refused_with_the_nearest_one(followed: Followed) -> None:
    begin(followed, INBOX)
    done = seatunnel(followed.home, "changes", "approve", "job", "orders-000000")
    assert done.code == 1
    assert "no change 'orders-000000' waits" in done.err
    change(followed, "ALTER TABLE orders ADD COLUMN a int", "UPDATE orders SET a = 1 WHERE id = 1")
    (name,) = wait_waiting(followed)
    done = seatunnel(followed.home, "changes", "show", "job", name[:-1])
    assert done.code == 1
    assert f"did you mean {name}?" in done.err
    shown = seatunnel(followed.home, "changes", "show", "job", name)
    assert "ADD COLUMN a integer" in shown.out


def test_a_waiting_table_can_be_copied_again(followed: Followed) -> None:
    """Then no decision is needed, and an earlier one has no effect any more."""
    begin(followed, FOLLOWS)
    change(followed, REFUSED, "UPDATE orders SET seq = 'none' WHERE id = 1")
    (name,) = wait_waiting(followed)
    followed.execute(followed.pair.target, REFUSED)
    followed.end()
    decide(followed, "approve", name)
    assert seatunnel(followed.home, "table", "reset", "job", "orders").code == 0
    followed.run("--restore", "latest")
    wait_equal(followed)
    assert waiting(followed) == []
    change(followed, "UPDATE orders SET seq = 'more' WHERE id = 3")
    wait_equal(followed)


def test_targets_follow_what_they_can(followed: Followed) -> None:
    """``try``: a change that a target refuses counts as ignored, and stops no table."""
    begin(followed, ", schema-changes.enabled = true, schema-changes.behavior = try")
    followed.execute(followed.pair.target, "ALTER TABLE orders ADD COLUMN remark text")
    change(
        followed, "ALTER TABLE orders ADD COLUMN price int DEFAULT 3", "UPDATE orders SET price = 4 WHERE id = 1",
        "ALTER TABLE orders RENAME COLUMN note TO remark", "UPDATE orders SET remark = 'x', seq = -1 WHERE id = 2",
    )  # fmt: skip
    wait_rows(followed, "SELECT seq, note, remark, price FROM orders WHERE id = 2", [(-1, None, None, 3)])
    wait_rows(followed, "SELECT note, price FROM orders WHERE id IN (1, 3) ORDER BY id", [("old", 4), ("old", 3)])
    assert "ISOLATED" not in (followed.home / "errors").read_text()


def test_a_log_that_is_not_kept_any_more_is_refused(followed: Followed) -> None:
    """``schema-changes.log.max-bytes``: the slot moves on, which an event and `jobs show` say; an approval names both
    places, and a copy mends the table."""
    begin(followed, INBOX + ", schema-changes.log.max-bytes = 0")
    change(followed, "ALTER TABLE orders ADD COLUMN a int", "UPDATE orders SET a = 1 WHERE id < 50")
    (name,) = wait_waiting(followed)
    with followed.pair.connect(followed.pair.source) as db:
        (place,) = db.execute("SELECT pg_current_wal_insert_lsn()").fetchone()  # type: ignore[misc]
        query = "SELECT 1 FROM pg_replication_slots WHERE confirmed_flush_lsn > %s AND database = current_database()"
        while not db.execute(query, [place]).fetchall():
            wait_lines(followed)
    wait_for("the event", lambda: events(followed.home, "log_released"), SECONDS)
    (released,) = events(followed.home, "log_released")
    assert (released["change"], released["allowed"]) == (name, 0) and released["bytes"] > 0
    shown = seatunnel(followed.home, "jobs", "show", "job").out
    assert f"waits at its change {name}, and its log is not kept any more" in shown
    errors = followed.home / "errors"
    decide(followed, "approve", name)
    wait_for("the refusal", lambda: "has been confirmed up to" in errors.read_text(), SECONDS)
    wait_lines(followed)
    followed.execute(followed.pair.target, "ALTER TABLE orders ADD COLUMN a int")
    assert seatunnel(followed.home, "table", "reset", "job", "orders").code == 0
    wait_equal(followed)


def test_a_job_of_one_table_stops_at_its_change(followed: Followed) -> None:
    """It goes on there after the decision."""
    followed.write(source=INBOX, tables=("orders",))
    followed.run()
    followed.wait_equal(("orders",))
    change(followed, "ALTER TABLE orders ADD COLUMN a int DEFAULT 5", "UPDATE orders SET seq = -1 WHERE id < 50")
    said = followed.wait_failed()
    assert "waits for a decision" in said
    (name,) = waiting(followed)
    decide(followed, "approve", name)
    change(followed, "UPDATE orders SET a = 7 WHERE id < 10")
    followed.run("--restore", "latest")
    wait_alive(followed.process, "orders", partial(is_equal, followed, "orders"), SECONDS)
    assert same_columns(followed)
