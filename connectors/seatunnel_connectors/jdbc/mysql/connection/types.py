"""Maps MySQL's types for reading: as SeaTunnel does, without truncation where the target type has room."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from seatunnel_connectors.jdbc.mysql.connection.session import quote
from seatunnel_py.api import DataType, Kind, decimal

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
SHAPES = ("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
           "geometrycollection", "geomcollection")  # fmt: skip
_TEMPORAL = {"date": Kind.DATE, "time": Kind.TIME, "datetime": Kind.TIMESTAMP, "timestamp": Kind.TIMESTAMP_TZ}
_EWKB = "IF(ST_SRID({0}) = 0, SUBSTR({0}, 5), CONCAT(SUBSTR({0}, 5, 4), x'20', SUBSTR({0}, 1, 4), SUBSTR({0}, 10)))"
"""PostGIS' form of a geometry: WKB with the number of its reference system, which WKB lacks. The server's own form is
that number, then WKB; ST_AsBinary would swap the axes of some systems."""


class ReadOptions(Protocol):
    """The options that decide which type a column is read as."""

    @property
    def int_type_narrowing(self) -> bool: ...

    @property
    def handle_blob_as_string(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class MysqlColumnRead:
    """How to read a column: its type, and the SELECT expression with ``{0}`` for the quoted column. ``said`` is the
    server's type if its values arrive in another form (``Column.converted_from``)."""

    dtype: DataType
    expression: str = "{0}"
    said: str = ""


def read_as(name: str, full: str, options: ReadOptions, *, zero_dates_are_null: bool = False) -> MysqlColumnRead | None:
    """The reading of a type; None for an unknown type.

    Decimals, dates and times arrive as text: ConnectorX's own conversion fails at 29 digits, at zero dates and at times
    beyond a day, and writes to the process' standard error. A TIMESTAMP is an instant: it arrives as microseconds since
    1970, independent of the time zones of server and session.
    """
    data, first = name.lower(), numbers(full)[0]
    if data in _INTEGERS or data in ("bigint", "year"):
        return _integer(data, full.lower(), options)
    if data == "bit":
        if first in (0, 1):
            return MysqlColumnRead(DataType(Kind.BOOLEAN), "CAST({0} AS UNSIGNED)", full)
        return MysqlColumnRead(DataType(Kind.BYTES), said=full)
    if data in ("decimal", "numeric", "dec", "fixed"):
        return MysqlColumnRead(decimal(first or 10, numbers(full)[1]), "CAST({0} AS CHAR)", _zerofill(full))
    if data in ("float", "double", "real"):
        # The digits of ``float(7,3)`` determine the display of a number; a target without them displays it differently.
        said = full if numbers(full) != (0, 0) else _zerofill(full)
        return MysqlColumnRead(DataType(Kind.FLOAT if data == "float" else Kind.DOUBLE), said=said)
    if data in _TEXTS:
        return MysqlColumnRead(DataType(Kind.STRING), said=full if data in ("enum", "set") else "")
    if data in _AS_TEXT:
        return MysqlColumnRead(DataType(Kind.STRING), "CAST({0} AS CHAR)", full)
    if data in SHAPES:
        return MysqlColumnRead(DataType(Kind.BYTES), _EWKB, data)
    if data in _BYTES:
        if options.handle_blob_as_string and data.endswith("blob"):
            return MysqlColumnRead(DataType(Kind.STRING), "CONVERT({0} USING utf8mb4)", full)
        return MysqlColumnRead(DataType(Kind.BYTES))
    if data in _TEMPORAL:
        return _temporal(data, full, zero_dates_are_null)
    return None


def _integer(data: str, full: str, options: ReadOptions) -> MysqlColumnRead:
    if data == "year":
        return MysqlColumnRead(DataType(Kind.INT), "CAST({0} AS SIGNED)")
    if data == "tinyint" and numbers(full)[0] == 1 and options.int_type_narrowing:
        return MysqlColumnRead(DataType(Kind.BOOLEAN), said=full)
    unsigned = "unsigned" in full
    if data == "bigint":
        return MysqlColumnRead(decimal(20, 0) if unsigned else DataType(Kind.BIGINT), said=_zerofill(full))
    return MysqlColumnRead(DataType(_INTEGERS[data][unsigned]), said=_zerofill(full))


def _zerofill(full: str) -> str:
    """Return the type if it is zero-filled, else an empty text. Leading zeros are display only, not part of the
    value."""
    return full if "zerofill" in full.lower() else ""


def _temporal(data: str, full: str, zero_dates_are_null: bool) -> MysqlColumnRead:
    dtype = DataType(_TEMPORAL[data])
    text = "CAST({0} AS CHAR)"
    value = "CAST(UNIX_TIMESTAMP({0}) * 1000000 AS SIGNED)" if data == "timestamp" else text
    if not zero_dates_are_null or data == "time":
        return MysqlColumnRead(dtype, value, full if data == "timestamp" else "")
    # Java's driver counts a date without a month or a day as a zero date, too.
    return MysqlColumnRead(dtype, f"IF({text} LIKE '%-00%', NULL, {value})", f"{full}, zero dates as null")


def numbers(full: str) -> tuple[int, int]:
    match = re.search(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", full)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def length_of(name: str, full: str) -> int:
    return numbers(full)[0] if name.lower() in ("char", "varchar", "binary", "varbinary") else 0


def digits_of(dtype: DataType, full: str) -> int | None:
    """Digits of a fraction of a second; None for types without seconds."""
    return numbers(full)[0] if dtype.kind in (Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ) else None


def selected(expression: str, name: str) -> str:
    return f"{expression.format(quote(name))} AS {quote(name)}"
