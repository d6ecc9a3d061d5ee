"""Messages for the end-to-end tests: each says which topic and partition it went to, and its number there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tests.servers.kafka import KafkaServer

CALL_SECONDS = 30.0


def make_topic(server: KafkaServer, topic: str, partitions: int = 1, **config: str) -> None:
    """A new topic; settings with _ for the dots."""
    settings = {name.replace("_", "."): value for name, value in config.items()}
    admin = AdminClient({"bootstrap.servers": server.dsn, "log_level": 0})
    made = admin.create_topics([NewTopic(topic, partitions, 1, config=settings)], request_timeout=CALL_SECONDS)
    made[topic].result()


def add_partitions(server: KafkaServer, topic: str, total: int) -> None:
    admin = AdminClient({"bootstrap.servers": server.dsn, "log_level": 0})
    admin.create_partitions([NewPartitions(topic, total)], request_timeout=CALL_SECONDS)[topic].result()


@contextmanager
def producing(server: KafkaServer, **more: Any) -> Iterator[Producer]:
    """A producer that loses nothing and repeats nothing; at the end all was acknowledged."""
    settings = {name.replace("_", "."): value for name, value in more.items()}
    producer = Producer(
        {"bootstrap.servers": server.dsn, "enable.idempotence": True, "linger.ms": 20, "log_level": 0, **settings}
    )
    yield producer
    assert producer.flush(CALL_SECONDS) == 0, "the broker did not take all messages"


def numbered(topic: str, partition: int, numbers: Iterable[int]) -> list[tuple[int, bytes]]:
    """Messages of a partition, to be sent in this order."""
    return [(partition, json.dumps({"topic": topic, "part": partition, "seq": number}).encode()) for number in numbers]


def send(server: KafkaServer, topic: str, messages: Sequence[tuple[int, bytes]], **more: Any) -> None:
    """Send messages to their partitions, in order."""
    refused: list[object] = []
    with producing(server, queue_buffering_max_messages=10_000_000, **more) as producer:
        for partition, value in messages:
            producer.produce(topic, value=value, partition=partition, on_delivery=lambda no, _: refused.append(no))
    assert not any(refused), refused


SCHEMA = "schema { fields { topic = string, part = int, seq = bigint } }"
"""What ``numbered`` messages hold."""
