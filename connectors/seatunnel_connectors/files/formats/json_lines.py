"""Reads the format json: one document per line. An object is a row, an array of objects many rows.

Arrow's json parser reads values that are written in the form of their types. A block with other values (numbers in
quotes, objects in text columns, maps, arrays at the top) is read document by document, by SeaTunnel's conversion rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.base import FormatReader, Layout, Place, Undecoded, batch_of, misfit, number
from seatunnel_connectors.files.formats.malformed_records import NONE, Framing, Sorted, fitting, read_sorted, without
from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.options import FileReadOptions
from seatunnel_connectors.files.read.record_blocks import RecordBlock, cut_at, cut_points, is_cuttable
from seatunnel_py.api import BadRowsError, to_arrow
from seatunnel_py.formats.json.columns import json_column
from seatunnel_py.formats.json.direct import DirectJson, is_direct
from seatunnel_py.formats.json.values import CASE_REMEDY, DOCUMENTS, other_case
from seatunnel_py.formats.value_text import MisfitError, TextRules

if TYPE_CHECKING:
    import pyarrow as pa


class JsonReader(FormatReader):
    """Reads JSON documents."""

    needs_schema = True

    def __init__(self, options: FileReadOptions) -> None:
        super().__init__(options)
        self.rules = TextRules(None, options.date_format, options.datetime_format, options.time_format)
        self.encoding = options.encoding if is_cuttable(options.encoding) else "utf-8"
        self.row_end = options.row_delimiter.encode(self.encoding)
        self.is_direct = True  # until a block of this document needs the slow path

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
    ) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
        begin = number(start, "offset", number(part, "begin"))
        end = number(part, "end") if "end" in part else None
        self.is_direct = self.options.row_delimiter in ("\n", "\r\n") and is_direct(layout.output())
        self.direct = DirectJson(layout.output(), self.rules)
        framing = Framing(cut_at(self.row_end), self.row_end)
        return read_sorted(self, document, layout, framing, (begin, end), partial(self._decoded, document, layout))

    def _decoded(self, document: Document, layout: Layout, block: RecordBlock) -> Sorted:
        import pyarrow as pa

        if self.is_direct and layout.wanted:
            try:
                return self._direct(layout, block), NONE
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, MisfitError):
                # A file is usually written in one style throughout: do not try each block twice.
                self.is_direct = False
        return self._one_by_one(document, layout, block)

    # ------------------------------------------------------------ Arrow's parser

    def _direct(self, layout: Layout, block: RecordBlock) -> pa.RecordBatch:
        import pyarrow as pa

        columns = layout.output()
        if not block.text.strip():
            return batch_of(layout, [pa.array([], to_arrow(column.dtype)) for column in columns], 0)
        arrays = self.direct.read(block.text)
        return batch_of(layout, arrays, len(arrays[0]))

    # ------------------------------------------------------------ document by document

    def _one_by_one(self, document: Document, layout: Layout, block: RecordBlock) -> Sorted:
        texts = block.text.decode().split(self.options.row_delimiter)
        rows: list[Any] = []
        lines: list[int] = []
        bad: dict[int, str] = {}
        for index, text in enumerate(texts):
            try:
                found = self._rows(document, block, index, text) if text.strip() else []
            except BadRowsError as error:
                if not self.tolerant:
                    raise
                bad[index] = error.message
                continue
            rows += found
            lines += [index] * len(found)
        arrays = self._columns(document, layout, block, rows, lines, bad)
        batch = without(batch_of(layout, arrays, len(rows)), (at for at, line in enumerate(lines) if line in bad))
        records = tuple(texts[line].encode(self.encoding) for line in sorted(bad))
        return batch, Undecoded(records, tuple(bad[line] for line in sorted(bad)))

    def _columns(
        self,
        document: Document,
        layout: Layout,
        block: RecordBlock,
        rows: list[Any],
        lines: list[int],
        bad: dict[int, str],
    ) -> list[Any]:
        """The columns of these rows, which are on these lines; ``bad`` collects the lines with misfits."""
        by_name = all(type(row) is dict for row in rows)
        places = {column.name: index for index, column in enumerate(layout.columns)}
        arrays = []
        for row, why in other_case(rows, [column.name for column in layout.output()]):
            if not self.tolerant:
                raise BadRowsError(f"{document.name}, line {block.line(lines[row])}: {why}", CASE_REMEDY)
            bad.setdefault(lines[row], f"{document.name}, line {block.line(lines[row])}: {why}")
        for column in layout.output():
            name, place = column.name, places[column.name]
            cells = [row.get(name) for row in rows] if by_name else [_cell(row, name, place) for row in rows]
            if column.default is not None:
                cells = [column.default if cell is None else cell for cell in cells]
            convert = partial(json_column, dtype=column.dtype, rules=self.rules)
            try:
                array, misfits = fitting(cells, convert, to_arrow(column.dtype), tolerant=self.tolerant)
            except MisfitError as error:
                raise misfit(document, f"line {block.line(lines[error.index])}", name, error) from None
            for at, why in misfits.items():
                bad.setdefault(lines[at], misfit(document, f"line {block.line(lines[at])}", name, why).message)
            arrays.append(array)
        return arrays

    def _rows(self, document: Document, block: RecordBlock, index: int, line: str) -> list[Any]:
        """The rows of one document: itself, or the items of an array; an array of values is a row by position."""
        try:
            found = DOCUMENTS.decode(line)
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
            raise BadRowsError(
                f"{document.name}, line {block.line(index)}: not a JSON document: {reason}",
                "each line must hold one whole document; a document over several lines cannot be read",
            ) from None
        if isinstance(found, dict):
            return [found]
        if isinstance(found, list):
            return found if all(isinstance(item, dict | list) for item in found) else [found]
        where = f"{document.name}, line {block.line(index)}"
        raise BadRowsError(f"{where}: a row must be an object or an array, not {line[:60]!r}")


def _cell(row: Any, name: str, place: int) -> Any:
    """A value by name, or by place if a row is a list."""
    if isinstance(row, dict):
        return row.get(name)
    return row[place] if isinstance(row, list) and place < len(row) else None
