"""A standby of PostgreSQL, which follows a primary and can take its place."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.servers.ports import LOOPBACK
from tests.servers.postgres import USER, PostgresServer, find

SECONDS = 60.0


@contextmanager
def standby_of(primary: PostgresServer) -> Iterator[PostgresServer]:
    """A standby of PostgreSQL with the primary's rows and settings, which receives its log."""
    standby = PostgresServer(settings=primary.settings)
    try:
        shutil.rmtree(standby.data)
        backup = [str(find("pg_basebackup")), "-D", str(standby.data), "-R", "-X", "stream", "-c", "fast"]
        standby.account.run(
            [*backup, "-h", LOOPBACK, "-p", str(primary.port), "-U", USER, "--no-sync"], cwd=standby.directory
        )
        standby.start()
        yield standby
    finally:
        standby.close()


def copy_slot(primary: PostgresServer, standby: PostgresServer, slot: str) -> None:
    """Give a standby that is stopped the primary's slot, as cluster managers do where the server cannot."""
    there = Path("pg_replslot") / slot
    with psycopg.connect(primary.dsn, autocommit=True) as db:
        db.execute("CHECKPOINT")  # writes the slot's state
    shutil.copytree(primary.data / there, standby.data / there)
    standby.account.own(standby.data / there)


def await_replay(primary: PostgresServer, standby: PostgresServer) -> None:
    """Wait until the standby has everything that the primary has written."""
    with psycopg.connect(primary.dsn) as db, psycopg.connect(standby.dsn, autocommit=True) as copy:
        row = db.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        until = time.monotonic() + SECONDS
        while copy.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", row).fetchone() != (True,):
            if time.monotonic() > until:
                raise AssertionError(f"the standby has not replayed {row}")
            time.sleep(0.05)


def promote(standby: PostgresServer) -> None:
    """Make the standby a primary."""
    with psycopg.connect(standby.dsn, autocommit=True) as db:
        assert db.execute("SELECT pg_promote(true, 60)").fetchone() == (True,)
