"""Converts columns and rows to text or JSON, for transforms that work on text of any column type."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import Column, DataType, Kind, shown_values
from seatunnel_py.formats.row_text import text_of
from seatunnel_py.formats.value_text import decimal_text, iso_text

if TYPE_CHECKING:
    import pyarrow as pa

# Arrow writes these as Java does; the others (floating point, times) are converted value by value.
_CAST = frozenset({Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NULL})
_CONTAINERS = frozenset({Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.BYTES})


def is_scalar(column: Column) -> bool:
    """True if a value of the column is a single text, not a container or bytes."""
    return column.dtype.kind not in _CONTAINERS and not column.dtype.kind.endswith("vector")


def as_text(values: pa.Array, column: Column) -> pa.StringArray:
    """The values as Java's ``String.valueOf`` writes them; null stays null."""
    import pyarrow as pa

    kind = column.dtype.kind
    if kind is Kind.STRING:
        return values
    if kind in _CAST:
        return values.cast(pa.string())
    if kind is Kind.DATE:
        return iso_text(values)
    if kind is Kind.DECIMAL:
        return decimal_text(values)
    dtype = column.dtype
    texts = (None if value is None else text_of(value, dtype) for value in shown_values(values))
    return pa.array(texts, pa.string())


def json_data(value: Any, dtype: DataType, row: Callable[[dict[str, Any]], Any] = dict) -> Any:
    """A value of the type as JSON data: objects for rows and maps, base64 for bytes, text for dates and times. ``row``
    makes the object of a row."""
    if value is None:
        return None
    match dtype.kind:
        case Kind.ARRAY:
            assert dtype.element is not None
            inner = dtype.element
            return [json_data(item, inner, row) for item in value]
        case Kind.MAP:
            assert dtype.key is not None and dtype.element is not None
            key, inner = dtype.key, dtype.element
            return {text_of(name, key): json_data(item, inner, row) for name, item in value}
        case Kind.SPARSE_FLOAT_VECTOR:
            return {str(index): item for index, item in value}
        case Kind.ROW:
            return row({name: json_data(value[name], inner, row) for name, inner in dtype.fields})
        case Kind.BYTES | Kind.BINARY_VECTOR | Kind.BFLOAT16_VECTOR:
            return base64.b64encode(value).decode()
        case Kind.DATE | Kind.TIME | Kind.TIMESTAMP | Kind.TIMESTAMP_TZ:
            return text_of(value, dtype)
        case _:
            return value
