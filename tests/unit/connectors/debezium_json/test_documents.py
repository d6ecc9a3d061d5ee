"""Documents of changes as Debezium writes them: exact values, both rows of an update, keys, schemas."""

from __future__ import annotations

import base64
import json
import pickle
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_connectors.debezium_json.documents import DebeziumDocuments
from seatunnel_connectors.debezium_json.factory import DebeziumDocumentsFactory
from seatunnel_connectors.debezium_json.numbers import scaled_structs, unscaled_bytes
from seatunnel_connectors.debezium_json.settings import options_of
from seatunnel_py.api import BadRowsError, Batch, Column, DataType, FatalError, Kind, PrimaryKey, TablePath, TableSchema

PATH = TablePath("shop", "sales", "orders")
INT, STRING = DataType(Kind.INT), DataType(Kind.STRING)
PLAIN = {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false", "topic.prefix": "srv"}
INSERT, BEFORE, AFTER, DELETE = 0, 1, 2, 3


def table(*columns: Column, key: tuple[str, ...] = ("id",)) -> TableSchema:
    return TableSchema(PATH, (Column("id", INT, nullable=False), *columns), PrimaryKey(key) if key else None)


def batch(schema: TableSchema, *rows: tuple[Any, ...], kinds: list[int] | None = None, **more: Any) -> Batch:
    arrays = [pa.array(one, kind.type) for one, kind in zip(zip(*rows, strict=True), schema.arrow(), strict=True)]
    data = pa.RecordBatch.from_arrays(arrays, names=list(schema.names))
    return Batch(schema.path, data, kinds=None if kinds is None else pa.array(kinds, pa.uint8()), **more)


def documents(schema: TableSchema, rows: Batch, database: Any = "postgresql", **settings: str) -> list[Any]:
    """Topic, key and value of each document."""
    options = options_of(database, "default", {**PLAIN, **settings})
    made = pickle.loads(pickle.dumps(DebeziumDocuments.made(schema, options)))  # a worker gets it like this
    (found,) = made.apply(rows)
    assert isinstance(found, Batch) and found.kinds is None and found.absent is None
    found.data.validate(full=True)
    return [
        (one["topic"], one["key"] and json.loads(one["key"]), json.loads(one["value"]))
        for one in found.data.to_pylist()
    ]


NAMES = table(Column("name", STRING))


def test_each_change_is_one_document() -> None:
    kinds = [INSERT, BEFORE, AFTER, AFTER, DELETE, BEFORE]
    rows = batch(NAMES, (1, "a"), (1, "a"), (1, "b"), (2, "c"), (3, None), (4, "x"), kinds=kinds)

    found = [(value["op"], value["before"], value["after"]) for _, _, value in documents(NAMES, rows)]

    assert found == [
        ("c", None, {"id": 1, "name": "a"}),
        ("u", {"id": 1, "name": "a"}, {"id": 1, "name": "b"}),
        ("u", None, {"id": 2, "name": "c"}),
        ("d", {"id": 3, "name": None}, None),
        ("d", {"id": 4, "name": "x"}, None),  # the row after it is in another batch
    ]


def test_keys_and_topics() -> None:
    rows = batch(NAMES, (1, "a"))
    keyless = table(Column("name", STRING), key=())

    assert documents(NAMES, rows)[0][:2] == ("srv.sales.orders", {"id": 1})
    assert documents(NAMES, rows, "mysql")[0][:2] == ("srv.shop.orders", {"id": 1})
    assert documents(keyless, rows)[0][1] is None


def test_a_copied_row_is_read_and_one_of_the_log_has_its_place() -> None:
    place = {
        "SnapshotRow": pa.array([True, False]), "EventTime": pa.array([None, 1700], pa.int64()),
        "BinlogFile": pa.array([None, "log.7"], pa.string()), "BinlogPos": pa.array([None, 55], pa.int64()),
        "BinlogRow": pa.array([None, 3], pa.int32()), "Gtid": pa.array([None, "0-1-2"]), "ServerId": pa.array([None, 9]),
    }  # fmt: skip
    rows = batch(NAMES, (1, "a"), (2, "b"), metadata=place)

    copied, logged = (value for _, _, value in documents(NAMES, rows, "mysql"))

    assert (copied["op"], copied["ts_ms"], copied["source"]["snapshot"]) == ("r", None, "true")
    assert (copied["source"]["file"], copied["source"]["pos"], copied["source"]["ts_ms"]) == ("", 0, 0)
    assert (logged["op"], logged["ts_ms"]) == ("c", 1700)
    source = {name: logged["source"][name] for name in ("snapshot", "ts_ms", "file", "pos", "row", "gtid", "server_id")}
    assert source == {
        "snapshot": "false", "ts_ms": 1700, "file": "log.7", "pos": 55, "row": 3, "gtid": "0-1-2", "server_id": 9,
    }  # fmt: skip
    assert logged["source"]["db"] == "shop" and logged["source"]["table"] == "orders"


def test_the_schema_stands_beside_the_payload() -> None:
    on = {"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "TRUE"}
    _, key, value = documents(NAMES, batch(NAMES, (1, "a")), **on)[0]

    fields = [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "string", "optional": True, "field": "name"},
    ]
    assert key["payload"] == {"id": 1}
    assert key["schema"] == {
        "type": "struct", "fields": fields[:1], "optional": False, "name": "srv.sales.orders.Key",
    }  # fmt: skip
    assert value["payload"]["after"] == {"id": 1, "name": "a"}
    schema = value["schema"]
    assert schema["name"] == "srv.sales.orders.Envelope"
    assert [one["field"] for one in schema["fields"]] == ["before", "after", "source", "op", "ts_ms", "transaction"]
    assert schema["fields"][0] == {
        "type": "struct", "fields": fields, "optional": True, "name": "srv.sales.orders.Value", "field": "before",
    }  # fmt: skip
    assert [one["field"] for one in schema["fields"][2]["fields"]] == list(value["payload"]["source"])


MICROS = 1_700_000_000_123_456
FORMS: list[tuple[Column, Any, Any, dict[str, str], tuple[str, str | None]]] = [
    (Column("x", DataType(Kind.BOOLEAN)), True, True, {}, ("boolean", None)),
    (Column("x", DataType(Kind.TINYINT)), -5, -5, {}, ("int16", None)),
    (Column("x", DataType(Kind.BIGINT)), 2**62, 2**62, {}, ("int64", None)),
    (Column("x", DataType(Kind.DOUBLE)), 0.1, 0.1, {}, ("double", None)),
    (Column("x", STRING, native="jsonb"), '{"a": 1}', '{"a": 1}', {}, ("string", "io.debezium.data.Json")),
    (Column("x", STRING, converted_from="enum('a','b')"), "a", "a", {}, ("string", "io.debezium.data.Enum")),
    (Column("x", DataType(Kind.DATE)), 19_675, 19_675, {}, ("int32", "io.debezium.time.Date")),
    (
        Column("x", DataType(Kind.TIMESTAMP)), MICROS, MICROS, {}, ("int64", "io.debezium.time.MicroTimestamp"),
    ),
    (
        Column("x", DataType(Kind.TIMESTAMP), scale=3), -1_000, -1, {}, ("int64", "io.debezium.time.Timestamp"),
    ),
    (
        Column("x", DataType(Kind.TIMESTAMP)), -1, -1, {"time.precision.mode": "connect"},
        ("int64", "org.apache.kafka.connect.data.Timestamp"),
    ),
    (Column("x", DataType(Kind.TIME)), 86_399_999_999, 86_399_999_999, {}, ("int64", "io.debezium.time.MicroTime")),
    (
        Column("x", DataType(Kind.TIMESTAMP_TZ)), MICROS, "2023-11-14T22:13:20.123456Z", {},
        ("string", "io.debezium.time.ZonedTimestamp"),
    ),
    (
        Column("x", DataType(Kind.DECIMAL, 10, 2)), Decimal("-1.28"), base64.b64encode(b"\x80").decode(), {},
        ("bytes", "org.apache.kafka.connect.data.Decimal"),
    ),
    (
        Column("x", DataType(Kind.DECIMAL, 10, 2)), Decimal("-1.20"), "-1.20", {"decimal.handling.mode": "string"},
        ("string", None),
    ),
    (
        Column("x", DataType(Kind.DECIMAL, 10, 2)), Decimal("1.25"), 1.25, {"decimal.handling.mode": "double"},
        ("double", None),
    ),
    (
        Column("x", DataType(Kind.STRING, logical="number")), "12.50", {"scale": 2, "value": "BOI="}, {},
        ("struct", "io.debezium.data.VariableScaleDecimal"),
    ),
    (Column("x", DataType(Kind.BYTES)), b"\x00\xff", "AP8=", {}, ("bytes", None)),
    (Column("x", DataType(Kind.BYTES)), b"\x00\xff", "00ff", {"binary.handling.mode": "hex"}, ("string", None)),
    (Column("x", DataType(Kind.ARRAY, element=DataType(Kind.DATE))), [1, None, 3], [1, None, 3], {}, ("array", None)),
]  # fmt: skip


@pytest.mark.parametrize(("column", "value", "shown", "settings", "form"), FORMS)
def test_values_have_the_form_that_their_schema_names(
    column: Column, value: Any, shown: Any, settings: dict[str, str], form: tuple[str, str | None]
) -> None:
    schema = table(column)
    rows = batch(schema, (1, value), (2, None))

    first, second = documents(schema, rows, **{**settings, "value.converter.schemas.enable": "true"})

    assert first[2]["payload"]["after"]["x"] == shown
    assert second[2]["payload"]["after"]["x"] is None
    (said,) = (one for one in first[2]["schema"]["fields"][1]["fields"] if one["field"] == "x")
    assert (said["type"], said.get("name")) == form and said["optional"]


def test_connect_times_round_down() -> None:
    """Before 1970, too: -1 microsecond is the millisecond -1."""
    column = Column("x", DataType(Kind.TIMESTAMP))
    rows = batch(table(column), (1, -1), (2, -1000), (3, -1001), (4, 1999))

    found = documents(table(column), rows, **{"time.precision.mode": "connect"})

    assert [value["after"]["x"] for _, _, value in found] == [-1, -1, -2, 1]


def test_a_value_that_the_log_lacks_is_the_placeholder() -> None:
    schema = table(Column("name", STRING), Column("n", INT))
    marks = [pa.array([False, False]), pa.array([True, False]), pa.array([False, False])]
    absent = pa.RecordBatch.from_arrays(marks, names=list(schema.names))
    rows = batch(schema, (1, None, 5), (2, None, 6), kinds=[AFTER, AFTER], absent=absent)

    found = [value["after"]["name"] for _, _, value in documents(schema, rows)]
    assert found == ["__debezium_unavailable_value", None]
    given = documents(schema, rows, **{"unavailable.value.placeholder": "gone"})
    assert given[0][2]["after"]["name"] == "gone"

    marks = [pa.array([False, False]), pa.array([False, False]), pa.array([True, False])]
    absent = pa.RecordBatch.from_arrays(marks, names=list(schema.names))
    with pytest.raises(FatalError, match="column 'n' unchanged") as caught:
        documents(schema, batch(schema, (1, "a", None), (2, "b", 6), kinds=[AFTER, AFTER], absent=absent))
    assert "REPLICA IDENTITY FULL" in caught.value.remedy


def test_a_type_without_a_form_is_refused() -> None:
    schema = table(Column("v", DataType(Kind.FLOAT_VECTOR)))

    with pytest.raises(ValueError, match="column 'v': a document of Debezium has no form for the type"):
        DebeziumDocumentsFactory().create(options_of("mysql", "srv", {}), schema, None)  # type: ignore[arg-type]


def test_settings_are_refused_together() -> None:
    given = {"decimal.handling.mode": "exact", "value.converter.schemas.enable": "maybe", "topic.prefix": "a"}

    with pytest.raises(ValueError, match="maybe is not supported; use true or false") as caught:
        options_of("mysql", "srv", given)
    assert "decimal.handling.mode = exact is not supported; use precise, string, double" in str(caught.value)


# ---------------------------------------------------------------- numbers


def shortest(number: int) -> bytes:
    """The two's complement of a number, as Java's BigInteger gives it."""
    length = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(length, "big", signed=True)


@given(
    st.lists(st.none() | st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-300, 300), max_size=20),
    st.sampled_from([38, 76]),
    st.integers(0, 3),
)
def test_unscaled_bytes_are_the_shortest(numbers: list[int | None], precision: int, skip: int) -> None:
    kind = pa.decimal128(38, 4) if precision == 38 else pa.decimal256(76, 4)
    with localcontext(prec=100):
        values = pa.array([None if one is None else Decimal(one).scaleb(-4) for one in numbers], kind).slice(skip)

    found = unscaled_bytes(values)

    found.validate(full=True)
    assert found.to_pylist() == [None if one is None else shortest(one) for one in numbers[skip:]]


@pytest.mark.parametrize("text", ["NaN", "Infinity"])
def test_a_number_that_is_not_finite_is_refused(text: str) -> None:
    with pytest.raises(BadRowsError, match="cannot hold"):
        scaled_structs(pa.array(["1", text]))


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=Decimal(-(10**60)), max_value=Decimal(10**60)))
def test_numbers_of_any_size_keep_their_value(number: Decimal) -> None:
    (found,) = scaled_structs(pa.array([format(number, "f")])).to_pylist()

    with localcontext(prec=1000):
        unscaled = Decimal(format(number, "f")).scaleb(found["scale"])
    assert int.from_bytes(found["value"], "big", signed=True) == unscaled
