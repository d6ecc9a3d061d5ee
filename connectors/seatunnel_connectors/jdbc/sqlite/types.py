"""SQLite's declared types and ours. A declared type is only a hint there: what does not fit it is refused by value."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc.target import words_given
from seatunnel_py.api import Column, DataType, Kind, to_arrow
from seatunnel_py.api.types import decimal

_WIDE = Context(prec=76)  # Python's own context would refuse more than 28 digits
EXACT_DIGITS = 15  # what a NUMERIC column, which stores floats, keeps of a decimal

_NAMES = {
    Kind.BOOLEAN: ("boolean", "bool", "bit"),
    Kind.TINYINT: ("tinyint", "int1"),
    Kind.SMALLINT: ("smallint", "int2"),
    Kind.INT: ("int", "mediumint", "int4"),
    Kind.BIGINT: ("integer", "bigint", "int8", "big int"),
    Kind.DOUBLE: ("real", "double", "double precision", "float"),
    Kind.STRING: (
        "text", "varchar", "char", "character", "varying character", "nchar", "native character", "nvarchar", "clob",
        "json", "uuid", "tinytext", "mediumtext", "longtext",
    ),
    Kind.BYTES: ("blob", "binary", "varbinary", "tinyblob", "mediumblob", "longblob"),
    Kind.DATE: ("date",),
    Kind.TIME: ("time",),
    Kind.TIMESTAMP: ("timestamp", "datetime"),
    Kind.TIMESTAMP_TZ: ("timestamp_tz", "timestamptz"),
}  # fmt: skip
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names}


def read_as(declared: str) -> tuple[DataType, int] | None:
    """Our type and the declared length; None for a type that says nothing that could be relied on."""
    match = re.fullmatch(r"\s*([A-Za-z_][\w ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*", declared or "TEXT")
    if match is None:
        return None
    name, first, second = match[1].lower(), int(match[2] or 0), int(match[3] or 0)
    if name in ("decimal", "numeric", "number", "decimal_text"):
        return (decimal(min(first, 38), min(second, first, 38)) if first else decimal(38, 18)), 0
    if name == "unsigned big int":
        return decimal(20, 0), 0
    kind = _KINDS.get(name) or _by_affinity(name)
    return (DataType(kind), first if kind is Kind.STRING else 0) if kind else None


def _by_affinity(name: str) -> Kind | None:
    """SQLite's own rules for names that it does not know."""
    for part, kind in (
        ("int", Kind.BIGINT), ("char", Kind.STRING), ("clob", Kind.STRING), ("text", Kind.STRING),
        ("blob", Kind.BYTES), ("real", Kind.DOUBLE), ("floa", Kind.DOUBLE), ("doub", Kind.DOUBLE),
    ):  # fmt: skip
        if part in name:
            return kind
    return None


_CREATED = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TINYINT: "TINYINT",
    Kind.SMALLINT: "SMALLINT",
    Kind.INT: "INT",
    Kind.BIGINT: "BIGINT",
    Kind.FLOAT: "DOUBLE",
    Kind.DOUBLE: "DOUBLE",
    Kind.BYTES: "BLOB",
    Kind.DATE: "DATE",
    Kind.TIME: "TIME",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.TIMESTAMP_TZ: "TIMESTAMP_TZ",
    Kind.BINARY_VECTOR: "BLOB",
    Kind.BFLOAT16_VECTOR: "BLOB",
}


def created_type(column: Column, *, alone: bool) -> str:
    """The declared type of a column in a table that we create."""
    dtype = column.dtype
    if given := words_given(column):
        return given
    if dtype.kind in (Kind.INT, Kind.BIGINT, Kind.SMALLINT, Kind.TINYINT) and alone:
        return "INTEGER"  # as the whole key it then is the row id itself
    if dtype.kind is Kind.DECIMAL:
        name = "DECIMAL" if dtype.precision <= EXACT_DIGITS else "DECIMAL_TEXT"
        return f"{name}({dtype.precision}, {dtype.scale})"
    if dtype.kind is Kind.STRING and column.length:
        return f"VARCHAR({column.length})"
    return _CREATED.get(dtype.kind, "TEXT")


# ---------------------------------------------------------------- values


def to_column(values: Sequence[Any], dtype: DataType, name: str) -> pa.Array:
    """What SQLite returned, as declared. ValueError names the first value that is something else."""
    arrow = to_arrow(dtype)
    try:
        return pa.array(values, arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        converted = [None if value is None else _one(value, dtype, name) for value in values]
    try:
        return pa.array(converted, arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError) as error:
        raise ValueError(f"column {name!r}: {error}") from None


def _one(value: Any, dtype: DataType, name: str) -> Any:
    try:
        return _CONVERT.get(dtype.kind, _same)(value, dtype)
    except (ValueError, ArithmeticError, TypeError):
        shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:60] + "…"
        raise ValueError(f"column {name!r} is declared as {dtype}, but holds {shown}") from None


def _same(value: Any, dtype: DataType) -> Any:
    raise ValueError("another type")


def _boolean(value: Any, dtype: DataType) -> bool:
    words = {0: False, 1: True, "0": False, "1": True, "false": False, "true": True, "f": False, "t": True}
    key = value.strip().lower() if isinstance(value, str) else value
    if key not in words:
        raise ValueError(value)
    return words[key]


def _integer(value: Any, dtype: DataType) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(value)
    return int(value)


def _decimal(value: Any, dtype: DataType) -> Decimal:
    # repr gives the shortest text of a float, which is what was written into it.
    number = Decimal(repr(value) if isinstance(value, float) else str(value).strip())
    rounded = number.quantize(Decimal(1).scaleb(-dtype.scale), context=_WIDE) if number.is_finite() else number
    if not number.is_finite() or (isinstance(value, str) and dtype.scale != 18 and rounded != number):
        raise ValueError(value)
    return rounded


def _string(value: Any, dtype: DataType) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _bytes(value: Any, dtype: DataType) -> bytes:
    if not isinstance(value, str):
        raise ValueError(value)
    return value.encode()


def _timestamp(value: Any, dtype: DataType) -> datetime:
    """ISO text; or seconds, or (the Java driver's way) milliseconds since 1970."""
    if isinstance(value, str):
        found = datetime.fromisoformat(value.strip())
    else:
        number = float(value)
        found = datetime.fromtimestamp(number / 1000 if abs(number) >= 1e11 else number, UTC)
    if dtype.kind is Kind.TIMESTAMP_TZ:
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


def _date(value: Any, dtype: DataType) -> Any:
    return _timestamp(value, DataType(Kind.TIMESTAMP)).date()


def _time(value: Any, dtype: DataType) -> Any:
    from datetime import time

    return time.fromisoformat(str(value).strip())


_CONVERT = {
    Kind.BOOLEAN: _boolean,
    Kind.TINYINT: _integer,
    Kind.SMALLINT: _integer,
    Kind.INT: _integer,
    Kind.BIGINT: _integer,
    Kind.DOUBLE: lambda value, dtype: float(value),
    Kind.DECIMAL: _decimal,
    Kind.STRING: _string,
    Kind.BYTES: _bytes,
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_TZ: _timestamp,
}


def to_values(array: pa.Array, column: Column) -> list[Any]:
    """A column as values that sqlite3 stores: temporal types as ISO text, decimals as text, containers as JSON."""
    match column.dtype.kind:
        case Kind.BOOLEAN:
            return array.cast(pa.int8()).to_pylist()  # type: ignore[no-any-return]
        case Kind.DECIMAL | Kind.DATE | Kind.TIME | Kind.TIMESTAMP:
            return array.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]
        case Kind.TIMESTAMP_TZ:
            text = pc.strftime(array.cast(pa.timestamp("us", "UTC")), format="%Y-%m-%d %H:%M:%S")
            return pc.binary_join_element_wise(text, "+00:00", "").to_pylist()  # type: ignore[no-any-return]
        case Kind.ARRAY | Kind.MAP | Kind.ROW | Kind.FLOAT_VECTOR | Kind.FLOAT16_VECTOR | Kind.SPARSE_FLOAT_VECTOR:
            return [None if value is None else _json(value) for value in array.to_pylist()]
        case _:
            return array.to_pylist()  # type: ignore[no-any-return]


def _json(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
        value = {str(key): item for key, item in value}
    return json.dumps(value, ensure_ascii=False, default=str)
