"""Describes tables from information_schema as source tables: any number of them in three queries."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pymysql

from seatunnel_connectors.jdbc.mysql.connection import name_spelling, types
from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, failure, quote
from seatunnel_connectors.jdbc.mysql.read.details import details_of
from seatunnel_connectors.jdbc.mysql.write.shadow import without_mark
from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableKind
from seatunnel_connectors.jdbc.source.findings import Findings, Found
from seatunnel_connectors.jdbc.source.source import Hints
from seatunnel_connectors.jdbc.source.splits import DIVISIBLE
from seatunnel_connectors.jdbc.source.table_kinds import TableChoice
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Column,
    ConstraintKey,
    ConstraintType,
    Detail,
    Kind,
    PrimaryKey,
    SourceTable,
    TablePath,
    TableSchema,
    name_pattern,
)

Name = tuple[str, str]
_OURS = re.compile(r"seatunnel_(ledger|piece)")
_WRONG_STATEMENT = (1049, 1052, 1054, 1060, 1064, 1146, 1248, 1305)  # syntax errors and missing names
_KINDS = {
    "BASE TABLE": TableKind.TABLE, "SYSTEM VERSIONED": TableKind.TABLE, "VIEW": TableKind.VIEW,
}  # fmt: skip
_SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")


class MysqlDescriber:
    """Collects tables and faults over all requests."""

    def __init__(self, session: MysqlSession, address: Address, options: JdbcSourceOptions) -> None:
        self.session = session
        self.address = address
        self.options = options
        self.found = Findings()
        self.small = name_spelling.rule(session) == name_spelling.SMALL
        self.zero_dates_are_null = "null" in address.parameters.get("zerodatetimebehavior", "").lower()
        self.tables: dict[Name, tuple[int | None, int | None, str]] = {}
        self.details: Mapping[Name, list[Detail]] = {}
        self.kinds: dict[Name, TableKind | None] = {}
        self.columns: dict[Name, list[tuple[str, str, str, bool, str]]] = defaultdict(list)
        self.readable: set[Name] = set()
        self.keys: dict[Name, dict[str, list[str]]] = defaultdict(dict)

    def describe(self, requests: Sequence[TableRequest]) -> list[Found]:
        self._look_up(requests)
        made = [table for request in requests for table in self._request(request)]
        return self.found.result(made)

    # -------------------------------------------------- the catalog

    def _look_up(self, requests: Sequence[TableRequest]) -> None:
        if any(request.pattern for request in requests):
            where, values = f"table_schema NOT IN ({', '.join(['%s'] * len(_SYSTEM))})", list(_SYSTEM)
        else:
            names = sorted({name for one in requests if one.path and (name := self._name(one))})
            if not names:
                return
            where = f"(table_schema, table_name) IN ({', '.join(['(%s, %s)'] * len(names))})"
            values = [part for name in names for part in name]
        for database, table, rows, size, comment, kind in self.session.ask(
            "SELECT table_schema, table_name, table_rows, data_length, table_comment, table_type "
            f"FROM information_schema.tables WHERE {where} ORDER BY 1, 2",
            values,
        ):
            self.kinds[database, table] = _KINDS.get(_text(kind))
            self.tables[database, table] = rows, size, "" if comment == "VIEW" else without_mark(_text(comment))
        for database, table, name, data, full, nullable, comment, granted in self.session.ask(
            "SELECT table_schema, table_name, column_name, data_type, column_type, is_nullable, column_comment, "
            "FIND_IN_SET('select', privileges) > 0 "
            f"FROM information_schema.columns WHERE {where} ORDER BY 1, 2, ordinal_position",
            values,
        ):
            self.columns[database, table].append((name, _text(data), _text(full), nullable == "YES", _text(comment)))
            if granted:
                self.readable.add((database, table))
        for database, table, index, column in self.session.ask(
            "SELECT table_schema, table_name, index_name, column_name FROM information_schema.statistics "
            f"WHERE non_unique = 0 AND {where} ORDER BY 1, 2, index_name = 'PRIMARY' DESC, index_name, seq_in_index",
            values,
        ):
            self.keys[database, table].setdefault(index, []).append(column)

        self.details = details_of(self.session, where, values)

    def _name(self, request: TableRequest) -> Name | None:
        """Database and table of a request; None, with a noted problem, if its path is invalid."""
        if not request.path:
            return self.address.database, ""
        try:
            path = TablePath.parse(request.path)
        except ValueError as error:
            if (problem := f"{request.label}: {error}") not in self.found.problems:
                self.found.wrong(problem)
            return None
        database = path.schema or path.database or self.address.database
        return (database.lower(), path.table.lower()) if self.small else (database, path.table)

    # -------------------------------------------------- requests

    def _request(self, request: TableRequest) -> list[SourceTable]:
        if request.query:
            return self._query(request)
        if request.pattern:
            try:
                pattern = name_pattern(request.path or "")
            except ValueError as error:
                self.found.wrong(f"{request.label}: {error}")
                return []
            names, before = [], len(self.found.left_out)
            choice = TableChoice.of(self.options)
            for one in self.tables:
                if not pattern.fullmatch(".".join(one)) or _OURS.fullmatch(one[1]):
                    continue
                if why := choice.why_not(self.kinds[one], [".".join(one)]):
                    self.found.leaves_out(TablePath(one[0], "", one[1]), why)
                else:
                    names.append(one)
            if not names:
                self.found.nothing_matches(request.label, request.path, before)
            return [self._table(request, one) for one in names]
        name = self._name(request)
        if name is None:
            return []
        if name not in self.tables:
            self.found.wrong(f"table {'.'.join(name)} ({request.label}) does not exist{self._near(name)}")
            return []
        return [self._table(request, name)]

    def _near(self, name: Name) -> str:
        rows = self.session.ask("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (name[0],))
        if not rows:
            return f"; there is no database {name[0]!r} with tables that the user may see"
        close = difflib.get_close_matches(name[1], [row[0] for row in rows], n=1)
        return f"; did you mean {name[0]}.{close[0]}?" if close else ""

    def _table(self, request: TableRequest, name: Name) -> SourceTable:
        rows, size, comment = self.tables[name]
        path = TablePath(name[0], "", name[1])
        self._check_readable(path, name, comment)
        columns, expressions = self._columns(path, self.columns[name])
        primary, constraints = self._constraints(name, {column.name for column in columns}, proved=True)
        options = {} if rows is None else {"estimated_rows": str(rows)}
        known = {column.name for column in columns}
        details = tuple(one for one in self.details.get(name, ()) if known.issuperset(one.columns))
        schema = TableSchema(path, columns, primary, constraints, (), comment, options, details)
        hints = self._hints(request, schema, expressions, quote(*name), whole=True)
        return SourceTable(schema, rows, size, hints.to_plain())

    def _check_readable(self, path: TablePath, name: Name, comment: str) -> None:
        if not self.columns[name]:  # MariaDB names the fault of a broken view in its comment
            self.found.fails(
                path, comment or "it has no columns that can be described", "correct the view, or leave it out"
            )
        elif name not in self.readable:
            user = self.session.ask("SELECT CURRENT_USER()")[0][0]
            account = "@".join(f"'{part}'" for part in str(user).rpartition("@")[::2])
            self.found.not_granted(path, ".".join(name), f"GRANT SELECT ON {quote(*name)} TO {account};")

    def _query(self, request: TableRequest) -> list[SourceTable]:
        """Read the types of a query's columns from a temporary table that the server creates from the query."""
        relation = f"(\n{request.query}\n) AS q"
        name = self._name(request)
        if name is None:
            return []
        path = TablePath(name[0], "", name[1]) if request.path else self._unnamed()
        try:
            self.session.run("DROP TEMPORARY TABLE IF EXISTS st_describe")
            self.session.run(f"CREATE TEMPORARY TABLE st_describe SELECT * FROM {relation} LIMIT 0")
            found = self.session.ask("SHOW FULL COLUMNS FROM st_describe")
            self.session.run("DROP TEMPORARY TABLE st_describe")
        except pymysql.Error as error:
            self._failed_query(request, path, error)
            return []
        heads = [(row[0], re.split(r"[ (]", _text(row[1]))[0], _text(row[1]), True, "") for row in found]
        columns, expressions = self._columns(path, heads)
        primary, constraints = self._constraints(name, {column.name for column in columns}, proved=False)
        schema = TableSchema(path, columns, primary, constraints)
        hints = self._hints(request, schema, expressions, relation, whole=False)
        hints = replace(hints, guess=self._estimate(request.query or "") or 0)
        return [SourceTable(schema, None, None, hints.to_plain())]

    def _failed_query(self, request: TableRequest, path: TablePath, error: pymysql.Error) -> None:
        """Blame the job file for a wrong statement, and the table for one that is refused or blocked."""
        told = failure(error, f"{request.label}: the query cannot be run")
        if error.args[0] in _WRONG_STATEMENT:
            self.found.wrong(told.message)
        else:
            self.found.fails(path, told.message, told.remedy)

    def _estimate(self, query: str) -> int | None:
        try:
            plan = self.session.ask(f"EXPLAIN {query}")
            return max((int(row[-2]) for row in plan if isinstance(row[-2], int)), default=None)
        except (pymysql.Error, ValueError, IndexError):
            return None

    def _unnamed(self) -> TablePath:
        output = self.options.plugin_output
        return TablePath("", "", output) if output else TablePath("default", "default", "default")

    def _columns(
        self, path: TablePath, found: Sequence[tuple[str, str, str, bool, str]]
    ) -> tuple[tuple[Column, ...], tuple[tuple[str, str], ...]]:
        columns, expressions = [], []
        for name, data, full, nullable, comment in found:
            read = types.read_as(data, full, self.options, zero_dates_are_null=self.zero_dates_are_null)
            if read is None:
                self.found.unreadable(path, name, full)
                continue
            nullable = nullable or "NULL" in read.expression
            length, digits = types.length_of(data, full), types.digits_of(read.dtype, full)
            columns.append(
                Column(name, read.dtype, nullable, length, digits, comment=comment, converted_from=read.said)
            )
            expressions.append((name, read.expression))
        return tuple(columns), tuple(expressions)

    def _constraints(
        self, name: Name, known: set[str], *, proved: bool
    ) -> tuple[PrimaryKey | None, tuple[ConstraintKey, ...]]:
        primary, others = None, []
        for index, columns in self.keys[name].items():
            if not known.issuperset(columns):
                continue
            if index == "PRIMARY":
                primary = PrimaryKey(tuple(columns), "", proved)
            else:
                pairs = tuple((column, "ASC") for column in columns)
                others.append(ConstraintKey(index, ConstraintType.UNIQUE_KEY, pairs))
        return primary, tuple(others)

    def _hints(
        self, request: TableRequest, schema: TableSchema, expressions: tuple[tuple[str, str], ...], relation: str,
        *, whole: bool,
    ) -> Hints:  # fmt: skip
        wanted = request.partition.column
        key = wanted or (schema.key[0] if schema.key else "")
        column = schema.column(key) if key else None
        if wanted and (column is None or column.dtype.kind not in DIVISIBLE):
            why = "is not a column of it" if column is None else f"is of type {column.dtype}, which has no ranges"
            self.found.wrong(f"table {schema.path}: partition_column {wanted!r} {why}")
        usable = column is not None and column.dtype.kind in DIVISIBLE
        ordered = whole and schema.primary_key is not None and schema.primary_key.columns == (key,)
        # The reader's session has the server's own zone, in which some instants have no literal: ranges may be uneven
        # there, and a reader cannot resume after a row.
        ordered = ordered and column is not None and column.dtype.kind is not Kind.TIMESTAMP_TZ
        return Hints(
            relation=relation, columns=expressions, where=request.where, key=key if usable else "",
            ordered=ordered and usable, count=request.count, partition=request.partition,
        )  # fmt: skip
