"""Converts Python rows to Arrow batches. Raises BadRowsError for a value that the column would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.schema import Column, TableSchema
from seatunnel_py.api.text.shown import value_text
from seatunnel_py.api.types import DataType, Kind, to_arrow
from seatunnel_py.errors import BadRowsError, FatalError

if TYPE_CHECKING:
    import pyarrow as pa


def batch_of_rows(rows: Sequence[Mapping[str, Any]], table: TableSchema) -> pa.RecordBatch:
    """Convert rows to a batch of the table. A missing name becomes null; an unknown name raises FatalError."""
    import pyarrow as pa

    names = set(table.names)
    for row in rows:
        if not names.issuperset(row):
            unknown = ", ".join(repr(name) for name in row if name not in names)
            raise FatalError(
                f"table {table.path}: a row has {unknown}, which is not a column",
                f"the columns are {', '.join(table.names)}: yield these names, or declare the column",
            )
    arrays = [_array([row.get(column.name) for row in rows], column, table) for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=table.arrow())


def _array(values: list[Any], column: Column, table: TableSchema) -> pa.Array:
    import pyarrow as pa

    where, remedy = f"table {table.path}, column {column.name!r}", f"yield values of the type {column.dtype}"
    try:
        array = pa.array(values, to_arrow(column.dtype))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise BadRowsError(f"{where}: {error}", remedy) from None
    for given, held in zip(values, array.to_pylist(), strict=True):
        if not _is_same(given, held, column.dtype):
            raise BadRowsError(f"{where}: {value_text(given)} would become {value_text(held)}", remedy)
    return array


def _is_same(given: Any, held: Any, dtype: DataType) -> bool:
    """Return True if Arrow keeps the value unchanged. Arrow silently drops fractions, zones and times of day."""
    if given is None or held is None:
        return given is held
    match dtype.kind:
        case Kind.FLOAT | Kind.DOUBLE | Kind.FLOAT_VECTOR | Kind.FLOAT16_VECTOR | Kind.SPARSE_FLOAT_VECTOR:
            return True  # binary floating-point numbers always round to the nearest
        case Kind.ARRAY:
            return all(_is_same(one, other, dtype.element or dtype) for one, other in zip(given, held, strict=True))
        case Kind.MAP:
            pairs = list(given.items()) if isinstance(given, Mapping) else given
            return all(
                one == other and _is_same(item, found, dtype.element or dtype)
                for (one, item), (other, found) in zip(pairs, held, strict=True)
            )
        case Kind.ROW:
            fields = dict(dtype.fields)
            return fields.keys() >= given.keys() and all(
                _is_same(given.get(name), held[name], inner) for name, inner in fields.items()
            )
    return bool(given == held)
