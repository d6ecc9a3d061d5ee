"""A PostgreSQL that speaks TLS, with a certificate of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.certificate import make_certificate
from tests.servers.postgres import PostgresServer


@contextmanager
def encrypted_postgres(**settings: str) -> Iterator[PostgresServer]:
    """Start the server, with these settings besides; skip the test where its certificate cannot be made."""
    server = PostgresServer(settings={"ssl": "on", **settings})
    try:
        make_certificate(server.data)
        server.start()
        yield server
    finally:
        server.close()
