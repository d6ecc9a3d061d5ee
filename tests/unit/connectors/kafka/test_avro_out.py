"""Format avro of the sink: what it writes is what the source reads, and what Avro cannot hold is refused."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from seatunnel_connectors.kafka.decode.avro import AvroDecoder
from seatunnel_connectors.kafka.encode.encoder import Encoder, check_fields
from seatunnel_connectors.kafka.sink.options import KafkaSinkOptions
from seatunnel_py.api import BadRowsError, Batch, Column, TablePath, TableSchema, parse_type

TYPES = {
    "id": "int", "big": "bigint", "name": "string", "raw": "bytes", "yes": "boolean", "d": "double",
    "price": "decimal(10, 2)", "born": "date", "at": "timestamp", "tags": "array<string>", "more": "map<string, bigint>",
}  # fmt: skip
MILLIS = st.datetimes(datetime.fromisoformat("1900-01-01"), datetime.fromisoformat("2200-01-01")).map(
    lambda one: one.replace(microsecond=one.microsecond // 1000 * 1000)
)
ROW = st.tuples(
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(),
    st.none() | st.binary(),
    st.none() | st.booleans(),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.decimals(Decimal("-99999999.99"), Decimal("99999999.99"), places=2),
    st.none() | st.dates(date(1900, 1, 1), date(2200, 1, 1)),
    st.none() | MILLIS,
    st.none() | st.lists(st.none() | st.text()),
    st.none() | st.dictionaries(st.text(), st.none() | st.integers(-(2**63), 2**63 - 1)),
)


def table_of(**types: str) -> TableSchema:
    return TableSchema(TablePath.parse("t"), tuple(Column(name, parse_type(kind)) for name, kind in types.items()))


def encoder(table: TableSchema, **more: Any) -> Encoder:
    given = {"topic": "t", "bootstrap.servers": "x:1", "format": "avro", **more}
    options = KafkaSinkOptions.model_validate(given, context={"job_file": True})
    check_fields(options, table)
    return Encoder(options, table)


def batch(table: TableSchema, *found: tuple[Any, ...]) -> Batch:
    arrays = [pa.array([row[at] for row in found], field.type) for at, field in enumerate(table.arrow())]
    return Batch(table.path, pa.RecordBatch.from_arrays(arrays, names=list(table.names)))


@given(st.lists(ROW, min_size=1, max_size=5))
def test_what_is_written_is_read(found: list[tuple[Any, ...]]) -> None:
    table = table_of(**TYPES)
    rows = batch(table, *found)

    records = encoder(table).encode(rows)

    assert AvroDecoder(table).decode(records.column("value").to_pylist()).data.to_pylist() == rows.data.to_pylist()


def test_a_key_is_avro_too() -> None:
    table = table_of(id="int", name="string")

    records = encoder(table, partition_key_fields=["id"]).encode(batch(table, (7, "x")))

    assert AvroDecoder(table_of(id="int")).decode(records.column("key").to_pylist()).data.to_pylist() == [{"id": 7}]


def test_what_avro_cannot_hold_is_refused() -> None:
    """Changing it would be a loss that nobody hears of."""
    moments = table_of(at="timestamp")
    with pytest.raises(BadRowsError, match="finer than the milliseconds"):
        encoder(moments).encode(batch(moments, (datetime.fromisoformat("2026-01-31T12:00:00.001500"),)))
    with pytest.raises(ValueError, match="Avro has no type for"):
        encoder(table_of(at="time"))
    with pytest.raises(ValidationError, match="assign_partitions looks for texts"):
        encoder(moments, assign_partitions=["a"])
