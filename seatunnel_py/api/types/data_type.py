"""Column types: SeaTunnel's names, one frozen value per type.

The text form (``str(type)``, :func:`parse_type`) is the spelling of job files: ``decimal(10, 2)``, ``timestamp(9)``,
``array<int>``, ``map<string, bigint>``, ``{a = int, b = string}`` for a nested row. Data types do not load pyarrow, so
that reading and checking a job file stays fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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

TEMPORAL = frozenset({Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ})

PRECISION_MAX = 76
"""Digits of Arrow's decimal256, the widest decimal that batches carry."""

NANOSECONDS = "ns"
NUMBER_TEXT = "number"


@dataclass(frozen=True, slots=True)
class DataType:
    """One column type. ``precision``/``scale`` belong to DECIMAL; ``element`` to ARRAY and MAP (its values);
    ``key`` to MAP; ``fields`` (name, type) to ROW. ``unit`` belongs to TIME, TIMESTAMP and TIMESTAMP_TZ: microseconds
    (the empty text) or NANOSECONDS. ``logical`` belongs to STRING: NUMBER_TEXT means that its texts are numbers of any
    size in plain digits, or ``NaN``, ``Infinity``, ``-Infinity``."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    element: DataType | None = None
    key: DataType | None = None
    fields: tuple[tuple[str, DataType], ...] = ()
    unit: str = ""
    logical: str = ""

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
                return self.logical or (f"{self.kind.value}(9)" if self.unit == NANOSECONDS else self.kind.value)


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
NUMBER = DataType(Kind.STRING, logical=NUMBER_TEXT)
"""A number of unlimited digits, such as PostgreSQL's numeric without a scale, kept as text."""


def decimal(precision: int, scale: int) -> DataType:
    """A decimal of at most 76 digits, ``scale`` of them after the point."""
    if not (1 <= precision <= PRECISION_MAX and 0 <= scale <= precision):
        raise ValueError(f"decimal({precision}, {scale}): precision is 1 to {PRECISION_MAX}, scale 0 to precision")
    return DataType(Kind.DECIMAL, precision=precision, scale=scale)


def array(element: DataType) -> DataType:
    """The array type with elements of this type."""
    return DataType(Kind.ARRAY, element=element)


def map_of(key: DataType, value: DataType) -> DataType:
    return DataType(Kind.MAP, key=key, element=value)


def row(fields: tuple[tuple[str, DataType], ...]) -> DataType:
    return DataType(Kind.ROW, fields=fields)
