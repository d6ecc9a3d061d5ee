"""Format excel: xls and xlsx, one sheet, read with calamine."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.document import FREE_BYTES, RATIO_MAX, WHOLE_BYTES_MAX, Document
from seatunnel_connectors.files.formats.base import FormatReader, Layout, Place, batch_of, misfit, number
from seatunnel_connectors.files.formats.cells import cell_column
from seatunnel_connectors.files.formats.delimited import rules_of
from seatunnel_py.api import FatalError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8 * 1024


class ExcelReader(FormatReader):
    """Reads a sheet row by row; a position is a row number."""

    needs_schema = True

    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch, Place | None]]:
        row = number(start, "row", self.options.skip_header_row_number)
        places = {column.name: index for index, column in enumerate(layout.columns)}
        held: list[list[Any]] = []
        for index, cells in enumerate(self._sheet(document).iter_rows()):
            if index >= row:
                held.append(cells)
            if len(held) >= BATCH_ROWS:
                yield self._batch(document, layout, places, held, row), {"row": row + len(held)}
                row, held = row + len(held), []
        if held:
            yield self._batch(document, layout, places, held, row), {"row": row + len(held)}

    def _sheet(self, document: Document) -> Any:
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
                return book.get_sheet_by_name(wanted) if wanted else book.get_sheet_by_index(0)
            except (python_calamine.CalamineError, OSError, ValueError) as error:
                raise FatalError(f"{document.name} cannot be read as a workbook: {error}") from error

    def _batch(
        self,
        document: Document,
        layout: Layout,
        places: dict[str, int],
        rows: list[list[Any]],
        first: int,
    ) -> pa.RecordBatch:
        rules, delimiter = rules_of(self.options), self.options.field_delimiter or "\x01"
        filled = [index for index, row in enumerate(rows) if any(cell not in (None, "") for cell in row)]
        arrays = []
        for column in layout.output():
            place = places[column.name]
            cells = [rows[index][place] if place < len(rows[index]) else None for index in filled]
            try:
                arrays.append(cell_column(cells, column.dtype, rules, delimiter))
            except ValueError as error:
                row = first + filled[getattr(error, "index", 0)] + 1
                raise misfit(document, f"row {row}", column.name, error) from None
        return batch_of(layout, arrays, len(filled))


def _check_packed(document: Document, file: Any) -> None:
    """An xlsx is a zip: what it unpacks to is bounded like any archive."""
    if not zipfile.is_zipfile(file):
        return
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(info.file_size for info in archive.infolist())
    if unpacked > min(max(FREE_BYTES, document.entry.size * RATIO_MAX), WHOLE_BYTES_MAX):
        raise FatalError(
            f"{document.name} unpacks to {unpacked} bytes, far more than a genuine workbook",
            "such a file is taken for a decompression bomb; save it anew if it is genuine",
        )
