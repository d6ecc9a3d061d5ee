"""Decodes the format compatible_kafka_connect_json: rows of Kafka Connect's JSON converter, with their schema.

The job file names the columns, as for JSON; the schema defines the meaning of numbers and bytes of dates, times and
decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seatunnel_connectors.kafka.decode.debezium_values import Declared, fields_of, in_words
from seatunnel_py.api import Column, Kind, TableSchema
from seatunnel_py.formats.messages.decoder import BadMessageError, row_type
from seatunnel_py.formats.messages.json_format import Documents, JsonDecoder

NO_PAYLOAD = "it has no payload; set value_converter_schema_enabled to false if messages are the rows themselves"


class ConnectDecoder(JsonDecoder):
    """Decodes the row inside ``payload``."""

    def __init__(self, table: TableSchema, declared: Declared | None = None) -> None:
        super().__init__(table)
        self.documents = _ConnectDocuments(self.envelope(), table.columns, declared or Declared())

    def envelope(self) -> Sequence[Column]:
        return [Column("payload", row_type(self.columns))]

    def opened(self, arrays: list[Any], parents: Sequence[int]) -> list[Any]:
        (payload,) = arrays
        there = payload.is_valid().to_pylist()
        if not all(there):
            raise BadMessageError(parents[there.index(False)], NO_PAYLOAD)
        columns: list[Any] = payload.flatten()
        return columns


class _ConnectDocuments(Documents):
    """Reads documents with a schema beside the payload."""

    def __init__(self, envelope: Sequence[Column], columns: Sequence[Column], declared: Declared) -> None:
        super().__init__(envelope)
        self.row, self.declared = columns, declared
        self.is_direct = self.is_direct and not any(column.dtype.kind is Kind.DECIMAL for column in columns)

    def rows(self, index: int, value: bytes) -> list[Any]:
        found = super().rows(index, value)
        for document in found:
            payload = document.get("payload") if isinstance(document, dict) else None
            if isinstance(payload, dict):
                try:
                    schema = fields_of(document.get("schema"))
                    document["payload"] = in_words(payload, self.row, schema, self.declared)
                except ValueError as error:
                    raise BadMessageError(index, str(error)) from None
        return found
