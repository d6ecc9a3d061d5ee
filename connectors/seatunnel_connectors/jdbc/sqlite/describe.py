"""Describes the tables of a SQLite file as source tables."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableKind
from seatunnel_connectors.jdbc.source.findings import Findings, Found
from seatunnel_connectors.jdbc.source.source import Hints
from seatunnel_connectors.jdbc.source.splits import DIVISIBLE
from seatunnel_connectors.jdbc.source.table_kinds import TableChoice
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.sqlite import types
from seatunnel_connectors.jdbc.sqlite.details import details_of
from seatunnel_connectors.jdbc.sqlite.session import SqliteSession, literal, quote
from seatunnel_connectors.jdbc.sqlite.target_dialect import describe
from seatunnel_connectors.jdbc.target.target_plan import COUNTED_MAX
from seatunnel_py.api import (
    Column,
    ConstraintKey,
    ConstraintType,
    PrimaryKey,
    SourceTable,
    TablePath,
    TableSchema,
    name_pattern,
)

_OURS = re.compile(r"seatunnel_(ledger|piece)|sqlite_.*")


class SqliteDescriber:
    """Collects tables and faults over all requests."""

    def __init__(self, session: SqliteSession, options: JdbcSourceOptions) -> None:
        self.session = session
        self.options = options
        self.found = Findings()
        found = session.ask("SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view')")
        self.known = {name: (kind, sql or "") for name, kind, sql in found}

    def describe(self, requests: Sequence[TableRequest]) -> list[Found]:
        tables = [table for request in requests for table in self._request(request)]
        return self.found.result(tables)

    def _request(self, request: TableRequest) -> list[SourceTable]:
        if request.query:
            return [self._query(request)]
        if request.pattern:
            try:
                pattern = name_pattern(request.path or "")
            except ValueError as error:
                self.found.wrong(f"{request.label}: {error}")
                return []
            names, before = [], len(self.found.left_out)
            choice = TableChoice.of(self.options)
            for name in sorted(self.known):
                whole = (name, f"main.{name}")
                if _OURS.fullmatch(name) or not any(map(pattern.fullmatch, whole)):
                    continue
                if why := choice.why_not(TableKind(self.known[name][0]), whole):
                    self.found.leaves_out(TablePath("main", "", name), why)
                else:
                    names.append(name)
            if not names:
                self.found.nothing_matches(request.label, request.path, before)
            return [table for name in names for table in self._described(request, name)]
        text = request.path or ""
        name = text if text in self.known else self._name(request)
        name = next((known for known in self.known if known.lower() == name.lower()), name)
        if name not in self.known:
            self.found.wrong(
                f"table {text} ({request.label}) does not exist; there are {', '.join(sorted(self.known))}"
            )
            return []
        return self._described(request, name)

    def _described(self, request: TableRequest, name: str) -> list[SourceTable]:
        """A view over a missing table, or a virtual table of a missing extension, fails alone."""
        try:
            return [self._table(request, name)]
        except sqlite3.Error as error:
            self.found.fails(TablePath("main", "", name), str(error), "correct the table, or leave it out")
            return []

    def _name(self, request: TableRequest) -> str:
        """The table's name in a request; empty, with a noted problem, if its path is invalid."""
        try:
            return TablePath.parse(request.path or "").table
        except ValueError as error:
            self.found.wrong(f"{request.label}: {error}")
            return ""

    def _table(self, request: TableRequest, name: str) -> SourceTable:
        kind, sql = self.known[name]
        path = TablePath("main", "", name)
        found, keys = describe(self.session, name)
        columns = self._columns([(one.name, one.shown, one.nullable) for one in found.values()])
        primary, *others = keys or ((),)
        is_primary = bool(primary) and bool(self.session.ask(
            f"SELECT 1 FROM pragma_table_xinfo({literal(name)}) WHERE pk > 0"
        ))  # fmt: skip
        unique = others if is_primary else list(keys)
        constraints = tuple(
            ConstraintKey(f"unique_{at}", ConstraintType.UNIQUE_KEY, tuple((column, "ASC") for column in key))
            for at, key in enumerate(unique)
        )
        has_row_id = kind == "table" and not re.search(r"\bwithout\s+rowid\b", sql, re.I) and bool(row_id(found))
        low, high = self._row_ids(name, row_id(found)) if has_row_id else (None, None)
        span = high - low + 1 if low is not None and high is not None else 0
        rows = self._rows(name, span)
        options = {"estimated_rows": str(span if rows is None else rows)} | ({"rowid_low": str(low)} if span else {})
        key = PrimaryKey(primary, "", proved=True) if is_primary else None
        details = details_of(self.session, name, sql) if kind == "table" else ()
        schema = TableSchema(path, columns, key, constraints, options=options, details=details)
        hints = self._hints(request, schema, quote(name), span)
        return SourceTable(schema, rows, None, replace(hints, guess=span).to_plain())

    def _row_ids(self, name: str, row: str) -> tuple[int | None, int | None]:
        """Smallest and largest row id, in two queries: the index answers each only when it is asked alone."""
        low = self.session.ask(f"SELECT min({row}) FROM {quote(name)}")[0][0]
        high = self.session.ask(f"SELECT max({row}) FROM {quote(name)}")[0][0]
        return low, high

    def _rows(self, name: str, span: int) -> int | None:
        """Row count of the last ANALYZE, else counted; None if counting would take long, since row ids have gaps."""
        if "sqlite_stat1" in self.known or self.session.ask("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'"):
            found = self.session.ask("SELECT max(CAST(stat AS INTEGER)) FROM sqlite_stat1 WHERE tbl = ?", (name,))
            if found and found[0][0]:
                return min(int(found[0][0]), span) if span else int(found[0][0])
        return None if span > COUNTED_MAX else int(self.session.ask(f"SELECT count(*) FROM {quote(name)}")[0][0])

    def _query(self, request: TableRequest) -> SourceTable:
        relation = f"(\n{request.query}\n) AS q"
        path = TablePath("main", "", self._name(request)) if request.path else self._unnamed()
        try:
            cursor = self.session.db.execute(f"SELECT * FROM {relation} LIMIT 100")
        except sqlite3.Error as error:
            self.found.wrong(f"{request.label}: the query cannot be run: {error}")
            return SourceTable(TableSchema(path, ()))
        heads = [head[0] for head in cursor.description]
        sample = cursor.fetchall()
        columns = self._columns(
            list(zip(heads, self._declared(request.query or "", sample), [True] * len(heads), strict=True))
        )
        schema = TableSchema(path, columns)
        return SourceTable(schema, None, None, self._hints(request, schema, relation, 0).to_plain())

    def _declared(self, query: str, sample: list[tuple[Any, ...]]) -> list[str]:
        """Types of a query's columns: those that a view over it would declare, else those of its first rows."""
        try:
            self.session.db.execute(f"CREATE TEMP VIEW st_query AS {query}")
            try:
                declared = [row[2] for row in self.session.ask("PRAGMA temp.table_info(st_query)")]
            finally:
                self.session.db.execute("DROP VIEW temp.st_query")
        except sqlite3.Error:
            declared = []
        width = len(sample[0]) if sample else len(declared)
        declared = declared if len(declared) == width else [""] * width
        return [kind or _sampled([row[at] for row in sample]) for at, kind in enumerate(declared)]

    def _unnamed(self) -> TablePath:
        output = self.options.plugin_output
        return TablePath("", "", output) if output else TablePath("default", "default", "default")

    def _columns(self, found: Sequence[tuple[str, str, bool]]) -> tuple[Column, ...]:
        columns = []
        for name, declared, nullable in found:
            read = types.read_as("" if declared == types.NO_TYPE else declared)
            columns.append(Column(name, read.dtype, nullable, converted_from=read.said))
        return tuple(columns)

    def _hints(self, request: TableRequest, schema: TableSchema, relation: str, span: int) -> Hints:
        wanted = request.partition.column
        key = wanted or (schema.key[0] if schema.key else "")
        column = schema.column(key) if key else None
        if wanted and (column is None or column.dtype.kind not in DIVISIBLE):
            why = "is not a column of it" if column is None else f"is of type {column.dtype}, which has no ranges"
            self.found.wrong(f"table {schema.path}: partition_column {wanted!r} {why}")
        usable = column is not None and column.dtype.kind in DIVISIBLE
        return Hints(
            relation=relation,
            columns=tuple((name, quote(name)) for name in schema.names),
            where=request.where,
            key=key if usable else "",
            pages=0 if wanted else span,
            count=request.count,
            partition=request.partition,
        )


def _sampled(values: list[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int}:
        return "BIGINT"
    if kinds and kinds <= {int, float}:
        return "DOUBLE"
    return "BLOB" if kinds == {bytes} else "TEXT"


def row_id(names: Iterable[str]) -> str:
    """A name of the row id that no column uses; empty if all are used."""
    taken = {name.lower() for name in names}
    return next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), "")
