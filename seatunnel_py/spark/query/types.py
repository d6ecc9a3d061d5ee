"""Converts column types to Spark's types and back. Uses no Spark session and imports no pyspark.

``timestamp`` has no zone, so it is Spark's TIMESTAMP_NTZ; ``timestamp_tz`` is an instant, so it is TIMESTAMP_LTZ.
``time`` is Spark's TIME(6), which has to be switched on (``SESSION_SETTINGS`` in ``session.py``). A ``float16_vector``
is carried as floats, for Spark has no half floats.
"""

from __future__ import annotations

import re
from typing import Any

from seatunnel_py.api.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_TZ,
    TINYINT,
    DataType,
    Kind,
    array,
    decimal,
    map_of,
    row,
)

_NAMES = {
    Kind.STRING: "string",
    Kind.BOOLEAN: "boolean",
    Kind.TINYINT: "tinyint",
    Kind.SMALLINT: "smallint",
    Kind.INT: "int",
    Kind.BIGINT: "bigint",
    Kind.FLOAT: "float",
    Kind.DOUBLE: "double",
    Kind.NULL: "void",
    Kind.BYTES: "binary",
    Kind.DATE: "date",
    Kind.TIME: "time(6)",
    Kind.TIMESTAMP: "timestamp_ntz",
    Kind.TIMESTAMP_TZ: "timestamp_ltz",
    Kind.BINARY_VECTOR: "binary",
    Kind.FLOAT_VECTOR: "array<float>",
    Kind.FLOAT16_VECTOR: "array<float>",
    Kind.BFLOAT16_VECTOR: "binary",
    Kind.SPARSE_FLOAT_VECTOR: "map<int,float>",
}

_FROM_JSON = {
    "string": STRING,
    "boolean": BOOLEAN,
    "byte": TINYINT,
    "short": SMALLINT,
    "integer": INT,
    "long": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "void": NULL,
    "binary": BYTES,
    "date": DATE,
    "timestamp_ntz": TIMESTAMP,
    "timestamp": TIMESTAMP_TZ,
}


def spark_type(dtype: DataType) -> str:
    """The type as Spark's DDL writes it."""
    match dtype.kind:
        case Kind.DECIMAL:
            return f"decimal({dtype.precision},{dtype.scale})"
        case Kind.ARRAY:
            assert dtype.element is not None
            return f"array<{spark_type(dtype.element)}>"
        case Kind.MAP:
            assert dtype.key is not None and dtype.element is not None
            return f"map<{spark_type(dtype.key)},{spark_type(dtype.element)}>"
        case Kind.ROW:
            inner = ",".join(f"{quoted(name)}:{spark_type(field)}" for name, field in dtype.fields)
            return f"struct<{inner}>"
        case _:
            return _NAMES[dtype.kind]


def quoted(name: str) -> str:
    """Quote a name for Spark, for any characters."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A text literal of Spark SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


ROW = "__seatunnel_row"
"""A hidden column that identifies batch and row of a row; see ``row_origin.py``."""

ROW_DDL = f"{quoted(ROW)} BIGINT NOT NULL"


def column_type(json: Any) -> DataType:
    """The column type of a Spark type in its JSON form. Raises ValueError for a type that no sink could store."""
    if isinstance(json, str):
        return _scalar(json)
    match json["type"]:
        case "array":
            return array(column_type(json["elementType"]))
        case "map":
            return map_of(column_type(json["keyType"]), column_type(json["valueType"]))
        case "struct":
            return row(tuple((field["name"], column_type(field["type"])) for field in json["fields"]))
        case other:
            raise ValueError(f"Spark's type {other} has no column type; cast it to another one")


def _scalar(name: str) -> DataType:
    if name in _FROM_JSON:
        return _FROM_JSON[name]
    if match := re.fullmatch(r"decimal\((\d+),(-?\d+)\)", name):
        return decimal(int(match[1]), max(int(match[2]), 0))
    if name.startswith("time("):
        return TIME
    if name.startswith(("char(", "varchar(", "string collate")):
        return STRING
    raise ValueError(f"Spark's type {name} has no column type; cast it to another one, such as STRING")
