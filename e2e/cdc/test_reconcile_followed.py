"""``seatunnel reconcile`` beside a job that follows changes: late rows are no differences, lost ones are."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import psycopg

from e2e.cdc.following_job import SECONDS
from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.test_mariadb_cdc import TABLES as MARIADB_TABLES
from e2e.cdc.test_mariadb_cdc import FollowedLog, logged
from e2e.cdc.test_mariadb_cdc import followed as followed_log
from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical
from e2e.cdc.workload import Workload
from e2e.support import Finished, kill_driver, seatunnel, wait_alive, write_job

__all__ = ["followed", "followed_log", "logged", "logical"]
SETTLE = ("--settle", "10")


def reconciled(home: Path, *more: str) -> Finished:
    return seatunnel(home, "reconcile", "job.conf", "--json", *SETTLE, *more)


def found(ended: Finished) -> dict[str, dict[Any, str]]:
    """By table: the kind of each differing key."""
    return {
        table["table"].rpartition(".")[2]: {tuple(one["key"].values()): one["kind"] for one in table["differences"]}
        for table in json.loads(ended.out)["tables"]
    }


def nothing(tables: tuple[str, ...]) -> dict[str, dict[Any, str]]:
    return {table: {} for table in tables}


def test_postgres_settles_while_writers_write_and_lost_rows_are_found(followed: Followed) -> None:
    """Nothing of the comparison touches the slot: a second one would stay behind, or the first one would move."""
    followed.write()
    with Workload(followed.source_dsn, TABLES, 1), Workload(followed.source_dsn, TABLES, 2):
        followed.run()
        wait_alive(followed.process, "rows", lambda: followed.pair.count("lines"), SECONDS)  # type: ignore[arg-type]

        ended = reconciled(followed.home)

        assert ended.code == 0, ended.out + ended.err
        assert found(ended) == nothing(TABLES)
        assert all(table["moving"] == 0 for table in json.loads(ended.out)["tables"])
        assert sum(table["source_rows"] for table in json.loads(ended.out)["tables"]) > 1000
    assert len(followed.slots()) == 1
    with followed.pair.connect(followed.pair.target) as db:
        db.execute(b"INSERT INTO orders VALUES (-5, 'surplus', 1, 'x')")
        db.execute(b"DELETE FROM customers WHERE id = (SELECT min(id) FROM customers)")
        db.execute(b"UPDATE lines SET note = 'other' WHERE id = (SELECT max(id) FROM lines)")
        first = db.execute(b"SELECT min(id) FROM lines").fetchone()
    assert first is not None

    ended = reconciled(followed.home)

    assert ended.code == 1, ended.out + ended.err
    kinds = {table: list(keys.values()) for table, keys in found(ended).items()}
    assert kinds == {"orders": ["surplus"], "customers": ["missing"], "lines": ["different"]}
    assert list(found(ended)["orders"]) == [(-5,)]


def test_rows_that_a_dead_job_has_not_delivered_are_differences(followed: Followed) -> None:
    followed.write()
    process = followed.run()
    followed.wait_equal()
    kill_driver(process)
    with psycopg.connect(followed.source_dsn, autocommit=True) as db:
        db.execute("INSERT INTO orders VALUES (5000, 'late', 1, 'x')")
        db.execute("DELETE FROM orders WHERE id = 3")

    ended = reconciled(followed.home, "--table", "orders")

    assert (ended.code, found(ended)) == (1, {"orders": {(5000,): "missing", (3,): "surplus"}})

    began = time.monotonic()
    ended = reconciled(followed.home, "--table", "orders", "--job-id", "job", "--settle", "300")
    assert (ended.code, len(found(ended)["orders"])) == (1, 2)
    assert json.loads(ended.out)["job"] == {"id": "job", "state": "KILLED"} and time.monotonic() - began < 60

    process = followed.run("--restore", "latest")
    ended = reconciled(followed.home)
    assert (ended.code, found(ended)) == (0, nothing(TABLES)), ended.out + ended.err


def test_a_transform_that_needs_changes_is_refused_by_name(followed: Followed) -> None:
    """What it makes of a row depends on the history of the row, which the source does not hold."""
    followed.write()
    job = (followed.home / "job.conf").read_text()
    for options, refused in (
        ("FilterRowKind { exclude_kinds = [DELETE] }", True),
        ("RowKindExtractor {}", True),
        ("Metadata { metadata_fields { EventTime = at } }", True),
        ("Metadata { metadata_fields { Table = name } }", False),
    ):
        before, _, sink = job.partition("sink {")
        write_job(followed.home, f"{before}\ntransform {{ {options} }}\nsink {{{sink}")
        ended = reconciled(followed.home)
        reasons = [table["reason"] for table in json.loads(ended.out)["tables"]]
        assert ended.code == 3 and len(reasons) == len(TABLES)
        plugin = options.partition(" ")[0]
        assert all((f"{plugin}-transform-1 needs the kind or the metadata" in one) == refused for one in reasons), (
            reasons
        )


def test_rows_that_a_cascade_removes_are_named(followed_log: FollowedLog) -> None:
    """F-C61: the plan names the foreign key, the log lacks what it removes, and the comparison finds that."""
    followed_log.run_there(
        "ALTER TABLE items ADD CONSTRAINT gone FOREIGN KEY (seq) REFERENCES orders (id) ON DELETE CASCADE"
    )
    followed_log.write()
    planned = seatunnel(followed_log.home, "plan", "job.conf")
    assert "foreign key gone changes by CASCADE or SET NULL" in planned.out
    followed_log.run()
    followed_log.wait_equal()
    followed_log.run_there("DELETE FROM orders WHERE id IN (5, 7)")

    ended = reconciled(followed_log.home)

    assert ended.code == 1, ended.out + ended.err
    kinds = found(ended)
    assert kinds == {**nothing(MARIADB_TABLES), "items": {(5,): "surplus", (7,): "surplus"}}


def test_mariadb_settles_while_writers_write(followed_log: FollowedLog) -> None:
    followed_log.write()
    with MariadbWorkload(followed_log.connection(), MARIADB_TABLES, 1):
        process = followed_log.run()
        wait_alive(process, "rows", lambda: followed_log.rows_here("items"), SECONDS)

        ended = reconciled(followed_log.home)

        assert ended.code == 0, ended.out + ended.err
        assert found(ended) == nothing(MARIADB_TABLES)
        assert all(table["moving"] == 0 for table in json.loads(ended.out)["tables"])


def test_rows_that_a_foreign_key_deletes_are_found(followed_log: FollowedLog) -> None:
    """The log of MariaDB does not hold them (cdc.md 0.9): ON DELETE CASCADE, and SET NULL."""
    followed_log.run_there(
        "ALTER TABLE items ADD FOREIGN KEY (seq) REFERENCES orders (id) ON DELETE CASCADE",
        "ALTER TABLE customers ADD FOREIGN KEY (seq) REFERENCES orders (id) ON DELETE SET NULL",
    )
    followed_log.write()
    followed_log.run()
    followed_log.wait_equal()

    followed_log.run_there("DELETE FROM orders WHERE id IN (7, 8)")
    ended = reconciled(followed_log.home)

    assert ended.code == 1, ended.out + ended.err
    assert found(ended) == {
        "orders": {},
        "items": {(7,): "surplus", (8,): "surplus"},
        "customers": {(7,): "different", (8,): "different"},
    }
    [customers] = [one for one in json.loads(ended.out)["tables"] if one["table"].endswith("customers")]
    assert [one["columns"] for one in customers["differences"]] == [
        [{"column": "seq", "source": None, "target": key}] for key in (7, 8)
    ]


def test_a_dropped_partition_is_found(followed_log: FollowedLog) -> None:
    """The log holds the statement only, and no row that it deletes."""
    followed_log.run_there(
        "ALTER TABLE orders PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (11), "
        "PARTITION high VALUES LESS THAN MAXVALUE)"
    )
    followed_log.write()
    process = followed_log.run()
    followed_log.wait_equal()

    followed_log.run_there("ALTER TABLE orders TRUNCATE PARTITION low")
    ended = reconciled(followed_log.home, "--table", "orders", "--limit", "100")

    assert (ended.code, found(ended)) == (1, {"orders": {(key,): "surplus" for key in range(1, 11)}})
    kill_driver(process)
