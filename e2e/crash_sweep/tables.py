"""Tables of PostgreSQL, MariaDB and SQLite as targets; PostgreSQL as a source too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from e2e.crash_sweep.judge import Glance, Row, Seen
from e2e.crash_sweep.place import Place

_COLUMNS = "id bigint NOT NULL, source varchar(20) NOT NULL, split int NOT NULL, seq int NOT NULL"
_ROWS = "SELECT source, split, seq FROM big WHERE source <> 'before'"
_GLANCE = "SELECT source, split, count(*), max(seq) FROM big WHERE source <> 'before' GROUP BY source, split"
ONCE = ("direct", "staged", "prepared")
_ADDS = ", data_save_mode = APPEND_DATA"  # beside the row that is there


def _once(wanted: bool) -> str:
    return ", is_exactly_once = true, exactly_once_recipe = staged" if wanted else ""


def _glance(found: Iterable[Any]) -> Glance:
    return Glance({(source, split): (rows, last) for source, split, rows, last in found})


@dataclass(frozen=True, slots=True)
class PostgresSource:
    """A table in the case's database, divided by its key into the splits that its rows are of. ``large``: it says that
    it holds so many rows that a new target is filled beside its place."""

    large: bool = False
    server = "postgres"

    def prepare(self, place: Place, rows: Sequence[Row]) -> None:
        _create_postgres(place, f"{place.name}_in")
        with place.on_postgres(f"{place.name}_in") as connection:
            connection.execute(f"CREATE TABLE big ({_COLUMNS}, PRIMARY KEY (id))")
            with connection.cursor().copy("COPY big FROM STDIN") as copy:
                for number, row in enumerate(rows):
                    copy.write_row((number, *row))
            connection.execute("ANALYZE big")
            if self.large:
                connection.execute("UPDATE pg_class SET reltuples = 600000 WHERE relname = 'big'")

    def text(self, place: Place) -> str:
        database = f"{place.name}_in"
        return f"""Jdbc {{ url = "{place.postgres.jdbc_url(database)}", driver = "org.postgresql.Driver",
            username = postgres, plugin_output = read, table_path = "{database}.public.big", partition_num = 24 }}"""


def _create_postgres(place: Place, database: str) -> None:
    with place.on_postgres("postgres") as connection:
        connection.execute(f'CREATE DATABASE "{database}"')


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """``fresh`` and ``shadow``: the job makes the table; otherwise it is there, with a row and a number for each arrival.
    ``upsert``: with a key; ``direct``, ``staged`` and ``prepared``: exactly once by that recipe."""

    how: str
    recipe = "postgres"
    server = "postgres"

    @property
    def ordered(self) -> bool:
        return not self._made  # a table that is made anew has nothing to tell the order by

    @property
    def _made(self) -> bool:
        return self.how in ("fresh", "shadow")

    @property
    def seen(self) -> Seen:
        return Seen.ALL if self.how == "shadow" else Seen.PREFIX

    def prepare(self, place: Place) -> None:
        _create_postgres(place, place.name)
        if self._made:
            return
        key = ", PRIMARY KEY (id)" if self.how == "upsert" else ""
        with place.on_postgres() as connection:
            connection.execute(f"CREATE TABLE big ({_COLUMNS}, arrived bigserial{key})")
            connection.execute("INSERT INTO big VALUES (-1, 'before', 0, 0)")

    def text(self, place: Place) -> str:
        key = ', primary_keys = ["id"]' if self.how == "upsert" else ""
        if self.how in ONCE:
            key = f", is_exactly_once = true, exactly_once_recipe = {self.how}"
        adds = "" if self._made else _ADDS
        return f"""Jdbc {{ url = "{place.postgres.jdbc_url(place.name)}", driver = "org.postgresql.Driver",
            username = postgres, database = {place.name}, table = "public.big", generate_sink_sql = true,
            plugin_input = {place.read}{key}{adds} }}"""

    def rows(self, place: Place) -> Sequence[Row]:
        order = " ORDER BY arrived" if self.ordered else ""
        return self._select(place, f"{_ROWS}{order}")

    def glance(self, place: Place) -> Glance:
        return _glance(self._select(place, _GLANCE))

    def _select(self, place: Place, query: str) -> list[Any]:
        """Nothing where the job has not made the table yet."""
        with place.on_postgres() as connection:
            there = connection.execute("SELECT to_regclass('public.big') IS NOT NULL").fetchone()
            return connection.execute(query).fetchall() if there and there[0] else []

    def left_behind(self, place: Place) -> Sequence[str]:
        queries = {
            "table": "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
            "AND relname NOT IN ('big', 'seatunnel_ledger', 'seatunnel_piece')",
            "piece row": "SELECT data_id FROM seatunnel_piece",
            "prepared transaction": "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()",
            "open transaction": "SELECT pid || ' ' || query FROM pg_stat_activity WHERE xact_start IS NOT NULL "
            "AND datname = current_database() AND pid <> pg_backend_pid()",
            "unfinished ledger": "SELECT lineage FROM seatunnel_ledger WHERE last_checkpoint IS NULL",
        }
        with place.on_postgres() as connection:
            return [f"{what} {row[0]}" for what, query in queries.items() for row in connection.execute(query)]


@dataclass(frozen=True, slots=True)
class MariadbTable:
    """A table that is there, with a row and a number for each arrival; ``once``: exactly once, staged; ``shadow``: it is
    emptied, by another one that takes its place."""

    once: bool = False
    shadow: bool = False
    server = "mariadb"
    ordered = True

    @property
    def recipe(self) -> str:
        return "mysql" if self.shadow else "statements"

    @property
    def seen(self) -> Seen:
        return Seen.ALL if self.shadow else Seen.PREFIX

    def prepare(self, place: Place) -> None:
        with closing(place.on_mariadb("")) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE `{place.name}`")
        self._run(place, f"CREATE TABLE big ({_COLUMNS}, arrived bigint AUTO_INCREMENT UNIQUE)")
        self._run(place, "INSERT INTO big (id, source, split, seq) VALUES (-1, 'before', 0, 0)")

    def text(self, place: Place) -> str:
        swaps = "data_save_mode = DROP_DATA, is_exactly_once = true, exactly_once_recipe = shadow"
        how = f", {swaps}" if self.shadow else f"{_once(self.once)}{_ADDS}"
        return f"""Jdbc {{ url = "{place.mariadb.jdbc_url(place.name)}", driver = "com.mysql.cj.jdbc.Driver",
            username = root, password = "", database = {place.name}, table = big, generate_sink_sql = true,
            plugin_input = {place.read}{how} }}"""

    def _run(self, place: Place, query: str) -> list[Any]:
        with closing(place.on_mariadb()) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def rows(self, place: Place) -> Sequence[Row]:
        return self._run(place, f"{_ROWS} ORDER BY arrived")

    def glance(self, place: Place) -> Glance:
        return _glance(self._run(place, _GLANCE))

    def left_behind(self, place: Place) -> Sequence[str]:
        tables = self._run(place, "SHOW TABLES")
        known = {"big", "seatunnel_ledger", "seatunnel_piece"}
        return [
            *(f"table {name}" for (name,) in tables if name not in known),
            *(f"piece row {name}" for (name,) in self._run(place, "SELECT data_id FROM seatunnel_piece")),
            *(
                f"open transaction {name}"
                for (name,) in self._run(place, "SELECT trx_id FROM information_schema.innodb_trx")
            ),
        ]


@dataclass(frozen=True, slots=True)
class SqliteTable:
    """A table that is there; a row's number says when it came. ``once``: exactly once, staged."""

    once: bool = False
    recipe = "statements"
    server = ""
    ordered = True
    seen = Seen.PREFIX

    def prepare(self, place: Place) -> None:
        with closing(self._connect(place)) as connection:
            connection.execute(f"CREATE TABLE big ({_COLUMNS})")
            connection.execute("INSERT INTO big VALUES (-1, 'before', 0, 0)")

    def _connect(self, place: Place) -> sqlite3.Connection:
        return sqlite3.connect(place.home / "target.db", isolation_level=None, timeout=10)

    def text(self, place: Place) -> str:
        return f"""Jdbc {{ url = "jdbc:sqlite:{place.home}/target.db", driver = "org.sqlite.JDBC",
            database = main, table = big, generate_sink_sql = true,
            plugin_input = {place.read}{_once(self.once)}{_ADDS} }}"""

    def rows(self, place: Place) -> Sequence[Row]:
        with closing(self._connect(place)) as connection:
            return connection.execute(f"{_ROWS} ORDER BY rowid").fetchall()

    def glance(self, place: Place) -> Glance:
        with closing(self._connect(place)) as connection:
            return _glance(connection.execute(_GLANCE).fetchall())

    def left_behind(self, place: Place) -> Sequence[str]:
        with closing(self._connect(place)) as connection:
            pieces = connection.execute("SELECT data_id FROM seatunnel_piece").fetchall()
        journals = place.home.glob("target.db-*")
        return [*(f"piece row {name}" for (name,) in pieces), *(path.name for path in journals)]
