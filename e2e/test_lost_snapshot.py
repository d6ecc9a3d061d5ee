"""The connection that holds the snapshot is ended by the server while the table is read, and rows change meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import finish, start, wait_alive
from e2e.test_killed_driver import Job

KEEPER = "datname = %s AND state = 'idle in transaction'"


@pytest.fixture
def job(tmp_path: Path, databases: Databases) -> Job:
    return Job(tmp_path, databases)


def test_rows_of_two_moments_are_never_mixed(job: Job) -> None:
    """What was read under the lost snapshot is worth nothing: the table fails, and is read anew when it is gone on with."""
    source = job.databases.source
    job.write(job.into_table, parts=4, env="parallelism = 2", slowly=True)
    process = start(job.home, "run", "job.conf", "--job-id", "job", "--json")
    with job.databases.connect(source) as connection:

        def keeper() -> list[tuple[object, ...]]:
            return connection.execute(f"SELECT pid FROM pg_stat_activity WHERE {KEEPER}", [source]).fetchall()

        records = job.home / ".seatunnel/jobs/job/checkpoints/records"
        wait_alive(process, "a checkpoint", lambda: list(records.glob("00000001-*[2-9]")))
        assert keeper()
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {KEEPER}", [source])
        connection.execute("UPDATE big SET source = 'later'")

    failed = finish(process)
    assert failed.code == 1, failed.out
    assert "is gone: the connection that held it has ended" in failed.out + failed.err
    with job.databases.connect(job.databases.target) as connection:
        assert connection.execute("SELECT to_regclass('public.big')").fetchone() == (None,), "nothing of it is shown"

    again = finish(start(job.home, "run", "job.conf", "--job-id", "job", "--restore", "latest", "--json"))
    assert again.code == 0, again.out + again.err
    job.check_table()
    assert {row[1] for row in job.databases.rows(job.databases.target, "big")} == {"later"}
