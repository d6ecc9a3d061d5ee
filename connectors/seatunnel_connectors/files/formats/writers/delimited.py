"""Writes the formats text (no quotes) and csv (quotes where needed)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.writers.base import TextWriter, joined_rows
from seatunnel_connectors.files.write.options import QuoteMode
from seatunnel_py.api import BadRowsError, FatalError, Kind
from seatunnel_py.formats.value_text import column_text, holds_any

if TYPE_CHECKING:
    import pyarrow as pa


UNQUOTED = "set csv_string_quote_mode = MINIMAL, or an empty quote_char here and for the reader"


class DelimitedWriter(TextWriter):
    """Writes fields between delimiters, unquoted: a value that contains a delimiter would split its row, so it is
    refused."""

    @property
    def delimiter(self) -> str:
        return self.options.field_delimiter or "\x01"

    def head(self) -> str:
        if not self.options.enable_header_write:
            return ""
        names = [column.name for column in self.columns]
        torn = next((name for name in names for mark in self._marks() if mark in name), None)
        if torn is not None:
            raise FatalError(
                f"the name of the column {torn!r} holds a delimiter, which would tear the header",
                "rename the column before the sink, or choose the format csv, which quotes names",
            )
        return self.delimiter.join(names) + self.options.row_delimiter

    def _marks(self) -> list[str]:
        """Texts that no unquoted value may contain; readers end lines at every kind of line break."""
        end = self.options.row_delimiter
        return sorted({self.delimiter, end, *("\r\n" if end in ("\n", "\r\n") else "")} - {""})

    def body(self, batch: pa.RecordBatch) -> bytes:
        import pyarrow.compute as pc

        fields = [self._field(index, array) for index, array in enumerate(batch.columns)]
        rows = pc.binary_join_element_wise(
            *fields, self.delimiter, null_handling="replace", null_replacement=self.options.null_format or ""
        )
        text = joined_rows(rows, self.options.row_delimiter)
        self.check(text, fields, batch.num_rows)
        return text

    def _field(self, index: int, array: pa.Array) -> Any:
        return column_text(array, self.columns[index], self.rules)

    def check(self, text: bytes, fields: list[Any], rows: int) -> None:
        """Refuse text with delimiters inside values. Counting delimiters is enough; one of several characters may also
        begin with the end of a value."""
        end = self.options.row_delimiter
        wanted = {self.delimiter: rows * (len(self.columns) - 1), end: rows}
        for mark in self._marks():
            count = wanted.get(mark, rows * (mark in end))
            if len(mark) > 1 or text.count(mark.encode()) != count:
                self._refuse(fields, mark)

    def _refuse(self, fields: list[Any], mark: str) -> None:
        import pyarrow.compute as pc

        for column, texts in zip(self.columns, fields, strict=True):
            marked = pc.binary_join_element_wise(texts, mark, "")
            if pc.any(pc.not_equal(pc.find_substring(marked, mark), pc.binary_length(texts))).as_py():
                raise BadRowsError(
                    f"column {column.name!r}: a value holds the delimiter {mark!r}, which would tear its row",
                    "choose another field_delimiter or row_delimiter, or the format csv, which quotes values",
                )


class CsvWriter(DelimitedWriter):
    """Values that hold a delimiter, a quote or a line break are quoted; quotes in them are doubled."""

    @property
    def delimiter(self) -> str:
        return self.options.field_delimiter or ","

    @property
    def quote(self) -> str:
        return "" if self.options.csv_string_quote_mode is QuoteMode.NONE else self.options.quote_char or ""

    def head(self) -> str:
        if not self.options.enable_header_write:
            return ""
        if not self.quote:
            self._refuse_misread_names()
            return super().head()
        special = re.compile(self._special())
        q = self.quote
        names = (column.name for column in self.columns)
        cells = (f"{q}{name.replace(q, q * 2)}{q}" if special.search(name) else name for name in names)
        return self.delimiter.join(cells) + self.options.row_delimiter

    def _is_text(self, index: int) -> bool:
        return self.columns[index].dtype.kind is Kind.STRING

    def _marks(self) -> list[str]:
        """Characters that a value may contain only between quotes."""
        return sorted({*self.delimiter, self.quote, *self.options.row_delimiter, "\n", "\r"} - {""})

    def _special(self) -> str:
        return "|".join(map(re.escape, self._marks()))

    def _field(self, index: int, array: pa.Array) -> Any:
        import pyarrow.compute as pc

        texts = super()._field(index, array)
        if not self.quote:
            return texts
        quoted_all = self.options.csv_string_quote_mode is QuoteMode.ALL and self._is_text(index)
        if quoted_all or holds_any(texts, "".join(self._marks()).encode()):
            special = quoted_all or pc.match_substring_regex(texts, self._special())
            doubled = pc.replace_substring(texts, self.quote, self.quote * 2)
            inside = pc.binary_join_element_wise(self.quote, doubled, self.quote, "")
            texts = pc.if_else(special, inside, texts)
        if len(self.columns) == 1:
            # Many readers skip empty lines: an empty value of a single column is quoted.
            texts = texts if self.options.null_format else pc.fill_null(texts, "")
            texts = pc.if_else(pc.equal(texts, ""), self.quote * 2, texts)
        return texts

    def check(self, text: bytes, fields: list[Any], rows: int) -> None:
        if not self.quote:
            super().check(text, fields, rows)
            self._refuse_misread(fields)

    def _refuse_misread_names(self) -> None:
        quote = self.options.quote_char
        if quote and (wrong := next((one.name for one in self.columns if one.name.startswith(quote)), "")):
            raise FatalError(
                f"the name of the column {wrong!r} begins with {quote}, and nothing is quoted here", UNQUOTED
            )

    def _refuse_misread(self, fields: list[Any]) -> None:
        """Refuse unquoted values that a reader with the same options would misread."""
        import pyarrow.compute as pc

        quote = self.options.quote_char
        for column, texts in zip(self.columns, fields, strict=True):
            if quote and pc.any(pc.starts_with(texts, quote)).as_py():
                raise BadRowsError(
                    f"column {column.name!r}: a value begins with {quote}, as quoted values do for readers, "
                    "and nothing is quoted here",
                    UNQUOTED,
                )
        if len(fields) == 1 and _has_empty(fields[0], nulls=not self.options.null_format):
            raise BadRowsError(
                f"column {self.columns[0].name!r}: an only value that is empty leaves a line with nothing on it, "
                "which readers of csv pass over",
                "set csv_string_quote_mode = MINIMAL, or choose the format text",
            )


def _has_empty(texts: Any, *, nulls: bool) -> bool:
    import pyarrow.compute as pc

    return bool(nulls and texts.null_count) or bool(pc.any(pc.equal(texts, "")).as_py())
