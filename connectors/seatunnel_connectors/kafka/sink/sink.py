"""The Kafka sink of one upstream table: at-least-once by confirmed sends, exactly-once by staged files and a ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.encode.encoder import Encoder
from seatunnel_connectors.kafka.forms import conversions
from seatunnel_connectors.kafka.schemas.protobuf_schema import MessageSchema
from seatunnel_connectors.kafka.sink.committer import KafkaCommitter
from seatunnel_connectors.kafka.sink.options import KafkaSinkOptions
from seatunnel_connectors.kafka.sink.staging import place_of
from seatunnel_connectors.kafka.sink.target_topics import (
    LEDGER_PARTITIONS,
    check_keys,
    check_ledger,
    create,
    partitions_of,
    records_of,
    transaction_timeout,
)
from seatunnel_connectors.kafka.sink.writer import SendingWriter, StagingWriter
from seatunnel_py.api import (
    Committer,
    Dataset,
    Effect,
    FatalError,
    NameRules,
    NothingToCommit,
    Plain,
    Present,
    SchemaChange,
    Setup,
    Sink,
    TableSchema,
    TargetPlace,
    Treatment,
    Visible,
    WriteContext,
    Writer,
)


@dataclass(frozen=True)
class KafkaSink(Sink):
    options: KafkaSinkOptions
    table: TableSchema
    message: MessageSchema | None = None

    @property
    def cluster(self) -> Cluster:
        return Cluster.of(self.options.bootstrap_servers, self.options.kafka_config)

    @property
    def target(self) -> str:
        return f"topic {self.options.topic}"

    @property
    def target_place(self) -> TargetPlace | None:
        if self.options.topic_field:
            return None
        return TargetPlace(("kafka", self.options.bootstrap_servers), (self.options.topic,))

    def dataset(self) -> Dataset | None:
        return None if self.options.topic_field else self.cluster.dataset(self.options.topic)

    def name_rules(self) -> NameRules:
        return NameRules()  # letter case counts, and only letters, digits and ._- are allowed

    # ------------------------------------------------------------ start

    def plan_setup(self) -> Setup:
        effects: list[Effect] = []
        count = self._partitions(effects)
        data: dict[str, Plain] = {"partitions": count}
        if count and not self.options.gives_keys:
            check_keys(self.target, self.cluster, self.options.topic)
        there = self._present(count)
        stored = conversions(self.options, self.table, self.message)
        if not self.options.exactly_once:
            return Setup(tuple(effects), data, Visible.STAGED, present=there, conversions=stored)
        ledger = self.options.ledger_topic
        partitions = partitions_of(self.target, self.cluster, ledger)
        if partitions:
            check_ledger(self.target, self.cluster, ledger)
        else:
            effects.append(Effect("create topic", ledger))
        data["ledger_partitions"] = partitions or LEDGER_PARTITIONS
        data["timeout_ms"] = transaction_timeout(self.target, self.cluster)
        data["timeout_given"] = "transaction.timeout.ms" in dict(self.cluster.given)
        return Setup(tuple(effects), data, present=there, conversions=stored)

    def alter(self, change: SchemaChange, setup: Setup) -> Setup:
        """A record describes its own columns; a topic has none."""
        return replace(setup, conversions=conversions(self.options, self.table, self.message))

    def _present(self, partitions: int) -> Present | None:
        """Describe the topic as it is. A topic is a log: a job always appends, even if it sent the same rows before."""
        if self.options.topic_field:
            return None
        if not partitions:
            return Present(Treatment.NEW, what="records")
        count = records_of(self.target, self.cluster, self.options.topic, partitions)
        return Present(Treatment.APPENDED, count, "about" if count else "", "records")

    def _partitions(self, effects: list[Effect]) -> int:
        """Return the topic's partition count. Raise FatalError if rows are meant for a missing partition."""
        options = self.options
        if options.topic_field:
            return 0
        partitions = partitions_of(self.target, self.cluster, options.topic)
        if not partitions:
            effects.append(Effect("create topic", options.topic))
        needed = len(options.assign_partitions) + 1 if options.assign_partitions else (options.partition or 0) + 1
        if needed > max(partitions, 1):
            option = "assign_partitions" if options.assign_partitions else "partition"
            raise FatalError(
                f"{option} needs {needed} partitions, and the topic {options.topic} "
                + (f"has {partitions}" if partitions else "is not there"),
                f"create the topic with at least {needed} partitions",
            )
        return partitions

    def setup(self, setup: Setup) -> None:
        for effect in setup.effects:
            create(self.target, self.cluster, effect.target, ledger=effect.target == self.options.ledger_topic)

    # ------------------------------------------------------------ data

    def open(self, context: WriteContext) -> Writer:
        encoder = Encoder(self.options, self.table, int(str(context.setup["partitions"])), self.message)
        if self.options.exactly_once:
            return StagingWriter(place_of(context, self.table.path), context, encoder)
        return SendingWriter(self.target, self.cluster, encoder, trial=context.trial)

    def committer(self) -> Committer:
        options = self.options
        if not options.exactly_once:
            return NothingToCommit()
        return KafkaCommitter(
            self.cluster, options.topic, options.ledger_topic, options.transaction_prefix, self.table.path,
            one_topic=not options.topic_field,
        )  # fmt: skip
