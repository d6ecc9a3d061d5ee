"""A copy into files, which cannot be taken back, ends in the middle: with its driver, or by a request."""

from __future__ import annotations

import time

import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_keeper_killed import lines
from e2e.cdc.test_postgres_cdc import Followed, appended, followed, logical
from e2e.support import (
    IN_PROCESS,
    Process,
    events,
    failing,
    finish,
    seatunnel,
    start,
    wait_alive,
    wait_for,
    write_job,
)

__all__ = ["followed", "logical"]
TABLES = SHORT, LONG = "orders", "lines"
REFUSED_SECONDS = 30.0  # the answer came after the 10 minutes of the request before
SLOWLY = ", read_limit.rows_per_second = 8000"


def fill(followed: Followed) -> None:
    rows = "SELECT i, 'first', i, repeat('x', 500) FROM generate_series(1001, 40000) i"
    followed.execute(followed.pair.source, f"INSERT INTO {LONG} {rows}")


def write(followed: Followed, env: str = "") -> None:
    """A job into files, which reads one of its tables for seconds."""
    followed.write(env=f', guarantee = "exactly-once"{env}', source=", snapshot.split.size = 1000", tables=TABLES)
    head, _ = (followed.home / "job.conf").read_text().split("sink {")
    sink = f'LocalFile {{ path = "{followed.home}/files/${{table_name}}", file_format_type = csv }}'
    write_job(followed.home, f"{head} sink {{ {sink} }}")


def begun(followed: Followed) -> Process:
    """The job, which is in the middle of its copy."""
    fill(followed)
    write(followed, SLOWLY)
    process = followed.run()
    wait_alive(process, "the short table", lambda: len(appended(followed, SHORT)) == 1000, SECONDS)
    return process


def ends_equal(followed: Followed, *more: str) -> None:
    """Run the job on, with a change. The files have each row once, and no table is left out."""
    followed.execute(followed.pair.source, f"INSERT INTO {LONG} VALUES (200000, 'later', 1, 'followed')")
    write(followed)
    process = followed.run("--restore", "latest", *more)
    for table in TABLES:
        wanted = lines(followed, table)
        wait_alive(process, table, lambda table=table, wanted=wanted: appended(followed, table) == wanted, SECONDS)
    assert not isolated(followed)


@pytest.mark.parametrize("hit", [1, 12])
def test_a_copy_whose_driver_dies_begins_again(followed: Followed, hit: int) -> None:
    """F-C1: its snapshot is lost, and no row of it is visible yet."""
    fill(followed)
    write(followed)
    armed = failing(f"worker.stage.after:kill@{hit}", followed.home / "points")
    first = start(followed.home, "run", "job.conf", "--job-id", "job", env=armed, program=IN_PROCESS)
    assert finish(first).code == -9

    ends_equal(followed)


def test_a_savepoint_waits_for_the_end_of_a_copy(followed: Followed) -> None:
    """Its positions are worth nothing to a later driver, so a savepoint of the middle would be false."""
    begun(followed)
    early = seatunnel(followed.home, "jobs", "savepoint", "job", "--timeout", "1")

    assert early.code == 1 and "its copy becomes visible as a whole" in early.err, early.err
    assert appended(followed, LONG) == []
    later = seatunnel(followed.home, "jobs", "savepoint", "job")
    assert later.code == 0, later.err
    assert appended(followed, LONG) == lines(followed, LONG)


def test_a_stop_with_a_savepoint_ends_a_copy(followed: Followed) -> None:
    process = begun(followed)
    began = time.monotonic()
    said = seatunnel(followed.home, "jobs", "savepoint", "job", "--stop")

    assert said.code == 0 and time.monotonic() - began < REFUSED_SECONDS, said.err
    assert "1 of 3 tables had begun" in said.out + said.err, said.out + said.err
    assert finish(process).code == 143
    assert appended(followed, LONG) == []
    ends_equal(followed)


@pytest.mark.parametrize("point", ["driver.commit.before", "driver.commit.after"])
@pytest.mark.parametrize("stop", [(), ("--stop",)], ids=["goes on", "stops"])
def test_a_savepoint_without_its_rows_is_refused_at_once(followed: Followed, point: str, stop: tuple[str, ...]) -> None:
    """F-C1: a savepoint waited for a commit that no pipeline of this run makes. The other table is followed on, and the
    job can be cancelled and goes on. Rows of a copy are visible here because its parts may be of different moments, and
    the copy cannot go on because the next run wants one moment."""
    fill(followed)
    write(followed, f"{SLOWLY}, source.consistency = per-split")
    armed = failing(f"{point}:kill@3", followed.home / "points")
    first = start(followed.home, "run", "job.conf", "--job-id", "job", env=armed, program=IN_PROCESS)
    assert finish(first).code == -9

    write(followed)
    process = followed.run("--restore", "latest")
    wait_alive(process, "an isolated table", lambda: isolated(followed))
    wait_alive(process, "the log", lambda: "log of" in str(events(followed.home, "table_changed")[-1]))
    began = time.monotonic()
    said = seatunnel(followed.home, "jobs", "savepoint", "job", *stop)

    assert said.code == 1 and time.monotonic() - began < REFUSED_SECONDS
    assert "a savepoint would lose rows" in said.err, said.err
    assert "it cannot go on, and the commit of checkpoint" in said.err and "seatunnel table reset" in said.err
    assert process.poll() is None
    assert seatunnel(followed.home, "jobs", "cancel", "job").code == 0
    wait_for("the end", lambda: process.poll() is not None)
    assert isolated(followed)


def isolated(followed: Followed) -> list[str]:
    """Causes of isolated tables."""
    changes = events(followed.home, "table_changed")
    return [one["cause"]["message"] for one in changes if one["state"] == "ISOLATED" and one.get("cause")]
