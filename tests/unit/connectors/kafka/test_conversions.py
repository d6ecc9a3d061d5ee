"""Columns that a message holds in another form are named before the first row."""

from __future__ import annotations

from typing import Any

import pytest

from seatunnel_connectors.kafka.encode.encoder import check_fields, message_of
from seatunnel_connectors.kafka.forms import conversions
from seatunnel_connectors.kafka.sink.options import KafkaSinkOptions
from seatunnel_py.api import Column, Conversion, TablePath, TableSchema, parse_type
from seatunnel_py.formats.form_conversions import EMPTY_IS_NULL

PROTO = """syntax = "proto3";
message M { string a = 1; optional string b = 2; repeated int32 c = 3; int64 d = 4; }"""


def options(**more: Any) -> KafkaSinkOptions:
    return KafkaSinkOptions.model_validate({"topic": "t", "bootstrap.servers": "x:1", **more})


def table(**types: str) -> TableSchema:
    return TableSchema(TablePath("", "", "t"), tuple(Column(name, parse_type(kind)) for name, kind in types.items()))


def test_protobuf_says_which_nulls_become_defaults() -> None:
    """T43."""
    columns = table(a="string", b="string", c="array<int>")
    columns = TableSchema(columns.path, (*columns.columns, Column("d", parse_type("bigint"), nullable=False)))
    chosen = options(format="protobuf", protobuf_schema=PROTO, protobuf_message_name="M")
    assert conversions(chosen, columns, message_of(chosen)) == (
        Conversion("a", "string", "a", "null arrives as the default of its type; `optional` in the schema keeps it"),
        Conversion("c", "array<int>", "c", "null arrives as an empty list"),
    )


def test_text_says_that_empty_is_null_and_avro_that_it_counts_milliseconds() -> None:
    columns = table(s="string", at="array<timestamp>")
    assert conversions(options(format="csv"), columns, None) == (Conversion("s", "string", "text", EMPTY_IS_NULL),)
    found = conversions(options(format="avro"), columns, None)
    assert found == (Conversion("at", "array<timestamp>", "timestamp-millis", "whole milliseconds", checked=True),)
    assert conversions(options(format="json"), columns, None) == ()


def test_a_column_that_the_format_cannot_hold_is_refused_by_name() -> None:
    deep = "array<" * 8 + "int" + ">" * 8
    with pytest.raises(ValueError, match="column 'v': .* is nested deeper than the text format has separators for"):
        check_fields(options(format="text"), table(v=deep))
    with pytest.raises(ValueError, match="column 'v': JSON has no keys of the type array<int>"):
        check_fields(options(format="json"), table(v="map<array<int>, int>"))
