"""Writes the formats parquet and orc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.casts import beyond_nanoseconds
from seatunnel_connectors.files.formats.writers.base import Counted, FormatWriter
from seatunnel_connectors.files.read.options import CompressCodec
from seatunnel_py.api import BadRowsError, Column, DataType, FatalError, Kind, to_arrow
from seatunnel_py.formats.value_text import iso_text, null_mask, spans

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_BYTES = 32 * 1024 * 1024  # a row group: large enough to compress well, small enough to read as a unit
PARTITIONED_GROUP_BYTES = 4 * 1024 * 1024  # many files are open at once then


class ParquetWriter(FormatWriter):
    """Parquet; batches are gathered into row groups."""

    def begin(self, file: Counted) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self.schema = pa.schema(
            [pa.field(column.name, to_arrow(column.dtype), nullable=column.nullable) for column in self.columns]
        )
        codec = self.options.compress_codec
        self.writer = parquet.ParquetWriter(
            pa.PythonFile(file, "w"),
            self.schema,
            compression="NONE" if codec is CompressCodec.NONE else codec.value,
            use_deprecated_int96_timestamps=self.options.parquet_avro_write_timestamp_as_int96,
        )
        self.held: list[pa.RecordBatch] = []
        self.bytes = 0
        self.limit = PARTITIONED_GROUP_BYTES if self.options.partitions else GROUP_BYTES

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        if self.options.parquet_avro_write_timestamp_as_int96:
            _refuse_far_years(batch, self.columns, "INT96")
        self.held.append(pa.RecordBatch.from_arrays(batch.columns, schema=self.schema))
        self.bytes += batch.nbytes
        if self.bytes >= self.limit:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self.held:
            table = pa.Table.from_batches(self.held, self.schema)
            self.writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self.held, self.bytes = [], 0

    def end(self) -> None:
        self._flush()
        self.writer.close()


class OrcWriter(FormatWriter):
    """Writes ORC, which has no time of day and no type without values: both become text."""

    def begin(self, file: Counted) -> None:
        import pyarrow as pa
        from pyarrow import orc

        codec = self.options.compress_codec
        self.schema = pa.schema([pa.field(column.name, orc_type(column.dtype)) for column in self.columns])
        self.writer = orc.ORCWriter(
            pa.PythonFile(file, "w"),
            compression="uncompressed" if codec is CompressCodec.NONE else codec.value,
            stripe_size=PARTITIONED_GROUP_BYTES if self.options.partitions else GROUP_BYTES,
        )
        self.is_empty = True

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        _refuse_far_years(batch, self.columns, "ORC")
        arrays = [_orc_array(array, column.dtype) for array, column in zip(batch.columns, self.columns, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=self.schema)
        try:
            self.writer.write(table)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise FatalError(f"ORC cannot hold the table: {error}", "leave columns out with sink_columns") from None
        self.is_empty = False

    def end(self) -> None:
        if self.is_empty:
            self.writer.write(self.schema.empty_table())  # otherwise the file has no schema
        self.writer.close()


def orc_type(dtype: DataType) -> Any:
    """The Arrow type that ORC stores; times of day and columns without values become text."""
    import pyarrow as pa

    match dtype.kind:
        case Kind.TIME | Kind.NULL:
            return pa.string()
        case Kind.ARRAY if dtype.element:
            return pa.list_(orc_type(dtype.element))
        case Kind.MAP if dtype.key and dtype.element:
            return pa.map_(orc_type(dtype.key), orc_type(dtype.element))
        case Kind.ROW:
            return pa.struct([(name, orc_type(inner)) for name, inner in dtype.fields])
    return to_arrow(dtype)


def _orc_array(array: Any, dtype: DataType) -> Any:
    import pyarrow as pa

    stored = orc_type(dtype)
    if stored.equals(array.type) and not pa.types.is_nested(stored):
        return array
    if dtype.kind is Kind.TIME:
        return iso_text(array)
    if dtype.kind is Kind.ROW:
        # Fields of a null row must be null as well: Arrow's writer stores the values below it.
        children = [_orc_array(child, inner) for child, (_, inner) in zip(array.flatten(), dtype.fields, strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(stored), mask=null_mask(array))
    if dtype.element:
        offsets, first, last = spans(array)
        if dtype.key:
            keys = _orc_array(array.keys.slice(first, last - first), dtype.key)
            items = _orc_array(array.items.slice(first, last - first), dtype.element)
            return pa.MapArray.from_arrays(offsets, keys, items, type=stored, mask=null_mask(array))
        values = _orc_array(array.values.slice(first, last - first), dtype.element)
        return pa.ListArray.from_arrays(offsets, values, type=stored, mask=null_mask(array))
    return array.cast(stored)


def _refuse_far_years(batch: pa.RecordBatch, columns: tuple[Column, ...], form: str) -> None:
    """Refuse years that ORC and INT96 cannot express: they count nanoseconds, and readers would find other years or
    none."""
    for array, column in zip(batch.columns, columns, strict=True):
        if far := beyond_nanoseconds(array):
            raise BadRowsError(
                f"column {column.name!r}: {far} is outside of the years 1677 to 2262, which {form} counts in",
                "write parquet without INT96, or make the column text",
            )
