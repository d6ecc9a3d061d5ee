"""Format json: one document per line. An object is a row, an array of objects many rows.

Arrow's json parser reads what is written as its type says. A block that holds anything else (numbers in quotes,
objects in text columns, maps, arrays at the top) is read document by document, by the peer's conversion rules.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from decimal import localcontext
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.columns import TextRules, exact_float
from seatunnel_connectors.files.document import Document
from seatunnel_connectors.files.formats.base import FormatReader, Layout, Place, batch_of, misfit, number
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
from seatunnel_connectors.json_values import from_json
from seatunnel_py.api import Column, DataType, FatalError, Kind, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

DIGITS_MAX = 100  # more than any column holds, so that arithmetic on decimals loses nothing

ODD_NUMBERS = ("NaN", "Infinity", "-Infinity")
"""Numbers that JSON has no digits for, as Java's writers quote them."""

_TEMPORAL = (Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ)
_SAME = {Kind.STRING, Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE}
_SAME |= {Kind.DECIMAL}
_AS_TEXT = {*_TEMPORAL, Kind.BYTES}
"""Types that JSON holds as strings: read as such, converted a column at a time."""


class JsonReader(FormatReader):
    """Reads JSON documents."""

    needs_schema = True

    def __init__(self, options: FileReadOptions) -> None:
        super().__init__(options)
        self.rules = TextRules(None, options.date_format, options.datetime_format, options.time_format)
        self.row_end = options.row_delimiter.encode(options.encoding if is_cuttable(options.encoding) else "utf-8")
        self.is_direct = True  # until a block of this document says otherwise

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
        with localcontext(prec=DIGITS_MAX):
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

        if dtype.kind in _TEMPORAL:
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
        import pyarrow as pa

        columns = layout.output()
        values: list[list[Any]] = [[] for _ in columns]
        places = {column.name: index for index, column in enumerate(layout.columns)}
        text = block.text.decode()
        rows = 0
        for index, line in enumerate(text.split(self.options.row_delimiter)):
            if not line.strip():
                continue
            for found in self._rows(document, block, index, line):
                for column, cells in zip(columns, values, strict=True):
                    cell = found.get(column.name) if isinstance(found, dict) else _at(found, places[column.name])
                    cells.append(self._cell(document, block, index, column, cell))
                rows += 1
        arrays = [pa.array(cells, to_arrow(column.dtype)) for column, cells in zip(columns, values, strict=True)]
        return batch_of(layout, arrays, rows)

    def _rows(self, document: Document, block: Block, index: int, line: str) -> list[Any]:
        """The rows of one document: itself, or the items of an array; an array of values is a row by position."""
        try:
            found = json.loads(line, parse_float=exact_float)
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

    def _cell(self, document: Document, block: Block, index: int, column: Column, value: Any) -> Any:
        if value is None:
            return column.default if column.default is None else from_json(column.default, column.dtype, "default")
        pattern = self.rules.pattern(column.dtype.kind) if column.dtype.kind in _TEMPORAL else None
        try:
            if pattern is not None and isinstance(value, str):
                import pyarrow as pa

                return parse_column(pa.array([value]), column.dtype, pattern)[0].as_py()
            if value in ODD_NUMBERS and column.dtype.kind in (Kind.FLOAT, Kind.DOUBLE):
                return float(value)
            return from_json(value, column.dtype, column.name)
        except ValueError as error:
            raise misfit(document, self._where(document, block, index), column.name, error) from None

    def _where(self, document: Document, block: Block, index: int) -> str:
        first = line_number(document, self.options.encoding, block.offset, self.row_end)
        return f"line {first + index}"


def _at(row: Any, index: int) -> Any:
    return row[index] if isinstance(row, list) and index < len(row) else None


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
