"""Format protobuf: what messages become, what is bad, and that the source reads what the sink writes."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from seatunnel_connectors.kafka.decode.protobuf import ProtobufDecoder
from seatunnel_connectors.kafka.encode.encoder import Encoder, check_fields, message_of
from seatunnel_connectors.kafka.schemas.protobuf_fields import natural_columns
from seatunnel_connectors.kafka.schemas.protobuf_schema import loaded, message_schema
from seatunnel_connectors.kafka.sink.options import KafkaSinkOptions
from seatunnel_py.api import BadRowsError, Batch, Column, TablePath, TableSchema, parse_type
from seatunnel_py.formats.messages.decoder import BadMessageError, decode_some, joined

EVERYTHING = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message M {
  enum E { A = 0; B = 1; C = 5; }
  message Inner { optional int32 x = 1; optional string t = 2; map<int32, string> m = 3; }
  optional int32 i32 = 1; optional int64 i64 = 2; optional uint32 u32 = 3; optional uint64 u64 = 4;
  optional sint32 s32 = 5; optional sint64 s64 = 6; optional fixed32 f32 = 7; optional fixed64 f64 = 8;
  optional sfixed32 sf32 = 9; optional sfixed64 sf64 = 10; optional float fl = 11; optional double db = 12;
  optional bool yes = 13; optional string text = 14; optional bytes raw = 15; optional E e = 16;
  Inner one = 17; repeated Inner many = 18; map<string, Inner> named = 19; map<bool, E> flags = 20;
  repeated sint64 numbers = 21; repeated string words = 22; repeated E letters = 23;
  google.protobuf.Timestamp at = 24; google.protobuf.StringValue note = 25;
  repeated google.protobuf.Timestamp times = 26; map<uint64, bytes> blobs = 27;
  oneof choice { int32 left = 28; string right = 29; }
}
"""
PLAIN = 'syntax = "proto3"; message M { int32 a = 1; string b = 2; double c = 3; repeated int32 d = 4; }'


def integers(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) if signed else st.integers(0, (1 << bits) - 1)


def maps(keys: st.SearchStrategy[Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    return st.dictionaries(keys, values, max_size=3).map(lambda one: sorted(one.items(), key=lambda pair: pair[0]))


TEXT = st.text(max_size=5)
MOMENTS = st.datetimes(datetime.fromisoformat("0001-01-01"), timezones=st.just(UTC))
LETTERS = st.sampled_from(["A", "B", "C"])
INNER = st.fixed_dictionaries({"x": st.none() | integers(32), "t": st.none() | TEXT, "m": maps(integers(32), TEXT)})
MAYBE = {
    "i32": integers(32), "i64": integers(64), "u32": integers(32, signed=False),
    "u64": integers(64, signed=False).map(Decimal), "s32": integers(32), "s64": integers(64),
    "f32": integers(32, signed=False), "f64": integers(64, signed=False).map(Decimal), "sf32": integers(32),
    "sf64": integers(64), "fl": st.floats(width=32, allow_nan=False), "db": st.floats(allow_nan=False),
    "yes": st.booleans(), "text": TEXT, "raw": st.binary(max_size=5), "e": LETTERS, "one": INNER, "at": MOMENTS,
    "note": TEXT,
}  # fmt: skip
ALWAYS = {
    "many": st.lists(INNER, max_size=3), "named": maps(TEXT, INNER), "flags": maps(st.booleans(), LETTERS),
    "numbers": st.lists(integers(64), max_size=3), "words": st.lists(TEXT, max_size=3),
    "letters": st.lists(LETTERS, max_size=3), "times": st.lists(MOMENTS, max_size=3),
    "blobs": maps(integers(64, signed=False).map(Decimal), st.binary(max_size=5)),
}  # fmt: skip
CHOICE = st.sampled_from(["left", "right", ""]).flatmap(
    lambda which: st.tuples(integers(32) if which == "left" else st.none(), TEXT if which == "right" else st.none())
)


@st.composite
def rows_of_everything(draw: st.DrawFn) -> dict[str, Any]:
    row = draw(st.fixed_dictionaries({**{name: st.none() | one for name, one in MAYBE.items()}, **ALWAYS}))
    row["left"], row["right"] = draw(CHOICE)
    return row


def table_of(text: str, **types: str) -> TableSchema:
    """The columns that are given, or those of the message."""
    given = tuple(Column(name, parse_type(kind)) for name, kind in types.items())
    return TableSchema(TablePath.parse("t"), given or natural_columns(message_schema(text, "M").descriptor))


def decoder(text: str, **types: str) -> ProtobufDecoder:
    return ProtobufDecoder(table_of(text, **types), message_schema(text, "M"))


def encoder(text: str, table: TableSchema, **more: Any) -> Encoder:
    given = {
        "topic": "t", "bootstrap.servers": "x:1", "format": "protobuf", "protobuf_schema": text,
        "protobuf_message_name": "M", **more,
    }  # fmt: skip
    options = KafkaSinkOptions.model_validate(given, context={"job_file": True})
    message = message_of(options)
    check_fields(options, table, message)
    return Encoder(options, table, message=message)


def batch(table: TableSchema, *rows: dict[str, Any]) -> Batch:
    return Batch(table.path, pa.RecordBatch.from_pylist(list(rows), schema=table.arrow()))


def written(text: str, *rows: dict[str, Any], **types: str) -> list[bytes]:
    table = table_of(text, **types)
    values: list[bytes] = encoder(text, table).encode(batch(table, *rows)).column("value").to_pylist()
    return values


def read(text: str, *values: bytes, **types: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = decoder(text, **types).decode(values).data.to_pylist()
    return rows


def bad(text: str, *values: bytes, **types: str) -> tuple[int, str]:
    with pytest.raises(BadMessageError) as caught:
        decoder(text, **types).decode(values)
    return caught.value.index, caught.value.reason


def message(text: str, **fields: Any) -> bytes:
    """A message as the runtime itself writes it."""
    value: bytes = loaded(message_schema(text, "M")).one(**fields).SerializeToString()
    return value


# ---------------------------------------------------------------- round trip


@given(st.lists(rows_of_everything(), min_size=1, max_size=3))
def test_what_is_written_is_read(rows: list[dict[str, Any]]) -> None:
    table = table_of(EVERYTHING)
    wanted = batch(table, *rows)

    values = encoder(EVERYTHING, table).encode(wanted).column("value").to_pylist()

    assert decoder(EVERYTHING).decode(values).data.to_pylist() == wanted.data.to_pylist()


@given(st.lists(rows_of_everything(), min_size=2, max_size=4), st.integers(0, 3))
def test_a_slice_is_written_as_what_it_is(rows: list[dict[str, Any]], start: int) -> None:
    """Arrow's arrays have offsets, and what lies beside a slice is none of its rows."""
    table = table_of(EVERYTHING)
    whole = batch(table, *rows)
    part = Batch(table.path, whole.data.slice(min(start, len(rows) - 1)))

    made = encoder(EVERYTHING, table)

    assert made.encode(part).column("value").to_pylist() == made.encode(whole).column("value").to_pylist()[-part.rows :]


def test_a_row_of_defaults_has_no_bytes_and_is_a_row() -> None:
    [value] = written(PLAIN, {"a": 0, "b": "", "c": 0.0, "d": []})
    assert value == b"" and ProtobufDecoder.takes_empty
    assert read(PLAIN, value, b"") == [{"a": 0, "b": "", "c": 0.0, "d": []}] * 2


def test_a_null_is_left_out() -> None:
    """Where the schema cannot tell, it is the default for whoever reads: that is Protobuf's rule, and SeaTunnel's."""
    [value] = written(PLAIN, {"a": None, "b": None, "c": None, "d": None})
    assert read(PLAIN, value) == [{"a": 0, "b": "", "c": 0.0, "d": []}]
    assert read(EVERYTHING, b"", i32="int", one="{x = int}", at="timestamp", note="string") == [
        {"i32": None, "one": None, "at": None, "note": None}
    ]


# ---------------------------------------------------------------- reading


def test_columns_may_be_wider_or_narrower_than_their_fields() -> None:
    value = message(EVERYTHING, i32=7, u64=9, fl=1.5, e=5, at={"seconds": 1, "nanos": 999_999_000})
    assert read(EVERYTHING, value, i32="tinyint", u64="bigint", fl="double", e="smallint", at="timestamp") == [
        {"i32": 7, "u64": 9, "fl": 1.5, "e": 5, "at": datetime.fromisoformat("1970-01-01T00:00:01.999999")}
    ]


def test_nanoseconds_are_kept_or_refused() -> None:
    """T16: they were cut."""
    value = message(EVERYTHING, at={"seconds": -1, "nanos": 999_999_999})
    with pytest.raises(BadMessageError, match=r"finer than microseconds; declare the column as timestamp_tz\(9\)"):
        read(EVERYTHING, value, at="timestamp_tz")
    found = decoder(EVERYTHING, at="timestamp_tz(9)").decode([value]).data.column("at")
    assert found.cast(pa.int64()).to_pylist() == [-1]
    table = table_of(EVERYTHING, at="timestamp_tz(9)")
    records = encoder(EVERYTHING, table).encode(Batch(table.path, pa.RecordBatch.from_arrays([found], ["at"])))
    assert records.column("value").to_pylist() == [value]
    with pytest.raises(BadMessageError, match="not within the years 1677 to 2262"):
        far = message(EVERYTHING, at={"seconds": -62_135_596_800})
        decoder(EVERYTHING, at="timestamp(9)").decode([far])


def test_what_the_columns_do_not_name_is_passed_over() -> None:
    value = message(EVERYTHING, i32=7, one={"x": 1, "t": "a"}) + b"\xf8\x7f\x01"  # and a field of a newer schema
    assert read(EVERYTHING, value, one="{t = string}") == [{"one": {"t": "a"}}]


def test_defaults_of_the_schema_count_as_said() -> None:
    text = 'syntax = "proto2"; message M { optional int32 a = 1 [default = 7]; optional int32 b = 2; repeated int32 c = 3 [packed = true]; }'
    assert read(text, b"", message(text, a=0, b=0, c=[1, 2]), b"\x18\x05\x18\x06") == [
        {"a": 7, "b": None, "c": []}, {"a": 0, "b": 0, "c": [1, 2]}, {"a": 7, "b": None, "c": [5, 6]},
    ]  # fmt: skip


def test_fields_may_have_any_name() -> None:
    """Those of the runtime's own methods as well."""
    names = (
        "Clear",
        "class",
        "HasField",
        "self",
        "rows",
        "DESCRIPTOR",
        "__class__",
        "FromString",
        "values",
        "ListFields",
    )
    fields = " ".join(f"optional string {name} = {n};" for n, name in enumerate(names, 1))
    text = f'syntax = "proto3"; message M {{ {fields} }}'
    row = {name: name for name in names}
    types = dict.fromkeys(row, "string")
    assert read(text, *written(text, row, **types), **types) == [row]


def test_of_a_oneof_the_last_one_counts() -> None:
    left, right = b"\xe0\x01\x05", b"\xea\x01\x01x"
    assert read(EVERYTHING, left + right, right + left, left="int", right="string") == [
        {"left": None, "right": "x"}, {"left": 5, "right": None},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"\xff\xff\xff", "it is not a M: "),
        (b"\x0a\xff\xff\xff\xff\x07", "it is not a M: "),  # a length of two billion
        (b"\x12\x7fabc", "it is not a M: "),  # cut off
        (b"\x12\x02\xff\xfe", "it is not a M: "),  # no UTF-8
        (b"\x0a\x03abc"[:2], "it is not a M: "),
        (b'{"a": 1}', "it is not a M: "),
    ],
)
def test_bytes_that_are_no_message_are_named_and_the_others_can_be_had(value: bytes, reason: str) -> None:
    good = message(PLAIN, a=1)
    index, said = bad(PLAIN, good, good, value, good)
    assert index == 2 and said.startswith(reason)
    made = decoder(PLAIN)
    parts, refused = decode_some(made, [good, value, value, good])
    assert list(refused) == [1, 2] and joined(parts, made).data.num_rows == 2


@pytest.mark.parametrize(
    ("fields", "types", "reason"),
    [
        ({"i32": 300}, {"i32": "tinyint"}, "column 'i32': "),
        ({"u64": 2**63}, {"u64": "bigint"}, "column 'u64': "),
        ({"u32": 2**31}, {"u32": "int"}, "column 'u32': "),
        ({"e": 4}, {"e": "string"}, "column 'e': 4 is none of the numbers of M.E; a column of type int takes any"),
        ({"letters": [1, 4]}, {"letters": "array<string>"}, "column 'letters': 4 is none"),
        ({"at": {"seconds": 2**60}}, {"at": "timestamp"}, "column 'at': a timestamp is not within the years 1 to 9999"),
        ({"at": {"nanos": -1}}, {"at": "timestamp"}, "column 'at': the nanos"),
        ({"many": [{}, {"x": 300}]}, {"many": "array<{x = tinyint}>"}, "column 'many': "),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_their_column_are_bad_messages(
    fields: dict[str, Any], types: dict[str, str], reason: str
) -> None:
    good = message(EVERYTHING)
    index, said = bad(EVERYTHING, good, good, good, message(EVERYTHING, **fields), good, **types)
    assert index == 3 and said.startswith(reason)


def test_a_message_without_what_its_schema_requires_is_bad() -> None:
    text = 'syntax = "proto2"; message M { required int32 a = 1; optional M m = 2; }'
    good = message(text, a=1)
    assert bad(text, good, b"", a="int") == (1, "it is not a M: it lacks a, which is required")
    assert bad(text, good, good + b"\x12\x00", a="int") == (1, "it is not a M: it lacks m.a, which is required")


def test_text_of_proto2_may_be_no_utf8() -> None:
    text = 'syntax = "proto2"; message M { optional string a = 1; optional bytes b = 2; }'
    assert bad(text, b"\x0a\x01a", b"\x0a\x01\xff", a="string")[0] == 1
    assert read(text, b"\x0a\x01\xff\x12\x01\xff", b="bytes") == [{"b": b"\xff"}]


def nested(depth: int) -> bytes:
    """A message inside of itself."""
    value = b""
    for _ in range(depth):
        size, head = len(value), b"\x12"
        while size > 0x7F:
            head, size = head + bytes([size & 0x7F | 0x80]), size >> 7
        value = head + bytes([size]) + value
    return value


def test_messages_that_are_nested_too_deep_are_bad_and_no_crash() -> None:
    text = 'syntax = "proto3"; message M { int32 a = 1; M m = 2; }'
    good = message(text, a=1)
    for depth in (99, 100):  # as deep as the runtime reads a message that stands alone
        assert len(read(text, good, nested(depth), a="int")) == 2
    assert bad(text, good, nested(20_000), good, a="int")[0] == 1


@given(st.binary(max_size=60))
def test_any_bytes_are_a_row_or_a_bad_message(value: bytes) -> None:
    for text in (EVERYTHING, PLAIN):
        try:
            assert decoder(text).decode([value]).data.num_rows == 1
        except BadMessageError as error:
            assert error.index == 0


@given(rows_of_everything(), st.data())
def test_a_damaged_message_is_a_row_or_a_bad_message(row: dict[str, Any], data: st.DataObject) -> None:
    [value] = written(EVERYTHING, row)
    damaged = bytearray(value or b"\0")
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert decoder(EVERYTHING).decode([b"", bytes(damaged)]).data.num_rows == 2
    except BadMessageError as error:
        assert error.index == 1


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize(
    ("row", "types", "reason"),
    [
        ({"i32": 2**31}, {"i32": "bigint"}, "column 'i32': "),
        ({"u32": -1}, {"u32": "int"}, "column 'u32': "),
        ({"u64": Decimal(-1)}, {"u64": "decimal(38, 0)"}, "column 'u64': "),
        ({"e": "D"}, {"e": "string"}, "column 'e': 'D' is not a value of M.E"),
        ({"words": ["a", None]}, {"words": "array<string>"}, "column 'words': it holds a null"),
        ({"many": [None]}, {"many": "array<{x = int}>"}, "column 'many': it holds a null"),
        ({"named": [("a", None)]}, {"named": "map<string, {x = int}>"}, "column 'named': it holds a null"),
        ({"blobs": [(1, b"a"), (1, b"b")]}, {"blobs": "map<bigint, bytes>"}, "column 'blobs': a map has a key twice"),
        ({"left": 1, "right": "a"}, {"left": "int", "right": "string"}, "columns 'left', 'right': more than one"),
        ({"many": [{"x": 2**31}]}, {"many": "array<{x = bigint}>"}, "column 'many.x': "),
        ({"at": 2**60}, {"at": "timestamp"}, "column 'at': a timestamp is not within the years 1 to 9999"),
    ],
)  # fmt: skip
def test_what_a_message_cannot_hold_is_refused(row: dict[str, Any], types: dict[str, str], reason: str) -> None:
    with pytest.raises(BadRowsError) as caught:
        written(EVERYTHING, row, **types)
    assert caught.value.message.startswith(reason)


def test_a_required_field_is_never_null() -> None:
    text = (
        'syntax = "proto2"; message M { required int32 a = 1; optional I i = 2; message I { required int32 b = 1; } }'
    )
    assert read(text, *written(text, {"a": 1, "i": None}, {"a": 1, "i": {"b": 2}})) == [
        {"a": 1, "i": None}, {"a": 1, "i": {"b": 2}},
    ]  # fmt: skip
    with pytest.raises(BadRowsError, match="column 'a': it is null, and the field a is required"):
        written(text, {"a": None})
    with pytest.raises(BadRowsError, match=r"column 'i.b': it is null"):
        written(text, {"a": 1, "i": {"b": None}})


def test_a_closed_enum_takes_its_own_numbers_only() -> None:
    text = 'syntax = "proto2"; message M { enum E { A = 1; } optional E e = 1; }'
    assert written(text, {"e": 1}, e="int") == [b"\x08\x01"]
    with pytest.raises(BadRowsError, match=r"column 'e': 2 is not a value of M\.E"):
        written(text, {"e": 2}, e="int")


def test_maps_are_written_and_read_in_the_order_of_their_keys() -> None:
    """Two attempts at the same rows write, and two readers of the same message read, the same."""
    types = {"blobs": "map<bigint, bytes>"}
    pairs = [(number, b"x") for number in (9, 3, 7, 1, 5, 2**40)]
    [value] = written(EVERYTHING, {"blobs": pairs}, **types)
    assert [value] == written(EVERYTHING, {"blobs": pairs[::-1]}, **types)
    assert read(EVERYTHING, value, **types) == [{"blobs": sorted(pairs)}]


def test_a_key_is_the_message_with_fewer_fields() -> None:
    table = table_of(PLAIN)
    made = encoder(PLAIN, table, partition_key_fields=["b"]).encode(
        batch(table, {"a": 1, "b": "k", "c": 2.0, "d": [3]})
    )
    assert made.column("key").to_pylist() == [b"\x12\x01k"]
    with pytest.raises(ValidationError, match="assign_partitions looks for texts, which records of protobuf"):
        encoder(PLAIN, table, assign_partitions=["a"])
