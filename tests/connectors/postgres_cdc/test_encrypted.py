"""An encrypted connection: libpq reads it, and gives what a plain one does."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.connectors.postgres_cdc.conftest import PUBLICATION, Log
from tests.servers.encrypted_postgres import encrypted_postgres
from tests.servers.postgres import PostgresServer


@pytest.fixture
def encrypted() -> Iterator[PostgresServer]:
    with encrypted_postgres(wal_level="logical") as server:
        yield server


def test_an_encrypted_stream_is_read_and_confirmed(encrypted: PostgresServer) -> None:
    with psycopg.connect(encrypted.dsn, autocommit=True) as db:
        assert db.pgconn.ssl_in_use
        log = Log(db, encrypted.dsn, "s")
        log.run(
            "CREATE TABLE t (id int PRIMARY KEY, v text)", f"CREATE PUBLICATION {PUBLICATION} FOR ALL TABLES",
            "SELECT pg_create_logical_replication_slot('s', 'pgoutput')",
            "INSERT INTO t SELECT n, repeat('x', n % 900) FROM generate_series(1, 20000) n",
        )  # fmt: skip
        over_tls = log.rows()
        plain = log.rows(dsn=f"{encrypted.dsn}?sslmode=disable")

        assert len(over_tls) == 20_000
        assert over_tls == plain
        with log.stream() as stream:
            assert stream.transport.pgconn.ssl_in_use
            stream.receive(0.1)
            stream.stop()
