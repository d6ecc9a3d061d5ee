"""Format json: one document per line. An object is a row, an array of objects many rows.

Arrow's json parser reads what is written as its type says. A block that holds anything else (numbers in quotes,
objects in text columns, maps, arrays at the top) is read document by document, by the peer's conversion rules.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.columns import TextRules, exact_float
from seatunnel_connectors.files.document import Document
from seatunnel_connectors.files.formats.base import FormatReader, Layout, Place, batch_of, misfit, number
from seatunnel_connectors.files.json_columns import TEMPORAL, json_column
from seatunnel_connectors.files.lines import (
    Block,
    cut_at,
    cut_points,
    is_cuttable,
    line_number,
    read_blocks,
)
from seatunnel_connectors.files.options import FileReadOptions
from seatunnel_connectors.files.temporal import MisfitError, parse_column
from seatunnel_py.api import DataType, FatalError, Kind, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

_SAME = {Kind.STRING, Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE}
_SAME |= {Kind.DECIMAL}
_AS_TEXT = {*TEMPORAL, Kind.BYTES}
"""Types that JSON holds as strings: read as such, converted a column at a time."""


_FAST = json.JSONDecoder()
_EXACT = json.JSONDecoder(parse_float=exact_float)  # half as fast again: only where a decimal wants the digits


class JsonReader(FormatReader):
    """Reads JSON documents."""

    needs_schema = True

    def __init__(self, options: FileReadOptions) -> None:
        super().__init__(options)
        self.rules = TextRules(None, options.date_format, options.datetime_format, options.time_format)
        self.row_end = options.row_delimiter.encode(options.encoding if is_cuttable(options.encoding) else "utf-8")
        self.is_direct = True  # until a block of this document says otherwise
        self.decoder = _EXACT

    def parts(self, document: Document) -> list[Place]:
        size = self.options.file_split_size
        whole = self.options.enable_file_split is False or not document.plain
        if whole or document.entry.size <= size or not is_cuttable(self.options.encoding):
            return [{}]
        points = cut_points(document, self.row_end, size)
        ends = [*points, document.entry.size]
        return [{"begin": begin, "end": end} for begin, end in zip([0, *points], ends, strict=True)]

    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch, Place | None]]:
        begin = number(start, "offset", number(part, "begin"))
        end = number(part, "end") if "end" in part else None
        self.is_direct = self.options.row_delimiter in ("\n", "\r\n") and all(
            _is_direct(column.dtype) and column.default is None for column in layout.output()
        )
        if not any("decimal" in str(column.dtype) for column in layout.output()):
            self.decoder = _FAST
        blocks = read_blocks(document, self.options.encoding, cut_at(self.row_end), begin=begin, end=end)
        for block in blocks:
            yield self._batch(document, layout, block), {"offset": block.end}

    def _batch(self, document: Document, layout: Layout, block: Block) -> pa.RecordBatch:
        import pyarrow as pa

        if self.is_direct and layout.wanted:
            try:
                return self._direct(layout, block)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, MisfitError):
                # A file that is written otherwise once is so throughout: do not try each block twice.
                self.is_direct = False
        return self._one_by_one(document, layout, block)

    # ------------------------------------------------------------ Arrow's parser

    def _direct(self, layout: Layout, block: Block) -> pa.RecordBatch:
        import pyarrow as pa
        from pyarrow import json as arrow_json

        columns = layout.output()
        schema = pa.schema([pa.field(column.name, _as_read(column.dtype)) for column in columns])
        if not block.text.strip():
            return batch_of(layout, [pa.array([], to_arrow(column.dtype)) for column in columns], 0)
        table = arrow_json.read_json(
            pa.BufferReader(block.text),
            arrow_json.ReadOptions(use_threads=False, block_size=len(block.text) + 1),
            arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        arrays = []
        for column in columns:
            chunks = table.column(column.name).chunks
            array = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
            arrays.append(self._finished(array, column.dtype))
        return batch_of(layout, arrays, table.num_rows)

    def _finished(self, array: Any, dtype: DataType) -> Any:
        """The column as its type says, from the strings that JSON holds some types as."""
        import pyarrow as pa

        if dtype.kind in TEMPORAL:
            return parse_column(array, dtype, self.rules.pattern(dtype.kind))
        if dtype.kind is Kind.BYTES:
            try:
                plain = [None if v is None else base64.b64decode(v, validate=True) for v in array.to_pylist()]
            except (binascii.Error, ValueError):
                raise MisfitError(0, "not base64") from None
            return pa.array(plain, pa.binary())
        if dtype.kind is Kind.ROW:
            children = [self._finished(array.field(index), inner) for index, (_, inner) in enumerate(dtype.fields)]
            mask = array.is_null() if array.null_count else None
            return pa.StructArray.from_arrays(children, fields=list(to_arrow(dtype)), mask=mask)
        if dtype.kind is Kind.ARRAY and dtype.element and dtype.element.kind not in _SAME:
            values = self._finished(array.flatten(), dtype.element)
            mask = array.is_null() if array.null_count else None
            return pa.ListArray.from_arrays(array.offsets, values, type=to_arrow(dtype), mask=mask)
        return array

    # ------------------------------------------------------------ document by document

    def _one_by_one(self, document: Document, layout: Layout, block: Block) -> pa.RecordBatch:
        rows: list[Any] = []
        lines: list[int] = []
        for index, line in enumerate(block.text.decode().split(self.options.row_delimiter)):
            if line.strip():
                found = self._rows(document, block, index, line)
                rows += found
                lines += [index] * len(found)
        by_name = all(type(row) is dict for row in rows)
        places = {column.name: index for index, column in enumerate(layout.columns)}
        arrays = []
        for column in layout.output():
            name, place = column.name, places[column.name]
            cells = [row.get(name) for row in rows] if by_name else [_cell(row, name, place) for row in rows]
            if column.default is not None:
                cells = [column.default if cell is None else cell for cell in cells]
            try:
                arrays.append(json_column(cells, column.dtype, self.rules))
            except MisfitError as error:
                where = self._where(document, block, lines[error.index])
                raise misfit(document, where, name, error) from None
        return batch_of(layout, arrays, len(rows))

    def _rows(self, document: Document, block: Block, index: int, line: str) -> list[Any]:
        """The rows of one document: itself, or the items of an array; an array of values is a row by position."""
        try:
            found = self.decoder.decode(line)
        except (ValueError, RecursionError) as error:
            where = self._where(document, block, index)
            reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
            raise FatalError(
                f"{document.name}, {where}: not a JSON document: {reason}",
                "each line must hold one whole document; a document over several lines cannot be read",
            ) from None
        if isinstance(found, dict):
            return [found]
        if isinstance(found, list):
            return found if all(isinstance(item, dict | list) for item in found) else [found]
        where = self._where(document, block, index)
        raise FatalError(f"{document.name}, {where}: a row must be an object or an array, not {line[:60]!r}")

    def _where(self, document: Document, block: Block, index: int) -> str:
        first = line_number(document, self.options.encoding, block.offset, self.row_end)
        return f"line {first + index}"


def _cell(row: Any, name: str, place: int) -> Any:
    """A value by name, or by place where a row is a list."""
    if isinstance(row, dict):
        return row.get(name)
    return row[place] if isinstance(row, list) and place < len(row) else None


def _is_direct(dtype: DataType) -> bool:
    if dtype.kind is Kind.ROW:
        return all(_is_direct(inner) for _, inner in dtype.fields)
    if dtype.kind is Kind.ARRAY:
        return dtype.element is not None and _is_direct(dtype.element)
    return dtype.kind in _SAME or dtype.kind in _AS_TEXT


def _as_read(dtype: DataType) -> Any:
    """The type to ask Arrow's parser for."""
    import pyarrow as pa

    if dtype.kind in _AS_TEXT:
        return pa.string()
    if dtype.kind is Kind.ROW:
        return pa.struct([(name, _as_read(inner)) for name, inner in dtype.fields])
    if dtype.kind is Kind.ARRAY and dtype.element:
        return pa.list_(_as_read(dtype.element))
    return to_arrow(dtype)
