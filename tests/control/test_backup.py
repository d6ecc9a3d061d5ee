"""Backups of the server's database: one moment of it, refused if a byte is wrong, and given back whole."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.presence.home_identity import HomeIdentity
from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.decision import Schedule
from seatunnel_py.control.schedule.terms import terms_of
from seatunnel_py.control.store import audit, definitions, intents, migrations, queue, sessions, tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.copies import backup, restore
from seatunnel_py.control.store.copies.backup_file import BackupError
from seatunnel_py.control.store.copies.restore import RestoredDatabase, Restoring
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.intents import IntentState, StartKind, StartOptions, StartWish
from seatunnel_py.control.store.migrations import NewerDatabaseError
from seatunnel_py.control.store.places.sqlite_file import SqliteFile
from seatunnel_py.control.store.tables import SESSION
from seatunnel_py.control.store.tokens import Role, TokenWish

NOW = 1_800_000_000.0
LATER = NOW + 3 * 86_400
TEXT = "source { FakeSource { row.num = 1 } }\nsink { Console {} }"


def opened(home: Path, now: float = NOW) -> Database:
    return Database.open(home / "server" / "server.db", lambda: now)


def define(database: Database, id: str) -> None:
    with database.acting(Act("me", "definition.create", id)) as write:
        definitions.create(write.connection, id, DefinitionText.of(TEXT, id), "me", "", NOW)


def defined(home: Path) -> list[str]:
    database = opened(home)
    with database.reading() as connection:
        found = [one.id for one in definitions.listing(connection)]
    database.close()
    return found


def back_up(home: Path, target: Path, *, replaces: bool = False) -> Path:
    backup.back_up(SqliteFile(home / "server" / "server.db"), target, "1.0", home, NOW, replaces=replaces)
    return target


def give_back(file: Path, home: Path, *, replaces: bool = False) -> RestoredDatabase:
    asked = Restoring(file, HomeIdentity.of(home), "me", lambda: LATER, replaces)
    return restore.give_back(asked, SqliteFile(home / "server" / "server.db"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a database with one definition."""
    place = tmp_path_factory.mktemp("whole")
    database = opened(place)
    define(database, "shop")
    database.close()
    return back_up(place, place / "whole.backup")


def test_a_backup_is_private_and_comes_back_anywhere(tmp_path: Path) -> None:
    """Also from a database whose newest rows are only in the log beside it, because a server has it open."""
    database = opened(tmp_path / "one")
    define(database, "shop")
    assert (tmp_path / "one/server/server.db-wal").stat().st_size > 0

    file = back_up(tmp_path / "one", tmp_path / "b")
    database.close()
    done = give_back(file, tmp_path / "two")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and [one.name for one in tmp_path.glob("*b*")] == ["b"]
    assert (done.begun.definitions, done.facts.home, done.facts.schema) == (
        1,
        str(tmp_path / "one"),
        len(migrations.MIGRATIONS),
    )
    assert defined(tmp_path / "two") == ["shop"]
    assert stat.S_IMODE((tmp_path / "two/server/server.db").stat().st_mode) == 0o600
    assert sorted(one.name for one in (tmp_path / "two/server").iterdir()) == ["home.id", "server.db"]


def test_nothing_is_overwritten_unasked(tmp_path: Path, whole: Path) -> None:
    database = opened(tmp_path)
    define(database, "other")
    database.close()
    file = back_up(tmp_path, tmp_path / "b")
    before = file.read_bytes()

    with pytest.raises(BackupError, match="--replace"):
        back_up(tmp_path, file)
    with pytest.raises(BackupError, match="--replace"):
        give_back(whole, tmp_path)
    assert file.read_bytes() == before and defined(tmp_path) == ["other"]

    give_back(whole, tmp_path, replaces=True)
    back_up(tmp_path, file, replaces=True)
    assert defined(tmp_path) == ["shop"] and file.read_bytes() != before


def test_what_was_true_only_then_does_not_come_back(tmp_path: Path) -> None:
    """A token that was revoked since stays so; sessions are over; a start that waited is not made again, and no time of
    a schedule that has passed starts a run."""
    database = opened(tmp_path)
    define(database, "shop")
    with database.writing() as connection:
        kept, _ = tokens.issue(connection, TokenWish("kept", Role.READ), "me", NOW)
        gone, text = tokens.issue(connection, TokenWish("gone", Role.ADMIN), "me", NOW)
        sessions.begin(connection, gone, "127.0.0.1", NOW)
        wish = StartWish("r1", "shop", 1, StartKind.NEW, StartOptions(), "me")
        waiting = intents.add(connection, wish, NOW)
        queue.put(connection, waiting, NOW)
        schedule = Schedule("often", "shop", terms_of(every=60, missed="once"), decided=NOW, anchor=NOW, queued=NOW)
        stored_schedules.add(connection, schedule)
    file = back_up(tmp_path, tmp_path / "b")
    with database.writing() as connection:
        tokens.revoke(connection, gone.id, NOW + 5)
    database.close()

    done = give_back(file, tmp_path, replaces=True)

    assert (done.begun.dropped, done.begun.revoked) == (1, 1)
    database = opened(tmp_path)
    with database.reading() as connection:
        assert tokens.verified(connection, text, NOW + 6) is None
        assert [one.name for one in tokens.listing(connection) if one.valid(NOW + 6)] == ["kept"], kept
        assert connection.execute(SESSION.select()).all() == []
        assert queue.entries(connection) == []
        assert intents.found(connection, waiting.id).state is IntentState.DROPPED
        found = stored_schedules.found(connection, "often")
        assert (found.decided, found.queued) == (LATER, None)
        newest = audit.rows(connection)[0]
        assert (newest.act.act, newest.act.object, newest.at) == ("server.restore", "b", LATER)
    database.close()


@settings(max_examples=60)
@given(data=st.data())
def test_a_backup_with_a_wrong_byte_is_refused(data: st.DataObject, whole: Path) -> None:
    """O10: Anywhere in the file, and a file that is cut; nothing is made then."""
    text = whole.read_bytes()
    place = whole.parent / "damaged"
    place.mkdir(exist_ok=True)
    at = data.draw(st.one_of(st.integers(0, 400), st.integers(0, len(text) - 1)))
    changed = bytearray(text)
    changed[at] ^= data.draw(st.integers(1, 255))
    (place / "b").write_bytes(text[:at] if data.draw(st.booleans()) else changed)

    with pytest.raises(BackupError):
        give_back(place / "b", place)
    assert [one.name for one in (place / "server").iterdir()] == ["home.id"]


def test_a_backup_of_another_format_is_refused_as_such(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(whole.read_bytes().replace(b"-backup 1 ", b"-backup 2 ", 1))
    with pytest.raises(BackupError, match="has the format 2"):
        give_back(tmp_path / "b", tmp_path)
    (tmp_path / "text").write_text("source {}")
    with pytest.raises(BackupError, match="is not a backup of a server"):
        give_back(tmp_path / "text", tmp_path)
    with pytest.raises(BackupError, match="No such file"):
        give_back(tmp_path / "nowhere", tmp_path)
    with pytest.raises(BackupError, match="there is no database"):
        back_up(tmp_path / "nowhere", tmp_path / "c")


def test_a_backup_of_another_release_is_migrated_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O32: an older one gets the tables of this release; a newer one changes nothing."""
    with monkeypatch.context() as older:
        older.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:4])
        database = opened(tmp_path / "old")
        define(database, "shop")
        database.close()
        file = back_up(tmp_path / "old", tmp_path / "old.backup")
    assert give_back(file, tmp_path / "new").begun.definitions == 1 and defined(tmp_path / "new") == ["shop"]

    with sqlite3.connect(tmp_path / "new/server/server.db") as connection:
        connection.execute("INSERT INTO schema_version VALUES (99, 0)")
    connection.close()
    newer = back_up(tmp_path / "new", tmp_path / "new.backup")
    with pytest.raises(NewerDatabaseError, match="version 99"):
        give_back(newer, tmp_path / "old", replaces=True)
    assert defined(tmp_path / "old") == ["shop"]
    assert sorted(one.name for one in (tmp_path / "old/server").iterdir()) == ["home.id", "server.db"]


def test_a_damaged_database_stays_and_the_message_has_the_way_out(whole: Path, tmp_path: Path) -> None:
    """O10: it may be all that is left of its newest rows."""
    (tmp_path / "server").mkdir(mode=0o700)
    file = tmp_path / "server" / "server.db"
    file.write_bytes(b"SQLite format 3\0" + b"x" * 4096)
    with pytest.raises(BackupError, match="is damaged") as refused:
        give_back(whole, tmp_path, replaces=True)
    assert "move it and the files beside it away" in refused.value.remedy and file.read_bytes().endswith(b"x")

    file.rename(tmp_path / "damaged.db")
    assert give_back(whole, tmp_path).begun.definitions == 1
