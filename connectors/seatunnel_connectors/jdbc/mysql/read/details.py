"""Reads the parts of a table's definition besides columns and keys from information_schema. Defaults, indexes,
AUTO_INCREMENT and MariaDB's checks become part of CREATE TABLE if they are carried over. MySQL's checks do not: it
shows their texts doubly escaped, and with another quoting of names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, quote
from seatunnel_py.api import Detail, DetailKind

DIALECT = "mysql"
Name = tuple[str, str]
_MADE = (DetailKind.DEFAULT, DetailKind.INDEX, DetailKind.UNIQUE_KEY, DetailKind.IDENTITY, DetailKind.CHECK)
_NAMES = re.compile(r"'(?:''|\\.|[^'\\])*'|`((?:``|[^`])*)`")


def details_of(session: MysqlSession, where: str, values: Sequence[Any]) -> Mapping[Name, list[Detail]]:
    """The details of tables, in five queries; ``where`` selects them by table_schema and table_name."""
    found: dict[Name, list[Detail]] = defaultdict(list)
    maria = "mariadb" in str(session.ask("SELECT VERSION()")[0][0]).lower()
    for database, table, column, default, extra in session.ask(
        "SELECT table_schema, table_name, column_name, column_default, extra FROM information_schema.columns "
        f"WHERE {where} AND (column_default IS NOT NULL OR extra <> '') ORDER BY 1, 2, ordinal_position",
        values,
    ):
        found[database, table] += _of_column(column, _text(default), _text(extra).upper(), maria=maria)
    for database, table, name, kind in session.ask(
        "SELECT table_schema, table_name, constraint_name, constraint_type FROM information_schema.table_constraints "
        f"WHERE {where} AND constraint_type IN ('CHECK', 'FOREIGN KEY') ORDER BY 1, 2, 3",
        values,
    ):
        if _text(kind) == "FOREIGN KEY":
            found[database, table].append(Detail(DetailKind.FOREIGN_KEY, name, (), "", DIALECT))
        elif not maria:
            found[database, table].append(Detail(DetailKind.CHECK, name, (), "", DIALECT))
    if maria:
        _checks(session, where, values, found)
    _numbers(session, where, values, found)
    _indexes(session, where, values, found)
    return found


def _checks(session: MysqlSession, where: str, values: Sequence[Any], found: dict[Name, list[Detail]]) -> None:
    of_checks = where.replace("table_schema", "constraint_schema")
    for database, table, name, clause in session.ask(
        "SELECT constraint_schema, table_name, constraint_name, check_clause "
        f"FROM information_schema.check_constraints WHERE {of_checks} ORDER BY 1, 2, 3",
        values,
    ):
        text = _text(clause)
        if text != f"json_valid({quote(name)})":  # part of a type
            line = f"CONSTRAINT {{}} CHECK ({text.replace('{', '{{').replace('}', '}}')})"
            found[database, table].append(Detail(DetailKind.CHECK, name, tuple(_columns_in(text)), line, DIALECT))


def _columns_in(clause: str) -> Iterable[str]:
    """Names in an expression, which the server writes in backticks."""
    return dict.fromkeys(name.replace("``", "`") for name in _NAMES.findall(clause) if name)


def _numbers(session: MysqlSession, where: str, values: Sequence[Any], found: dict[Name, list[Detail]]) -> None:
    """The next number of AUTO_INCREMENT."""
    for database, table, following in session.ask(
        "SELECT table_schema, table_name, auto_increment FROM information_schema.tables "
        f"WHERE {where} AND auto_increment IS NOT NULL",
        values,
    ):
        found[database, table] = [
            replace(one, definition=str(following)) if one.kind is DetailKind.IDENTITY else one
            for one in found[database, table]
        ]


def _indexes(session: MysqlSession, where: str, values: Sequence[Any], found: dict[Name, list[Detail]]) -> None:
    parts: dict[tuple[str, str, str, int, str], list[tuple[str, str]]] = defaultdict(list)
    for database, table, index, plain, kind, column, cut, order in session.ask(
        "SELECT table_schema, table_name, index_name, non_unique, index_type, column_name, sub_part, collation "
        f"FROM information_schema.statistics WHERE {where} AND index_name <> 'PRIMARY' ORDER BY 1, 2, 3, seq_in_index",
        values,
    ):
        ending = (f"({cut})" if cut else "") + (" DESC" if order == "D" else "")
        name = _text(column)
        # the definition has a placeholder for the index's name
        quoted = quote(name).replace("{", "{{").replace("}", "}}")
        parts[database, table, index, int(plain), _text(kind)].append((name, quoted + ending if name else ""))
    for (database, table, index, plain, kind), columns in parts.items():
        word = f"{kind} " if kind in ("FULLTEXT", "SPATIAL") else "" if plain else "UNIQUE "
        whole = all(text for _, text in columns)  # an expression has no name there
        definition = f"{word}INDEX {{}} ({', '.join(text for _, text in columns)})" if whole else ""
        what = DetailKind.INDEX if plain else DetailKind.UNIQUE_KEY
        found[database, table].append(Detail(what, index, tuple(name for name, _ in columns), definition, DIALECT))


def _of_column(name: str, default: str, extra: str, *, maria: bool) -> list[Detail]:
    if "AUTO_INCREMENT" in extra:
        return [Detail(DetailKind.IDENTITY, name, (name,), "", DIALECT)]
    if "GENERATED" in extra and "DEFAULT_GENERATED" not in extra:
        return [Detail(DetailKind.GENERATED, name, (name,), "", DIALECT)]
    if not default or default == "NULL":
        return []
    expression = default if maria else f"({default})" if "DEFAULT_GENERATED" in extra else _literal(default)
    return [Detail(DetailKind.DEFAULT, name, (name,), expression, DIALECT)]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def can_be_made(one: Detail, names: Mapping[str, str]) -> bool:
    """True if its definition has the same meaning in a table whose columns have these names."""
    same = all(names.get(name) == name for name in one.columns)
    return one.dialect == DIALECT and one.kind in _MADE and bool(one.definition) and same
