"""Format avro: a record as the peer writes it, without a header, by the schema that the columns make.

Messages of a schema registry begin with a zero byte and the number of a schema that stands elsewhere: they are refused.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.kafka.avro_types import record_of
from seatunnel_connectors.kafka.decode import BadMessageError, Decoded, Decoder
from seatunnel_py.api import Column, TableSchema, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


class AvroDecoder(Decoder):
    """Decodes Avro's binary encoding."""

    def __init__(self, table: TableSchema) -> None:
        import fastavro

        super().__init__(table)
        self.avro = fastavro.parse_schema(record_of(table.columns))

    def decode(self, values: Sequence[bytes]) -> Decoded:
        import fastavro

        rows: list[Any] = []
        for index, value in enumerate(values):
            stream = io.BytesIO(value)
            try:
                rows.append(fastavro.schemaless_reader(stream, self.avro))
            except (EOFError, ValueError, IndexError, UnicodeDecodeError, OverflowError) as error:
                raise BadMessageError(index, f"it is not Avro of these columns: {error}") from None
            if stream.tell() != len(value):
                raise BadMessageError(index, "it is longer than Avro of these columns: the schema is another one")
        arrays = []
        for column in self.columns:
            arrays.append(_column([row[column.name] for row in rows], column))
        return Decoded(self.batch(arrays))


def _column(cells: list[Any], column: Column) -> pa.Array:
    import pyarrow as pa

    arrow = to_arrow(column.dtype)
    try:
        return pa.array(cells, arrow)
    except (pa.ArrowException, OverflowError):
        for index, cell in enumerate(cells):
            try:
                pa.array([cell], arrow)
            except (pa.ArrowException, OverflowError) as error:
                raise BadMessageError(index, f"column {column.name!r}: {error}") from None
        raise
