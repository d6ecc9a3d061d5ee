"""Servers that answer nothing for a while: what is waited for is said, also before the job runs and behind Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, finish, start, wait_for, write_job


@contextmanager
def locked(databases: Databases, database: str, table: str) -> Iterator[None]:
    with psycopg.connect(databases.server.dsn_of(database)) as connection:
        connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


def prepared(home: Path, databases: Databases) -> None:
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE orders (id bigint PRIMARY KEY)")
        connection.execute("INSERT INTO orders SELECT generate_series(1, 10)")
    with databases.connect(databases.target) as connection:
        connection.execute("CREATE TABLE orders (id bigint PRIMARY KEY)")
    write_job(
        home,
        f"""
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.orders" }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true, is_exactly_once = true,
                        database = {databases.target}, table = "public.orders", primary_keys = [id] }} }}""",
    )


def test_a_locked_source_keeps_no_job_from_beginning_and_is_named(tmp_path: Path, databases: Databases) -> None:
    """Its description waits for seconds; its rows are waited for, and who holds the lock is said."""
    prepared(tmp_path, databases)
    told = tmp_path / "told"
    with locked(databases, databases.source, "orders"):
        process = start(tmp_path, "run", "job.conf", "--job-id", "job", program=IN_PROCESS, errors=told)
        wait_for("the job", lambda: "job job: 1 table" in told.read_text())
        wait_for("who holds the lock", lambda: "for a lock that session" in told.read_text())
    run = finish(process)

    assert run.code == 0, run.out + told.read_text()
    assert databases.count("orders") == 10


def test_what_a_stopped_job_still_waits_for_is_said(tmp_path: Path, databases: Databases) -> None:
    """Its target is asked for something that cannot be broken off; who holds the lock is known to the target."""
    prepared(tmp_path, databases)
    told = tmp_path / "told"
    with locked(databases, databases.target, "orders"):
        process = start(tmp_path, "run", "job.conf", "--job-id", "job", program=IN_PROCESS, errors=told)
        wait_for("the job", lambda: "job job: 1 table" in told.read_text())
        process.send_signal(signal.SIGINT)
        wait_for("what it waits for", lambda: "public.orders" in told.read_text().partition("stopping")[2])
    run = finish(process)

    assert run.code == 130, run.out + told.read_text()
    assert databases.count("orders") == 0
