"""Describes tables of the catalog as source tables: schemas, keys, estimates, and the best way to divide each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import psycopg

from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableKind
from seatunnel_connectors.jdbc.postgres.connection import catalog
from seatunnel_connectors.jdbc.postgres.connection.catalog import FoundColumn, FoundTable
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, failure, literal, quote
from seatunnel_connectors.jdbc.postgres.connection.types import is_exact, length_of, read_as
from seatunnel_connectors.jdbc.postgres.read import inheritance, row_security
from seatunnel_connectors.jdbc.postgres.read.details import fill_details
from seatunnel_connectors.jdbc.source.findings import Findings, Found
from seatunnel_connectors.jdbc.source.source import Hints
from seatunnel_connectors.jdbc.source.splits import DIVISIBLE, ROWS_WORTH_DIVIDING
from seatunnel_connectors.jdbc.source.table_kinds import TableChoice
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.target.target_plan import KEPT_BY_POSTGRES, NATIVE_OF
from seatunnel_py.api import (
    Column,
    ConstraintKey,
    ConstraintType,
    DataType,
    Kind,
    PrimaryKey,
    SourceTable,
    TablePath,
    TableSchema,
    name_pattern,
)

IN_ORDER = 0.9  # from this correlation on an index scan reads the table front to back
PLACES_SINCE = 140000  # PostgreSQL 14 scans ranges of ctid without reading the rest of the table


_KINDS = {
    "r": TableKind.TABLE, "p": TableKind.TABLE, "v": TableKind.VIEW, "m": TableKind.MATERIALIZED_VIEW,
    "f": TableKind.FOREIGN,
}  # fmt: skip


@dataclass(slots=True)
class _Found:
    request: TableRequest
    path: TablePath
    columns: Sequence[FoundColumn]
    table: FoundTable | None
    query: str | None = None
    rows: int | None = None
    guess: int = 0

    @property
    def size(self) -> int | None:
        """Bytes of a table on disk; None: unknown."""
        known = self.table is not None and not self.query and (self.table.sized or self.table.size)
        return self.table.size if self.table and known else None

    @property
    def planned(self) -> int | None:
        """Number of rows to plan with."""
        return self.rows if self.rows is not None else self.guess or None


@dataclass(slots=True)
class PostgresDescriber:
    """Collects tables and faults over all requests, so that one message lists every problem."""

    db: Statements
    options: JdbcSourceOptions
    found: Findings = field(default_factory=Findings)
    database: str = ""
    schema: str = ""

    def describe(self, requests: Sequence[TableRequest]) -> list[Found]:
        self.database = catalog.current_database(self.db)
        self.schema = catalog.search_path_schema(self.db)
        found = self._relations([request for request in requests if request.path])
        for request in requests:
            if request.query and not request.path:
                found.append(self._query(request, None))
        self._check_unique(found)
        tables = self._tables([one for one in found if one is not None])
        return self.found.result(tables)

    # -------------------------------------------------- requests to relations

    def _relations(self, requests: Sequence[TableRequest]) -> list[_Found | None]:
        everything = any(request.pattern for request in requests)
        paths = {request.label: self._path(request) for request in requests if not request.pattern}
        named = [(path.schema, path.table) for path in paths.values() if path]
        tables = catalog.find_tables(self.db, None if everything else named)
        if everything and (rest := [name for name in named if name not in tables]):
            tables |= catalog.find_tables(self.db, rest)
        chosen: list[tuple[TableRequest, TablePath, FoundTable]] = []
        missing: list[tuple[TableRequest, TablePath]] = []
        for request in requests:
            if request.pattern:
                chosen += self._matching(request, tables)
            elif path := paths[request.label]:
                table = tables.get((path.schema, path.table))
                if table is not None:
                    chosen.append((request, path, table))
                elif request.query:
                    chosen.append((request, path, FoundTable(0, path.schema, path.table, "v", -1, 0, 0, True)))
                else:
                    missing.append((request, path))
        self._name_missing(missing)
        own = {table.oid: table for _, _, table in chosen}.values()
        catalog.fill_columns(self.db, own)
        fill_details(self.db, own)
        choice = TableChoice.of(self.options)
        for (schema, name), why in inheritance.divide(self.db, own, lambda *one: choice.excludes(self._names(*one))):
            self.found.leaves_out(TablePath(self.database, schema, name), why)
        return [self._relation(request, path, table) for request, path, table in chosen]

    def _names(self, schema: str, table: str) -> tuple[str, str]:
        """Names to compare with a pattern."""
        return f"{self.database}.{schema}.{table}", f"{schema}.{table}"

    def _relation(self, request: TableRequest, path: TablePath, table: FoundTable) -> _Found | None:
        if request.query:
            return self._query(request, (path, table))
        if not table.readable:
            shown, user = f"{path.schema}.{path.table}", self.db.info.user
            self.found.not_granted(
                path, shown, f"GRANT SELECT ON {quote(path.schema, path.table)} TO {quote(user)};"
                + ("" if table.usable else f" GRANT USAGE ON SCHEMA {quote(path.schema)} TO {quote(user)};"),
            )  # fmt: skip
        elif table.hides:
            self.found.fails(path, *row_security.of_source(path, self.db.info.user))
        elif not table.columns:
            self.found.fails(path, "it has no columns", "leave it out of the pattern, or give it a column")
        return _Found(request, path, table.columns, table, rows=table.rows, guess=table.guess)

    def _path(self, request: TableRequest) -> TablePath | None:
        try:
            path = TablePath.parse(request.path or "", schema_first=True)
        except ValueError as error:
            self.found.wrong(f"{request.label}: {error}")
            return None
        if path.database and path.database != self.database and not request.query:
            self.found.wrong(
                f"table {path}: a connection to database {self.database!r} cannot read database {path.database!r} "
                "(put a name that contains a dot in double quotes)"
            )
            return None
        return TablePath(self.database, path.schema or self.schema, path.table)

    def _matching(
        self, request: TableRequest, tables: dict[tuple[str, str], FoundTable]
    ) -> list[tuple[TableRequest, TablePath, FoundTable]]:
        try:
            pattern = name_pattern(request.path or "")
        except ValueError as error:
            self.found.wrong(f"{request.label}: {error}")
            return []
        found, before = [], len(self.found.left_out)
        choice = TableChoice.of(self.options)
        for table in tables.values():
            names = self._names(table.schema, table.name)
            if not any(map(pattern.fullmatch, names)) or catalog.OURS.fullmatch(table.name):
                continue
            path = TablePath(self.database, table.schema, table.name)
            if why := choice.why_not(TableKind.PARTITION if table.partition else _KINDS[table.kind], names):
                self.found.leaves_out(path, why)
            else:
                found.append((request, path, table))
        if not found:
            self.found.nothing_matches(f"{request.label} of {self.database}", request.path, before)
        return found

    def _name_missing(self, missing: Sequence[tuple[TableRequest, TablePath]]) -> None:
        if not missing:
            return
        near = catalog.near_names(self.db, [(path.schema, path.table) for _, path in missing])
        for request, path in missing:
            hint = near.get((path.schema, path.table))
            self.found.wrong(f"table {path} ({request.label}) does not exist" + (f"; {hint}" if hint else ""))

    def _query(self, request: TableRequest, known: tuple[TablePath, FoundTable] | None) -> _Found | None:
        assert request.query is not None
        try:
            found = catalog.describe_query(self.db, request.query)
        except psycopg.Error as error:
            self._failed_query(request, known[0] if known else self._unnamed(), error)
            return None
        names = [column.name for column in found.columns]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            self.found.wrong(f"{request.label}: the query returns {', '.join(twice)} twice; name them apart")
            return None
        if known is not None:
            path, table = known
        else:
            table = None
            name = catalog.name_of(self.db, found.table_oid) if found.table_oid else None
            path = TablePath(self.database, *name) if name else self._unnamed()
        return _Found(request, path, found.columns, table, request.query, guess=found.rows or 0)

    def _failed_query(self, request: TableRequest, path: TablePath, error: psycopg.Error) -> None:
        """Blame the job file for a wrong statement, and the table for one that is refused or blocked."""
        told = failure(error, f"{request.label}: the query cannot be run")
        state = error.sqlstate or ""
        if state.startswith("42") and state != "42501":
            self.found.wrong(told.message)
        else:
            self.found.fails(path, told.message, told.remedy)

    def _unnamed(self) -> TablePath:
        output = self.options.plugin_output
        return TablePath("", "", output) if output else TablePath("default", "default", "default")

    def _check_unique(self, found: Sequence[_Found | None]) -> None:
        seen: dict[TablePath, str] = {}
        for one in found:
            if one is None:
                continue
            if one.path in seen and one.request.label != seen[one.path]:
                self.found.wrong(
                    f"table {one.path} is read by {seen[one.path]} and by {one.request.label}; "
                    "give one another table_path"
                )
            seen.setdefault(one.path, one.request.label)

    # -------------------------------------------------- relations to source tables

    def _tables(self, found: Sequence[_Found]) -> list[SourceTable]:
        made = [(one, self._schema(one)) for one in found]
        large = [
            (one.table.schema, one.table.name, key)
            for one, (schema, _) in made
            if one.table
            and not one.query
            and (one.planned or 0) >= ROWS_WORTH_DIVIDING
            and (key := _leading_key(schema))
        ]
        order = catalog.correlations(self.db, large)
        places = self.db.info.server_version >= PLACES_SINCE
        return [
            SourceTable(
                schema, one.rows, one.size,
                self._hints(one, schema, columns, order.get, places).to_plain(),
            )
            for one, (schema, columns) in made
        ]  # fmt: skip

    def _schema(self, one: _Found) -> tuple[TableSchema, list[tuple[str, str]]]:
        columns: list[Column] = []
        expressions: list[tuple[str, str]] = []
        for found in one.columns:
            mapped = read_as(found.native)
            if mapped is None:
                self.found.unreadable(one.path, found.name, found.shown)
                continue
            dtype, expression = mapped
            if self.options.handle_blob_as_string and dtype.kind is Kind.BYTES:
                dtype, expression = DataType(Kind.STRING), "convert_from({0}, 'UTF8')"
            scale = found.native.modifier if dtype.kind in (Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ) else -1
            columns.append(
                Column(
                    found.name, dtype, found.nullable, length_of(found.native), scale if scale >= 0 else None,
                    comment=found.comment, native=found.shown if KEPT_BY_POSTGRES.fullmatch(found.shown) else "",
                    converted_from="" if is_exact(found.native) else found.shown,
                )
            )  # fmt: skip
            expressions.append(
                (found.name, expression.format(quote(found.name), found.array_type, literal(repr(found.name))))
            )
        names = {column.name for column in columns}
        keys = [key for key in (one.table.keys if one.table else []) if names.issuperset(key[1])]
        # A query's rows may repeat a table's key (a join); only the table itself proves it. Rows of inheriting tables
        # may repeat it as well, since its key does not cover them.
        proved = not one.query and (one.table is None or one.table.alone or not one.table.inherited)
        primary = next((PrimaryKey(key, name, proved) for name, key, is_primary in keys if is_primary), None)
        unique = tuple(
            ConstraintKey(name, ConstraintType.UNIQUE_KEY, tuple((column, "ASC") for column in key))
            for name, key, is_primary in keys
            if not is_primary
        )
        options = {NATIVE_OF: "postgres"} | ({"estimated_rows": str(one.planned)} if one.planned is not None else {})
        comment = one.table.comment if one.table else ""
        details = tuple(one.table.details) if one.table and not one.query else ()
        return TableSchema(
            one.path, tuple(columns), primary, unique, comment=comment, options=options, details=details
        ), expressions

    def _hints(
        self, one: _Found, schema: TableSchema, columns: list[tuple[str, str]],
        order: Callable[[tuple[str, str, str]], float | None], places: bool,
    ) -> Hints:  # fmt: skip
        table = one.table if not one.query else None
        wanted = one.request.partition.column
        key = wanted or _leading_key(schema)
        column = schema.column(key) if key else None
        if wanted and (column is None or column.dtype.kind not in DIVISIBLE):
            why = "is not a column of it" if column is None else f"is of type {column.dtype}, which has no ranges"
            self.found.wrong(f"table {one.path}: partition_column {wanted!r} {why}")
            key = ""
        correlation = order((table.schema, table.name, key)) if table and key else None
        in_order = abs(correlation or 0.0) >= IN_ORDER
        ordered = bool(table and key and schema.primary_key and schema.primary_key.columns == (key,))
        by_place = table is not None and table.kind in ("r", "m") and places and not wanted and not in_order
        only = "ONLY " if table and table.alone else ""
        return Hints(
            relation=f"{only}{quote(table.schema, table.name)}" if table else f"(\n{one.query}\n) AS q",
            columns=tuple(columns),
            where=one.request.where,
            key=key or "",
            ordered=ordered and (in_order or bool(wanted)),
            pages=table.pages if table and by_place else 0,
            sampled=table is not None and table.kind in ("r", "m", "p"),
            count=one.request.count,
            fulls=tuple(found.full for found in one.columns),
            guess=one.guess,
            partition=one.request.partition,
        )


def _leading_key(schema: TableSchema) -> str:
    """First column of the primary key, else of a unique key, if ranges can be made of it; else empty."""
    keys = [schema.primary_key.columns] if schema.primary_key else []
    keys += [tuple(name for name, _ in key.columns) for key in schema.constraints]
    for key in keys:
        column = schema.column(key[0])
        if column is not None and column.dtype.kind in DIVISIBLE:
            return column.name
    return ""
