"""A run of a bounded job reads the binary log up to a place, and ends; the next run goes on there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pymysql
import pytest

from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.test_mariadb_cdc import TABLES, FollowedLog, logged
from e2e.support import IN_PROCESS, finish, kill_driver, seatunnel, start
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer

__all__ = ["logged"]
CHANGED = ("--restore", "latest", "--accept-changes")


@pytest.fixture
def job(tmp_path: Path, logged: MariadbServer, postgres: PostgresServer) -> Iterator[FollowedLog]:
    found = FollowedLog(tmp_path, logged, postgres)
    yield found
    found.end()


def batch(job: FollowedLog, source: str = "") -> None:
    """Write the job file of a batch job."""
    job.write(source=source and f", {source}")
    path = job.home / "job.conf"
    path.write_text(path.read_text().replace("job.mode = STREAMING", "job.mode = BATCH"))


def run(job: FollowedLog, *more: str) -> dict[str, Any]:
    """A whole run; its receipt."""
    done = finish(start(job.home, "run", "job.conf", "--job-id", "job", "--json", *more, program=IN_PROCESS))
    assert done.code == 0, done.out + done.err
    return done.receipt


def ids(job: FollowedLog) -> list[int]:
    """The later ids that have arrived."""
    return [row[0] for row in job.rows_here("orders") or () if row[0] > 5000]


def test_each_run_brings_everything_up_to_now(job: FollowedLog) -> None:
    """Also behind a new file of the log, and from a quiet log."""
    batch(job)
    receipt = run(job)
    assert receipt["state"] == "SUCCESS" and receipt["goes_on"]
    assert all(map(job.equal, TABLES))
    for night in range(2):
        job.run_there(
            f"UPDATE orders SET note = 'night {night}' WHERE id % 7 = 0",
            "FLUSH BINARY LOGS",
            f"DELETE FROM customers WHERE id % 5 = {night}",
        )
        assert run(job, "--restore", "latest")["state"] == "SUCCESS"
        assert all(map(job.equal, TABLES))
    run(job, "--restore", "latest")
    assert all(map(job.equal, TABLES))


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_run_is_finished_by_the_next_one(job: FollowedLog, seed: int) -> None:
    random = Random(seed)
    batch(job)
    run(job)
    with MariadbWorkload(job.connection(), TABLES, seed):
        for _ in range(2):
            process = job.run("--restore", "latest")
            time.sleep(random.uniform(0.5, 3.0))
            if process.poll() is None:
                kill_driver(process)
        run(job, "--restore", "latest")
    run(job, "--restore", "latest")
    assert all(map(job.equal, TABLES))


def test_a_run_ends_at_a_place(job: FollowedLog) -> None:
    """At the end of a transaction: one that holds the place is read whole (F-C36)."""
    batch(job)
    run(job)
    job.run_there("INSERT INTO orders VALUES (5001, 'before', 1, 'new')")
    file, offset, *_ = job.run_there("SHOW MASTER STATUS")[0]
    with pymysql.connect(**job.connection()) as db, db.cursor() as cursor:
        cursor.execute("INSERT INTO orders VALUES (5002, 'holds it', 2, 'new')")
        cursor.execute("INSERT INTO orders VALUES (5003, 'holds it', 3, 'new')")
        db.commit()
    job.run_there("INSERT INTO orders VALUES (5004, 'behind', 4, 'new')")
    batch(job, f'stop.mode = specific, stop.specific-offset.file = "{file}", stop.specific-offset.pos = {offset + 50}')
    run(job, *CHANGED)
    assert ids(job) == [5001, 5002, 5003]
    batch(job)
    run(job, *CHANGED)
    assert all(map(job.equal, TABLES))


def test_a_run_ends_at_a_time(job: FollowedLog) -> None:
    batch(job)
    run(job)
    job.run_there("INSERT INTO orders VALUES (5001, 'before', 1, 'new')")
    [(now,)] = job.run_there("SELECT UNIX_TIMESTAMP()")
    time.sleep(2.0)
    job.run_there("INSERT INTO orders VALUES (5002, 'behind', 2, 'new')")
    batch(job, f"stop.mode = timestamp, stop.timestamp = {int(now) * 1000}")
    run(job, *CHANGED)
    assert ids(job) == [5001]
    batch(job, f"stop.mode = timestamp, stop.timestamp = {(int(now) + 3600) * 1000}")
    refused = seatunnel(job.home, "run", "job.conf", "--job-id", "job", *CHANGED)
    assert refused.code != 0 and "has not passed yet" in refused.out + refused.err
    batch(job)
    run(job, *CHANGED)
    assert all(map(job.equal, TABLES))


def test_only_the_tables_are_copied(job: FollowedLog) -> None:
    batch(job, "startup.mode = snapshot-only")
    receipt = run(job)
    assert receipt["state"] == "SUCCESS" and not receipt["goes_on"]
    assert all(map(job.equal, TABLES))


def test_a_bounded_job_becomes_a_stream(job: FollowedLog) -> None:
    batch(job)
    run(job)
    job.run_there("DELETE FROM orders WHERE id < 10")
    job.write()
    process = job.run("--restore", "latest")
    job.wait_equal()
    job.run_there("UPDATE items SET note = 'live' WHERE id < 100")
    job.wait_equal()
    process.terminate()
    finish(process)
