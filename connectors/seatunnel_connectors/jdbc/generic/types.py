"""Maps SQLAlchemy's reflected types to SeaTunnel's types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects import mssql, mysql, oracle

from seatunnel_py.api import ANY_DIGITS, INTEGERS, NUMBER, PRECISION_MAX, Column, DataType, Kind, decimal
from seatunnel_py.formats.json.text import json_texts
from seatunnel_py.formats.json.values import json_text

KEY_LENGTH = 255  # length of a text without one in a key: most databases cannot index such a text

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
_SHOWN_AS_TEXT = (sa.Uuid, sa.JSON, sa.Enum)


@dataclass(frozen=True, slots=True)
class GenericColumnRead:
    """How to read a column. ``said`` is the database's name of its type if its values arrive in another form."""

    dtype: DataType
    length: int = 0
    said: str = ""


def read_as(native: sa.types.TypeEngine[Any]) -> GenericColumnRead | None:
    """The reading of a type; None if there is no counterpart. REAL does not have 32 bits everywhere, so it is read with
    64."""
    if isinstance(native, sa.Numeric) and not isinstance(native, sa.Float):
        return GenericColumnRead(_numeric(native))
    if isinstance(native, sa.DateTime) and native.timezone:
        return GenericColumnRead(DataType(Kind.TIMESTAMP_TZ))
    for kind_of, kind in _READ:
        if isinstance(native, kind_of):
            kind = Kind.DOUBLE if kind is Kind.FLOAT else kind
            length = getattr(native, "length", None) or 0 if kind is Kind.STRING else 0
            return GenericColumnRead(
                DataType(kind), length, str(native).lower() if isinstance(native, _SHOWN_AS_TEXT) else ""
            )
    return None


def _numeric(native: sa.Numeric[Any]) -> DataType:
    precision, scale = native.precision, native.scale or 0
    bounded = precision is not None and 0 <= scale <= precision <= PRECISION_MAX
    return decimal(precision, scale) if precision is not None and bounded else NUMBER


def target_type(native: sa.types.TypeEngine[Any]) -> DataType | None:
    """The type of values that an existing column takes."""
    if isinstance(native, sa.REAL):
        return DataType(Kind.FLOAT)
    read = read_as(native)
    return read.dtype if read else None


def digits_of(native: sa.types.TypeEngine[Any]) -> int:
    """Digits of a second that a column keeps. SQL Server's DATETIME has its own precision, Oracle's DATE keeps
    seconds."""
    where, name = type(native).__module__, type(native).__name__.upper()
    if ("mssql" in where and name in ("DATETIME", "SMALLDATETIME")) or ("oracle" in where and name == "DATE"):
        return 0
    if "mysql" in where:
        return getattr(native, "fsp", None) or 0 if isinstance(native, sa.DateTime | sa.Time) else ANY_DIGITS
    given = getattr(native, "precision", None) if isinstance(native, sa.DateTime | sa.Time) else None
    return ANY_DIGITS if given is None else int(given)


_mssql: Any = mssql  # its types have no annotations
# SQLAlchemy's default in some databases is a column with fewer digits of a second.
_MOMENT = (
    sa.DateTime().with_variant(_mssql.DATETIME2(precision=6), "mssql").with_variant(oracle.TIMESTAMP(), "oracle")
    .with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
)  # fmt: skip
_ZONED = (
    sa.DateTime(timezone=True).with_variant(_mssql.DATETIMEOFFSET(precision=6), "mssql")
    .with_variant(oracle.TIMESTAMP(timezone=True), "oracle").with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
)  # fmt: skip
_TIME = sa.Time().with_variant(_mssql.TIME(precision=6), "mssql").with_variant(mysql.TIME(fsp=6), "mysql", "mariadb")


def created_type(column: Column, *, in_key: bool) -> sa.types.TypeEngine[Any]:
    """The SQLAlchemy type of a column in a created table."""
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
            return _ZONED
        case kind:
            simple: dict[Kind, sa.types.TypeEngine[Any]] = {
                Kind.BOOLEAN: sa.Boolean(), Kind.TINYINT: sa.SmallInteger(), Kind.SMALLINT: sa.SmallInteger(),
                Kind.INT: sa.Integer(), Kind.BIGINT: sa.BigInteger(), Kind.FLOAT: sa.REAL(), Kind.DOUBLE: sa.Double(),
                Kind.DATE: sa.Date(), Kind.TIME: _TIME, Kind.TIMESTAMP: _MOMENT,
            }  # fmt: skip
            return simple.get(kind, sa.Text())


def to_column(values: list[Any], dtype: DataType, arrow: pa.DataType, name: str) -> pa.Array:
    """Convert a driver's values to the declared type. Raises ValueError that names the first misfit."""
    plain = []
    for value in values:
        try:
            plain.append(None if value is None else _plain(value, dtype))
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            shown = repr(value)[:60]
            raise ValueError(f"column {name!r} is read as {dtype}, but holds {shown}; cast it with `query`") from None
    try:
        return pa.array(plain, arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError, OverflowError, ArithmeticError) as error:
        raise ValueError(f"column {name!r}: {error}; cast it with `query`") from None


def _plain(value: Any, dtype: DataType) -> Any:
    match dtype.kind:
        case Kind.STRING if dtype == NUMBER:
            return format(_number(value), "f")
        case Kind.STRING:
            return _text(value)
        case Kind.DECIMAL:
            return _number(value)
        case Kind.BOOLEAN:
            return bool(_one_of(value, (0, 1)))
        case kind if kind in INTEGERS:
            return _whole(value)
        case Kind.DOUBLE:
            return _double(value)
        case Kind.BYTES:
            return bytes(_of(value, (bytes, bytearray, memoryview)))
        case Kind.TIMESTAMP | Kind.TIMESTAMP_TZ:
            return _moment(value, zoned=dtype.kind is Kind.TIMESTAMP_TZ)
        case Kind.DATE:
            return _date(value)
        case Kind.TIME:
            found = time.fromisoformat(value) if isinstance(value, str) else _of(value, (time,))
            return found if found.tzinfo is None else _refuse(value)
        case _:
            return value


def _refuse(value: Any) -> Any:
    raise ValueError(value)


def _of(value: Any, kinds: tuple[type, ...]) -> Any:
    return value if isinstance(value, kinds) else _refuse(value)


def _one_of(value: Any, known: tuple[Any, ...]) -> Any:
    return value if value in known else _refuse(value)


def _text(value: Any) -> str:
    if isinstance(value, dict | list):
        return json_text(value)
    return value if isinstance(value, str) else str(_refuse(value) if isinstance(value, bytes) else value)


def _number(value: Any) -> Decimal:
    """A decimal from a float with the shortest digits that restore it."""
    return value if isinstance(value, Decimal) else Decimal(repr(value) if isinstance(value, float) else str(value))


def _whole(value: Any) -> int:
    number = _number(value)
    return int(number) if number == number.to_integral_value() else int(_refuse(value))


def _double(value: Any) -> float:
    number = float(_of(value, (int, float, Decimal)))
    same = isinstance(value, float) or _number(number) == value
    return number if same else float(_refuse(value))


def _moment(value: Any, *, zoned: bool) -> datetime:
    """A timestamp. A number is refused, since its unit is unknown. Without a zone it counts as UTC, if the column has
    one."""
    if isinstance(value, str) and re.search(r"\.\d{7}", value):
        raise ValueError(value)  # Python would truncate it
    found: datetime = datetime.fromisoformat(value) if isinstance(value, str) else _of(value, (datetime,))
    if zoned:
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return found if found.tzinfo is None else _refuse(value)


def _date(value: Any) -> date:
    if isinstance(value, str):
        return date.fromisoformat(value)
    if isinstance(value, datetime):  # Oracle's DATE has a time of day
        return value.date() if value == datetime.combine(value.date(), time()) else _refuse(value)
    return _of(value, (date,))  # type: ignore[no-any-return]


def to_values(array: pa.Array, column: Column) -> list[Any]:
    """A column as Python values; containers as JSON."""
    if pa.types.is_nested(array.type):
        return json_texts(array, column.dtype).to_pylist()  # type: ignore[no-any-return]
    try:
        return array.to_pylist()  # type: ignore[no-any-return]
    except OverflowError as error:  # a timestamp outside of Python's years
        raise ValueError(str(error)) from None
