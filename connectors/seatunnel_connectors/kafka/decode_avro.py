"""Format avro: a record as the peer writes it, without a header, by the schema that the columns make.

Messages of a schema registry begin with a zero byte and the number of a schema that stands elsewhere: they are refused.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.kafka.decode import BadMessageError, Decoded, Decoder
from seatunnel_py.api import Column, DataType, Kind, TableSchema, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN = {
    Kind.STRING: "string", Kind.BYTES: "bytes", Kind.TINYINT: "int", Kind.SMALLINT: "int", Kind.INT: "int",
    Kind.BIGINT: "long", Kind.FLOAT: "float", Kind.DOUBLE: "double", Kind.BOOLEAN: "boolean",
}  # fmt: skip


class AvroDecoder(Decoder):
    """Decodes Avro's binary encoding."""

    def __init__(self, table: TableSchema) -> None:
        import fastavro

        super().__init__(table)
        fields = [{"name": column.name, "type": avro_type(column.name, column.dtype)} for column in table.columns]
        record = {"type": "record", "name": "SeaTunnelRecord", "fields": fields}
        self.avro = fastavro.parse_schema(record)

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


def avro_type(name: str, dtype: DataType) -> Any:
    """The Avro type of a column: everything may be null but nested records, as in the peer's messages."""
    plain = _PLAIN.get(dtype.kind)
    if plain is not None:
        return ["null", plain]
    match dtype.kind:
        case Kind.NULL:
            return "null"
        case Kind.DECIMAL:
            decimal = {"type": "bytes", "logicalType": "decimal", "precision": dtype.precision, "scale": dtype.scale}
            return ["null", decimal]
        case Kind.DATE:
            return ["null", {"type": "int", "logicalType": "date"}]
        case Kind.TIMESTAMP:
            return ["null", {"type": "long", "logicalType": "local-timestamp-millis"}]
        case Kind.ARRAY if dtype.element:
            return ["null", {"type": "array", "items": avro_type(name, dtype.element)}]
        case Kind.MAP if dtype.element:
            return ["null", {"type": "map", "values": avro_type(name, dtype.element)}]
        case Kind.ROW:
            fields = [{"name": inner, "type": avro_type(inner, kind)} for inner, kind in dtype.fields]
            return {"type": "record", "name": name, "fields": fields}
    raise ValueError(f"column {name!r}: Avro has no type for {dtype}")
