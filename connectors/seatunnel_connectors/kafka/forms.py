"""Finds the columns whose types a message format cannot hold, and those that it writes in another form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seatunnel_connectors.kafka.schemas.protobuf_fields import FieldLink, FieldShape, links_of
from seatunnel_connectors.kafka.schemas.protobuf_schema import MessageSchema
from seatunnel_connectors.kafka.sink.options import RECORD_FORMATS, KafkaSinkOptions, ValueFormat
from seatunnel_py.api import Column, Conversion, Kind, TableSchema
from seatunnel_py.formats.form_conversions import check_depth, check_keys, text_conversions
from seatunnel_py.formats.value_text import TextRules, inner_types

_DELIMITED = (ValueFormat.TEXT, ValueFormat.CSV)
_BINARY = {ValueFormat.AVRO, ValueFormat.PROTOBUF, *RECORD_FORMATS}


def written(options: KafkaSinkOptions, table: TableSchema) -> tuple[Column, ...]:
    """The columns of a record's value."""
    names = options.value_fields(table.names)
    return tuple(column for column in table.columns if column.name in names)


def check_forms(options: KafkaSinkOptions, table: TableSchema) -> None:
    """Raise ValueError for a column that the format cannot hold."""
    if options.format in _DELIMITED:
        check_depth(written(options, table))
    elif options.format not in _BINARY:
        check_keys(written(options, table))


def conversions(options: KafkaSinkOptions, table: TableSchema, message: MessageSchema | None) -> tuple[Conversion, ...]:
    """The columns whose values are written in another form than the rows hold."""
    columns = written(options, table)
    if options.format in _DELIMITED:
        return text_conversions(columns, TextRules(), empty_is_null=True)
    if options.format is ValueFormat.AVRO:
        return tuple(
            Conversion(column.name, str(column.dtype), "timestamp-millis", "whole milliseconds", checked=True)
            for column in columns
            if any(dtype.kind is Kind.TIMESTAMP for dtype in inner_types(column.dtype))
        )
    if message is None:
        return ()
    links = links_of(columns, message.descriptor, "protobuf_schema", writing=True)
    return tuple(_without_presence(columns, links))


def _without_presence(columns: Sequence[Column], links: Sequence[FieldLink]) -> Iterable[Conversion]:
    """Columns that cannot show a null: it is an omitted field, and readers find its default unless the schema tracks
    presence."""
    nullable = {column.name: column for column in columns if column.nullable}
    for link in links:
        column = nullable.get(link.column)
        if column is not None and not (link.may_be_null or link.field.is_required):
            empty = {FieldShape.LIST: "an empty list", FieldShape.MAP: "an empty map"}.get(
                link.shape, "the default of its type"
            )
            note = f"null arrives as {empty}; `optional` in the schema keeps it"
            if link.shape in (FieldShape.LIST, FieldShape.MAP):
                note = f"null arrives as {empty}"
            yield Conversion(column.name, str(column.dtype), link.field.name, note)
