"""Format protobuf: the text of a schema, the message that is meant, and its columns; what is refused before a job runs."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from typing import Any

import pytest

from seatunnel_connectors.kafka.factory import KafkaSinkFactory, KafkaSourceFactory
from seatunnel_connectors.kafka.schemas import protobuf_schema
from seatunnel_connectors.kafka.schemas.protobuf_fields import FieldShape, links_of, natural_columns
from seatunnel_connectors.kafka.schemas.protobuf_schema import loaded, message_schema
from seatunnel_py.api import Column, FatalError, StepContext, TablePath, TableSchema, parse_type

SHOP = """
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

message Order {
  int64 id = 1;
  string customer = 2;
  enum State { NEW = 0; PAID = 1; }
  State state = 3;
  message Line { string sku = 1; uint32 count = 2; }
  repeated Line lines = 4;
  map<string, double> taxes = 5;
  google.protobuf.Timestamp at = 6;
  google.protobuf.StringValue note = 7;
  uint64 serial = 8;
  optional bytes raw = 9;
}
message Item { message Line { int32 x = 1; } Line line = 1; }
"""
NODE = 'syntax = "proto3"; message Node { int32 id = 1; Node next = 2; }'


def chain(length: int, fields: str) -> str:
    """Messages, each of which holds the next one."""
    inner = "".join(f"message M{n} {{ {fields.format(next=n + 1)} }}" for n in range(length))
    return f'syntax = "proto3"; {inner} message M{length} {{ int32 a = 1; }}'


def columns(**types: str) -> list[Column]:
    return [Column(name, parse_type(kind)) for name, kind in types.items()]


def refusal(text: str, name: str = "M") -> str:
    with pytest.raises(ValueError) as caught:
        message_schema(text, name)
    return str(caught.value)


# ---------------------------------------------------------------- the message


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("Order", "shop.v1.Order"),
        ("shop.v1.Order", "shop.v1.Order"),
        (".shop.v1.Order", "shop.v1.Order"),
        ("v1.Order", "shop.v1.Order"),
        ("Order.Line", "shop.v1.Order.Line"),
        ("shop.v1.Item.Line", "shop.v1.Item.Line"),
    ],
)
def test_a_message_is_found_by_its_name(name: str, full: str) -> None:
    assert message_schema(SHOP, name).name == full


def test_a_name_that_is_none_gets_the_nearest_one() -> None:
    option = "protobuf_message_name: "
    assert refusal(SHOP, "Ordr") == f"{option}there is no message 'Ordr' in the schema; did you mean 'Order'?"
    assert "did you mean 'Order.Line'?" in refusal(SHOP, "Order.Lines")
    assert "the messages are Order, Order.Line, Item, Item.Line" in refusal(SHOP, "zzz")
    assert "'Line' is the name of several messages: shop.v1.Order.Line, shop.v1.Item.Line" in refusal(SHOP, "Line")
    assert refusal(SHOP, "google.protobuf.Timestamp").startswith(option), "what is imported is not what is written"
    assert "there is no message" in refusal(SHOP, "TaxesEntry"), "a map's entries are no message of anybody's"


def test_a_message_that_is_named_whole_goes_before_one_inside() -> None:
    text = 'syntax = "proto3"; package a; message M { message B {} } message B { int32 x = 1; }'
    assert message_schema(text, "B").name == "a.B"


def test_one_name_in_two_jobs_means_two_messages() -> None:
    first = message_schema('syntax = "proto3"; message M { int32 a = 1; }', "M")
    second = message_schema('syntax = "proto3"; message M { string b = 1; }', "M")
    assert [field.name for one in (first, second) for field in loaded(one).descriptor.fields] == ["a", "b"]


def test_what_was_compiled_travels() -> None:
    there = pickle.loads(pickle.dumps(message_schema(SHOP, "Order")))
    assert loaded(there).descriptor.full_name == "shop.v1.Order"


# ---------------------------------------------------------------- texts that are none


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('syntax = "proto3";\nmessage M {\n  int32 a = 1\n}', 'line 4, column 1: Expected ";".'),
        ('syntax = "proto3"; message M { Missing a = 1; }', '"Missing" is not defined.'),
        ('syntax = "proto3"; message M { int32 a = 1; int32 b = 1; }', "Field number 1 has already been used"),
        ('syntax = "proto3"; message M { int32 a = 99999999999; }', "line 1, column "),
        ("", "there is no message in it"),
        ("nonsense", "line 1, column 1"),
        ("\0\ud800", "line 1, column 1"),
        ('syntax = "proto3"; import "other.proto"; message M {}', "it imports other.proto; the schema is one text"),
        ('syntax = "proto3"; import "/etc/passwd"; message M {}', "it imports /etc/passwd"),
        ('syntax = "proto3"; import "../../etc/passwd"; message M {}', "../../etc/passwd"),
        ('syntax = "proto3"; import "seatunnel_schema.proto"; message M {}', "imports itself"),
        ('syntax = "proto3"; import "google/protobuf/other.proto"; message M {}', "it imports google/protobuf/other"),
        ("message M {" * 10_000, "nested"),
        ("/*" * 600_000, "longer than 1,000,000 characters"),
    ],
)
def test_a_text_that_is_no_schema_is_refused_by_line_and_column(text: str, reason: str) -> None:
    said = refusal(text)
    assert said.startswith("protobuf_schema: ") and reason in said
    assert "/tmp" not in said, "where it was compiled is nobody's affair"


def test_messages_inside_of_one_another_without_end_are_refused() -> None:
    """The runtime would go as deep as they do."""
    with pytest.raises(ValueError, match="^protobuf_schema: more than 200 messages, each inside of the one before"):
        loaded(message_schema(chain(2_000, "M{next} a = 1;"), "M0"))
    assert loaded(message_schema(NODE, "Node")).one(next={"next": {"id": 1}}).next.next.id == 1


def test_a_compiler_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protobuf_schema, "COMPILE_SECONDS", 0.001)
    assert "protoc was not through with it after" in refusal('syntax = "proto3"; message Slow { int32 a = 1; }')


def test_a_library_that_is_not_there_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(protobuf_schema, "find_spec", lambda name: None if name == "grpc_tools" else real(name))
    with pytest.raises(FatalError) as caught:
        message_schema(SHOP, "Order")
    assert "needs the library grpcio-tools" in caught.value.message
    assert caught.value.remedy == "pip install 'seatunnel-py[protobuf]'"


def test_nothing_is_imported_before_it_is_wanted() -> None:
    code = (
        "import sys, seatunnel_connectors.kafka.source.reader, seatunnel_connectors.kafka.sink.sink;"
        "sys.exit(any(name in sys.modules for name in ('google.protobuf', 'grpc_tools')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------- columns


def test_a_message_has_columns_of_its_own() -> None:
    found = natural_columns(message_schema(SHOP, "Order").descriptor)
    assert {column.name: str(column.dtype) for column in found} == {
        "id": "bigint", "customer": "string", "state": "string", "lines": "array<{sku = string, count = bigint}>",
        "taxes": "map<string, double>", "at": "timestamp_tz", "note": "string", "serial": "decimal(20, 0)",
        "raw": "bytes",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        (NODE, "Node", "schema: Node holds itself: name the columns, as deep as they are wanted"),
        ('syntax = "proto3"; message M {}', "M", "schema: M has no fields"),
        (chain(150, "M{next} a = 1;"), "M0", "schema: M0 has too many fields, one in another"),
        (chain(40, "M{next} a = 1; M{next} b = 2;"), "M0", "schema: M0 has too many"),
    ],
)
def test_columns_that_a_message_cannot_make(text: str, name: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        natural_columns(message_schema(text, name).descriptor)


def test_a_column_is_the_field_of_its_name_or_of_its_letters() -> None:
    """SeaTunnel's job files name a nested column by its type: ``Address`` for the field ``address``."""
    text = 'syntax = "proto3"; message M { message Address { string city = 1; } Address address = 1; int32 a = 2; int32 A = 3; }'
    descriptor = message_schema(text, "M").descriptor
    links = links_of(columns(Address="{CITY = string}", A="int"), descriptor, "schema", writing=False)
    assert [(link.name, link.shape) for link in links] == [("address", FieldShape.ROW), ("A", FieldShape.PLAIN)]
    assert links[0].inner[0].name == "city"


def test_all_that_does_not_fit_is_told_at_once() -> None:
    wanted = columns(ids="bigint", customer="int", lines="string", taxes="map<string, string>", at="date")
    with pytest.raises(ValueError) as caught:
        links_of(wanted, message_schema(SHOP, "Order").descriptor, "schema", writing=False)
    assert str(caught.value).startswith("schema: ")
    assert str(caught.value).removeprefix("schema: ").split("; column ") == [
        "column 'ids': the message shop.v1.Order has no such field; did you mean 'id'?",
        "'customer': int is not what the field customer (string) holds, which is string",
        "'lines': string is not what the field lines (repeated shop.v1.Order.Line) holds, "
        "which is array<{sku = string, count = bigint}>",
        "'taxes.value': string is not what the field value (double) holds, which is double",
        "'at': date is not what the field at (google.protobuf.Timestamp) holds, which is timestamp_tz",
    ]


def test_a_wrong_type_is_told_of_a_message_that_has_no_end() -> None:
    for text, name in ((NODE, "next"), (chain(40, "M{next} a = 1; M{next} b = 2;"), "a")):
        descriptor = message_schema(text, "Node" if text is NODE else "M0").descriptor
        with pytest.raises(ValueError, match=f"'{name}': int is not what the field {name} .* holds, which is a row"):
            links_of(columns(**{name: "int"}), descriptor, "schema", writing=False)


def test_what_would_lose_digits_is_refused_in_each_direction() -> None:
    text = 'syntax = "proto3"; message M { float f = 1; double d = 2; }'
    descriptor = message_schema(text, "M").descriptor
    links_of(columns(f="double", d="double"), descriptor, "schema", writing=False)
    links_of(columns(f="float", d="float"), descriptor, "protobuf_schema", writing=True)
    with pytest.raises(ValueError, match="'d': float"):
        links_of(columns(d="float"), descriptor, "schema", writing=False)
    with pytest.raises(ValueError, match="'f': double"):
        links_of(columns(f="double"), descriptor, "protobuf_schema", writing=True)


def test_writing_wants_one_column_for_a_field_and_all_that_are_required() -> None:
    text = 'syntax = "proto2"; message M { required int32 a = 1; optional int32 b = 2; }'
    descriptor = message_schema(text, "M").descriptor
    with pytest.raises(ValueError, match="column 'a': there is none, and M requires the field"):
        links_of(columns(b="int"), descriptor, "protobuf_schema", writing=True)
    with pytest.raises(ValueError, match="column 'B': the field b is that of the column 'b' already"):
        links_of(columns(a="int", b="int", B="int"), descriptor, "protobuf_schema", writing=True)
    assert len(links_of(columns(b="int"), descriptor, "schema", writing=False)) == 1, (
        "reading needs no more than it reads"
    )


# ---------------------------------------------------------------- plugins, of a broker that is not there


def source(**more: Any) -> Any:
    given = {"bootstrap.servers": "nowhere:1", "topic": "t", "format": "protobuf", "protobuf_schema": SHOP, **more}
    options = KafkaSourceFactory.options.model_validate({"protobuf_message_name": "Order", **given})
    return KafkaSourceFactory().create(options, StepContext("read")).tables()


def sink(*wanted: Column, **more: Any) -> Any:
    given = {"bootstrap.servers": "nowhere:1", "topic": "t", "format": "protobuf", "protobuf_schema": SHOP, **more}
    options = KafkaSinkFactory.options.model_validate({"protobuf_message_name": "Order", **given})
    return KafkaSinkFactory().create(options, TableSchema(TablePath.parse("t"), wanted), StepContext("write"))


def test_the_source_knows_its_columns_before_anything_is_opened() -> None:
    [table] = source()
    assert table.schema.names[:3] == ("id", "customer", "state")
    [table] = source(schema={"fields": {"lines": "array<{count = int}>"}})
    assert str(table.schema.columns[0].dtype) == "array<{count = int}>"
    with pytest.raises(ValueError, match=r"^schema: column 'custmer': .* did you mean 'customer'\?"):
        source(schema={"fields": {"custmer": "string"}})
    with pytest.raises(ValueError, match="^protobuf_message_name: "):
        source(protobuf_message_name="Nobody")


def test_tables_of_a_list_have_messages_of_their_own() -> None:
    tables = [
        {"topic": "a", "protobuf_message_name": "Order.Line", "schema": {"table": "a"}},
        {"topic": "b", "protobuf_message_name": "Item.Line", "schema": {"table": "b"}},
    ]
    assert [table.schema.names for table in source(topic=None, table_list=tables)] == [("sku", "count"), ("x",)]


def test_the_sink_refuses_columns_before_anything_is_opened() -> None:
    sink(*columns(id="int", customer="string", at="timestamp"), partition_key_fields=["id"])
    with pytest.raises(
        ValueError, match="^protobuf_schema: column 'total': the message shop.v1.Order has no such field"
    ):
        sink(*columns(id="int", total="double"))
    required = 'syntax = "proto2"; message M { required int32 id = 1; required int32 b = 2; }'
    with pytest.raises(ValueError, match="^partition_key_fields: column 'b': there is none"):
        sink(
            *columns(id="int", b="int"),
            protobuf_schema=required,
            protobuf_message_name="M",
            partition_key_fields=["id"],
        )


@pytest.mark.parametrize("missing", ["protobuf_schema", "protobuf_message_name"])
def test_both_options_are_wanted(missing: str) -> None:
    given = {"bootstrap.servers": "x:1", "topic": "t", "format": "protobuf", "protobuf_schema": NODE}
    given = {key: value for key, value in {**given, "protobuf_message_name": "Node"}.items() if key != missing}
    for factory in (KafkaSourceFactory, KafkaSinkFactory):
        with pytest.raises(ValueError, match=f"{missing} is required when format is protobuf"):
            factory.options.model_validate(given, context={"job_file": True})


def test_workers_get_the_runtime() -> None:
    given = {
        "bootstrap.servers": "x:1",
        "topic": "t",
        "format": "protobuf",
        "protobuf_schema": NODE,
        "protobuf_message_name": "Node",
    }
    for factory in (KafkaSourceFactory(), KafkaSinkFactory()):
        options: Any = factory.options.model_validate(given)
        assert factory.extras(options) == ("kafka", "protobuf")
        code = f"import sys, {', '.join(factory.modules(options))}; sys.exit('google.protobuf' not in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0, "warm before the first unit"
        plain: Any = factory.options.model_validate({"bootstrap.servers": "x:1", "topic": "t"})
        assert factory.extras(plain) == ("kafka",)
