"""Converts rows between our batches and Spark: the few Arrow types that differ, both ways.

Spark uses times in nanoseconds, has no half floats, and has decimals of 38 digits (``plan.sql.queried``); everything
else is the same on both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from seatunnel_py.api.types import ValueMisfitError, convert
from seatunnel_py.errors import BadRowsError
from seatunnel_py.plan.sql.query_types import queried

if TYPE_CHECKING:
    from seatunnel_py.api.schema import TableSchema


def wire_schema(schema: pa.Schema) -> pa.Schema:
    """The Arrow schema that Spark needs for rows of ``schema``; every column may be null."""
    return pa.schema([pa.field(field.name, _wire_type(field.type)) for field in schema])


def _wire_type(dtype: pa.DataType) -> pa.DataType:
    if pa.types.is_time(dtype):
        return pa.time64("ns")
    if pa.types.is_float16(dtype):
        return pa.float32()
    if pa.types.is_map(dtype):
        return pa.map_(_wire_type(dtype.key_type), _wire_type(dtype.item_type))
    if pa.types.is_list(dtype):
        return pa.list_(_wire_type(dtype.value_type))
    if pa.types.is_struct(dtype):
        return pa.struct([pa.field(field.name, _wire_type(field.type)) for field in dtype])
    return dtype


def to_wire(data: pa.RecordBatch, table: TableSchema) -> pa.RecordBatch:
    """Rows of ``table`` as a query sees them. Raises BadRowsError for a value that no type of Spark's holds."""
    seen = queried(table)
    arrays = []
    for array, column, target in zip(data.columns, table.columns, seen.columns, strict=True):
        if column.dtype != target.dtype:
            try:
                array = convert(array, column.dtype, target.dtype)
            except ValueMisfitError as error:
                raise BadRowsError(
                    f"table {table.path}: column {column.name!r}: {error}, which is its type in a query",
                    "convert the column before the query, or take it out with Filter",
                    error.row,
                ) from None
        arrays.append(array)
    schema = wire_schema(seen.arrow())
    columns = [_as(array, field.type) for array, field in zip(arrays, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def from_wire(data: pa.RecordBatch | pa.Table, table: TableSchema) -> pa.RecordBatch:
    """Rows from Spark as rows of ``table``; other columns are dropped."""
    schema = table.arrow()
    columns = [_as(data.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _as(column: pa.Array, dtype: pa.DataType) -> pa.Array:
    return column if column.type.equals(dtype) else column.cast(dtype)
