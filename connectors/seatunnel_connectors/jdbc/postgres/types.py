"""PostgreSQL's types and ours: what is read as what, how it is asked for, and what is created for it.

Types that Arrow does not have (uuid, json, interval, enums, ranges …) are cast to text in the SELECT. Reading them
natively would hand on the database's binary form, which only another PostgreSQL understands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from seatunnel_connectors.jdbc.postgres.session import literal
from seatunnel_connectors.jdbc.target import KEPT_BY_POSTGRES, words_given
from seatunnel_py.api import Column, DataType, Kind
from seatunnel_py.api.types import array, decimal

NUMERIC_DEFAULT = decimal(38, 18)  # numeric without precision: the peer's choice
VARCHAR_MAX = 10_485_760
PSEUDO = "p"
"""The category of what an expression may be, but no column: void, record, unknown."""


@dataclass(frozen=True, slots=True)
class Native:
    """A column's type in the catalog. ``name`` is pg_type.typname after domains were resolved, ``category`` its
    typtype, ``element`` the element's typname of an array."""

    name: str
    modifier: int = -1
    category: str = "b"
    element: str = ""


_PLAIN = {
    "bool": (Kind.BOOLEAN, "{0}"),
    "int2": (Kind.SMALLINT, "{0}"),
    "int4": (Kind.INT, "{0}"),
    "int8": (Kind.BIGINT, "{0}"),
    "oid": (Kind.BIGINT, "{0}::int8"),
    "float4": (Kind.FLOAT, "{0}"),
    "float8": (Kind.DOUBLE, "{0}"),
    "text": (Kind.STRING, "{0}"),
    "varchar": (Kind.STRING, "{0}"),
    "bpchar": (Kind.STRING, "{0}"),
    "char": (Kind.STRING, "{0}::text"),
    "name": (Kind.STRING, "{0}::text"),
    "inet": (Kind.STRING, "abbrev({0})"),  # as the server shows it; a cast to text would add /32 to an address
    "bytea": (Kind.BYTES, "{0}"),
    "date": (Kind.DATE, "{0}"),
    "time": (Kind.TIME, "{0}"),
    "timetz": (Kind.TIME, "{0}::time"),
    "timestamp": (Kind.TIMESTAMP, "{0}"),
    "timestamptz": (Kind.TIMESTAMP_TZ, "{0}"),
}
_ELEMENTS = {
    "bool": Kind.BOOLEAN,
    "int2": Kind.SMALLINT,
    "int4": Kind.INT,
    "int8": Kind.BIGINT,
    "float4": Kind.FLOAT,
    "float8": Kind.DOUBLE,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.TIMESTAMP_TZ,
}
"""Elements that are read as they are; of all others, numeric apart, the text."""


def read_as(native: Native) -> tuple[DataType, str] | None:
    """Our type, and the SELECT expression with ``{0}`` for the quoted column; None for what no column can have.

    A type without counterpart is read as the text that the server shows and takes again: nobody's tables have to wait
    for one column of them.
    """
    if native.name in _PLAIN:
        kind, expression = _PLAIN[native.name]
        return DataType(kind), expression
    if native.name == "numeric":
        dtype = numeric_type(native.modifier)
        # Without precision a value may have any number of fractional digits; ours has 18, as at the peer.
        return dtype, "round({0}, 18)" if native.modifier < 4 else "{0}"
    if native.name == "money":
        return decimal(30, 2), "{0}::numeric(30,2)"
    if native.element == "numeric":
        return array(NUMERIC_DEFAULT), _one_dimension("{0}::numeric(38,18)[]")
    if native.element:
        kind = _ELEMENTS.get(native.element, Kind.STRING)
        return array(DataType(kind)), _one_dimension("{0}::text[]" if kind is Kind.STRING else "{0}")
    return None if native.category == PSEUDO else (DataType(Kind.STRING), "{0}::text")


def _one_dimension(expression: str) -> str:
    """An array of more dimensions would arrive flattened; this makes the server name its value instead."""
    complaint = literal("an array of more than one dimension cannot be read: ")
    kind = expression.partition("::")[2] or "{1}"
    return f"CASE WHEN array_ndims({{0}}) > 1 THEN ({complaint} || {{0}}::text)::text[]::{kind} ELSE {expression} END"


def numeric_type(modifier: int) -> DataType:
    """numeric(p, s) as a decimal of at most 38 digits; a value that needs more is an error when it is read."""
    if modifier < 4:
        return NUMERIC_DEFAULT
    precision, scale = (modifier - 4 >> 16) & 0xFFFF, (modifier - 4) & 0x7FF
    if scale >= 1024:  # an 11-bit signed number: a negative scale rounds before the point
        return decimal(min(precision + 2048 - scale, 38), 0)
    if scale > precision:
        return decimal(min(scale, 38), min(scale, 38))
    return decimal(min(precision, 38), min(scale, 38))


def length_of(native: Native) -> int:
    """Characters that a varchar or char may hold; 0: no limit."""
    return native.modifier - 4 if native.name in ("varchar", "bpchar") and native.modifier > 4 else 0


# ---------------------------------------------------------------- types for tables that we create

_CREATED = {
    Kind.BOOLEAN: "boolean",
    Kind.TINYINT: "smallint",
    Kind.SMALLINT: "smallint",
    Kind.INT: "integer",
    Kind.BIGINT: "bigint",
    Kind.FLOAT: "real",
    Kind.DOUBLE: "double precision",
    Kind.BYTES: "bytea",
    Kind.DATE: "date",
    Kind.TIME: "time",
    Kind.TIMESTAMP: "timestamp",
    Kind.TIMESTAMP_TZ: "timestamptz",
    Kind.NULL: "text",
    Kind.MAP: "jsonb",
    Kind.ROW: "jsonb",
    Kind.BINARY_VECTOR: "bytea",
    Kind.BFLOAT16_VECTOR: "bytea",
    Kind.FLOAT_VECTOR: "real[]",
    Kind.FLOAT16_VECTOR: "real[]",
    Kind.SPARSE_FLOAT_VECTOR: "jsonb",
}


def created_type(column: Column) -> str:
    """The column's type in a table that we create. ValueError names a type that PostgreSQL has no column for."""
    if not KEPT_BY_POSTGRES.fullmatch(column.native):
        if given := words_given(column):
            return given
    elif _says(column):
        return column.native
    dtype = column.dtype
    match dtype.kind:
        case Kind.DECIMAL:
            return f"numeric({dtype.precision},{dtype.scale})"
        case Kind.STRING:
            return f"varchar({column.length})" if 0 < column.length <= VARCHAR_MAX else "text"
        case Kind.ARRAY:
            assert dtype.element is not None
            if dtype.element.kind in (Kind.ARRAY, Kind.MAP, Kind.ROW):
                return "jsonb"
            return created_type(Column(column.name, dtype.element)) + "[]"
        case Kind.TIME | Kind.TIMESTAMP if column.scale is not None and 0 <= column.scale < 6:
            return f"{_CREATED[dtype.kind]}({column.scale})"
        case _:
            return _CREATED[dtype.kind]


def _says(column: Column) -> bool:
    """Whether the native name still describes the column: a transform may have changed its type since."""
    native, kind = column.native, column.dtype.kind
    if native.startswith("numeric"):
        inner = re.search(r"\((\d+),\s*(\d+)\)", native)
        wanted = (int(inner[1]), int(inner[2])) if inner else (38, 18)
        return kind is Kind.DECIMAL and (column.dtype.precision, column.dtype.scale) == wanted
    if native.startswith("timestamp"):
        return kind is (Kind.TIMESTAMP if "without" in native else Kind.TIMESTAMP_TZ)
    if native.startswith("time"):
        return kind is Kind.TIME and "without" in native
    if native.endswith("[]"):
        return kind is Kind.ARRAY and column.dtype.element == DataType(Kind.STRING)
    return kind is Kind.STRING
