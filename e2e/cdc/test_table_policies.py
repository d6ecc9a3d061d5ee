"""Each table has the policy of the job file's entry for it, and the plan shows it."""

from __future__ import annotations

from functools import partial

from e2e.cdc.decisions import decide, wait_waiting
from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.cdc.test_schema_changes import columns, same_columns
from e2e.cdc.test_schema_policies import FIRST, begin, change, wait_rows
from e2e.support import seatunnel, wait_alive

__all__ = ["followed", "logical"]
ENTRIES = """, schema-changes.enabled = true, schema-changes.tables = [
    { table-pattern = ".*\\\\.orders", behavior = inbox },
    { table-pattern = ".*\\\\.lines", "include" = [add.column] }]"""


def test_each_table_of_postgres_has_its_policy(followed: Followed) -> None:
    begin(followed, ENTRIES)
    change(
        followed,
        "ALTER TABLE orders ADD COLUMN state text DEFAULT 'open'", "UPDATE orders SET state = 'paid' WHERE id = 1",
        "ALTER TABLE lines ADD COLUMN price int DEFAULT 3", "ALTER TABLE lines DROP COLUMN source",
        "UPDATE lines SET seq = -1 WHERE id = 1",
        "ALTER TABLE customers DROP COLUMN source", "UPDATE customers SET seq = -1 WHERE id = 1",
    )  # fmt: skip
    (name,) = wait_waiting(followed)
    assert name.startswith("orders-")
    assert followed.process is not None
    wait_alive(followed.process, "customers", partial(same_columns, followed, "customers"), SECONDS)  # type: ignore[arg-type]
    wait_rows(followed, "SELECT seq, source, price FROM lines WHERE id IN (1, 2) ORDER BY id",
              [(-1, None, 3), (2, "first", 3)])  # fmt: skip
    assert columns(followed, followed.pair.target, "orders") == FIRST
    decide(followed, "approve", name)
    wait_alive(followed.process, "orders", partial(same_columns, followed), SECONDS)


def test_the_plan_shows_tables_with_policies_of_their_own(followed: Followed) -> None:
    followed.write(source=ENTRIES)
    shown = seatunnel(followed.home, "plan", "job.conf").out
    source = followed.pair.source
    assert "changes  of schemas: evolve" in shown
    assert f"{source}.public.orders: inbox" in shown
    assert f"{source}.public.lines: evolve; include add.column" in shown
    assert f"{source}.public.customers:" not in shown
    followed.write(source=ENTRIES.replace("orders", "order"))
    refused = seatunnel(followed.home, "plan", "job.conf")
    assert refused.code != 0
    said = refused.out + refused.err
    assert f"nearest table is {source}.public.orders" in said
