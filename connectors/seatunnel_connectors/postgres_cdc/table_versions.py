"""Compares a table of the log with the schema of the plan, and describes the difference as a change of the schema.

Rules. (1) The log describes names, types and the replica identity only; a column that is not new keeps its nullability
until a null comes. (2) A column is renamed if its attribute number is still in use: the catalog never gives a number
twice, so that holds even if the catalog is later than the log. (3) Earlier rows have the catalog's missing value in an
added column; if the server has written them again instead, without saying so in the log, the table stops. (4) So does a
table with another key: its target knows its rows by the earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained
from seatunnel_connectors.jdbc.postgres.connection.types import NativeType, is_exact, length_of
from seatunnel_connectors.jdbc.target.target_plan import KEPT_BY_POSTGRES
from seatunnel_connectors.postgres_cdc.pgoutput.relations import TableVersion
from seatunnel_connectors.postgres_cdc.table_checks import ATTRIBUTES
from seatunnel_py.api import (
    Batch,
    Column,
    DataType,
    FatalError,
    Kind,
    RowKind,
    SchemaChange,
    SourceTable,
    TableSchema,
)

DEFAULT_IDENTITY = "d"
COPY_AGAIN = "start the job again with --fresh, which copies the table as it is now"
_NOW = """
    SELECT c.name, format_type(c.type, c.modifier), a.attnum::int,
           coalesce(a.atthasdef OR a.attidentity <> '', false), coalesce(a.atthasmissing, false),
           (a.attmissingval::text::text[])[1]
    FROM unnest(%s::text[], %s::oid[], %s::int[]) WITH ORDINALITY AS c (name, type, modifier, place)
    LEFT JOIN pg_attribute a ON a.attrelid = %s AND a.attname = c.name AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.place
"""
_LIVE = """
    SELECT attnum::int, attname::text FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
"""


@dataclass(frozen=True, slots=True)
class _CatalogColumn:
    """A column of the log, as the catalog has it now. ``number`` is None if there is none of that name."""

    full: str
    number: int | None
    filled: bool
    has_missing: bool
    missing: str | None


@dataclass(slots=True)
class TableVersions:
    """The tables of the plan. ``fits`` keeps the versions of the log that were compared."""

    tables: Mapping[Any, SourceTable]
    _alike: dict[tuple[int, int], bool] = field(default_factory=dict)

    def fits(self, version: TableVersion) -> bool:
        """Whether the log describes the table as the plan does."""
        key = version.relation.oid, version.number
        if key not in self._alike:
            table = self.tables[version.path]
            self._alike[key] = _has_same_columns(version, table) and not _has_other_key(version, table.schema)
        return self._alike[key]

    def change(self, db: Statements, version: TableVersion) -> SchemaChange:
        """The difference, once ``fits`` is false. FatalError if the table has to stop."""
        table = self.tables[version.path]
        if _has_other_key(version, table.schema):
            flagged = ", ".join(one.name for one in version.relation.columns if one.identity) or "no column"
            raise FatalError(f"table {version.path} has another key now: {flagged}", COPY_AGAIN)
        with explained(f"looking at the columns of {version.path}"):
            return _change(table, version, _columns_now(db, version), _live(db, version))

    def made_nullable(self, batch: Batch) -> SchemaChange | None:
        """The change that a null in a column without nulls shows; the log describes no such change."""
        schema = self.tables[batch.table].schema
        names = [
            column.name
            for at, column in enumerate(schema.columns)
            if not column.nullable and batch.data.column(at).null_count and _has_null(batch, at)
        ]
        if not names:
            return None
        columns = tuple(replace(one, nullable=one.nullable or one.name in names) for one in schema.columns)
        statement = "; ".join(f"ALTER COLUMN {name} DROP NOT NULL" for name in names)
        return SchemaChange(
            batch.table, schema, replace(schema, columns=columns), statement=statement,
            log_hints=self.tables[batch.table].log_hints,
        )  # fmt: skip


def _has_null(batch: Batch, at: int) -> bool:
    """Whether a row that was sent whole has a null there: deleted rows hold their key only."""
    import pyarrow as pa
    import pyarrow.compute as pc

    null = batch.data.column(at).is_null()
    if batch.absent is not None:
        null = pc.and_not(null, batch.absent.column(at))
    if batch.kinds is not None:
        gone = pc.is_in(batch.kinds, pa.array([RowKind.DELETE, RowKind.UPDATE_BEFORE], pa.uint8()))
        null = pc.and_not(null, gone)
    return bool(pc.any(null).as_py())


def _has_same_columns(version: TableVersion, table: SourceTable) -> bool:
    known = _attributes(table)
    columns = version.relation.columns
    if not known:  # a record of an older version
        wanted = tuple((column.name, column.dtype) for column in table.schema.columns)
        return tuple(zip(version.relation.names, version.types, strict=True)) == wanted
    found = [(one.name, one.type_oid, one.modifier) for one in columns]
    return found == [(name, *known[name][1:]) for name in table.schema.names]


def _attributes(table: SourceTable) -> dict[str, tuple[int, int, int]]:
    """Number, type and modifier of each column."""
    found: Any = table.log_hints.get(ATTRIBUTES) or {}
    return {name: (number or 0, kind, modifier) for name, (number, kind, modifier) in found.items()}


def _has_other_key(version: TableVersion, schema: TableSchema) -> bool:
    key = schema.primary_key
    if key is None or not key.proved or version.relation.replica_identity != DEFAULT_IDENTITY:
        return False
    flagged = sum(one.identity for one in version.relation.columns)
    return flagged != len(key.columns)


def _columns_now(db: Statements, version: TableVersion) -> list[_CatalogColumn]:
    columns = version.relation.columns
    rows = db.execute(
        _NOW,
        [
            [one.name for one in columns], [one.type_oid for one in columns], [one.modifier for one in columns],
            version.relation.oid,
        ],
    ).fetchall()  # fmt: skip
    return [_CatalogColumn(*row[1:]) for row in rows]


def _live(db: Statements, version: TableVersion) -> dict[int, str]:
    return dict(db.execute(_LIVE, [version.relation.oid]).fetchall())


def _change(
    table: SourceTable, version: TableVersion, now: Sequence[_CatalogColumn], live: Mapping[int, str]
) -> SchemaChange:
    schema, path = table.schema, version.path
    attributes = _attributes(table)
    numbers = {name: number for name, (number, _, _) in attributes.items()}
    catalog = dict(zip(version.relation.names, now, strict=True))
    renamed = _renamed(schema, version, catalog, numbers, live)
    before_names = {new: old for old, new in renamed.items()}
    columns, statements = [], [f"RENAME COLUMN {old} TO {new}" for old, new in renamed.items()]
    found: dict[str, Any] = {}
    for at, (name, dtype, native) in enumerate(
        zip(version.relation.names, version.types, version.natives, strict=True)
    ):
        logged, earlier_name = version.relation.columns[at], before_names.get(name, name)
        earlier = schema.column(earlier_name)
        number = numbers.get(earlier_name, catalog[name].number)
        found[name] = [number, logged.type_oid, logged.modifier]
        if number and catalog[name].number not in (None, number):
            raise FatalError(f"table {path}: column {name!r} was dropped and added again", COPY_AGAIN)
        column = _column(name, dtype, native, catalog[name].full, earlier)
        if earlier is None:
            column = replace(column, default=_missing(path, column, catalog[name], numbers, live, catalog))
            statements.append(f"ADD COLUMN {name} {catalog[name].full}")
        elif attributes.get(earlier_name, (0, 0, 0))[1:] != (logged.type_oid, logged.modifier):
            statements.append(f"ALTER COLUMN {name} TYPE {catalog[name].full}")
        columns.append(column)
    gone = [name for name in schema.names if name not in version.relation.names and name not in renamed]
    statements += [f"DROP COLUMN {name}" for name in gone]
    after = _with_columns(schema, tuple(columns), renamed)
    if schema.primary_key is not None and after.primary_key is None:
        raise FatalError(f"table {path} has lost a column of its key ({'; '.join(statements)})", COPY_AGAIN)
    return SchemaChange(
        path, schema, after, statement="; ".join(statements), renamed=renamed, log_hints={ATTRIBUTES: found}
    )


def _renamed(
    schema: TableSchema, version: TableVersion, catalog: Mapping[str, _CatalogColumn], numbers: Mapping[str, int],
    live: Mapping[int, str],
) -> dict[str, str]:  # fmt: skip
    """The renamed columns by their earlier names (rule 2)."""
    added = [name for name in version.relation.names if schema.column(name) is None]
    unknown = [name for name in added if catalog[name].number is None]
    found = {}
    for name in schema.names:
        if name in version.relation.names or not added:
            continue
        number = numbers.get(name) or None
        if number is not None and number not in live:
            continue  # it was dropped
        now = live.get(number, "") if number is not None else ""
        new = now if now in added else unknown[0] if len(unknown) == 1 and number is not None else ""
        if not new:
            raise FatalError(
                f"table {version.path}: column {name!r} has another name or is gone, which the catalog does not show "
                "any more",
                COPY_AGAIN,
            )
        found[name] = new
    return found


def _column(name: str, dtype: DataType, native: NativeType, full: str, earlier: Column | None) -> Column:
    scale = native.modifier if dtype.kind in (Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ) else -1
    return Column(
        name, dtype, earlier is None or earlier.nullable, length_of(native), scale if scale >= 0 else None,
        comment=earlier.comment if earlier else "", native=full if KEPT_BY_POSTGRES.fullmatch(full) else "",
        converted_from="" if is_exact(native) else full,
    )  # fmt: skip


def _missing(
    path: object, column: Column, now: _CatalogColumn, numbers: Mapping[str, int], live: Mapping[int, str],
    catalog: Mapping[str, _CatalogColumn],
) -> str | None:  # fmt: skip
    """The value of earlier rows in an added column (rule 3), as text."""
    if now.has_missing:
        return now.missing
    known = {one.number for one in catalog.values()} | set(numbers.values())
    if now.filled or (now.number is None and any(number not in known for number in live)):
        raise FatalError(
            f"table {path}: column {column.name!r} was added, and the log does not hold its value in earlier rows",
            COPY_AGAIN,
        )
    return None


def _with_columns(schema: TableSchema, columns: tuple[Column, ...], renamed: Mapping[str, str]) -> TableSchema:
    key = schema.primary_key
    if key is not None:
        key = replace(key, columns=tuple(renamed.get(name, name) for name in key.columns))
    constraints = tuple(
        replace(one, columns=tuple((renamed.get(name, name), order) for name, order in one.columns))
        for one in schema.constraints
    )
    return replace(schema, primary_key=key, constraints=constraints, details=()).with_columns(columns)
