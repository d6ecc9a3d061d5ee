"""Implements the dialect port for databases without a fast path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from seatunnel_connectors.jdbc.dialect import SinkRequest, Snapshot, SourceDialect, TableSink
from seatunnel_connectors.jdbc.generic import types
from seatunnel_connectors.jdbc.generic.session import GenericSession, explained, failure, sessions
from seatunnel_connectors.jdbc.generic.target_dialect import GenericSink, GenericTargetDialect
from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableKind
from seatunnel_connectors.jdbc.source.findings import Findings, Found
from seatunnel_connectors.jdbc.source.source import Hints, hints_of, range_of
from seatunnel_connectors.jdbc.source.splits import DIVISIBLE, Probe, as_plain
from seatunnel_connectors.jdbc.source.table_kinds import TableChoice
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.target.set_aside import elements
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Batch,
    Column,
    JobRegistry,
    Kind,
    NamePattern,
    Position,
    PrimaryKey,
    Rejected,
    SourceTable,
    Split,
    TablePath,
    TableSchema,
    name_pattern,
)

BATCH_ROWS = 5_000


class GenericSourceDialect(SourceDialect):
    name: ClassVar[str] = "sqlalchemy"

    def answer(self, address: Address, *, writing: bool) -> Mapping[str, str]:
        with explained(f"connecting to {address.display}"), sessions(address) as session:
            dialect = session.engine.dialect
            version = ".".join(map(str, getattr(dialect, "server_version_info", None) or ()))
        return {"server": f"{dialect.name} {version}".strip(), "database": address.database or ""}

    def describe(self, address: Address, requests: Sequence[TableRequest], options: JdbcSourceOptions) -> list[Found]:
        with explained(f"looking up tables of {address.display}"), sessions(address) as session:
            return _Describer(session, options).describe(requests)

    def snapshot(self, address: Address, tables: Sequence[SourceTable], registry: JobRegistry) -> Snapshot:
        return GenericSnapshot(address)

    def read(
        self, address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool = False
    ) -> Iterator[Batch | Rejected]:
        return _read(address, table, split, start, tolerant=tolerant)

    def sink(self, request: SinkRequest) -> TableSink:
        return GenericSink(request, GenericTargetDialect(request.address))


class _Describer:
    def __init__(self, session: GenericSession, options: JdbcSourceOptions) -> None:
        self.session = session
        self.options = options
        self.inspector = sa.inspect(session.connection)
        self.quote = session.engine.dialect.identifier_preparer.quote_identifier
        self.found = Findings()

    def describe(self, requests: Sequence[TableRequest]) -> list[Found]:
        tables = [table for request in requests for table in self._request(request)]
        return self.found.result(tables)

    def _request(self, request: TableRequest) -> list[SourceTable]:
        if request.query:
            return self._query(request)
        if request.pattern:
            try:
                pattern = name_pattern(request.path or "")
            except ValueError as error:
                self.found.wrong(f"{request.label}: {error}")
                return []
            found = self._matching(pattern)
            if not found:
                self.found.nothing_matches(request.label, request.path, 0)
            return [table for name in found for table in self._described(request, None, name)]
        try:
            wanted = TablePath.parse(request.path or "", schema_first=True)
        except ValueError as error:
            self.found.wrong(f"{request.label}: {error}")
            return []
        place, name = wanted.schema or None, wanted.table
        if not self.inspector.has_table(name, schema=place):
            self.found.wrong(f"table {request.path} ({request.label}) does not exist")
            return []
        return self._described(request, place, name)

    def _matching(self, pattern: NamePattern) -> list[str]:
        choice, found = TableChoice.of(self.options), []
        kinds = dict.fromkeys(self.inspector.get_table_names(), TableKind.TABLE)
        for name, kind in (kinds | dict.fromkeys(self.inspector.get_view_names(), TableKind.VIEW)).items():
            if not pattern.fullmatch(name):
                continue
            if why := choice.why_not(kind, [name]):
                self.found.leaves_out(TablePath(self.session.engine.url.database or "", "", name), why)
            else:
                found.append(name)
        return found

    def _described(self, request: TableRequest, schema: str | None, name: str) -> list[SourceTable]:
        path = TablePath(self.session.engine.url.database or "", schema or "", name)
        try:
            return [self._table(request, path, schema, name)]
        except SQLAlchemyError as error:
            self.session.connection.rollback()
            told = failure(error, "it cannot be described")
            self.found.fails(path, told.message, told.remedy)
            return []

    def _table(self, request: TableRequest, path: TablePath, schema: str | None, name: str) -> SourceTable:
        key = tuple(self.inspector.get_pk_constraint(name, schema=schema).get("constrained_columns") or ())
        found = [
            (one["name"], one["type"], bool(one.get("nullable", True)) and one["name"] not in key)
            for one in self.inspector.get_columns(name, schema=schema)
        ]
        primary = PrimaryKey(key, "", proved=True) if key else None
        table = TableSchema(path, self._columns(path, found), primary)
        relation = ".".join(self.quote(part) for part in (schema, name) if part)
        rows = int(self.session.ask(f"SELECT count(*) FROM {relation}")[0][0])
        table = TableSchema(path, table.columns, primary, options={"estimated_rows": str(rows)})
        return SourceTable(table, rows, None, self._hints(request, table, relation, whole=True).to_plain())

    def _query(self, request: TableRequest) -> list[SourceTable]:
        relation = f"(\n{request.query}\n) q"
        output = self.options.plugin_output
        path = TablePath("", "", output) if output else TablePath("default", "default", "default")
        if request.path:
            path = TablePath.parse(request.path)
        try:
            rows = self.session.connection.execute(sa.text(f"SELECT * FROM {relation}".replace(":", "\\:")))
            heads, sample = list(rows.keys()), [tuple(row) for row in rows.fetchmany(100)]
            rows.close()
            self.session.connection.rollback()
        except SQLAlchemyError as error:
            self.found.wrong(f"{request.label}: the query cannot be run: {getattr(error, 'orig', error)}")
            return []
        found = [(head, _sampled([row[at] for row in sample]), True) for at, head in enumerate(heads)]
        table = TableSchema(path, self._columns(path, found))
        return [SourceTable(table, None, None, self._hints(request, table, relation, whole=False).to_plain())]

    def _columns(self, path: TablePath, found: Sequence[tuple[str, Any, bool]]) -> tuple[Column, ...]:
        columns = []
        for name, native, nullable in found:
            read = types.read_as(native)
            if read is None:
                self.found.unreadable(path, name, str(native))
                continue
            columns.append(Column(name, read.dtype, nullable, read.length, converted_from=read.said))
        return tuple(columns)

    def _hints(self, request: TableRequest, table: TableSchema, relation: str, *, whole: bool) -> Hints:
        wanted = request.partition.column
        key = wanted or (table.key[0] if table.key else "")
        column = table.column(key) if key else None
        if wanted and (column is None or column.dtype.kind not in DIVISIBLE):
            why = "is not a column of it" if column is None else f"is of type {column.dtype}, which has no ranges"
            self.found.wrong(f"table {table.path}: partition_column {wanted!r} {why}")
        usable = column is not None and column.dtype.kind in DIVISIBLE
        alone = table.primary_key is not None and table.primary_key.columns == (key,)
        return Hints(
            relation=relation, columns=tuple((name, self.quote(name)) for name in table.names), where=request.where,
            key=key if usable else "", ordered=whole and usable and alone, count=request.count,
            partition=request.partition,
        )  # fmt: skip


def _sampled(values: list[Any]) -> sa.types.TypeEngine[Any]:
    """Type of the first rows of a query."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) == 1:
        kind = kinds.pop()
        if kind is int:
            return sa.BigInteger()
        return sa.sql.sqltypes._resolve_value_to_type(kind()) if kind in (float, bool, bytes) else _typed(kind)
    return sa.Double() if kinds and kinds <= {int, float} else sa.Text()


def _typed(kind: type) -> sa.types.TypeEngine[Any]:
    known: dict[str, sa.types.TypeEngine[Any]] = {
        "datetime": sa.DateTime(), "date": sa.Date(), "time": sa.Time(), "Decimal": sa.Numeric(),
    }  # fmt: skip
    return known.get(kind.__name__, sa.Text())


# ---------------------------------------------------------------- reading


def _literal(dtype: Kind, text: str) -> str:
    """A bound as a literal; numbers are unquoted, because some databases do not cast text in a comparison."""
    if dtype in (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DECIMAL):
        return text
    quoted = "'" + text.replace("'", "''") + "'"
    words = {Kind.DATE: "DATE ", Kind.TIMESTAMP: "TIMESTAMP ", Kind.TIMESTAMP_TZ: "TIMESTAMP "}
    return words.get(dtype, "") + quoted


def _read(
    address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool
) -> Iterator[Batch | Rejected]:
    hints = hints_of(table)
    schema = table.schema.arrow()
    what = f"reading table {table.schema.path}, split {split.id}"
    with explained(what), sessions(address) as session:
        quote = session.engine.dialect.identifier_preparer.quote_identifier
        sql = _select(hints, table, split, start, quote)
        in_order = hints.ordered and not split.payload.get("nulls")
        key_at = table.schema.names.index(hints.key) if in_order else -1
        text = sa.text(sql.replace(":", "\\:"))
        rows = session.connection.execution_options(stream_results=True).execute(text)
        begin = start
        try:
            for part in rows.partitions(BATCH_ROWS):
                block = list(part)

                def make(first: int, length: int, rows: list[Any] = block) -> pa.RecordBatch:
                    values = list(zip(*rows[first : first + length], strict=True))
                    arrays = [
                        types.to_column(list(values[at]), column.dtype, schema.field(at).type, column.name)
                        for at, column in enumerate(table.schema.columns)
                    ]
                    return pa.RecordBatch.from_arrays(arrays, schema=schema)

                def row(at: int, rows: list[Any] = block) -> dict[str, Any]:
                    return dict(zip(table.schema.names, rows[at], strict=True))

                end = Position({"after": as_plain(block[-1][key_at])}) if in_order else None
                yield from elements(
                    table.schema.path, len(block), make, row, start=begin, end=end, tolerant=tolerant, what=what,
                    remedy="correct the value, or cast the column with `query`",
                )  # fmt: skip
                begin = end
        except GeneratorExit:
            rows.close()
            session.connection.rollback()
            return
        session.connection.rollback()


def _select(hints: Hints, table: SourceTable, split: Split, start: Position | None, quote: Any) -> str:
    conditions = [f"({hints.where}\n)"] if hints.where else []
    if hints.key:
        column = table.schema.column(hints.key)
        assert column is not None
        kind, key = column.dtype.kind, quote(hints.key)
        if condition := range_of(split).condition(key, lambda text: _literal(kind, text)):
            conditions.append(condition)
        if start is not None:
            conditions.append(f"{key} > {_literal(kind, str(start.value['after']))}")
    sql = f"SELECT {', '.join(expression for _, expression in hints.columns)} FROM {hints.relation}"
    if conditions:
        sql += " WHERE " + " AND ".join(conditions)
    return sql + (f" ORDER BY {quote(hints.key)}" if hints.ordered and not split.payload.get("nulls") else "")


class GenericSnapshot(Snapshot):
    """Answers queries about keys; each split reads the database as of its own start."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def probe(self, table: SourceTable, column: str) -> Probe:
        return _GenericKeyProbe(self, table, column)

    def count(self, table: SourceTable) -> int:
        return int(self.ask(f"SELECT count(*) FROM {hints_of(table).source}")[0][0])

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        with explained(f"dividing a table of {self.address.display}"), sessions(self.address) as session:
            return session.ask(sql)

    def close(self) -> None:
        return None


class _GenericKeyProbe(Probe):
    def __init__(self, snapshot: GenericSnapshot, table: SourceTable, column: str) -> None:
        self.snapshot = snapshot
        self.hints = hints_of(table)
        found = table.schema.column(column)
        assert found is not None
        self.column = found
        with sessions(snapshot.address) as session:
            self.key = session.engine.dialect.identifier_preparer.quote_identifier(column)

    def bounds(self) -> tuple[Any, Any]:
        low, high = self.snapshot.ask(f"SELECT min({self.key}), max({self.key}) FROM {self.hints.source}")[0]
        return low, high

    def quantiles(self, parts: int, *, exact: bool) -> list[Any]:
        where = f"({self.hints.where}\n) AND " if self.hints.where else ""
        found = self.snapshot.ask(
            f"SELECT min(k) FROM (SELECT {self.key} AS k, ntile({parts}) OVER (ORDER BY {self.key}) AS part "
            f"FROM {self.hints.relation} WHERE {where}{self.key} IS NOT NULL) sampled GROUP BY part ORDER BY part"
        )
        return [value for (value,) in found[1:]]


DIALECT = GenericSourceDialect()
