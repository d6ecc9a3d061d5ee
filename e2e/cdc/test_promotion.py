"""A standby of PostgreSQL takes the primary's place: the job goes on exactly, or stops and names both positions."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from e2e.cdc.following_job import SECONDS, FollowingJob
from e2e.cdc.workload import WHOLE, Workload
from e2e.support import wait_alive, write_job
from tests.servers.ports import LOOPBACK
from tests.servers.postgres import PostgresServer
from tests.servers.standby import await_replay, copy_slot, promote, standby_of

TABLES = ("orders", "customers", "lines")
SLOT = "followed"
SETTINGS = {"wal_level": "logical", "max_replication_slots": "20", "max_wal_senders": "20", "wal_keep_size": "1GB"}
QUERY = "SELECT id, source, seq, note FROM {} ORDER BY 1"


class Failover(FollowingJob):
    """A primary with a standby, and a job whose address names both."""

    def __init__(self, home: Path, primary: PostgresServer, standby: PostgresServer, target: PostgresServer) -> None:
        super().__init__(home)
        self.primary, self.standby, self.target = primary, standby, target
        places = f"{LOOPBACK}:{primary.port},{LOOPBACK}:{standby.port}"
        names = ", ".join(f'"postgres.public.{table}"' for table in TABLES)
        write_job(
            home,
            f"""
            env {{ job.mode = STREAMING, checkpoint.interval = 300 }}
            source {{ Postgres-CDC {{ url = "jdbc:postgresql://{places}/postgres?targetServerType=primary",
                                      user = postgres, slot.name = {SLOT}, table-names = [{names}] }} }}
            sink {{ Jdbc {{ url = "{target.jdbc_url()}", user = postgres, generate_sink_sql = true,
                            database = postgres, table = "public.${{table_name}}" }} }}""",
        )

    def equal(self, source: PostgresServer) -> bool:
        return all(rows(source, table) == rows(self.target, table) for table in TABLES)

    def wait_equal(self, source: PostgresServer) -> None:
        assert self.process is not None
        wait_alive(self.process, "equal tables", lambda: self.equal(source), SECONDS)

    def wait_followed(self) -> None:
        """Copy, follow some changes, and wait until target and standby have all of them."""
        self.run()
        with Workload(self.primary.dsn, TABLES, 1):
            time.sleep(2.0)
        self.wait_equal(self.primary)
        await_replay(self.primary, self.standby)


def rows(server: PostgresServer, table: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(server.dsn) as db:
        if db.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone() == (None,):
            return []
        return db.execute(QUERY.format(table).encode()).fetchall()


@pytest.fixture
def failover(tmp_path: Path) -> Iterator[Failover]:
    with PostgresServer.running(settings=SETTINGS) as primary, PostgresServer.running() as target:
        with psycopg.connect(primary.dsn, autocommit=True) as db:
            for table in TABLES:
                db.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, source text, seq int, note text)".encode())
                db.execute(f"INSERT INTO {table} SELECT i, 'first', i, 'old' FROM generate_series(1, 500) i".encode())
            db.execute(f"ALTER TABLE {WHOLE} REPLICA IDENTITY FULL".encode())
        with standby_of(primary) as standby:
            found = Failover(tmp_path, primary, standby, target)
            yield found
            found.end()


def positions(text: str) -> set[str]:
    return set(re.findall(r"\b[0-9A-F]+/[0-9A-F]+\b", text))


def test_a_standby_that_has_the_slot_goes_on_exactly(failover: Failover) -> None:
    """F-C16: the driver runs all the time; its slot is the one that the standby got."""
    failover.wait_followed()
    failover.standby.stop()
    copy_slot(failover.primary, failover.standby, SLOT)
    failover.standby.start()
    with Workload(failover.primary.dsn, TABLES, 2):
        time.sleep(2.0)
    failover.wait_equal(failover.primary)
    await_replay(failover.primary, failover.standby)

    failover.primary.kill9()
    promote(failover.standby)
    with Workload(failover.standby.dsn, TABLES, 3):
        time.sleep(3.0)
    failover.wait_equal(failover.standby)

    failover.end()
    failover.run("--restore", "latest")
    with Workload(failover.standby.dsn, TABLES, 4):
        time.sleep(2.0)
    failover.wait_equal(failover.standby)


def test_a_standby_without_the_slot_is_refused_with_both_positions(failover: Failover) -> None:
    """F-C16: no slot is made on it, because that would begin after changes that nobody has read."""
    failover.wait_followed()
    failover.primary.kill9()
    promote(failover.standby)
    with Workload(failover.standby.dsn, TABLES, 3):
        said = failover.wait_failed()

    assert f"slot '{SLOT}' is gone" in said
    assert len(positions(said)) >= 2
    with psycopg.connect(failover.standby.dsn) as db:
        assert db.execute("SELECT slot_name FROM pg_replication_slots").fetchall() == []


def test_a_standby_that_lacks_what_the_target_has_is_refused(failover: Failover) -> None:
    """F-C24: it has the slot, and its log leaves the old one before the position: the target holds rows that it will
    never have."""
    failover.wait_followed()
    failover.standby.stop()
    copy_slot(failover.primary, failover.standby, SLOT)
    with psycopg.connect(failover.primary.dsn, autocommit=True) as db:
        db.execute("UPDATE orders SET note = 'lost'")
    failover.wait_equal(failover.primary)
    time.sleep(1.0)  # a checkpoint has them

    failover.primary.kill9()
    failover.standby.start()
    promote(failover.standby)
    with Workload(failover.standby.dsn, TABLES, 3):
        time.sleep(1.0)
        said = failover.wait_failed()

    assert "timeline 2" in said
    assert len(positions(said)) >= 2
    assert {note for *_, note in rows(failover.target, "orders")} == {"lost"}
