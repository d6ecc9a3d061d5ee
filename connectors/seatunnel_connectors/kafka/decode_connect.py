"""Format compatible_kafka_connect_json: rows as Kafka Connect's JSON converter writes them, beside their schema.

What the schema says is not looked at: the job file names the columns, as for JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seatunnel_connectors.kafka.decode import BadMessageError, row_type
from seatunnel_connectors.kafka.decode_json import JsonDecoder
from seatunnel_py.api import Column

NO_PAYLOAD = "it has no payload; of messages that are the rows themselves value_converter_schema_enabled is false"


class ConnectDecoder(JsonDecoder):
    """Decodes the row inside ``payload``."""

    def envelope(self) -> Sequence[Column]:
        return [Column("payload", row_type(self.columns))]

    def opened(self, arrays: list[Any], parents: Sequence[int]) -> list[Any]:
        (payload,) = arrays
        there = payload.is_valid().to_pylist()
        if not all(there):
            raise BadMessageError(parents[there.index(False)], NO_PAYLOAD)
        columns: list[Any] = payload.flatten()
        return columns
