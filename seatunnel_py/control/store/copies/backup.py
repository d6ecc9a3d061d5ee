"""Backups of the server's database, while it is written to.

Rules. (1) A backup is one moment of the database: writes go on meanwhile. (2) It is always a database of SQLite; rows
of PostgreSQL are copied into one, with the tables of its version, and compared.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from seatunnel_py.control.store import migrations
from seatunnel_py.control.store.copies.backup_file import BackupError, BackupFacts, drafts, pack
from seatunnel_py.control.store.copies.pages import connected, file_engine, require_whole, schema_of
from seatunnel_py.control.store.copies.rows import copy_rows, require_same
from seatunnel_py.control.store.database import cause_of
from seatunnel_py.control.store.places.postgres_store import PostgresStore
from seatunnel_py.control.store.places.sqlite_file import SqliteFile
from seatunnel_py.control.store.places.store_place import StorePlace

_DAMAGED = "if its disk is well, the database is damaged"
_ROOM = "name a place with room"


def back_up(place: StorePlace, target: Path, release: str, home: Path, now: float, *, replaces: bool) -> BackupFacts:
    """Copy a database into a new private file, also while servers write to it. Raises BackupError."""
    if isinstance(place, SqliteFile) and not place.path.is_file():
        raise _none(place)
    if target.exists() and not replaces:
        raise BackupError(f"{target} exists", "name another file, or replace it with --replace")
    try:
        with drafts(target, 2) as (copy, whole):
            if isinstance(place, PostgresStore):
                _copy_rows(place, copy, now)
            elif isinstance(place, SqliteFile):
                _copy_pages(place.path, copy)
            with closing(connected(copy)) as made:
                require_whole(made)
                facts = BackupFacts(release, str(home), now, schema_of(made))
            pack(copy, facts, whole, target)
    except sqlite3.Error as error:
        raise BackupError(f"cannot copy {place.shown}: {error}", _DAMAGED) from None
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise BackupError(f"cannot write {target}: {error.orig}", _ROOM) from None
        raise BackupError(f"cannot copy {place.shown}: {cause_of(error)}", place.way_out) from None
    except OSError as error:
        raise BackupError(f"cannot write {target}: {error.strerror or error}", _ROOM) from None
    return facts


def _copy_pages(database: Path, copy: Path) -> None:
    with closing(connected(database)) as source, closing(connected(copy)) as into:
        source.backup(into)
        into.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it


def _copy_rows(place: PostgresStore, copy: Path, now: float) -> None:
    place.prepare()
    source, into = place.unhurried().snapshots(1), file_engine(copy)
    try:
        with into.begin() as made:
            for pragma in ("journal_mode = MEMORY", "synchronous = OFF"):  # one file: if it is not whole, it is deleted
                made.exec_driver_sql(f"PRAGMA {pragma}")
            with source.begin() as rows:
                version = migrations.known_version(rows, place.shown)
                if not version:
                    raise _none(place)
                migrations.migrate(made, now, place.shown, version)
                copied = copy_rows(rows, made, shape=made)
            require_same(made, copied)
    finally:
        source.dispose()
        into.dispose()


def _none(place: StorePlace) -> BackupError:
    return BackupError(f"there is no database {place.shown}", "the first `seatunnel server run` makes one")
