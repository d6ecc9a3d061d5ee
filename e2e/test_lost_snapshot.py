"""The snapshot that a table is read under dies while it is read, and rows change meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, finish, start, wait_alive
from e2e.test_killed_driver import Job
from tests.servers.postgres import PostgresServer

KEEPER = "datname = %s AND state = 'idle in transaction'"
DOWN_SECONDS = 2.0


@pytest.fixture
def job(tmp_path: Path, databases: Databases) -> Job:
    return Job(tmp_path, databases)


@pytest.fixture
def own(databases: Databases) -> Iterator[PostgresServer]:
    """A server of the source's own, which may be stopped."""
    with PostgresServer.running() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {databases.source}".encode())
        yield server


def check(job: Job, run: Any, rows: list[tuple[Any, ...]]) -> None:
    """All of one moment, whichever; and the receipt counts each row once."""
    assert run.code == 0, run.out + run.err
    events = (job.home / ".seatunnel/jobs/job/events.jsonl").read_text().splitlines()
    assert "begin anew" in [json.loads(event).get("unit") for event in events]
    [table] = run.receipt["tables"]
    assert table["rows_read"] == table["rows_written"] == len(rows)
    found = job.databases.rows(job.databases.target, "big")
    assert [(key, seq) for key, _, seq in found] == [(key, seq) for key, _, seq in rows]
    assert {moment for _, moment, _ in found} in ({"big"}, {"later"})
    with job.databases.connect(job.databases.target) as connection:
        left = connection.execute("SELECT relname FROM pg_class WHERE strpos(relname, '__st_') > 0").fetchall()
    assert not left, "staging tables are left behind"


def test_rows_of_two_moments_are_never_mixed(job: Job) -> None:
    """The server ends the connection that holds the snapshot: what was read under it is worth nothing, and the table
    is read anew in the same run."""
    source = job.databases.source
    job.write(job.into_table, parts=4, env="parallelism = 2", mapped=True)
    process = start(job.home, "run", "job.conf", "--job-id", "job", "--json")
    with job.databases.connect(source) as connection:

        def keeper() -> list[tuple[object, ...]]:
            return connection.execute(f"SELECT pid FROM pg_stat_activity WHERE {KEEPER}", [source]).fetchall()

        wait_alive(process, "a checkpoint", lambda: _has_checkpoint(job))
        assert keeper()
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {KEEPER}", [source])
        connection.execute("UPDATE big SET source = 'later'")

    check(job, finish(process), job.databases.rows(source, "big"))


def test_a_server_that_is_started_again_while_it_is_read(job: Job, own: PostgresServer) -> None:
    """It is away for a while, and units fail because of that too."""
    shared = job.databases.source
    rows = job.databases.rows(shared, "big")
    with psycopg.connect(own.dsn_of(shared), autocommit=True) as connection:
        connection.execute("CREATE TABLE big (id bigint PRIMARY KEY, source text NOT NULL, seq int NOT NULL)")
        with connection.cursor().copy("COPY big FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        connection.execute("ANALYZE")
    job.write(job.into_table, parts=4, env="parallelism = 2, job.retry.interval.seconds = 2", mapped=True)
    conf = job.home / "job.conf"
    there = job.databases.jdbc(shared)
    text = conf.read_text()
    assert there in text
    conf.write_text(
        text.replace(there, f'url = "{own.jdbc_url(shared)}", driver = "org.postgresql.Driver", user = postgres')
    )
    process = start(job.home, "run", "job.conf", "--job-id", "job", "--json", program=IN_PROCESS)
    wait_alive(process, "a checkpoint", lambda: _has_checkpoint(job))
    own.kill9()
    time.sleep(DOWN_SECONDS)
    own.start()
    with psycopg.connect(own.dsn_of(shared), autocommit=True) as connection:
        connection.execute("UPDATE big SET source = 'later'")

    check(job, finish(process), rows)


def _has_checkpoint(job: Job) -> bool:
    return any((job.home / ".seatunnel/jobs/job/checkpoints/records").glob("00000001-*[2-9]"))
