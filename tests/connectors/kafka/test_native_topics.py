"""A topic copied record by record: what `format = native` reads is what it writes; moments that readers end at."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from seatunnel_connectors.kafka.factory import KafkaSinkFactory
from seatunnel_py.api import Column, RetriableError, StepContext, TablePath, TableSchema, parse_type
from tests.connectors.kafka.sink_support import SPLITS, Job, create, rows
from tests.connectors.kafka.support import all_rows, read, row, send, source, splits_of
from tests.connectors.kafka.topics import make_topic
from tests.servers.kafka import KafkaServer

PARTS = ("headers", "key", "partition", "timestamp", "value")


def parts(kafka: KafkaServer, topic: str) -> list[tuple[Any, ...]]:
    """Everything of every record but its offset, partition by partition."""
    made = source(kafka, topic, format="native", schema=None)
    at = [made.tables()[0].schema.names.index(name) for name in PARTS]
    until = time.monotonic() + 30
    while True:
        try:
            return [tuple(record[place] for place in at) for record in all_rows(made)]
        except RetriableError:  # a topic this young has partitions without a leader
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


@pytest.mark.parametrize("semantics", ["AT_LEAST_ONCE", "EXACTLY_ONCE"])
def test_records_arrive_as_they_were(kafka: KafkaServer, topic: str, tmp_path: Path, semantics: str) -> None:
    """Bytes that are no text, headers without a value, tombstones, partitions, moments."""
    copy, past = f"{topic}.copy", int(time.time() * 1000) - 90_000
    make_topic(kafka, topic, partitions=2)
    create(kafka.dsn, copy, partitions=2)
    send(kafka, topic, [b"\xff\x00", None], key=b"k\xfe", headers=[("a", b"1"), ("none", None)], timestamp=past)
    send(kafka, topic, [b""], partition=1, timestamp=past + 7)

    made = source(kafka, topic, format="native", schema=None)
    [table] = made.tables()
    batches = [batch for split in splits_of(made) for batch in read(made, split).batches]
    options = {"format": "native", "semantics": semantics}
    job = Job(kafka.dsn, copy, tmp_path, options=options, table=table.schema).started()
    pieces = [job.stage(f"{number}@", batch) for number, batch in enumerate(batches)]
    job.commit(1, *pieces, final=True)

    assert sum(piece.rows for piece in pieces) == 3
    assert parts(kafka, copy) == parts(kafka, topic)
    assert {one[2] for one in parts(kafka, copy)} == {0, 1}


def test_columns_of_ones_own_make_records(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    """A value alone is enough, as text too; `partition` and `timestamp` of the job file are every record's."""
    create(kafka.dsn, topic, partitions=3)
    table = TableSchema(TablePath.parse("texts"), (Column("value", parse_type("string")),))
    moment = int(time.time() * 1000) - 60_000  # the broker deletes what is older than a week as soon as it looks
    options = {"format": "native", "semantics": "AT_LEAST_ONCE", "partition": 2, "timestamp": moment}
    job = Job(kafka.dsn, topic, tmp_path, options=options, table=table).started()
    given = rows(0, 0, 2, SPLITS)
    texts = given.data.select(["text"]).rename_columns(["value"])
    job.stage("0@", type(given)(table.path, texts))

    found = [(one[2], one[3], one[4]) for one in parts(kafka, topic)]
    assert found == [(2, moment, f"row {number}".encode()) for number in range(2)]


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"key": "bytes"}, {}, "there is no column 'value'; columns: key"),
        ({"value": "int"}, {}, "column 'value' is int, and has to be bytes"),
        ({"value": "bytes", "headers": "string"}, {}, "column 'headers' is string, and has to be map"),
        ({"value": "bytes"}, {"partition_key_fields": ["value"]}, "have their parts in columns of those names"),
    ],
)
def test_what_makes_no_record_is_refused(columns: dict[str, str], options: dict[str, Any], words: str) -> None:
    """Before anything is opened."""
    table = TableSchema(TablePath.parse("t"), tuple(Column(name, parse_type(kind)) for name, kind in columns.items()))
    given = {"topic": "t", "bootstrap.servers": "nowhere:1", "format": "native", **options}

    with pytest.raises(ValueError, match=words):
        KafkaSinkFactory().create(KafkaSinkFactory.options.model_validate(given), table, StepContext("write"))


def test_a_batch_may_end_before_a_moment(kafka: KafkaServer, topic: str) -> None:
    """`start_mode.endTimestamp`, in whatever mode it begins; what is younger is not read, what is empty is no split."""
    make_topic(kafka, topic, partitions=2)
    begin = int(time.time() * 1000) - 60_000
    for number in range(6):
        send(kafka, topic, [row(number)], timestamp=begin + number * 1000)
    send(kafka, topic, [row(9)], partition=1, timestamp=begin + 9000)

    def numbers(**options: Any) -> list[int]:
        return [one[0] for one in all_rows(source(kafka, topic, **options))]

    end = {"start_mode.endTimestamp": begin + 4000}
    assert numbers(**end) == [0, 1, 2, 3]
    assert numbers(start_mode="timestamp", **{"start_mode.timestamp": begin + 2000}, **end) == [2, 3]
    assert numbers(**{"start_mode.end_timestamp": begin + 99_000}) == [0, 1, 2, 3, 4, 5, 9]
    assert numbers(**{"start_mode.endTimestamp": begin}) == []
    with pytest.raises(ValueError, match="only a job that ends"):
        source(kafka, topic, streaming=True, **end)


def test_columns_beside_native_are_said_to_be_without_effect(
    kafka: KafkaServer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """SeaTunnel's job files have them; a record is what it is."""
    make_topic(kafka, topic)

    [table] = source(kafka, topic, format="native").tables()

    assert "value" in table.schema.names and "seq" not in table.schema.names
    assert "are without effect: native has its own" in caplog.text
