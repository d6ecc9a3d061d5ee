"""Defines the readers of file formats: find columns, divide a document, read a part from a position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.options import FileReadOptions
from seatunnel_py.api import BadRowsError, Column, DataType, FatalError, Kind, Plain

if TYPE_CHECKING:
    import pyarrow as pa

CONTENT = (Column("content", DataType(Kind.STRING)),)
"""The text column that a document without a schema has."""

ROWS_MAX = 64 * 1024  # rows of a batch, for formats without a natural batch size

Place: TypeAlias = Mapping[str, Plain]
"""A format's position inside a part: plain data for checkpoints."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns to read. ``columns`` are the document's, in its order; ``wanted`` are the output's, in its order.
    ``declared``: the job file names the columns."""

    columns: tuple[Column, ...]
    wanted: tuple[str, ...]
    declared: bool

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def output(self) -> tuple[Column, ...]:
        return tuple(self.column(name) for name in self.wanted)


@dataclass(frozen=True, slots=True)
class Undecoded:
    """Records that do not match the format: their bytes, and the fault of each."""

    records: tuple[bytes, ...]
    reasons: tuple[str, ...]

    def as_rows(self) -> pa.RecordBatch:
        """One column of bytes, as ``Rejected`` needs it."""
        import pyarrow as pa

        return pa.RecordBatch.from_pydict({"raw": pa.array(self.records, pa.binary())})


class FormatReader(ABC):
    """Reads documents of one format. Made from options alone; opens a document only inside a call. If ``tolerant``,
    yields records that it cannot decode as Undecoded, provided that the format separates records."""

    needs_schema = False
    tolerant = False

    def __init__(self, options: FileReadOptions) -> None:
        self.options = options

    def fixed_columns(self) -> tuple[Column, ...]:
        """The columns of a format with fixed columns; any declared schema is ignored."""
        return ()

    def find_columns(self, document: Document) -> tuple[Column, ...]:
        """Find the document's own columns, if the job file declares none."""
        return CONTENT

    def parts(self, document: Document) -> list[Place]:
        """Independently readable parts, in order; together the whole document."""
        return [{}]

    @abstractmethod
    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
        """Yield batches of the wanted columns after ``start``, each with its end position (None: the part cannot be
        resumed inside)."""


def number(place: Place | None, key: str, default: int = 0) -> int:
    """A whole number from a position."""
    return cast(int, place[key]) if place and key in place else default


def batch_of(layout: Layout, arrays: list[Any], rows: int) -> pa.RecordBatch:
    """A batch of the wanted columns; ``rows`` is the row count if there are no columns."""
    import pyarrow as pa

    from seatunnel_py.api import to_arrow

    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    fields = [pa.field(column.name, to_arrow(column.dtype)) for column in layout.output()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def refuse_others(document: Document, layout: Layout, options: FileReadOptions, names: Sequence[str]) -> None:
    """Refuse columns that only this file has. Without declared or projected columns, the first file defines them:
    others would be dropped silently."""
    known = {column.name for column in layout.columns}
    others = [name for name in names if name not in known]
    if others and not layout.declared and not options.read_columns:
        raise FatalError(
            f"{document.name} has columns that the first file does not have: {', '.join(others)}",
            "choose the columns with read_columns, name all of them in schema, or read these files as another table",
        )


def misfit(document: Document, where: str, column: str, reason: object) -> BadRowsError:
    """The error for a value that does not fit its column."""
    return BadRowsError(
        f"{document.name}, {where}, column {column!r}: {reason}",
        "correct the file, or the column's type in schema, or the date and null formats",
    )
