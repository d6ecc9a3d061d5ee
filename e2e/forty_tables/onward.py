"""What is true of a copy that is a source itself: MariaDB's and SQLite's tables, asked in their own catalogs."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql

from e2e.forty_tables.contents import in_mariadb, in_sqlite
from e2e.forty_tables.facts import Table, quoted

_MARIADB = {
    "tinyint": "bool", "double": "float8", "float": "float4", "datetime": "timestamp", "time": "time",
    "decimal": "decimal", "longblob": "bytea", "blob": "bytea", "varbinary": "bytea",
}  # fmt: skip
_SQLITE = {
    "BOOLEAN": "bool", "DOUBLE": "float8", "TIMESTAMP": "timestamp", "TIME": "time", "DECIMAL": "decimal",
    "DECIMAL_TEXT": "decimal", "BLOB": "bytea",
}  # fmt: skip
OURS = ("seatunnel_ledger", "seatunnel_piece")


def of_mariadb(db: pymysql.Connection[Any], database: str, without: str) -> dict[str, Table]:
    """All tables of the database but one."""
    with db.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = %s "
            "ORDER BY table_name, ordinal_position", [database],
        )  # fmt: skip
        types: dict[str, dict[str, str]] = {}
        for table, column, kind in cursor.fetchall():
            types.setdefault(table, {})[column] = _MARIADB.get(kind, "text")
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.statistics "
            "WHERE table_schema = %s AND index_name = 'PRIMARY' ORDER BY seq_in_index", [database],
        )  # fmt: skip
        keys: dict[str, list[str]] = {}
        for table, column in cursor.fetchall():
            keys.setdefault(table, []).append(column)
        cursor.execute(  # that a JSON column holds JSON is its type
            "SELECT table_name FROM information_schema.check_constraints WHERE constraint_schema = %s "
            "AND check_clause != CONCAT('json_valid(`', constraint_name, '`)')", [database],
        )  # fmt: skip
        checks = Counter(table for (table,) in cursor.fetchall())
        cursor.execute(
            "SELECT table_name FROM information_schema.columns WHERE table_schema = %s AND column_comment <> '' "
            "UNION ALL SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_comment <> ''",
            [database, database],
        )
        comments = Counter(table for (table,) in cursor.fetchall())
    return {
        (shown := f"{database}.{quoted(name)}"): Table(
            ("", name), shown, "", kinds, tuple(map(list(kinds).index, keys.get(name, ()))),
            in_mariadb(db, name, kinds), Counter({"check": checks[name]} if checks[name] else {}),
            comments[name],
        )
        for name, kinds in types.items() if name not in (*OURS, without)
    }  # fmt: skip


def of_sqlite(path: Path) -> dict[str, Table]:
    with closing(sqlite3.connect(path)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = {}
        for name in names:
            if name in OURS:
                continue
            columns = db.execute("SELECT name, type, pk FROM pragma_table_info(?)", [name]).fetchall()
            types = {column: _SQLITE.get(kind.partition("(")[0], "text") for column, kind, _ in columns}
            places = sorted((pk, at) for at, (_, _, pk) in enumerate(columns) if pk)
            shown = f"main.{quoted(name)}"
            key = tuple(at for _, at in places)
            found[shown] = Table(("", name), shown, "", types, key, in_sqlite(db, name, types))
    return found
