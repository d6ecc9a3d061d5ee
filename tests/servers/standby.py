"""Standbys: a server that follows another one, and can take its place."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pymysql

from tests.servers.mariadb import USER as MARIADB_USER
from tests.servers.mariadb import MariadbServer
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


@contextmanager
def replica_of(primary: MariadbServer, server_id: int) -> Iterator[MariadbServer]:
    """A replica of MariaDB by transaction ids, from the primary's first one on, which logs what it applies."""
    settings = {**primary.settings, "server_id": str(server_id), "log_slave_updates": "ON", "gtid_strict_mode": "ON"}
    with MariadbServer.running(settings=settings) as replica:
        _run(
            replica,
            "SET GLOBAL gtid_slave_pos = ''",
            f"CHANGE MASTER TO master_host = '{LOOPBACK}', master_port = {primary.port}, "
            f"master_user = '{MARIADB_USER}', master_use_gtid = slave_pos",
            "START SLAVE",
        )
        yield replica


def await_applied(primary: MariadbServer, replica: MariadbServer) -> None:
    """Wait until the replica has applied everything that the primary has logged."""
    [(position,)] = _run(primary, "SELECT @@global.gtid_binlog_pos")
    [(waited,)] = _run(replica, f"SELECT MASTER_GTID_WAIT('{position}', {SECONDS:g})")
    assert waited == 0, f"the replica has not applied {position}"


def make_primary(replica: MariadbServer) -> None:
    """Let the replica take writes of its own."""
    _run(replica, "STOP SLAVE", "RESET SLAVE ALL")


def _run(server: MariadbServer, *statements: str) -> tuple[tuple[object, ...], ...]:
    with pymysql.connect(**server.connection(), autocommit=True) as db, db.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return tuple(cursor.fetchall())
