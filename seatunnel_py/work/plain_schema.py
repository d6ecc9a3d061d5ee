"""Schemas as plain data, for results of units and for records: a log is read under the schema of its position, which is
not the one of today.

Defaults are omitted, for a record may hold hundreds of tables. The parts of a definition that only the creation of a
target needs (``TableSchema.details``) are omitted as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from seatunnel_py.api.schema import Column, ConstraintKey, ConstraintType, PrimaryKey, TablePath, TableSchema
from seatunnel_py.api.source import SourceTable
from seatunnel_py.api.types import DataType, Kind

_COLUMN = tuple(one for one in fields(Column) if one.name not in ("name", "dtype"))


def table_plain(table: SourceTable) -> dict[str, Any]:
    """Convert a table of a log to plain data."""
    plain = _schema_plain(table.schema)
    if table.log_hints:
        plain["log_hints"] = dict(table.log_hints)
    if table.projection is not None:
        plain["projection"] = _schema_plain(table.projection)
    return plain


def _schema_plain(schema: TableSchema) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "path": [schema.path.database, schema.path.schema, schema.path.table],
        "columns": [_column_plain(column) for column in schema.columns],
    }
    if schema.primary_key is not None:
        key = schema.primary_key
        plain["key"] = [list(key.columns), key.name, key.proved]
    if schema.constraints:
        plain["constraints"] = [[one.name, one.type.value, [list(pair) for pair in one.columns]]
                                for one in schema.constraints]  # fmt: skip
    if schema.partition_keys:
        plain["partition_keys"] = list(schema.partition_keys)
    if schema.comment:
        plain["comment"] = schema.comment
    if schema.options:
        plain["options"] = dict(schema.options)
    return plain


def table_of(plain: Mapping[str, Any]) -> SourceTable:
    """The inverse of ``table_plain``."""
    projection = plain.get("projection")
    return SourceTable(
        _schema_of(plain), log_hints=dict(plain.get("log_hints", {})),
        projection=None if projection is None else _schema_of(projection),
    )  # fmt: skip


def _schema_of(plain: Mapping[str, Any]) -> TableSchema:
    key = plain.get("key")
    return TableSchema(
        TablePath(*plain["path"]),
        tuple(_column_of(one) for one in plain["columns"]),
        PrimaryKey(tuple(key[0]), key[1], key[2]) if key else None,
        tuple(_constraints_of(plain.get("constraints", ()))),
        tuple(plain.get("partition_keys", ())),
        plain.get("comment", ""),
        dict(plain.get("options", {})),
    )


def _column_plain(column: Column) -> list[Any]:
    rest = {one.name: value for one in _COLUMN if (value := getattr(column, one.name)) != one.default}
    return [column.name, type_plain(column.dtype), *([rest] if rest else [])]


def _column_of(plain: Iterable[Any]) -> Column:
    name, dtype, *rest = plain
    return Column(name, type_of(dtype), **(rest[0] if rest else {}))


def _constraints_of(plain: Iterable[Any]) -> Iterable[ConstraintKey]:
    for name, kind, columns in plain:
        yield ConstraintKey(name, ConstraintType(kind), tuple((column, order) for column, order in columns))


def type_plain(dtype: DataType) -> Any:
    """Convert a type to plain data: its name alone if it has nothing else."""
    rest: dict[str, Any] = {}
    for one in fields(DataType)[1:]:
        value = getattr(dtype, one.name)
        if value == one.default:
            continue
        if one.name == "fields":
            rest["fields"] = [[name, type_plain(inner)] for name, inner in value]
        else:
            rest[one.name] = type_plain(value) if isinstance(value, DataType) else value
    return [dtype.kind.value, rest] if rest else dtype.kind.value


def type_of(plain: Any) -> DataType:
    """The inverse of ``type_plain``."""
    if isinstance(plain, str):
        return DataType(Kind(plain))
    kind, rest = plain
    found: dict[str, Any] = {name: type_of(one) if name in ("element", "key") else one for name, one in rest.items()}
    if "fields" in found:
        found["fields"] = tuple((name, type_of(inner)) for name, inner in rest["fields"])
    return DataType(Kind(kind), **found)
