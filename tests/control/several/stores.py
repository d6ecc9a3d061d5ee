"""Schemas of a real PostgreSQL, one for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import psycopg
from sqlalchemy import make_url

from seatunnel_py.control.store.places.postgres_store import PostgresStore
from tests.servers.postgres import PostgresServer

_numbers = count(1)


def store_on(server: PostgresServer, lease_seconds: float = 30.0) -> PostgresStore:
    """A schema that does not exist yet."""
    return PostgresStore(make_url(server.dsn), f"seatunnel_{next(_numbers)}", lease_seconds)


@contextmanager
def connected(store: PostgresStore) -> Iterator[psycopg.Connection]:
    """A session beside the servers, in the schema of a store."""
    dsn = store.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(dsn, autocommit=True, options=f"-c search_path={store.schema}") as connection:
        yield connection
