"""Names, options and promises of the Kafka source and sink. No client library is imported before ``create``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

from seatunnel_connectors.kafka.schemas.protobuf_schema import PROTOBUF_EXTRA
from seatunnel_connectors.kafka.shorthand import brokers_and_topic
from seatunnel_connectors.kafka.sink.options import (
    CHANGE_FORMATS,
    IS_LEDGER,
    NO_TOPIC,
    TOPIC,
    KafkaSinkOptions,
    Semantics,
    ValueFormat,
)
from seatunnel_connectors.kafka.source.options import KafkaSourceOptions, StartMode, TopicFormat
from seatunnel_py.api import (
    Determinism,
    Guarantee,
    JobMode,
    SinkCapabilities,
    SinkFactory,
    SourceCapabilities,
    SourceFactory,
)
from seatunnel_py.formats.schema_option import check_unique

if TYPE_CHECKING:
    from seatunnel_py.api import (
        Plain,
        Shorthand,
        Sink,
        SinkOptions,
        Source,
        SourceOptions,
        StepContext,
        TableSchema,
    )

log = logging.getLogger("seatunnel_py.connectors.kafka")

DECODING = ("seatunnel_connectors.kafka.decode.protobuf",)
ENCODING = ("seatunnel_connectors.kafka.encode.protobuf",)


class KafkaSourceFactory(SourceFactory[KafkaSourceOptions]):
    """Reads messages of topics, each partition in order."""

    name: ClassVar[str] = "Kafka"
    extra: ClassVar[str] = "kafka"
    summary: ClassVar[str] = "Reads messages of Kafka's topics: rows, text, and change logs of other tools"
    options: ClassVar[type[SourceOptions]] = KafkaSourceOptions

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        """Read what is in the topic now, as text."""
        address = brokers_and_topic(end)
        return address and {**address, "start_mode": StartMode.EARLIEST.value, "format": TopicFormat.TEXT.value}

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
        # Compaction may remove messages between two reads, but never changes or moves one.
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


class KafkaSinkFactory(SinkFactory[KafkaSinkOptions]):
    """Records of a topic; exactly once by transactions with a ledger inside."""

    name: ClassVar[str] = "Kafka"
    extra: ClassVar[str] = "kafka"
    summary: ClassVar[str] = "Writes rows as records of a topic; at least once, or exactly once in transactions"
    options: ClassVar[type[SinkOptions]] = KafkaSinkOptions

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        address = brokers_and_topic(end)
        return address and {**address, "semantics": Semantics.EXACTLY_ONCE.value}

    def modules(self, options: KafkaSinkOptions) -> tuple[str, ...]:
        return ("seatunnel_connectors.kafka.sink.sink", *(ENCODING if options.format is ValueFormat.PROTOBUF else ()))

    def extras(self, options: KafkaSinkOptions) -> tuple[str, ...]:
        return (self.extra, *((PROTOBUF_EXTRA,) if options.format is ValueFormat.PROTOBUF else ()))

    def test_connection(self, options: KafkaSinkOptions) -> Mapping[str, str]:
        from seatunnel_connectors.kafka.client.client import Cluster
        from seatunnel_connectors.kafka.client.topics import brokers

        return brokers(Cluster.of(options.bootstrap_servers, options.kafka_config))

    def capabilities(self, options: KafkaSinkOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        if options.exactly_once:
            why = "rows are staged, and committed with the ledger in one transaction"
            guarantee = Guarantee.TWO_PHASE_COMMIT
        else:
            why = f"semantics = {options.semantics.value}: every send is confirmed"
            guarantee = Guarantee.AT_LEAST_ONCE
        images = options.format in CHANGE_FORMATS
        return SinkCapabilities(guarantee, why, fenced=options.exactly_once, keeps_order=True, before_images=images)

    def create(self, options: KafkaSinkOptions, table: TableSchema, context: StepContext) -> Sink:
        from seatunnel_connectors.kafka.encode.encoder import check_fields, message_of
        from seatunnel_connectors.kafka.sink.sink import KafkaSink

        if options.format is ValueFormat.AVRO and find_spec("fastavro") is None:
            raise ImportError("Kafka needs the library fastavro", name="fastavro")
        message = message_of(options)
        check_fields(options, table, message)
        if not options.topic_field and not TOPIC.fullmatch(options.topic):
            raise ValueError(f"topic: Kafka takes no topic {options.topic!r}: {NO_TOPIC}")
        if options.topic == options.ledger_topic:
            raise ValueError(f"topic: no rows may go to {options.topic!r}: {IS_LEDGER}")
        return KafkaSink(options, table, message)


def _of_protobuf(options: KafkaSourceOptions, those: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``those`` if a table's messages are Protobuf's, else nothing."""
    return those if any(entry.format is TopicFormat.PROTOBUF for entry in options.table_options()) else ()


def _tell_without_effect(options: KafkaSourceOptions) -> None:
    for entry in options.table_options():
        if entry.format is TopicFormat.NATIVE and entry.declared is not None and entry.declared.declared_columns:
            log.warning("kafka %s: the columns of its schema are without effect: native has its own", entry.topic)


def _need_libraries(options: KafkaSourceOptions) -> None:
    """Raise ImportError if a library is not installed, before anything starts."""
    avro = any(entry.format is TopicFormat.AVRO for entry in options.table_options())
    for name in ("confluent_kafka", *(("fastavro",) if avro else ())):
        if find_spec(name) is None:
            raise ImportError(f"Kafka needs the library {name}", name=name)
