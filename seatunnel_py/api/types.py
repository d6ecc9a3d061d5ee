"""Column types: SeaTunnel's names, one frozen value per type, and their Arrow counterparts.

The text form (``str(type)``, :func:`parse_type`) is what job files say: ``decimal(10, 2)``, ``array<int>``,
``map<string, bigint>``, ``{a = int, b = string}`` for a nested row. Names are compared without regard to case.
pyarrow is imported on use only, so that reading and checking a job file never loads it.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class Kind(StrEnum):
    """The names that a job file may use."""

    STRING = "string"
    BOOLEAN = "boolean"
    TINYINT = "tinyint"
    SMALLINT = "smallint"
    INT = "int"
    BIGINT = "bigint"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    NULL = "null"
    BYTES = "bytes"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMP_TZ = "timestamp_tz"
    ARRAY = "array"
    MAP = "map"
    ROW = "row"
    BINARY_VECTOR = "binary_vector"
    FLOAT_VECTOR = "float_vector"
    FLOAT16_VECTOR = "float16_vector"
    BFLOAT16_VECTOR = "bfloat16_vector"
    SPARSE_FLOAT_VECTOR = "sparse_float_vector"


INTEGERS = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT})
NUMBERS = INTEGERS | {Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL}

_ALIASES = {
    "byte": Kind.TINYINT,
    "short": Kind.SMALLINT,
    "integer": Kind.INT,
    "long": Kind.BIGINT,
    "bool": Kind.BOOLEAN,
    "varchar": Kind.STRING,
    "text": Kind.STRING,
    "json": Kind.STRING,  # its text, as of every container that lands in a string
    "binary": Kind.BYTES,
    "datetime": Kind.TIMESTAMP,
    "timestamptz": Kind.TIMESTAMP_TZ,
    "void": Kind.NULL,
}

PRECISION_MAX = 38  # what Arrow's decimal128, Spark and most databases agree on


@dataclass(frozen=True, slots=True)
class DataType:
    """One column type. ``precision``/``scale`` belong to DECIMAL; ``element`` to ARRAY and MAP (its values);
    ``key`` to MAP; ``fields`` (name, type) to ROW. Everything else is absent."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    element: DataType | None = None
    key: DataType | None = None
    fields: tuple[tuple[str, DataType], ...] = ()

    def __str__(self) -> str:
        match self.kind:
            case Kind.DECIMAL:
                return f"decimal({self.precision}, {self.scale})"
            case Kind.ARRAY:
                return f"array<{self.element}>"
            case Kind.MAP:
                return f"map<{self.key}, {self.element}>"
            case Kind.ROW:
                inner = ", ".join(f"{name} = {dtype}" for name, dtype in self.fields)
                return "{" + inner + "}"
            case _:
                return self.kind.value


STRING = DataType(Kind.STRING)
BOOLEAN = DataType(Kind.BOOLEAN)
TINYINT = DataType(Kind.TINYINT)
SMALLINT = DataType(Kind.SMALLINT)
INT = DataType(Kind.INT)
BIGINT = DataType(Kind.BIGINT)
FLOAT = DataType(Kind.FLOAT)
DOUBLE = DataType(Kind.DOUBLE)
NULL = DataType(Kind.NULL)
BYTES = DataType(Kind.BYTES)
DATE = DataType(Kind.DATE)
TIME = DataType(Kind.TIME)
TIMESTAMP = DataType(Kind.TIMESTAMP)
TIMESTAMP_TZ = DataType(Kind.TIMESTAMP_TZ)


def decimal(precision: int, scale: int) -> DataType:
    """A decimal of at most 38 digits, ``scale`` of them after the point."""
    if not (1 <= precision <= PRECISION_MAX and 0 <= scale <= precision):
        raise ValueError(f"decimal({precision}, {scale}): precision is 1 to {PRECISION_MAX}, scale 0 to precision")
    return DataType(Kind.DECIMAL, precision=precision, scale=scale)


def array(element: DataType) -> DataType:
    return DataType(Kind.ARRAY, element=element)


def map_of(key: DataType, value: DataType) -> DataType:
    return DataType(Kind.MAP, key=key, element=value)


def row(fields: tuple[tuple[str, DataType], ...]) -> DataType:
    return DataType(Kind.ROW, fields=fields)


def parse_type(text: str) -> DataType:
    """Read a type as a job file writes it. Raises ValueError that names the nearest valid type."""
    parser = _TypeParser(text)
    dtype = parser.type()
    parser.end()
    return dtype


class _TypeParser:
    """A recursive descent over the few forms that a type may have."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def type(self) -> DataType:
        self._blanks()
        if self._peek() == "{":
            return self._row()
        is_quoted = self._peek() in ("'", '"')
        name = self._name()
        if is_quoted and not name.isalnum():
            return parse_type(name)
        kind = _kind(name, self.text)
        match kind:
            case Kind.DECIMAL:
                return self._decimal()
            case Kind.ARRAY:
                self._take("<")
                element = self.type()
                self._take(">")
                return array(element)
            case Kind.MAP:
                self._take("<")
                key = self.type()
                self._take(",")
                value = self.type()
                self._take(">")
                return map_of(key, value)
            case Kind.ROW:
                raise ValueError(f"{self.text!r}: write a nested row as {{field = type, …}}")
            case _:
                return DataType(kind)

    def _decimal(self) -> DataType:
        self._blanks()
        if self._peek() != "(":
            raise ValueError(f"{self.text!r}: decimal needs precision and scale, such as decimal(10, 2)")
        self._take("(")
        precision = self._number()
        self._take(",")
        scale = self._number()
        self._take(")")
        return decimal(precision, scale)

    def _row(self) -> DataType:
        self._take("{")
        fields: list[tuple[str, DataType]] = []
        while True:
            self._blanks()
            if self._peek() == "}":
                break
            name = self._name()
            self._blanks()
            self._take("=" if self._peek() == "=" else ":")
            fields.append((name, self.type()))
            self._blanks()
            if self._peek() == ",":
                self._take(",")
        self._take("}")
        return row(tuple(fields))

    def end(self) -> None:
        self._blanks()
        if self.at != len(self.text):
            raise ValueError(f"{self.text!r}: unexpected {self.text[self.at :]!r} after the type")

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _blanks(self) -> None:
        while self._peek().isspace():
            self.at += 1

    def _take(self, wanted: str) -> None:
        self._blanks()
        if self._peek() != wanted:
            found = repr(self._peek()) if self._peek() else "the end"
            raise ValueError(f"{self.text!r}: expected {wanted!r}, found {found}")
        self.at += 1

    def _name(self) -> str:
        self._blanks()
        quote = self._peek()
        if quote and quote in "\"'":
            closing = self.text.find(quote, self.at + 1)
            if closing < 0:
                raise ValueError(f"{self.text!r}: a quote is not closed")
            name, self.at = self.text[self.at + 1 : closing], closing + 1
            return name
        start = self.at
        while self._peek() and (self._peek().isalnum() or self._peek() in "_-."):
            self.at += 1
        if start == self.at:
            raise ValueError(f"{self.text!r}: a type name is missing")
        return self.text[start : self.at]

    def _number(self) -> int:
        self._blanks()
        start = self.at
        while self._peek().isdigit():
            self.at += 1
        digits = self.text[start : self.at]
        if not digits or len(digits) > 3:
            raise ValueError(f"{self.text!r}: a number is missing or too large")
        return int(digits)


def _kind(name: str, text: str) -> Kind:
    lowered = name.lower()
    if lowered in _ALIASES:
        return _ALIASES[lowered]
    try:
        return Kind(lowered)
    except ValueError:
        near = difflib.get_close_matches(lowered, [*Kind, *_ALIASES], n=1)
        hint = f"; did you mean {str(near[0])!r}?" if near else ""
        raise ValueError(f"{text!r}: unknown type {name!r}{hint}") from None


def to_arrow(dtype: DataType) -> pa.DataType:
    """The Arrow type that carries ``dtype`` in batches (timestamps and times in microseconds)."""
    import pyarrow as pa

    match dtype.kind:
        case Kind.DECIMAL:
            return pa.decimal128(dtype.precision, dtype.scale)
        case Kind.ARRAY:
            assert dtype.element is not None
            return pa.list_(to_arrow(dtype.element))
        case Kind.MAP:
            assert dtype.key is not None and dtype.element is not None
            return pa.map_(to_arrow(dtype.key), to_arrow(dtype.element))
        case Kind.ROW:
            return pa.struct([(name, to_arrow(inner)) for name, inner in dtype.fields])
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
        Kind.TIME: pa.time64("us"),
        Kind.TIMESTAMP: pa.timestamp("us"),
        Kind.TIMESTAMP_TZ: pa.timestamp("us", "UTC"),
        Kind.BINARY_VECTOR: pa.binary(),
        Kind.FLOAT_VECTOR: pa.list_(pa.float32()),
        Kind.FLOAT16_VECTOR: pa.list_(pa.float16()),
        Kind.BFLOAT16_VECTOR: pa.binary(),
        Kind.SPARSE_FLOAT_VECTOR: pa.map_(pa.int32(), pa.float32()),
    }


def from_arrow(arrow: pa.DataType) -> DataType:
    """The column type of an Arrow type; unsigned integers take the next wider one, dictionaries their values'.

    Raises ValueError for a type that has no counterpart (durations, intervals, unions).
    """
    import pyarrow as pa

    t = pa.types
    if t.is_dictionary(arrow):
        return from_arrow(arrow.value_type)
    if t.is_decimal(arrow):
        return decimal(min(arrow.precision, PRECISION_MAX), max(arrow.scale, 0))
    if t.is_map(arrow):
        return map_of(from_arrow(arrow.key_type), from_arrow(arrow.item_type))
    if t.is_list(arrow) or t.is_large_list(arrow) or t.is_fixed_size_list(arrow):
        return array(from_arrow(arrow.value_type))
    if t.is_struct(arrow):
        return row(tuple((field.name, from_arrow(field.type)) for field in arrow))
    if t.is_timestamp(arrow):
        return TIMESTAMP_TZ if arrow.tz else TIMESTAMP
    for test, dtype in _ARROW_TESTS:
        if getattr(t, test)(arrow):
            return dtype
    raise ValueError(f"the Arrow type {arrow} has no column type")


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
    ("is_time", TIME),
)
