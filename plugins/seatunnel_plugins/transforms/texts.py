"""Columns as text, for transforms that work on text whatever the column's type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_connectors.row_text import text_of
from seatunnel_py.api import Column, Kind

if TYPE_CHECKING:
    import pyarrow as pa

# Arrow writes these as Java does; the others (floating point, times) go value by value.
_CAST = frozenset({Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DATE, Kind.NULL})
_CONTAINERS = frozenset({Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.BYTES})


def is_scalar(column: Column) -> bool:
    """Whether a value of the column is one text, not a container of values or of bytes."""
    return column.dtype.kind not in _CONTAINERS and not column.dtype.kind.endswith("vector")


def as_text(values: pa.Array, column: Column) -> pa.StringArray:
    """The values as the peer's ``String.valueOf`` writes them; null stays null."""
    import pyarrow as pa

    kind = column.dtype.kind
    if kind is Kind.STRING:
        return values
    if kind in _CAST:
        return values.cast(pa.string())
    dtype = column.dtype
    texts = [None if value is None else text_of(value, dtype) for value in values.to_pylist()]
    return pa.array(texts, pa.string())
