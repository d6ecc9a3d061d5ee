"""Rules decide about changes in place of a person: once for each, also if the driver dies."""

from __future__ import annotations

from functools import partial

import pytest

from e2e.cdc.decisions import add_rule, changes, deciders, rules, wait_waiting, waiting
from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_decided_changes import AT, INBOX, REFUSED, wait_lines
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.cdc.test_schema_changes import FOLLOWS, Writer, is_equal, same_columns, wait_equal
from e2e.cdc.test_schema_policies import begin, change, wait_rows
from e2e.support import kill_driver, seatunnel, wait_alive, wait_for

__all__ = ["followed", "logical"]


def test_a_rule_decides_about_later_changes_of_its_kind(followed: Followed) -> None:
    begin(followed, INBOX)
    with Writer(followed.source_dsn, "orders"), Writer(followed.source_dsn, "lines"):
        name = add_rule(followed, "approve", "add.column")
        assert followed.process is not None
        for number in range(2):
            change(followed, f"ALTER TABLE orders ADD COLUMN c{number} int DEFAULT {number}")
            wait_alive(followed.process, "the target", partial(same_columns, followed), SECONDS)  # type: ignore[arg-type]
        assert deciders(followed) == [("approve", f"rule {name} of anna")] * 2
        change(
            followed, "ALTER TABLE lines ADD COLUMN other int", "ALTER TABLE orders DROP COLUMN c0, ADD COLUMN d int"
        )
        found = wait_waiting(followed, 2)
        assert {one.partition("-")[0] for one in found} == {"lines", "orders"}, "of another table, of two kinds"
        second = add_rule(followed, "approve", "drop.column", "add.column")
        wait_alive(followed.process, "the target", partial(same_columns, followed), SECONDS)  # type: ignore[arg-type]
    (one,) = (each for each in changes(followed) if "DROP COLUMN c0" in each["statement"])
    assert one["by"] == f"rules {name} of anna, {second} of anna"
    assert waiting(followed) == [each for each in found if each.startswith("lines-")]
    wait_alive(followed.process, "orders", partial(is_equal, followed, "orders"), SECONDS)


def test_rules_that_disagree_decide_nothing_and_one_that_is_removed_neither(followed: Followed) -> None:
    begin(followed, INBOX)
    names = add_rule(followed, "approve", "add.column"), add_rule(followed, "reject", "add.column", table=".*")
    change(followed, "ALTER TABLE orders ADD COLUMN a int DEFAULT 1", "UPDATE orders SET seq = -1 WHERE id = 1")
    wait_waiting(followed)
    near = seatunnel(followed.home, "changes", "rule", "job", "remove", names[0][:-1])
    assert near.code == 1
    assert f"did you mean {names[0]}?" in near.err
    assert seatunnel(followed.home, "changes", "rule", "job", "remove", names[0]).code == 0
    wait_rows(followed, "SELECT seq FROM orders WHERE id = 1", [(-1,)])
    assert deciders(followed) == [("reject", f"rule {names[1]} of anna")]
    assert [one["rule"] for one in rules(followed)] == [names[1]]
    assert seatunnel(followed.home, "changes", "rule", "job", "remove", names[1]).code == 0
    change(followed, "ALTER TABLE orders ADD COLUMN b int DEFAULT 1", "UPDATE orders SET seq = -2 WHERE id = 1")
    wait_waiting(followed)


POINTS = (*AT, "driver.journal.before", "driver.journal.written", "driver.takeover.claimed")


@pytest.mark.parametrize("point", POINTS)
def test_the_driver_dies_while_a_rule_is_taken_down_and_decides(followed: Followed, point: str) -> None:
    """A rule and a change that come while the job is stopped: the change is decided once, by that rule."""
    begin(followed, INBOX, ", is_exactly_once = true")
    followed.end()
    name = add_rule(followed, "approve", "add.column")
    assert rules(followed)[0]["at"] is None
    change(
        followed, "ALTER TABLE orders ADD COLUMN state text DEFAULT 'open'", "UPDATE orders SET seq = seq + 1",
        "UPDATE lines SET seq = seq + 1",
    )  # fmt: skip
    process = followed.run_to_failpoint(f"{point}:kill", "--restore", "latest")
    wait_for("the driver to die", lambda: process.poll() is not None, SECONDS)
    change(followed, "UPDATE lines SET seq = seq + 1", "INSERT INTO orders (id, seq) VALUES (80001, 1)")
    followed.run("--restore", "latest")
    wait_equal(followed)
    assert same_columns(followed)
    assert deciders(followed) == [("approve", f"rule {name} of anna")]
    assert [one["rule"] for one in rules(followed)] == [name]


def test_a_running_driver_dies_again_and_again_under_a_rule(followed: Followed) -> None:
    begin(followed, INBOX)
    add_rule(followed, "approve", "add.column", "drop.column", table=".*")
    with Writer(followed.source_dsn, "orders"), Writer(followed.source_dsn, "lines"):
        for number in range(4):
            change(
                followed, f"ALTER TABLE orders ADD COLUMN c{number} int DEFAULT {number}",
                "UPDATE orders SET seq = -1 WHERE id = 1", f"ALTER TABLE lines ADD COLUMN c{number} int",
                *([f"ALTER TABLE orders DROP COLUMN c{number - 1}"][: number]),
            )  # fmt: skip
            wait_lines(followed)
            assert followed.process is not None
            kill_driver(followed.process)
            followed.run("--restore", "latest")
        wait_alive(followed.process, "orders", partial(same_columns, followed), SECONDS)
        wait_alive(followed.process, "lines", partial(same_columns, followed, "lines"), SECONDS)
    wait_equal(followed)
    assert waiting(followed) == []


def test_a_job_of_one_table_goes_on_by_a_rule(followed: Followed) -> None:
    """Its log waits with it until the rule is there."""
    followed.write(source=INBOX, tables=("orders",))
    followed.run()
    followed.wait_equal(("orders",))
    change(followed, "ALTER TABLE orders ADD COLUMN a int DEFAULT 5", "UPDATE orders SET seq = -1 WHERE id < 50")
    assert "waits for a decision" in followed.wait_failed()
    name = add_rule(followed, "approve", "add.column")
    followed.run("--restore", "latest")
    wait_alive(followed.process, "orders", partial(is_equal, followed, "orders"), SECONDS)  # type: ignore[arg-type]
    change(followed, "ALTER TABLE orders ADD COLUMN b int DEFAULT 6", "UPDATE orders SET seq = -2 WHERE id < 50")
    wait_alive(followed.process, "orders", partial(same_columns, followed), SECONDS)  # type: ignore[arg-type]
    assert deciders(followed) == [("approve", f"rule {name} of anna")] * 2


def test_a_rule_counts_for_tables_with_an_inbox_only(followed: Followed) -> None:
    """Where a target has refused a change, a person decides."""
    begin(followed, FOLLOWS)
    add_rule(followed, "reject", "alter.column.type")
    change(followed, REFUSED, "UPDATE orders SET seq = 'none' WHERE id = 1")
    wait_waiting(followed)
    assert deciders(followed) == [(None, None)]
    refused = seatunnel(
        followed.home, "changes", "rule", "job", "add", "--table", "order", "--kind", "add.column", "--approve"
    )
    assert refused.code == 1
    assert f"the nearest table is {followed.pair.source}.public.orders" in refused.err
