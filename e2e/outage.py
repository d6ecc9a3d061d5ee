"""A database that is away for a while, though its server stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.servers.postgres import PostgresServer

SESSIONS = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'once'"


@contextmanager
def refusing(server: PostgresServer) -> Iterator[None]:
    """The sessions of its database ``once`` are killed, and none is let in before the block has ended."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("ALTER DATABASE once ALLOW_CONNECTIONS false")
        connection.execute(SESSIONS)
        yield
        connection.execute("ALTER DATABASE once ALLOW_CONNECTIONS true")
