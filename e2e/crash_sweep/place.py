"""Where one case lives: its directory, its databases, and the private servers of the lane that it runs in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import psycopg
import pymysql

from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer
from tests.servers.private import PrivateServer

MAKERS: dict[str, Callable[[], PrivateServer]] = {
    "postgres": lambda: PostgresServer(settings={"max_prepared_transactions": "16"}),
    "mariadb": MariadbServer,
    "kafka": KafkaServer,
}


@dataclass(slots=True)
class Lane:
    """Cases of one lane run one after the other; its servers are its own, so that they may be killed. Whoever looks on
    while one is started again waits for it. ``makers``: of servers by their names."""

    makers: Mapping[str, Callable[[], PrivateServer]] = field(default_factory=lambda: MAKERS)
    servers: dict[str, PrivateServer] = field(default_factory=dict)
    starting: Lock = field(default_factory=Lock)

    def server(self, name: str) -> PrivateServer:
        """The server of that kind, running."""
        with self.starting:
            if name not in self.servers:
                self.servers[name] = self.makers[name]()
            self.servers[name].start()
        return self.servers[name]

    def kill(self, name: str) -> None:
        """The server of that kind dies, with all its sessions."""
        with self.starting:
            self.servers[name].kill9()

    def close(self) -> None:
        for server in self.servers.values():
            server.close()


@dataclass(frozen=True, slots=True)
class Place:
    """``name`` is also that of the case's database on each server; ``read`` is the step whose rows targets take."""

    name: str
    home: Path
    lane: Lane
    read: str = "read"

    @property
    def inputs(self) -> Path:
        return self.home / "in"

    @property
    def files(self) -> Path:
        return self.home / "out"

    @property
    def postgres(self) -> Any:
        return self.lane.server("postgres")

    @property
    def mariadb(self) -> Any:
        return self.lane.server("mariadb")

    @property
    def kafka(self) -> Any:
        return self.lane.server("kafka")

    def on_postgres(self, database: str = "") -> psycopg.Connection:
        dsn = self.postgres.dsn_of(database or self.name)
        return psycopg.connect(dsn, autocommit=True, connect_timeout=5)

    def on_mariadb(self, database: str | None = None) -> pymysql.Connection[Any]:
        given = self.mariadb.connection(self.name if database is None else database)
        return pymysql.connect(**given, autocommit=True, connect_timeout=5)
