"""Decodes the format avro: a record without a header. Its schema is the one that SeaTunnel derives from the columns, or
the one that it was written with (``avro_schema``), of which the columns are then fields.

Messages of a schema registry begin with a zero byte and the number of a schema that is stored elsewhere. Such messages
are refused, unless the header is to be stripped (``framed.py``).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from seatunnel_connectors.kafka.schemas.avro_types import record_of, written_record
from seatunnel_py.api import TEMPORAL, Column, DataType, Kind, TableSchema, to_arrow
from seatunnel_py.formats.messages.decoder import BadMessageError, Decoded, Decoder

if TYPE_CHECKING:
    import pyarrow as pa


class AvroDecoder(Decoder):
    """Decodes Avro's binary encoding. ``written_by``: the schema of the messages, which may have more fields."""

    def __init__(self, table: TableSchema, written_by: str | None = None) -> None:
        import fastavro

        super().__init__(table)
        record = record_of(table.columns) if written_by is None else written_record(written_by)
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
    given = pa.float64() if column.dtype.kind is Kind.FLOAT else arrow
    for index, cell in enumerate(cells):
        if _has_bare_number(cell, column.dtype):
            raise BadMessageError(
                index,
                f"column {column.name!r}: a number without a logical type in the schema is not a {column.dtype}; "
                "declare it as bigint",
            )
    if any(isinstance(cell, UUID) for cell in cells):
        cells = [str(cell) if isinstance(cell, UUID) else cell for cell in cells]
    try:
        return (
            _exact(pa.array(cells, pa.float64()), arrow) if column.dtype.kind is Kind.FLOAT else pa.array(cells, arrow)
        )
    except (pa.ArrowException, OverflowError):
        for index, cell in enumerate(cells):
            try:
                _exact(pa.array([cell], given), arrow)
            except (pa.ArrowException, OverflowError) as error:
                raise BadMessageError(index, f"column {column.name!r}: {error}") from None
        raise


def _exact(numbers: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Cast doubles to singles if no value changes; return other arrays unchanged."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = numbers.cast(wanted)
    if not found.type.equals(numbers.type):
        same = pc.or_(pc.equal(found.cast(numbers.type), numbers), pc.is_nan(numbers))
        if pc.all(same).as_py() is False:
            raise pa.ArrowInvalid("a double has more digits than a float")
    return found


def _has_bare_number(cell: Any, dtype: DataType) -> bool:
    """True if the cell has a number in place of a date or time: its unit would be a guess."""
    if cell is None:
        return False
    if dtype.kind in TEMPORAL:
        return isinstance(cell, int)
    if dtype.kind is Kind.ROW and isinstance(cell, dict):
        return any(_has_bare_number(cell.get(name), inner) for name, inner in dtype.fields)
    if dtype.kind is Kind.ARRAY and dtype.element and isinstance(cell, list):
        return any(_has_bare_number(item, dtype.element) for item in cell)
    if dtype.kind is Kind.MAP and dtype.element and isinstance(cell, dict):
        return any(_has_bare_number(item, dtype.element) for item in cell.values())
    return False
