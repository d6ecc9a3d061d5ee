"""Topics of the brokers that tests start."""

from __future__ import annotations

import time
from functools import lru_cache

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tests.servers.kafka import KafkaServer

CALL_SECONDS = 30.0
LOOK_SECONDS = 0.02


@lru_cache
def admin_of(bootstrap: str) -> AdminClient:
    """It must outlive the answers to what it was asked."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def make_topic(server: KafkaServer, topic: str, partitions: int = 1, **config: str) -> None:
    """A new topic; settings with _ for the dots."""
    settings = {name.replace("_", "."): value for name, value in config.items()}
    asked = admin_of(server.dsn).create_topics(
        [NewTopic(topic, partitions, 1, config=settings)], request_timeout=CALL_SECONDS
    )
    asked[topic].result()
    await_topic(server.dsn, topic, partitions)


def await_topic(bootstrap: str, topic: str, partitions: int) -> None:
    """Wait until the broker shows all partitions of a topic: it confirms a creation a moment earlier."""
    deadline = time.monotonic() + CALL_SECONDS
    while time.monotonic() < deadline:
        found = admin_of(bootstrap).list_topics(timeout=CALL_SECONDS).topics.get(topic)
        if found is not None and len(found.partitions) == partitions:
            return
        time.sleep(LOOK_SECONDS)
    raise AssertionError(f"the broker does not show {partitions} partitions of {topic}")


def grow(server: KafkaServer, topic: str, partitions: int) -> None:
    """More partitions than it has."""
    asked = admin_of(server.dsn).create_partitions([NewPartitions(topic, partitions)], request_timeout=CALL_SECONDS)
    asked[topic].result()
    await_topic(server.dsn, topic, partitions)
