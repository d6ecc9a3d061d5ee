"""A server with logical decoding for the whole session, and a database with a publication for each test."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from seatunnel_connectors.postgres_cdc.catalog_types import CatalogTypes
from seatunnel_connectors.postgres_cdc.pgoutput.changes import Before
from seatunnel_connectors.postgres_cdc.pgoutput.decoder import PgoutputDecoder
from seatunnel_connectors.postgres_cdc.pgoutput.elements import LogElement, LogPosition
from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationCache
from seatunnel_connectors.postgres_cdc.pgoutput.transactions import TransactionTracker
from seatunnel_connectors.postgres_cdc.replication.connection import (
    ReplicationConnection,
    ReplicationStream,
    StreamOptions,
)
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.postgres_cdc.reading import Shown, all_rows
from tests.servers.install import ServerMissing
from tests.servers.postgres import PostgresServer

_numbers = itertools.count(1)
SECONDS = 60.0
PUBLICATION = "p"


@dataclass
class Log:
    """A slot of a database, from its creation on."""

    db: psycopg.Connection[tuple[Any, ...]]
    dsn: str
    slot: str
    url: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, *statements: str) -> None:
        for one in statements:
            self.db.execute(one.encode())

    def value(self, sql: str) -> Any:
        row = self.db.execute(sql.encode()).fetchone()
        assert row is not None
        return row[0]

    @property
    def place(self) -> PostgresPlace:
        return PostgresPlace(self.db, self.url)

    @property
    def end(self) -> int:
        return lsn_of(self.value("SELECT pg_current_wal_insert_lsn()::text"))

    def decoder(
        self, start: LogPosition | None = None, before: Before = Before.PAIRS, **relations: Any
    ) -> PgoutputDecoder:
        cache = RelationCache(CatalogTypes(self.db), **relations)
        return PgoutputDecoder(cache, TransactionTracker(start or LogPosition()), before)

    @contextmanager
    def stream(self, *, through_libpq: bool = False, dsn: str = "", **options: Any) -> Iterator[ReplicationStream]:
        connection = ReplicationConnection(dsn or self.dsn)
        try:
            given = StreamOptions(self.slot, (PUBLICATION,), **{**self.options, **options})
            yield connection.start(given, through_libpq=through_libpq)
        finally:
            connection.close()

    def elements(self, decoder: PgoutputDecoder | None = None, **options: Any) -> list[LogElement]:
        """Everything that is in the log now."""
        decoder = decoder or self.decoder()
        with self.stream(**options) as stream:
            found = read_until(stream, decoder, self.end)
            stream.stop()
        return found

    def rows(self, decoder: PgoutputDecoder | None = None, **options: Any) -> list[Shown]:
        return all_rows(self.elements(decoder, **options))


def read_until(stream: ReplicationStream, decoder: PgoutputDecoder, end: int) -> list[LogElement]:
    """Elements up to a keepalive that says that there is nothing more before that place."""
    found: list[LogElement] = []
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        received = stream.receive(0.2)
        found += decoder.decode(received.messages)
        if received.idle_end is not None and received.idle_end >= end and decoder.tracker.open is None:
            return found
    raise AssertionError(f"nothing in {SECONDS} s says that the log was read up to its end")


@pytest.fixture(scope="session")
def logical_server() -> Iterator[PostgresServer]:
    settings = {"wal_level": "logical", "max_replication_slots": "20", "max_wal_senders": "20"}
    try:
        with PostgresServer.running(settings=settings) as server:
            yield server
    except ServerMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def make_log(logical_server: PostgresServer) -> Iterator[Callable[..., Log]]:
    """Runs statements in a new database, publishes its tables, creates a slot behind them."""
    database, slot = f"cdc{next(_numbers)}", f"s{next(_numbers)}"
    dsn = logical_server.dsn_of(database)
    with psycopg.connect(logical_server.dsn, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {database}".encode())
        with psycopg.connect(dsn, autocommit=True) as db:

            def make(*statements: str, publication: str = "FOR ALL TABLES") -> Log:
                for one in (*statements, f"CREATE PUBLICATION {PUBLICATION} {publication}"):
                    db.execute(one.encode())
                db.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
                return Log(db, dsn, slot, logical_server.jdbc_url(database))

            yield make
            db.execute(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = %s AND active",
                [database],
            )
        for (name,) in admin.execute(
            "SELECT slot_name FROM pg_replication_slots WHERE database = %s", [database]
        ).fetchall():
            wait_free(admin, name)
            admin.execute("SELECT pg_drop_replication_slot(%s)", [name])
        admin.execute(f"DROP DATABASE {database} WITH (FORCE)".encode())


def wait_free(db: psycopg.Connection[tuple[Any, ...]], slot: str) -> None:
    for _ in range(100):
        row = db.execute("SELECT active FROM pg_replication_slots WHERE slot_name = %s", [slot]).fetchone()
        if row is None or not row[0]:
            return
        time.sleep(0.05)
