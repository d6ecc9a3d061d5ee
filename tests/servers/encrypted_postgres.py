"""A PostgreSQL that speaks TLS, with a certificate of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which

import pytest

from tests.servers.postgres import PostgresServer


@contextmanager
def encrypted_postgres(**settings: str) -> Iterator[PostgresServer]:
    """Start the server, with these settings besides; skip the test where its certificate cannot be made."""
    if which("openssl") is None:
        pytest.skip("openssl, which makes the server's certificate, is not installed")
    server = PostgresServer(settings={"ssl": "on", **settings})
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
