"""Compares a table of the log with the schema of the plan, and describes the difference as a change of the schema.

Rules. (1) The log describes names, types and the replica identity only; a column that is not new keeps its nullability
until a null comes. (2) A column is renamed if it has the attribute number of an earlier one
(``pgoutput/column_identities.py``). (3) Earlier rows have the catalog's missing value in an
added column; if the server has written them again instead, without saying so in the log, the table stops. (4) So does a
table with another key: its target knows its rows by the earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained
from seatunnel_connectors.jdbc.postgres.connection.types import NativeType, is_exact, length_of
from seatunnel_connectors.jdbc.target.target_plan import KEPT_BY_POSTGRES
from seatunnel_connectors.postgres_cdc.pgoutput.column_identities import (
    UNKNOWN,
    Attribute,
    UnclearColumnError,
    identities,
)
from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationColumn, TableVersion
from seatunnel_connectors.postgres_cdc.replication.captured_tables import OID
from seatunnel_connectors.postgres_cdc.table_checks import ATTRIBUTES
from seatunnel_py.api import (
    COPY_AGAIN,
    Batch,
    Column,
    DataType,
    FatalError,
    Kind,
    Plain,
    RowKind,
    SchemaChange,
    SourceTable,
    TablePath,
    TableSchema,
)

DEFAULT_IDENTITY = "d"
_FULL_NAMES = """
    SELECT format_type(c.type, c.modifier)
    FROM unnest(%s::oid[], %s::int[]) WITH ORDINALITY AS c (type, modifier, place) ORDER BY c.place
"""
_ATTRIBUTES = """
    SELECT attnum::int, attname::text, atttypid::int8, atttypmod, atthasdef OR attidentity <> '', atthasmissing,
           (attmissingval::text::text[])[1], attisdropped, attgenerated <> ''
    FROM pg_attribute WHERE attrelid = %s AND attnum > 0
"""


@dataclass(frozen=True, slots=True)
class _Catalog:
    """The table in the catalog, which may be later than the log. ``attributes``: its columns, with dropped ones;
    ``full``: type names of the columns in the log; ``needs_values``: of earlier rows in added columns."""

    attributes: Sequence[Attribute]
    full: Mapping[str, str]
    needs_values: bool

    def numbered(self, number: int) -> Attribute | None:
        """The column with this number, if it is not dropped."""
        return next((one for one in self.attributes if one.number == number and not one.dropped), None)

    def named(self, name: str) -> Attribute | None:
        """The column that has this name now."""
        return next((one for one in self.attributes if one.name == name and not one.dropped), None)


@dataclass(slots=True)
class TableVersions:
    """The tables of the plan. ``fits`` keeps the versions of the log that were compared. ``needs_earlier_values``:
    tables whose earlier rows need the value of an added column; else they have null in one whose value is unknown."""

    tables: Mapping[Any, SourceTable]
    needs_earlier_values: Collection[TablePath] = ()
    _alike: dict[tuple[int, int], bool] = field(default_factory=dict)

    def fits(self, version: TableVersion) -> bool:
        """Whether the log describes the table as the plan does."""
        key = version.relation.oid, version.number
        if key not in self._alike:
            table = self.tables[version.path]
            self._alike[key] = _has_same_columns(version, table) and not _has_other_key(version, table.schema)
        return self._alike[key]

    def change(self, db: Statements, version: TableVersion) -> SchemaChange:
        """The difference, once ``fits`` is false. Raises FatalError if the table has to stop."""
        table = self.tables[version.path]
        if _has_other_key(version, table.schema):
            flagged = ", ".join(one.name for one in version.relation.columns if one.identity) or "no column"
            raise FatalError(f"table {version.path} has another key now: {flagged}", COPY_AGAIN)
        with explained(f"looking at the columns of {version.path}"):
            needs = version.path in self.needs_earlier_values
            return _change(table, version, _catalog(db, version, table, needs_values=needs))

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


def _catalog(db: Statements, version: TableVersion, table: SourceTable, *, needs_values: bool) -> _Catalog:
    columns = version.relation.columns
    types = [[one.type_oid for one in columns], [one.modifier for one in columns]]
    full = [str(row[0]) for row in db.execute(_FULL_NAMES, types).fetchall()]
    found = [Attribute(*row) for row in db.execute(_ATTRIBUTES, [version.relation.oid]).fetchall()]
    return _Catalog(found, dict(zip(version.relation.names, full, strict=True)), needs_values)


def _change(table: SourceTable, version: TableVersion, catalog: _Catalog) -> SchemaChange:
    schema, path = table.schema, version.path
    known = {name: _attributes(table).get(name, (UNKNOWN, 0, 0)) for name in schema.names}
    numbers = _numbers(version, {name: number for name, (number, _, _) in known.items()}, catalog)
    earlier_names = _earlier_names(version, numbers, {name: number for name, (number, _, _) in known.items()})
    renamed = {old: new for new, old in earlier_names.items() if old != new}
    columns, statements = [], [f"RENAME COLUMN {old} TO {new}" for old, new in renamed.items()]
    attributes: dict[str, Plain] = {}
    described = zip(version.relation.columns, version.types, version.natives, numbers, strict=True)
    for logged, dtype, native, number in described:
        name, full = logged.name, catalog.full[logged.name]
        earlier_name = earlier_names.get(name)
        earlier = None if earlier_name is None else schema.column(earlier_name)
        column = _column(name, dtype, native, full, earlier)
        if earlier_name is None:
            column = replace(column, default=_missing(path, name, number, catalog))
            statements.append(f"ADD COLUMN {name} {full}")
        else:
            _require_same(path, name, logged, catalog, number)
            if known[earlier_name][1:] != (logged.type_oid, logged.modifier):
                statements.append(f"ALTER COLUMN {name} TYPE {full}")
        attributes[name] = [number, logged.type_oid, logged.modifier]
        columns.append(column)
    gone = [name for name in schema.names if name not in earlier_names.values()]
    statements += [f"DROP COLUMN {name}" for name in gone]
    after = _with_columns(schema, tuple(columns), renamed)
    if schema.primary_key is not None and after.primary_key is None:
        raise FatalError(f"table {path} has lost a column of its key ({'; '.join(statements)})", COPY_AGAIN)
    hints = {ATTRIBUTES: attributes, **{name: hint for name, hint in table.log_hints.items() if name == OID}}
    return SchemaChange(path, schema, after, statement="; ".join(statements), renamed=renamed, log_hints=hints)


def _numbers(version: TableVersion, plan: Mapping[str, int], catalog: _Catalog) -> tuple[int, ...]:
    try:
        return identities(plan, version.relation.columns, catalog.attributes, needs_all=catalog.needs_values)
    except UnclearColumnError as error:
        raise _unclear(version.path, error.name) from None


def _earlier_names(version: TableVersion, numbers: Sequence[int], plan: Mapping[str, int]) -> dict[str, str]:
    """The columns of the plan by their names in the log (rule 2)."""
    named = {number: name for name, number in plan.items() if number > 0}
    found = {}
    for name, number in zip(version.relation.names, numbers, strict=True):
        earlier = named.get(number) if number > 0 else name if name in plan else None
        if earlier != name and name in plan:
            raise _unclear(version.path, name)
        if earlier is not None:
            found[name] = earlier
    lost = [name for name, number in plan.items() if number == UNKNOWN and name not in found.values()]
    if lost and len(found) < len(numbers):
        raise _unclear(version.path, lost[0])
    return found


def _unclear(path: object, name: str) -> FatalError:
    return FatalError(
        f"table {path}: column {name!r} has had another name, or is gone, which the catalog does not show any more",
        COPY_AGAIN,
    )


def _require_same(path: object, name: str, logged: RelationColumn, catalog: _Catalog, number: int) -> None:
    """Refuse a column that was dropped and added again with the same type: the log does not show it."""
    now = catalog.named(name)
    alike = now is not None and (now.type_oid, now.modifier) == (logged.type_oid, logged.modifier)
    if number > 0 and now is not None and alike and now.number != number and catalog.numbered(number) is None:
        raise FatalError(f"table {path}: column {name!r} was dropped and added again", COPY_AGAIN)


def _missing(path: object, name: str, number: int, catalog: _Catalog) -> str | None:
    """The value of earlier rows in an added column; None: null, or it is dropped by now. Raises FatalError if it cannot
    be known (rule 3)."""
    found = catalog.numbered(number)
    if found is None:
        return None
    if found.filled and not found.has_missing and catalog.needs_values:
        raise FatalError(
            f"table {path}: column {name!r} was added, and the log does not hold its value in earlier rows", COPY_AGAIN
        )
    return found.missing


def _column(name: str, dtype: DataType, native: NativeType, full: str, earlier: Column | None) -> Column:
    scale = native.modifier if dtype.kind in (Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ) else -1
    return Column(
        name, dtype, earlier is None or earlier.nullable, length_of(native), scale if scale >= 0 else None,
        comment=earlier.comment if earlier else "", native=full if KEPT_BY_POSTGRES.fullmatch(full) else "",
        converted_from="" if is_exact(native) else full,
    )  # fmt: skip


def _with_columns(schema: TableSchema, columns: tuple[Column, ...], renamed: Mapping[str, str]) -> TableSchema:
    key = schema.primary_key
    if key is not None:
        key = replace(key, columns=tuple(renamed.get(name, name) for name in key.columns))
    constraints = tuple(
        replace(one, columns=tuple((renamed.get(name, name), order) for name, order in one.columns))
        for one in schema.constraints
    )
    return replace(schema, primary_key=key, constraints=constraints, details=()).with_columns(columns)
