"""Homes whose servers have a common database in PostgreSQL."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg

from tests.servers.postgres import PostgresServer

LEASE_SECONDS = 8.0


def write_store(home: Path, dsn: str) -> None:
    """The settings of a home whose servers have this database."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "server.conf").write_text(f'store {{ url = "{dsn}", lease-seconds = {LEASE_SECONDS:g} }}\n')


def new_database(server: PostgresServer) -> str:
    """The address of a database of one test."""
    name = f"store_{time.monotonic_ns()}"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.dsn_of(name)
