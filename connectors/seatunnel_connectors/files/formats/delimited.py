"""Formats text and csv: fields between delimiters, one record per line (csv: quotes may hold line breaks).

Arrow's csv parser does the work for both. A block that it does not take as it is (rows of different lengths,
odd delimiters) is taken apart here, field by field, by the same rules: missing fields are null, surplus ones are
left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.document import Document
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
from seatunnel_connectors.files.formats.sorting import NONE, Framing, Sorted, fitting, read_sorted, without
from seatunnel_connectors.files.lines import Block, Cutter, cut_at, cut_points, cut_quoted, head_end, is_cuttable
from seatunnel_connectors.files.options import FileFormat, FileReadOptions
from seatunnel_connectors.temporal import DEFAULT_PATTERNS, MisfitError
from seatunnel_connectors.text_columns import TextRules, text_column
from seatunnel_py.api import BadRows, Column, DataType, FatalError, Kind, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

SCAN_BYTES_MAX = 8 * 1024**3  # looking for quotes costs the driver about a second per GiB
FIELD_BYTES_MAX = 64 * 1024 * 1024

_DIRECT = {Kind.STRING, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE}
"""Types that Arrow's csv parser reads by the rules of this format."""


def rules_of(options: FileReadOptions) -> TextRules:
    return TextRules(options.null_format, options.date_format, options.datetime_format, options.time_format)


class DelimitedReader(FormatReader):
    """Reads text and csv."""

    def __init__(self, options: FileReadOptions) -> None:
        super().__init__(options)
        self.is_csv = options.file_format_type is FileFormat.CSV
        self.rules = rules_of(options)
        delimiter = options.field_delimiter or ("," if self.is_csv else "\x01")
        self.delimiter = delimiter[0] if self.is_csv else delimiter
        self.quote = (options.quote_char or "") if self.is_csv else ""
        self.escape = (options.escape_char or "") if self.is_csv else ""
        self.encoding = options.encoding if is_cuttable(options.encoding) else "utf-8"
        self.row_end = options.row_delimiter.encode(self.encoding)
        self.head_lines = options.skip_header_row_number + int(self.has_names)

    @property
    def has_names(self) -> bool:
        return self.is_csv and self.options.csv_use_header_line

    @property
    def is_simple(self) -> bool:
        """Whether Arrow's parser knows delimiter and line ends."""
        single = len(self.delimiter) == 1 and self.delimiter.isascii()
        return single and self.options.row_delimiter in ("\n", "\r\n") and self.delimiter not in "\r\n"

    # ------------------------------------------------------------ columns and parts

    def find_columns(self, document: Document) -> tuple[Column, ...]:
        if not self.has_names:
            return CONTENT
        return tuple(Column(name, DataType(Kind.STRING)) for name in self._names(document))

    def _names(self, document: Document) -> list[str]:
        _, head = head_end(document, self.options.encoding, self.head_lines, self.row_end)
        lines = head.decode().replace("\r\n", "\n").split(self.options.row_delimiter.replace("\r\n", "\n"))
        names = self._fields(lines[self.head_lines - 1]) if len(lines) >= self.head_lines else []
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated or not names:
            what = f"names the column {repeated[0]!r} twice" if repeated else "is missing"
            raise FatalError(f"{document.name}: the header line {what}", "set csv_use_header_line to false")
        return names

    def _fields(self, line: str) -> list[str]:
        return [name.strip() for name in next(self._csv_reader([line]), [])]

    def parts(self, document: Document) -> list[Place]:
        size = self.options.file_split_size
        if document.entry.size <= size or not self._may_split(document):
            return [{}]
        head, _ = head_end(document, self.options.encoding, self.head_lines, self.row_end)
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
        encoding = self.options.encoding
        begin = number(start, "offset", number(part, "begin"))
        if begin == 0:
            begin, _ = head_end(document, encoding, self.head_lines, self.row_end)
        columns = self._in_file(document, layout)
        end = number(part, "end") if "end" in part else None
        framing = Framing(self._cutter(), self.row_end)
        decode = partial(self._decoded, document, layout, columns)
        return read_sorted(self, document, layout, framing, (begin, end), decode)

    def _in_file(self, document: Document, layout: Layout) -> list[str]:
        """Names of the fields of a record, in the file's order."""
        if not self.has_names:
            return [column.name for column in layout.columns]
        names = self._names(document)
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

    def _decoded(self, document: Document, layout: Layout, names: list[str], block: Block) -> Sorted:
        import pyarrow as pa

        if not layout.declared and not self.has_names:
            lines = self._lines(block.text)
            return batch_of(layout, [text_column(lines, CONTENT[0].dtype, self.rules)], len(lines)), NONE
        if self.is_simple and self.rules.null_format is None:
            try:
                direct = {c.name: to_arrow(c.dtype) for c in layout.output() if self._is_direct(c.dtype)}
                found = self._parse(block.text, names, layout.wanted, direct)
            except pa.ArrowInvalid:
                found = None  # a value needs the rules of text_columns.py, or the error that they give
            if found is not None:
                return self._converted(document, layout, block, found, set(direct))
        return self._converted(document, layout, block, self._texts(document, block, names, layout.wanted), set())

    def _is_direct(self, dtype: DataType) -> bool:
        if dtype.kind in (Kind.DATE, Kind.TIMESTAMP):
            return self.rules.pattern(dtype.kind) in (None, DEFAULT_PATTERNS[dtype.kind])
        return dtype.kind in _DIRECT

    def _converted(
        self, document: Document, layout: Layout, block: Block, found: dict[str, Any], done: set[str]
    ) -> Sorted:
        arrays, rows = [], 0
        bad: dict[int, tuple[str, str]] = {}
        for column in layout.output():
            array = found[column.name]
            rows = len(array)
            if column.name not in done:
                convert = partial(text_column, dtype=column.dtype, rules=self.rules)
                try:
                    array, misfits = fitting(array, convert, to_arrow(column.dtype), tolerant=self.tolerant)
                except MisfitError as error:
                    [(_, wrong)] = self._misfits(document, block, {error.index: (column.name, str(error))})
                    raise wrong from None
                bad |= {row: (column.name, why) for row, why in misfits.items() if row not in bad}
            arrays.append(array)
        batch = batch_of(layout, arrays, rows)
        if not bad:
            return batch, NONE
        found_bad = self._misfits(document, block, bad)
        records = tuple(text.encode(self.encoding) for text, _ in found_bad)
        return without(batch, bad), Undecoded(records, tuple(error.message for _, error in found_bad))

    def _misfits(self, document: Document, block: Block, bad: dict[int, tuple[str, str]]) -> list[tuple[str, BadRows]]:
        """For rows, each with a column and why its value does not fit: the record as it is written, and the error."""
        written = self._written(document, block)
        places = [written[row] if row < len(written) else ("", block.line(row)) for row in sorted(bad)]
        return [
            (text, misfit(document, f"line {line}", *bad[row]))
            for row, (text, line) in zip(sorted(bad), places, strict=True)
        ]

    # ------------------------------------------------------------ Arrow's parser

    def _parse(
        self, text: bytes, names: list[str], wanted: tuple[str, ...], types: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The wanted columns, typed where ``types`` says so; None when rows differ in length."""
        odd: list[int] = []
        table = self._parse_once(text, names, wanted, types, odd)
        if odd and not table.num_rows and min(odd) == max(odd):
            # Every row is longer (or shorter) than the declared columns: the same again with that width.
            width = odd[0]
            padded = [*names, *(f"\0{index}" for index in range(len(names), width))][:width]
            odd.clear()
            table = self._parse_once(text, padded, tuple(n for n in wanted if n in padded), types, odd)
        if odd:
            return None
        found = {name: table.column(name) for name in table.column_names}
        return {name: _whole(found.get(name), types.get(name), table.num_rows) for name in wanted}

    def _parse_once(
        self, text: bytes, names: list[str], wanted: tuple[str, ...], types: dict[str, Any], odd: list[int]
    ) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        def note(row: Any) -> str:
            odd.append(row.actual_columns)
            return "skip"

        strings = {name: types.get(name, pa.string()) for name in wanted}
        return arrow_csv.read_csv(
            pa.BufferReader(text),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote or False,
                double_quote=bool(self.quote),
                escape_char=self.escape or False,
                newlines_in_values=bool(self.quote),
                ignore_empty_lines=self.is_csv,
                invalid_row_handler=note,
            ),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=strings,
                include_columns=list(wanted),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    # ------------------------------------------------------------ field by field

    def _texts(self, document: Document, block: Block, names: list[str], wanted: tuple[str, ...]) -> dict[str, Any]:
        """The wanted columns as text, from records of any length."""
        import pyarrow as pa
        import pyarrow.compute as pc

        places = {name: index for index, name in enumerate(names)}
        if self.is_csv:
            rows = self._records(document, block)
            return {
                name: pa.array([row[places[name]] if places[name] < len(row) else None for row in rows], pa.string())
                for name in wanted
            }
        lists = pc.split_pattern(self._lines(block.text), self.delimiter)
        fixed = pc.list_slice(lists, 0, len(names), return_fixed_size_list=True)
        return {name: pc.list_element(fixed, places[name]) for name in wanted}

    def _lines(self, text: bytes) -> pa.StringArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        end = self.options.row_delimiter
        if end in ("\n", "\r\n"):
            text, end = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), "\n"
        text = text.removesuffix(end.encode())
        return pc.split_pattern(pa.array([text.decode()]), end).flatten()

    def _csv_reader(self, lines: Any) -> Any:
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote or None,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
            escapechar=self.escape or None,
            strict=True,
        )

    def _records(self, document: Document, block: Block, lines: list[int] | None = None) -> list[list[str]]:
        """Records of the block; ``lines`` takes the line within the block that each one ends on."""
        csv.field_size_limit(FIELD_BYTES_MAX)
        reader = self._csv_reader(self._physical(block))
        records = []
        try:
            for record in reader:
                if record:
                    records.append(record)
                    if lines is not None:
                        lines.append(reader.line_num)
        except csv.Error as error:
            raise FatalError(
                f"{document.name}, line {block.line(max(reader.line_num - 1, 0))}: not csv: {error}",
                "check field_delimiter, quote_char and escape_char, or correct the file",
            ) from None
        return records

    def _physical(self, block: Block) -> Iterable[str]:
        """Lines as the csv reader counts them."""
        end, text = self.options.row_delimiter, block.text.decode()
        return io.StringIO(text, newline="") if end in ("\n", "\r\n") else text.removesuffix(end).split(end)

    def _written(self, document: Document, block: Block) -> list[tuple[str, int]]:
        """The records of the block as they are written, each with the number of the line that it ends on."""
        if not self.is_csv:
            return [(text, block.line(index)) for index, text in enumerate(self._lines(block.text).to_pylist())]
        ends: list[int] = []
        self._records(document, block, ends)
        lines = list(self._physical(block))
        return [
            ("".join(lines[before:end]).strip("\r\n"), block.line(end - 1))
            for before, end in zip([0, *ends], ends, strict=False)
        ]


def _whole(column: Any, dtype: Any, rows: int) -> Any:
    """One array of a table's column; nulls for a column that the file does not have."""
    import pyarrow as pa

    if column is None:
        return pa.nulls(rows, dtype or pa.string())
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
