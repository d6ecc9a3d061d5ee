"""Messages as the serializers of a schema registry write them: a header, and Avro by a schema of somebody else's."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_connectors.kafka.schemas.avro_types import check_written
from seatunnel_connectors.kafka.source.formats import decoder_of, message_of
from seatunnel_connectors.kafka.source.options import TopicOptions
from seatunnel_py.formats.messages.decoder import BadMessageError, Decoder, decode_some
from seatunnel_py.formats.schema_option import table_schema

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "token", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "born", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "note", "type": ["null", "string"], "default": None},
        {
            "name": "buyer",
            "type": {
                "type": "record",
                "name": "Buyer",
                "fields": [
                    {"name": "name", "type": "string"},
                    {"name": "tags", "type": {"type": "array", "items": "string"}},
                ],
            },
        },
    ],
}
COLUMNS = {
    "price": "decimal(10, 2)", "id": "bigint", "token": "string", "state": "string", "at": "timestamp_tz", "born": "date",
    "buyer": {"tags": "array<string>"},
}  # fmt: skip
AT = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
ROW = {
    "id": 7, "token": UUID(int=5), "state": "PAID", "price": Decimal("1.50"), "at": AT, "born": None, "note": "unread",
    "buyer": {"name": "Ann", "tags": ["x", "y"]},
}  # fmt: skip
PROTO = (
    'syntax = "proto3"; message Other { int32 a = 1; } message Order { message Line { int64 id = 1; } int64 id = 1; }'
)


def decoder(fields: dict[str, Any], **options: Any) -> Decoder:
    parsed = TopicOptions.model_validate({"topic": "t", "schema": {"fields": fields}, **options})
    return decoder_of(parsed, table_schema(parsed.declared), message_of(parsed))


def avro(row: dict[str, Any], header: bytes = b"") -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(ORDER), row)
    return header + stream.getvalue()


def test_columns_are_fields_of_the_schema_that_messages_were_written_by() -> None:
    """In any order, some of them; other logical types than SeaTunnel's own."""
    made = decoder(COLUMNS, format="avro", avro_schema=json.dumps(ORDER))

    [row] = made.decode([avro(ROW)]).data.to_pylist()

    assert row == {
        "price": Decimal("1.50"), "id": 7, "token": str(UUID(int=5)), "state": "PAID", "at": AT, "born": None,
        "buyer": {"tags": ["x", "y"]},
    }  # fmt: skip
    [row] = made.decode([avro({**ROW, "born": date(2020, 2, 29)})]).data.to_pylist()
    assert row["born"] == date(2020, 2, 29)


def test_the_header_of_a_registry_is_taken_off() -> None:
    made = decoder(COLUMNS, format="avro", avro_schema=json.dumps(ORDER), strip_schema_registry_header=True)
    values = [
        avro({**ROW, "id": seq}, b"\0" + number.to_bytes(4, "big")) for seq, number in ((1, 3), (2, 3), (3, 70_000))
    ]

    assert made.decode(values).data.column("id").to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("bad", [b"", b"\0\0\0\0", b"\1\0\0\0\3", avro(ROW)])
def test_a_message_without_the_header_is_a_bad_row(bad: bytes) -> None:
    """Not decoded from its sixth byte on."""
    made = decoder(COLUMNS, format="avro", avro_schema=json.dumps(ORDER), strip_schema_registry_header=True)
    good = avro(ROW, b"\0\0\0\0\3")

    found, refused = decode_some(made, [good, bad, good])

    assert sum(part.data.num_rows for part in found) == 2
    assert refused == {1: "it has no header of a schema registry (strip_schema_registry_header)"}


@pytest.mark.parametrize("header", [b"\0\0\0\0\3\2\2", b"\0\0\0\0\3\4\2\0", b"\0\0\0\0\3\0"])
def test_protobuf_has_the_path_of_its_type_in_the_header(header: bytes) -> None:
    """[1], [1, 0], and a zero for [0]; a message of defaults has no bytes behind it."""
    made = decoder(
        {"id": "bigint"}, format="protobuf", protobuf_schema=PROTO, protobuf_message_name="Order",
        strip_schema_registry_header=True,
    )  # fmt: skip

    assert made.decode([header + b"\x08\x96\x01", header]).data.to_pydict() == {"id": [150, 0]}


@given(st.binary(max_size=12))
def test_no_bytes_are_taken_for_a_header_by_mistake(value: bytes) -> None:
    made = decoder(
        {"id": "bigint"}, format="protobuf", protobuf_schema=PROTO, protobuf_message_name="Order",
        strip_schema_registry_header=True,
    )  # fmt: skip
    try:
        made.decode([value])
    except BadMessageError:
        return
    assert value[:1] == b"\0" and len(value) > 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "avro_schema is not an Avro schema"),
        ("{}", "avro_schema is not an Avro schema: a part of it has no 'type'"),
        (json.dumps(ORDER).replace("tags", "labels"), "no field 'buyer.tags', but 'buyer.name', 'buyer.labels'"),
        ('"string"', "avro_schema has to be that of a record"),
        ('{"type": "record", "name": "x"}', "avro_schema has no field 'price', but none at all"),
        (
            '{"type": "record", "name": "x", "fields": [{"name": "a", "type": "strin"}]}',
            "avro_schema is not an Avro schema",
        ),
        (json.dumps({**ORDER, "fields": ORDER["fields"][1:]}), "avro_schema has no field 'id', but 'token', 'state'"),
    ],
)
def test_a_schema_that_does_not_fit_is_an_error_of_the_plan(text: str, said: str) -> None:
    parsed = TopicOptions.model_validate({"topic": "t", "format": "avro", "schema": {"fields": COLUMNS}})

    with pytest.raises(ValueError, match=said):
        check_written(table_schema(parsed.declared).columns, text)
