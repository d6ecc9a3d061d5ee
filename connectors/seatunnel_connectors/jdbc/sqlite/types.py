"""Maps SQLite's declared types to SeaTunnel's types. A declared type is only a hint in SQLite: each value has its own
type."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seatunnel_connectors.jdbc.target.target_plan import words_given
from seatunnel_py.api import NANOSECONDS, NUMBER, PRECISION_MAX, STRING, Column, DataType, Kind, decimal

EXACT_DIGITS = 15  # digits of a decimal that a NUMERIC column keeps, because it stores floats

AS_TEXT, AS_BYTES, AS_REAL = ", each value as its text", ", a text as its bytes", ", an integer as a real"

_NAMES = {
    Kind.BOOLEAN: ("boolean", "bool", "bit"),
    Kind.TINYINT: ("tinyint", "int1"),
    Kind.SMALLINT: ("smallint", "int2"),
    Kind.INT: ("int", "mediumint", "int4"),
    Kind.BIGINT: ("integer", "bigint", "int8", "big int"),
    Kind.DOUBLE: ("real", "double", "double precision", "float", "floating point"),
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
_DECLARED = re.compile(r"\s*([A-Za-z_][\w ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*")


@dataclass(frozen=True, slots=True)
class SqliteColumnRead:
    """How to read a column. ``said`` is its declared type if its values arrive in another form; ``by_value``: the
    declared type does not determine the values."""

    dtype: DataType
    length: int = 0
    said: str = ""
    by_value: bool = False


def read_as(declared: str) -> SqliteColumnRead:
    """The reading of a declared type. Values of a meaningless type are read as text."""
    match = _DECLARED.fullmatch(declared)
    if match is None:
        return SqliteColumnRead(STRING, said=(declared or "no type") + AS_TEXT, by_value=True)
    name, first, second = match[1].lower(), int(match[2] or 0), int(match[3] or 0)
    if name in ("decimal", "numeric", "number", "decimal_text"):
        if first and second <= first <= PRECISION_MAX:
            return SqliteColumnRead(decimal(first, second))
        return SqliteColumnRead(NUMBER, said="" if name == "decimal_text" else declared)
    if name == "unsigned big int":
        return SqliteColumnRead(decimal(20, 0))
    kind = _KINDS.get(name) or _by_affinity(name)
    if kind is None:
        return SqliteColumnRead(STRING, said=declared + AS_TEXT, by_value=True)
    if kind in (Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ) and first > 6:
        return SqliteColumnRead(DataType(kind, unit=NANOSECONDS))
    if kind is Kind.BYTES:
        return SqliteColumnRead(DataType(kind), said=declared + AS_BYTES)
    if kind is Kind.STRING:
        return SqliteColumnRead(STRING, first, "" if affinity(declared) == "TEXT" else declared + AS_TEXT)
    if kind is Kind.DOUBLE and affinity(declared) != "REAL":  # FLOATING POINT contains INT: 2 is an integer
        return SqliteColumnRead(DataType(kind), said=declared + AS_REAL)
    return SqliteColumnRead(DataType(kind))


def affinity(declared: str) -> str:
    """The affinity by SQLite's own rules: the type that it converts stored values to."""
    name = declared.upper()
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if "BLOB" in name or not name.strip() or name == NO_TYPE.upper():
        return "BLOB"
    return "REAL" if any(part in name for part in ("REAL", "FLOA", "DOUB")) else "NUMERIC"


NO_TYPE = "of no type"
"""Text for a column without a declared type."""


def _by_affinity(name: str) -> Kind | None:
    kinds = {"INTEGER": Kind.BIGINT, "TEXT": Kind.STRING, "BLOB": Kind.BYTES, "REAL": Kind.DOUBLE}
    return kinds.get(affinity(name))


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
    """Declared type of a column in a created table."""
    dtype = column.dtype
    if given := words_given(column):
        return given
    if dtype.kind in (Kind.INT, Kind.BIGINT, Kind.SMALLINT, Kind.TINYINT) and alone:
        return "INTEGER"  # as the only key column it is then the row id itself
    if dtype.kind is Kind.DECIMAL:
        name = "DECIMAL" if dtype.precision <= EXACT_DIGITS else "DECIMAL_TEXT"
        return f"{name}({dtype.precision}, {dtype.scale})"
    if dtype == NUMBER:
        return "DECIMAL_TEXT"
    if dtype.kind is Kind.STRING and column.length:
        return f"VARCHAR({column.length})"
    return _CREATED.get(dtype.kind, "TEXT") + ("(9)" if dtype.unit == NANOSECONDS else "")
