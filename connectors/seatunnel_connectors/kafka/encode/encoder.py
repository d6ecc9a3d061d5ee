"""Encodes rows to records: columns ``value``, ``key``, ``partition``, ``topic``, ``timestamp`` (milliseconds) and
``header.NAME``, or all ``headers`` as a map. Works on whole columns.

Rules. (1) A row is a record, whatever its kind; formats with kinds put it inside the value. (2) A column exists only if
the options ask for it. A null partition leaves the choice to the key, or to chance if there is no key.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.kafka.client.record_sizes import HEADER, record_sizes
from seatunnel_connectors.kafka.encode.avro import avro_values
from seatunnel_connectors.kafka.encode.native import check as check_native
from seatunnel_connectors.kafka.encode.native import native_records
from seatunnel_connectors.kafka.forms import check_forms
from seatunnel_connectors.kafka.schemas.avro_types import record_of
from seatunnel_connectors.kafka.schemas.protobuf_fields import links_of
from seatunnel_connectors.kafka.schemas.protobuf_schema import MessageSchema, message_schema
from seatunnel_connectors.kafka.sink.options import (
    FIELD_TOPIC,
    IS_LEDGER,
    NO_TOPIC,
    RECORD_FORMATS,
    TOPIC,
    KafkaSinkOptions,
    ValueFormat,
)
from seatunnel_py.api import BadRowsError, Batch, Column, FatalError, TableSchema
from seatunnel_py.formats.json.changes import enveloped
from seatunnel_py.formats.messages.encode import delimited_messages, json_messages
from seatunnel_py.formats.value_text import TextRules, column_text

if TYPE_CHECKING:
    import pyarrow as pa

_RULES = TextRules()


@dataclass(frozen=True, slots=True)
class Encoder:
    """Encodes the rows of one table. ``partitions`` is the topic's partition count, if the content chooses one;
    ``message`` is the Protobuf message of a row."""

    options: KafkaSinkOptions
    table: TableSchema
    partitions: int = 0
    message: MessageSchema | None = None

    def encode(self, batch: Batch) -> pa.RecordBatch:
        import pyarrow as pa

        self._check_whole(batch)
        is_record = self.options.format in RECORD_FORMATS
        columns = native_records(batch.data) if is_record else self._parts(batch)
        if self.options.partition is not None:
            columns["partition"] = pa.array([self.options.partition] * batch.rows, pa.int32())
        if self.options.timestamp is not None:
            columns["timestamp"] = pa.array([self.options.timestamp] * batch.rows, pa.int64())
        if self.options.topic_field:
            columns["topic"] = self._topics(batch)
        records = pa.RecordBatch.from_pydict(columns)
        self._check_sizes(records)
        return records

    def _parts(self, batch: Batch) -> dict[str, Any]:
        """The parts of the records, made from the row's columns."""
        import pyarrow as pa

        values = self._values(batch)
        columns: dict[str, Any] = {"value": values.cast(pa.binary())}
        if self.options.partition_key_fields:
            columns["key"] = self._keys(batch).cast(pa.binary())
        if self.options.assign_partitions:
            columns["partition"] = self._assigned(values)
        for name in self.options.kafka_headers_fields:
            columns[HEADER + name] = self._texts(batch, name).cast(pa.binary())
        return columns

    def _check_whole(self, batch: Batch) -> None:
        """Refuse absent cells: a record has no earlier value that could stay, and a null would be another value."""
        if batch.lacks_cells:
            raise FatalError(
                f"table {batch.table}: the source sent rows with absent cells, and records need whole rows",
                "let the source send whole rows (PostgreSQL: REPLICA IDENTITY FULL), or write into a target by key",
            )

    def _check_sizes(self, records: pa.RecordBatch) -> None:
        """Reject records that are too large now, while rows can still be quarantined; at the commit it would be too
        late."""
        import pyarrow.compute as pc

        limit = self.options.message_bytes_max
        largest = pc.max(record_sizes(records)).as_py() or 0
        if largest > limit:
            raise BadRowsError(
                f"a row of {self.table.path} makes a record of {largest} bytes, more than the producer sends ({limit})",
                "raise max.request.size in kafka.config, and max.message.bytes of the topic",
            )

    # ------------------------------------------------------------ values and keys

    def _values(self, batch: Batch) -> Any:
        names = self.options.value_fields(self.table.names)
        match self.options.format:
            case ValueFormat.TEXT | ValueFormat.CSV:
                return self._delimited(batch, names)
            case ValueFormat.JSON:
                return self._documents(batch, names)
            case ValueFormat.AVRO:
                return self._avro(batch, names)
            case ValueFormat.PROTOBUF:
                return self._protobuf(batch, names)
            case ValueFormat.NATIVE | ValueFormat.COMPATIBLE_DEBEZIUM_JSON:
                raise AssertionError("the record's value is a column")
        return enveloped(self.options.format, self._documents(batch, names), batch.kinds)

    def _keys(self, batch: Batch) -> Any:
        names = self.options.partition_key_fields
        if self.options.format in (ValueFormat.TEXT, ValueFormat.CSV):
            return self._delimited(batch, names)
        if self.options.format is ValueFormat.PROTOBUF:
            return self._protobuf(batch, names)
        return self._avro(batch, names) if self.options.format is ValueFormat.AVRO else self._documents(batch, names)

    def _protobuf(self, batch: Batch, names: Sequence[str]) -> Any:
        from seatunnel_connectors.kafka.encode.protobuf import protobuf_values

        assert self.message is not None, "it was compiled when the sink was made"
        links = links_of(
            [self._column(name) for name in names], self.message.descriptor, "protobuf_schema", writing=True
        )
        return protobuf_values(links, self.message, batch.data)

    def _avro(self, batch: Batch, names: Sequence[str]) -> Any:
        return avro_values([self._column(name) for name in names], batch.data)

    def _documents(self, batch: Batch, names: Sequence[str]) -> Any:
        return json_messages([self._column(name) for name in names], batch.data)

    def _delimited(self, batch: Batch, names: Sequence[str]) -> Any:
        quotes = self.options.format is ValueFormat.CSV
        columns = [self._column(name) for name in names]
        return delimited_messages(columns, batch.data, self.options.field_delimiter, quotes=quotes)

    def _texts(self, batch: Batch, name: str) -> Any:
        return column_text(batch.data.column(name), self._column(name), _RULES)

    def _column(self, name: str) -> Column:
        column = self.table.column(name)
        assert column is not None, f"{name} was looked up when the sink was made"
        return column

    # ------------------------------------------------------------ places

    def _topics(self, batch: Batch) -> Any:
        topics = self._texts(batch, self.options.topic_field)
        if topics.null_count:
            raise BadRowsError(
                f"the field {self.options.topic_field!r}, which names the topic, is null in a row of {batch.table}",
                "filter such rows out, or give the sink one topic",
            )
        self._check_names(topics.unique().to_pylist())
        return topics

    def _check_names(self, topics: Sequence[str]) -> None:
        """Refuse invalid topic names, which the broker would reject together with the whole commit, and the ledger's
        name, which records would damage."""
        for topic in topics:
            if not TOPIC.fullmatch(topic) or topic == self.options.ledger_topic:
                why = NO_TOPIC if topic != self.options.ledger_topic else IS_LEDGER
                raise BadRowsError(
                    f"a row of {self.table.path} names the topic {topic!r}: {why}",
                    "correct the field, or filter such rows out",
                )

    def _assigned(self, values: Any) -> Any:
        """The first text in a message chooses its partition; other messages share the remaining partitions."""
        import pyarrow as pa
        import pyarrow.compute as pc

        words = self.options.assign_partitions
        rest = self.partitions - len(words)
        spread = [len(words) + zlib.crc32(value) % rest for value in values.cast(pa.binary()).to_pylist()]
        chosen = pa.array(spread, pa.int32())
        for index in reversed(range(len(words))):
            chosen = pc.if_else(pc.match_substring(values, words[index]), pa.scalar(index, pa.int32()), chosen)
        return chosen


def message_of(options: KafkaSinkOptions) -> MessageSchema | None:
    """The compiled Protobuf message of the rows; None with other formats."""
    if options.format is not ValueFormat.PROTOBUF:
        return None
    return message_schema(options.protobuf_schema or "", options.protobuf_message_name or "")


def _check_message(options: KafkaSinkOptions, table: TableSchema, message: MessageSchema) -> None:
    """Check that the value's columns fit the message, and the key's: the key is the same message with fewer fields."""
    parts = {"protobuf_schema": options.value_fields(table.names), "partition_key_fields": options.partition_key_fields}
    for option, names in parts.items():
        columns = [column for column in table.columns if column.name in names]
        if columns:
            links_of(columns, message.descriptor, option, writing=True)


def check_fields(options: KafkaSinkOptions, table: TableSchema, message: MessageSchema | None = None) -> None:
    """Raise ValueError if the options name unknown columns, or if the format has no place for some."""
    named = {
        "topic": (options.topic_field,) if options.topic_field else (),
        "partition_key_fields": options.partition_key_fields,
        "kafka_headers_fields": options.kafka_headers_fields,
        "kafka_message_value_fields": options.kafka_message_value_fields,
    }
    for option, names in named.items():
        for name in names:
            if table.column(name) is None:
                raise ValueError(f"{option}: there is no field {name!r}; fields: {', '.join(table.names)}")
    if options.format is ValueFormat.AVRO:
        record_of(column for column in table.columns if column.name in options.value_fields(table.names))
    check_forms(options, table)
    if options.format in RECORD_FORMATS:
        check_native(table, options.format)
    if message is not None:
        _check_message(options, table, message)
    if not options.value_fields(table.names):
        raise ValueError("kafka_headers_fields takes every field, so that records would have no value")
    if FIELD_TOPIC.search(options.topic) and not options.topic_field:
        raise ValueError(f"topic = {options.topic!r}: a field stands for the whole name, as in ${{name}}")
