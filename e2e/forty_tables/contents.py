"""What the tables hold, value by value: in the words of each database, or as Arrow reads the files."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import psycopg
import pyarrow.parquet as pq
import pymysql
from psycopg import sql

Name: TypeAlias = tuple[str, str]
Rows: TypeAlias = Counter[tuple[str | None, ...]]
FLOATS = ("float4", "float8")
MOMENTS = ("timestamp", "timestamptz")

_WORDS = {
    "timestamptz": "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
    "timestamp": "to_char({}, 'YYYY-MM-DD HH24:MI:SS.US')",
    "bytea": "encode({}, 'hex')",
    "money": "{}::numeric::text",
    "inet": "CASE WHEN {0} IS NOT NULL THEN format('%s', {0}) END",
    "array": "to_json({})::text",
}
"""How PostgreSQL is asked for values of a type; for the text of all others."""


def columns(db: psycopg.Connection, table: Name) -> dict[str, str]:
    """The source's columns with their types, as the catalog has them; `array` for those of any type."""
    found = db.execute(
        "SELECT a.attname, CASE t.typcategory WHEN 'A' THEN 'array' ELSE t.typname END FROM pg_attribute a "
        "JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped "
        "ORDER BY a.attnum",
        [sql.Identifier(*table).as_string(db)],
    )
    return dict(found.fetchall())


def in_postgres(db: psycopg.Connection, table: Name, types: dict[str, str], *, only: bool = False) -> Rows:
    """``only``: without the rows of tables that inherit from it."""
    words = sql.SQL(", ").join(
        sql.SQL(_WORDS.get(kind, "{}::text")).format(sql.Identifier(name)) for name, kind in types.items()
    )
    query = sql.SQL("SELECT {} FROM {}{}").format(words, sql.SQL("ONLY " if only else ""), sql.Identifier(*table))
    return _counted(db.execute(query).fetchall(), types.values())


def in_mariadb(db: pymysql.Connection[Any], table: str, types: dict[str, str]) -> Rows:
    with db.cursor() as cursor:
        cursor.execute("SELECT {} FROM `{}`".format(", ".join(map(_asked, types, types.values())), table))
        return _counted(cursor.fetchall(), types.values())


def _asked(name: str, kind: str) -> str:
    column = f"`{name}`"
    if kind == "bytea":
        return f"lower(hex({column}))"
    if kind == "bool":
        return f"if({column}, 'true', if({column} is null, null, 'false'))"
    return f"{column} + 0e0" if kind in FLOATS else f"cast({column} as char)"


def in_sqlite(db: sqlite3.Connection, table: str, types: dict[str, str]) -> Rows:
    escaped = table.replace('"', '""')
    words = ", ".join(map(_asked_of_sqlite, types, types.values()))
    return _counted(db.execute(f'SELECT {words} FROM "{escaped}"'), types.values())


def _asked_of_sqlite(name: str, kind: str) -> str:
    column = '"{}"'.format(name.replace('"', '""'))
    if kind == "bytea":
        return f"iif({column} IS NULL, NULL, lower(hex({column})))"
    if kind == "bool":
        return f"iif({column}, 'true', iif({column} IS NULL, NULL, 'false'))"
    return column if kind in FLOATS else f"CAST({column} AS TEXT)"


def in_parquet(directory: Path, types: dict[str, str]) -> Rows:
    table = pq.ParquetDataset(directory).read() if directory.exists() else None
    assert table is not None and table.column_names == list(types), (directory, table and table.column_names)
    found = [list(map(_of_arrow, column.to_pylist())) for column in table.columns]
    return _counted(zip(*found, strict=True), types.values())


def _of_arrow(value: Any) -> Any:
    match value:
        case None | str() | float():
            return value
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S.%f").rjust(26, "0")
        case time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case list():
            return json.dumps([_in_list(one) for one in value])
    assert isinstance(value, int | date), value
    return str(value)


def _in_list(value: Any) -> Any:
    """As PostgreSQL's to_json has it; numbers as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | str) else _of_arrow(value)


def _counted(rows: Iterable[Sequence[Any]], kinds: Iterable[str]) -> Rows:
    made = [_SAME.get(kind) for kind in kinds]
    if any(made):
        rows = [
            tuple(one if same is None or one is None else same(one) for same, one in zip(made, row, strict=True))
            for row in rows
        ]
    return Counter(map(tuple, rows))


def _list(text: str) -> str:
    return repr(json.loads(text, parse_float=str, parse_int=str))


_SAME: dict[str, Callable[[Any], str]] = {
    "float8": lambda value: repr(float(value)),
    "float4": lambda value: repr(float(np.float32(value))),
    "bpchar": lambda value: str(value).rstrip(" "),
    "time": lambda value: value if "." in value else f"{value}.000000",
    "timestamp": lambda value: (value if "." in value else f"{value}.").replace("T", " ").ljust(26, "0"),
    "array": _list,
    "decimal": lambda value: format(Decimal(value).normalize(), "f"),
}
"""The one spelling of values that databases write in several ways, without any of their digits lost."""


def merged(before: Rows, now: Rows, key: Sequence[int]) -> Rows:
    """What a target that is updated by key holds: the rows of today, and those of before whose keys are gone."""
    known = {tuple(row[at] for at in key) for row in now}
    return now + Counter({row: times for row, times in before.items() if tuple(row[at] for at in key) not in known})
