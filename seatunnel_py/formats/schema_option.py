"""Defines the ``schema { … }`` option of connectors with declared columns, and the table that it declares.

A column's type is text (``decimal(10, 2)``) or, for a nested row, an object. Each connector decides about tables
without a declared schema.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, model_validator

from seatunnel_py.api import (
    Column,
    ConstraintKey,
    ConstraintType,
    DataType,
    Kind,
    Options,
    PrimaryKey,
    TablePath,
    TableSchema,
    at_most_one,
    option,
    parse_type,
)

DEFAULT_PATH = TablePath("default", "default", "default")
"""Identity of a table if neither ``schema.table`` nor ``plugin_output`` gives one."""

NESTING_MAX = 64  # deeper than any real row, and far from the interpreter's own limit


def read_type(declared: object, depth: int = 0) -> DataType:
    """Parse the type that a job file declares: text, an object of nested fields, or a type parsed before."""
    if isinstance(declared, DataType):
        return declared
    if depth > NESTING_MAX:
        raise ValueError(f"rows nested more than {NESTING_MAX} deep")
    if isinstance(declared, Mapping):
        if not declared:
            raise ValueError("a nested row needs at least one field")
        fields = tuple((str(name), read_type(inner, depth + 1)) for name, inner in declared.items())
        return DataType(Kind.ROW, fields=fields)
    if declared is None:
        raise ValueError('a type is missing; write the null type in quotes: "null"')
    if not isinstance(declared, str):
        raise ValueError(f"{declared!r} is not a type: write text such as bigint, or an object of nested fields")
    return parse_type(declared)


TypeOption = Annotated[Any, AfterValidator(read_type)]
"""A :class:`DataType` in any spelling of job files."""


def _kind(given: object) -> object:
    """Accept ``KEY`` for ``INDEX_KEY``: SeaTunnel's documentation uses one, its job files the other."""
    return ConstraintType.INDEX_KEY if isinstance(given, str) and given.strip().upper() == "KEY" else given


ConstraintKind = Annotated[ConstraintType, BeforeValidator(_kind)]


class SortType(StrEnum):
    ASC = "ASC"
    DESC = "DESC"


class ColumnOptions(Options):
    """One entry of ``columns``."""

    name: str = option(min_length=1, doc="name of the column")
    type: TypeOption = option(doc="type of the column, as text or as an object of nested fields")
    nullable: bool = option(True, doc="whether the column may hold null")
    column_length: int = option(0, key="columnLength", ge=0, doc="maximum length in characters or bytes; 0: no limit")
    column_scale: int | None = option(
        None, key="columnScale", ge=0, doc="digits after the point; for a vector, its number of elements"
    )
    default_value: Any = option(None, key="defaultValue", doc="value to use if the source gives none")
    comment: str = option("", doc="comment of the column")


class PrimaryKeyOptions(Options):
    name: str = option(doc="name of the key")
    column_names: tuple[str, ...] = option(
        key="columnNames", fallback=("columns",), min_length=1, doc="columns of the key, in order"
    )


_NO_VECTOR_INDEX = "accepted; of a VECTOR_INDEX_KEY, which no sink makes"


class ConstraintColumnOptions(Options):
    column_name: str = option(key="columnName", doc="column of the constraint")
    sort_type: SortType = option(SortType.ASC, key="sortType", doc="sort order of the column")
    index_name: str | None = option(None, key="indexName", doc=_NO_VECTOR_INDEX)
    index_type: str | None = option(None, key="indexType", doc=_NO_VECTOR_INDEX)
    metric_type: str | None = option(None, key="metricType", doc=_NO_VECTOR_INDEX)


class ConstraintOptions(Options):
    constraint_name: str = option(key="constraintName", doc="name of the constraint")
    constraint_type: ConstraintKind = option(
        ConstraintType.INDEX_KEY, key="constraintType", doc="kind of the constraint; KEY is an INDEX_KEY"
    )
    constraint_columns: tuple[ConstraintColumnOptions, ...] = option(
        key="constraintColumns", min_length=1, doc="columns of the constraint, in order"
    )


class SchemaOptions(Options):
    """The ``schema`` option: identity, columns and keys of one table. Every part is optional."""

    table: str | None = option(None, doc="name of the table: table, database.table or database.schema.table")
    schema_first: bool = option(False, doc="read `a.b` as schema and table, instead of database and table")
    comment: str = option("", doc="comment of the table")
    declared_fields: dict[str, TypeOption] | None = option(
        None, key="fields", doc="columns as name = type, all nullable"
    )
    columns: tuple[ColumnOptions, ...] | None = option(None, doc="columns with length, default and comment")
    primary_key: PrimaryKeyOptions | None = option(None, key="primaryKey", doc="primary key of the table")
    constraint_keys: tuple[ConstraintOptions, ...] = option(
        (), key="constraintKeys", doc="unique keys, indexes and other constraints"
    )
    partition_keys: tuple[str, ...] = option((), doc="columns by which the table is partitioned")

    rules = (at_most_one("declared_fields", "columns"),)

    @model_validator(mode="after")
    def _fits_together(self) -> SchemaOptions:
        if self.table is not None:
            TablePath.parse(self.table, schema_first=self.schema_first)
        names = [column.name for column in self.declared_columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"column declared twice: {', '.join(repeated)}")
        if names:
            for where, used in self._used_columns():
                check_columns(used, names, where)
        return self

    def _used_columns(self) -> Iterable[tuple[str, tuple[str, ...]]]:
        if self.primary_key:
            yield "primaryKey", self.primary_key.column_names
        for key in self.constraint_keys:
            where = f"constraint {key.constraint_name!r}"
            yield where, tuple(column.column_name for column in key.constraint_columns)
        yield "partition_keys", self.partition_keys

    @property
    def declared_columns(self) -> tuple[Column, ...]:
        """The columns of ``fields`` or ``columns``; empty if neither is given."""
        if self.declared_fields is not None:
            return tuple(Column(name, dtype) for name, dtype in self.declared_fields.items())
        return tuple(
            Column(
                name=entry.name,
                dtype=entry.type,
                nullable=entry.nullable,
                length=entry.column_length,
                scale=entry.column_scale,
                default=entry.default_value,
                comment=entry.comment,
            )
            for entry in self.columns or ()
        )


def _not_empty(schema: SchemaOptions) -> SchemaOptions:
    if not schema.declared_columns:
        raise ValueError("Schema config can not be empty: give `fields` or `columns`")
    return schema


DeclaredSchema = Annotated[SchemaOptions, AfterValidator(_not_empty)]
"""A schema that must name columns, for connectors that cannot discover them."""


def table_path(schema: SchemaOptions | None, plugin_output: str | None = None) -> TablePath:
    """Identity of a table: ``schema.table``, else ``plugin_output``, else ``default.default.default``."""
    if schema and schema.table is not None:
        return TablePath.parse(schema.table, schema_first=schema.schema_first)
    if not plugin_output:
        return DEFAULT_PATH
    try:
        return TablePath.parse(plugin_output)
    except ValueError:  # a step's name may contain dots that are not separators
        return TablePath("", "", plugin_output)


def table_schema(
    schema: SchemaOptions | None, plugin_output: str | None = None, columns: tuple[Column, ...] | None = None
) -> TableSchema:
    """The table that ``schema`` declares; ``columns`` are used if it names none.

    Raises ValueError if there are no columns at all.
    """
    path = table_path(schema, plugin_output)
    found = (schema.declared_columns if schema else ()) or columns or ()
    if not found:
        raise ValueError("Schema config can not be empty: give `schema.fields` or `schema.columns`")
    if schema is None:
        return TableSchema(path, found)
    names = [column.name for column in found]
    for where, used in schema._used_columns():
        check_columns(used, names, where)
    primary = schema.primary_key
    return TableSchema(
        path=path,
        columns=found,
        primary_key=PrimaryKey(primary.column_names, primary.name) if primary else None,
        constraints=tuple(
            ConstraintKey(
                key.constraint_name,
                key.constraint_type,
                tuple((column.column_name, column.sort_type.value) for column in key.constraint_columns),
            )
            for key in schema.constraint_keys
        ),
        partition_keys=schema.partition_keys,
        comment=schema.comment,
    )


def check_columns(used: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ValueError for the first unknown column, with the nearest known name."""
    names = list(known)
    for name in used:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; the columns are {', '.join(names)}"
            raise ValueError(f"{where}: there is no column {name!r}{hint}")


def check_unique(paths: Iterable[TablePath]) -> None:
    """Raise ValueError if two entries of one source describe the same table."""
    seen: set[TablePath] = set()
    for path in paths:
        if path in seen:
            raise ValueError(f"table {path} is declared twice: give each entry a `schema.table` of its own")
        seen.add(path)
