"""SQLAlchemy's reflected types and ours."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from seatunnel_py.api import Column, DataType, Kind
from seatunnel_py.api.types import decimal

KEY_LENGTH = 255  # of a text without length in a key, which most databases cannot index

# Most special first: SQLAlchemy's types inherit from each other.
_READ: tuple[tuple[Any, Kind], ...] = (
    (sa.Boolean, Kind.BOOLEAN),
    (sa.BigInteger, Kind.BIGINT),
    (sa.SmallInteger, Kind.SMALLINT),
    (sa.Integer, Kind.INT),
    (sa.Double, Kind.DOUBLE),
    (sa.REAL, Kind.FLOAT),
    (sa.Float, Kind.DOUBLE),
    (sa.DateTime, Kind.TIMESTAMP),
    (sa.Date, Kind.DATE),
    (sa.Time, Kind.TIME),
    (sa.LargeBinary, Kind.BYTES),
    (sa.types._Binary, Kind.BYTES),
    (sa.Uuid, Kind.STRING),
    (sa.JSON, Kind.STRING),
    (sa.Enum, Kind.STRING),
    (sa.String, Kind.STRING),
)


def read_as(native: sa.types.TypeEngine[Any]) -> tuple[DataType, int] | None:
    """Our type and a length; None for a type without counterpart."""
    if isinstance(native, sa.Numeric) and not isinstance(native, sa.Float):
        if native.precision is None:
            return decimal(38, 18), 0
        precision = min(native.precision, 38)
        return decimal(precision, max(0, min(native.scale or 0, precision))), 0
    if isinstance(native, sa.DateTime) and native.timezone:
        return DataType(Kind.TIMESTAMP_TZ), 0
    for kind_of, kind in _READ:
        if isinstance(native, kind_of):
            return DataType(kind), getattr(native, "length", None) or 0 if kind is Kind.STRING else 0
    return None


def created_type(column: Column, *, in_key: bool) -> sa.types.TypeEngine[Any]:
    """The type of a column in a table that we create, in SQLAlchemy's words."""
    dtype = column.dtype
    match dtype.kind:
        case Kind.DECIMAL:
            return sa.Numeric(dtype.precision, dtype.scale)
        case Kind.STRING:
            length = column.length or (KEY_LENGTH if in_key else 0)
            return sa.String(length) if length else sa.Text()
        case Kind.BYTES | Kind.BINARY_VECTOR | Kind.BFLOAT16_VECTOR:
            return sa.LargeBinary()
        case Kind.TIMESTAMP_TZ:
            return sa.DateTime(timezone=True)
        case kind:
            simple: dict[Kind, sa.types.TypeEngine[Any]] = {
                Kind.BOOLEAN: sa.Boolean(), Kind.TINYINT: sa.SmallInteger(), Kind.SMALLINT: sa.SmallInteger(),
                Kind.INT: sa.Integer(), Kind.BIGINT: sa.BigInteger(), Kind.FLOAT: sa.Float(), Kind.DOUBLE: sa.Double(),
                Kind.DATE: sa.Date(), Kind.TIME: sa.Time(), Kind.TIMESTAMP: sa.DateTime(),
            }  # fmt: skip
            return simple.get(kind, sa.Text())


def to_column(values: list[Any], dtype: DataType, arrow: pa.DataType, name: str) -> pa.Array:
    """What a driver returned, as declared. ValueError names the first value that is something else."""
    try:
        return pa.array([_plain(value, dtype) for value in values], arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError, OverflowError, ArithmeticError) as error:
        raise ValueError(f"column {name!r}: {error}; cast it with `query`") from None


def _plain(value: Any, dtype: DataType) -> Any:
    match dtype.kind:
        case _ if value is None:
            return None
        case Kind.STRING if not isinstance(value, str):
            return json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
        case Kind.DECIMAL:
            number = value if isinstance(value, Decimal) else Decimal(str(value))
            return round(number, 18) if dtype.scale == 18 and number.is_finite() else number
        case Kind.BOOLEAN:
            return bool(value)
        case Kind.BYTES:
            return bytes(value)
        case Kind.TIMESTAMP | Kind.TIMESTAMP_TZ:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else value
            return moment.replace(tzinfo=UTC) if dtype.kind is Kind.TIMESTAMP_TZ and not moment.tzinfo else moment
        case Kind.DATE if isinstance(value, str):
            return date.fromisoformat(value)
        case Kind.TIME if isinstance(value, str):
            return time.fromisoformat(value)
        case _:
            return value


def to_values(array: pa.Array, column: Column) -> list[Any]:
    """A column as Python values; containers as JSON."""
    values: list[Any] = array.to_pylist()
    if pa.types.is_nested(array.type):
        return [None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values]
    return values
