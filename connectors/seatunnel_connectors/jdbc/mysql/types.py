"""MySQL's types and ours: the peer's map, with nothing cut that has room."""

from __future__ import annotations

import re

from seatunnel_connectors.jdbc.mysql.session import quote
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.target import words_given
from seatunnel_py.api import Column, DataType, Kind
from seatunnel_py.api.types import decimal

PRECISION_MAX, SCALE_MAX = 65, 30
KEY_LENGTH = 255  # characters of a text without declared length that is part of a key
VARCHAR_MAX = 4000  # longer texts count too much against a row's 65,535 bytes

_INTEGERS = {
    "tinyint": (Kind.TINYINT, Kind.SMALLINT),
    "smallint": (Kind.SMALLINT, Kind.INT),
    "mediumint": (Kind.INT, Kind.INT),
    "int": (Kind.INT, Kind.BIGINT),
    "integer": (Kind.INT, Kind.BIGINT),
}
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set")
_AS_TEXT = ("json", "uuid", "inet4", "inet6")
_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_SHAPES = ("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
           "geometrycollection", "geomcollection")  # fmt: skip


def read_as(
    name: str, full: str, options: JdbcSourceOptions, *, zero_dates_are_null: bool = False
) -> tuple[DataType, str] | None:
    """Our type, and the SELECT expression with ``{0}`` for the quoted column; None for an unknown type.

    Decimals and everything about time arrive as text: the reader's own conversion stops at 28 digits, at zero dates
    and at times beyond a day, and takes the process' standard error along.
    """
    data, unsigned = name.lower(), "unsigned" in full.lower()
    first, second = _numbers(full)
    if data == "tinyint" and first == 1 and options.int_type_narrowing:
        return DataType(Kind.BOOLEAN), "{0}"
    if data == "bit":
        return (DataType(Kind.BOOLEAN), "CAST({0} AS UNSIGNED)") if first in (0, 1) else (DataType(Kind.BYTES), "{0}")
    if data in _INTEGERS:
        return DataType(_INTEGERS[data][unsigned]), "{0}"
    if data == "bigint":
        return (decimal(20, 0) if unsigned else DataType(Kind.BIGINT)), "{0}"
    if data == "year":
        return DataType(Kind.INT), "CAST({0} AS SIGNED)"
    if data in ("decimal", "numeric", "dec", "fixed"):
        precision = min(first or 10, 38)
        return decimal(precision, min(second, precision)), "CAST({0} AS CHAR)"
    if data in ("float", "double", "real"):
        return DataType(Kind.FLOAT if data == "float" else Kind.DOUBLE), "{0}"
    if data in _TEXTS or data in _AS_TEXT:
        return DataType(Kind.STRING), "CAST({0} AS CHAR)" if data in _AS_TEXT else "{0}"
    if data in _BYTES or data in _SHAPES:
        if options.handle_blob_as_string and data.endswith("blob"):
            return DataType(Kind.STRING), "CONVERT({0} USING utf8mb4)"
        return DataType(Kind.BYTES), "ST_AsBinary({0})" if data in _SHAPES else "{0}"
    kinds = {"date": Kind.DATE, "time": Kind.TIME, "datetime": Kind.TIMESTAMP, "timestamp": Kind.TIMESTAMP}
    if data in kinds:
        text = "CAST({0} AS CHAR)"
        if zero_dates_are_null and data != "time":
            text = "IF(CAST({0} AS CHAR) LIKE '0000-00-00%', NULL, CAST({0} AS CHAR))"
        return DataType(kinds[data]), text
    return None


def _numbers(full: str) -> tuple[int, int]:
    match = re.search(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", full)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def length_of(name: str, full: str) -> int:
    return _numbers(full)[0] if name.lower() in ("char", "varchar", "binary", "varbinary") else 0


def digits_of(dtype: DataType, full: str) -> int | None:
    """Digits of a fraction of a second; None where there are no seconds."""
    return _numbers(full)[0] if dtype.kind in (Kind.TIME, Kind.TIMESTAMP) else None


_CREATED = {
    Kind.BOOLEAN: "TINYINT(1)",
    Kind.TINYINT: "TINYINT",
    Kind.SMALLINT: "SMALLINT",
    Kind.INT: "INT",
    Kind.BIGINT: "BIGINT",
    Kind.FLOAT: "FLOAT",
    Kind.DOUBLE: "DOUBLE",
    Kind.DATE: "DATE",
    Kind.NULL: "LONGTEXT",
}
_TEXT = "CHARACTER SET utf8mb4"


def created_type(column: Column, *, in_key: bool) -> str:
    """A column's type in a table that we create."""
    dtype, length = column.dtype, column.length
    if given := words_given(column):
        return given
    match dtype.kind:
        case Kind.DECIMAL:
            return f"DECIMAL({min(dtype.precision, PRECISION_MAX)},{min(dtype.scale, SCALE_MAX)})"
        case Kind.STRING:
            return f"{_text_type(length or KEY_LENGTH if in_key else length)} {_TEXT}"
        case Kind.BYTES | Kind.BINARY_VECTOR | Kind.BFLOAT16_VECTOR:
            length = length or KEY_LENGTH if in_key else length
            return f"VARBINARY({length})" if 0 < length <= VARCHAR_MAX else "LONGBLOB"
        case Kind.TIME | Kind.TIMESTAMP | Kind.TIMESTAMP_TZ:
            digits = 6 if column.scale is None else max(0, min(column.scale, 6))
            return f"{'TIME' if dtype.kind is Kind.TIME else 'DATETIME'}({digits})"
        case _:
            return _CREATED.get(dtype.kind, "JSON")


def _text_type(length: int) -> str:
    if 0 < length <= VARCHAR_MAX:
        return f"VARCHAR({length})"
    if 0 < length * 4 <= 0xFFFF:
        return "TEXT"
    return "MEDIUMTEXT" if 0 < length * 4 <= 0xFFFFFF else "LONGTEXT"


def selected(expression: str, name: str) -> str:
    return f"{expression.format(quote(name))} AS {quote(name)}"
