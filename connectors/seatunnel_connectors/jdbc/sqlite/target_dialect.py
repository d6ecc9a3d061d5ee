"""Writes to SQLite."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_connectors.jdbc.sqlite import types, values
from seatunnel_connectors.jdbc.sqlite.session import explained, quote, sessions
from seatunnel_connectors.jdbc.statements.ledger_tables import LEDGER, PIECES
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.target_dialect import (
    KEY,
    OTHERS,
    StatementSession,
    TargetDialect,
    TargetTable,
    same_row,
)
from seatunnel_connectors.jdbc.target.load_decision import ABSENT
from seatunnel_connectors.jdbc.target.target_plan import TargetColumn, counting, no_table
from seatunnel_connectors.jdbc.target.version_column import COMPARED, on_conflict
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import NUMBER, Column, Kind, NameRules, TablePath, TargetPlace

_MARK = "st_mark_"


class SqliteTargetDialect(TargetDialect):
    counts_updates: ClassVar[bool] = True
    exact_collations: ClassVar[str] = "BINARY"
    names: ClassVar[NameRules] = NameRules(folds_case=True, ascii_only=True)
    column_names: ClassVar[NameRules] = names
    row_order: ClassVar[str] = "rowid"
    clock: ClassVar[str] = "CAST(strftime('%s', 'now') AS INTEGER)"
    compared: ClassVar[frozenset[Kind]] = COMPARED - {Kind.DECIMAL}  # long decimals are texts here

    def sessions(self, address: Address) -> AbstractContextManager[StatementSession]:
        return sessions(address)

    def explained(self, what: str) -> AbstractContextManager[None]:
        return explained(what)

    def quote(self, *names: str) -> str:
        return quote(*names)

    def place(self, address: Address, path: TablePath) -> tuple[str, str]:
        """Database and table of a path. A file is one database with one schema, so any other prefix is refused."""
        before = path.schema or path.database
        if before and before.lower() != "main":
            raise ValueError(
                f"table: {path} names a schema, and a SQLite file has only main; write a name of one part, such as "
                f"{before}_{path.table}"
            )
        return "", path.table

    def target_place(self, address: Address, database: str, table: str) -> TargetPlace:
        return TargetPlace(("sqlite", os.path.realpath(address.path)), (table,))

    def name_rules(self, session: StatementSession) -> NameRules:
        return self.names

    def look(self, session: StatementSession, database: str, table: str) -> TargetTable:
        found = session.ask("SELECT lower(name), type FROM sqlite_master WHERE type IN ('table', 'view', 'index')")
        names = {name for name, kind in found if kind == "table"}
        books = LEDGER in names and PIECES in names
        if table.lower() not in names:
            if other := dict(found).get(table.lower()):
                raise no_table(table, f"{'an' if other == 'index' else 'a'} {other}")
            return TargetTable("", table, exists=False, has_books=books)
        columns, keys = describe(session, table)
        counted = session.ask(counting(quote(table)))[0][0]
        [(sql,)] = session.ask(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND lower(name) = lower(?)", (table,)
        )
        return TargetTable("", table, True, counted, columns, keys, has_books=books, replacing=_replacing(sql or ""))

    def created_type(self, column: Column, *, in_key: bool, alone: bool, features: frozenset[str]) -> str:
        return types.created_type(column, alone=alone)

    def made_column(self, name: str, column: Column, kind: str) -> TargetColumn:
        return _column(name, kind)

    def stored(self, array: pa.Array, column: Column, shown: str) -> pa.Array:
        return values.stored(array, column, shown)

    def changed(self, column: Column, there: TargetColumn) -> str:
        number = column.dtype.kind is Kind.DECIMAL or column.dtype == NUMBER
        if number and types.affinity(there.shown) == "TEXT":
            return "its digits as text"
        if column.converted_from.endswith(types.AS_BYTES):
            return "texts as their UTF-8 bytes"
        if column.converted_from.endswith(types.AS_TEXT):
            return "numbers as their digits"
        if column.converted_from.endswith(types.AS_REAL):
            return "integers as reals, -0.0 as 0"
        return "-0.0 is stored as 0" if column.dtype.kind in (Kind.FLOAT, Kind.DOUBLE) else ""

    def upsert(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()
    ) -> str:
        markers = ", ".join("?" * len(columns))
        values = f"INSERT INTO {relation} AS t ({', '.join(columns)}) VALUES ({markers})"
        return values + on_conflict(columns, key, version, fixed)

    def is_key(self, name: str, *, inexact: bool) -> str:
        return f"{name} = ?" + (f" AND HEX({name}) = HEX(?)" if inexact else "")

    def delete_keys(self, relation: str, key: Sequence[str], keys: str, inexact: Sequence[str] = ()) -> str:
        compared = ", ".join((*key, *(f"HEX({name})" for name in inexact)))
        return f"DELETE FROM {relation} WHERE ({compared}) IN (SELECT {compared} FROM ({keys}))"

    def is_there(self, session: StatementSession, database: str, table: str) -> bool:
        return bool(session.ask("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)))

    def beside(self, session: StatementSession, database: str, token: str) -> list[str]:
        names = session.ask("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [name for (name,) in names if name.endswith(f"__st_{token}")]

    def told_by(self, session: StatementSession, database: str, table: str) -> str:
        """Identify a table by an empty index on it, which is dropped with the table, keeps belonging to it after a
        rename, and survives VACUUM. The number of the first page does not: a new table often gets the number of the old
        one."""
        kept_elsewhere = "SELECT 1 FROM sqlite_master WHERE lower(name) = lower(?) AND rootpage = 0"
        return "" if session.ask(kept_elsewhere, (table,)) else "mark"

    def mark(self, relation: str, column: str, token: str) -> list[str]:
        return [f"CREATE INDEX IF NOT EXISTS {quote(_MARK + token)} ON {relation} ({column}) WHERE 0"]

    def unmark(self, token: str) -> list[str]:
        return [f"DROP INDEX IF EXISTS {quote(_MARK + token)}"]

    def table_id(self, session: StatementSession, load: StatementLoad) -> str | None:
        found = session.ask(
            "SELECT rootpage, EXISTS (SELECT 1 FROM sqlite_master i WHERE i.type = 'index' AND i.name = ? "
            "AND lower(i.tbl_name) = lower(t.name)) "
            "FROM sqlite_master t WHERE type = 'table' AND lower(name) = lower(?)",
            (_MARK + load.token, load.table),
        )
        return next((f"{_MARK}{load.token}" if marked else f"page {page}" for page, marked in found), None)

    def name_of(self, session: StatementSession, load: StatementLoad, table_id: str) -> str | None:
        found = session.ask("SELECT tbl_name FROM sqlite_master WHERE type = 'index' AND name = ?", (table_id,))
        return found[0][0] if found else None

    def create_staging(self, staging: str, target: str, columns: Sequence[str]) -> list[str]:
        index = self.quote(f"{staging.strip(chr(34))}_unit")
        return [
            f"CREATE TABLE IF NOT EXISTS {staging} AS "
            f"SELECT '' AS st_unit, 0 AS st_kind, 0 AS st_round, '' AS st_absent, {', '.join(columns)} "
            f"FROM {target} WHERE 0",
            f"CREATE INDEX IF NOT EXISTS {index} ON {staging} (st_unit, st_round)",
        ]

    def insert_from(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()
    ) -> str:
        plain = super().insert_from(f"{relation} AS t" if key else relation, columns, key, version)
        return plain + on_conflict(columns, key, version, fixed) if key else plain

    def change_from(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, inexact: Sequence[str] = ()
    ) -> str:
        sets = ", ".join(
            f"{name} = CASE substr(s.st_absent, {at}, 1) WHEN '{ABSENT}' THEN t.{name} ELSE s.{name} END"
            for at, name in enumerate(columns, 1)
            if name not in key
        )
        return f"UPDATE {relation} AS t SET {sets} FROM ({{rows}}) s WHERE {same_row(key, version, inexact)}"

    def values(self, array: pa.Array, column: Column, shown: str = "") -> list[Any]:
        return values.to_values(array, column, shown)


def describe(session: StatementSession, table: str) -> tuple[dict[str, TargetColumn], tuple[tuple[str, ...], ...]]:
    """Columns, and the column lists of all unique keys, the primary key first."""
    rows = session.ask(f"PRAGMA table_xinfo({quote(table)})")
    columns = {}
    for _, name, declared, forced, default, place, hidden in rows:
        columns[name] = replace(
            _column(name, declared or types.NO_TYPE), nullable=not forced and not place,
            fills=default is not None or (bool(place) and "int" in declared.lower()), generated=hidden in (2, 3),
        )  # fmt: skip
    primary = tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5])
    keys = [primary] if primary else []
    for _, index, unique, _, partial in session.ask(f"PRAGMA index_list({quote(table)})"):
        if unique and not partial:
            found = [row for row in session.ask(f"PRAGMA index_xinfo({quote(index)})") if row[5]]
            parts = [row[2] for row in found]
            for name, collation in ((row[2], row[4]) for row in found):
                if name in columns and collation.upper() != "BINARY":
                    columns[name] = replace(columns[name], inexact=True)
            if None not in parts and tuple(parts) not in keys:
                keys.append(tuple(parts))
    return columns, tuple(keys)


_REPLACES = r"\bON\s+CONFLICT\s+REPLACE\b"
_KEY_REPLACES = re.compile(rf"\bPRIMARY\s+KEY\s*(?:ASC|DESC)?\s*(?:\([^)]*\))?\s*{_REPLACES}", re.IGNORECASE)


def _replacing(sql: str) -> frozenset[str]:
    """Constraints of a table's definition with the conflict clause that deletes other rows. For the primary key, an
    upsert overrides it."""
    rest, by_key = _KEY_REPLACES.subn("", sql)
    others = re.search(_REPLACES, rest, re.IGNORECASE)
    return frozenset([*([KEY] if by_key else []), *([OTHERS] if others else [])])


def _column(name: str, declared: str) -> TargetColumn:
    """Describe a column. A column without a meaningful type takes each value as it is."""
    read = types.read_as("" if declared == types.NO_TYPE else declared)
    return TargetColumn(name, None if read.by_value else read.dtype, declared, length=read.length)


TARGET = SqliteTargetDialect()
