"""Kafka with Protobuf as a place: a message has one schema, so each type has a sink of its own."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from seatunnel_py.api import DataType, Kind, parse_type
from tests.round_trips.databases import Database
from tests.round_trips.places import Topics

_FIELDS = {
    Kind.BOOLEAN: "bool", Kind.TINYINT: "int32", Kind.SMALLINT: "sint32", Kind.INT: "sfixed32", Kind.BIGINT: "int64",
    Kind.FLOAT: "float", Kind.DOUBLE: "double", Kind.STRING: "string", Kind.BYTES: "bytes",
    Kind.TIMESTAMP: "google.protobuf.Timestamp", Kind.TIMESTAMP_TZ: "google.protobuf.Timestamp",
}  # fmt: skip


def field_of(dtype: DataType) -> str:
    """The field of a value; empty where Protobuf has none, such as for dates, times and decimals."""
    if dtype.kind is Kind.ARRAY and dtype.element:
        return f"repeated {_FIELDS[dtype.element.kind]}" if dtype.element.kind in _FIELDS else ""
    if dtype.kind is Kind.DECIMAL and dtype.scale == 0 and dtype.precision <= 20:
        return "optional uint64"
    return f"optional {_FIELDS[dtype.kind]}" if dtype.kind in _FIELDS else ""


@dataclass
class Messages(Topics):
    """A topic for each table and round, a sink for each type."""

    @staticmethod
    def has_field_for(dtype: str) -> bool:
        return bool(field_of(parse_type(dtype)))

    def by_type(self, database: Database, types: Mapping[str, str]) -> str:
        """Sources of the tables of each type."""
        return "\n".join(
            f"{database.source(tables).removesuffix('}')}, plugin_output = g{at} }}"
            for at, tables in enumerate(_groups(types).values())
        )

    def sinks(self, types: Mapping[str, str]) -> str:
        block = self.sink().removesuffix("}")
        return "\n".join(
            f"{block}, plugin_input = g{at}, {_options(dtype)} }}" for at, dtype in enumerate(_groups(types))
        )

    def sink(self) -> str:
        """Without a schema, for a first look at the types, it is that of JSON."""
        return super().sink().replace("format = protobuf,", "")

    def source(self, types: Mapping[str, str]) -> str:
        configs = [
            f"{{ {json.dumps(self.config(table, dtype))[1:-1]}, {_options(dtype)} }}" for table, dtype in types.items()
        ]
        return f"Kafka {{ {self.connection()}, tables_configs = [{', '.join(configs)}] }}"


def _groups(types: Mapping[str, str]) -> Mapping[str, list[str]]:
    groups = defaultdict(list)
    for table, dtype in types.items():
        groups[dtype].append(table)
    return groups


def _options(dtype: str) -> str:
    schema = (
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; '
        f"message Pair {{ int64 id = 1; {field_of(parse_type(dtype))} v = 2; }}"
    )
    return f"format = protobuf, protobuf_message_name = Pair, protobuf_schema = {json.dumps(schema)}"
