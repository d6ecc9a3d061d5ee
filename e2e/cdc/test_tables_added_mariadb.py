"""Tables of MariaDB that are added to a job are copied, and join the log that the job follows (F-C45)."""

from __future__ import annotations

import time
from random import Random

import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.test_mariadb_cdc import TABLES, FollowedLog, followed, logged
from e2e.support import finish, kill_driver, seatunnel, wait_alive, wait_for

__all__ = ["followed", "logged"]
GOES_ON = ("--restore", "latest")


def errors(followed: FollowedLog) -> str:
    return (followed.home / "errors").read_text()


@pytest.mark.parametrize("before", [TABLES[:1], TABLES[:2]], ids=["one", "two"])
def test_an_added_table_is_copied_and_followed(followed: FollowedLog, before: tuple[str, ...]) -> None:
    """F-C45: also beside a single table, whose log had no channel."""
    followed.write(tables=before)
    followed.run()
    followed.wait_equal(before)
    followed.end()
    followed.write()
    with MariadbWorkload(followed.connection(), TABLES, 1), MariadbWorkload(followed.connection(), TABLES, 2):
        followed.run(*GOES_ON)
        time.sleep(4.0)
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_driver_is_killed_while_a_table_is_added(followed: FollowedLog, seed: int) -> None:
    random = Random(seed)
    with MariadbWorkload(followed.connection(), TABLES, seed):
        followed.write(tables=TABLES[:2], sink=", is_exactly_once = true")
        followed.run()
        time.sleep(4.0)
        followed.end()
        followed.write(sink=", is_exactly_once = true")
        for _ in range(4):
            process = followed.run(*GOES_ON)
            time.sleep(random.uniform(1.2, 4.0))
            assert process.poll() is None, errors(followed)
            kill_driver(process)
    followed.run(*GOES_ON)
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)


def test_a_table_joins_a_log_that_copies_nothing(followed: FollowedLog) -> None:
    """Its changes count from the place at which the log stands."""
    latest = ", startup.mode = latest"
    followed.write(latest, tables=TABLES[:1])
    process = followed.run()
    reader = wait_alive(process, "the reader", lambda: followed.run_there("SHOW SLAVE HOSTS"), SECONDS)
    insert(followed, 5001)
    wait_alive(process, "the row", lambda: ids(followed, TABLES[0]) == [5001], SECONDS)
    time.sleep(1.0)  # the rows of the other tables are in the log too
    assert (
        seatunnel(followed.home, "jobs", "savepoint", "job", "--stop").code == 0
    )  # a kill may go back before the rows
    finish(process)
    followed.write(latest)
    process = followed.run(*GOES_ON)
    wait_for("the table to join", lambda: "joins the log" in errors(followed), SECONDS)
    assert followed.run_there("SHOW SLAVE HOSTS")[0][0] == reader[0][0], "it keeps its server id"
    insert(followed, 5002)
    for table in TABLES:
        wanted = [5001, 5002] if table == TABLES[0] else [5002]
        wait_alive(process, table, lambda table=table, wanted=wanted: ids(followed, table) == wanted, SECONDS)


def insert(followed: FollowedLog, key: int) -> None:
    followed.run_there(*(f"INSERT INTO {table} VALUES ({key}, 'later', 1, 'x')" for table in TABLES))


def ids(followed: FollowedLog, table: str) -> list[int]:
    return [row[0] for row in followed.rows_here(table) or []]
