"""Formats parquet and orc: files that know their own columns, read by row group or stripe.

A declared schema, where there is one, is what the columns are cast to; a cast that would lose something is an
error that names file and column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.document import Document
from seatunnel_connectors.files.formats.base import (
    ROWS_MAX,
    FormatReader,
    Layout,
    Place,
    batch_of,
    number,
    refuse_others,
)
from seatunnel_connectors.temporal import MisfitError
from seatunnel_connectors.text_columns import TextRules, text_column
from seatunnel_py.api import Column, DataType, FatalError, Kind, TablePath, schema_from_arrow, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


_FROM_TEXT = {Kind.STRING, Kind.BYTES, Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.NULL}
"""Types that Arrow casts text to by itself, or not at all; any other follows the rules of the text formats."""


class ParquetReader(FormatReader):
    """Reads Parquet by row group; inside one, rows that were read before are decoded again and left out."""

    def find_columns(self, document: Document) -> tuple[Column, ...]:
        return _columns(document, self._open(document).schema_arrow)

    def _open(self, document: Document) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(document.whole(), pre_buffer=False)
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
        group, skip = number(start, "group", number(part, "begin")), number(start, "row")
        end = number(part, "end", file.num_row_groups)
        for index in range(group, end):
            row = 0
            try:
                batches = file.iter_batches(ROWS_MAX, row_groups=[index], columns=names, use_threads=False)
                for batch in batches:
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


class OrcReader(FormatReader):
    """Reads ORC by stripe."""

    def find_columns(self, document: Document) -> tuple[Column, ...]:
        return _columns(document, self._open(document).schema)

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


def _columns(document: Document, schema: pa.Schema) -> tuple[Column, ...]:
    """The file's columns. An instant becomes a timestamp by its clock in UTC, as in the peer; whoever wants to keep
    the zone declares ``timestamp_tz``."""
    try:
        found = schema_from_arrow(TablePath("", "", "file"), schema).columns
    except ValueError as error:
        raise FatalError(f"{document.name}: {error}", "leave the column out with read_columns") from None
    return tuple(replace(column, dtype=_without_zone(column.dtype)) for column in found)


def _without_zone(dtype: DataType) -> DataType:
    if dtype.kind is Kind.TIMESTAMP_TZ:
        return DataType(Kind.TIMESTAMP)
    fields = tuple((name, _without_zone(inner)) for name, inner in dtype.fields)
    element = _without_zone(dtype.element) if dtype.element else None
    return replace(dtype, element=element, fields=fields)


def _grouped(sizes: list[int], wanted: int) -> list[tuple[int, int]]:
    """Ranges of neighbours of about ``wanted`` bytes together."""
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
    """The wanted columns in the types of the table; nulls for a column that this file does not have."""
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
            if pa.types.is_string(array.type) and column.dtype.kind not in _FROM_TEXT:
                arrays.append(text_column(array, column.dtype, TextRules()))
            else:
                arrays.append(array if array.type.equals(wanted) else _cast(array, wanted))
        except (MisfitError, pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise FatalError(
                f"{document.name}, column {column.name!r}: {array.type} does not fit {column.dtype}: {error}",
                "declare a wider type in schema",
            ) from None
    return batch_of(layout, arrays, batch.num_rows)


def _cast(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(wanted):
        # A timestamp is kept to the microsecond, as everywhere; a zone is dropped by its clock in UTC.
        if array.type.tz and not wanted.tz:
            array = pc.cast(array, pa.timestamp(array.type.unit))
        return pc.cast(array, wanted, safe=False)
    if pa.types.is_time(array.type) and pa.types.is_time(wanted):
        return pc.cast(array, wanted, safe=False)
    if pa.types.is_struct(wanted) and pa.types.is_struct(array.type):
        return _cast_struct(array, wanted)
    if pa.types.is_list(wanted) and pa.types.is_list(array.type):
        return _cast_list(array, wanted)
    return pc.cast(array, wanted)


def _cast_list(array: pa.ListArray, wanted: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    first, last = (array.offsets[0].as_py(), array.offsets[-1].as_py()) if len(array) else (0, 0)
    values = _cast(array.values.slice(first, last - first), wanted.value_type)
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(pc.subtract(array.offsets, first), values, type=wanted, mask=mask)


def _cast_struct(array: pa.StructArray, wanted: pa.DataType) -> pa.Array:
    import pyarrow as pa

    children = []
    for field in wanted:
        index = array.type.get_field_index(field.name)
        if index < 0:
            children.append(pa.nulls(len(array), field.type))
        else:
            child = array.field(index)
            children.append(child if child.type.equals(field.type) else _cast(child, field.type))
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(wanted), mask=mask)


def _broken(document: Document, kind: str, error: BaseException) -> FatalError:
    return FatalError(f"{document.name} cannot be read as {kind}: {error}", "is the file complete, and of that format?")
