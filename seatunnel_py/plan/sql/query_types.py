"""Types of columns as queries see them: Spark supports fewer digits, and no finer unit of time than a microsecond."""

from __future__ import annotations

from dataclasses import replace

from seatunnel_py.api.schema import TableSchema
from seatunnel_py.api.types import NUMBER, Conversion, DataType, Kind, decimal, stored_as

DECIMAL_DIGITS_MAX = 38
UNBOUNDED = decimal(DECIMAL_DIGITS_MAX, 18)
"""Type in which a query sees a number without bounds: texts could not be added. Values that do not fit are refused."""


def queried(table: TableSchema) -> TableSchema:
    """The table with the types that a query sees: Spark supports decimals of 38 digits and microseconds. Raises
    ValueError with the name of a column of more digits."""
    return replace(table, columns=tuple(replace(one, dtype=_queried(one.dtype, one.name)) for one in table.columns))


def _queried(dtype: DataType, column: str) -> DataType:
    if dtype.kind is Kind.DECIMAL and dtype.precision > DECIMAL_DIGITS_MAX:
        raise ValueError(
            f"column {column!r} is {dtype}, and a query computes with {DECIMAL_DIGITS_MAX} digits at most; take it out "
            "with Filter, or cast it where it is read"
        )
    if dtype == NUMBER:
        return UNBOUNDED
    return replace(
        dtype,
        unit="",
        element=dtype.element and _queried(dtype.element, column),
        key=dtype.key and _queried(dtype.key, column),
        fields=tuple((name, _queried(inner, column)) for name, inner in dtype.fields),
    )


def query_conversions(table: TableSchema) -> tuple[Conversion, ...]:
    """The columns that a query sees in another type."""
    pairs = zip(table.columns, queried(table).columns, strict=True)
    return tuple(
        Conversion(one.name, str(one.dtype), str(seen.dtype), stored_as(one.dtype, seen.dtype).note, checked=True)
        for one, seen in pairs
        if one.dtype != seen.dtype
    )
