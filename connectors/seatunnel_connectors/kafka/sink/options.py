"""Options of the Kafka sink in a job file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import model_validator

from seatunnel_connectors.kafka.client.settings import KafkaSettings, translated
from seatunnel_py.api import Naming, Rule, SinkOptions, option, required_when

MESSAGE_BYTES_MAX = 1_000_000  # the client's own limit
TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
NO_TOPIC = "a name is up to 249 of the letters A-Z and a-z, digits and . _ -"
IS_LEDGER = "it is the ledger, which holds what was committed and nothing else"
FIELD_TOPIC = re.compile(r"\$\{([^}]*)\}")


class Semantics(StrEnum):
    """SeaTunnel's names. NON promises as much as AT_LEAST_ONCE here: every send is confirmed."""

    NON = "NON"
    AT_LEAST_ONCE = "AT_LEAST_ONCE"
    EXACTLY_ONCE = "EXACTLY_ONCE"


class ValueFormat(StrEnum):
    """Format of a record's value."""

    JSON = "json"
    TEXT = "text"
    CSV = "csv"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    DEBEZIUM_JSON = "debezium_json"
    CANAL_JSON = "canal_json"
    MAXWELL_JSON = "maxwell_json"
    OGG_JSON = "ogg_json"
    NATIVE = "native"
    COMPATIBLE_DEBEZIUM_JSON = "compatible_debezium_json"


RECORD_FORMATS = frozenset({ValueFormat.NATIVE, ValueFormat.COMPATIBLE_DEBEZIUM_JSON})
"""Rows are records already: columns are their parts."""
CHANGE_FORMATS = frozenset(
    {ValueFormat.DEBEZIUM_JSON, ValueFormat.CANAL_JSON, ValueFormat.MAXWELL_JSON, ValueFormat.OGG_JSON}
)
"""Messages with the kind of their row."""


class KafkaSinkOptions(SinkOptions):
    """Options of the Kafka sink."""

    topic: str = option(
        naming=Naming.PLAIN, min_length=1, doc="topic to write to; ${field} takes the topic of each row from a field. "
        "Default with compatible_debezium_json: ${topic}",
    )  # fmt: skip
    bootstrap_servers: str = option(
        key="bootstrap.servers", min_length=1, doc="brokers as host:port, separated by commas"
    )
    kafka_config: KafkaSettings = option({}, key="kafka.config", doc="settings of the producer, by Kafka's names")
    semantics: Semantics = option(
        Semantics.NON, doc="EXACTLY_ONCE: rows appear once, with their checkpoint; otherwise every send is confirmed"
    )
    format: ValueFormat = option(ValueFormat.JSON, doc="format of a record's value")
    field_delimiter: str = option(",", min_length=1, doc="delimiter between fields (text, csv)")
    protobuf_schema: str | None = option(None, doc="protobuf: text of the .proto file")
    protobuf_message_name: str | None = option(None, min_length=1, doc="protobuf: name of the message for each row")
    partition_key_fields: tuple[str, ...] = option((), doc="fields for the record's key; default: no key")
    kafka_headers_fields: tuple[str, ...] = option((), doc="fields to send as headers instead of in the value")
    kafka_message_value_fields: tuple[str, ...] = option((), doc="fields of the value; default: all except headers")
    partition: int | None = option(None, ge=0, doc="partition for all records; default: chosen by key, else at random")
    timestamp: int | None = option(
        None,
        ge=0,
        doc="timestamp of every record in milliseconds since 1970; default: time of sending, or (native) the row's own",
    )
    assign_partitions: tuple[str, ...] = option(
        (), doc="texts that choose the partition: a record with the n-th text goes to partition n"
    )
    transaction_prefix: str = option("seatunnel", min_length=1, doc="prefix of transactional ids")
    ledger_topic: str = option("seatunnel_ledger", key="ledger.topic", doc="topic that stores which commits are done")

    rules: ClassVar[tuple[Rule, ...]] = tuple(
        required_when(name, other="format", equals=(ValueFormat.PROTOBUF,))
        for name in ("protobuf_schema", "protobuf_message_name")
    )

    @model_validator(mode="before")
    @classmethod
    def _documents_name_their_topics(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "topic" not in data and _is_compatible(data.get("format")):
            return {**data, "topic": "${topic}"}
        return data

    @model_validator(mode="after")
    def _fits_together(self) -> KafkaSinkOptions:
        if self.partition is not None and self.assign_partitions:
            raise ValueError("partition and assign_partitions cannot both choose the partition")
        if self.assign_partitions and self.format in (ValueFormat.AVRO, ValueFormat.PROTOBUF):
            raise ValueError(f"assign_partitions looks for texts, which records of {self.format} do not hold")
        chosen = ("partition_key_fields", "kafka_headers_fields", "kafka_message_value_fields", "assign_partitions")
        for name in chosen if self.format in RECORD_FORMATS else ():
            if getattr(self, name):
                raise ValueError(
                    f"{name}: records of the format {self.format} have their parts in columns of those names"
                )
        if self.assign_partitions and self.topic_field:
            raise ValueError("assign_partitions needs one topic, whose partitions are known when the job starts")
        return self

    @property
    def topic_field(self) -> str:
        """The field that names each row's topic; empty: none."""
        match = FIELD_TOPIC.fullmatch(self.topic)
        return match[1] if match else ""

    @property
    def gives_keys(self) -> bool:
        """True if records may have keys."""
        return bool(self.partition_key_fields) or self.format in RECORD_FORMATS

    @property
    def message_bytes_max(self) -> int:
        """Largest size of a record, in bytes."""
        return int(translated(self.kafka_config).get("message.max.bytes", MESSAGE_BYTES_MAX))

    @property
    def exactly_once(self) -> bool:
        return self.semantics is Semantics.EXACTLY_ONCE

    def value_fields(self, names: Sequence[str]) -> tuple[str, ...]:
        """The fields of a record's value."""
        return self.kafka_message_value_fields or tuple(name for name in names if name not in self.kafka_headers_fields)


def _is_compatible(form: object) -> bool:
    return str(form).casefold() == ValueFormat.COMPATIBLE_DEBEZIUM_JSON.value
