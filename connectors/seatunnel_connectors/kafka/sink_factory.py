"""Declares the Kafka sink: its name, options and guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from seatunnel_connectors.kafka.schemas.protobuf_schema import PROTOBUF_EXTRA
from seatunnel_connectors.kafka.shorthand import brokers_and_topic
from seatunnel_connectors.kafka.sink.options import IS_LEDGER, NO_TOPIC, TOPIC, KafkaSinkOptions, Semantics, ValueFormat
from seatunnel_py.api import (
    Guarantee,
    Plain,
    Shorthand,
    Sink,
    SinkCapabilities,
    SinkFactory,
    StepContext,
    TableSchema,
)

ENCODING = ("seatunnel_connectors.kafka.encode.protobuf",)


class KafkaSinkFactory(SinkFactory[KafkaSinkOptions]):
    """Writes rows as records of a topic; exactly once by transactions with a ledger inside."""

    name = "Kafka"
    extra = "kafka"
    summary = "Writes rows as records of a topic; at least once, or exactly once in transactions"
    options = KafkaSinkOptions

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
            return SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, why, fenced=True, keeps_order=True)
        return SinkCapabilities(
            Guarantee.AT_LEAST_ONCE,
            f"semantics = {options.semantics.value}: every send is confirmed",
            keeps_order=True,
        )

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
