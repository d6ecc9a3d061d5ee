"""Builds batches from formats that are read cell by cell (excel, xml), and separates rows with misfits.

The bytes of a rejected row mean nothing outside its document, so its cells are kept as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.base import FormatReader, Layout, Place, Undecoded, batch_of, misfit
from seatunnel_connectors.files.formats.cells import cell_column, cell_text
from seatunnel_connectors.files.formats.delimited import rules_of
from seatunnel_connectors.files.formats.malformed_records import Sorted, fitting, without
from seatunnel_connectors.files.read.document import Document
from seatunnel_py.api import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class CellRows:
    """Rows as cells. ``cells`` are a column's, one per row; ``where`` locates a row in messages; ``row`` is the whole
    row: a list of cells, or cells by name."""

    count: int
    cells: Callable[[str], list[Any]]
    where: Callable[[int], str]
    row: Callable[[int], Any]


def read_cells(
    reader: FormatReader, document: Document, layout: Layout, rows: CellRows, end: Place
) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
    """Yield these rows as a batch, and the misfits; ``end`` is their end position."""
    batch, undecoded = _sorted(reader, document, layout, rows)
    if undecoded.records:
        yield undecoded, None
    yield batch, end


def _sorted(reader: FormatReader, document: Document, layout: Layout, rows: CellRows) -> Sorted:
    rules, delimiter = rules_of(reader.options), reader.options.field_delimiter or "\x01"
    bad: dict[int, str] = {}
    arrays = []
    for column in layout.output():
        convert = partial(cell_column, dtype=column.dtype, rules=rules, delimiter=delimiter)
        cells = rows.cells(column.name)
        try:
            array, misfits = fitting(cells, convert, to_arrow(column.dtype), tolerant=reader.tolerant)
        except ValueError as error:
            raise misfit(document, rows.where(getattr(error, "index", 0)), column.name, error) from None
        for at, why in misfits.items():
            bad.setdefault(at, misfit(document, rows.where(at), column.name, why).message)
        arrays.append(array)
    records = tuple(_kept(rows.row(at)) for at in sorted(bad))
    return without(batch_of(layout, arrays, rows.count), bad), Undecoded(records, tuple(bad[at] for at in sorted(bad)))


def _kept(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False, default=cell_text).encode()
