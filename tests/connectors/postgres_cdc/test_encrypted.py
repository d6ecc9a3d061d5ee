"""An encrypted connection: libpq reads it, and gives what a plain one does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from shutil import which

import psycopg
import pytest

from tests.connectors.postgres_cdc.conftest import PUBLICATION, Log
from tests.servers.postgres import PostgresServer


@pytest.fixture
def encrypted() -> Iterator[PostgresServer]:
    if which("openssl") is None:
        pytest.skip("openssl, which makes the server's certificate, is not installed")
    server = PostgresServer(settings={"ssl": "on", "wal_level": "logical"})
    key, certificate = server.data / "server.key", server.data / "server.crt"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout".split()
    try:
        subprocess.run([*command, str(key), "-out", str(certificate)], check=True, capture_output=True)
        owner = server.data.stat()
        for path in (key, certificate):
            path.chmod(0o600)
            os.chown(path, owner.st_uid, owner.st_gid)
        server.start()
        yield server
    finally:
        server.close()


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
