"""Rows of a followed table are read again: the target gets exactly these, and the log goes on exactly."""

from __future__ import annotations

import json
import time
from random import Random

import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical
from e2e.cdc.test_table_reset import SINKS, begin, errors
from e2e.cdc.test_tables_added import TWO_PHASE
from e2e.cdc.workload import Workload
from e2e.support import Finished, kill_driver, seatunnel, wait_alive, wait_for

__all__ = ["followed", "logical"]
TABLE, *OTHERS = TABLES
RESTORES = ("--restore", "latest")
RANGE = "id BETWEEN 500 AND 5600"


def spoil(followed: Followed) -> None:
    """Change the target by hand: rows of the range, and one outside of it."""
    with followed.pair.connect(followed.pair.target) as db:
        db.execute(f"DELETE FROM {TABLE} WHERE id % 3 = 0 AND {RANGE}".encode())
        db.execute(f"UPDATE {TABLE} SET note = 'spoilt' WHERE id % 3 = 1 AND {RANGE}".encode())
        db.execute(f"INSERT INTO {TABLE} VALUES (5500, 'hand', 1, 'surplus'), (5501, 'hand', 2, NULL)".encode())
        for table in TABLES:
            db.execute(f"INSERT INTO {table} VALUES (-1, 'hand', 1, 'spoilt')".encode())


def mended(followed: Followed) -> None:
    """The row outside of the range is as it was, in each table, and all others are equal."""
    with followed.pair.connect(followed.pair.target) as db:
        for table in TABLES:
            assert db.execute(f"DELETE FROM {table} WHERE id = -1 RETURNING note".encode()).fetchall() == [("spoilt",)]
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)


def refresh(followed: Followed, *more: str) -> Finished:
    return seatunnel(followed.home, "table", "refresh", "job", *more)


def fixed_rows(followed: Followed) -> None:
    """Rows that no writer changes."""
    for table in TABLES:
        rows = "SELECT i, 'fixed', i, repeat('x', i - 4900) FROM generate_series(5000, 5099) i"
        followed.execute(followed.pair.source, f"INSERT INTO {table} {rows}")


@SINKS
def test_a_running_job_refreshes_a_range(followed: Followed, sink: str) -> None:
    followed.write(sink)
    fixed_rows(followed)
    with Workload(followed.source_dsn, TABLES, 1):
        process = followed.run()
        time.sleep(3.0)
    followed.wait_equal()
    spoil(followed)
    with Workload(followed.source_dsn, TABLES, 2), Workload(followed.source_dsn, TABLES, 3):
        done = refresh(followed, f"public.{TABLE}", "--where", RANGE, "--json")
        assert done.code == 0, done
        answer = json.loads(done.out)
        assert answer["about"]["written"] >= 100 and answer["about"]["removed"] >= 2, answer
        time.sleep(1.0)
    assert process.poll() is None
    mended(followed)
    with followed.pair.connect(followed.pair.target) as db:
        left = db.execute(b"SELECT count(*) FROM seatunnel_piece WHERE data_id LIKE 'refresh %'").fetchone()
    assert left == (0,) and len(followed.slots()) == 1


def test_a_stopped_job_refreshes_a_whole_table_at_its_next_start(followed: Followed) -> None:
    fixed_rows(followed)
    begin(followed, TWO_PHASE)
    spoil(followed)
    with followed.pair.connect(followed.pair.target) as db:
        db.execute(f"DELETE FROM {TABLE} WHERE id = -1".encode())
    done = refresh(followed, TABLE)
    assert (done.code, "at the next start" in done.out) == (0, True), done
    with Workload(followed.source_dsn, TABLES, 2):
        process = followed.run(*RESTORES)
        wait_alive(process, "the refresh", lambda: "read again and written" in errors(followed), SECONDS)
        time.sleep(1.0)
    followed.wait_equal([TABLE])
    followed.end()
    followed.run(*RESTORES)
    time.sleep(3.0)
    assert "read again and written" not in errors(followed)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_driver_is_killed_in_the_middle_of_a_refresh(followed: Followed, seed: int) -> None:
    """The request stays open, and the next driver performs it again."""
    random = Random(seed)
    fixed_rows(followed)
    begin(followed, TWO_PHASE)
    spoil(followed)
    assert refresh(followed, TABLE, "--where", RANGE).code == 0
    with Workload(followed.source_dsn, TABLES, seed):
        for point in ("driver.schema.before", "driver.schema.altered"):
            process = followed.run_to_failpoint(f"{point}:kill@1", *RESTORES)
            wait_for("its death", lambda process=process: process.poll() is not None, SECONDS)
        for _ in range(2):
            process = followed.run(*RESTORES)
            time.sleep(random.uniform(1.0, 3.0))
            assert process.poll() is None, errors(followed)
            kill_driver(process)
        process = followed.run(*RESTORES)
        time.sleep(2.0)
        assert process.poll() is None, errors(followed)
    mended(followed)


def test_a_condition_on_other_columns_takes_rows_that_move_in_and_out(followed: Followed) -> None:
    """Rows that fulfil it on one side only are decided by their keys."""
    followed.write()
    followed.execute(followed.pair.source, f"UPDATE {TABLE} SET note = 'in' WHERE id BETWEEN 1 AND 10")
    process = followed.run()
    followed.wait_equal()
    followed.execute(
        followed.pair.target,
        f"UPDATE {TABLE} SET note = 'out' WHERE id = 1",  # at the source only
        f"UPDATE {TABLE} SET note = 'in' WHERE id = 500",  # in the target only, and the source has the row
        f"INSERT INTO {TABLE} VALUES (7000, 'hand', 1, 'in')",  # in the target only
        f"UPDATE {TABLE} SET note = 'spoilt' WHERE id = 900",  # on neither side
    )

    done = refresh(followed, TABLE, "--where", "note = 'in'")

    assert (done.code, "11 rows read again and written, 1 removed" in done.out) == (0, True), done
    with followed.pair.connect(followed.pair.target) as db:
        assert db.execute(f"UPDATE {TABLE} SET note = 'old' WHERE note = 'spoilt'".encode()).rowcount == 1
    followed.wait_equal()
    assert process.poll() is None


def test_what_cannot_be_refreshed_is_refused_before_anything_changes(followed: Followed) -> None:
    followed.write()
    process = followed.run()
    followed.wait_equal()
    for words, reason in (
        (("oders",), "orders"),
        ((TABLE, "--where", "no_column = 1"), "no_column"),
        ((TABLE, "--where", "id = 1; DROP TABLE orders"), "--where"),
    ):
        refused = refresh(followed, *words)
        assert refused.code != 0 and reason in refused.err, refused
    time.sleep(1.0)
    assert process.poll() is None and "begins again" not in errors(followed)
    followed.execute(followed.pair.source, f"INSERT INTO {TABLE} VALUES (8000, 'later', 1, 'x')")
    followed.wait_equal()
