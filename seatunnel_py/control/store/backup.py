"""Copies of the server's database: made while it is written to, and given back while no server runs.

Rules. (1) A copy is one moment of the database: writes go on meanwhile. (2) Its first line has the format, the length
and a SHA-256 of all that follows: a damaged or foreign file is refused before anything changes. (3) It is whole or not
there: it gets its name when its last byte is durable. (4) It is given back in one transaction: a process that is killed
leaves the database before, or the one after. (5) State that was true only at its moment does not come back: sessions,
codes to log in, starts that waited, times of schedules that have passed, and tokens that were revoked since.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from sqlalchemy import delete, func, select, update

from seatunnel_py.api.process.private_files import make_file_private
from seatunnel_py.control.store import definitions, tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import AuditedWrite, Database
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.control.store.places.sqlite_file import BUSY_MS, SqliteFile
from seatunnel_py.control.store.places.store_place import StorePlace
from seatunnel_py.control.store.tables import INTENT, LOGIN_CODE, QUEUE, SCHEDULE, SESSION, TOKEN
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.local_storage import sync_directory

_MAGIC, _VERSION = b"seatunnel-server-backup", b"1"
_HEAD_BYTES_MAX = 10_000
_COPIED_BYTES = 1 << 20
_DRAFT = "server.db.restoring"


class BackupError(SeaTunnelError):
    """No copy can be made, or this one cannot be given back. Nothing has changed."""


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """``release``: of seatunnel-py; ``home``: where the database was; ``made_at``: seconds since 1970; ``schema``: the
    version of its tables."""

    release: str
    home: str
    made_at: float
    schema: int


@dataclass(frozen=True, slots=True)
class RestoredDatabase:
    """``dropped``: starts that waited; ``revoked``: tokens that were revoked after the copy was made."""

    facts: BackupFacts
    definitions: int
    dropped: int
    revoked: int


def file_of(place: StorePlace, home: Path) -> Path:
    """The file of a database. Raises BackupError for PostgreSQL, which has its own copies."""
    if isinstance(place, SqliteFile):
        return place.path
    raise BackupError(
        f"the database of {home} is {place.shown}, and this command copies SQLite files only",
        "pg_dump copies it, and pg_restore gives it back, while no server of the home runs",
    )


# ---------------------------------------------------------------- make


def back_up(database: Path, target: Path, release: str, home: Path, now: float, *, replaces: bool) -> BackupFacts:
    """Copy a database into a new private file, also while a server writes to it. Raises BackupError."""
    if not database.is_file():
        raise BackupError(f"there is no database {database}", "the first `seatunnel server run` makes one")
    if target.exists() and not replaces:
        raise BackupError(f"{target} exists", "name another file, or replace it with --replace")
    try:
        with _drafts(target, 2) as (copy, whole):
            with closing(_connected(database)) as source, closing(_connected(copy)) as into:
                source.backup(into)
                into.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
                _require_whole(into)
                facts = BackupFacts(release, str(home), now, _schema_of(into))
            with copy.open("rb") as rows, whole.open("wb") as file:
                _write(file, json.dumps(asdict(facts)).encode() + b"\n", rows)
                file.flush()
                os.fsync(file.fileno())
            whole.rename(target)
            sync_directory(target.parent)
    except sqlite3.Error as error:
        raise BackupError(f"cannot copy {database}: {error}", "if its disk is well, the database is damaged") from None
    except OSError as error:
        raise BackupError(f"cannot write {target}: {error.strerror or error}", "name a place with room") from None
    return facts


@contextmanager
def _drafts(target: Path, count: int) -> Iterator[list[Path]]:
    """New private files beside the target, which are gone afterwards."""
    made: list[Path] = []
    try:
        for _ in range(count):
            descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
            os.close(descriptor)
            made.append(Path(name))
        yield made
    finally:
        for each in made:
            each.unlink(missing_ok=True)


def _write(file: IO[bytes], about: bytes, rows: IO[bytes]) -> None:
    found = hashlib.sha256(about)
    while piece := rows.read(_COPIED_BYTES):
        found.update(piece)
    size = len(about) + rows.tell()
    file.write(b"%s %s %d %s\n" % (_MAGIC, _VERSION, size, found.hexdigest().encode()))
    file.write(about)
    rows.seek(0)
    shutil.copyfileobj(rows, file, _COPIED_BYTES)


# ---------------------------------------------------------------- give back


def give_back(backup: Path, database: Path, by: str, now: Callable[[], float], *, replaces: bool) -> RestoredDatabase:
    """Give a copy back; the caller holds the lock of the home's server. Raises BackupError and NewerDatabaseError."""
    revoked = _revoked_now(database, replaces=replaces)
    draft = database.with_name(_DRAFT)
    _forget(draft)  # of a process that was killed
    try:
        facts = _unpacked(backup, draft)
        with closing(Database.open(draft, now)) as opened, opened.acting(Act(by, "server.restore", backup.name)) as act:
            restored = _leave_its_moment(act, facts, revoked, now())
        make_file_private(database)
        with closing(_connected(draft)) as source, closing(_connected(database)) as into:
            into.execute("PRAGMA journal_mode = WAL")
            source.backup(into)  # one transaction: all pages, or none
    except sqlite3.Error as error:
        raise BackupError(f"cannot give {backup} back: {error}", _MOVE.format(database)) from None
    except OSError as error:
        raise BackupError(f"cannot give {backup} back: {error.strerror or error}", "make room, and try again") from None
    finally:
        _forget(draft)
    return restored


_MOVE = "if another command has the database, try again; if it is damaged, move {0}* away, and restore into none"


def _revoked_now(database: Path, *, replaces: bool) -> Mapping[str, float]:
    """The tokens that are revoked in the database here. Raises BackupError for one that must not be replaced, and for a
    damaged one, which may be all that is left of its rows."""
    if not database.exists():
        return {}
    try:
        with closing(_connected(database)) as connection:
            if not _schema_of(connection):
                return {}
            if not replaces:
                why = f"{database} exists, and restoring replaces it"
                raise BackupError(why, "make a backup of it, and then replace it with --replace")
            _require_whole(connection)
            return dict(connection.execute("SELECT id, revoked_at FROM token WHERE revoked_at IS NOT NULL"))
    except sqlite3.Error as error:
        away = f"move it and the files beside it away ({database}*), and restore again"
        raise BackupError(f"{database} is damaged: {error}", away) from None


def _unpacked(backup: Path, draft: Path) -> BackupFacts:
    """Write the database of a copy into a private file. Raises BackupError for a damaged copy."""
    found, size = hashlib.sha256(), 0
    with backup.open("rb") as file, os.fdopen(os.open(draft, _NEW, 0o600), "wb") as into:
        words = file.readline(_HEAD_BYTES_MAX).split()
        if len(words) != 4 or words[0] != _MAGIC:
            raise BackupError(f"{backup} is not a backup of a server", "`seatunnel server backup FILE` makes one")
        if words[1] != _VERSION:
            shown = words[1].decode(errors="replace")
            raise BackupError(f"{backup} has the format {shown}, which this release does not know", "use a newer one")
        about = file.readline(_HEAD_BYTES_MAX)
        found.update(about)
        while piece := file.read(_COPIED_BYTES):
            found.update(piece)
            size += into.write(piece)
    if words[2:] != [b"%d" % (len(about) + size), found.hexdigest().encode()]:
        raise BackupError(f"{backup} is damaged: its checksum or its length is wrong", "take another backup")
    return BackupFacts(**json.loads(about))


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def _leave_its_moment(
    write: AuditedWrite, facts: BackupFacts, revoked: Mapping[str, float], now: float
) -> RestoredDatabase:
    """Rule 5."""
    connection = write.connection
    known = connection.execute(select(TOKEN.c.id).where(TOKEN.c.revoked_at.is_(None))).scalars().all()
    again = [id for id in known if id in revoked]
    for id in again:
        tokens.revoke(connection, id, revoked[id])
    connection.execute(delete(SESSION))
    connection.execute(delete(LOGIN_CODE))
    connection.execute(delete(QUEUE))
    waiting = INTENT.c.state == IntentState.WAITING.value
    dropped = connection.execute(update(INTENT).where(waiting).values(state=IntentState.DROPPED.value)).rowcount
    connection.execute(update(SCHEDULE).values(decided=func.max(SCHEDULE.c.decided, now), queued=None))
    return RestoredDatabase(facts, definitions.number(connection), dropped, len(again))


def _forget(draft: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        draft.with_name(f"{draft.name}{end}").unlink(missing_ok=True)


# ---------------------------------------------------------------- both


def _connected(path: Path) -> sqlite3.Connection:
    made = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    made.execute("PRAGMA synchronous = FULL")
    return made


def _schema_of(connection: sqlite3.Connection) -> int:
    """The version of its tables; 0: it has none."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchone():
        return 0
    return int(connection.execute("SELECT max(version) FROM schema_version").fetchone()[0] or 0)


def _require_whole(connection: sqlite3.Connection) -> None:
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(str(found))
