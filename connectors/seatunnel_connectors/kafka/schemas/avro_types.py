"""Derives the Avro schema from columns, as SeaTunnel does since no message includes it, and parses a schema that the
user gives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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


def written_record(text: str) -> dict[str, Any]:
    """Parse the schema of messages that the user gives. Raises ValueError unless it is a record's schema."""
    from fastavro.schema import SchemaParseException, parse_schema

    try:
        given = json.loads(text)
        parse_schema(given)
    except KeyError as error:
        raise ValueError(f"avro_schema is not an Avro schema: a part of it has no {error}") from None
    except (ValueError, TypeError, SchemaParseException) as error:
        raise ValueError(f"avro_schema is not an Avro schema: {error}") from None
    if not isinstance(given, dict) or given.get("type") != "record":
        raise ValueError("avro_schema has to be that of a record")
    return given


def check_written(columns: Iterable[Column], text: str) -> None:
    """Raise ValueError if columns are not fields of the schema, at any depth: every row would have a null there."""
    _check_fields([(column.name, column.dtype) for column in columns], written_record(text), "")


def _check_fields(wanted: Iterable[tuple[str, DataType]], record: Mapping[str, Any], where: str) -> None:
    types = {field["name"]: field["type"] for field in record.get("fields", ())}
    for name, dtype in wanted:
        if name not in types:
            known = ", ".join(f"'{where}{known}'" for known in types) or "none at all"
            raise ValueError(f"avro_schema has no field '{where}{name}', but {known}")
        branches = types[name] if isinstance(types[name], list) else [types[name]]
        records = [one for one in branches if isinstance(one, dict) and one.get("type") == "record"]
        # a record that is only referenced by name here was checked where it is defined
        if dtype.kind is Kind.ROW and len(records) == 1:
            _check_fields(dtype.fields, records[0], f"{where}{name}.")


def avro_type(name: str, dtype: DataType) -> Any:
    """The Avro type of a column: everything but nested records may be null, as in SeaTunnel's messages. ``name`` is the
    column's name after those of its parents: a schema names each record once."""
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
        case Kind.TIMESTAMP if not dtype.unit:
            return ["null", {"type": "long", "logicalType": "local-timestamp-millis"}]
        case Kind.ARRAY if dtype.element:
            return ["null", {"type": "array", "items": avro_type(name, dtype.element)}]
        case Kind.MAP if dtype.key and dtype.key.kind is not Kind.STRING:
            raise ValueError(f"column {name!r}: Avro's maps have keys of text, and those of {dtype} are {dtype.key}")
        case Kind.MAP if dtype.element:
            return ["null", {"type": "map", "values": avro_type(name, dtype.element)}]
        case Kind.ROW:
            fields = [{"name": inner, "type": avro_type(f"{name}.{inner}", kind)} for inner, kind in dtype.fields]
            return {"type": "record", "name": name, "fields": fields}
    raise ValueError(f"column {name!r}: Avro has no type for {dtype}")
