"""The server's database: no act without a trace, no secret in it, and nothing lost by an upgrade."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, inspect

from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.store import audit, definitions, intents, migrations, tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.intents import StartKind, StartOptions, StartWish
from seatunnel_py.control.store.migrations import NewerDatabaseError
from seatunnel_py.control.store.tables import METADATA
from seatunnel_py.control.store.tokens import Role, TokenWish
from seatunnel_py.errors import JobFileError, SeaTunnelError

NOW = 1_800_000_000.0
SINK = "sink { Console {} }"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database.open(tmp_path / "server" / "server.db", lambda: NOW)


def job(option: str) -> str:
    return f'source {{ Jdbc {{ url = "jdbc:sqlite:x.db", {option} }} }}\n{SINK}'


@pytest.mark.parametrize(
    ("option", "column"),
    [
        ('password = "hunter22"', 43),
        ('properties { ssl.key.password = "hunter22" }', 56),
        ('address = "postgresql://me:hunter22@h/x"', 43),
        ('address = "jdbc:postgresql://h/x?password=hunter22"', 43),
        ('password = "${pw:hunter22}"', 43),
    ],
)
def test_a_definition_with_a_literal_secret_is_refused_with_its_place(option: str, column: int) -> None:
    with pytest.raises(JobFileError) as refused:
        DefinitionText.of(job(option), "shop")
    found = [problem for problem in refused.value.problems if "a secret is written" in problem.message]
    assert [(problem.line, problem.column) for problem in found] == [(1, column)]
    assert "hunter22" not in str(refused.value) and "${env:" in found[0].remedy


@pytest.mark.parametrize(
    "option",
    [
        "password = ${env:PW}", 'password = "${pw}"', "password = ${file:pw}", "user = me",
        'url = "postgresql://me:${pw}@h/x"', "password = null", 'table_path = "password"',
    ],
)  # fmt: skip
def test_a_definition_with_references_is_kept_as_written(database: Database, option: str) -> None:
    text = DefinitionText.of(job(option), "shop")
    with database.acting(Act("me", "definition.create")) as write:
        made = definitions.create(write.connection, "shop", text, "me", "first", NOW)
    with database.reading() as connection:
        assert definitions.found(connection, "shop").newest == made
    assert made.text == job(option) and made.number == 1 and made.digest == text.digest


def test_reading_a_definition_asks_nothing_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its environment nor its files: the text may come from the network."""
    monkeypatch.setenv("HOME_OF_TEST", "seen")
    text = DefinitionText.of(job('table_path = "${HOME_OF_TEST}"'), "shop")
    assert text.variables == {"HOME_OF_TEST"}
    (tmp_path / "other.conf").write_text("x = 1")
    with pytest.raises(JobFileError, match="include"):
        DefinitionText.of(f'include "{tmp_path}/other.conf"\n{job("user = me")}', "shop")


def test_a_change_that_was_made_to_an_older_revision_is_refused(database: Database) -> None:
    first, second = (DefinitionText.of(job(f"user = {name}"), "shop") for name in "ab")
    with database.writing() as connection:
        definitions.create(connection, "shop", first, "me", "", NOW)
        assert definitions.change(connection, "shop", second, "you", "better", NOW, expected=1).number == 2
    with pytest.raises(definitions.StaleRevisionError, match="revision 2 by you"), database.writing() as connection:
        definitions.change(connection, "shop", first, "me", "", NOW, expected=1)
    with database.writing() as connection:
        assert definitions.change(connection, "shop", second, "me", "", NOW).number == 2, "the same text"
        definitions.delete(connection, "shop", NOW)
        assert definitions.listing(connection) == [] and definitions.number(connection) == 0
        assert definitions.create(connection, "shop", first, "me", "", NOW).number == 3
        assert [one.number for one in definitions.revisions(connection, "shop")] == [3, 2, 1]


def test_a_refused_act_leaves_a_row_and_nothing_else(database: Database) -> None:
    text = DefinitionText.of(job("user = me"), "shop")
    for _ in range(2):
        try:
            with database.acting(Act("me", "definition.create", "shop", request="q")) as write:
                definitions.create(write.connection, "shop", text, "me", "", NOW)
        except SeaTunnelError:
            pass
    with database.reading() as connection:
        rows = audit.rows(connection)
    assert [row.act.result for row in rows] == ["refused: a definition 'shop' exists", "done"]


@given(st.binary(min_size=32, max_size=32), st.integers(0, 71), st.sampled_from("0123456789abcdef"))
def test_a_token_is_known_by_its_checksum(random: bytes, at: int, letter: str) -> None:
    text = tokens.token_text(random)
    place = len(tokens.PREFIX) + at
    other = text[:place] + letter + text[place + 1 :]
    assert tokens.is_token_text(text)
    assert tokens.is_token_text(other) == (other == text)


@pytest.mark.parametrize("text", ["", "stp_", "stp_" + "g" * 72, "stp_" + "é" * 72, "x" * 76, "stp_" + "0" * 73])
def test_another_text_is_no_token(text: str) -> None:
    assert not tokens.is_token_text(text)


def test_a_token_opens_until_it_expires_or_is_revoked(database: Database) -> None:
    """Its text is nowhere in the files of the database."""
    with database.writing() as connection:
        token, text = tokens.issue(connection, TokenWish("ci", Role.EDIT), "me", NOW)
        _, other = tokens.issue(connection, TokenWish("page", Role.READ, seconds=5), "me", NOW)
        with pytest.raises(SeaTunnelError, match="exists"):
            tokens.issue(connection, TokenWish("ci", Role.READ), "me", NOW)
    with database.writing() as connection:
        assert tokens.verified(connection, text, NOW + 89 * 86_400) == token
        assert tokens.verified(connection, text, NOW + 91 * 86_400) is None
        assert tokens.verified(connection, other, NOW + 6) is None
        tokens.used(connection, token, NOW + 1)
        assert (tokens.found(connection, token.id) or token).used_at == NOW + 1
        tokens.revoke(connection, token.id, NOW)
        assert tokens.verified(connection, text, NOW) is None
    database.close()
    stored = b"".join(file.read_bytes() for file in database.place.path.parent.iterdir())
    assert text.encode() not in stored and text[4:40].encode() not in stored and b"ci" in stored


@pytest.mark.parametrize("has", Role)
def test_a_role_has_the_rights_of_those_before_it(has: Role) -> None:
    assert [role.value for role in Role if has.allows(role)] == [
        "read", "operate", "edit", "admin",
    ][: list(Role).index(has) + 1]  # fmt: skip


def test_a_key_returns_its_intent_for_a_day(database: Database) -> None:
    def wish(body: str, run: str) -> StartWish:
        return StartWish(run, "shop", 1, StartKind.NEW, StartOptions(), "me", "key", body)

    with database.writing() as connection:
        first = intents.add(connection, wish("a", "r1"), NOW)
        assert intents.add(connection, wish("a", "r2"), NOW + 86_000) == first
        with pytest.raises(intents.IdempotencyKeyError):
            intents.add(connection, wish("b", "r3"), NOW)
        assert intents.add(connection, wish("b", "r4"), NOW + 86_401).run == "r4"


def test_migrations_make_the_tables_that_queries_use(database: Database) -> None:
    engine = create_engine(f"sqlite:///{database.place.path}")
    made = inspect(engine)
    columns = {name: {one["name"] for one in made.get_columns(name)} for name in made.get_table_names()}
    engine.dispose()
    assert columns == {table.name: {column.name for column in table.columns} for table in METADATA.sorted_tables}


def test_a_database_of_each_older_release_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O32: With all that it holds."""
    for version in range(1, len(migrations.MIGRATIONS)):
        path = tmp_path / str(version) / "server.db"
        with monkeypatch.context() as older:
            older.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
            before = Database.open(path, lambda: NOW)
            with before.writing() as connection:
                made, text = tokens.issue(connection, TokenWish("kept", Role.ADMIN), "test", NOW)
            before.close()
        now = Database.open(path, lambda: NOW)
        with now.reading() as connection:
            assert migrations.version_of(connection) == len(migrations.MIGRATIONS)
            assert tokens.verified(connection, text, NOW) == made
        now.close()


def test_a_database_of_a_newer_release_is_refused_and_stays(database: Database) -> None:
    """O32."""
    database.close()
    with sqlite3.connect(database.place.path) as connection:
        connection.execute("INSERT INTO schema_version VALUES (99, 0)")
    connection.close()
    with pytest.raises(NewerDatabaseError, match="version 99"):
        Database.open(database.place.path, lambda: NOW)
    with sqlite3.connect(database.place.path) as connection:
        assert connection.execute("SELECT max(version) FROM schema_version").fetchone() == (99,)
    connection.close()


def test_a_migration_that_fails_leaves_the_version_before(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its statements are one transaction."""
    database.close()
    broken = ("CREATE TABLE later (a INTEGER)", "ALTER TABLE nowhere ADD COLUMN b INTEGER")
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, broken))
    with pytest.raises(SeaTunnelError, match="nowhere"):
        Database.open(database.place.path, lambda: NOW)
    monkeypatch.undo()
    again = Database.open(database.place.path, lambda: NOW)
    with again.reading() as connection:
        assert migrations.version_of(connection) == len(migrations.MIGRATIONS)
        assert "later" not in inspect(connection).get_table_names()
    again.close()


def test_only_the_owner_reads_the_database(database: Database) -> None:
    """T14: The files beside it too, while they are there, for any umask."""
    with database.reading() as connection:
        connection.exec_driver_sql("SELECT 1")
        found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in database.place.path.parent.iterdir()}
    assert len(found) == 3 and set(found.values()) == {0o600}, found
    assert stat.S_IMODE(database.place.path.parent.stat().st_mode) == 0o700
