"""Reads the format excel: xls and xlsx, one sheet, with calamine."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.base import FormatReader, Layout, Place, Undecoded, number
from seatunnel_connectors.files.formats.cell_rows import CellRows, read_cells
from seatunnel_connectors.files.formats.excel_errors import Errors, error_cells, with_errors
from seatunnel_connectors.files.read.document import FREE_BYTES, RATIO_MAX, WHOLE_BYTES_MAX, Document
from seatunnel_py.api import FatalError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8 * 1024


class ExcelReader(FormatReader):
    """Reads a sheet row by row; a position is a row number."""

    needs_schema = True

    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
        row = number(start, "row", self.options.skip_header_row_number)
        held: list[list[Any]] = []
        sheet, errors = self._sheet(document)
        for index, cells in enumerate(sheet.iter_rows()):
            if index >= row:
                held.append(with_errors(cells, errors.get(index)))
            if len(held) >= BATCH_ROWS:
                yield from self._batch(document, layout, held, row)
                row, held = row + len(held), []
        if held:
            yield from self._batch(document, layout, held, row)

    def _sheet(self, document: Document) -> tuple[Any, Errors]:
        """The sheet, and its error cells, which calamine reads as empty."""
        import python_calamine

        with document.whole() as file:
            _check_packed(document, file)
            file.seek(0)
            try:
                book = python_calamine.load_workbook(file)
                wanted = self.options.sheet_name
                if wanted is not None and wanted not in book.sheet_names:
                    raise FatalError(
                        f"{document.name} has no sheet {wanted!r}; it has {', '.join(book.sheet_names)}",
                        "correct sheet_name",
                    )
                name = wanted or book.sheet_names[0]
                sheet = book.get_sheet_by_name(name)
                file.seek(0)
                return sheet, error_cells(file, name, sheet.start)
            except (python_calamine.CalamineError, OSError, ValueError, IndexError) as error:
                raise FatalError(f"{document.name} cannot be read as a workbook: {error}") from error

    def _batch(
        self, document: Document, layout: Layout, rows: list[list[Any]], first: int
    ) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
        """Yield the rows that are not empty; ``first`` is the number of the first one in the sheet."""
        places = {column.name: index for index, column in enumerate(layout.columns)}
        filled = [index for index, row in enumerate(rows) if any(cell not in (None, "") for cell in row)]

        def cells(name: str) -> list[Any]:
            place = places[name]
            return [rows[index][place] if place < len(rows[index]) else None for index in filled]

        found = CellRows(len(filled), cells, lambda at: f"row {first + filled[at] + 1}", lambda at: rows[filled[at]])
        return read_cells(self, document, layout, found, {"row": first + len(rows)})


def _check_packed(document: Document, file: Any) -> None:
    """Bound the unpacked size of an xlsx, as of any archive: it is a zip."""
    if not zipfile.is_zipfile(file):
        return
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(info.file_size for info in archive.infolist())
    if unpacked > min(max(FREE_BYTES, document.entry.size * RATIO_MAX), WHOLE_BYTES_MAX):
        raise FatalError(
            f"{document.name} unpacks to {unpacked} bytes, far more than a genuine workbook",
            "such a file is taken for a decompression bomb; save it again if it is genuine",
        )
