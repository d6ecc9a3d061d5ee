"""Writers of parquet and orc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.writing import Counted, FormatWriter
from seatunnel_connectors.files.options import CompressCodec
from seatunnel_connectors.temporal import format_column
from seatunnel_py.api import Column, FatalError, Kind, to_arrow

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
    """ORC. It has no time of day and no type without values: both are written as text."""

    def begin(self, file: Counted) -> None:
        import pyarrow as pa
        from pyarrow import orc

        codec = self.options.compress_codec
        self.schema = pa.schema([pa.field(column.name, _stored(column)) for column in self.columns])
        self.writer = orc.ORCWriter(
            pa.PythonFile(file, "w"),
            compression="uncompressed" if codec is CompressCodec.NONE else codec.value,
            stripe_size=PARTITIONED_GROUP_BYTES if self.options.partitions else GROUP_BYTES,
        )
        self.is_empty = True

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        arrays = [self._column(array, column) for array, column in zip(batch.columns, self.columns, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=self.schema)
        try:
            self.writer.write(table)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise FatalError(f"ORC cannot hold the table: {error}", "leave columns out with sink_columns") from None
        self.is_empty = False

    def _column(self, array: pa.Array, column: Column) -> Any:
        if column.dtype.kind is Kind.TIME:
            return format_column(array, Kind.TIME, "HH:mm:ss.SSSSSS")
        return array.cast(_stored(column)) if column.dtype.kind is Kind.NULL else array

    def end(self) -> None:
        if self.is_empty:
            self.writer.write(self.schema.empty_table())  # without it the file has no schema
        self.writer.close()


def _stored(column: Column) -> Any:
    import pyarrow as pa

    return pa.string() if column.dtype.kind in (Kind.TIME, Kind.NULL) else to_arrow(column.dtype)
