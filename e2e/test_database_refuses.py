"""A database that does not take what it is given for a while (F32): what may pass is waited for, what does not is said,
and going on afterwards brings every row once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, finish, start, write_job

ROWS = 500
LOCKED_SECONDS = 2.0


def job(databases: Databases) -> str:
    return f"""
        env {{ parallelism = 2, unit.rows = 100, job.retry.interval.seconds = 1, guarantee = exactly-once }}
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.orders" }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true, is_exactly_once = true,
            exactly_once_recipe = staged, database = {databases.target}, table = "public.orders" }} }}"""


@pytest.fixture
def orders(databases: Databases, tmp_path: Path) -> Databases:
    """A source with rows, a target that is there, and a job file."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        connection.execute("INSERT INTO orders SELECT n, 'n' || n FROM generate_series(1, %s) n", [ROWS])
    with databases.connect(databases.target) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    write_job(tmp_path, job(databases))
    return databases


def setting(databases: Databases, name: str, value: str | None) -> None:
    """What new sessions of the target have."""
    database = sql.Identifier(databases.target)
    change = sql.SQL("RESET {}").format(sql.Identifier(name)) if value is None else sql.SQL(f"SET {name} = {value}")
    with psycopg.connect(databases.server.dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER DATABASE {} ").format(database) + change)


def run(home: Path, *more: str) -> Finished:
    return finish(start(home, "run", "job.conf", "--job-id", "j", *more, program=IN_PROCESS))


def arrived(databases: Databases) -> bool:
    return databases.rows(databases.target, "orders") == databases.rows(databases.source, "orders")


def test_a_target_that_is_read_only_is_named_and_gone_on_with(orders: Databases, tmp_path: Path) -> None:
    setting(orders, "default_transaction_read_only", "on")

    refused = run(tmp_path)

    assert refused.code in (1, 2), refused.out + refused.err
    assert "read-only" in refused.out + refused.err
    assert "Traceback" not in refused.out + refused.err
    setting(orders, "default_transaction_read_only", None)
    ended = run(tmp_path, "--restore", "latest")
    assert ended.code == 0, ended.out + ended.err
    assert arrived(orders)


@pytest.mark.parametrize("name", ["lock_timeout", "statement_timeout"])
def test_a_lock_that_somebody_holds_is_waited_for(orders: Databases, tmp_path: Path, name: str) -> None:
    """The server gives up sooner than the other session; a commit has more than one attempt."""
    setting(orders, name, "'300ms'")
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        with psycopg.connect(orders.server.dsn_of(orders.target)) as other:
            other.execute("SET statement_timeout = 0")
            other.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
            held.set()
            free.wait(60)
            time.sleep(LOCKED_SECONDS)

    holder = threading.Thread(target=hold)
    process = start(tmp_path, "run", "job.conf", "--job-id", "j", program=IN_PROCESS)
    while not (tmp_path / ".seatunnel/jobs/j/events.jsonl").exists() and process.poll() is None:
        time.sleep(0.02)
    holder.start()
    held.wait(60)
    free.set()
    ended = finish(process)
    holder.join()

    assert ended.code == 0, ended.out + ended.err
    assert arrived(orders)
