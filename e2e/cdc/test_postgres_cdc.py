"""Tables of PostgreSQL are copied, and followed exactly, whatever dies on the way."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import psycopg
import pytest

from e2e.cdc.following_job import SECONDS, FollowingJob
from e2e.cdc.workload import NOTE_BYTES, WHOLE, Workload
from e2e.conftest import Databases
from e2e.support import (
    finish,
    kill_driver,
    seatunnel,
    wait_alive,
    wait_for,
    write_job,
)
from tests.servers.postgres import PostgresServer

TABLES = ("orders", "customers", "lines")
SETTINGS = {"wal_level": "logical", "max_replication_slots": "40", "max_wal_senders": "40"}


@pytest.fixture(scope="module")
def logical() -> Iterator[PostgresServer]:
    with PostgresServer.running(settings=SETTINGS) as server:
        yield server


class Followed(FollowingJob):
    """Three tables of a source database, which a job copies and follows."""

    def __init__(self, home: Path, server: PostgresServer, number: int) -> None:
        super().__init__(home)
        self.pair = Databases(server, f"from{number}", f"into{number}")
        with psycopg.connect(server.dsn, autocommit=True) as db:
            for name in (self.pair.source, self.pair.target):
                db.execute(f"CREATE DATABASE {name}".encode())
        with self.pair.connect(self.pair.source) as db:
            for table in TABLES:
                db.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, source text, seq int, note text)".encode())
                db.execute(f"INSERT INTO {table} SELECT i, 'first', i, 'old' FROM generate_series(1, 1000) i".encode())
            db.execute(f"ALTER TABLE {WHOLE} REPLICA IDENTITY FULL".encode())

    @property
    def source_dsn(self) -> str:
        return self.pair.server.dsn_of(self.pair.source)

    def write(
        self, sink: str = "", env: str = "", source: str = "", tables: Sequence[str] = TABLES, interval: float = 0.3
    ) -> None:
        """Write the job file; ``interval``: of its checkpoints, in seconds."""
        names = ", ".join(f'"{self.pair.source}.public.{table}"' for table in tables)
        write_job(
            self.home,
            f"""
            env {{ job.mode = STREAMING, checkpoint.interval = {interval * 1000:.0f} {env} }}
            source {{ Postgres-CDC {{ url = "{self.pair.server.jdbc_url(self.pair.source)}", user = postgres,
                                      table-names = [{names}] {source} }} }}
            sink {{ Jdbc {{ {self.pair.jdbc(self.pair.target)}, generate_sink_sql = true,
                            database = {self.pair.target}, table = "public.${{table_name}}" {sink} }} }}""",
        )

    def execute(self, database: str, *statements: str) -> None:
        """Run these statements, each in a transaction of its own."""
        with self.pair.connect(database) as db:
            for statement in statements:
                db.execute(statement.encode())

    def equal(self, table: str) -> bool:
        """Whether the target has exactly the rows of the source."""
        with self.pair.connect(self.pair.target) as db:
            if db.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone() == (None,):
                return False
        return self.pair.rows(self.pair.target, table) == self.pair.rows(self.pair.source, table)

    def wait_equal(self, tables: Sequence[str] = TABLES) -> None:
        assert self.process is not None
        for table in tables:
            try:
                wait_alive(self.process, f"{table} to be equal", lambda table=table: self.equal(table), SECONDS)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{self.difference(table)}") from None

    def difference(self, table: str) -> str:
        """The first rows that only one side has."""
        wanted = {str(row)[:200] for row in self.pair.rows(self.pair.source, table)}
        found = {str(row)[:200] for row in self.pair.rows(self.pair.target, table)}
        lines = [f"missing: {row}" for row in sorted(wanted - found)[:5]]
        return "\n".join([*lines, *(f"surplus: {row}" for row in sorted(found - wanted)[:5])])

    def state(self) -> str:
        """The slots and sessions of the source, and the last words of the driver: for a test that waited in vain."""
        with self.pair.connect(self.pair.source) as db:
            slots = db.execute(
                "SELECT slot_name, active_pid, restart_lsn, confirmed_flush_lsn FROM pg_replication_slots"
            )
            lines = [str(row) for row in slots]
            query = "SELECT pid, backend_type, state, wait_event, left(query, 120) FROM pg_stat_activity WHERE datname IS NOT NULL"
            lines += [str(row) for row in db.execute(query)]
        return "\n".join([*lines, (self.home / "errors").read_text()[-2000:]])

    def slots(self) -> list[str]:
        with self.pair.connect(self.pair.source) as db:
            query = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND NOT temporary"
            return [str(row[0]) for row in db.execute(query)]


@pytest.fixture
def followed(tmp_path: Path, logical: PostgresServer) -> Iterator[Followed]:
    with psycopg.connect(logical.dsn) as db:
        row = db.execute("SELECT count(*) FROM pg_database").fetchone()
    assert row is not None
    found = Followed(tmp_path, logical, row[0])
    yield found
    found.end()


def test_tables_are_copied_and_followed_while_they_change(followed: Followed) -> None:
    followed.write()
    with Workload(followed.source_dsn, TABLES, 1), Workload(followed.source_dsn, TABLES, 2):
        followed.run()
        wait_alive(followed.process, "rows", lambda: followed.pair.count("lines"))  # type: ignore[arg-type]
    followed.wait_equal()
    assert len(followed.slots()) == 1
    assert seatunnel(followed.home, "jobs", "cancel", "job").code == 0


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_driver_is_killed_again_and_again(followed: Followed, sink: str, seed: int) -> None:
    """F-C1, F-C18, F-C39: in the copy, between copy and log, and while the log is followed."""
    followed.write(sink)
    random = Random(seed)
    with Workload(followed.source_dsn, TABLES, seed), Workload(followed.source_dsn, TABLES, seed + 100):
        for number in range(6):
            process = followed.run(*(["--restore", "latest"] if number else []))
            time.sleep(random.choice((0.7, 1.0, 1.5, 2.5, 4.0)))
            assert process.poll() is None, (followed.home / "errors").read_text()
            kill_driver(process)
    followed.run("--restore", "latest")
    followed.wait_equal()
    assert len(followed.slots()) == 1


MOVED = f"""
    INSERT INTO orders VALUES (6000, 'late', 1, (SELECT string_agg(md5(i::text), '') FROM generate_series(1, {NOTE_BYTES}) i));
    UPDATE orders SET id = 6001 WHERE id = 6000"""
"""The log of a table without REPLICA IDENTITY FULL lacks the large value under the new key."""


@pytest.mark.parametrize(
    "change",
    [MOVED, "ALTER TABLE orders ADD COLUMN more int", "TRUNCATE orders", "ALTER TABLE orders ALTER seq TYPE bigint"],
)
def test_a_table_that_changes_stops_alone(followed: Followed, change: str) -> None:
    """The others are followed on, and the receipt says what has changed."""
    followed.write()
    process = followed.run()
    wait_alive(process, "the copy", lambda: all(map(followed.equal, TABLES)), SECONDS)
    with followed.pair.connect(followed.pair.source) as db:
        db.execute(change.encode())
        db.execute("INSERT INTO orders (id, source, seq) VALUES (5000, 'late', 1)")
    with Workload(followed.source_dsn, ("customers", "lines"), 7):
        time.sleep(2.0)
    for table in ("customers", "lines"):
        wait_alive(process, f"{table} to be equal", lambda table=table: followed.equal(table), SECONDS)
    assert followed.pair.count("orders") == 1000
    shown = seatunnel(followed.home, "jobs", "show", "job", "--json")
    assert seatunnel(followed.home, "jobs", "cancel", "job").code == 0
    ended = finish(process)
    said = (followed.home / "errors").read_text() + ended.out
    assert "public.orders: ISOLATED" in said.replace(".orders~log", ".orders") or "orders" in shown.out
    assert (
        "has changed at the source" in said
        or "was truncated" in said
        or "in the log, and" in said
        or "the log lacks" in said
    )


def test_a_savepoint_ends_the_job_and_a_restore_goes_on(followed: Followed) -> None:
    followed.write()
    with Workload(followed.source_dsn, TABLES, 11):
        process = followed.run()
        wait_alive(process, "the copy", lambda: followed.pair.count("lines"), SECONDS)
        time.sleep(1.0)
        assert seatunnel(followed.home, "jobs", "savepoint", "job", "--stop").code == 0
        assert finish(process).code == 143
        followed.run("--restore", "latest")
    followed.wait_equal()


def test_a_walsender_that_is_killed_costs_nothing(followed: Followed) -> None:
    """The reader opens the log again where its last unit stopped."""
    followed.write()
    killed = 0
    with Workload(followed.source_dsn, TABLES, 12):
        process = followed.run()
        wait_alive(process, "the copy", lambda: followed.pair.count("lines"), SECONDS)
        with followed.pair.connect(followed.pair.source) as db:
            for _ in range(5):
                time.sleep(0.7)
                query = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_replication"
                killed += db.execute(query).fetchone()[0]  # type: ignore[index]
    followed.wait_equal()
    assert killed >= 3 and len(followed.slots()) == 1


def test_a_slot_that_is_gone_is_refused_with_its_position(followed: Followed) -> None:
    """F-C9: never silently forward."""
    followed.write()
    process = followed.run()
    wait_alive(process, "the copy", lambda: all(map(followed.equal, TABLES)), SECONDS)
    time.sleep(1.0)
    kill_driver(process)
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("DELETE FROM orders WHERE id < 10")
        (slot,) = followed.slots()
        wait_for("its release", lambda: _dropped(db, slot))
    ended = finish(followed.run("--restore", "latest"))
    said = (followed.home / "errors").read_text() + (followed.home / "out").read_text()
    assert ended.code != 0 and f"replication slot '{slot}' is gone" in said and "are lost" in said
    assert followed.pair.count("orders") == 1000


def _dropped(db: psycopg.Connection, slot: str) -> bool:
    """The server notices after a while that its client is dead."""
    try:
        db.execute("SELECT pg_drop_replication_slot(%s)", [slot])
    except psycopg.errors.ObjectInUse:
        return False
    return True


def write_appending(followed: Followed, tables: Sequence[str] = TABLES) -> None:
    """A job whose targets are files: they know no keys."""
    names = ", ".join(f'"{followed.pair.source}.public.{table}"' for table in tables)
    write_job(
        followed.home,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 300, guarantee = "exactly-once" }}
        source {{ Postgres-CDC {{ url = "{followed.pair.server.jdbc_url(followed.pair.source)}", user = postgres,
                                  table-names = [{names}] }} }}
        sink {{ LocalFile {{ path = "{followed.home}/files/${{table_name}}", file_format_type = csv }} }}""",
    )


def appended(followed: Followed, table: str) -> list[str]:
    """The lines of its files. Staged files, which come and go, are in a hidden folder beside these."""
    files = (followed.home / "files" / table).glob("*.csv")
    return sorted(line for file in files for line in file.read_text().splitlines())


def wait_appended(followed: Followed) -> None:
    """Wait until the files have every row once."""
    assert followed.process is not None
    for table in TABLES:
        rows = followed.pair.rows(followed.pair.source, table)
        wanted = sorted(",".join("" if value is None else str(value) for value in row) for row in rows)

        def arrived(table: str = table, wanted: list[str] = wanted) -> bool:
            return appended(followed, table) == wanted

        try:
            wait_alive(followed.process, f"the rows of {table}", arrived, 60.0)
        except AssertionError as error:
            surplus, missing = Counter(appended(followed, table)), Counter(wanted)
            surplus.subtract(wanted)
            missing.subtract(appended(followed, table))
            first = [f"surplus {line[:80]}" for line in sorted((+surplus).elements())[:5]]
            first += [f"missing {line[:80]}" for line in sorted((+missing).elements())[:5]]
            raise AssertionError("\n".join([str(error), *first, followed.state()])) from None


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_that_are_appended_arrive_once(followed: Followed, seed: int) -> None:
    """Files know no keys: only an exact cut between copy and log gives every row once."""
    write_appending(followed)
    random = Random(seed)
    with Workload(followed.source_dsn, TABLES, seed, only_inserts=True):
        for number in range(5):
            process = followed.run(*(["--restore", "latest"] if number else []))
            time.sleep(random.choice((0.7, 1.0, 1.5, 2.5)))
            assert process.poll() is None, (followed.home / "errors").read_text()
            kill_driver(process)
    followed.run("--restore", "latest")
    wait_appended(followed)
