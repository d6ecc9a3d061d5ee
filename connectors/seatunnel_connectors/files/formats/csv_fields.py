"""Parses csv that Arrow's parser rejects: headers, single records, delimiters of several characters."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.options import FileReadOptions
from seatunnel_connectors.files.read.record_blocks import head_end
from seatunnel_py.api import FatalError
from seatunnel_py.formats.value_text.stand_ins import stand_in, unused

_HEADER_LINES_MAX = 1000  # of one header, whose names may hold line breaks


def csv_reader(lines: Any, delimiter: str, quote: str, escape: str) -> Any:
    """Iterate over records, field by field."""
    return csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        escapechar=escape or None,
        strict=True,
    )


@dataclass(frozen=True, slots=True)
class Lined:
    """Text for a parser whose records end at line breaks. Another row delimiter swaps places with the line feed, which
    gets a placeholder character: both may occur inside quotes."""

    text: str
    end: str
    """The row delimiter; empty: a line break, which needs no swap."""

    line_feed: str

    @classmethod
    def of(cls, text: str, row_delimiter: str, taken: str) -> Lined:
        """Prepare the text. ``taken``: characters that cannot be the placeholder."""
        if row_delimiter in ("\n", "\r\n"):
            return cls(text, "", "")
        mark = unused(text + taken, "row_delimiter", row_delimiter)
        ends = re.compile(f"{re.escape(row_delimiter)}|\n")
        swapped = ends.sub(lambda found: "\n" if found[0] == row_delimiter else mark, text)
        return cls(swapped, row_delimiter, mark)

    def lines(self) -> Iterable[str]:
        return io.StringIO(self.text, newline="\n" if self.end else "")

    def undone(self, texts: list[str]) -> list[str]:
        """The texts as they are in the document."""
        if not self.end:
            return texts
        return [text.replace("\n", self.end).replace(self.line_feed, "\n") for text in texts]


@dataclass(frozen=True, slots=True)
class Head:
    """The lines of a document before its records: skipped lines and the header."""

    options: FileReadOptions
    row_end: bytes
    delimiter: str
    quote: str
    escape: str
    has_names: bool

    def read(self, document: Document) -> tuple[int, str]:
        """Return the offset of the records, and the header, which may have line breaks between quotes."""
        lines = self.options.skip_header_row_number + int(self.has_names)
        for more in range(_HEADER_LINES_MAX):
            end, head = head_end(document, self.options.encoding, lines + more, self.row_end)
            header = self._header(head.decode())
            if not self.has_names or not self.quote or header.count(self.quote) % 2 == 0:
                return end, header
            if head_end(document, self.options.encoding, lines + more + 1, self.row_end)[0] == end:
                break
        raise FatalError(
            f"{document.name}: a quote in the header line is not closed", "check quote_char, or correct the file"
        )

    def _header(self, head: str) -> str:
        """The text after the skipped lines."""
        end = self.options.row_delimiter
        if end in ("\n", "\r\n"):
            head, end = head.replace("\r\n", "\n"), "\n"
        rest = head.split(end, self.options.skip_header_row_number)
        return rest[-1].removesuffix(end) if len(rest) > self.options.skip_header_row_number else ""

    def names(self, document: Document) -> list[str]:
        """Names of the columns."""
        header = self.read(document)[1]
        outside = header.split(self.quote)[::2] if self.quote else [header]
        if self.options.row_delimiter == "\n" and any("\r" in part for part in outside):
            raise FatalError(
                f"{document.name}: the header line holds a carriage return, as if lines ended with it",
                'set row_delimiter = "\\r"',
            )
        try:
            names = self._fields(header)
        except csv.Error as error:
            raise FatalError(
                f"{document.name}: the header line is not csv: {error}",
                "check field_delimiter, quote_char and row_delimiter",
            ) from None
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated or not names:
            what = f"names the column {repeated[0]!r} twice" if repeated else "is missing"
            raise FatalError(f"{document.name}: the header line {what}", "set csv_use_header_line to false")
        return names

    def _fields(self, header: str) -> list[str]:
        mark = stand_in(header, self.delimiter)
        lines = io.StringIO(header.replace(self.delimiter, mark), newline="")
        fields: list[str] = next(csv_reader(lines, mark, self.quote, self.escape), [])
        return [name.strip().replace(mark, self.delimiter) for name in fields]
