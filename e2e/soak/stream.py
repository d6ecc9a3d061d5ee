"""What runs: topics that are filled all the while, and a job that carries them to one target each, or two."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from e2e.crash_sweep.files import FilesOut
from e2e.crash_sweep.judge import Row
from e2e.crash_sweep.place import Lane, Place
from e2e.crash_sweep.recipes import Target
from e2e.crash_sweep.tables import MariadbTable, PostgresTable
from e2e.crash_sweep.topics import KafkaTopic
from tests.connectors.kafka.topics import make_topic

TOPICS: dict[str, tuple[Target, ...]] = {
    "orders": (PostgresTable("staged"), FilesOut("json")),
    "visits": (PostgresTable("direct"),),
    "clicks": (MariadbTable(once=True),),
    "events": (KafkaTopic(),),
}
SERVERS = ("postgres", "mariadb", "kafka")
PARTITIONS = 2
TICK_SECONDS = 0.2
ROWS_A_TICK = 5  # of each partition
FLUSH_SECONDS = 120.0  # a broker that was just killed is away for some of it


@dataclass(frozen=True, slots=True)
class Table:
    """A topic and where its rows end up."""

    topic: str
    place: Place
    targets: tuple[Target, ...]

    @property
    def job(self) -> str:
        return f"""Kafka {{ plugin_output = {self.topic}, topic = "{self.topic}", start_mode = earliest,
            bootstrap.servers = "{self.place.kafka.dsn}",
            schema {{ fields {{ id = bigint, source = string, split = int, seq = int }} }} }}"""


def tables(lane: Lane, place: Place) -> list[Table]:
    """Topics and targets, made and empty."""
    made = []
    for topic, targets in TOPICS.items():
        make_topic(lane.server("kafka"), topic, PARTITIONS)  # type: ignore[arg-type]
        table = Table(topic, Place(f"{topic}_out", place.home, lane, read=topic), targets)
        for target in targets:
            target.prepare(table.place)
        made.append(table)
    return made


def job_file(found: Sequence[Table], env: str) -> str:
    sources = "\n".join(table.job for table in found)
    sinks = "\n".join(target.text(table.place) for table in found for target in table.targets)
    return f"""
        env {{ job.mode = STREAMING, parallelism = {PARTITIONS}, guarantee = exactly-once, {env} }}
        source {{ {sources} }}
        sink {{ {sinks} }}"""


@dataclass(slots=True)
class Feeder:
    """Fills the topics until it is told to stop. What was acknowledged is what has to arrive."""

    bootstrap: str
    sent: Counter[tuple[str, int]] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    _done: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "log_level": 0})
        while not self._done.wait(TICK_SECONDS):
            for topic in TOPICS:
                for partition in range(PARTITIONS):
                    self._send(producer, topic, partition)
            producer.poll(0)
        if left := producer.flush(FLUSH_SECONDS):
            self.refused.append(f"{left} messages were never acknowledged")

    def _send(self, producer: Producer, topic: str, partition: int) -> None:
        for _ in range(ROWS_A_TICK):
            self.sent[topic, partition] += 1
            row = {"id": self.sent.total(), "source": topic, "split": partition, "seq": self.sent[topic, partition]}
            producer.produce(topic, value=json.dumps(row), partition=partition, on_delivery=self._answered)

    def _answered(self, error: KafkaError | None, _: Message) -> None:
        if error:
            self.refused.append(str(error))

    def stop(self) -> None:
        self._done.set()

    def wanted(self, topic: str) -> Iterator[Row]:
        for partition in range(PARTITIONS):
            for seq in range(1, self.sent[topic, partition] + 1):
                yield topic, partition, seq


def arrived(table: Table) -> list[int]:
    """How many rows each target shows; nothing of a server that is away."""
    counted: list[int] = []
    for target in table.targets:
        rows: Any = 0
        with suppress(Exception):
            rows = target.glance(table.place).rows
        counted.append(rows)
    return counted
