"""Servers that the end-to-end tests share: databases are started once a session, one database a test; a broker once a
file of tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from e2e.long_cases import is_long
from e2e.stream import Stream
from tests.servers.kafka import KafkaServer
from tests.servers.postgres import PostgresServer

_numbers = count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_long(item.nodeid):
            item.add_marker(pytest.mark.long)


@dataclass(frozen=True, slots=True)
class Databases:
    """A source and a target database of one test on one server."""

    server: PostgresServer
    source: str
    target: str

    def connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(self.server.dsn_of(database), autocommit=True)

    def jdbc(self, database: str) -> str:
        """The options that a Jdbc step needs to get there."""
        return f'url = "{self.server.jdbc_url(database)}", driver = "org.postgresql.Driver", user = "postgres"'

    def count(self, table: str) -> int:
        """How many rows the target's table has; none where it is not there yet."""
        with self.connect(self.target) as connection:
            if connection.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone() == (None,):
                return 0
            found = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("public", table)))
            return sum(row[0] for row in found)

    def rows(self, database: str, table: str) -> list[tuple[object, ...]]:
        """All rows of a table, in a fixed order."""
        with self.connect(database) as connection:
            query = sql.SQL("SELECT * FROM {} ORDER BY 1").format(sql.Identifier("public", table))
            return connection.execute(query).fetchall()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer.running() as server:
        yield server


@pytest.fixture
def own() -> Iterator[PostgresServer]:
    """A server that nobody else uses, with a database ``once`` that may be away (``e2e.outage``)."""
    with PostgresServer.running() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE DATABASE once")
        yield server


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaServer]:
    """A broker that nobody kills: a test that does starts its own. It ends with its file: an idle broker computes for
    half a minute in the time of all tests."""
    with KafkaServer.running() as server:
        yield server


@pytest.fixture
def databases(postgres: PostgresServer) -> Databases:
    number = next(_numbers)
    pair = Databases(postgres, f"source{number}", f"target{number}")
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        for database in (pair.source, pair.target):
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
    return pair


@pytest.fixture
def stream(tmp_path: Path, databases: Databases) -> Iterator[Stream]:
    """A stream that is not begun yet, and ends with the test."""
    found = Stream(tmp_path, databases)
    yield found
    found.end()
