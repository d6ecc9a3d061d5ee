"""Topics of the brokers that tests start."""

from __future__ import annotations

from functools import lru_cache

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tests.servers.kafka import KafkaServer

CALL_SECONDS = 30.0


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


def grow(server: KafkaServer, topic: str, partitions: int) -> None:
    """More partitions than it has."""
    asked = admin_of(server.dsn).create_partitions([NewPartitions(topic, partitions)], request_timeout=CALL_SECONDS)
    asked[topic].result()
