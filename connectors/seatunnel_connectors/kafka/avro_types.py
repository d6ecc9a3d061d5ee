"""The Avro schema that columns make, as the peer makes it: nobody sends it along."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seatunnel_py.api import Column, DataType, Kind

_PLAIN = {
    Kind.STRING: "string", Kind.BYTES: "bytes", Kind.TINYINT: "int", Kind.SMALLINT: "int", Kind.INT: "int",
    Kind.BIGINT: "long", Kind.FLOAT: "float", Kind.DOUBLE: "double", Kind.BOOLEAN: "boolean",
}  # fmt: skip


def record_of(columns: Iterable[Column]) -> dict[str, Any]:
    """The schema of a row. Raises ValueError for a type that Avro does not have."""
    fields = [{"name": column.name, "type": avro_type(column.name, column.dtype)} for column in columns]
    return {"type": "record", "name": "SeaTunnelRecord", "fields": fields}


def avro_type(name: str, dtype: DataType) -> Any:
    """The Avro type of a column: everything may be null but nested records, as in the peer's messages."""
    plain = _PLAIN.get(dtype.kind)
    if plain is not None:
        return ["null", plain]
    match dtype.kind:
        case Kind.NULL:
            return "null"
        case Kind.DECIMAL:
            decimal = {"type": "bytes", "logicalType": "decimal", "precision": dtype.precision, "scale": dtype.scale}
            return ["null", decimal]
        case Kind.DATE:
            return ["null", {"type": "int", "logicalType": "date"}]
        case Kind.TIMESTAMP:
            return ["null", {"type": "long", "logicalType": "local-timestamp-millis"}]
        case Kind.ARRAY if dtype.element:
            return ["null", {"type": "array", "items": avro_type(name, dtype.element)}]
        case Kind.MAP if dtype.element:
            return ["null", {"type": "map", "values": avro_type(name, dtype.element)}]
        case Kind.ROW:
            fields = [{"name": inner, "type": avro_type(inner, kind)} for inner, kind in dtype.fields]
            return {"type": "record", "name": name, "fields": fields}
    raise ValueError(f"column {name!r}: Avro has no type for {dtype}")
