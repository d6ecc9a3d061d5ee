"""Messages hold every value that was written: text, csv, json and avro, types nested to a depth of three."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatunnel_connectors.kafka.encode.encoder import Encoder, check_fields
from seatunnel_connectors.kafka.sink.options import KafkaSinkOptions
from seatunnel_connectors.kafka.source.formats import decoder_of
from seatunnel_connectors.kafka.source.options import TopicOptions
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    Column,
    DataType,
    FatalError,
    Kind,
    TablePath,
    TableSchema,
    parse_type,
    to_arrow,
)
from seatunnel_py.formats.messages.decoder import BadMessageError

sys.path.insert(0, str(Path(__file__).parents[2] / "formats" / "value_text"))
from drawn_values import BYTES, SCALARS, columns, same

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
REFUSED = ("delimiter", "UTF-8", "milliseconds", "years 1 to 9999", "not to be written as Avro")


def round_trip(form: str, dtype: DataType, array: pa.Array, **options: Any) -> pa.Array | None:
    """The column as it is read again; None: the format refused a value, or the type, by name."""
    table = TableSchema(TablePath("", "", "t"), (Column("v", dtype), Column("n", DataType(Kind.INT))))
    sink = KafkaSinkOptions.model_validate({"topic": "t", "bootstrap.servers": "x:1", "format": form, **options})
    data = pa.record_batch([array, pa.array(range(len(array)), pa.int32())], schema=table.arrow())
    try:
        check_fields(sink, table)
        values = Encoder(sink, table).encode(Batch(table.path, data)).column("value")
    except (BadRowsError, FatalError) as error:
        assert any(word in error.message for word in REFUSED), error
        return None
    except ValueError as error:
        assert "Avro" in str(error)
        return None
    schema = {"columns": [{"name": "v", "type": str(dtype)}, {"name": "n", "type": "int"}]}
    source = TopicOptions.model_validate({"topic": "t", "format": form, "schema": schema, **options})
    found = decoder_of(source, table).decode(values.to_pylist()).data
    assert found.column("n").to_pylist() == [*range(len(array))]
    return found.column("v")


@pytest.mark.parametrize("form", ["text", "csv", "json", "avro"])
def test_every_value_comes_back(form: str) -> None:
    """T3, T9, T14, T16, T27, P3-F5."""

    @QUICK
    @given(columns(3, [*SCALARS, BYTES] if form in ("json", "avro") else SCALARS))
    def check(drawn: tuple[DataType, pa.Array]) -> None:
        dtype, array = drawn
        found = round_trip(form, dtype, array)
        if form in ("text", "csv") and dtype.kind is Kind.STRING:
            array = pa.array([value or None for value in array.to_pylist()], array.type)  # null and empty are one
        assert found is None or same(found, array)

    check()


@QUICK
@given(st.sampled_from(["||", ";;", "¦", ",,"]), st.sampled_from(["text", "csv"]), columns(1, SCALARS))
def test_delimiters_of_several_characters(delimiter: str, form: str, drawn: tuple[DataType, pa.Array]) -> None:
    """P3-F6: of csv's the first character counted."""
    dtype, array = drawn
    found = round_trip(form, dtype, array, field_delimiter=delimiter)
    if dtype.kind is Kind.STRING:
        array = pa.array([value or None for value in array.to_pylist()], array.type)
    assert found is None or same(found, array)


@pytest.mark.parametrize("form", ["text", "csv"])
@pytest.mark.parametrize("record", [b"1,2,3", b'"1",2,3'])
def test_a_record_of_too_many_fields_is_refused(form: str, record: bytes) -> None:
    """P3-A3."""
    options: dict[str, Any] = {"topic": "t", "format": form, "schema": {"fields": {"a": "string", "b": "string"}}}
    table = TableSchema(TablePath("", "", "t"), (Column("a", parse_type("string")), Column("b", parse_type("string"))))
    with pytest.raises(BadMessageError, match="it has 3 fields for 2 columns; surplus_fields = drop"):
        decoder_of(TopicOptions.model_validate(options), table).decode([b"1,2", record])
    found = decoder_of(TopicOptions.model_validate({**options, "surplus_fields": "drop"}), table).decode([record])
    assert found.data.column("b").to_pylist() == ["2"]


def test_avro_refuses_what_it_would_cut_at_any_depth() -> None:
    """A nested timestamp lost its microseconds; a date beyond Python's years ended the job."""
    for kind, value in (("array<timestamp>", [1]), ("{f = map<string, timestamp>}", {"f": [("k", 1)]})):
        dtype = parse_type(kind)
        assert round_trip("avro", dtype, pa.array([value], to_arrow(dtype))) is None
    assert round_trip("avro", parse_type("date"), pa.array([2_932_897], pa.int32()).cast(pa.date32())) is None
    for kind in ("map<int, string>", "timestamp(9)"):
        table = TableSchema(TablePath("", "", "t"), (Column("v", parse_type(kind)),))
        sink = KafkaSinkOptions.model_validate({"topic": "t", "bootstrap.servers": "x:1", "format": "avro"})
        with pytest.raises(ValueError, match="column 'v': Avro"):
            check_fields(sink, table)


def test_avro_numbers_without_a_logical_type_are_no_dates() -> None:
    """T15: milliseconds were taken for microseconds."""
    import io

    import fastavro

    schema = '{"type":"record","name":"r","fields":[{"name":"v","type":"long"}]}'
    stream = io.BytesIO()
    fastavro.schemaless_writer(
        stream,
        fastavro.parse_schema({"type": "record", "name": "r", "fields": [{"name": "v", "type": "long"}]}),
        {"v": 1},
    )
    table = TableSchema(TablePath("", "", "t"), (Column("v", parse_type("timestamp")),))
    options = TopicOptions.model_validate(
        {"topic": "t", "format": "avro", "avro_schema": schema, "schema": {"fields": {"v": "timestamp"}}}
    )
    with pytest.raises(BadMessageError, match="a number without a logical type in the schema is not a timestamp"):
        decoder_of(options, table).decode([stream.getvalue()])
