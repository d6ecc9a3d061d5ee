"""What a row becomes: value, key, headers, partition and topic, in each format; and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_connectors.kafka.factory import KafkaSinkFactory
from seatunnel_connectors.kafka.sink.transactions import CommitTimer
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    Column,
    FatalError,
    Guarantee,
    RowKind,
    StepContext,
    TablePath,
    TableSchema,
    parse_type,
)
from tests.connectors.kafka.sink_support import Job, Record, create, records
from tests.servers.kafka import KafkaServer

PEOPLE = TableSchema(
    TablePath.parse("people"),
    tuple(
        Column(name, parse_type(kind))
        for name, kind in [("id", "int"), ("name", "string"), ("born", "date"), ("place", "string")]
    ),
)


def people(*found: tuple[Any, ...], kinds: list[RowKind] | None = None) -> Batch:
    types = {"id": pa.int32(), "name": pa.string(), "born": pa.date32(), "place": pa.string()}
    columns = [pa.array([row[at] for row in found], kind) for at, kind in enumerate(types.values())]
    said = None if kinds is None else pa.array([int(kind) for kind in kinds], pa.uint8())
    return Batch(PEOPLE.path, pa.RecordBatch.from_arrays(columns, names=list(types)), kinds=said)


def written(kafka: KafkaServer, topic: str, batch: Batch, options: Mapping[str, Any], place: Path) -> list[Record]:
    """The records of a batch, written at least once."""
    job = Job(kafka.dsn, topic, place, options={"semantics": "AT_LEAST_ONCE", **options}, table=PEOPLE).started()
    assert job.stage("0@0", batch).rows == batch.rows
    return records(kafka.dsn, topic)


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("json", '{"id":1,"name":"An\\"n","born":null,"place":"x"}'),
        ("canal_json", '{"data":{"id":1,"name":"An\\"n","born":null,"place":"x"},"type":"INSERT"}'),
        ("debezium_json", '{"before":null,"after":{"id":1,"name":"An\\"n","born":null,"place":"x"},"op":"c"}'),
        ("text", '1,An"n,,x'),
        ("csv", '1,"An""n",,x'),
    ],
)
def test_a_row_in_each_format(kafka: KafkaServer, topic: str, tmp_path: Path, form: str, wanted: str) -> None:
    found = written(kafka, topic, people((1, 'An"n', None, "x")), {"format": form}, tmp_path)

    assert [record.value.decode() for record in found] == [wanted]
    assert found[0].key is None and found[0].headers == ()


def test_what_came_and_what_went(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    """An update is a row that goes and one that comes, as SeaTunnel writes it."""
    kinds = [RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE]
    batch = people(*((n, None, None, None) for n in range(4)), kinds=kinds)

    found = written(kafka, topic, batch, {"format": "debezium_json"}, tmp_path)

    documents = [record.document for record in found]
    assert [one["op"] for one in documents] == ["c", "d", "c", "d"]
    assert [(one["before"] or one["after"])["id"] for one in documents] == [0, 1, 2, 3]
    assert [one["after"] is None for one in documents] == [False, True, False, True]


def test_keys_and_headers_are_taken_from_fields(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    options = {"partition_key_fields": ["id", "name"], "kafka_headers_fields": ["place", "name"]}

    found = written(kafka, topic, people((1, "Ann", None, None)), options, tmp_path)

    assert found[0].key == b'{"id":1,"name":"Ann"}'
    assert found[0].headers == (("name", b"Ann"),), "a null is no header"
    assert found[0].value == b'{"id":1,"born":null}'


def test_a_field_names_the_topic(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    batch = people((1, "a", None, f"{topic}-x"), (2, "b", None, f"{topic}-y"), (3, "c", None, f"{topic}-x"))
    job = Job(kafka.dsn, "${place}", tmp_path, lineage=topic, job_id=topic, table=PEOPLE).started()

    job.commit(1, job.stage("0@0", batch))

    assert [one.document["id"] for one in records(kafka.dsn, f"{topic}-x")] == [1, 3]
    assert [one.document["id"] for one in records(kafka.dsn, f"{topic}-y")] == [2]
    with pytest.raises(BadRowsError, match="is null in a row"):
        job.stage("1@0", people((4, "d", None, None)))


@pytest.mark.parametrize("name", ["two words", "", "..", "seatunnel_ledger"])
def test_a_field_that_names_no_topic_is_a_bad_row(kafka: KafkaServer, topic: str, tmp_path: Path, name: str) -> None:
    """The broker refused it in the commit, with the rows of everybody; the ledger would have held rows."""
    job = Job(kafka.dsn, "${place}", tmp_path, lineage=topic, job_id=topic, table=PEOPLE).started()
    with pytest.raises(BadRowsError, match="a row of .*people names the topic"):
        job.stage("0@0", people((1, "a", None, f"{topic}-x"), (2, "b", None, name)))


@pytest.mark.parametrize("form", ["json", "debezium_json"])
def test_a_row_without_all_its_cells_is_refused(kafka: KafkaServer, topic: str, tmp_path: Path, form: str) -> None:
    """A large value that an update leaves is not in PostgreSQL's log; its record had a null there."""
    batch = people((1, "Ann", None, "x"), kinds=[RowKind.UPDATE_AFTER])
    marks = [pa.array([name == "place"]) for name in PEOPLE.names]
    absent = replace(batch, absent=pa.RecordBatch.from_arrays(marks, names=list(PEOPLE.names)))

    with pytest.raises(FatalError, match="absent cells"):
        written(kafka, topic, absent, {"format": form}, tmp_path)
    assert written(kafka, topic, batch, {"format": form}, tmp_path), "nothing is absent"


@pytest.mark.parametrize("semantics", ["NON", "EXACTLY_ONCE"])
def test_bytes_are_those_of_keys_values_and_headers(
    kafka: KafkaServer, topic: str, tmp_path: Path, semantics: str
) -> None:
    """Counted were those of Arrow's memory, or of the file that rows wait in."""
    options = {"partition_key_fields": ["id"], "kafka_headers_fields": ["place", "name"], "semantics": semantics}
    job = Job(kafka.dsn, topic, tmp_path, options=options, lineage=topic, job_id=topic, table=PEOPLE).started()
    piece = job.stage("0@0", people((1, "Änn", None, None), (2, None, None, "here")))
    job.commit(1, piece)

    found = records(kafka.dsn, topic)
    sizes = [
        len(one.key or b"") + len(one.value) + sum(len(name) + len(text) for name, text in one.headers) for one in found
    ]
    assert len(found) == 2 and piece.bytes == sum(sizes)


@pytest.mark.parametrize("semantics", ["NON", "EXACTLY_ONCE"])
def test_a_compacted_topic_wants_keys(kafka: KafkaServer, topic: str, tmp_path: Path, semantics: str) -> None:
    """The broker refused the records, when all had been read."""
    create(kafka.dsn, topic, **{"cleanup.policy": "compact"})
    job = Job(kafka.dsn, topic, tmp_path, options={"semantics": semantics}, table=PEOPLE)
    with pytest.raises(FatalError, match="cleanup.policy = compact: it takes no records without keys") as error:
        job.started()
    assert "partition_key_fields" in error.value.remedy
    replace(job, options={"semantics": semantics, "partition_key_fields": ["id"]}).started()


def test_headers_count_where_a_record_is_too_large(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    options = {"kafka.config": {"max.request.size": "5000"}, "kafka_headers_fields": ["name"]}
    job = Job(kafka.dsn, topic, tmp_path, options=options, table=PEOPLE).started()
    with pytest.raises(BadRowsError, match="5000"):
        job.stage("0@0", people((1, "a" * 6000, None, "")))


def test_a_record_that_the_topic_does_not_take_says_what_helps(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    create(kafka.dsn, topic, **{"max.message.bytes": "2000"})
    job = Job(kafka.dsn, topic, tmp_path, options={"semantics": "NON"}, table=PEOPLE).started()
    with pytest.raises(FatalError, match="MSG_SIZE_TOO_LARGE") as error:
        job.stage("0@0", people((1, "".join(map(str, range(2000))), None, "")))
    assert "max.message.bytes of the topic" in error.value.remedy


def test_content_chooses_the_partition(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    """The first text that a record holds; others share what is left."""
    create(kafka.dsn, topic, partitions=4)
    batch = people((1, "shoe", None, ""), (2, "red cloth", None, ""), *((n, "other", None, "") for n in range(3, 40)))

    found = written(kafka, topic, batch, {"assign_partitions": ["shoe", "cloth"]}, tmp_path)

    places = {record.document["id"]: record.partition for record in found}
    assert (places.pop(1), places.pop(2)) == (0, 1)
    assert set(places.values()) == {2, 3}


def test_one_partition_for_all(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    create(kafka.dsn, topic, partitions=3)

    found = written(kafka, topic, people(*((n, "", None, "") for n in range(20))), {"partition": 2}, tmp_path)

    assert {record.partition for record in found} == {2} and len(found) == 20


def test_rows_that_cannot_be_records_are_bad_rows(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    """Found where they can be set aside: in the unit, not in the commit of everybody's rows."""
    text = Job(kafka.dsn, topic, tmp_path, options={"format": "text"}, table=PEOPLE).started()
    with pytest.raises(BadRowsError, match="delimiter"):
        text.stage("0@0", people((1, "a,b", None, "")))

    large = Job(kafka.dsn, topic, tmp_path, options={"kafka.config": {"max.request.size": "5000"}}, table=PEOPLE)
    with pytest.raises(BadRowsError, match="5000"):
        large.started().stage("0@0", people((1, "a" * 6000, None, "")))


def test_what_is_planned_says_what_will_be_made(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    setup = Job(kafka.dsn, topic, tmp_path, options={"ledger.topic": f"{topic}-ledger"}).sink.plan_setup()
    assert [(effect.action, effect.target) for effect in setup.effects] == [
        ("create topic", topic),
        ("create topic", f"{topic}-ledger"),
    ]
    with pytest.raises(FatalError, match="partition needs 4"):
        Job(kafka.dsn, topic, tmp_path, options={"partition": 3}).sink.plan_setup()


def test_a_transaction_may_not_take_longer_than_the_cluster_allows(
    kafka: KafkaServer, topic: str, tmp_path: Path
) -> None:
    options = {"kafka.config": {"transaction.timeout.ms": "3600000"}}
    with pytest.raises(FatalError, match=r"more than the brokers allow \(900000\)"):
        Job(kafka.dsn, topic, tmp_path, options=options).sink.plan_setup()


def test_a_commit_that_will_not_be_through_in_time_is_foreseen() -> None:
    """After a quarter of its time, instead of failing at its end."""
    times = iter([0.0, 10.0, 20.0, 20.0])
    pace = CommitTimer("topic t", rows=1000, timeout_ms=60_000, clock=lambda: next(times))

    pace.check(1)  # too early to tell
    pace.check(400)
    with pytest.raises(FatalError, match=r"1000 rows would take 67 s, .* after 60 s"):
        pace.check(300)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"topic": "${nothing}"}, "there is no field 'nothing'"),
        ({"topic": "seatunnel_ledger"}, "it is the ledger"),
        ({"ledger.topic": "t"}, "it is the ledger"),
        ({"topic": "pre-${name}"}, "a field stands for the whole name"),
        ({"partition_key_fields": ["ids"]}, "there is no field 'ids'"),
        ({"kafka_headers_fields": ["id", "name", "born", "place"]}, "no value"),
        ({"partition": 1, "assign_partitions": ["a"]}, "cannot both choose"),
        ({"format": "protobuf"}, "format"),
        ({"kafka.config": {"sasl.login.callback.handler.class": "x"}}, "may be given"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_starts(options: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Job("nowhere:1", "t", Path("/nowhere"), options=options, table=PEOPLE).sink  # noqa: B018 - it is made here


def test_the_guarantee_is_what_the_options_say() -> None:
    for semantics, guarantee in [
        ("NON", Guarantee.AT_LEAST_ONCE),
        ("AT_LEAST_ONCE", Guarantee.AT_LEAST_ONCE),
        ("EXACTLY_ONCE", Guarantee.TWO_PHASE_COMMIT),
    ]:
        told = {"topic": "t", "bootstrap.servers": "b:1", "semantics": semantics}
        options = KafkaSinkFactory.options.model_validate(told, context={"job_file": True})
        assert KafkaSinkFactory().capabilities(options, PEOPLE, StepContext("write")).guarantee is guarantee
