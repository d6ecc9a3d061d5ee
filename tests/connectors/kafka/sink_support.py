"""Sinks of the Kafka connector, driven as the engine drives them, and what a committed reader then sees."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import NewTopic

from seatunnel_connectors.kafka.factory import KafkaSinkFactory
from seatunnel_py.api import (
    Batch,
    Column,
    CommitContext,
    Piece,
    Setup,
    Sink,
    StepContext,
    TablePath,
    TableSchema,
    WriteContext,
    parse_type,
)
from tests.connectors.kafka.markers import settled
from tests.connectors.kafka.topics import admin_of, await_topic

SPLITS = TableSchema(
    TablePath.parse("shop.numbers"),
    tuple(Column(name, parse_type(kind)) for name, kind in [("split", "int"), ("seq", "bigint"), ("text", "string")]),
)
SECONDS = 30.0
OPEN_SECONDS = 2.0  # longer than a commit's markers take; a transaction that stays open is not waited for


def rows(split: int, first: int, count: int, table: TableSchema = SPLITS) -> Batch:
    """Rows that say where they come from."""
    numbers = range(first, first + count)
    columns = {"split": [split] * count, "seq": list(numbers), "text": [f"row {n}" for n in numbers]}
    types = {"split": pa.int32(), "seq": pa.int64(), "text": pa.string()}
    arrays = [pa.array(columns[name], types[name]) for name in table.names]
    return Batch(table.path, pa.RecordBatch.from_arrays(arrays, names=list(table.names)))


@dataclass
class Job:
    """One job's sink, from its set-up to its commits. ``restarted`` is the same job with a new driver."""

    bootstrap: str
    topic: str
    staging: Path
    job_id: str = "job"
    lineage: str = "lineage"
    incarnation: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    table: TableSchema = SPLITS
    setup: Setup | None = None

    @property
    def sink(self) -> Sink:
        made = KafkaSinkFactory.options.model_validate(
            {
                "topic": self.topic,
                "bootstrap.servers": self.bootstrap,
                "semantics": "EXACTLY_ONCE",
                **self.options,
            },
            context={"job_file": True},
        )
        return KafkaSinkFactory().create(made, self.table, StepContext("write"))

    def started(self) -> Job:
        self.setup = self.sink.plan_setup()
        self.sink.setup(self.setup)
        return self

    def restarted(self) -> Job:
        return replace(self, incarnation=self.incarnation + 1)

    def context(self, checkpoint: int, *, final: bool = False) -> CommitContext:
        assert self.setup is not None
        return CommitContext(
            self.job_id, self.lineage, "write", checkpoint, self.incarnation, final, self.setup.data,
            self.staging.as_uri(),
        )  # fmt: skip

    def stage(self, data_id: str, *batches: Batch, attempt: int = 0) -> Piece:
        assert self.setup is not None
        writer = self.sink.open(
            WriteContext(
                self.job_id, self.lineage, "write", data_id, 0, self.incarnation, 0, attempt, self.setup.data,
                self.staging.as_uri(),
            )
        )  # fmt: skip
        for batch in batches:
            writer.write(batch)
        return writer.stage()

    def commit(self, checkpoint: int, *pieces: Piece, final: bool = False) -> None:
        self.sink.committer().commit(pieces, self.context(checkpoint, final=final))

    def recover(self, checkpoint: int) -> int | None:
        return self.sink.committer().recover(self.context(checkpoint))

    def lineage_ended(self, keep_days: int) -> None:
        self.sink.committer().lineage_ended(self.context(0, final=True), keep_days)

    def staged_files(self) -> list[str]:
        return sorted(path.name for path in self.staging.rglob("*") if path.is_file())


def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    admin_of(bootstrap).create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(SECONDS)
    await_topic(bootstrap, topic, partitions)


@dataclass(frozen=True, slots=True)
class Record:
    partition: int
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...]

    @property
    def document(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.value)
        return loaded


def records(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[Record]:
    """What a reader sees of a topic, partition by partition, up to its end."""
    settings = {
        "bootstrap.servers": bootstrap, "group.id": "look", "isolation.level": isolation, "enable.auto.commit": False,
        "enable.partition.eof": True, "fetch.wait.max.ms": 10,
    }  # fmt: skip
    found: list[Record] = []
    if isolation == "read_committed":
        settled(bootstrap, topic, OPEN_SECONDS)
    with closing(Consumer(settings)) as consumer:
        open_partitions = set(consumer.list_topics(topic, timeout=SECONDS).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in open_partitions])
        while open_partitions:
            message = consumer.poll(SECONDS)
            assert message is not None, f"{topic}: no answer, and no end"
            error = message.error()
            if error is None:
                headers = tuple((name, bytes(text)) for name, text in message.headers() or ())
                key = message.key()
                found.append(Record(message.partition(), key, message.value(), headers))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error.str()
                open_partitions.discard(message.partition())
    return sorted(found, key=lambda record: record.partition)


def splits(found: Iterable[Record]) -> dict[int, list[int]]:
    """The numbers of each split, in the order in which they can be read."""
    seen: dict[int, list[int]] = defaultdict(list)
    for record in found:
        seen[record.document["split"]].append(record.document["seq"])
    return dict(seen)


def whole(*parts: tuple[int, Sequence[int]]) -> dict[int, list[int]]:
    return {split: list(numbers) for split, numbers in parts}
