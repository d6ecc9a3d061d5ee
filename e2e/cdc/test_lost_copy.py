"""The copy of a table dies between a record and the confirmation of its commit, and cannot be read again."""

from __future__ import annotations

import time

import pytest

from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.support import IN_PROCESS, events, failing, finish, seatunnel, start, wait_alive, wait_for, write_job

__all__ = ["followed", "logical"]
TABLES = ("orders", "lines")  # a small one, and one that takes seconds
REFUSED_SECONDS = 30.0  # the answer came after the 10 minutes of the request before


@pytest.mark.parametrize("point", ["driver.commit.before", "driver.commit.after"])
@pytest.mark.parametrize("stop", [(), ("--stop",)], ids=["goes on", "stops"])
def test_a_savepoint_without_its_rows_is_refused_at_once(followed: Followed, point: str, stop: tuple[str, ...]) -> None:
    """F-C1: a savepoint waited for a commit that no pipeline of this run makes. The other table is followed on, and the
    job can be cancelled and goes on."""
    more = "INSERT INTO lines SELECT i, 'first', i, repeat('x', 500) FROM generate_series(1001, 200000) i"
    followed.execute(followed.pair.source, more)
    followed.write(env=', guarantee = "exactly-once"', source=", snapshot.split.size = 1000", tables=TABLES)
    head, _ = (followed.home / "job.conf").read_text().split("sink {")
    sink = f'LocalFile {{ path = "{followed.home}/files/${{table_name}}", file_format_type = csv }}'
    write_job(followed.home, f"{head} sink {{ {sink} }}")
    armed = failing(f"{point}:kill@3", followed.home / "points")
    first = start(followed.home, "run", "job.conf", "--job-id", "job", env=armed, program=IN_PROCESS)
    assert finish(first).code == -9

    process = followed.run("--restore", "latest")
    wait_alive(process, "an isolated table", lambda: _isolated(followed))
    wait_alive(process, "the log", lambda: "log of" in str(events(followed.home, "table_changed")[-1]))
    began = time.monotonic()
    said = seatunnel(followed.home, "jobs", "savepoint", "job", *stop)

    assert said.code == 1 and time.monotonic() - began < REFUSED_SECONDS
    assert "a savepoint would lose rows" in said.err, said.err
    assert "it cannot go on, and the commit of checkpoint" in said.err and "seatunnel table reset" in said.err
    assert process.poll() is None
    assert seatunnel(followed.home, "jobs", "cancel", "job").code == 0
    wait_for("the end", lambda: process.poll() is not None)
    assert _isolated(followed)


def _isolated(followed: Followed) -> list[str]:
    """Causes of isolated tables."""
    changes = events(followed.home, "table_changed")
    return [one["cause"]["message"] for one in changes if one["state"] == "ISOLATED" and one.get("cause")]
