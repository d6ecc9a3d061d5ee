"""A backup moves a server from SQLite to PostgreSQL and back: exactly, in one transaction, or not at all."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import BigInteger, Column, Connection, Float, insert, inspect, make_url, select, update

from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.leading import lease
from seatunnel_py.control.presence.home_identity import HOME_ID, HomeIdentity
from seatunnel_py.control.server_process import opened_store
from seatunnel_py.control.store import audit, definitions, intents, migrations, settings, tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.copies.backup import back_up
from seatunnel_py.control.store.copies.backup_file import BackupError, unpack
from seatunnel_py.control.store.copies.pages import file_engine
from seatunnel_py.control.store.copies.restore import RestoredDatabase, Restoring, give_back
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.intents import IntentState, StartKind, StartOptions, StartWish
from seatunnel_py.control.store.migrations import NewerDatabaseError
from seatunnel_py.control.store.places.postgres_store import PostgresStore
from seatunnel_py.control.store.places.sqlite_file import SqliteFile, database_file
from seatunnel_py.control.store.places.store_place import NUL, PICTURE_OF_NUL, StorePlace
from seatunnel_py.control.store.tables import LEASE, METADATA, SCHEMA_VERSION, SERIES_1M
from seatunnel_py.control.store.tokens import Role, TokenWish
from seatunnel_py.errors import SeaTunnelError
from tests.control.several.stores import connected, store_on
from tests.servers.postgres import PostgresServer

NOW = 1_800_000_000.0
LATER = NOW + 3 * 86_400
TEXT = DefinitionText.of("source { FakeSource { row.num = 1 } }\nsink { Console {} }", "shop")
NUMBERS = (0, 1, -7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
FLOATS = (0.0, 0.1, -1.5, 1 / 3, 5e-324, 1.7e308, NOW + 1 / 7, float("inf"))
TEXTS = (
    "",
    "plain",
    "Größe \N{SNOWMAN} \N{MUSICAL SYMBOL G CLEF}",
    "a\0b",
    "'\"\\x00\r\n\t",
    "\N{RIGHT-TO-LEFT OVERRIDE}x",
    "y" * 900,
)
Rows = Mapping[str, list[tuple[Any, ...]]]


def file_of(home: Path) -> SqliteFile:
    return SqliteFile(database_file(home))


@contextmanager
def written(place: StorePlace) -> Iterator[Connection]:
    with closing(Database.open(place, lambda: NOW)) as database, database.writing() as connection:
        yield connection


def fill(connection: Connection, seed: int) -> None:
    """Rows in each table with values at the borders of their types, and in one table more than a batch."""
    chosen, number = random.Random(seed), count(1)
    for table in METADATA.sorted_tables:
        if table in (LEASE, SCHEMA_VERSION):
            continue
        nullable = {one["name"] for one in inspect(connection).get_columns(table.name) if one["nullable"]}
        connection.execute(
            insert(table),
            [
                {
                    one.name: None if one.name in nullable and chosen.random() < 0.4 else value_of(one, chosen, number)
                    for one in table.columns
                }
                for _ in range(2_500 if table is SERIES_1M else 4)
            ],
        )
    gone = {"number": 3, "holder": "h", "address": "http://gone", "renewed_at": 1.0, "expires_at": 9e9}
    connection.execute(update(LEASE).values(gone))


def value_of(column: Column[Any], chosen: random.Random, number: Iterator[int]) -> Any:
    """A value, another one for each row where it identifies the row."""
    if isinstance(column.type, BigInteger):
        return next(number) * 3_000_000_000 if column.primary_key else chosen.choice(NUMBERS)
    if isinstance(column.type, Float):
        return next(number) / 7 if column.primary_key else chosen.choice(FLOATS)
    return f"{chosen.choice(TEXTS)}{next(number)}"


def rows_of(connection: Connection) -> Rows:
    return {
        table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
        for table in METADATA.sorted_tables
    }


def rows_in(place: StorePlace) -> Rows:
    with closing(Database.open(place, lambda: NOW)) as database, database.reading() as connection:
        return rows_of(connection)


def rows_of_backup(file: Path) -> Rows:
    draft = file.with_name(f"{file.name}.unpacked")
    unpack(file, draft)
    engine = file_engine(draft)
    with engine.begin() as connection:
        found = rows_of(connection)
    draft.unlink()
    return found


def copied(place: StorePlace, home: Path, name: str = "b") -> Path:
    file = home / name
    back_up(place, file, "1.0", home, NOW, replaces=False)
    return file


def given(file: Path, home: Path, place: StorePlace, *, replaces: bool = False) -> RestoredDatabase:
    return give_back(Restoring(file, HomeIdentity.of(home), "me", lambda: LATER, replaces), place)


def after_restore(rows: Rows, home_id: str) -> Rows:
    """These rows as a restore leaves them."""
    made = {name: list(found) for name, found in rows.items()}
    made |= {"session": [], "login_code": [], "queue": [], "lease": [(1, 3, "", "", 0.0, 0.0)]}
    at, number = METADATA.tables["schedule"].columns.keys().index("decided"), audit_id(rows) + 1
    queued = METADATA.tables["schedule"].columns.keys().index("queued")
    made["schedule"] = [
        tuple(None if n == queued else max(value, LATER) if n == at else value for n, value in enumerate(row))
        for row in made["schedule"]
    ]
    made["setting"] = [row for row in made["setting"] if row[0] != HOME_ID]
    made["setting"] += [(HOME_ID, f'"{home_id}"')] if home_id else []
    made["audit"].append((number, LATER, "me", "", "server.restore", "b", None, "", "", "done", ""))
    return {name: sorted(found, key=repr) for name, found in made.items()}


def audit_id(rows: Rows) -> int:
    return max((row[0] for row in rows["audit"]), default=0)


def without_nul(rows: Rows) -> Rows:
    def plain(value: Any) -> Any:
        return value.replace(NUL, PICTURE_OF_NUL) if isinstance(value, str) else value

    return {name: sorted((tuple(map(plain, row)) for row in found), key=repr) for name, found in rows.items()}


def tables_there(store: PostgresStore) -> int:
    with connected(store) as beside:
        found = beside.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", (store.schema,)).fetchone()
    return int(found[0]) if found else 0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a server's database in SQLite, and a token and two definitions in it."""
    folder = tmp_path / "home"
    with written(file_of(folder)) as connection:
        definitions.create(connection, "shop", TEXT, "me", "", NOW)
        definitions.create(connection, "bank", TEXT, "me", "", NOW)
        tokens.issue(connection, TokenWish("kept", Role.READ), "me", NOW)
        audit.record(connection, Act("me", "definition.create", "shop"), NOW)
    return folder


@pytest.mark.parametrize("seed", range(2))
def test_every_value_of_every_table_is_the_same_there_and_back(store: PostgresStore, tmp_path: Path, seed: int) -> None:
    """Only what a restore changes anyway differs, and PostgreSQL keeps no NUL."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    with written(file_of(home)) as connection:
        fill(connection, seed)
    first = copied(file_of(home), home)
    before = file_of(home).path.read_bytes()
    there = rows_of_backup(first)
    assert all(len(found) >= 4 for name, found in there.items() if name not in ("lease", "schema_version"))

    given(first, home, store)
    moved = rows_in(store)
    assert moved == without_nul(after_restore(there, HomeIdentity.of(home).id))
    assert file_of(home).path.read_bytes() == before

    elsewhere.mkdir()
    second = copied(store, elsewhere)
    assert rows_of_backup(second) == moved
    given(second, elsewhere, file_of(elsewhere))
    assert rows_in(file_of(elsewhere)) == after_restore(moved, "")


def test_numbers_go_on_after_the_last_one(home: Path, store: PostgresStore) -> None:
    with written(file_of(home)) as connection:
        for _ in range(5):
            audit.record(connection, Act("me", "act"), NOW)
        started = intents.add(connection, StartWish("r", "shop", 1, StartKind.NEW, StartOptions(), "me"), NOW)
    given(copied(file_of(home), home), home, store)
    with written(store) as connection:
        audit.record(connection, Act("me", "next"), NOW)
        assert [row.id for row in audit.rows(connection)] == [8, 7, 6, 5, 4, 3, 2, 1]
        again = intents.add(connection, StartWish("r2", "shop", 1, StartKind.NEW, StartOptions(), "me"), NOW)
        assert again.id == started.id + 1


def test_what_was_true_only_then_does_not_come_back(home: Path, store: PostgresStore) -> None:
    """As with SQLite. A token stays revoked if it is revoked in the store, or in the file that is left in the home. The
    number of the lease does not fall."""
    with written(file_of(home)) as connection:
        _, one = tokens.issue(connection, TokenWish("one", Role.ADMIN), "me", NOW)
        _, two = tokens.issue(connection, TokenWish("two", Role.ADMIN), "me", NOW)
        waiting = intents.add(connection, StartWish("r", "shop", 1, StartKind.NEW, StartOptions(), "me"), NOW)
    file = copied(file_of(home), home)
    with written(file_of(home)) as connection:
        tokens.revoke(connection, next(each.id for each in tokens.listing(connection) if each.name == "one"), NOW)
    assert given(file, home, store).begun.revoked == 1
    with written(store) as connection:
        tokens.revoke(connection, next(each.id for each in tokens.listing(connection) if each.name == "two"), NOW)
        connection.execute(update(LEASE).values(number=41))

    done = given(file, home, store, replaces=True)

    assert (done.begun.definitions, done.begun.dropped, done.begun.revoked) == (2, 1, 2)
    with written(store) as connection:
        assert [tokens.verified(connection, text, NOW) for text in (one, two)] == [None, None]
        assert [each.name for each in tokens.listing(connection) if each.valid(NOW)] == ["kept"]
        assert intents.found(connection, waiting.id).state is IntentState.DROPPED
        assert lease.found(connection).number == 41
        assert lease.taken(connection, "h", "http://new", 30) == 42


def test_rows_of_a_server_are_replaced_only_if_asked(home: Path, store: PostgresStore) -> None:
    """A store that was only bound to its home has none."""
    file = copied(file_of(home), home)
    opened_store(store, HomeIdentity.of(home), lambda: NOW).close()
    given(file, home, store)
    before = rows_in(store)
    with written(file_of(home)) as connection:
        definitions.create(connection, "new", TEXT, "me", "", NOW)
    newer = copied(file_of(home), home, "newer")
    with pytest.raises(BackupError, match=r"has rows of a server \(table") as refused:
        given(newer, home, store)
    assert "--replace" in refused.value.remedy and rows_in(store) == before
    assert given(newer, home, store, replaces=True).begun.definitions == 3
    assert [row[4:6] for row in rows_in(store)["audit"]][-1] == ("server.restore", "newer")


def test_a_store_of_another_home_is_never_replaced(home: Path, store: PostgresStore, tmp_path: Path) -> None:
    """A backup of another home serves this one."""
    other = HomeIdentity.of(tmp_path / "other")
    opened_store(store, other, lambda: NOW).close()
    before = rows_in(store)
    file = copied(file_of(home), home)
    with pytest.raises(SeaTunnelError, match="another home"):
        given(file, home, store, replaces=True)
    assert rows_in(store) == before
    given(file, tmp_path / "other", store)
    with written(store) as connection:
        assert settings.value(connection, HOME_ID) == other.id


def test_a_server_that_leads_is_not_replaced(home: Path, store: PostgresStore) -> None:
    """It may be on a machine whose locks are not seen here."""
    file = copied(file_of(home), home)
    with written(store) as connection:
        assert lease.taken(connection, "h", "http://far:1", 30) == 1
    with pytest.raises(BackupError, match="the server at http://far:1 leads") as refused:
        given(file, home, store, replaces=True)
    assert "lease ends in 30 s" in refused.value.remedy
    with written(store) as connection:
        lease.given_back(connection, 1)
    assert given(file, home, store).begun.definitions == 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ("IF NEW.id = 'bank' THEN RETURN NULL; END IF;", "2 rows were written, and 1 are there"),
        ("NEW.created_by := 'you';", "a value of its 2 rows has changed"),
        ("IF NEW.id = 'bank' THEN RAISE 'no room'; END IF;", "no room"),
    ],
    ids=["a row is missing", "a value is changed", "a row is refused"],
)
def test_o33_a_copy_that_is_not_exact_changes_nothing(
    home: Path, store: PostgresStore, changes: str, told: str
) -> None:
    """A trigger loses, changes or refuses a row. Rows and numbers of the store are those before."""
    file = copied(file_of(home), home)
    with written(store) as connection:
        for _ in range(9):
            audit.record(connection, Act("me", "before"), NOW)
    with connected(store) as beside:
        body = f"BEGIN {changes} RETURN NEW; END"
        beside.execute(f"CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")  # type: ignore[call-overload]
        beside.execute("CREATE TRIGGER meddle BEFORE INSERT ON definition FOR EACH ROW EXECUTE FUNCTION meddle()")
    before = rows_in(store)
    with pytest.raises(BackupError, match=told):
        given(file, home, store, replaces=True)
    assert rows_in(store) == before and sorted(one.name for one in database_file(home).parent.iterdir()) == [
        "home.id",
        "server.db",
    ]
    with written(store) as connection:
        audit.record(connection, Act("me", "after"), NOW)
        assert audit.rows(connection)[0].id == 10


def test_o33_a_value_that_postgresql_keeps_otherwise_is_refused(home: Path, store: PostgresStore) -> None:
    """SQLite keeps any value in any column. A new schema is not left behind."""
    with closing(sqlite3.connect(database_file(home))) as connection:
        connection.execute("UPDATE definition SET revision = 1.5 WHERE id = 'shop'")
        connection.commit()
    with pytest.raises(BackupError, match="bigint"):
        given(copied(file_of(home), home), home, store)
    assert tables_there(store) == 0


def test_a_backup_of_a_store_has_one_moment(store: PostgresStore, tmp_path: Path) -> None:
    """Each act has its row in the audit, also while servers write."""
    ends = threading.Event()

    def write() -> None:
        with closing(Database.open(store, lambda: NOW)) as database:
            for number in count(1):
                if ends.is_set():
                    return
                with database.acting(Act("me", "definition.create", f"d{number}")) as act:
                    definitions.create(act.connection, f"d{number}", TEXT, "me", "", NOW)

    Database.open(store, lambda: NOW).close()
    thread = threading.Thread(target=write)
    thread.start()
    sizes = []
    try:
        for number in range(6):
            found = rows_of_backup(copied(store, tmp_path, f"b{number}"))
            assert {row[0] for row in found["definition"]} == {row[5] for row in found["audit"]}
            assert len(found["revision"]) == len(found["definition"])
            sizes.append(len(found["definition"]))
    finally:
        ends.set()
        thread.join()
    assert sizes == sorted(sizes) and sizes[-1] > sizes[0], "nothing was written meanwhile"
    assert sorted(one.name for one in tmp_path.iterdir()) == [f"b{number}" for number in range(6)]


def test_o32_a_store_of_each_older_release_is_copied_as_it_is(
    store_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup before an upgrade changes nothing. It is given back with the tables of this release."""
    for version in (1, 5, len(migrations.MIGRATIONS) - 1):
        store, home = store_on(store_server), tmp_path / str(version)
        engine = store.engine(1)
        with monkeypatch.context() as older, engine.begin() as connection:
            older.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
            store.begin_migration(connection)
            migrations.migrate(connection, NOW, store.shown)
            definitions.create(connection, "shop", TEXT, "me", "", NOW)
        home.mkdir()
        file = copied(store, home)
        with engine.begin() as connection:
            assert migrations.version_of(connection) == version
        engine.dispose()
        done = given(file, home, file_of(home))
        assert (done.facts.schema, done.begun.definitions) == (version, 1)
        assert given(file, home, store, replaces=True).begun.definitions == 1


def test_a_store_without_tables_or_of_a_newer_release_is_not_copied(home: Path, store: PostgresStore) -> None:
    with pytest.raises(BackupError, match="there is no database postgresql://"):
        copied(store, home)
    file = copied(file_of(home), home)
    with written(store) as connection:
        connection.execute(insert(SCHEMA_VERSION).values(version=99, at=NOW))
    with pytest.raises(NewerDatabaseError, match="version 99"):
        copied(store, home, "c")
    with pytest.raises(NewerDatabaseError, match="version 99"):
        given(file, home, store, replaces=True)
    assert not (home / "c").exists()


def test_a_store_that_is_away_is_named(home: Path) -> None:
    store, file = PostgresStore(make_url("postgresql://me@127.0.0.1:1/db")), copied(file_of(home), home)
    for act in (lambda: copied(store, home, "c"), lambda: given(file, home, store)):
        with pytest.raises(BackupError, match="cannot (copy|give)") as refused:
            act()
        assert "look whether PostgreSQL runs" in refused.value.remedy
