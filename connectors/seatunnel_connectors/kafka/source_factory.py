"""What the Kafka source is called, takes and promises. No client library is imported before ``create``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.util import find_spec
from typing import ClassVar

from seatunnel_connectors.kafka.schemas.protobuf_schema import PROTOBUF_EXTRA
from seatunnel_connectors.kafka.shorthand import brokers_and_topic
from seatunnel_connectors.kafka.source.options import KafkaSourceOptions, MessageFormat, StartMode
from seatunnel_connectors.table_config import check_unique
from seatunnel_py.api import (
    Determinism,
    JobMode,
    Plain,
    Shorthand,
    Source,
    SourceCapabilities,
    SourceFactory,
    SourceOptions,
    StepContext,
)

log = logging.getLogger("seatunnel_py.connectors.kafka")

DECODING = ("seatunnel_connectors.kafka.decode.protobuf",)


class KafkaSourceFactory(SourceFactory[KafkaSourceOptions]):
    """Messages of topics, a partition in order."""

    name: ClassVar[str] = "Kafka"
    extra: ClassVar[str] = "kafka"
    summary: ClassVar[str] = "Reads messages of Kafka's topics: rows, text, and change logs of other tools"
    options: ClassVar[type[SourceOptions]] = KafkaSourceOptions

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        """What is in the topic now, as text."""
        address = brokers_and_topic(end)
        return address and {**address, "start_mode": StartMode.EARLIEST.value, "format": MessageFormat.TEXT.value}

    def modules(self, options: KafkaSourceOptions) -> tuple[str, ...]:
        return ("seatunnel_connectors.kafka.source.reader", "confluent_kafka", *_of_protobuf(options, DECODING))

    def extras(self, options: KafkaSourceOptions) -> tuple[str, ...]:
        return (self.extra, *_of_protobuf(options, (PROTOBUF_EXTRA,)))

    def test_connection(self, options: KafkaSourceOptions) -> Mapping[str, str]:
        from seatunnel_connectors.kafka.client.client import Cluster
        from seatunnel_connectors.kafka.client.topics import brokers, find_topics

        _need_libraries(options)
        cluster = Cluster.of(options.bootstrap_servers, options.kafka_config)
        there = brokers(cluster)
        found = [topic for entry in options.table_options() for topic in find_topics(cluster, entry)]
        there["topics"] = ", ".join(f"{topic.name} ({len(topic.partitions)} partitions)" for topic in found) or "none"
        return there

    def capabilities(self, options: KafkaSourceOptions, context: StepContext) -> SourceCapabilities:
        # Compaction may take messages away between two readings, but never changes or moves one.
        bounded = context.mode is JobMode.BATCH
        return SourceCapabilities(bounded=bounded, determinism=Determinism.DETERMINATE, resident=not bounded)

    def create(self, options: KafkaSourceOptions, context: StepContext) -> Source:
        from seatunnel_connectors.kafka.client.client import Cluster
        from seatunnel_connectors.kafka.source.formats import message_of
        from seatunnel_connectors.kafka.source.source import KafkaSource, KafkaTable

        _need_libraries(options)
        _tell_without_effect(options)
        if context.mode is not JobMode.BATCH and any(entry.end_timestamp for entry in options.table_options()):
            raise ValueError('start_mode.endTimestamp: only a job that ends (job.mode = "BATCH") has an end')
        tables = tuple(KafkaTable(entry, entry.path, message_of(entry)) for entry in options.table_options())
        check_unique(table.path for table in tables)
        return KafkaSource(
            cluster=Cluster.of(options.bootstrap_servers, options.kafka_config),
            entries=tables,
            bounded=context.mode is JobMode.BATCH,
            commits=options.commit_on_checkpoint,
            interval=options.discovery_millis / 1000 if options.discovery_millis > 0 else None,
            reset=options.reset,
        )


def _of_protobuf(options: KafkaSourceOptions, those: tuple[str, ...]) -> tuple[str, ...]:
    """What is wanted where some table's messages are Protobuf's."""
    return those if any(entry.format is MessageFormat.PROTOBUF for entry in options.table_options()) else ()


def _tell_without_effect(options: KafkaSourceOptions) -> None:
    for entry in options.table_options():
        if entry.format is MessageFormat.NATIVE and entry.declared is not None and entry.declared.declared_columns:
            log.warning("kafka %s: the columns of its schema are without effect: native has its own", entry.topic)


def _need_libraries(options: KafkaSourceOptions) -> None:
    """Raise ImportError where a library is not installed, before anything starts."""
    avro = any(entry.format is MessageFormat.AVRO for entry in options.table_options())
    for name in ("confluent_kafka", *(("fastavro",) if avro else ())):
        if find_spec(name) is None:
            raise ImportError(f"Kafka needs the library {name}", name=name)
