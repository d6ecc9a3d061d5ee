"""A run of a bounded job reads the log up to a place, and ends; the next run goes on there. No change is lost or applied
twice, whatever dies on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from e2e.cdc.test_postgres_cdc import TABLES, Followed, logical
from e2e.support import IN_PROCESS, finish, kill_driver, seatunnel, start, wait_for
from tests.servers.postgres import PostgresServer

__all__ = ["logical"]
NIGHTLY = Path(__file__).parents[2] / "configs" / "cdc" / "nightly.conf"
TWO_PHASE = ", is_exactly_once = true"
CHANGED = ("--restore", "latest", "--accept-changes")


@pytest.fixture
def job(tmp_path: Path, logical: PostgresServer, request: pytest.FixtureRequest) -> Iterator[Followed]:
    number = 900 + sum(map(ord, request.node.name)) % 9000
    found = Followed(tmp_path, logical, number)
    yield found
    found.end()


def batch(job: Followed, source: str = "", sink: str = "", tables: Sequence[str] = TABLES) -> None:
    """Write the job file of a batch job."""
    job.write(source=source and f", {source}", sink=sink, tables=tables)
    path = job.home / "job.conf"
    path.write_text(path.read_text().replace("job.mode = STREAMING", "job.mode = BATCH"))


def run(job: Followed, *more: str) -> dict[str, Any]:
    """A whole run; its receipt."""
    done = finish(start(job.home, "run", "job.conf", "--job-id", "job", "--json", *more, program=IN_PROCESS))
    assert done.code == 0, done.out + done.err
    return done.receipt


@contextmanager
def writing(job: Followed, change: Callable[[psycopg.Connection[Any], int], None]) -> Iterator[None]:
    """Write to the source meanwhile."""
    over = threading.Event()

    def write() -> None:
        with job.pair.connect(job.pair.source) as db:
            number = 0
            while not over.wait(0.002):
                number += 1
                change(db, number)

    with ThreadPoolExecutor(1) as writers:
        writer = writers.submit(write)
        try:
            yield
        finally:
            over.set()
        writer.result()


def inserts(db: psycopg.Connection[Any], number: int) -> None:
    db.execute("INSERT INTO orders VALUES (%s, 'later', %s, 'new')", [10_000 + number, number])
    db.execute("UPDATE customers SET seq = seq + 1, note = 'changed' WHERE id = %s", [1 + number % 1000])


def test_each_run_brings_everything_up_to_now(job: Followed) -> None:
    batch(job)
    first = run(job)
    assert first["state"] == "SUCCESS" and first["goes_on"]
    assert "the next run with `--restore latest` goes on where this one has ended" in first["notes"]
    assert all(map(job.equal, TABLES))
    for night in range(2):
        with job.pair.connect(job.pair.source) as db:
            db.execute("UPDATE orders SET note = %s WHERE id %% 7 = 0", [f"night {night}"])
            db.execute("DELETE FROM customers WHERE id %% 5 = %s", [night])
            db.execute("INSERT INTO lines SELECT i, 'more', i, 'x' FROM generate_series(%s::int, %s::int) i", [
                2000 + 100 * night, 2099 + 100 * night])  # fmt: skip
        later = run(job, "--restore", "latest")
        assert later["state"] == "SUCCESS" and later["goes_on"]
        assert all(map(job.equal, TABLES))
    quiet = run(job, "--restore", "latest")
    assert quiet["state"] == "SUCCESS"
    assert all(map(job.equal, TABLES))


def inserts_later(beyond: int, db: psycopg.Connection[Any], number: int) -> None:
    inserts(db, beyond + number)


@pytest.mark.parametrize("sink", ["", TWO_PHASE], ids=["by key", "two-phase"])
def test_a_table_joins_a_later_run(job: Followed, sink: str) -> None:
    """F-C45: it is copied, and each run after that brings its changes."""
    for night, tables in enumerate((TABLES[:1], TABLES[:2], TABLES, TABLES, TABLES)):
        batch(job, sink=sink, tables=tables)
        later = partial(inserts_later, 10_000 * night)
        with writing(job, later) if night < 4 else nullcontext():
            done = run(job, *(("--restore", "latest") if night else ()))
        assert done["state"] == "SUCCESS" and done["goes_on"]
    assert all(map(job.equal, TABLES))
    assert {one["table"]: one["state"] for one in done["tables"]} == {
        f"{job.pair.source}.public.{table}": "DONE" for table in TABLES
    }


def test_a_run_ends_while_the_source_is_written_to(job: Followed) -> None:
    """The runs see prefixes of the source's history, and the last one, of a quiet source, all of it."""
    batch(job)
    seen = 0
    with writing(job, inserts):
        for restore in ((), ("--restore", "latest"), ("--restore", "latest")):
            run(job, *restore)
            with job.pair.connect(job.pair.target) as db:
                numbers = [row[0] for row in db.execute("SELECT id FROM orders WHERE id > 10000 ORDER BY id")]
            assert numbers == list(range(10_001, 10_001 + len(numbers))), "a transaction is missing"
            assert len(numbers) >= seen
            seen = len(numbers)
    run(job, "--restore", "latest")
    assert all(map(job.equal, TABLES))


@pytest.mark.parametrize(("sink", "seed"), [("", 0), (TWO_PHASE, 1), (TWO_PHASE, 2)])
def test_a_killed_run_is_finished_by_the_next_one(job: Followed, sink: str, seed: int) -> None:
    random = Random(seed)
    batch(job, sink=sink)
    run(job)
    with writing(job, inserts):
        for _ in range(2):
            process = job.run("--restore", "latest")
            threading.Event().wait(random.uniform(0.5, 3.0))
            if process.poll() is None:
                kill_driver(process)
    run(job, "--restore", "latest")  # it ends where the one that was killed was to end
    run(job, "--restore", "latest")
    assert all(map(job.equal, TABLES))


UNTIL_THE_LOG_IS_READ = """DO $$ BEGIN
  FOR look IN 1 .. 12000 LOOP
    IF EXISTS (SELECT FROM pg_replication_slots WHERE active AND database = current_database()) THEN RETURN; END IF;
    PERFORM pg_sleep(0.005);
  END LOOP;
  RAISE EXCEPTION 'the log is not read';
END $$"""
"""In the server: it is read for a moment only, which a look over a connection may miss."""


def test_a_killed_run_ends_where_it_was_to_end(job: Followed) -> None:
    """Its end is durable before the log is read: it is not looked up again (F-C19)."""
    batch(job)
    run(job)
    with job.pair.connect(job.pair.source) as db, job.pair.connect(job.pair.target) as locking:
        db.execute("UPDATE orders SET note = 'this run' WHERE id <= 500; UPDATE lines SET note = 'this run'")
        locking.execute("BEGIN; LOCK TABLE orders, lines")
        process = job.run("--restore", "latest")
        db.execute(UNTIL_THE_LOG_IS_READ)
        assert process.poll() is None, "it has ended, though its target is locked"
        db.execute("INSERT INTO orders VALUES (5001, 'behind', 1, 'the next run')")
        kill_driver(process)
        locking.execute("ROLLBACK")
    run(job, "--restore", "latest")
    with job.pair.connect(job.pair.target) as db:
        assert db.execute("SELECT count(*) FROM orders WHERE note = 'this run'").fetchone() == (500,)
        assert db.execute("SELECT id FROM orders WHERE id > 5000").fetchall() == []
    run(job, "--restore", "latest")
    assert all(map(job.equal, TABLES))


def test_a_job_begins_at_a_position_of_a_slot(job: Followed) -> None:
    """Not before the place that the slot has passed (F-C6)."""
    with job.pair.connect(job.pair.source) as db:
        db.execute("CREATE PUBLICATION mine FOR TABLE orders, customers, lines")
        db.execute("SELECT pg_create_logical_replication_slot('mine', 'pgoutput')")
        slot = db.execute(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = 'mine'"
        ).fetchone()
        db.execute("INSERT INTO orders VALUES (5001, 'before', 1, 'new')")
        place = db.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        db.execute("INSERT INTO orders VALUES (5002, 'behind', 2, 'new')")
    assert slot is not None and place is not None
    given = "startup.mode = specific, slot.name = mine, publication.name = mine, publication.autocreate.mode = disabled"
    batch(job, source=f'{given}, startup.specific-offset.lsn = "0/1"')
    refused = seatunnel(job.home, "run", "job.conf", "--job-id", "early")
    assert refused.code != 0 and "0/1, and replication slot 'mine' has been confirmed up to " + slot[0] in refused.out
    batch(job, source=f'{given}, startup.specific-offset.lsn = "{place[0]}"')
    run(job)
    with job.pair.connect(job.pair.target) as db:
        assert db.execute("SELECT id FROM orders").fetchall() == [(5002,)]
    with job.pair.connect(job.pair.source) as db:
        db.execute("SELECT pg_drop_replication_slot('mine')")


def test_the_nightly_job_of_the_page_runs(tmp_path: Path, logical: PostgresServer) -> None:
    with psycopg.connect(logical.dsn, autocommit=True) as db:
        for statement in (
            "CREATE DATABASE shop", "CREATE DATABASE warehouse",
            "CREATE ROLE replicator SUPERUSER REPLICATION LOGIN", "CREATE ROLE writer SUPERUSER LOGIN",
        ):  # fmt: skip
            db.execute(statement.encode())
    with psycopg.connect(logical.dsn_of("shop"), autocommit=True) as db:
        for table in ("orders", "customers"):
            db.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, note text)".encode())
            db.execute(f"INSERT INTO {table} SELECT i, 'old' FROM generate_series(1, 100) i".encode())
    where = f"127.0.0.1:{logical.port}"
    words = (str(NIGHTLY), "-i", f"source={where}", "-i", f"target={where}")
    planned = seatunnel(tmp_path, "plan", *words)
    assert "everything that was committed before the log is opened, then the job ends" in planned.out, planned.err
    for night in range(3):
        done = seatunnel(tmp_path, "run", *words, "--job-id", "shop", "--restore", "latest")
        assert done.code == 0, done.out + done.err
        found = []
        for database in ("shop", "warehouse"):
            with psycopg.connect(logical.dsn_of(database), autocommit=True) as db:
                found.append(
                    [
                        db.execute(f"SELECT * FROM {one} ORDER BY 1".encode()).fetchall()
                        for one in ("orders", "customers")
                    ]
                )
        assert found[0] == found[1]
        with psycopg.connect(logical.dsn_of("shop"), autocommit=True) as db:
            db.execute(
                f"DELETE FROM orders WHERE id % 10 = {night}; UPDATE customers SET note = 'night {night}'".encode()
            )


def test_a_run_ends_at_a_position(job: Followed) -> None:
    """Transactions count by the positions of their commits: one that is open at the place is not read (F-C36)."""
    batch(job)
    run(job)
    with job.pair.connect(job.pair.source) as db, job.pair.connect(job.pair.source) as late:
        late.execute("BEGIN; INSERT INTO orders VALUES (5001, 'open', 1, 'late')")
        db.execute("INSERT INTO orders VALUES (5002, 'before', 2, 'new')")
        place = db.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        assert place is not None
        late.execute("COMMIT")
        db.execute("INSERT INTO orders VALUES (5003, 'behind', 3, 'new')")
    batch(job, source=f'stop.mode = specific, stop.specific-offset.lsn = "{place[0]}"')
    run(job, *CHANGED)
    with job.pair.connect(job.pair.target) as db:
        assert db.execute("SELECT id FROM orders WHERE id > 5000 ORDER BY id").fetchall() == [(5002,)]
    batch(job)
    run(job, *CHANGED)
    assert all(map(job.equal, TABLES))


@pytest.mark.parametrize("when", ["past", "future"])
def test_a_run_ends_at_a_time(job: Followed, when: str) -> None:
    batch(job)
    run(job)
    with job.pair.connect(job.pair.source) as db:
        db.execute("INSERT INTO orders VALUES (5001, 'before', 1, 'new')")
        delay = "- 0" if when == "past" else "+ 8000"
        row = db.execute(f"SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint {delay}").fetchone()  # type: ignore[arg-type]
        assert row is not None
        if when == "past":
            db.execute("SELECT pg_sleep(0.01)")
            db.execute("INSERT INTO orders VALUES (5002, 'behind', 2, 'new')")
    batch(job, source=f"stop.mode = timestamp, stop.timestamp = {row[0]}")
    run(job, *CHANGED)
    with job.pair.connect(job.pair.target) as db:
        assert db.execute("SELECT id FROM orders WHERE id > 5000 ORDER BY id").fetchall() == [(5001,)]
    batch(job)
    run(job, *CHANGED)
    assert all(map(job.equal, TABLES))


def test_only_the_tables_are_copied(job: Followed) -> None:
    """No slot and no publication are created."""
    batch(job, source="startup.mode = snapshot-only")
    receipt = run(job)
    assert receipt["state"] == "SUCCESS" and not receipt["goes_on"]
    assert all(map(job.equal, TABLES))
    with job.pair.connect(job.pair.source) as db:
        assert db.execute("SELECT pubname FROM pg_publication").fetchall() == []
        slots = db.execute("SELECT slot_name FROM pg_replication_slots WHERE database = current_database()")
        assert slots.fetchall() == []


def test_a_bounded_job_becomes_a_stream(job: Followed) -> None:
    batch(job)
    run(job)
    with job.pair.connect(job.pair.source) as db:
        db.execute("DELETE FROM orders WHERE id < 10")
    job.write()
    job.run("--restore", "latest")
    wait_for("the stream has the changes", lambda: all(map(job.equal, TABLES)))
    with job.pair.connect(job.pair.source) as db:
        db.execute("UPDATE lines SET note = 'live' WHERE id < 100")
    wait_for("the stream goes on", lambda: all(map(job.equal, TABLES)))
    assert job.process is not None
    job.process.terminate()
    finish(job.process)
