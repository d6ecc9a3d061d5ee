"""Reads the formats parquet and orc: files with their own columns, by row group or stripe.

If a schema is declared, columns are cast to it; a cast that would lose something is an error that names file and
column. ORC and Parquet's INT96 always count nanoseconds: their columns are timestamps in microseconds, and finer values
are an error, unless the job file declares ``timestamp(9)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.base import (
    ROWS_MAX,
    FormatReader,
    Layout,
    Place,
    batch_of,
    number,
    refuse_others,
)
from seatunnel_connectors.files.formats.casts import cast, finer_than_micros
from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.options import FileReadOptions
from seatunnel_py.api import (
    TEMPORAL,
    BadRowsError,
    Column,
    DataType,
    FatalError,
    Kind,
    TablePath,
    schema_from_arrow,
    to_arrow,
)
from seatunnel_py.formats.value_text import MisfitError

if TYPE_CHECKING:
    import pyarrow as pa


class ParquetReader(FormatReader):
    """Reads Parquet by row group. To resume inside one, rows that were read before are decoded again and skipped."""

    def find_columns(self, document: Document) -> tuple[Column, ...]:
        file = self._open(document)
        return _columns(document, file.schema_arrow, self.options, _int96(file))

    def _open(self, document: Document, unit: str | None = None) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(document.whole(), pre_buffer=False, coerce_int96_timestamp_unit=unit)
        except (pa.ArrowException, OSError) as error:
            raise _broken(document, "Parquet", error) from error

    def parts(self, document: Document) -> list[Place]:
        if self.options.enable_file_split is False:
            return [{}]
        metadata = self._open(document).metadata
        sizes = [metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups)]
        return [{"begin": a, "end": b} for a, b in _grouped(sizes, self.options.file_split_size)] or [{}]

    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch, Place | None]]:
        import pyarrow as pa

        file = self._open(document)
        refuse_others(document, layout, self.options, file.schema_arrow.names)
        names = [name for name in layout.wanted if name in file.schema_arrow.names]
        twice = _Int96(self, document, layout, _int96(file) & {*names})
        file = self._open(document, "us") if twice.names else file
        group, skip = number(start, "group", number(part, "begin")), number(start, "row")
        end = number(part, "end", file.num_row_groups)
        for index in range(group, end):
            row = 0
            try:
                batches = file.iter_batches(ROWS_MAX, row_groups=[index], columns=names, use_threads=False)
                for batch in twice.checked(batches, index):
                    row += batch.num_rows
                    if row <= skip:
                        continue
                    if row - batch.num_rows < skip:
                        batch = batch.slice(skip - (row - batch.num_rows))
                    done = row >= file.metadata.row_group(index).num_rows
                    place: Place = {"group": index + 1, "row": 0} if done else {"group": index, "row": row}
                    yield _fitted(document, layout, batch), place
            except (pa.ArrowException, OSError) as error:
                raise _broken(document, "Parquet", error) from error
            skip = 0


def _int96(file: Any) -> frozenset[str]:
    """Columns of type INT96, or with such values inside."""
    schema = file.schema
    found = (schema.column(index) for index in range(len(schema)))
    return frozenset(column.path.split(".")[0] for column in found if column.physical_type == "INT96")


class _Int96:
    """Reads INT96 columns exactly. INT96 holds more than 64 bits: Arrow reads it in nanoseconds, which overflow outside
    of 1677 to 2262, or in microseconds, which are truncated. So such columns are read both ways and compared."""

    def __init__(self, reader: ParquetReader, document: Document, layout: Layout, names: frozenset[str]) -> None:
        self.document, self.layout = document, layout
        self.names = [name for name in layout.wanted if name in names]
        self.file = reader._open(document) if self.names else None

    def checked(self, batches: Iterator[pa.RecordBatch], group: int) -> Iterator[pa.RecordBatch]:
        if self.file is None:
            yield from batches
            return
        others = self.file.iter_batches(ROWS_MAX, row_groups=[group], columns=self.names, use_threads=False)
        for batch, other in zip(batches, others, strict=True):
            yield self._merged(batch, other)

    def _merged(self, batch: pa.RecordBatch, other: pa.RecordBatch) -> pa.RecordBatch:
        for name in self.names:
            micros, nanos = batch.column(name), other.column(name)
            if not finer_than_micros(micros, nanos):
                continue
            column = self.layout.column(name)
            if "(9)" not in str(column.dtype):
                raise FatalError(
                    f"{self.document.name}, column {name!r}: a value is finer than microseconds", _wider(column)
                )
            cast(micros, column.dtype)  # refuses years that nanoseconds cannot express
            batch = batch.set_column(batch.schema.get_field_index(name), name, nanos)
        return batch


class OrcReader(FormatReader):
    """Reads ORC by stripe."""

    def find_columns(self, document: Document) -> tuple[Column, ...]:
        schema = self._open(document).schema
        return _columns(document, schema, self.options, frozenset(schema.names))

    def _open(self, document: Document) -> Any:
        import pyarrow as pa
        from pyarrow import orc

        try:
            return orc.ORCFile(document.whole())
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _broken(document, "ORC", error) from error

    def parts(self, document: Document) -> list[Place]:
        file = self._open(document)
        if self.options.enable_file_split is False or file.nstripes < 2:
            return [{}]
        sizes = [document.entry.size // file.nstripes] * file.nstripes
        return [{"begin": a, "end": b} for a, b in _grouped(sizes, self.options.file_split_size)]

    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch, Place | None]]:
        import pyarrow as pa

        file = self._open(document)
        refuse_others(document, layout, self.options, file.schema.names)
        names = [name for name in layout.wanted if name in file.schema.names]
        stripe, skip = number(start, "group", number(part, "begin")), number(start, "row")
        for index in range(stripe, number(part, "end", file.nstripes)):
            try:
                whole = file.read_stripe(index, columns=names)
            except (pa.ArrowException, OSError) as error:
                raise _broken(document, "ORC", error) from error
            for row in range(skip, whole.num_rows, ROWS_MAX):
                batch = whole.slice(row, ROWS_MAX)
                end = row + batch.num_rows
                done = end >= whole.num_rows
                place: Place = {"group": index + 1, "row": 0} if done else {"group": index, "row": end}
                yield _fitted(document, layout, batch), place
            skip = 0


def _columns(
    document: Document, schema: pa.Schema, options: FileReadOptions, coarse: frozenset[str]
) -> tuple[Column, ...]:
    """Columns of the file that are read; in microseconds if they are in ``coarse``, although the file has
    nanoseconds."""
    import pyarrow as pa

    if options.read_columns:
        schema = pa.schema([field for field in schema if field.name in options.read_columns])
    try:
        found = schema_from_arrow(TablePath("", "", "file"), schema).columns
    except ValueError as error:
        raise FatalError(f"{document.name}: {error}", "leave the column out with read_columns") from None
    return tuple(
        replace(column, dtype=_in_micros(column.dtype)) if column.name in coarse else column for column in found
    )


def _in_micros(dtype: DataType) -> DataType:
    fields = tuple((name, _in_micros(inner)) for name, inner in dtype.fields)
    key, element = (_in_micros(one) if one else None for one in (dtype.key, dtype.element))
    return replace(dtype, unit="", key=key, element=element, fields=fields)


def _grouped(sizes: list[int], wanted: int) -> list[tuple[int, int]]:
    """Ranges of adjacent entries with about ``wanted`` bytes together."""
    ranges: list[tuple[int, int]] = []
    begin, total = 0, 0
    for index, size in enumerate(sizes):
        if total and total + size > wanted:
            ranges.append((begin, index))
            begin, total = index, 0
        total += size
    if sizes:
        ranges.append((begin, len(sizes)))
    return ranges


def _fitted(document: Document, layout: Layout, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The wanted columns in the table's types; nulls for columns that this file lacks."""
    import pyarrow as pa

    arrays = []
    for column in layout.output():
        wanted = to_arrow(column.dtype)
        index = batch.schema.get_field_index(column.name)
        if index < 0:
            if batch.schema.names.count(column.name) > 1:
                raise FatalError(f"{document.name} has the column {column.name!r} twice")
            if not column.nullable and not layout.declared:
                raise FatalError(
                    f"{document.name} has no column {column.name!r}, which is never null in the first file",
                    "name the columns in schema, or read these files as another table",
                )
            arrays.append(pa.nulls(batch.num_rows, wanted))
            continue
        array = batch.column(index)
        try:
            arrays.append(cast(array, column.dtype))
        except (MisfitError, BadRowsError, pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise FatalError(
                f"{document.name}, column {column.name!r}: {array.type} does not fit {column.dtype}: {error}",
                _wider(column),
            ) from None
    return batch_of(layout, arrays, batch.num_rows)


def _wider(column: Column) -> str:
    is_moment = column.dtype.kind in TEMPORAL and column.dtype.kind is not Kind.DATE
    finer = f": {column.dtype.kind}(9) has nanoseconds" if is_moment else ""
    return f"declare a wider type in schema{finer}"


def _broken(document: Document, kind: str, error: BaseException) -> FatalError:
    if "out of range for nanosecond" in str(error):
        return FatalError(
            f"{document.name}: a timestamp is outside of the years 1677 to 2262: {error}",
            "leave the column out with read_columns, or write the file as parquet",
        )
    return FatalError(f"{document.name} cannot be read as {kind}: {error}", "is the file complete, and of that format?")
