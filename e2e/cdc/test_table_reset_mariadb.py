"""A table of MariaDB's log is copied again, by `--reset`: its target is emptied, and the others go on exactly."""

from __future__ import annotations

import time
from random import Random

import psycopg
import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.test_mariadb_cdc import TABLES, FollowedLog, followed, logged
from e2e.cdc.test_tables_added_mariadb import errors
from e2e.support import kill_driver, wait_alive

__all__ = ["followed", "logged"]
TABLE, *OTHERS = TABLES
RESTORES = ("--restore", "latest")


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
@pytest.mark.parametrize("kills", [0, 3])
def test_a_table_is_copied_again_and_followed(followed: FollowedLog, sink: str, kills: int) -> None:
    random = Random(kills)
    followed.write(sink=sink)
    with MariadbWorkload(followed.connection(), TABLES, 1):
        followed.run()
        followed.wait_followed()
        followed.end()
    with psycopg.connect(followed.target.dsn_of(followed.into), autocommit=True) as db:
        db.execute(f"DELETE FROM {TABLE} WHERE id % 3 = 0".encode())
        for table in TABLES:
            db.execute(f"INSERT INTO {table} VALUES (-1, 'hand', 1, 'spoilt')".encode())
    with MariadbWorkload(followed.connection(), TABLES, 2):
        process = followed.run(*RESTORES, "--reset", TABLE)
        wait_alive(process, "the reset", lambda: "it leaves the log" in errors(followed), SECONDS)
        for _ in range(kills):
            kill_driver(process)
            process = followed.run(*RESTORES)
            time.sleep(random.uniform(1.0, 3.0))
            assert process.poll() is None, errors(followed)
        time.sleep(1.0)
    followed.wait_equal([TABLE])
    with psycopg.connect(followed.target.dsn_of(followed.into), autocommit=True) as db:
        for table in OTHERS:
            assert db.execute(f"DELETE FROM {table} WHERE id = -1 RETURNING note".encode()).fetchall() == [("spoilt",)]
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)
