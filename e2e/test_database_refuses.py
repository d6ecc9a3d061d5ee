"""A database that does not take what it is given for a while (F28, F32): what may pass is waited for, what does not is
said, and going on afterwards brings every row once."""

from __future__ import annotations

import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, finish, start, write_job
from e2e.test_full_disk import grown, small

ROWS = 500
LOCKED_SECONDS = 2.0
SESSIONS_ENDED = 4  # fewer than the attempts of a unit or a commit
ENDING_SECONDS_MAX = 30.0


def job(databases: Databases, more: str = "exactly_once_recipe = staged") -> str:
    return f"""
        env {{ parallelism = 2, unit.rows = 100, job.retry.interval.seconds = 1, guarantee = exactly-once }}
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.orders" }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true, is_exactly_once = true,
            {more}, database = {databases.target}, table = "public.orders" }} }}"""


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


@pytest.mark.parametrize(
    "more", ["exactly_once_recipe = staged", "exactly_once_recipe = direct", 'primary_keys = ["id"]']
)
def test_sessions_that_are_ended_at_any_moment(orders: Databases, tmp_path: Path, more: str) -> None:
    """F28: in a COPY, between two, in a commit. Whoever is cut off begins anew, or hears that it is done."""
    write_job(tmp_path, job(orders, more))
    with orders.connect(orders.target) as connection:  # so that there is something to be cut off in
        connection.execute(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(0.002); RETURN new; END $$"
        )
        connection.execute("CREATE TRIGGER slowly AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION slowly()")
    process = start(tmp_path, "run", "job.conf", "--job-id", "j", program=IN_PROCESS)
    ended = 0
    until = time.monotonic() + ENDING_SECONDS_MAX
    with psycopg.connect(orders.server.dsn, autocommit=True) as admin:
        while ended < SESSIONS_ENDED and process.poll() is None and time.monotonic() < until:
            found = admin.execute(
                "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = %s AND state <> 'idle' LIMIT 1) ended",
                [orders.target],
            ).fetchone()
            ended += found[0] if found else 0
            time.sleep(0.15)
    run_ended = finish(process)

    assert ended >= SESSIONS_ENDED, "the job was over before it was disturbed"
    assert run_ended.code == 0, run_ended.out + run_ended.err
    assert arrived(orders)


@pytest.mark.parametrize("recipe", ["staged", "direct"])
def test_transactions_that_exclude_one_another(orders: Databases, tmp_path: Path, recipe: str) -> None:
    """F32: every session is serializable, and somebody else works on the same table all the while."""
    setting(orders, "default_transaction_isolation", "serializable")
    write_job(tmp_path, job(orders, f"exactly_once_recipe = {recipe}"))
    over = threading.Event()

    def disturb() -> None:
        with psycopg.connect(orders.server.dsn_of(orders.target)) as other:
            number = 1_000_000
            while not over.is_set():
                number += 1
                with suppress(psycopg.errors.SerializationFailure), other.transaction():
                    other.execute("SELECT count(*) FROM orders")
                    other.execute("INSERT INTO orders VALUES (%s, 'other')", [number])

    other = threading.Thread(target=disturb)
    other.start()
    ended = run(tmp_path)
    over.set()
    other.join()

    assert ended.code == 0, ended.out + ended.err
    ours = [row for row in orders.rows(orders.target, "orders") if row[1] != "other"]
    assert ours == orders.rows(orders.source, "orders")


def test_a_deadlock_is_another_attempt(orders: Databases, tmp_path: Path) -> None:
    """F32: the unit holds one row and wants another, whose holder wants its first; the server ends the unit."""
    setting(orders, "deadlock_timeout", "'1s'")
    write_job(tmp_path, job(orders, 'exactly_once_recipe = direct, primary_keys = ["id"]'))
    with orders.connect(orders.target) as connection:
        connection.execute("INSERT INTO orders SELECT n, 'old' FROM generate_series(1, %s) n", [ROWS])
    with psycopg.connect(orders.server.dsn_of(orders.target)) as other:
        other.execute("SET deadlock_timeout = '60s'")  # who looks first is the one that gives way
        other.execute("UPDATE orders SET note = 'held' WHERE id = 2")
        process = start(tmp_path, "run", "job.conf", "--job-id", "j", program=IN_PROCESS)
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()"
        while not _number(orders, waits) and process.poll() is None:
            time.sleep(0.02)
        other.execute("UPDATE orders SET note = 'held' WHERE id = 1")
    ended = finish(process)

    assert ended.code == 0, ended.out + ended.err
    assert arrived(orders)
    failures = (tmp_path / ".seatunnel/jobs/j/events.jsonl").read_text()
    assert "deadlock detected" in failures


def _number(databases: Databases, query: LiteralString) -> int:
    with databases.connect(databases.target) as connection:
        found = connection.execute(query).fetchone()
        return int(found[0]) if found else 0


def test_a_full_disk_under_the_target_is_named_and_gone_on_with(orders: Databases, tmp_path: Path) -> None:
    """F32: the tables of the target are on a disk of a few pages."""
    place = orders.server.data / f"full_{orders.target}"
    with small(place, "300k"):
        shutil.chown(place, orders.server.data.owner(), orders.server.data.group())
        place.chmod(0o700)
        space = sql.Identifier(f"full_{orders.target}")
        with psycopg.connect(orders.server.dsn, autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(space, sql.Literal(str(place))))
        try:
            setting(orders, "default_tablespace", f"full_{orders.target}")
            with orders.connect(orders.source) as connection:
                connection.execute("UPDATE orders SET note = repeat(md5(id::text), 50)")
            with orders.connect(orders.target) as connection:
                connection.execute("DROP TABLE orders; CREATE TABLE orders (id int PRIMARY KEY, note text)")

            refused = run(tmp_path)

            assert refused.code == 1, refused.out + refused.err
            told = " ".join((refused.out + refused.err).split())
            assert "could not extend file" in told and "public.orders" in told
            assert "make room on the disk of the server" in told
            assert "Traceback" not in told
            assert not orders.rows(orders.target, "orders"), "nothing of a table that failed is seen"
            grown(place)
            ended = run(tmp_path, "--restore", "latest")
            assert ended.code == 0, ended.out + ended.err
            assert arrived(orders)
        finally:
            with psycopg.connect(orders.server.dsn, autocommit=True) as admin:
                admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(orders.target)))
                admin.execute(sql.SQL("DROP TABLESPACE {}").format(space))


@pytest.mark.parametrize("recipe", ["staged", "direct", "prepared, enable_upsert = false"])
def test_a_failover_to_a_copy_that_lacks_the_tail_is_noticed(orders: Databases, tmp_path: Path, recipe: str) -> None:
    """F34: a copy of the target from before its rows takes its place under checkpoints that name them. Never a
    success, however often it is asked for."""
    text = job(orders, f"exactly_once_recipe = {recipe}")
    write_job(tmp_path, text.replace("unit.rows", "checkpoint.interval = 20, unit.rows"))
    _killed(tmp_path, "driver.setup.after")
    target, copy = sql.Identifier(orders.target), sql.Identifier(f"{orders.target}_copy")
    with psycopg.connect(orders.server.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(copy, target))
        _killed(tmp_path, "driver.end.before", "--restore", "latest")
        assert arrived(orders)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(target))
        admin.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(copy, target))

    for _ in range(2):
        refused = run(tmp_path, "--restore", "latest")
        told = " ".join((refused.out + refused.err).split())
        assert refused.code == 1, told
        assert "Traceback" not in told
        assert "lost" in told and "public.orders" in told
        assert "--fresh" in told and "go on with it" not in told


def _killed(home: Path, point: str, *more: str) -> None:
    """A run whose driver dies there."""
    seen = home / point
    seen.mkdir()
    env = {"SEATUNNEL_FAILPOINT": f"{point}:kill", "SEATUNNEL_FAILPOINT_DIR": str(seen)}
    ended = finish(start(home, "run", "job.conf", "--job-id", "j", *more, program=IN_PROCESS, env=env))
    assert ended.code == -9, ended.out + ended.err
