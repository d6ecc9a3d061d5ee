"""Reads definitions from information_schema: as the tables are now, which is right at the end of the log only."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession
from seatunnel_connectors.mysql_cdc.schema.column_text import charset_of, normal_type
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, TableDefinition
from seatunnel_py.api import RetriableError

_P = TypeVar("_P")
_LOOKS = 20
_WORD = re.compile(r"'((?:''|[^'])*)'")


def definitions_of(session: MysqlSession, names: Sequence[Name]) -> Mapping[Name, TableDefinition]:
    """The definitions of tables that exist, in three queries."""
    if not names:
        return {}
    where = f"(table_schema, table_name) IN ({', '.join(['(%s, %s)'] * len(names))})"
    values = [part for name in names for part in name]
    columns: dict[Name, list[ColumnDefinition]] = defaultdict(list)
    for row in session.ask(
        "SELECT table_schema, table_name, column_name, data_type, column_type, is_nullable, character_set_name, extra, "
        f"column_default, column_comment FROM information_schema.columns WHERE {where} ORDER BY 1, 2, ordinal_position",
        values,
    ):
        columns[_text(row[0]), _text(row[1])].append(_column(row[2:]))
    keys: dict[Name, list[str]] = defaultdict(list)
    for database, table, column in session.ask(
        "SELECT table_schema, table_name, column_name FROM information_schema.statistics "
        f"WHERE index_name = 'PRIMARY' AND {where} ORDER BY 1, 2, seq_in_index",
        values,
    ):
        keys[_text(database), _text(table)].append(_text(column))
    found = {}
    for database, table, collation, comment in session.ask(
        f"SELECT table_schema, table_name, table_collation, table_comment FROM information_schema.tables WHERE {where}",
        values,
    ):
        name = (_text(database), _text(table))
        charset = charset_of(_text(collation))
        found[name] = TableDefinition(*name, tuple(columns[name]), tuple(keys[name]), charset, _text(comment))
    return found


def at_place(
    session: MysqlSession, names: Sequence[Name], look: Callable[[], _P]
) -> tuple[_P, Mapping[Name, TableDefinition]]:
    """A place of the log, and the definitions there: the same ones before and after the place was looked up."""
    before = definitions_of(session, names)
    for _ in range(_LOOKS):
        place = look()
        after = definitions_of(session, names)
        if after == before:
            return place, after
        before = after
    raise RetriableError(
        "tables are altered again and again while the place of the log is looked up",
        "start the job when fewer statements alter tables",
    )


def _column(row: Sequence[Any]) -> ColumnDefinition:
    name, data_type, full, nullable, charset, extra, default, comment = row
    text = _text(full)
    words: tuple[str, ...] = ()
    if _text(data_type) in ("enum", "set"):
        words = tuple(word.replace("''", "'") for word in _WORD.findall(text))
    # MariaDB adds its compression as an executable comment.
    plain = normal_type(text.partition(" /*")[0])
    return ColumnDefinition(
        _text(name), _text(data_type).lower(), plain, _text(nullable) == "YES", _text(charset), words,
        "INVISIBLE" in _text(extra).upper(), None if default is None else _text(default), _text(comment),
    )  # fmt: skip


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")
