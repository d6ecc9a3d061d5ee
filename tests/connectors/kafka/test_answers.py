"""Who answers, as ``test-connection`` tells it."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from seatunnel_connectors.kafka.factory import KafkaSinkFactory, KafkaSourceFactory
from seatunnel_connectors.kafka.sink.options import KafkaSinkOptions
from seatunnel_connectors.kafka.source.options import KafkaSourceOptions
from seatunnel_py.api import PluginError
from tests.connectors.kafka.support import CALL_SECONDS
from tests.servers.kafka import KafkaServer


def options(kafka: KafkaServer, topic: str) -> KafkaSourceOptions:
    given = {"bootstrap.servers": kafka.dsn, "topic": topic, "schema": {"fields": {"id": "bigint"}}}
    return KafkaSourceOptions.model_validate(given)


def test_a_cluster_tells_its_brokers_and_topics(kafka: KafkaServer, topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.dsn})
    producer.produce(topic, value=b"{}")
    assert not producer.flush(CALL_SECONDS)

    source = KafkaSourceFactory().test_connection(options(kafka, topic))
    sink = KafkaSinkFactory().test_connection(
        KafkaSinkOptions.model_validate({"bootstrap.servers": kafka.dsn, "topic": topic})
    )

    assert source["brokers"] == sink["brokers"] == "1"
    assert source["topics"] == f"{topic} (1 partitions)"


def test_a_topic_that_is_not_there_is_named(kafka: KafkaServer, topic: str) -> None:
    with pytest.raises(PluginError, match=topic):
        KafkaSourceFactory().test_connection(options(kafka, topic))
