"""What messages say beside their rows, and messages that are none or bad, on the real broker."""

from __future__ import annotations

import time

import pytest

from seatunnel_py.api.process.resources import close_all
from tests.connectors.kafka.support import all_rows, read, row, send, source, splits_of
from tests.connectors.kafka.topics import make_topic
from tests.servers.kafka import KafkaServer


@pytest.fixture(autouse=True)
def _clients() -> object:
    yield
    close_all()


def test_tombstones_and_empty_messages_are_no_rows(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    send(kafka, topic, [row(0), None, row(1), b"", row(2), None], key=b"k")

    made = source(kafka, topic)
    [split] = splits_of(made)
    found = read(made, split)
    assert [seq for seq, _ in found.rows] == [0, 1, 2]
    assert found.end is not None and found.end.value["offset"] == 6, "they are passed all the same"
    assert [offset for batch in found.batches for offset in batch.metadata["Offset"].to_pylist()] == [0, 2, 4]


def test_rows_know_where_they_come_from(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic, partitions=2)
    at = int(time.time() * 1000) - 5_000
    send(kafka, topic, [b"[%s, %s]" % (row(0), row(1)), row(2)], partition=1, key=b"key", timestamp=at)

    made = source(kafka, topic)
    [split] = splits_of(made)
    [batch] = read(made, split).batches
    said = {name: values.to_pylist() for name, values in batch.metadata.items()}
    assert said == {
        "Topic": [topic] * 3,
        "Partition": [1] * 3,
        "Offset": [0, 0, 1],
        "EventTime": [at] * 3,
        "Key": [b"key"] * 3,
    }


def test_native_messages_are_rows_as_they_are(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    at = int(time.time() * 1000) - 5_000
    send(kafka, topic, [b"\xff\x00"], key="k", headers=[("a", b"1"), ("a", b"2"), ("none", None)], timestamp=at)
    send(kafka, topic, [None], timestamp=at)

    assert all_rows(source(kafka, topic, format="native", schema=None)) == [
        ([("a", "2"), ("none", None)], b"k", 0, 0, at, "CREATE_TIME", b"\xff\x00"),
        ([], None, 1, 0, at, "CREATE_TIME", None),
    ]


def test_headers_are_columns_where_people_name_them(kafka: KafkaServer, topic: str) -> None:
    """Beside the value's columns, for each row of a message; bad messages and tombstones are found as without them."""
    make_topic(kafka, topic)
    array = b"[" + row(0) + b"," + row(1) + b"]"
    send(kafka, topic, [array, b"bad", None, row(2)], headers=[("trace", b"1"), ("trace", b"2"), ("other", b"x")])
    send(kafka, topic, [row(3)], headers=[("span", None)])

    made = source(kafka, topic, kafka_headers_fields=["trace", "span"])
    [split] = splits_of(made)
    found = read(made, split)

    assert made.tables()[0].schema.names == ("seq", "name", "trace", "span")
    assert [(seq, trace, span) for seq, _, trace, span in found.rows] == [
        (0, "2", None), (1, "2", None), (2, "2", None), (3, None, None)
    ]  # fmt: skip
    assert [raw for raw, _ in found.refused] == [b"bad"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kafka_headers_fields": ["seq"]}, "seq is a column of the schema already"),
        ({"kafka_headers_fields": ["a", "a"]}, "names a header twice"),
        ({"kafka_headers_fields": ["a"], "format": "native", "schema": None}, "has a column of all headers"),
    ],
)
def test_headers_that_cannot_be_columns(kafka: KafkaServer, topic: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        source(kafka, topic, **options).tables()


def test_a_bad_message_is_refused_by_name_and_as_it_came(kafka: KafkaServer, topic: str) -> None:
    """The others are rows all the same: whether the table fails is decided by what the job allows."""
    make_topic(kafka, topic)
    send(kafka, topic, [row(0), row(1), b"not json", None, row(2)])

    made = source(kafka, topic)
    [split] = splits_of(made)
    found = read(made, split)
    [(raw, reason)] = found.refused
    assert raw == b"not json"
    assert reason.startswith(f"Kafka: topic {topic}, partition 0, offset 2: json: it is not a JSON document")
    assert [seq for seq, _ in found.rows] == [0, 1, 2]


def test_bad_messages_are_left_out_where_people_say_so(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    values = [b"not json" if seq % 7 == 3 else row(seq) for seq in range(5_000)]
    send(kafka, topic, values)

    made = source(kafka, topic, format_error_handle_way="skip")
    [split] = splits_of(made)
    found = read(made, split)
    assert [seq for seq, _ in found.rows] == [seq for seq in range(5_000) if seq % 7 != 3]
    assert found.skipped == 5_000 - len(found.rows), "and a receipt says how many"


def test_messages_of_a_schema_registry_lose_their_header(kafka: KafkaServer, topic: str) -> None:
    """And are read by the schema that they were written by; one without a header is refused with its offset."""
    make_topic(kafka, topic)
    schema = '{"type": "record", "name": "Row", "fields": [{"name": "seq", "type": "int"}, {"name": "name", "type": "string"}]}'
    send(kafka, topic, [b"\0\0\0\0\x07\x02\x02a", b"\x02\x02a", b"\0\0\0\0\x08\x04\x02b"])

    made = source(kafka, topic, format="avro", avro_schema=schema, strip_schema_registry_header=True)
    [split] = splits_of(made)
    found = read(made, split)
    assert found.rows == [(1, "a"), (2, "b")]
    [(raw, reason)] = found.refused
    assert raw == b"\x02\x02a" and "offset 1: avro: it has no header of a schema registry" in reason


def test_a_change_log_has_kinds(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    send(kafka, topic, [b'{"op_type": "U", "before": %s, "after": %s}' % (row(1, "a"), row(1, "b"))] * 2)

    made = source(kafka, topic, format="ogg_json")
    [split] = splits_of(made)
    found = read(made, split)
    assert found.kinds == ["-U", "+U"] * 2 and found.rows == [(1, "a"), (1, "b")] * 2


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_messages(kafka: KafkaServer, topic: str, codec: str) -> None:
    make_topic(kafka, topic, compression_type=codec)
    send(kafka, topic, [row(seq) for seq in range(1_000)])

    assert [seq for seq, _ in all_rows(source(kafka, topic))] == list(range(1_000))


def test_large_messages_make_small_batches(kafka: KafkaServer, topic: str) -> None:
    """A batch is bounded in bytes: 200 messages of 500 kB are read in more than one."""
    make_topic(kafka, topic)
    send(kafka, topic, [row(seq, "x" * 500_000) for seq in range(200)])

    made = source(kafka, topic)
    [split] = splits_of(made)
    found = read(made, split)
    assert [seq for seq, _ in found.rows] == list(range(200))
    assert max(batch.rows for batch in found.batches[5:]) <= 20
