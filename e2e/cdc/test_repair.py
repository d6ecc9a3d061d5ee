"""``seatunnel reconcile --repair``: rows that differ are read again, and no others."""

from __future__ import annotations

import json
import time
from typing import Any

import psycopg
import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.test_mariadb_cdc import TABLES as MARIADB_TABLES
from e2e.cdc.test_mariadb_cdc import FollowedLog, logged
from e2e.cdc.test_mariadb_cdc import followed as followed_log
from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical
from e2e.cdc.test_table_refresh import fixed_rows
from e2e.cdc.test_table_reset import SINKS, errors
from e2e.cdc.workload import Workload
from e2e.support import Finished, finish, seatunnel, wait_alive, write_job

__all__ = ["followed", "followed_log", "logged", "logical"]
SETTLE = ("--settle", "6")
# Of keys that no writer uses: these move rows to negative keys for a moment.
DAMAGE = (
    "DELETE FROM orders WHERE id BETWEEN 5000 AND 5009",
    "UPDATE orders SET note = 'spoilt' WHERE id BETWEEN 5010 AND 5014",
    "INSERT INTO orders VALUES (9001, 'surplus', 1, 'x'), (9002, 'surplus', 2, NULL)",
    "UPDATE customers SET seq = -1 WHERE id = 5020",
)


def repaired(followed: Any, *more: str) -> tuple[Finished, dict[str, Any]]:
    ended = seatunnel(followed.home, "reconcile", "job.conf", "--repair", "--json", *SETTLE, *more)
    assert ended.out, ended.err
    return ended, json.loads(ended.out)


def counts(found: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    """By table: rows to insert, to update and to delete."""
    tables = found["repair"]["tables"]
    return {one["table"].rpartition(".")[2]: (one["insert"], one["update"], one["delete"]) for one in tables}


@SINKS
def test_differing_rows_are_repaired_while_writers_write(followed: Followed, sink: str) -> None:
    followed.write(sink)
    fixed_rows(followed)
    with Workload(followed.source_dsn, TABLES, 1), Workload(followed.source_dsn, TABLES, 2):
        process = followed.run()
        followed.wait_followed()  # all tables are copied: no row is written over the damage
        time.sleep(2.0)
        followed.execute(followed.pair.target, *DAMAGE)

        ended, shown = repaired(followed)

        assert (ended.code, shown["differing"], shown["repair"]["asked"]) == (1, 18, False), ended
        assert counts(shown) == {"orders": (10, 5, 2), "customers": (0, 1, 0)}

        ended, done = repaired(followed, "--yes")

        assert (ended.code, done["differing"], done["repair"]["rows"]) == (0, 0, 18), ended
        by_table = {one["table"].rpartition(".")[2]: one for one in done["repair"]["tables"]}
        assert all(one["done"] for one in by_table.values())
        assert by_table["orders"]["written"] == 15 and by_table["orders"]["removed"] == 2
    assert process.poll() is None
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)


def test_a_stopped_job_repairs_at_its_next_start(followed: Followed) -> None:
    followed.write()
    fixed_rows(followed)
    followed.run()
    followed.wait_equal()
    followed.end()
    followed.execute(followed.pair.target, *DAMAGE)

    ended, found = repaired(followed, "--yes", "--job-id", "job")

    assert (ended.code, found["repair"]["later"], found["repair"]["rows"]) == (1, True, 0)
    followed.run("--restore", "latest")
    followed.wait_equal()
    ended = seatunnel(followed.home, "reconcile", "job.conf", "--repair")
    assert ended.code == 0 and "0 differ" in ended.out


def test_tables_without_a_way_are_refused_by_name(followed: Followed) -> None:
    """A copy without a log, and a job that nobody has started."""
    followed.write()
    ended = seatunnel(followed.home, "reconcile", "job.conf", "--repair")
    assert ended.code == 3 and "--job-id" in ended.err
    pair = followed.pair
    write_job(
        followed.home,
        f"""
        env {{ job.mode = BATCH }}
        source {{ Jdbc {{ {pair.jdbc(pair.source)}, table_path = "{pair.source}.public.orders" }} }}
        sink {{ Jdbc {{ {pair.jdbc(pair.target)}, generate_sink_sql = true, database = {pair.target},
                        table = "public.orders" }} }}""",
    )
    assert finish(followed.run(), SECONDS).code == 0
    followed.execute(pair.target, "DELETE FROM orders WHERE id = 5")

    ended = seatunnel(followed.home, "reconcile", "job.conf", "--repair", "--yes")

    assert ended.code == 1
    assert "not repaired" in ended.out and "does not follow a log" in ended.out and "remedy: run the job" in ended.out


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
def test_rows_of_mariadb_are_repaired_while_writers_write(followed_log: FollowedLog, sink: str) -> None:
    """Also those that no log shows: a foreign key has deleted them at the source."""
    followed_log.run_there(
        "INSERT INTO orders SELECT 5000 + seq, 'fixed', seq, 'x' FROM items WHERE seq < 10",
        "INSERT INTO customers SELECT 5000 + seq, 'fixed', seq, 'x' FROM items WHERE seq < 10",
        "ALTER TABLE customers ADD COLUMN parent INT NULL, ADD CONSTRAINT gone FOREIGN KEY (parent) "
        "REFERENCES orders (id) ON DELETE CASCADE",
        "UPDATE customers SET parent = 5003 WHERE id IN (5005, 5006)",
    )
    followed_log.write(sink=sink)
    with MariadbWorkload(followed_log.connection(), ("items",), 1):
        process = followed_log.run()
        wait_alive(process, "rows", lambda: followed_log.rows_here("customers"), SECONDS)
        time.sleep(2.0)
        followed_log.run_there("DELETE FROM orders WHERE id = 5003")
        with psycopg.connect(followed_log.target.dsn_of(followed_log.into), autocommit=True) as db:
            db.execute("UPDATE orders SET note = 'spoilt' WHERE id = 5001")
            db.execute("DELETE FROM orders WHERE id = 5002")

        ended, done = repaired(followed_log, "--yes")

        assert (ended.code, done["differing"]) == (0, 0), ended
        assert counts(done) == {"orders": (1, 1, 0), "customers": (0, 0, 2)}
        refreshed = seatunnel(followed_log.home, "table", "refresh", "job", "items", "--where", "id BETWEEN 1 AND 500")
        assert refreshed.code == 0, refreshed
    assert process.poll() is None
    followed_log.wait_equal(MARIADB_TABLES)
