"""Maps PostgreSQL's types: how each is read and selected, and which type is created for a column.

Types that Arrow does not have (uuid, json, interval, enums, ranges …) are cast to text in the SELECT. Reading them
natively would return the database's binary form, which only another PostgreSQL understands. Elements of arrays follow
the rules of columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from seatunnel_connectors.jdbc.postgres.connection.session import NO_LIST, literal
from seatunnel_connectors.jdbc.target.target_plan import KEPT_BY_POSTGRES, TargetColumn, words_given
from seatunnel_py.api import ANY_DIGITS, NUMBER, PRECISION_MAX, STRING, Column, DataType, Kind, array, decimal

VARCHAR_MAX = 10_485_760
PSEUDO = "p"
"""The category of types that no column can have: void, record, unknown."""


@dataclass(frozen=True, slots=True)
class NativeType:
    """A column's type in the catalog. ``name`` is pg_type.typname with domains resolved, ``category`` its typtype,
    ``element`` the typname of an array's elements."""

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
    "timetz": (Kind.STRING, "{0}::text"),  # a time without its zone is another time
    "timestamp": (Kind.TIMESTAMP, "{0}"),
    "timestamptz": (Kind.TIMESTAMP_TZ, "{0}"),
}
_EXACT = frozenset(
    {"bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "bpchar", "bytea", "date", "time"}
    | {"timestamp", "timestamptz"}
)
"""Types that are read without any conversion of values and type."""


def read_as(native: NativeType) -> tuple[DataType, str] | None:
    """The SeaTunnel type, and the SELECT expression with ``{0}`` for the quoted column, ``{1}`` for an array's type and
    ``{2}`` for the column's name as a literal; None for types that no column can have.

    A type without counterpart is read as the server's text, which the server accepts as input.
    """
    if native.name in _PLAIN:
        kind, expression = _PLAIN[native.name]
        return DataType(kind), expression
    if native.name == "numeric":
        return numeric_type(native.modifier), "{0}"
    if native.name == "money":
        return decimal(30, 2), "{0}::numeric(30,2)"
    if native.element and native.name.startswith("_"):
        return _array(native)
    return None if native.category == PSEUDO else (STRING, "{0}::text")


def _array(native: NativeType) -> tuple[DataType, str]:
    inner = read_as(NativeType(native.element, native.modifier)) or (STRING, "{0}::text")
    dtype, expression = inner
    if expression == "{0}":
        return array(dtype), _list_only("{0}", "{1}")
    if dtype.kind is Kind.STRING:  # by the array's own output: a cast of elements may show them differently
        return array(STRING), _list_only("{0}::text::text[]", "text[]")
    return array(dtype), _list_only(f"{expression}[]", f"{expression.partition('::')[2]}[]")


def _list_only(expression: str, kind: str) -> str:
    """Refuse arrays that a list cannot hold: one with more dimensions would arrive flattened, and one with another
    lower bound would lose it. The server's error names the value."""
    odd = "array_ndims({0}) > 1 OR array_lower({0}, 1) <> 1"
    complaint = f"({literal(NO_LIST)} || ', column ' || {{2}} || ': ' || {{0}}::text)::text[]::{kind}"
    return f"CASE WHEN {odd} THEN {complaint} ELSE {expression} END"


def is_exact(native: NativeType) -> bool:
    """True if reading a column of that type keeps its values in a type of the same meaning."""
    if native.element and native.name.startswith("_"):
        return is_exact(NativeType(native.element, native.modifier))
    if native.name == "numeric":
        precision, scale = precision_of(native.modifier)
        return 0 <= scale <= precision <= PRECISION_MAX
    return native.name in _EXACT


def precision_of(modifier: int) -> tuple[int, int]:
    """Precision and scale of a numeric's modifier; (-1, -1) if it has none. A scale may be negative."""
    if modifier < 4:
        return -1, -1
    precision, scale = (modifier - 4 >> 16) & 0xFFFF, (modifier - 4) & 0x7FF
    return precision, scale - 2048 if scale >= 1024 else scale


def numeric_type(modifier: int) -> DataType:
    """numeric(p, s) as a decimal that holds all its values; text if no decimal does, or without a precision."""
    precision, scale = precision_of(modifier)
    if precision < 0:
        return NUMBER
    digits = precision - scale if scale < 0 else max(precision, scale)
    return decimal(digits, max(scale, 0)) if digits <= PRECISION_MAX else NUMBER


_MODIFIED = re.compile(r"([a-z][a-z ]*?)\((\d+)(?:,(-?\d+))?\)( with(?:out)? time zone)?")
_TYPNAMES = {
    "boolean": "bool", "smallint": "int2", "integer": "int4", "bigint": "int8", "real": "float4",
    "double precision": "float8", "character varying": "varchar", "character": "bpchar", "bit varying": "varbit",
    "time without time zone": "time", "time with time zone": "timetz", "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz", "char": "bpchar", "int": "int4", "decimal": "numeric",
    "float": "float8",
}  # fmt: skip


@lru_cache(maxsize=1024)
def native_of(full: str) -> NativeType:
    """Parse a type from ``format_type`` or from a CREATE TABLE, as the catalog has it."""
    full = re.sub(r"\s*([(),])\s*", r"\1", full.strip().lower()).replace(")with", ") with")
    if full.endswith("[]"):
        inner = native_of(full[:-2])
        return NativeType("_" + inner.name, inner.modifier, element=inner.name)
    found = _MODIFIED.fullmatch(full)
    if found is None:
        return NativeType("interval" if full.startswith("interval ") else _TYPNAMES.get(full, full))
    name, first, second, zone = found.groups()
    name = "interval" if name.startswith("interval") else _TYPNAMES.get(name + (zone or ""), name)
    if name == "numeric":
        return NativeType(name, ((int(first) << 16) | (int(second or 0) & 0x7FF)) + 4)
    return NativeType(name, int(first) + 4 if name in ("varchar", "bpchar") else int(first))


def digits_of(native: NativeType) -> int:
    """Digits of a second's fraction that a time, timestamp or interval keeps."""
    name = native.element or native.name
    if name in ("time", "timetz", "timestamp", "timestamptz") and 0 <= native.modifier < 6:
        return native.modifier
    if name == "interval" and native.modifier >= 0 and native.modifier & 0xFFFF < 6:
        return native.modifier & 0xFFFF
    return ANY_DIGITS


def target_column(name: str, full: str) -> TargetColumn:
    """A column of that type as a target."""
    native = native_of(full)
    mapped = read_as(native)
    return TargetColumn(name, mapped[0] if mapped else None, full, length=length_of(native), digits=digits_of(native))


def length_of(native: NativeType) -> int:
    """Maximum characters of a varchar or char; 0: no limit."""
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
    """The column's type in a created table. Raises ValueError for a type without counterpart in PostgreSQL."""
    if not KEPT_BY_POSTGRES.fullmatch(column.native):
        if given := words_given(column):
            return given
    elif _says(column):
        return column.native
    dtype = column.dtype
    match dtype.kind:
        case Kind.DECIMAL:
            return f"numeric({dtype.precision},{dtype.scale})"
        case Kind.STRING if dtype == NUMBER:
            return "numeric"
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
    """True if the native name still describes the column: a transform may have changed its type since."""
    mapped = read_as(native_of(column.native))
    return mapped is not None and mapped[0] == column.dtype
