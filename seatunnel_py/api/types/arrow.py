"""Column types and their Arrow counterparts. pyarrow is imported on use only.

Batches carry times and timestamps in microseconds, or in nanoseconds if the type has that unit; decimals of more than
38 digits use decimal256.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.api.types.data_type import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NANOSECONDS,
    NULL,
    SMALLINT,
    STRING,
    TINYINT,
    DataType,
    Kind,
    array,
    decimal,
    map_of,
    row,
)

if TYPE_CHECKING:
    import pyarrow as pa

DECIMAL128_DIGITS = 38


def to_arrow(dtype: DataType) -> pa.DataType:
    """The Arrow type that carries ``dtype`` in batches."""
    import pyarrow as pa

    match dtype.kind:
        case Kind.DECIMAL:
            wide = dtype.precision > DECIMAL128_DIGITS
            return pa.decimal256(dtype.precision, dtype.scale) if wide else pa.decimal128(dtype.precision, dtype.scale)
        case Kind.ARRAY:
            assert dtype.element is not None
            return pa.list_(to_arrow(dtype.element))
        case Kind.MAP:
            assert dtype.key is not None and dtype.element is not None
            return pa.map_(to_arrow(dtype.key), to_arrow(dtype.element))
        case Kind.ROW:
            return pa.struct([(name, to_arrow(inner)) for name, inner in dtype.fields])
        case Kind.TIME:
            return pa.time64(dtype.unit or "us")
        case Kind.TIMESTAMP | Kind.TIMESTAMP_TZ:
            return pa.timestamp(dtype.unit or "us", "UTC" if dtype.kind is Kind.TIMESTAMP_TZ else None)
        case _:
            return _arrow_scalars()[dtype.kind]


def _arrow_scalars() -> dict[Kind, pa.DataType]:
    import pyarrow as pa

    return {
        Kind.STRING: pa.string(),
        Kind.BOOLEAN: pa.bool_(),
        Kind.TINYINT: pa.int8(),
        Kind.SMALLINT: pa.int16(),
        Kind.INT: pa.int32(),
        Kind.BIGINT: pa.int64(),
        Kind.FLOAT: pa.float32(),
        Kind.DOUBLE: pa.float64(),
        Kind.NULL: pa.null(),
        Kind.BYTES: pa.binary(),
        Kind.DATE: pa.date32(),
        Kind.BINARY_VECTOR: pa.binary(),
        Kind.FLOAT_VECTOR: pa.list_(pa.float32()),
        Kind.FLOAT16_VECTOR: pa.list_(pa.float16()),
        Kind.BFLOAT16_VECTOR: pa.binary(),
        Kind.SPARSE_FLOAT_VECTOR: pa.map_(pa.int32(), pa.float32()),
    }


def from_arrow(arrow: pa.DataType) -> DataType:
    """The column type of an Arrow type; unsigned integers give the next wider one, dictionaries that of their values.

    Raises ValueError for a type without counterpart (durations, intervals, unions).
    """
    import pyarrow as pa

    t = pa.types
    if t.is_dictionary(arrow):
        return from_arrow(arrow.value_type)
    if t.is_decimal(arrow):
        return _decimal_of(arrow)
    if t.is_map(arrow):
        return map_of(from_arrow(arrow.key_type), from_arrow(arrow.item_type))
    if t.is_list(arrow) or t.is_large_list(arrow) or t.is_fixed_size_list(arrow):
        return array(from_arrow(arrow.value_type))
    if t.is_struct(arrow):
        return row(tuple((field.name, from_arrow(field.type)) for field in arrow))
    if t.is_timestamp(arrow):
        return DataType(Kind.TIMESTAMP_TZ if arrow.tz else Kind.TIMESTAMP, unit=_unit_of(arrow))
    if t.is_time(arrow):
        return DataType(Kind.TIME, unit=_unit_of(arrow))
    for test, dtype in _ARROW_TESTS:
        if getattr(t, test)(arrow):
            return dtype
    raise ValueError(f"the Arrow type {arrow} has no column type")


def _unit_of(arrow: pa.DataType) -> str:
    return NANOSECONDS if arrow.unit == "ns" else ""


def _decimal_of(arrow: pa.DataType) -> DataType:
    """Column type of an Arrow decimal. A negative scale gives whole numbers with more digits; a scale beyond the
    precision gives zeros after the point."""
    scale = max(arrow.scale, 0)
    return decimal(max(arrow.precision - min(arrow.scale, 0), scale), scale)


_ARROW_TESTS = (
    ("is_string", STRING),
    ("is_large_string", STRING),
    ("is_string_view", STRING),
    ("is_boolean", BOOLEAN),
    ("is_int8", TINYINT),
    ("is_int16", SMALLINT),
    ("is_uint8", SMALLINT),
    ("is_int32", INT),
    ("is_uint16", INT),
    ("is_int64", BIGINT),
    ("is_uint32", BIGINT),
    ("is_uint64", DataType(Kind.DECIMAL, precision=20)),
    ("is_float16", FLOAT),
    ("is_float32", FLOAT),
    ("is_float64", DOUBLE),
    ("is_null", NULL),
    ("is_binary", BYTES),
    ("is_large_binary", BYTES),
    ("is_fixed_size_binary", BYTES),
    ("is_binary_view", BYTES),
    ("is_date", DATE),
)
