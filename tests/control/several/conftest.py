"""One PostgreSQL for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatunnel_py.control.store.places.postgres_store import PostgresStore
from tests.control.several.stores import store_on
from tests.servers.postgres import PostgresServer


@pytest.fixture(scope="session")
def store_server() -> Iterator[PostgresServer]:
    with PostgresServer.running() as server:
        yield server


@pytest.fixture
def store(store_server: PostgresServer) -> PostgresStore:
    return store_on(store_server)
