"""Messages to rows, format by format: what each takes, what it makes of oddities, and what it refuses."""

from __future__ import annotations

import base64
import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pydantic import ValidationError

from seatunnel_connectors.kafka.source.formats import decoder_of, default_columns
from seatunnel_connectors.kafka.source.options import TopicOptions
from seatunnel_py.api import RowKind
from seatunnel_py.formats.messages.decoder import BadMessageError, Decoded, Decoder, decode_some, joined
from seatunnel_py.formats.schema_option import table_schema

FIELDS = {"id": "bigint", "name": "string", "price": "decimal(10, 2)"}


def decoder(fields: dict[str, Any] | None = None, **options: Any) -> Decoder:
    schema = {"schema": {"fields": fields}} if fields else {}
    parsed = TopicOptions.model_validate({"topic": "t", **schema, **options})
    return decoder_of(parsed, table_schema(parsed.declared, columns=default_columns(parsed)))


def rows(decoded: Decoded) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in decoded.data.to_pylist()]


def changes(decoded: Decoded) -> list[tuple[Any, ...]]:
    assert decoded.kinds is not None
    return [(RowKind(kind).short, *row) for kind, row in zip(decoded.kinds.to_pylist(), rows(decoded), strict=True)]


def encoded(*messages: Any) -> list[bytes]:
    return [json.dumps(message).encode() for message in messages]


# ---------------------------------------------------------------- json


def test_json_by_name_whatever_the_order_and_what_is_missing() -> None:
    made = decoder(FIELDS)
    values = [b'{"name":"a","id":1,"price":"1.50","more":[1]}', b'{"id":2}', b'{"id":null,"name":null}']
    assert rows(made.decode(values)) == [(1, "a", Decimal("1.50")), (2, None, None), (None, None, None)]


def test_json_as_the_peer_reads_it() -> None:
    """Numbers in quotes, containers in text columns, rows as lists, several rows in a message."""
    made = decoder({"id": "int", "name": "string", "tags": "array<string>"})
    values = encoded(
        {"id": " 7 ", "name": {"a": 1}, "tags": ["x", None]}, [1, "one", []], [{"id": 2}, {"id": 3}], {"name": "z"}
    )
    decoded = made.decode(values)
    assert rows(decoded) == [
        (7, '{"a":1}', ["x", None]), (1, "one", []), (2, None, None), (3, None, None), (None, "z", None),
    ]  # fmt: skip
    assert decoded.parents is not None and decoded.parents.to_pylist() == [0, 1, 2, 2, 3]


def test_json_that_shares_or_splits_documents_between_messages() -> None:
    """Joined they parse, and even count up to as many rows: one by one they are what they are."""
    made = decoder({"id": "int"})
    with pytest.raises(BadMessageError) as caught:
        made.decode([b'{"id":1}{"id":2}', b'{"id":', b"3}"])
    assert caught.value.index == 0
    assert rows(made.decode([b' {"id":1} ', b'\n{"id":2}', b'{\n"id":\n3}'])) == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{", "not a JSON document"),
        (b'{"id": 1', "not a JSON document"),
        (b'{"id": "x"}', "column 'id'"),
        (b'{"id": 99999999999}', "beyond the range"),
        (b"7", "object or array"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "not a JSON document"),
    ],
)
def test_json_that_is_bad_is_named_and_the_others_can_be_had(bad: bytes, reason: str) -> None:
    made = decoder({"id": "int"})
    values = [b'{"id":1}', b'{"id":2}', bad, b'{"id":3}']
    with pytest.raises(BadMessageError) as caught:
        made.decode(values)
    assert caught.value.index == 2 and reason in caught.value.reason
    good, skipped = decode_some(made, values)
    whole = joined(good, made)
    assert rows(whole) == [(1,), (2,), (3,)] and list(skipped) == [2]
    assert whole.parents is not None and whole.parents.to_pylist() == [0, 1, 3]


def test_nothing_but_bad_messages_is_no_row() -> None:
    made = decoder({"id": "int"})
    good, skipped = decode_some(made, [b"x"] * 5)
    assert joined(good, made).data.num_rows == 0 and list(skipped) == list(range(5))


# ---------------------------------------------------------------- text, csv


def test_text_is_cut_at_the_delimiter() -> None:
    fields = {"id": "int", "name": "string", "on": "date"}
    made = decoder(fields, format="text", field_delimiter="\\|", surplus_fields="drop")
    values = [b"1|a|2024-01-31", b"2", b"3||", "4|ü|20240131|more".encode()]
    assert rows(made.decode(values)) == [
        (1, "a", date(2024, 1, 31)), (2, None, None), (3, None, None), (4, "ü", date(2024, 1, 31)),
    ]  # fmt: skip


def test_text_of_containers() -> None:
    made = decoder({"tags": "array<int>", "map": "map<string, int>"}, format="text")
    assert rows(made.decode([b"1\x022\x023,a\x031\x02b\x032"])) == [([1, 2, 3], [("a", 1), ("b", 2)])]


def test_text_without_a_schema_is_one_column() -> None:
    for form in ("text", "json"):
        assert rows(decoder(format=form).decode([b'{"a": 1}', b"x,y"])) == [('{"a": 1}',), ("x,y",)]


def test_csv_honours_quotes() -> None:
    made = decoder({"id": "int", "name": "string"}, format="csv", field_delimiter=";;")
    values = [b'1;;"a;b"', b'2;;"two ""lines""\nhere"', b"3"]
    assert rows(made.decode(values)) == [(1, "a;b"), (2, 'two "lines"\nhere'), (3, None)]


def test_text_that_does_not_fit_is_named() -> None:
    made = decoder({"id": "int"}, format="text")
    for bad, reason in ((b"x", "column 'id'"), (b"\xff", "not UTF-8")):
        with pytest.raises(BadMessageError) as caught:
            made.decode([b"1", bad])
        assert caught.value.index == 1 and reason in caught.value.reason


# ---------------------------------------------------------------- change logs

BEFORE, AFTER = {"id": 1, "name": "a", "price": 1.5}, {"id": 1, "name": "b", "price": 2.25}
OLD, NEW = (1, "a", Decimal("1.50")), (1, "b", Decimal("2.25"))
ALL_FOUR = [("+I", *OLD), ("-U", *OLD), ("+U", *NEW), ("-D", *NEW)]


def debezium(op: str, before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after, "op": op, "source": {"table": "t"}, "ts_ms": 5}


@pytest.mark.parametrize("with_schema", [True, False])
def test_debezium(with_schema: bool) -> None:
    made = decoder(FIELDS, format="debezium_json", debezium_record_include_schema=with_schema)
    said = [debezium("c", None, BEFORE), debezium("u", BEFORE, AFTER), debezium("d", AFTER, None)]
    found = made.decode(encoded(*({"schema": {}, "payload": one} if with_schema else one for one in said)))
    assert changes(found) == ALL_FOUR
    assert found.parents is not None and found.parents.to_pylist() == [0, 1, 1, 2]


def test_debeziums_dates_and_decimals() -> None:
    fields = {
        "d": "date",
        "t": "time",
        "ms": "timestamp",
        "us": "timestamp",
        "ns": "timestamp_tz",
        "n": "decimal(9, 2)",
    }
    made = decoder(
        fields, format="debezium_json", debezium_record_include_schema=False, debezium_time_unit="millis",
        debezium_column_units={"us": "micros", "ns": "nanos"}, debezium_decimals="base64",
    )  # fmt: skip
    moment = 1_700_000_000
    row = {
        "d": 19_000, "t": 45_296_000, "ms": moment * 10**3 + 250, "us": moment * 10**6, "ns": moment * 10**9,
        "n": base64.b64encode((-12345).to_bytes(3, "big", signed=True)).decode(),
    }  # fmt: skip
    whole = datetime.fromisoformat("2023-11-14T22:13:20")
    milli, instant = whole.replace(microsecond=250_000), whole.replace(tzinfo=UTC)
    wanted = (date(2022, 1, 8), time(12, 34, 56), milli, whole, instant, Decimal("-123.45"))
    assert changes(made.decode(encoded(debezium("r", None, row)))) == [("+I", *wanted)]


SCHEMA_NAMES = {
    "ms": "io.debezium.time.Timestamp", "us": "io.debezium.time.MicroTimestamp", "ns": "io.debezium.time.NanoTimestamp",
    "tms": "org.apache.kafka.connect.data.Time", "tus": "io.debezium.time.MicroTime", "tns": "io.debezium.time.NanoTime",
    "d": "io.debezium.time.Date", "n": "org.apache.kafka.connect.data.Decimal", "c": "org.apache.kafka.connect.data.Date",
    "v": "io.debezium.data.VariableScaleDecimal",
}  # fmt: skip
LOGICAL = {
    "ms": "timestamp", "us": "timestamp", "ns": "timestamp(9)", "tms": "time", "tus": "time", "tns": "time(9)",
    "d": "date", "n": "decimal(9, 2)", "c": "date", "v": "decimal(9, 3)",
}  # fmt: skip
SMALL = {
    "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_001, "tms": 1_000, "tus": 1_000_000, "tns": 1_000_000_001,
    "d": -735_160, "n": "1234", "c": 2_932_897, "v": {"scale": 3, "value": "1234"},
}  # fmt: skip


@pytest.mark.parametrize("form", ["debezium_json", "compatible_kafka_connect_json"])
def test_the_schema_of_a_message_says_what_numbers_count(form: str) -> None:
    """T15: 2 January 1970 in microseconds became September 1972, a second 16 minutes, base64 a number in digits."""
    fields = [{"field": name, "name": word, "parameters": {"scale": "2"}} for name, word in SCHEMA_NAMES.items()]
    if form == "debezium_json":
        message = {
            "schema": {"fields": [{"field": "before", "fields": fields}, {"field": "after", "fields": fields}]},
            "payload": debezium("c", None, SMALL),
        }  # fmt: skip
    else:
        message = {"schema": {"fields": fields}, "payload": SMALL}
    [found] = decoder(LOGICAL, format=form).decode(encoded(message)).data.to_struct_array()
    ticks = {name: found[name].cast(pa.int64()).as_py() for name in ("ms", "us", "ns", "tms", "tus", "tns")}
    assert ticks == {
        "ms": 86_400_000_000, "us": 86_400_000_000, "ns": 86_400_000_000_001,
        "tms": 1_000_000, "tus": 1_000_000, "tns": 1_000_000_001,
    }  # fmt: skip
    assert found["n"].as_py() == Decimal("-26588.24")
    assert found["v"].as_py() == Decimal("-2658.824")
    assert [found[name].cast(pa.int32()).as_py() for name in ("d", "c")] == [-735_160, 2_932_897]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("ms", 1_700_000_000_000, "has no unit in the message"),
        ("tms", 1_000, "has no unit in the message"),
        ("n", "1234", "set debezium_decimals"),
    ],
)
def test_a_number_whose_unit_is_not_said_is_refused(name: str, value: Any, why: str) -> None:
    """T15: nothing is guessed by its size."""
    made = decoder({name: LOGICAL[name]}, format="debezium_json", debezium_record_include_schema=False)
    with pytest.raises(BadMessageError, match=rf"column '{name}'.*{why}"):
        made.decode(encoded(debezium("c", None, {name: value})))


@pytest.mark.parametrize(("value", "wanted"), [(12.5, "12.50"), ("12.50", "12.50"), ("MDk=", "123.45")])
def test_a_decimal_without_a_schema_is_told_by_its_form(value: Any, wanted: str) -> None:
    made = decoder({"n": "decimal(9, 2)"}, format="debezium_json", debezium_record_include_schema=False)
    decoded = made.decode(encoded(debezium("c", None, {"n": value})))
    assert changes(decoded) == [("+I", Decimal(wanted))]


def test_column_units_name_columns() -> None:
    with pytest.raises(ValidationError, match="debezium_column_units: the schema has no column 'x'"):
        decoder({"a": "time"}, format="debezium_json", debezium_column_units={"x": "micros"})


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (debezium("u", None, AFTER), "REPLICA IDENTITY FULL"),
        (debezium("d", None, None), "REPLICA IDENTITY FULL"),
        (debezium("c", None, None), "lacks the row after the change"),
        (debezium("t", None, None), "op 't' is none of"),
        ({"payload": {}}, "op None is none of"),
    ],
)
def test_debezium_that_says_too_little(message: Any, reason: str) -> None:
    made = decoder(FIELDS, format="debezium_json", debezium_record_include_schema=False)
    with pytest.raises(BadMessageError) as caught:
        made.decode(encoded(debezium("c", None, BEFORE), message))
    assert caught.value.index == 1 and reason in caught.value.reason


def test_debezium_without_the_payload_that_was_announced() -> None:
    made = decoder(FIELDS, format="debezium_json")
    with pytest.raises(BadMessageError):
        made.decode(encoded(debezium("c", None, BEFORE)))


@pytest.mark.parametrize("with_schema", [True, False])
def test_debezium_of_one_table_among_several(with_schema: bool) -> None:
    """Messages of other tables are no rows, whatever they hold; one that does not say of which it is, is bad."""
    other = {**debezium("t", None, {"id": "no number"}), "source": {"db": "d", "schema": "s", "table": "other"}}
    mine = {**debezium("c", None, BEFORE), "source": {"db": "d", "schema": "s", "table": "t"}}
    only = {"database_name": "d", "schema_name": "s", "table_name": "t"}

    def read(*said: Any, **parts: str) -> Any:
        made = decoder(
            FIELDS, format="debezium_json", debezium_record_include_schema=with_schema,
            debezium_record_table_filter=parts,
        )  # fmt: skip
        return made.decode(encoded(*({"schema": {}, "payload": one} if with_schema else one for one in said)))

    found = read(other, mine, other, mine, **only)
    assert changes(found) == [("+I", *OLD)] * 2 and found.parents.to_pylist() == [1, 3]
    assert read(other, **only).data.num_rows == 0
    assert changes(read(mine, other, table_name="t")) == [("+I", *OLD)]
    assert read(mine, **{**only, "schema_name": "else"}).data.num_rows == 0
    with pytest.raises(BadMessageError, match="debezium_record_table_filter needs"):
        read(mine, {"op": "c", "after": AFTER}, **only)


def test_canal() -> None:
    """Several rows in a message, every value as text; of an update only what it changed, and null is not absent."""
    made = decoder(FIELDS, format="canal_json")
    text = [{name: str(value) for name, value in row.items()} for row in (BEFORE, AFTER)]
    found = made.decode(
        encoded(
            {"type": "INSERT", "data": [text[0], {**text[0], "id": "2"}], "old": None},
            {"type": "UPDATE", "data": [text[1]], "old": [{"name": "a", "price": "1.5"}]},
            {"type": "UPDATE", "data": [text[1]], "old": [{"name": None}]},
            {"type": "DELETE", "data": [text[1]], "old": None},
            {"type": "QUERY", "data": None, "isDdl": False},
            {"type": "ALTER", "data": None, "isDdl": True, "sql": "alter table"},
        )
    )
    assert changes(found) == [
        ("+I", *OLD), ("+I", 2, *OLD[1:]), ("-U", *OLD), ("+U", *NEW),
        ("-U", 1, None, NEW[2]), ("+U", *NEW), ("-D", *NEW),
    ]  # fmt: skip
    assert found.parents is not None and found.parents.to_pylist() == [0, 0, 1, 1, 2, 2, 3]


def test_canal_as_the_peers_sink_writes_it() -> None:
    made = decoder(FIELDS, format="canal_json")
    found = made.decode(encoded({"type": "INSERT", "data": BEFORE}, {"type": "DELETE", "data": BEFORE}))
    assert changes(found) == [("+I", *OLD), ("-D", *OLD)]


def test_maxwell() -> None:
    made = decoder(FIELDS, format="maxwell_json")
    found = made.decode(
        encoded(
            {"type": "table-create", "def": {}}, {"type": "bootstrap-start"},
            {"type": "bootstrap-insert", "data": BEFORE},
            {"type": "update", "data": AFTER, "old": {"name": "a", "price": 1.5}},
            {"type": "delete", "data": AFTER},
        )
    )  # fmt: skip
    assert changes(found) == ALL_FOUR


def test_ogg() -> None:
    made = decoder(FIELDS, format="ogg_json")
    found = made.decode(
        encoded(
            {"op_type": "I", "after": BEFORE, "pos": "1"},
            {"op_type": "U", "before": BEFORE, "after": AFTER},
            {"op_type": "D", "before": AFTER},
        )
    )
    assert changes(found) == ALL_FOUR


@pytest.mark.parametrize(
    ("form", "message", "reason"),
    [
        ("canal_json", {"type": "MERGE", "data": []}, "type 'MERGE' is none of"),
        ("canal_json", {"type": "UPDATE", "data": [AFTER], "old": None}, "an update without old"),
        ("canal_json", {"type": "UPDATE", "data": [AFTER], "old": []}, "1 rows and 0 former"),
        ("canal_json", {"type": "INSERT", "data": [{"id": "x"}]}, "column 'id'"),
        ("maxwell_json", {"type": "insert"}, "no data"),
        ("maxwell_json", [1], "not an object"),
        ("ogg_json", {"op_type": "U", "after": AFTER}, "lacks the row before the change"),
    ],
)
def test_changes_that_say_too_little(form: str, message: Any, reason: str) -> None:
    made = decoder(FIELDS, format=form)
    with pytest.raises(BadMessageError) as caught:
        made.decode(encoded(message))
    assert reason in caught.value.reason


@pytest.mark.parametrize("form", ["debezium_json", "ogg_json", "canal_json", "maxwell_json"])
def test_changes_that_are_all_silent_or_none(form: str) -> None:
    assert decoder(FIELDS, format=form, debezium_record_include_schema=False).decode([]).data.num_rows == 0


# ---------------------------------------------------------------- Kafka Connect


def test_rows_of_kafka_connect_stand_inside_their_payload() -> None:
    made = decoder({"id": "int", "name": "string"}, format="COMPATIBLE_KAFKA_CONNECT_JSON")
    schema = {"type": "struct", "fields": [{"type": "int32", "optional": False, "field": "id"}]}
    good = encoded({"schema": schema, "payload": {"id": 1, "name": "a"}}, {"payload": {"id": 2}, "schema": None})

    assert rows(made.decode(good)) == [(1, "a"), (2, None)]

    for bad in ({"id": 3}, {"schema": schema, "payload": None}):
        with pytest.raises(BadMessageError) as caught:
            made.decode([*good, *encoded(bad)])
        assert caught.value.index == 2 and "no payload" in caught.value.reason

    bare = decoder({"id": "int"}, format="compatible_kafka_connect_json", value_converter_schema_enabled=False)
    assert rows(bare.decode(encoded({"id": 3}))) == [(3,)]


@pytest.mark.parametrize("depth", [1_000, 100_000])
@pytest.mark.parametrize("form", ["json", "ogg_json"])
def test_documents_that_are_nested_too_deep_are_bad_and_no_crash(form: str, depth: int) -> None:
    """F50."""
    made = decoder({"id": "int", "doc": "string"}, format=form)
    outside = b'{"op_type":"I","after":%s}' if form == "ogg_json" else b"%s"
    deep = outside % (b'{"id":1,"doc":' + b"[" * depth + b"]" * depth + b"}")
    good = outside % b'{"id":2,"doc":"x"}'

    found, refused = decode_some(made, [good, deep, good])

    assert sum(part.data.num_rows for part in found) == 2
    assert refused == {1: "it is not a JSON document: nested too deep"}


# ---------------------------------------------------------------- avro


def test_avro() -> None:
    fields = {
        "id": "int",
        "name": "string",
        "tags": "array<string>",
        "price": "decimal(10, 2)",
        "at": "timestamp",
        "in": {"a": "int"},
    }
    made = decoder(fields, format="avro")
    row = {
        "id": 1, "name": None, "tags": ["x", None], "price": Decimal("1.50"), "at": datetime.fromisoformat("2024-01-31T12:00:00"),
        "in": {"a": 7},
    }  # fmt: skip
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, made.avro, row)  # type: ignore[attr-defined]
    assert rows(made.decode([stream.getvalue()])) == [tuple(row.values())]
    for bad, reason in ((stream.getvalue()[:-1], "not Avro"), (stream.getvalue() + b"\0", "longer")):
        with pytest.raises(BadMessageError) as caught:
            made.decode([stream.getvalue(), bad])
        assert caught.value.index == 1 and reason in caught.value.reason
