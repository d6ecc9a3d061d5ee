"""A table of a log is copied again, by `--reset`: its target is emptied, and the others go on exactly."""

from __future__ import annotations

import time
from functools import partial
from random import Random

import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical
from e2e.cdc.test_tables_added import TWO_PHASE, errors
from e2e.cdc.workload import Workload
from e2e.support import finish, kill_driver, seatunnel, wait_alive, wait_for

__all__ = ["followed", "logical"]
TABLE, *OTHERS = TABLES
RESTORES = ("--restore", "latest")
RESETS = (*RESTORES, "--reset", f"public.{TABLE}")
SINKS = pytest.mark.parametrize("sink", ["", TWO_PHASE], ids=["by key", "two-phase"])


def begin(followed: Followed, sink: str, **more: str) -> None:
    """Follow all tables, and kill the driver at work."""
    followed.write(sink, **more)
    with Workload(followed.source_dsn, TABLES, 1):
        followed.run()
        followed.wait_followed()
        followed.end()


def spoil(followed: Followed) -> None:
    """Change the targets by hand: a reset mends its own table, and does not copy the others again."""
    with followed.pair.connect(followed.pair.target) as db:
        db.execute(f"DELETE FROM {TABLE} WHERE id % 3 = 0".encode())
        db.execute(f"UPDATE {TABLE} SET note = 'spoilt' WHERE id % 3 = 1".encode())
        for table in TABLES:
            db.execute(f"INSERT INTO {table} VALUES (-1, 'hand', 1, 'spoilt')".encode())


def mended(followed: Followed) -> None:
    """The table is equal, and the others have the row of before, and no other difference."""
    followed.wait_equal([TABLE])
    with followed.pair.connect(followed.pair.target) as db:
        for table in OTHERS:
            assert db.execute(f"DELETE FROM {table} WHERE id = -1 RETURNING note".encode()).fetchall() == [("spoilt",)]
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)


@SINKS
def test_a_table_is_copied_again_and_followed(followed: Followed, sink: str) -> None:
    begin(followed, sink)
    spoil(followed)
    with Workload(followed.source_dsn, TABLES, 2):
        process = followed.run(*RESETS)
        wait_alive(process, "the table to join", lambda: "joins the log" in errors(followed), SECONDS)
        time.sleep(1.0)
    mended(followed)
    assert "its target is emptied, and it is copied again" in errors(followed)
    assert len(followed.slots()) == 1
    followed.end()
    with Workload(followed.source_dsn, TABLES, 3):  # nothing of it is left for the next driver
        followed.run(*RESTORES)
        time.sleep(2.0)
    followed.wait_equal()
    assert "joins the log" not in errors(followed)


@SINKS
@pytest.mark.parametrize("seed", [1, 2])
def test_the_driver_is_killed_while_a_table_is_copied_again(followed: Followed, sink: str, seed: int) -> None:
    """The next driver goes on with the reset, without the option."""
    random = Random(seed)
    begin(followed, sink)
    spoil(followed)
    with Workload(followed.source_dsn, TABLES, seed):
        process = followed.run(*RESETS)
        wait_alive(process, "the reset", lambda: "it leaves the log" in errors(followed), SECONDS)
        for _ in range(4):
            kill_driver(process)
            process = followed.run(*RESTORES)
            time.sleep(random.uniform(1.0, 3.0))
            assert process.poll() is None, errors(followed)
    mended(followed)


AT = (
    "driver.savepoint.durable", "driver.schema.before", "driver.schema.altered", "driver.zero.durable",
    "driver.setup.before", "driver.setup.after", "driver.final.durable", "driver.record.durable", "driver.commit.after",
    "driver.journal.before",
)  # fmt: skip


@pytest.mark.parametrize("point", AT)
def test_the_driver_dies_at_each_step_of_a_reset(followed: Followed, point: str) -> None:
    begin(followed, TWO_PHASE)
    spoil(followed)
    resets = RESETS
    for hits in (1, 2, 3):
        followed.run_to_failpoint(f"{point}:kill@{hits}", *resets)
        with Workload(followed.source_dsn, TABLES, hits):
            time.sleep(4.0)
        arrived = partial(followed.equal, TABLE) if hits > 1 else bool  # rows may be equal before the first hit
        wait_for("its death, or equal rows", lambda arrived=arrived: dead(followed) or arrived(), SECONDS)
        followed.end()
        resets = RESTORES
    followed.run(*RESTORES)
    mended(followed)


def dead(followed: Followed) -> bool:
    return followed.process is None or followed.process.poll() is not None


def test_a_table_that_its_target_refuses_is_copied_again_once_it_fits(followed: Followed) -> None:
    """The way on after a change of the schema that cannot be followed."""
    followed.write(source=", schema-changes.enabled = true")
    process = followed.run()
    followed.wait_equal()
    followed.execute(followed.pair.source, f"ALTER TABLE {TABLE} ALTER seq TYPE text USING 'n' || seq")
    followed.execute(followed.pair.source, f"INSERT INTO {TABLE} VALUES (5000, 'later', 'many', 'x')")
    wait_alive(process, "the table to be isolated", lambda: "ISOLATED" in errors(followed), SECONDS)
    followed.end()
    followed.execute(followed.pair.target, f"ALTER TABLE {TABLE} ALTER seq TYPE text")
    followed.run(*RESETS)
    followed.wait_equal()
    followed.execute(followed.pair.source, f"INSERT INTO {TABLE} VALUES (5001, 'later', 'more', 'x')")
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed).split("joins the log")[-1]


@SINKS
def test_a_table_whose_sink_has_failed_is_copied_again(followed: Followed, sink: str) -> None:
    followed.write(sink)
    process = followed.run()
    followed.wait_equal()
    followed.execute(followed.pair.target, f"ALTER TABLE {TABLE} ADD CONSTRAINT small CHECK (id < 5000)")
    followed.execute(followed.pair.source, f"INSERT INTO {TABLE} VALUES (5000, 'later', 1, 'x')")
    wait_alive(process, "the table to be isolated", lambda: "ISOLATED" in errors(followed), SECONDS)
    with Workload(followed.source_dsn, TABLES, 2):
        time.sleep(1.0)
    followed.wait_equal(OTHERS)
    followed.end()
    followed.execute(followed.pair.target, f"ALTER TABLE {TABLE} DROP CONSTRAINT small")
    with Workload(followed.source_dsn, TABLES, 3):
        followed.run(*RESETS)
        time.sleep(3.0)
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)
    followed.end()
    followed.run(*RESTORES)
    followed.wait_equal()


def test_tables_that_cannot_be_copied_again_are_refused_together(followed: Followed) -> None:
    """Before anything changes: the next run goes on as if it had not been asked."""
    begin(followed, "")
    names = ("--reset", "oders", "--reset", "public.customers", "--reset", "nowhere")
    refused = finish(followed.run(*RESTORES, *names), SECONDS)
    assert refused.code == 2
    for words in ("'oders'", "orders", "'nowhere'"):
        assert words in errors(followed)
    everything = [word for table in TABLES for word in ("--reset", table)]
    refused = finish(followed.run(*RESTORES, *everything), SECONDS)
    assert (refused.code, "--fresh" in errors(followed)) == (2, True)
    refused = finish(followed.run("--reset", TABLE), SECONDS)
    assert "--restore latest" in errors(followed)
    spoil(followed)
    process = followed.run(*RESTORES)
    with Workload(followed.source_dsn, TABLES, 2):
        time.sleep(1.0)
    assert process.poll() is None
    with followed.pair.connect(followed.pair.target) as db:
        assert db.execute(f"SELECT note FROM {TABLE} WHERE id = -1".encode()).fetchall() == [("spoilt",)]


@SINKS
def test_a_running_job_copies_a_table_again(followed: Followed, sink: str) -> None:
    """The same process goes on, with the other tables where they stand."""
    followed.write(sink)
    with Workload(followed.source_dsn, TABLES, 1):
        process = followed.run()
        time.sleep(3.0)
    followed.wait_equal()
    spoil(followed)
    with Workload(followed.source_dsn, TABLES, 2):
        done = seatunnel(followed.home, "table", "reset", "job", f"public.{TABLE}")
        assert (done.code, "is copied again" in done.out) == (0, True), done
        wait_alive(process, "the table to join", lambda: "joins the log" in errors(followed), SECONDS)
    mended(followed)
    refused = seatunnel(followed.home, "table", "reset", "job", "oders")
    assert refused.code != 0 and "orders" in refused.err
    with Workload(followed.source_dsn, TABLES, 3):
        time.sleep(1.0)
    followed.wait_equal()


def test_a_stopped_job_copies_a_table_again_at_its_next_start(followed: Followed) -> None:
    begin(followed, TWO_PHASE)
    spoil(followed)
    assert seatunnel(followed.home, "table", "reset", "job", TABLE).code == 0
    with Workload(followed.source_dsn, TABLES, 2):
        process = followed.run(*RESTORES)
        wait_alive(process, "the table to join", lambda: "joins the log" in errors(followed), SECONDS)
    mended(followed)
    followed.end()
    followed.run(*RESTORES)
    followed.wait_equal()
    assert "joins the log" not in errors(followed)


def test_a_driver_on_another_machine_is_asked(followed: Followed) -> None:
    """The answer is that of the driver, and not "at its next start", unless no driver answers."""
    followed.write(env=f', checkpoint.location = "file://{followed.home}/shared"')
    followed.run()
    followed.wait_equal()
    other = followed.home / "other"
    other.mkdir()
    (other / "job.conf").write_text((followed.home / "job.conf").read_text())
    spoil(followed)
    words = ("table", "reset", "job", f"public.{TABLE}", "--file", "job.conf")
    done = seatunnel(other, *words)
    assert done.code == 0, done
    assert "its target is emptied, and it is copied again" in done.out and "next start" not in done.out
    mended(followed)
    followed.end()
    spoil(followed)
    done = seatunnel(other, *words)
    assert done.code == 0, done
    assert "at the next start of the job, or as soon as a driver answers" in done.out
    followed.run(*RESTORES)
    mended(followed)
