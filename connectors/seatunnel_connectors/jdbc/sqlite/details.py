"""Lists the parts of a table's definition besides columns and keys. No detail is created again: all are listed as not
carried over. CHECK constraints and AUTOINCREMENT exist only in the text of CREATE TABLE."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seatunnel_connectors.jdbc.sqlite.session import SqliteSession, literal, quote
from seatunnel_py.api import Detail, DetailKind

DIALECT = "sqlite"
_GENERATED = (2, 3)
_TOKEN = re.compile(
    r"(?P<skipped>--[^\n]*|/\*.*?\*/|'(?:''|[^'])*')"
    r"|constraint\s+(?P<named>\"(?:\"\"|[^\"])*\"|`[^`]*`|\[[^\]]*\]|\w+)\s+check\b"
    r"|\"(?:\"\"|[^\"])*\"|`[^`]*`|\[[^\]]*\]|\b(?P<check>check)\b|\b(?P<counted>autoincrement)\b",
    re.IGNORECASE | re.DOTALL,
)


def details_of(session: SqliteSession, table: str, sql: str) -> tuple[Detail, ...]:
    """The details of one table; ``sql`` is its definition."""
    return (
        *_of_columns(session, table),
        *_of_text(session, table, sql),
        *_foreign(session, table),
        *_indexes(session, table),
    )


def _of_columns(session: SqliteSession, table: str) -> Iterator[Detail]:
    for _, name, _, _, default, _, hidden in session.ask(f"PRAGMA table_xinfo({quote(table)})"):
        if hidden in _GENERATED:
            yield Detail(DetailKind.GENERATED, name, (name,), "", DIALECT)
        elif default is not None and default.upper() != "NULL":
            yield Detail(DetailKind.DEFAULT, name, (name,), default, DIALECT)


def _of_text(session: SqliteSession, table: str, sql: str) -> Iterator[Detail]:
    unnamed = 0
    for match in _TOKEN.finditer(sql):
        if match["counted"]:
            [(name,)] = session.ask(f"SELECT name FROM pragma_table_xinfo({literal(table)}) WHERE pk = 1")
            yield Detail(DetailKind.IDENTITY, name, (name,), "", DIALECT)
        elif match["named"]:
            yield Detail(DetailKind.CHECK, match["named"].strip('"`[]'), (), "", DIALECT)
        elif match["check"]:
            unnamed += 1
            yield Detail(DetailKind.CHECK, f"check {unnamed}", (), "", DIALECT)


def _foreign(session: SqliteSession, table: str) -> Iterator[Detail]:
    keys: dict[int, tuple[str, list[str]]] = {}
    for number, _, other, column, *_ in session.ask(f"PRAGMA foreign_key_list({quote(table)})"):
        keys.setdefault(number, (other, []))[1].append(column)
    for _, (other, columns) in sorted(keys.items()):
        yield Detail(DetailKind.FOREIGN_KEY, f"{', '.join(columns)} to {other}", tuple(columns), "", DIALECT)


def _indexes(session: SqliteSession, table: str) -> Iterator[Detail]:
    """Indexes made by CREATE INDEX; complete unique ones count as keys."""
    for _, index, unique, origin, partial in session.ask(f"PRAGMA index_list({quote(table)})"):
        columns = [row[2] for row in session.ask(f"PRAGMA index_xinfo({quote(index)})") if row[5]]
        if origin == "c" and not (unique and not partial and None not in columns):
            names = tuple(name for name in columns if name is not None)
            yield Detail(DetailKind.INDEX, index, names, "", DIALECT)
