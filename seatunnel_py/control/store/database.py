"""The server's database, through SQLAlchemy Core, with one writer and many readers. ``places`` knows where it is.

Rules. (1) A write is durable when its block ends. (2) Writes follow one another, also those of several servers; readers
see the state before or after one, never half of it. (3) An act of a person, or of the supervisor, and its audit row are
in one transaction; a refused act leaves a row, too. (4) A database of a newer release, or a damaged one, is refused
with the way out: the runs are all in SEATUNNEL_HOME, and need no database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from seatunnel_py.control.store import audit, migrations
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.places.sqlite_file import SqliteFile
from seatunnel_py.control.store.places.store_place import StorePlace
from seatunnel_py.errors import SeaTunnelError, first_line, worded


class StoreUnreadableError(SeaTunnelError):
    """The database cannot be used at all."""


class StoreUnwritableError(SeaTunnelError):
    """A write has failed, for example on a full disk. Nothing of it was kept; reads go on."""


class StaleLeaseError(StoreUnwritableError):
    """Another server leads by now, or this one has not renewed its lease in time. Nothing was kept."""


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

    def __init__(self, place: Path | StorePlace, now: Callable[[], float]) -> None:
        self.place: StorePlace = SqliteFile(place) if isinstance(place, Path) else place
        self._now = now
        self._lock = Lock()
        self._writer, self._readers = self.place.engines()

    @classmethod
    def open(cls, place: Path | StorePlace, now: Callable[[], float]) -> Database:
        """Open a database, a new one where there is none, and migrate it. ``place``: a path is that of a SQLite file.
        Raises NewerDatabaseError, and StoreUnreadableError for a damaged one, and for one that is away."""
        found: StorePlace = SqliteFile(place) if isinstance(place, Path) else place
        try:
            found.prepare()
            with ExitStack() as undo:
                made = cls(found, now)
                undo.callback(made.close)
                with made._writer.begin() as connection:
                    found.begin_migration(connection)
                    migrations.migrate(connection, now(), found.shown)
                undo.pop_all()
        except (DBAPIError, sqlite3.Error, OSError) as error:
            raise StoreUnreadableError(
                f"cannot use the database {found.shown}: {cause_of(error)}", found.way_out
            ) from None
        return made

    @property
    def fence(self) -> int | None:
        """The number of the lease under which writes are made; None: there is no lease."""
        return None

    @contextmanager
    def term(self) -> Iterator[None]:
        """All writes of the block are made under the lease of its begin, or fail with StaleLeaseError."""
        yield

    def confirm(self) -> None:
        """Raises StaleLeaseError if another server leads by now."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A consistent view. Raises StoreUnreadableError."""
        try:
            with self._readers.begin() as connection:
                yield connection
        except (DBAPIError, NoConnectionError) as error:
            raise StoreUnreadableError(
                f"cannot read {self.place.shown}: {cause_of(error)}", self.place.way_out
            ) from None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction of the server's own bookkeeping, durable when the block ends. Raises StoreUnwritableError."""
        with self._lock:
            try:
                with self._writer.begin() as connection:
                    self.place.begin_write(connection)
                    yield connection
            except (DBAPIError, NoConnectionError) as error:
                why = f"cannot write {self.place.shown}: {cause_of(error)}"
                raise StoreUnwritableError(why, self.place.room) from None

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
                self.place.require_writable(connection)
        except StoreUnwritableError as error:
            return error.message
        return ""

    def close(self) -> None:
        """Close all connections."""
        for engine in (self._readers, self._writer):
            engine.dispose()


def cause_of(error: Exception) -> str:
    """The cause of an error of a database in one line, without its statement."""
    inner = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    text = error.strerror or str(error) if isinstance(error, OSError) else str(inner) or worded(inner)
    return first_line(text)
