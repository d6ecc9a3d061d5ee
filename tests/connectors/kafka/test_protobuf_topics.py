"""Format protobuf on the real broker: what the sink writes the source reads; messages that are empty, missing or bad."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_connectors.kafka.schemas.protobuf_schema import loaded, message_schema
from seatunnel_py.api import BadRowsError, Batch, Column, TablePath, TableSchema, parse_type
from seatunnel_py.api.process.resources import close_all
from tests.connectors.kafka.sink_support import Job, records
from tests.connectors.kafka.support import all_rows, read, send, source, splits_of
from tests.connectors.kafka.topics import make_topic
from tests.servers.kafka import KafkaServer

SCHEMA = """
syntax = "proto3";
package shop;
message Order {
  int64 id = 1;
  optional string name = 2;
  message Line { string sku = 1; int32 count = 2; }
  repeated Line lines = 3;
  map<string, double> taxes = 4;
}
"""
OPTIONS: Mapping[str, Any] = {"format": "protobuf", "protobuf_schema": SCHEMA, "protobuf_message_name": "Order"}
TABLE = TableSchema(
    TablePath.parse("orders"),
    tuple(
        Column(name, parse_type(kind))
        for name, kind in {
            "id": "bigint", "name": "string", "lines": "array<{sku = string, count = int}>",
            "taxes": "map<string, double>",
        }.items()
    ),
)  # fmt: skip
ROWS = [
    {"id": 1, "name": "Ann", "lines": [{"sku": "a", "count": 2}], "taxes": [("vat", 0.5)]},
    {"id": 0, "name": None, "lines": [], "taxes": []},  # no byte at all, and a row
    {"id": 3, "name": "", "lines": [], "taxes": []},
]


@pytest.fixture(autouse=True)
def _clients() -> object:
    yield
    close_all()


def orders(*rows: dict[str, Any]) -> Batch:
    return Batch(TABLE.path, pa.RecordBatch.from_pylist(list(rows), schema=TABLE.arrow()))


def value(**fields: Any) -> bytes:
    made: bytes = loaded(message_schema(SCHEMA, "Order")).one(**fields).SerializeToString()
    return made


@pytest.mark.parametrize("semantics", ["AT_LEAST_ONCE", "EXACTLY_ONCE"])
def test_what_is_written_is_read(kafka: KafkaServer, topic: str, tmp_path: Path, semantics: str) -> None:
    options = {**OPTIONS, "semantics": semantics, "partition_key_fields": ["id"], "ledger.topic": f"{topic}-ledger"}
    job = Job(kafka.dsn, topic, tmp_path, options=options, table=TABLE, lineage=topic, job_id=topic).started()

    piece = job.stage("0@0", orders(*ROWS))
    job.commit(1, piece)

    assert [record.key for record in records(kafka.dsn, topic)] == [b"\x08\x01", b"", b"\x08\x03"]
    found = all_rows(source(kafka, topic, schema=None, **OPTIONS))
    assert found == [tuple(row.values()) for row in ROWS], "and the columns are the message's own"


def test_a_tombstone_is_no_row_and_an_empty_message_is_one(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    send(kafka, topic, [value(id=1), None, b"", value(id=2), None], key=b"k")

    made = source(kafka, topic, schema={"fields": {"id": "int"}}, **OPTIONS)
    [split] = splits_of(made)
    found = read(made, split)

    assert found.rows == [(1,), (0,), (2,)]
    assert found.end is not None and found.end.value["offset"] == 5


def test_bad_messages_are_refused_by_name_or_left_out(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    send(kafka, topic, [value(id=1), b"\xff\xff", value(id=2), value(id=300)])

    made = source(kafka, topic, schema={"fields": {"id": "tinyint"}}, **OPTIONS)
    [split] = splits_of(made)
    found = read(made, split)
    assert found.rows == [(1,), (2,)]
    assert [raw for raw, _ in found.refused] == [b"\xff\xff", value(id=300)]
    first, second = [reason for _, reason in found.refused]
    assert first.startswith(f"Kafka: topic {topic}, partition 0, offset 1: protobuf: it is not a shop.Order: ")
    assert second.startswith(f"Kafka: topic {topic}, partition 0, offset 3: protobuf: column 'id': ")

    skipping = source(kafka, topic, schema={"fields": {"id": "tinyint"}}, format_error_handle_way="skip", **OPTIONS)
    assert all_rows(skipping) == [(1,), (2,)]


def test_a_row_that_is_no_message_is_a_bad_row(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    """Found in the unit, where it can be set aside, and not in the commit of everybody's rows."""
    job = Job(kafka.dsn, topic, tmp_path, options=OPTIONS, table=TABLE).started()
    with pytest.raises(BadRowsError, match="column 'lines': it holds a null"):
        job.stage("0@0", orders(ROWS[0], {**ROWS[0], "lines": [None]}))


def test_many_messages_of_many_sizes(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    sizes = [0, 1, 120, 130, 16_000, 17_000, 200_000]
    send(kafka, topic, [value(id=n, name="x" * size) for n, size in enumerate(sizes * 300)])

    found = all_rows(source(kafka, topic, schema={"fields": {"id": "int", "name": "string"}}, **OPTIONS))
    assert [(n, len(name)) for n, name in found] == list(enumerate(sizes * 300))
