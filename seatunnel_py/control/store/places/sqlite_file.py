"""The server's database as a SQLite file: one server has it.

A write is durable when its transaction ends (``synchronous = FULL``). Readers see the state before or after one, never
half of it (WAL).
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event

from seatunnel_py.api.process.private_files import make_file_private, make_private

BUSY_MS = 5_000
READERS = 8


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """``StorePlace`` in a file, with two more beside it."""

    path: Path

    @property
    def shown(self) -> str:
        return str(self.path)

    @property
    def kind(self) -> str:
        return "sqlite"

    @property
    def way_out(self) -> str:
        return (
            "move it away; then `seatunnel server restore FILE` gives a backup back, or the next start makes a new "
            "one: all runs stay; definitions, wishes, tokens and the audit are only in the database"
        )

    @property
    def room(self) -> str:
        return "make room on its disk, and try again"

    def prepare(self) -> None:
        """Raises sqlite3.Error for a damaged database."""
        make_private(self.path.parent)
        make_file_private(self.path)  # before the first byte; the files beside it get its mode from SQLite
        with closing(sqlite3.connect(self.path)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(str(found))

    def engines(self) -> tuple[Engine, Engine]:
        """A write locks the file at its begin: one that locks at its first change could find it locked."""
        return self._engine("BEGIN IMMEDIATE", 1), self._engine("BEGIN", READERS)

    def begin_migration(self, connection: Connection) -> None:
        """The begin of the transaction has locked the file."""

    def begin_write(self, connection: Connection) -> None:
        """The begin of the transaction has locked the file."""

    def require_writable(self, connection: Connection) -> None:
        """Raises DBAPIError on a full disk."""
        connection.exec_driver_sql("PRAGMA user_version = 1")

    def _engine(self, begin: str, size: int) -> Engine:
        arguments = {"check_same_thread": False, "timeout": BUSY_MS / 1000}
        made = create_engine(f"sqlite:///{self.path}", connect_args=arguments, pool_size=size, max_overflow=0)

        def connected(connection: sqlite3.Connection, record: object) -> None:
            connection.isolation_level = None  # the driver would begin transactions of its own
            for pragma in (
                "journal_mode = WAL", f"busy_timeout = {BUSY_MS}", "synchronous = FULL", "foreign_keys = ON",
            ):  # fmt: skip
                connection.execute(f"PRAGMA {pragma}")

        event.listen(made, "connect", connected)
        event.listen(made, "begin", lambda connection: connection.exec_driver_sql(begin))
        return made


def database_file(home: Path) -> Path:
    """The path of the database file in a home."""
    return home / "server" / "server.db"
