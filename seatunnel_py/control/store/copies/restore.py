"""Backups of the server's database that are given back, to SQLite or to PostgreSQL, while no server of the home runs.

Rules. (1) The backup is unpacked into a draft in the home. The draft is migrated, and state that was true only at the
moment of the backup is removed. (2) The draft replaces the database in one transaction: a process that is killed leaves
the database before, or the one after. (3) Nothing is replaced unasked, and no store of another home at all.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from seatunnel_py.api.process.failpoints import failpoint
from seatunnel_py.api.process.private_files import make_file_private
from seatunnel_py.control.leading import lease
from seatunnel_py.control.presence.home_identity import HOME_ID, HomeIdentity
from seatunnel_py.control.store import migrations
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.copies.backup_file import BackupError, BackupFacts, unpack
from seatunnel_py.control.store.copies.moment import FreshStart, ReplacedState, remove_stale_state
from seatunnel_py.control.store.copies.pages import connected, file_engine, require_whole, schema_of
from seatunnel_py.control.store.copies.rows import copy_rows, require_same
from seatunnel_py.control.store.database import Database, cause_of
from seatunnel_py.control.store.places.postgres_store import PostgresStore
from seatunnel_py.control.store.places.sqlite_file import database_file
from seatunnel_py.control.store.places.store_place import StorePlace
from seatunnel_py.control.store.tables import LEASE, METADATA, SCHEMA_VERSION, SETTING, TOKEN

COPIED = failpoint("store.restore.copied", "All rows are in PostgreSQL, and compared; nothing is committed.")
_DRAFT = "server.db.restoring"
_SAVE = "make a backup of it, and then replace it with --replace"
_MOVE = "if another command has the database, try again; if it is damaged, move {0}* away, and restore into none"


@dataclass(frozen=True, slots=True)
class RestoredDatabase:
    """A database that was given back. ``facts``: of the backup."""

    facts: BackupFacts
    begun: FreshStart


@dataclass(frozen=True, slots=True)
class Restoring:
    """A backup that is given back to the home of ``identity``. ``by``: the person, for the audit; ``now``: wall clock
    in seconds; ``replaces``: also if there are rows already."""

    backup: Path
    identity: HomeIdentity
    by: str
    now: Callable[[], float]
    replaces: bool

    @property
    def act(self) -> Act:
        """The restore's row in the audit."""
        return Act(self.by, "server.restore", self.backup.name)

    @property
    def file(self) -> Path:
        """The SQLite file of the home, which need not exist."""
        return database_file(self.identity.path)


def give_back(asked: Restoring, place: StorePlace) -> RestoredDatabase:
    """Restore a backup; the caller holds the lock of the home's servers. Raises BackupError, NewerDatabaseError, and
    SeaTunnelError if the database cannot be used, or is that of another home."""
    postgres = isinstance(place, PostgresStore)
    revoked = _revoked_here(asked.file, replaces=asked.replaces or postgres)
    draft = asked.file.with_name(_DRAFT)
    _forget(draft)  # of a process that was killed
    try:
        facts = unpack(asked.backup, draft)
        if isinstance(place, PostgresStore):
            begun = _into_postgres(asked, draft, place, revoked)
        else:
            begun = _into_file(asked, draft, revoked)
    except sqlite3.Error as error:
        raise BackupError(f"cannot give {asked.backup} back: {error}", _MOVE.format(asked.file)) from None
    except DBAPIError as error:
        raise BackupError(f"cannot give {asked.backup} back: {cause_of(error)}", place.way_out) from None
    except OSError as error:
        why = f"cannot give {asked.backup} back: {error.strerror or error}"
        raise BackupError(why, "make room, and try again") from None
    finally:
        _forget(draft)
    return RestoredDatabase(facts, begun)


def _revoked_here(database: Path, *, replaces: bool) -> Mapping[str, float]:
    """The tokens that are revoked in the file of this home. Raises BackupError for one that must not be replaced, and
    for a damaged one, which may be all that is left of its rows."""
    if not database.exists():
        return {}
    try:
        with closing(connected(database)) as connection:
            if not schema_of(connection):
                return {}
            if not replaces:
                raise BackupError(f"{database} exists, and restoring replaces it", _SAVE)
            require_whole(connection)
            return dict(connection.execute("SELECT id, revoked_at FROM token WHERE revoked_at IS NOT NULL"))
    except sqlite3.Error as error:
        away = f"move it and the files beside it away ({database}*), and restore again"
        raise BackupError(f"{database} is damaged: {error}", away) from None


def _into_file(asked: Restoring, draft: Path, revoked: Mapping[str, float]) -> FreshStart:
    with closing(Database.open(draft, asked.now)) as opened, opened.acting(asked.act) as write:
        begun = remove_stale_state(write.connection, ReplacedState(revoked), asked.now())
    make_file_private(asked.file)
    with closing(connected(draft)) as source, closing(connected(asked.file)) as into:
        into.execute("PRAGMA journal_mode = WAL")
        source.backup(into)  # one transaction: all pages, or none
    return begun


def _into_postgres(asked: Restoring, draft: Path, place: PostgresStore, revoked: Mapping[str, float]) -> FreshStart:
    """All in one transaction, with the tables of a new schema. No server takes the lease meanwhile."""
    place.prepare()
    engine, file = place.unhurried().engine(1), file_engine(draft)
    try:
        with closing(Database.open(draft, asked.now)) as opened, engine.begin() as into:
            place.begin_migration(into)
            migrations.migrate(into, asked.now(), place.shown)
            place.begin_write(into)
            asked.identity.bind(into)
            _require_free(into, place, replaces=asked.replaces)
            replaced = ReplacedState({**revoked, **_revoked_in(into)}, lease.found(into).number)
            with opened.acting(asked.act) as write:
                begun = remove_stale_state(write.connection, replaced, asked.now())
                asked.identity.bind(write.connection)
            with file.begin() as rows:
                copied = copy_rows(rows, into, shape=rows)
            require_same(into, copied)
            place.continue_numbers(into)
            COPIED.hit()
    finally:
        engine.dispose()
        file.dispose()
    return begun


def _require_free(connection: Connection, place: PostgresStore, *, replaces: bool) -> None:
    """Raises BackupError if a server leads, or if there are rows that must not be replaced."""
    led = lease.found(connection)
    if led.left > 0:
        seconds = math.ceil(led.left)
        raise BackupError(
            f"the server at {led.address} leads with the store {place.shown}",
            f"end it, and restore again; if it was killed, its lease ends in {seconds} s",
        )
    if replaces:
        return
    for table in METADATA.sorted_tables:
        query = select(table).limit(1)
        if table is SETTING:
            query = query.where(SETTING.c.name != HOME_ID)
        if table not in (LEASE, SCHEMA_VERSION) and connection.execute(query).first() is not None:
            why = f"the store {place.shown} has rows of a server (table {table.name!r}), and restoring replaces them"
            raise BackupError(why, _SAVE)


def _revoked_in(connection: Connection) -> Mapping[str, float]:
    gone = select(TOKEN.c.id, TOKEN.c.revoked_at).where(TOKEN.c.revoked_at.is_not(None))
    return {row.id: row.revoked_at for row in connection.execute(gone)}


def _forget(draft: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        draft.with_name(f"{draft.name}{end}").unlink(missing_ok=True)
