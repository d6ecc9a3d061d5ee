"""MariaDB and SQLite as databases of values."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from tests.round_trips.databases import Database, Texts, entries
from tests.round_trips.kinds import Kind
from tests.round_trips.mariadb_kinds import KINDS as MARIADB_KINDS
from tests.round_trips.sqlite_kinds import KINDS as SQLITE_KINDS
from tests.servers.mariadb import MariadbServer


@dataclass
class Mariadb(Database):
    """Database ``a`` to read from, ``b`` to come back to. Values are compared as bytes of their text."""

    server: MariadbServer
    kinds = MARIADB_KINDS

    def __post_init__(self) -> None:
        self.db = pymysql.connect(**self.server.connection(), autocommit=True, charset="utf8mb4")
        self.run("SET time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")

    def close(self) -> None:
        self.db.close()

    def reset(self) -> None:
        for name in ("a", "b"):
            self.run(f"DROP DATABASE IF EXISTS {name}")
            self.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")

    def fill(self, table: str, kind: Kind, values: Sequence[str | None]) -> Texts:
        self.run(f"CREATE TABLE a.{table} (id bigint PRIMARY KEY, v {kind.words})")
        self.insert(table, kind, list(enumerate(values)))
        return self.texts_in("a", table)

    def insert(self, table: str, kind: Kind, rows: Sequence[tuple[int, str | None]]) -> None:
        """Insert rows where jobs read; values that are none of the type are left out."""
        strict = "" if kind.words.startswith(("date", "time")) and not kind.edges else "STRICT_TRANS_TABLES"
        self.run(f"SET sql_mode = '{strict}'")
        taken = [(at, _value(value, kind)) for at, value in rows]
        insert = f"INSERT INTO a.{table} VALUES (%s, %s)"
        self.db.begin()
        try:
            with self.db.cursor() as cursor:
                cursor.executemany(insert, taken)
        except pymysql.Error:  # one of them is no value of the type
            self.db.rollback()
            self.db.begin()
            for row in taken:
                with suppress(pymysql.Error):
                    self.run(insert, *row)
        self.db.commit()

    def like(self, table: str, kind: Kind) -> None:
        self.run(f"CREATE TABLE b.{table} (id bigint PRIMARY KEY, v {kind.words})")

    def texts(self, table: str) -> Texts:
        return self.texts_in("b", table)

    def texts_in(self, database: str, table: str) -> Texts:
        """The rows of a table in one of the databases."""
        with self.db.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
                (database, table),
            )
            if cursor.fetchone() == (0,):
                return {}
            cursor.execute(
                "SELECT column_type FROM information_schema.columns "
                "WHERE table_schema = %s AND table_name = %s AND column_name = 'v'",
                (database, table),
            )
            [kind] = cursor.fetchone() or ("",)
            cursor.execute(f"SELECT id, HEX({_compared(kind)}) FROM {database}.{table}")
            return {row: value if value is None else _shown(value) for row, value in cursor.fetchall()}

    def run(self, sql: str, *values: Any) -> None:
        """Run a statement."""
        with self.db.cursor() as cursor:
            cursor.execute(sql, values or None)

    def connection(self, database: str) -> dict[str, Any]:
        """Options of a job file."""
        return {"url": f"jdbc:mysql://127.0.0.1:{self.server.port}/{database}?useSSL=false", "user": "root"}

    def source(self, tables: Sequence[str]) -> str:
        return self._source("a", tables)

    def source_of_returned(self, tables: Sequence[str]) -> str:
        return self._source("b", tables)

    def _source(self, database: str, tables: Sequence[str]) -> str:
        listed = [{"table_path": f"{database}.{table}"} for table in tables]
        return f"Jdbc {{ {entries({**self.connection(database), 'table_list': listed})} }}"

    def sink(self) -> str:
        options = {**self.connection("b"), "generate_sink_sql": True, "database": "b"}
        return f'Jdbc {{ {entries(options)}, table = "${{table_name}}" }}'


def _compared(kind: str) -> str:
    """The value column as it is compared: a number without the zeros that a column only shows and with all digits that
    a FLOAT has beside the six that are shown, all else by bytes."""
    if kind.startswith(("tinyint", "smallint", "mediumint", "int", "bigint")) or "zerofill" in kind or kind == "bit(1)":
        return "CAST(v + 0 AS CHAR)"
    if kind.startswith(("char", "varchar", "enum", "set")) or "text" in kind:
        return "CAST(CONVERT(v USING utf8mb4) AS BINARY)"  # the text, in whatever character set
    return "CAST(CAST(v AS DOUBLE) AS CHAR)" if kind.startswith(("float", "double")) else "CAST(v AS BINARY)"


def _value(text: str | None, kind: Kind) -> Any:
    if text is None:
        return None
    if text.startswith("x:"):
        return bytes.fromhex(text[2:])
    return int(text) if kind.words.startswith("bit") else text


def _shown(hexadecimal: str) -> str:
    """The bytes as text where they are some."""
    raw = bytes.fromhex(hexadecimal)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "x:" + hexadecimal


def _trimmed(text: str | None) -> str | None:
    """A moment without the zeros of its fraction: it has many spellings, and none is SQLite's own."""
    if text is None or not text.startswith("text"):
        return text
    text = re.sub(r"(:\d\d\.\d*?)0+\b", r"\1", text)
    return re.sub(r"(:\d\d)\.(?!\d)", r"\1", text)


@dataclass
class Sqlite(Database):
    """A file to read from and one to come back to."""

    folder: Path
    kinds = SQLITE_KINDS

    def __post_init__(self) -> None:
        self.reset()

    def close(self) -> None:
        for db in (self.first, self.second):
            db.close()

    def reset(self) -> None:
        if hasattr(self, "first"):
            self.close()
        for name in ("a", "b"):
            for ending in ("", "-wal", "-shm"):
                (self.folder / f"{name}.db{ending}").unlink(missing_ok=True)
        self.first = sqlite3.connect(self.folder / "a.db", isolation_level=None)
        self.second = sqlite3.connect(self.folder / "b.db", isolation_level=None)

    def fill(self, table: str, kind: Kind, values: Sequence[str | None]) -> Texts:
        self.first.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, v {kind.words})")
        self.first.execute("BEGIN")
        for at, value in enumerate(values):
            self.first.execute(f"INSERT INTO {table} VALUES (?, {value or 'NULL'})", [at])
        self.first.execute("COMMIT")
        return self._texts(self.first, table)

    def like(self, table: str, kind: Kind) -> None:
        self.second.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, v {kind.words})")

    def texts(self, table: str) -> Texts:
        return self._texts(self.second, table)

    @staticmethod
    def _texts(db: sqlite3.Connection, table: str) -> Texts:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone():
            return {}
        rows = db.execute(
            f"SELECT id, CASE WHEN v IS NULL THEN NULL ELSE typeof(v) || ' ' || quote(v) END FROM {table}"
        )
        declared = db.execute("SELECT type FROM pragma_table_info(?) WHERE name = 'v'", [table]).fetchone()[0]
        found = dict(rows.fetchall())
        return {row: _trimmed(value) for row, value in found.items()} if declared.startswith("TIME") else found

    def _url(self, name: str) -> str:
        return f"jdbc:sqlite:{self.folder / name}.db"

    def source(self, tables: Sequence[str]) -> str:
        listed = [{"table_path": table} for table in tables]
        return f"Jdbc {{ {entries({'url': self._url('a'), 'table_list': listed})} }}"

    def source_of_returned(self, tables: Sequence[str]) -> str:
        return self.source(tables).replace(self._url("a"), self._url("b"))

    def sink(self) -> str:
        return f'Jdbc {{ {entries({"url": self._url("b"), "generate_sink_sql": True})}, table = "${{table_name}}" }}'
