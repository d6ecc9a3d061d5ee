"""The server's database in a real PostgreSQL: it is what it is in SQLite, and its faults name a way out."""

from __future__ import annotations

import re
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import inspect, make_url

from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.presence.home_identity import HomeIdentity
from seatunnel_py.control.server_process import opened_store
from seatunnel_py.control.settings.store_settings import store_of
from seatunnel_py.control.store import audit, definitions, migrations, series, tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database, StoreUnreadableError, StoreUnwritableError
from seatunnel_py.control.store.migrations import NewerDatabaseError
from seatunnel_py.control.store.outbox import outbox_events
from seatunnel_py.control.store.outbox.outbox_events import OutboxEvent
from seatunnel_py.control.store.places import postgres_store
from seatunnel_py.control.store.places.postgres_store import PostgresStore
from seatunnel_py.control.store.series import RowSample
from seatunnel_py.control.store.tables import METADATA
from seatunnel_py.control.store.tokens import Role, TokenWish
from seatunnel_py.errors import JobFileError, SeaTunnelError
from tests.control.notify.settings_files import hook, settings_of
from tests.control.several.stores import connected, store_on
from tests.control.world import Server, World
from tests.servers.postgres import PostgresServer

NOW = 1_800_000_000.0
TEXT = DefinitionText.of("source { FakeSource { row.num = 1 } }\nsink { Console {} }", "shop")


def opened(store: PostgresStore) -> Database:
    return Database.open(store, lambda: NOW)


def test_migrations_make_the_tables_that_queries_use(store: PostgresStore) -> None:
    with closing(opened(store)) as database, database.reading() as connection:
        found = inspect(connection)
        names = found.get_table_names(store.schema)
        columns = {name: {one["name"] for one in found.get_columns(name, store.schema)} for name in names}
    assert columns == {table.name: {column.name for column in table.columns} for table in METADATA.sorted_tables}


def test_o32_a_database_of_each_older_release_is_migrated(
    store_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that it holds."""
    for version in range(1, len(migrations.MIGRATIONS)):
        store = store_on(store_server)
        engine = store.engine(1)
        with monkeypatch.context() as older:
            older.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
            with engine.begin() as connection:
                store.begin_migration(connection)
                migrations.migrate(connection, NOW, store.shown)
                made, text = tokens.issue(connection, TokenWish("kept", Role.ADMIN), "test", NOW)
        engine.dispose()
        with closing(opened(store)) as database, database.reading() as connection:
            assert migrations.version_of(connection) == len(migrations.MIGRATIONS)
            assert tokens.verified(connection, text, NOW) == made


def test_o32_a_newer_database_is_refused_and_a_migration_is_made_whole_or_not(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(store).close()
    broken = ("CREATE TABLE later (a INTEGER)", "ALTER TABLE nowhere ADD COLUMN b INTEGER")
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, broken))
        with pytest.raises(StoreUnreadableError, match="nowhere"):
            opened(store)
    with connected(store) as beside:
        assert beside.execute("SELECT to_regclass('later'), max(version) FROM schema_version").fetchone() == (
            None, len(migrations.MIGRATIONS),
        )  # fmt: skip
        beside.execute("INSERT INTO schema_version VALUES (99, 0)")
    with pytest.raises(NewerDatabaseError, match="version 99"):
        opened(store)


def test_servers_that_begin_at_once_make_one_database(store: PostgresStore) -> None:
    found: list[Database | Exception] = []

    def begin() -> None:
        try:
            found.append(opened(store))
        except SeaTunnelError as error:
            found.append(error)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [type(one) for one in found] == [Database] * 4, found
    for one in found:
        assert isinstance(one, Database)
        one.close()


def test_writes_of_several_servers_follow_one_another(store: PostgresStore) -> None:
    """Each reads what is there, and writes what follows from it: of two that add the same name one is refused."""
    servers = [opened(store) for _ in range(3)]
    refused: list[str] = []

    def write(database: Database) -> None:
        for number in range(20):
            try:
                with database.acting(Act("me", "token.create", str(number))) as act:
                    tokens.issue(act.connection, TokenWish(f"token-{number}", Role.READ), "me", NOW)
            except SeaTunnelError as error:
                refused.append(error.message)

    threads = [threading.Thread(target=write, args=(one,)) for one in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with servers[0].reading() as connection:
        names = [one.name for one in tokens.listing(connection)]
        results = [row.act.result for row in audit.rows(connection, limit=100)]
    assert sorted(names) == sorted(f"token-{number}" for number in range(20))
    assert len(refused) == 40 and results.count("done") == 20 and len(results) == 60
    for one in servers:
        one.close()


def test_rows_are_kept_as_in_sqlite(store: PostgresStore, tmp_path: Path) -> None:
    """The same rows come back in the same order: large numbers, texts with NUL, letters of other scripts, repeats."""
    found = []
    for database in (Database.open(tmp_path / "server" / "server.db", lambda: NOW), opened(store)):
        with closing(database):
            event = OutboxEvent("one", "run.failed", "r", "shop", "job", NOW, {"cause": "a"})
            with database.writing() as connection:
                for id in ("Shop_b", "shop-a", "shop.c", "Zoo"):
                    definitions.create(connection, id, TEXT, "me", "", NOW)
                samples = [RowSample("r", NOW, 5_000_000_000, 3), RowSample("r", NOW, 1, 1)]
                series.keep(connection, samples, NOW)
                series.keep(connection, samples, NOW)
                added = [outbox_events.add(connection, event, ["x", "y"], NOW) for _ in range(2)]
                audit.record(connection, Act("me", "act", "Größe \N{SNOWMAN}", result="no"), NOW)
            with database.reading() as connection:
                listed = [one.id for one in definitions.listing(connection)]
                after = [one.id for one in definitions.listing(connection, after="Zoo", text="SHOP")]
                rows = [row.act.object for row in audit.rows(connection)]
                newest = series.newest(connection, "r")
            found.append((listed, after, rows, newest, added))
    assert found[0] == found[1]
    assert found[1][3:] == (RowSample("r", NOW, 5_000_000_000, 3), [True, False])


def test_a_message_with_a_nul_is_kept(store: PostgresStore) -> None:
    """PostgreSQL has no text with one; the end of a run must be noted nevertheless."""
    with closing(opened(store)) as database:
        with database.writing() as connection:
            audit.record(connection, Act("me", "run.ended", result="at \0 end"), NOW)
        with database.reading() as connection:
            assert [row.act.result for row in audit.rows(connection)] == ["at \N{SYMBOL FOR NULL} end"]


def test_a_run_is_started_restored_and_reported(store: PostgresStore, tmp_path: Path) -> None:
    """The supervisor, schedules and notices over PostgreSQL, as over SQLite."""
    told = []
    for place in (None, store):
        folder = tmp_path / ("sqlite" if place is None else "postgres")
        folder.mkdir()
        world = World(folder / "world", store=place)
        server = Server(world, None, settings_of(folder, hook("all", 1, 'events = ["*"]')))
        server.define()
        server.schedule(cron="*/5 * * * *", zone="UTC")
        run = server.start(key="k", priority=3)
        assert server.start(key="k", priority=3) == run
        server.go(10)
        world.kill(run)
        server.go(30)
        world.end(run, "FAILED")
        server.go(400)
        kinds = sorted(event.kind for event in server.reported())
        acts = [row.act.result for row in _audit(server)]
        told.append((kinds, acts, server.outcomes(), server.wish().failures, len(world.spawned)))
        server.database.close()
    assert told[0] == told[1]
    assert told[1][4] >= 3


def _audit(server: Server) -> list[audit.AuditRow]:
    with server.database.reading() as connection:
        return list(audit.rows(connection, limit=1_000))


def test_a_store_that_is_away_names_the_way_out(store: PostgresStore, tmp_path: Path) -> None:
    with PostgresServer.running() as server:
        away = store_on(server)
        database = opened(away)
        with closing(database):
            with database.reading() as connection:
                assert tokens.listing(connection) == []
            server.stop()
            with pytest.raises(StoreUnreadableError, match="cannot read postgresql://"), database.reading() as at:
                tokens.listing(at)
            with pytest.raises(StoreUnwritableError, match="cannot write postgresql://"), database.writing():
                pass
            with pytest.raises(StoreUnreadableError) as refused:
                opened(away)
            assert "server.conf" in refused.value.remedy
            assert database.fault() != ""
            server.start()
            with database.writing() as connection:
                tokens.issue(connection, TokenWish("back", Role.READ), "me", NOW)
            assert database.fault() == ""


def test_without_its_library_the_store_names_the_extra(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_store, "find_spec", lambda name: None)
    with pytest.raises(SeaTunnelError, match="psycopg, which is not installed") as refused:
        opened(store)
    assert "seatunnel-py[server,postgres]" in refused.value.remedy


def test_no_message_has_the_password() -> None:
    url = make_url("postgresql://me:hunter22@127.0.0.1:1/db?sslmode=disable")
    store = PostgresStore(url)
    with pytest.raises(StoreUnreadableError) as refused:
        opened(store)
    assert "hunter22" not in f"{refused.value}{refused.value.remedy}{store!r}{store.shown}"


def test_a_store_serves_one_home(store: PostgresStore, tmp_path: Path) -> None:
    """Its rows name runs of that home: another one would take them for deleted."""
    one, two = HomeIdentity.of(tmp_path / "one"), HomeIdentity.of(tmp_path / "two")
    opened_store(store, one, time.time).close()
    opened_store(store, HomeIdentity.of(tmp_path / "one"), time.time).close()
    with pytest.raises(SeaTunnelError, match="another home") as refused:
        opened_store(store, two, time.time)
    assert one.id in refused.value.remedy
    (tmp_path / "two" / "server" / "home.id").write_text(one.id)
    opened_store(store, HomeIdentity.of(tmp_path / "two"), time.time).close()


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('url = "mysql://h/db"', "a database of PostgreSQL"),
        ('url = "postgresql://h:x/db"', "cannot be read"),
        ('url = "postgresql://h"', "a database of PostgreSQL"),
        ('url = "postgresql://me:hunter22@h/db"', "a secret is written"),
        ('url = "postgresql://h/db", password = hunter22', "a secret is written"),
        ('url = "postgresql://h/db", schema = "a b"', "cannot name a schema"),
        ('url = "postgresql://h/db", lease-seconds = 1', "lease-seconds"),
        ('url = "postgresql://h/db", password = "${env:NO}"', "'NO' is not set"),
        ("", "url"),
        ('url = "postgresql://h/db", user = me', "user"),
    ],
)
def test_a_wrong_store_is_refused_with_its_place(tmp_path: Path, text: str, mistake: str) -> None:
    (tmp_path / "server.conf").write_text(f"store {{ {text} }}")
    with pytest.raises(JobFileError) as refused:
        store_of(tmp_path, {})
    assert mistake in str(refused.value) and "server.conf" in str(refused.value)
    assert "hunter22" not in str(refused.value)


def test_the_store_of_a_home_is_read_from_its_own_settings(tmp_path: Path) -> None:
    own = tmp_path / "server.conf"
    assert store_of(tmp_path, {}).kind == "sqlite"
    own.write_text("egress { mode = any }")
    assert store_of(tmp_path, {}).kind == "sqlite"
    own.write_text('store { url = "postgresql://me@h:5433/db", password = "${env:PW}", lease-seconds = 9 }')
    found = store_of(tmp_path, {"PW": "hunter22"}, own)
    assert isinstance(found, PostgresStore)
    assert (found.url.password, found.schema, found.lease_seconds) == ("hunter22", "seatunnel", 9.0)
    assert found.shown == "postgresql://h:5433/db (schema seatunnel)"
    other = tmp_path / "other.conf"
    other.write_text('store { url = "postgresql://h/db" }')
    with pytest.raises(JobFileError, match=r"another settings file"):
        store_of(tmp_path, {}, other)


def test_the_store_of_the_page_is_read(tmp_path: Path) -> None:
    """A reader copies it, and it works."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "several-servers.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```hocon\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "server.conf").write_text(block)
    (tmp_path / "store.password").write_text("hunter22\n")
    found = store_of(tmp_path, {})
    assert isinstance(found, PostgresStore) and found.url.password == "hunter22"
    assert found.url.query["sslmode"] == "verify-full" and f"| `{found.lease_seconds:g}` |" in page


def test_a_server_that_is_too_old_is_refused(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_store, "VERSION_MIN", 99)
    with pytest.raises(SeaTunnelError, match="needs 99 or newer"):
        opened(replace(store))
