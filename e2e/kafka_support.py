"""Messages for the end-to-end tests: each says which topic and partition it went to, and its number there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer

from tests.connectors.kafka.topics import CALL_SECONDS
from tests.servers.kafka import KafkaServer


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
