"""Writes the format excel: one sheet per file, rows streamed to disk as they come.

Cells hold numbers whose digits a workbook keeps, booleans and text. Anything else (dates too, as in SeaTunnel) is text,
and is read back by the same rules.
"""

from __future__ import annotations

import math
import tempfile
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.writers.base import Counted, FormatWriter
from seatunnel_connectors.files.formats.writers.xml import NO_CHARACTERS, REMEDY
from seatunnel_py.api import BadRowsError, DataType, FatalError, Kind
from seatunnel_py.formats.json.text import json_values
from seatunnel_py.formats.value_text import text_values

if TYPE_CHECKING:
    import pyarrow as pa

EXACT_MAX = 2**53  # a spreadsheet's numbers lose digits beyond it
TEXT_MAX = 32_767  # longest text of a cell

_SMALL = {Kind.TINYINT, Kind.SMALLINT, Kind.INT}
_CONTAINERS = {Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR, Kind.SPARSE_FLOAT_VECTOR}


class ExcelWriter(FormatWriter):
    """Writes a workbook of one sheet."""

    @property
    def row_limit(self) -> int:
        return min(super().row_limit, self.options.sheet_max_rows - self._head_rows)

    @property
    def _head_rows(self) -> int:
        return 0 if self.options.enable_header_write is False else 1

    def begin(self, file: Counted) -> None:
        import xlsxwriter

        # The library does not delete its unfinished files when it fails.
        self.aside = tempfile.TemporaryDirectory(prefix="seatunnel-excel-")
        settings = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        self.book = xlsxwriter.Workbook(file, settings | {"tmpdir": self.aside.name})
        self.sheet = self.book.add_worksheet(self.options.sheet_name or "Sheet1")
        self.row = 0
        if self._head_rows:
            for place, column in enumerate(self.columns):
                self.sheet.write_string(0, place, column.name)
            self.row = 1

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [self._cells(array, column.dtype) for array, column in zip(batch.columns, self.columns, strict=True)]
        texts = "".join(cell for cells in columns for cell in cells if isinstance(cell, str))
        # the library writes _xFFFE_, which no reader converts back
        if any(letter in texts for letter in NO_CHARACTERS):
            raise BadRowsError("a value holds U+FFFE or U+FFFF, which no workbook keeps", REMEDY)
        put = {bool: self.sheet.write_boolean, int: self.sheet.write_number, float: self.sheet.write_number}
        for cells in zip(*columns, strict=True):
            for place, cell in enumerate(cells):
                if isinstance(cell, str):
                    self._text(place, cell)
                elif cell is not None:
                    put[type(cell)](self.row, place, cell)
            self.row += 1

    def _text(self, place: int, text: str) -> None:
        if len(text) > TEXT_MAX:
            raise FatalError(
                f"column {self.columns[place].name!r}: a text of {len(text)} characters; a cell holds {TEXT_MAX}",
                "write another format, or leave the column out with sink_columns",
            )
        self.sheet.write_string(self.row, place, text)

    def _cells(self, array: pa.Array, dtype: DataType) -> list[Any]:
        kind = dtype.kind
        if kind in _SMALL or kind is Kind.BOOLEAN:
            return self._nulled(array.to_pylist())
        if kind is Kind.BIGINT:
            return self._nulled([_exact(value) for value in array.to_pylist()])
        if kind in (Kind.FLOAT, Kind.DOUBLE):
            texts = text_values(array, dtype, self.rules).to_pylist()
            return self._nulled([_number(text) for text in texts])
        if kind is Kind.BYTES:
            values = array.to_pylist()
            return self._nulled(
                [None if v is None else str([byte - 256 if byte > 127 else byte for byte in v]) for v in values]
            )
        if kind in _CONTAINERS:
            texts = json_values(array, dtype, self.rules).to_pylist()
            return self._nulled([None if text == "null" else text for text in texts])
        return self._nulled(text_values(array, dtype, self.rules).to_pylist())

    def _nulled(self, cells: list[Any]) -> list[Any]:
        marker = self.options.null_format
        return cells if marker is None else [marker if cell is None else cell for cell in cells]

    def end(self) -> None:
        with self.aside:
            self.book.close()


def _exact(value: int | None) -> int | str | None:
    return str(value) if value is not None and abs(value) > EXACT_MAX else value


def _number(text: str | None) -> float | str | None:
    """The number, if a cell can keep all of it: the library writes 16 digits, and no sign of a zero."""
    if text is None or text in ("NaN", "Infinity", "-Infinity"):
        return text
    number = float(text)
    kept = float(f"{number:.16G}") == number and math.isfinite(float(f"{number:.16G}"))
    return number if kept and str(number) != "-0.0" else text
