"""Format compatible_kafka_connect_json: rows as Kafka Connect's JSON converter writes them, beside their schema.

What the schema says is not looked at: the job file names the columns, as for JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from seatunnel_connectors.kafka.decode import BadMessageError, Decoded, Decoder
from seatunnel_connectors.kafka.decode_json import Documents
from seatunnel_py.api import Column, DataType, Kind, TableSchema

NO_PAYLOAD = "it has no payload; of messages that are the rows themselves value_converter_schema_enabled is false"


class ConnectDecoder(Decoder):
    """Decodes the row inside ``payload``."""

    def __init__(self, table: TableSchema) -> None:
        super().__init__(table)
        row = DataType(Kind.ROW, fields=tuple((column.name, column.dtype) for column in table.columns))
        self.documents = Documents([Column("payload", row)])

    def decode(self, values: Sequence[bytes]) -> Decoded:
        import pyarrow as pa

        (payload,), parents = self.documents.read(values)
        there = payload.is_valid().to_pylist()
        if not all(there):
            at = there.index(False)
            raise BadMessageError(at if parents is None else parents[at], NO_PAYLOAD)
        messages = None if parents is None else pa.array(parents, pa.int64())
        return Decoded(self.batch(payload.flatten()), parents=messages)
