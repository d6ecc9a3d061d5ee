"""Servers for the connector's tests: one for the whole session, a schema of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pymysql
import pytest

from seatunnel_py.api.process.resources import close_all
from tests.servers.install import ServerMissing
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer

_numbers = itertools.count(1)


@dataclass
class PostgresPlace:
    """A database with two empty schemas, `a` to read from and `b` to write to, and a connection beside ours."""

    db: psycopg.Connection[tuple[Any, ...]]
    url: str

    @property
    def connection(self) -> dict[str, str]:
        return {"url": self.url, "username": "postgres"}

    def source(self, **options: Any) -> dict[str, Any]:
        return {**self.connection, **options}

    def sink(self, **options: Any) -> dict[str, Any]:
        return {**self.connection, "generate_sink_sql": True, **options}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.db.execute(sql.encode()).fetchall()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    try:
        with PostgresServer.running() as server:
            yield server
    except ServerMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def pg(postgres_server: PostgresServer) -> Iterator[PostgresPlace]:
    database = f"test{next(_numbers)}"
    with psycopg.connect(postgres_server.dsn, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {database}".encode())
        with psycopg.connect(postgres_server.dsn_of(database), autocommit=True) as db:
            db.execute("CREATE SCHEMA a; CREATE SCHEMA b")
            yield PostgresPlace(db, postgres_server.jdbc_url(database))
        close_all()
        admin.execute(f"DROP DATABASE {database} WITH (FORCE)".encode())


@pytest.fixture(params=["native", "arrow"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way that rows take from PostgreSQL to PostgreSQL: as they are where they can, or through Arrow always."""
    if request.param == "arrow":
        monkeypatch.setattr("seatunnel_py.work.run.passage_of", lambda unit, chain: None)
    return str(request.param)


@dataclass
class MariadbPlace:
    """Two empty databases, `a` to read from and `b` to write to, and a connection beside ours. ``wishes`` are the
    parameters of a url."""

    db: Any
    port: int
    wishes: str = "useSSL=false"

    def connection(self, database: str) -> dict[str, str]:
        return {"url": f"jdbc:mysql://127.0.0.1:{self.port}/{database}?{self.wishes}", "user": "root"}

    def source(self, **options: Any) -> dict[str, Any]:
        return {**self.connection("a"), "driver": "com.mysql.cj.jdbc.Driver", **options}

    def sink(self, **options: Any) -> dict[str, Any]:
        return {**self.connection("b"), "generate_sink_sql": True, "database": "b", **options}

    def run(self, *statements: str) -> None:
        with self.db.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.db.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())


def running_mariadb(**settings: str) -> Iterator[MariadbServer]:
    """A server with these settings, for a fixture; without one installed its tests are skipped."""
    try:
        with MariadbServer.running(settings={"local_infile": "ON", **settings}) as server:
            yield server
    except ServerMissing as missing:
        pytest.skip(str(missing))


def mariadb_place(server: MariadbServer) -> Iterator[MariadbPlace]:
    """Its two databases, empty, for a fixture."""
    db = pymysql.connect(**server.connection(), autocommit=True, charset="utf8mb4")
    place = MariadbPlace(db, server.port)
    place.run("DROP DATABASE IF EXISTS a", "DROP DATABASE IF EXISTS b", "CREATE DATABASE a", "CREATE DATABASE b")
    yield place
    close_all()
    place.run("SET GLOBAL local_infile = 1")
    db.close()


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariadbServer]:
    yield from running_mariadb()


@pytest.fixture
def maria(mariadb_server: MariadbServer) -> Iterator[MariadbPlace]:
    yield from mariadb_place(mariadb_server)
