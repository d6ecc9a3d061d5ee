"""Files of SQLite that are copied: page by page, or row by row."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlalchemy import Engine, NullPool, create_engine

from seatunnel_py.control.store.places.sqlite_file import BUSY_MS


def connected(path: Path) -> sqlite3.Connection:
    """A connection whose transactions are durable when they end."""
    made = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    made.execute("PRAGMA synchronous = FULL")
    return made


def file_engine(path: Path) -> Engine:
    """Rows of a draft, which nothing else writes."""
    return create_engine(f"sqlite:///{path}", poolclass=NullPool)


def require_whole(connection: sqlite3.Connection) -> None:
    """Raises sqlite3.Error for a damaged database."""
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(str(found))


def schema_of(connection: sqlite3.Connection) -> int:
    """The version of its tables; 0: it has none."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchone():
        return 0
    return int(connection.execute("SELECT max(version) FROM schema_version").fetchone()[0] or 0)
