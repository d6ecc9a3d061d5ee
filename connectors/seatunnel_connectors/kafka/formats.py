"""Which decoder a table's messages get, the columns where the job file gives none, and what else a message says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from seatunnel_connectors.kafka.consumer import offset_of
from seatunnel_connectors.kafka.decode import Decoded, Decoder
from seatunnel_connectors.kafka.options import MessageFormat, TopicOptions
from seatunnel_py.api import Column, DataType, Kind, TableSchema, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

_STRING, _BYTES = DataType(Kind.STRING), DataType(Kind.BYTES)

CONTENT = (Column("content", _STRING),)
"""The one column of messages that no schema describes: their text."""

NATIVE = (
    Column("headers", DataType(Kind.MAP, key=_STRING, element=_STRING)),
    Column("key", _BYTES),
    Column("offset", DataType(Kind.BIGINT)),
    Column("partition", DataType(Kind.INT)),
    Column("timestamp", DataType(Kind.BIGINT)),
    Column("timestampType", _STRING),
    Column("value", _BYTES),
)
"""The columns of the format native."""

_TIMESTAMP_TYPES = ("NO_TIMESTAMP_TYPE", "CREATE_TIME", "LOG_APPEND_TIME")


def default_columns(options: TopicOptions) -> tuple[Column, ...]:
    """The columns of a table without a schema."""
    return NATIVE if options.format is MessageFormat.NATIVE else CONTENT


def decoder_of(options: TopicOptions, table: TableSchema) -> Decoder:
    """The decoder of a table's messages."""
    from seatunnel_connectors.kafka import decode_cdc, decode_text

    declared = options.declared is not None and bool(options.declared.declared_columns)
    match options.format:
        case MessageFormat.NATIVE:
            return NativeDecoder(table)
        case _ if not declared:
            return decode_text.TextDecoder(table, options.field_delimiter, whole=True)
        case MessageFormat.TEXT:
            return decode_text.TextDecoder(table, options.field_delimiter, whole=False)
        case MessageFormat.CSV:
            return decode_text.CsvDecoder(table, options.field_delimiter)
        case MessageFormat.AVRO:
            from seatunnel_connectors.kafka.decode_avro import AvroDecoder

            return AvroDecoder(table)
        case MessageFormat.DEBEZIUM_JSON:
            return decode_cdc.DebeziumDecoder(table, with_schema=options.debezium_record_include_schema)
        case MessageFormat.OGG_JSON:
            return decode_cdc.OggDecoder(table)
        case MessageFormat.CANAL_JSON:
            return decode_cdc.CanalDecoder(table)
        case MessageFormat.MAXWELL_JSON:
            return decode_cdc.MaxwellDecoder(table)
    from seatunnel_connectors.kafka.decode_json import JsonDecoder

    return JsonDecoder(table)


class NativeDecoder(Decoder):
    """Messages as they are; a tombstone is a row whose value is null."""

    takes_nothing: ClassVar[bool] = True

    def values(self, messages: Sequence[Message]) -> Sequence[Any]:
        return messages

    def decode(self, values: Sequence[Any]) -> Decoded:
        import pyarrow as pa

        times = [message.timestamp() for message in values]
        cells: list[list[Any]] = [
            [_headers(message) for message in values],
            [_bytes(message.key()) for message in values],
            [message.offset() for message in values],
            [message.partition() for message in values],
            [millis for _, millis in times],
            [_TIMESTAMP_TYPES[kind] for kind, _ in times],
            [_bytes(message.value()) for message in values],
        ]
        types = [to_arrow(column.dtype) for column in NATIVE]
        return Decoded(self.batch([pa.array(one, kind) for one, kind in zip(cells, types, strict=True)]))


def _headers(message: Message) -> list[tuple[str, str | None]]:
    """Headers as a map: of several with one name the last counts."""
    found = {name: _bytes(value) for name, value in cast("Any", message.headers() or ())}
    return [(name, None if value is None else value.decode(errors="replace")) for name, value in found.items()]


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def metadata_of(spot: tuple[str, int], messages: Sequence[Message], parents: pa.Array | None) -> Mapping[str, pa.Array]:
    """What the transform Metadata can make columns of: per row topic, partition, offset, time and key."""
    import pyarrow as pa

    topic, partition = spot
    count = len(messages)
    found = {
        "Topic": pa.repeat(pa.scalar(topic), count),
        "Partition": pa.repeat(pa.scalar(partition, pa.int32()), count),
        "Offset": _offsets(messages),
        "EventTime": pa.array([message.timestamp()[1] for message in messages], pa.int64()),
        "Key": pa.array([message.key() for message in messages], pa.binary()),
    }
    if parents is None:
        return found
    return {name: values.take(parents) for name, values in found.items()}


def _offsets(messages: Sequence[Message]) -> pa.Array:
    import pyarrow as pa

    first, last = offset_of(messages[0]), offset_of(messages[-1])
    whole = last - first + 1 == len(messages)  # no holes, as nearly always
    return pa.array(range(first, last + 1) if whole else [message.offset() for message in messages], pa.int64())
