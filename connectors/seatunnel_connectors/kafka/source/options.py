"""Options of the Kafka source in a job file."""

from __future__ import annotations

import re
from contextlib import suppress
from enum import StrEnum
from typing import ClassVar

from pydantic import model_validator

from seatunnel_connectors.kafka.client.settings import KafkaSettings
from seatunnel_connectors.kafka.decode.debezium_values import DecimalForm, Declared, TimeUnit
from seatunnel_py.api import Options, Rule, SourceOptions, TablePath, exactly_one, name_pattern, option, required_when
from seatunnel_py.formats.schema_option import SchemaOptions, table_path
from seatunnel_py.formats.surplus_fields import SurplusFields


class StartMode(StrEnum):
    """Position at which a fresh start begins."""

    EARLIEST = "earliest"
    LATEST = "latest"
    GROUP_OFFSETS = "group_offsets"
    TIMESTAMP = "timestamp"
    SPECIFIC_OFFSETS = "specific_offsets"


class TopicFormat(StrEnum):
    """Format of a message's value."""

    JSON = "json"
    TEXT = "text"
    CSV = "csv"
    AVRO = "avro"
    NATIVE = "native"
    DEBEZIUM_JSON = "debezium_json"
    CANAL_JSON = "canal_json"
    MAXWELL_JSON = "maxwell_json"
    OGG_JSON = "ogg_json"
    PROTOBUF = "protobuf"
    COMPATIBLE_DEBEZIUM_JSON = "compatible_debezium_json"
    COMPATIBLE_KAFKA_CONNECT_JSON = "compatible_kafka_connect_json"


WITHOUT_SCHEMA = (TopicFormat.JSON, TopicFormat.TEXT, TopicFormat.NATIVE, TopicFormat.PROTOBUF)
"""Formats that need no columns in the job file: they have their own, or one column for the text."""


class OnBadMessage(StrEnum):
    """Action for a message that does not match the format."""

    FAIL = "fail"
    SKIP = "skip"


class DebeziumTableFilter(Options):
    """Selects one table from a topic with the changes of several. A part that is not given matches any."""

    database_name: str | None = option(None, doc="match messages whose source has this `db`; default: any")
    schema_name: str | None = option(None, doc="match messages whose source has this `schema`; default: any")
    table_name: str | None = option(None, doc="match messages whose source has this `table`; default: any")

    @property
    def wanted(self) -> dict[str, str]:
        """The values that a message's source must have, by Debezium's names."""
        parts = {"db": self.database_name, "schema": self.schema_name, "table": self.table_name}
        return {name: value for name, value in parts.items() if value is not None}


class TopicOptions(Options):
    """Options of one table: its topics and their messages."""

    topic: str = option(min_length=1, doc="topics, separated by commas; with pattern a regular expression")
    pattern: bool = option(False, doc="if true, topic is a regular expression that must match whole topic names")
    declared: SchemaOptions | None = option(
        None, key="schema", doc="columns; default: those of the message (protobuf), else one column named content"
    )
    format: TopicFormat = option(TopicFormat.JSON, doc="format of a message's value")
    format_error_handle_way: OnBadMessage = option(
        OnBadMessage.FAIL, doc="action for messages that do not match the format: fail, or skip them"
    )
    field_delimiter: str = option(",", min_length=1, doc="delimiter between fields (text, csv)")
    debezium_record_include_schema: bool = option(
        True, doc="debezium_json: each message is an object with schema and payload"
    )
    debezium_record_table_filter: DebeziumTableFilter | None = option(
        None, doc="debezium_json: read only changes of this table: database_name, schema_name, table_name"
    )
    debezium_time_unit: TimeUnit | None = option(
        None,
        doc="unit of numbers in time and timestamp columns if a message has no schema: millis, micros, nanos",
    )
    debezium_column_units: dict[str, TimeUnit] = option(
        {}, doc="units of single columns: column = unit; default: debezium_time_unit"
    )
    debezium_decimals: DecimalForm | None = option(
        None,
        doc="form of texts in decimal columns if a message has no schema: digits, or base64 of the unscaled number",
    )
    surplus_fields: SurplusFields = option(
        SurplusFields.REFUSE,
        doc="action for a record with more fields than columns: refuse, or drop the surplus (text, csv)",
    )
    value_converter_schema_enabled: bool = option(
        True, doc="compatible_kafka_connect_json: each message is an object with schema and payload"
    )
    avro_schema: str | None = option(
        None, doc="avro: schema that the messages were written with, as JSON; default: derived from the columns"
    )
    strip_schema_registry_header: bool = option(
        False, doc="avro, protobuf: strip the header of a schema registry from messages; the registry is not contacted"
    )
    protobuf_schema: str | None = option(None, doc="protobuf: text of the .proto file")
    protobuf_message_name: str | None = option(None, min_length=1, doc="protobuf: name of the message in each record")
    kafka_headers_fields: tuple[str, ...] = option((), doc="headers to add as text columns, after the other columns")
    key_converter_schema_enabled: bool = option(True, doc="accepted; keys are not read")
    consumer_group: str = option(
        "SeaTunnel-Consumer-Group", key="consumer.group", doc="consumer group whose offsets are committed"
    )
    start_mode: StartMode = option(StartMode.GROUP_OFFSETS, doc="position at which a fresh start begins")
    start_mode_timestamp: int | None = option(
        None, key="start_mode.timestamp", ge=0, doc="start time in milliseconds since 1970, for start_mode timestamp"
    )
    end_timestamp: int | None = option(
        None, key="start_mode.endTimestamp", fallback=("start_mode.end_timestamp",), ge=0,
        doc="a batch job ends before the first record of this time, in milliseconds since 1970; default: no end time",
    )  # fmt: skip
    start_mode_offsets: dict[str, int] = option(
        {}, key="start_mode.offsets", doc="start offsets for start_mode specific_offsets: topic-partition = offset"
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        required_when("start_mode_timestamp", other="start_mode", equals=(StartMode.TIMESTAMP,)),
        required_when("start_mode_offsets", other="start_mode", equals=(StartMode.SPECIFIC_OFFSETS,)),
    )

    @model_validator(mode="after")
    def _fits_together(self) -> TopicOptions:
        if self.format is TopicFormat.COMPATIBLE_DEBEZIUM_JSON:
            raise ValueError(
                f"the format {self.format} is one of the sink: read such documents as debezium_json, or pass them on "
                "as native"
            )
        if self.pattern:
            try:
                name_pattern(self.topic or "")
            except ValueError as error:
                raise ValueError(f"topic is not a regular expression that can be used: {error}") from None
        wrong = [name for name in self.start_mode_offsets if not re.fullmatch(r".+-\d+", name)]
        if wrong:
            raise ValueError(f"start_mode.offsets: {wrong[0]!r} is not topic-partition, such as orders-0")
        negative = [name for name, offset in self.start_mode_offsets.items() if offset < 0]
        if negative:
            raise ValueError(f"start_mode.offsets: the offset of {negative[0]} is below 0")
        if not self.topic:
            return self  # these options only supply defaults to the entries of the list, which are checked themselves
        if self.format is TopicFormat.NATIVE and self.kafka_headers_fields:
            raise ValueError("the format native has a column of all headers: leave kafka_headers_fields out")
        if len(set(self.kafka_headers_fields)) < len(self.kafka_headers_fields):
            raise ValueError("kafka_headers_fields names a header twice")
        known = {column.name for column in self.declared.declared_columns} if self.declared else set()
        unknown = [name for name in self.debezium_column_units if name not in known]
        if unknown:
            raise ValueError(f"debezium_column_units: the schema has no column {unknown[0]!r}")
        if not self.has_schema and self.format not in WITHOUT_SCHEMA:
            raise ValueError(f"the format {self.format} needs a schema")
        self._check_registry()
        if self.format is TopicFormat.PROTOBUF:
            for name in ("protobuf_schema", "protobuf_message_name"):
                if not getattr(self, name):
                    raise ValueError(f"{name} is required when format is protobuf")
        return self

    @property
    def declared_values(self) -> Declared:
        """How the job file describes messages without a schema."""
        return Declared(self.debezium_time_unit, self.debezium_column_units, self.debezium_decimals)

    @property
    def drops_surplus(self) -> bool:
        return self.surplus_fields is SurplusFields.DROP

    def _check_registry(self) -> None:
        is_avro = self.format is TopicFormat.AVRO
        if self.avro_schema is not None and not is_avro:
            raise ValueError("avro_schema is only for the format avro")
        if not self.strip_schema_registry_header:
            return
        if not is_avro and self.format is not TopicFormat.PROTOBUF:
            raise ValueError("strip_schema_registry_header is only for the formats avro and protobuf")
        if is_avro and self.avro_schema is None:
            raise ValueError("strip_schema_registry_header needs avro_schema: the one that the registry has")

    @property
    def has_schema(self) -> bool:
        """True if the job file names columns that count: the format native has its own."""
        return (
            self.format is not TopicFormat.NATIVE and self.declared is not None and bool(self.declared.declared_columns)
        )

    @property
    def path(self) -> TablePath:
        """Identity of the table: ``schema.table``, else the topic, whose dots divide it as in SeaTunnel."""
        if self.declared is not None and self.declared.table is not None:
            return table_path(self.declared)
        topic = self.topic or ""
        if not self.pattern and len(self.topics) == 1:
            with suppress(ValueError):  # more dots than a path has parts
                return TablePath.parse(self.topics[0])
        return TablePath("", "", topic)

    @property
    def topics(self) -> tuple[str, ...]:
        """Names of the topics, if the option is not a pattern."""
        return tuple(part for name in (self.topic or "").split(",") if (part := name.strip()))


class KafkaSourceOptions(SourceOptions, TopicOptions):
    """Options of the Kafka source: one table, or ``tables_configs``."""

    bootstrap_servers: str = option(
        key="bootstrap.servers", min_length=1, doc="brokers as host:port, separated by commas"
    )
    topic: str | None = option(None, min_length=1, doc="topics, separated by commas; with pattern a regular expression")  # type: ignore[assignment]
    table_list: tuple[TopicOptions, ...] = option(
        (),
        key="tables_configs",
        fallback=("table_list",),
        doc="tables to read, each with its topics, format and schema",
    )
    kafka_config: KafkaSettings = option({}, key="kafka.config", doc="settings of the Kafka client, by Kafka's names")
    commit_on_checkpoint: bool = option(
        True, doc="commit the group's offsets after each checkpoint, for monitoring; a restart never uses them"
    )
    poll_timeout: int = option(10000, key="poll.timeout", ge=0, doc="accepted for older job files")
    reader_cache_queue_size: int = option(2, ge=1, doc="accepted; prefetching is limited by bytes instead")
    ignore_no_leader_partition: bool = option(
        False, doc="accepted; a partition without a leader is waited for, and none of its records is skipped"
    )
    discovery_millis: int = option(
        30_000,
        key="partition-discovery.interval-millis",
        doc="interval in milliseconds at which a stream looks for new topics and partitions; -1: never",
    )

    rules: ClassVar[tuple[Rule, ...]] = (exactly_one("topic", "table_list"), *TopicOptions.rules)

    @model_validator(mode="after")
    def _entries_fit_together(self) -> KafkaSourceOptions:
        self.table_options()
        return self

    def table_options(self) -> tuple[TopicOptions, ...]:
        """Options of each table: an entry inherits the options beside the list, unless it sets them itself."""
        shared = {name: getattr(self, name) for name in TopicOptions.model_fields if name in self.model_fields_set}
        return tuple(
            TopicOptions.model_validate({**shared, **{name: getattr(entry, name) for name in entry.model_fields_set}})
            for entry in self.table_list
        ) or (self,)

    @property
    def reset(self) -> StartMode | None:
        """Place to resume if the position no longer exists; None: raise an error."""
        asked = self.kafka_config.get("auto.offset.reset")
        return StartMode(asked) if asked in (StartMode.EARLIEST, StartMode.LATEST) else None
