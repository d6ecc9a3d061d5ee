"""A MariaDB that speaks TLS, with a certificate of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.servers.certificate import make_certificate
from tests.servers.mariadb import MariadbServer


@contextmanager
def encrypted_mariadb(settings: Mapping[str, str]) -> Iterator[tuple[MariadbServer, Path]]:
    """Start the server, with these settings besides; its certificate is also the authority that signed it."""
    server = MariadbServer(settings=dict(settings))
    try:
        key, certificate = make_certificate(server.data)
        server.settings |= {"ssl_key": str(key), "ssl_cert": str(certificate)}
        server.start()
        yield server, certificate
    finally:
        server.close()
