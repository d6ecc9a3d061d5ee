"""Reads the formats text and csv: fields between delimiters, one record per line (csv: quotes may hold line breaks).

Arrow's csv parser does the work for both. If it rejects a block (rows of different lengths, unusual delimiters), the
block is parsed here, field by field, by the same rules: missing fields are null, and a row with more fields than
columns is quarantined, unless the job file allows dropping them. A delimiter of several characters is replaced by one
that does not occur in the block, and restored inside values.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.base import (
    CONTENT,
    FormatReader,
    Layout,
    Place,
    Undecoded,
    batch_of,
    misfit,
    number,
    refuse_others,
)
from seatunnel_connectors.files.formats.csv_blocks import ArrowCsv
from seatunnel_connectors.files.formats.csv_fields import Head, Lined, csv_reader
from seatunnel_connectors.files.formats.malformed_records import NONE, Framing, Sorted, fitting, read_sorted, without
from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.options import FileFormat, FileReadOptions
from seatunnel_connectors.files.read.record_blocks import (
    Cutter,
    RecordBlock,
    cut_at,
    cut_points,
    cut_quoted,
    is_cuttable,
)
from seatunnel_py.api import NUMBER, BadRowsError, Column, DataType, FatalError, Kind, to_arrow
from seatunnel_py.formats.surplus_fields import SurplusFields
from seatunnel_py.formats.value_text import DEFAULT_PATTERNS, MisfitError, TextRules, text_column
from seatunnel_py.formats.value_text.stand_ins import stand_in

if TYPE_CHECKING:
    import pyarrow as pa

SCAN_BYTES_MAX = 8 * 1024**3  # scanning for quotes costs the driver about a second per GiB
FIELD_BYTES_MAX = 64 * 1024 * 1024

_DIRECT = {Kind.STRING, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE}
"""Types that Arrow's csv parser reads by the rules of this format."""


def rules_of(options: FileReadOptions) -> TextRules:
    return TextRules(
        options.null_format,
        options.date_format,
        options.datetime_format,
        options.time_format,
        options.surplus_fields is SurplusFields.DROP,
    )


class DelimitedReader(FormatReader):
    """Reads text and csv."""

    def __init__(self, options: FileReadOptions) -> None:
        super().__init__(options)
        self.is_csv = options.file_format_type is FileFormat.CSV
        self.rules = rules_of(options)
        self.delimiter = options.marks["field_delimiter"] or ""
        self.mark = self.delimiter  # delimiter of the block that is parsed
        self.quote = options.marks["quote_char"] or ""
        self.escape = options.marks["escape_char"] or ""
        self.encoding = options.encoding if is_cuttable(options.encoding) else "utf-8"
        self.row_end = options.row_delimiter.encode(self.encoding)
        self.head = Head(options, self.row_end, self.delimiter, self.quote, self.escape, has_names=self.has_names)

    @property
    def has_names(self) -> bool:
        return self.is_csv and self.options.csv_use_header_line

    @property
    def is_simple(self) -> bool:
        """True if Arrow's parser supports delimiter and line ends."""
        single = len(self.mark) == 1 and self.mark.isascii()
        return single and self.options.row_delimiter in ("\n", "\r\n") and self.mark not in "\r\n"

    # ------------------------------------------------------------ columns and parts

    def find_columns(self, document: Document) -> tuple[Column, ...]:
        if not self.has_names:
            return CONTENT
        return tuple(Column(name, DataType(Kind.STRING)) for name in self.head.names(document))

    def parts(self, document: Document) -> list[Place]:
        size = self.options.file_split_size
        if document.entry.size <= size or not self._may_split(document):
            return [{}]
        head = self.head.read(document)[0]
        points = [point for point in cut_points(document, self.row_end, size) if point > head]
        ends = [*points, document.entry.size]
        return [{"begin": begin, "end": end} for begin, end in zip([0, *points], ends, strict=True)]

    def _may_split(self, document: Document) -> bool:
        if not document.plain or not is_cuttable(self.options.encoding):
            return False
        if self.options.enable_file_split is not None or not self.quote:
            return self.options.enable_file_split is not False
        if document.entry.size > SCAN_BYTES_MAX:
            return False
        quote = self.quote.encode(self.options.encoding)
        with closing(document.stream()) as stream:
            while chunk := stream.read(4 * 1024 * 1024):
                if quote in chunk:
                    return False
        return True

    # ------------------------------------------------------------ reading

    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
        begin = number(start, "offset", number(part, "begin"))
        if begin == 0:
            begin = self.head.read(document)[0]
        columns = self._in_file(document, layout)
        end = number(part, "end") if "end" in part else None
        framing = Framing(self._cutter(), self.row_end)
        decode = partial(self._decoded, document, layout, columns)
        return read_sorted(self, document, layout, framing, (begin, end), decode)

    def _in_file(self, document: Document, layout: Layout) -> list[str]:
        """Names of a record's fields, in the file's order."""
        if not self.has_names:
            return [column.name for column in layout.columns]
        names = self.head.names(document)
        missing = [name for name in layout.wanted if name not in names]
        if missing:
            raise FatalError(
                f"{document.name}: the header has no column {missing[0]!r}; it names {', '.join(names)}",
                "correct the names in schema, or set csv_use_header_line to false",
            )
        refuse_others(document, layout, self.options, names)
        return names

    def _cutter(self) -> Cutter:
        if not self.quote:
            return cut_at(self.row_end)
        return cut_quoted(self.delimiter, self.quote, self.escape, self.row_end)

    def _decoded(self, document: Document, layout: Layout, names: list[str], block: RecordBlock) -> Sorted:
        import pyarrow as pa

        if not layout.declared and not self.has_names:
            lines = self._lines(block.text)
            return batch_of(layout, [text_column(lines, CONTENT[0].dtype, self.rules)], len(lines)), NONE
        if self.is_csv and (len(self.delimiter) > 1 or not self.delimiter.isascii()):
            text = block.text.decode()
            self.mark = stand_in(text, self.delimiter)
            block = replace(block, text=text.replace(self.delimiter, self.mark).encode())
        if self.is_simple and self.rules.null_format is None:
            try:
                direct = {c.name: to_arrow(c.dtype) for c in layout.output() if self._is_direct(c.dtype)}
                found = ArrowCsv(self.mark, self.quote, self.escape, self.is_csv, self.rules.drop_surplus).parse(
                    block.text, names, layout.wanted, direct
                )
            except pa.ArrowInvalid:
                found = None  # a value needs the rules of value_text, or the error that they give
            if found is not None:
                return self._converted(document, layout, block, found, set(direct), {})
        bad: dict[int, tuple[str, str]] = {}
        texts = self._texts(document, block, names, layout.wanted, bad)
        return self._converted(document, layout, block, texts, set(), bad)

    def _is_direct(self, dtype: DataType) -> bool:
        if dtype.kind in (Kind.DATE, Kind.TIMESTAMP):
            return self.rules.pattern(dtype.kind) in (None, DEFAULT_PATTERNS[dtype.kind])
        return dtype.kind in _DIRECT and dtype != NUMBER

    def _converted(
        self,
        document: Document,
        layout: Layout,
        block: RecordBlock,
        found: dict[str, Any],
        done: set[str],
        bad: dict[int, tuple[str, str]],
    ) -> Sorted:
        """Return the batch. ``done`` are the columns with their final types; ``bad`` the quarantined rows and their
        causes."""
        arrays, rows = [], 0
        for column in layout.output():
            array = self._unmarked(found[column.name])
            rows = len(array)
            if column.name not in done:
                convert = partial(text_column, dtype=column.dtype, rules=self.rules)
                try:
                    array, misfits = fitting(array, convert, to_arrow(column.dtype), tolerant=self.tolerant)
                except MisfitError as error:
                    [(_, wrong)] = self._misfits(document, block, {error.index: (column.name, str(error))})
                    raise wrong from None
                for row, why in misfits.items():
                    bad.setdefault(row, (column.name, why))
            arrays.append(array)
        batch = batch_of(layout, arrays, rows)
        if not bad:
            return batch, NONE
        found_bad = self._misfits(document, block, bad)
        records = tuple(text.encode(self.encoding) for text, _ in found_bad)
        return without(batch, bad), Undecoded(records, tuple(error.message for _, error in found_bad))

    def _unmarked(self, array: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.mark == self.delimiter or not pa.types.is_string(array.type):
            return array
        return pc.replace_substring(array, self.mark, self.delimiter)

    def _misfits(
        self, document: Document, block: RecordBlock, bad: dict[int, tuple[str, str]]
    ) -> list[tuple[str, BadRowsError]]:
        """For bad rows, each with a column and its fault: return the record as written, and the error."""
        written = self._written(document, block)
        places = [written[row] if row < len(written) else ("", block.line(row)) for row in sorted(bad)]
        return [
            (
                text.replace(self.mark, self.delimiter),
                misfit(document, f"line {line}", *bad[row])
                if bad[row][0]
                else self._surplus(document, line, bad[row][1]),
            )
            for row, (text, line) in zip(sorted(bad), places, strict=True)
        ]

    def _surplus(self, document: Document, line: int, why: str) -> BadRowsError:
        return BadRowsError(
            f"{document.name}, line {line}: {why}",
            "correct the file, the schema or field_delimiter; surplus_fields = drop leaves such fields out",
        )

    # ------------------------------------------------------------ field by field

    def _texts(
        self,
        document: Document,
        block: RecordBlock,
        names: list[str],
        wanted: tuple[str, ...],
        bad: dict[int, tuple[str, str]],
    ) -> dict[str, Any]:
        """The wanted columns as text, from records of any length; ``bad`` collects those with too many fields."""
        import pyarrow as pa
        import pyarrow.compute as pc

        places = {name: index for index, name in enumerate(names)}
        if self.is_csv:
            rows = self._records(document, block)
            self._note_surplus(document, block, [len(row) for row in rows], len(names), bad)
            return {
                name: pa.array([row[places[name]] if places[name] < len(row) else None for row in rows], pa.string())
                for name in wanted
            }
        lists = pc.split_pattern(self._lines(block.text), self.delimiter)
        if pc.any(pc.greater(pc.list_value_length(lists), len(names))).as_py():
            self._note_surplus(document, block, pc.list_value_length(lists).to_pylist(), len(names), bad)
        fixed = pc.list_slice(lists, 0, len(names), return_fixed_size_list=True)
        return {name: pc.list_element(fixed, places[name]) for name in wanted}

    def _note_surplus(
        self, document: Document, block: RecordBlock, lengths: list[int], columns: int, bad: dict[int, tuple[str, str]]
    ) -> None:
        if self.rules.drop_surplus:
            return
        why = "the row has {} fields for " + f"{columns} columns"
        found = {row: ("", why.format(length)) for row, length in enumerate(lengths) if length > columns}
        if found and not self.tolerant:
            first = min(found)
            [(_, error)] = self._misfits(document, block, {first: found[first]})
            raise error
        bad |= found

    def _lines(self, text: bytes) -> pa.StringArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        end = self.options.row_delimiter
        if end in ("\n", "\r\n"):
            text, end = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), "\n"
        text = text.removesuffix(end.encode())
        return pc.split_pattern(pa.array([text.decode()]), end).flatten()

    def _records(self, document: Document, block: RecordBlock, lines: list[int] | None = None) -> list[list[str]]:
        """Records of the block; ``lines`` collects the line within the block on which each one ends."""
        csv.field_size_limit(FIELD_BYTES_MAX)
        lined = Lined.of(block.text.decode(), self.options.row_delimiter, self.mark)
        reader = csv_reader(lined.lines(), self.mark, self.quote, self.escape)
        records = []
        try:
            for record in reader:
                if record:
                    records.append(lined.undone(record))
                    if lines is not None:
                        lines.append(reader.line_num)
        except csv.Error as error:
            raise FatalError(
                f"{document.name}, line {block.line(max(reader.line_num - 1, 0))}: not csv: {error}",
                "check field_delimiter, quote_char and escape_char, or correct the file",
            ) from None
        return records

    def _written(self, document: Document, block: RecordBlock) -> list[tuple[str, int]]:
        """The block's records as written, each with the number of its last line."""
        if not self.is_csv:
            return [(text, block.line(index)) for index, text in enumerate(self._lines(block.text).to_pylist())]
        ends: list[int] = []
        self._records(document, block, ends)
        lined = Lined.of(block.text.decode(), self.options.row_delimiter, self.mark)
        lines = list(lined.lines())
        return [
            (lined.undone(["".join(lines[before:end]).strip("\r\n")])[0], block.line(end - 1))
            for before, end in zip([0, *ends], ends, strict=False)
        ]
