"""The server's database: SQLite through SQLAlchemy Core, with one writer and many readers.

Rules. (1) A write is durable when its block ends: ``synchronous = FULL``. (2) Writes follow one another; readers see
the state before or after one, never half of it (WAL). (3) An act of a person, or of the supervisor, and its audit row
are in one transaction; a refused act leaves a row, too. (4) A database of a newer release, or a damaged one, is refused
with the way out: the runs are all in SEATUNNEL_HOME, and need no database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from seatunnel_py.api.process.private_files import make_file_private, make_private
from seatunnel_py.control.store import audit, migrations
from seatunnel_py.control.store.audit import Act
from seatunnel_py.errors import SeaTunnelError, first_line, worded

BUSY_MS = 5_000
READERS = 8
WAY_OUT = (
    "move it away; then `seatunnel server restore FILE` gives a backup back, or the next start makes a new one: all "
    "runs stay; definitions, wishes, tokens and the audit are only in the database"
)


class StoreUnreadableError(SeaTunnelError):
    """The database cannot be used at all."""


class StoreUnwritableError(SeaTunnelError):
    """A write has failed, for example on a full disk. Nothing of it was kept; reads go on."""


@dataclass(slots=True)
class AuditedWrite:
    """A write with its audit row. ``act`` may be replaced until the block ends, when its details are known."""

    connection: Connection
    act: Act

    def note(self, **details: Any) -> None:
        """Add details to the audit row: fields of ``Act``."""
        self.act = replace(self.act, **details)


class Database:
    """An open database. Methods may be called from any thread. ``now``: wall clock in seconds."""

    def __init__(self, path: Path, now: Callable[[], float]) -> None:
        self.path = path
        self._now = now
        self._lock = Lock()
        self._writer = _engine(path, "BEGIN IMMEDIATE", 1)
        self._readers = _engine(path, "BEGIN", READERS)

    @classmethod
    def open(cls, path: Path, now: Callable[[], float]) -> Database:
        """Open a database, a new one where there is none, and migrate it. Raises NewerDatabaseError, and
        StoreUnreadableError for a damaged one."""
        make_private(path.parent)
        made = cls(path, now)
        try:
            make_file_private(path)  # before the first byte; the files beside it get its mode from SQLite
            _require_whole(path)
            with made._writer.begin() as connection:
                migrations.migrate(connection, now(), str(path))
        except (DBAPIError, sqlite3.Error, OSError) as error:
            made.close()
            raise StoreUnreadableError(f"cannot use the database {path}: {_why(error)}", WAY_OUT) from None
        except SeaTunnelError:
            made.close()
            raise
        return made

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A consistent view. Raises StoreUnreadableError."""
        try:
            with self._readers.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise StoreUnreadableError(f"cannot read {self.path}: {_why(error)}", WAY_OUT) from None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction of the server's own bookkeeping, durable when the block ends. Raises StoreUnwritableError."""
        with self._lock:
            try:
                with self._writer.begin() as connection:
                    yield connection
            except DBAPIError as error:
                raise StoreUnwritableError(
                    f"cannot write {self.path}: {_why(error)}", "make room on its disk, and try again"
                ) from None

    @contextmanager
    def acting(self, act: Act) -> Iterator[AuditedWrite]:
        """A transaction for an act, with its audit row. If the block raises SeaTunnelError nothing of the act is kept,
        and a row has the reason. Raises StoreUnwritableError."""
        write: AuditedWrite | None = None
        try:
            with self.writing() as connection:
                write = AuditedWrite(connection, act)
                yield write
                audit.record(connection, write.act, self._now())
        except StoreUnwritableError:
            raise
        except SeaTunnelError as error:
            refused = replace(write.act if write else act, result=f"refused: {first_line(error.message)}")
            with suppress(StoreUnwritableError):  # the first error is the one to report
                self.refused(refused)
            raise

    def refused(self, act: Act) -> None:
        """Keep the audit row of an act that was refused. Raises StoreUnwritableError."""
        with self.writing() as connection:
            audit.record(connection, act, self._now())

    def fault(self) -> str:
        """Why no write is possible now; empty: one is."""
        try:
            with self.writing() as connection:
                connection.exec_driver_sql("PRAGMA user_version = 1")
        except StoreUnwritableError as error:
            return error.message
        return ""

    def close(self) -> None:
        """Close all connections."""
        for engine in (self._readers, self._writer):
            engine.dispose()


def _engine(path: Path, begin: str, size: int) -> Engine:
    arguments = {"check_same_thread": False, "timeout": BUSY_MS / 1000}
    made = create_engine(f"sqlite:///{path}", connect_args=arguments, pool_size=size, max_overflow=0)

    def connected(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # the driver would begin transactions of its own
        for pragma in ("journal_mode = WAL", f"busy_timeout = {BUSY_MS}", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    event.listen(made, "connect", connected)
    event.listen(made, "begin", lambda connection: connection.exec_driver_sql(begin))
    return made


def _require_whole(path: Path) -> None:
    """Raises sqlite3.Error for a damaged database."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(str(found))


def _why(error: Exception) -> str:
    inner = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return error.strerror or str(error) if isinstance(error, OSError) else str(inner) or worded(inner)
