"""Picks the decoder for a table's messages, and the columns if the job file gives none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from seatunnel_connectors.kafka.schemas.avro_types import check_written
from seatunnel_connectors.kafka.schemas.protobuf_fields import links_of, natural_columns
from seatunnel_connectors.kafka.schemas.protobuf_schema import MessageSchema, message_schema
from seatunnel_connectors.kafka.source.options import TopicFormat, TopicOptions
from seatunnel_connectors.kafka.source.records import Headers, Records
from seatunnel_py.api import Column, DataType, Kind, TableSchema, to_arrow
from seatunnel_py.formats.messages.decoder import Decoded, Decoder

_STRING, _BYTES = DataType(Kind.STRING), DataType(Kind.BYTES)

CONTENT = (Column("content", _STRING),)
"""The column of messages that no schema describes: their text."""

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


def message_of(options: TopicOptions) -> MessageSchema | None:
    """The compiled Protobuf message of a table's records; None with other formats."""
    if options.format is not TopicFormat.PROTOBUF:
        return None
    return message_schema(options.protobuf_schema or "", options.protobuf_message_name or "")


def default_columns(options: TopicOptions, message: MessageSchema | None = None) -> tuple[Column, ...]:
    """The columns of a table without a schema."""
    if message is not None:
        return natural_columns(message.descriptor)
    return NATIVE if options.format is TopicFormat.NATIVE else CONTENT


def check_columns(options: TopicOptions, table: TableSchema, message: MessageSchema | None) -> None:
    """Raise ValueError if the columns do not match the message: at planning, before a worker meets it."""
    if message is not None:
        links_of(table.columns, message.descriptor, "schema", writing=False)
    if options.avro_schema is not None:
        check_written(table.columns, options.avro_schema)


def decoder_of(options: TopicOptions, table: TableSchema, message: MessageSchema | None = None) -> Decoder:
    """The decoder of a table's messages."""
    names = options.kafka_headers_fields
    if not names:
        return _of_values(options, table, message)
    from seatunnel_connectors.kafka.decode.headers import HeadersDecoder

    own = table.with_columns(table.columns[: -len(names)])
    return HeadersDecoder(table, names, _of_values(options, own, message))


def _of_values(options: TopicOptions, table: TableSchema, message: MessageSchema | None) -> Decoder:
    made = _of_bodies(options, table, message)
    if not options.strip_schema_registry_header:
        return made
    from seatunnel_connectors.kafka.decode.framed import FramedDecoder

    return FramedDecoder(table, made, with_path=message is not None)


def _of_bodies(options: TopicOptions, table: TableSchema, message: MessageSchema | None) -> Decoder:
    from seatunnel_connectors.kafka.decode import cdc
    from seatunnel_py.formats.messages import text

    if message is not None:
        from seatunnel_connectors.kafka.decode.protobuf import ProtobufDecoder

        return ProtobufDecoder(table, message)

    match options.format:
        case TopicFormat.NATIVE:
            return NativeDecoder(table)
        case _ if not options.has_schema:
            return text.TextDecoder(table, options.field_delimiter, whole=True)
        case TopicFormat.TEXT:
            return text.TextDecoder(table, options.field_delimiter, whole=False, drop=options.drops_surplus)
        case TopicFormat.CSV:
            return text.CsvDecoder(table, options.field_delimiter, drop=options.drops_surplus)
        case TopicFormat.AVRO:
            from seatunnel_connectors.kafka.decode.avro import AvroDecoder

            return AvroDecoder(table, options.avro_schema)
        case TopicFormat.DEBEZIUM_JSON:
            only = options.debezium_record_table_filter
            with_schema = options.debezium_record_include_schema
            wanted = only.wanted if only else {}
            return cdc.DebeziumDecoder(table, with_schema=with_schema, only=wanted, declared=options.declared_values)
        case TopicFormat.OGG_JSON:
            return cdc.OggDecoder(table)
        case TopicFormat.CANAL_JSON:
            return cdc.CanalDecoder(table)
        case TopicFormat.MAXWELL_JSON:
            return cdc.MaxwellDecoder(table)
        case TopicFormat.COMPATIBLE_KAFKA_CONNECT_JSON if options.value_converter_schema_enabled:
            from seatunnel_connectors.kafka.decode.connect import ConnectDecoder

            return ConnectDecoder(table, options.declared_values)
    from seatunnel_py.formats.messages.json_format import JsonDecoder

    return JsonDecoder(table)


class NativeDecoder(Decoder):
    """Messages as they are; a tombstone is a row whose value is null."""

    with_headers: ClassVar[bool] = True

    def values(self, records: Records) -> Sequence[Any]:
        partition = records.spot[1]
        columns = zip(records.headers, records.keys, records.offsets, records.times, records.values, strict=True)
        return [
            (_headers(headers), _bytes(key), offset, partition, time[1], _TIMESTAMP_TYPES[time[0]], value)
            for headers, key, offset, time, value in columns
        ]

    def decode(self, values: Sequence[Any]) -> Decoded:
        import pyarrow as pa

        columns: Sequence[Sequence[Any]] = list(zip(*values, strict=True)) or [()] * len(NATIVE)
        types = [to_arrow(column.dtype) for column in NATIVE]
        return Decoded(self.batch([pa.array(one, kind) for one, kind in zip(columns, types, strict=True)]))


def _headers(headers: Headers) -> list[tuple[str, str | None]]:
    """Headers as a map: the last of several with one name counts."""
    found = {name: _bytes(value) for name, value in headers}
    return [(name, None if value is None else value.decode(errors="replace")) for name, value in found.items()]


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
