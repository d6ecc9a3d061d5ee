"""What every format's reader does: find columns, divide a document, read a part from a position on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.options import FileReadOptions
from seatunnel_py.api import BadRows, Column, DataType, FatalError, Kind, Plain

if TYPE_CHECKING:
    import pyarrow as pa

CONTENT = (Column("content", DataType(Kind.STRING)),)
"""The one column of text that no schema describes."""

ROWS_MAX = 64 * 1024  # rows of a batch, for formats that could give any number

Place: TypeAlias = Mapping[str, Plain]
"""A format's own place inside a part: plain data that goes into a position."""


@dataclass(frozen=True, slots=True)
class Layout:
    """``columns`` are the document's, in its order; ``wanted`` are those to be read, in the order of the output.
    ``declared`` says that the job file named them."""

    columns: tuple[Column, ...]
    wanted: tuple[str, ...]
    declared: bool

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def output(self) -> tuple[Column, ...]:
        return tuple(self.column(name) for name in self.wanted)


@dataclass(frozen=True, slots=True)
class Undecoded:
    """Records that are none of the format: their bytes, and what is wrong with each."""

    records: tuple[bytes, ...]
    reasons: tuple[str, ...]

    def as_rows(self) -> pa.RecordBatch:
        """One column of bytes, as ``Rejected`` wants them."""
        import pyarrow as pa

        return pa.RecordBatch.from_pydict({"raw": pa.array(self.records, pa.binary())})


class FormatReader(ABC):
    """Reads documents of one format. Made from options alone; opens a document only inside a call. One that is
    ``tolerant`` gives what it cannot decode as Undecoded, where the format tells records apart."""

    needs_schema = False
    tolerant = False

    def __init__(self, options: FileReadOptions) -> None:
        self.options = options

    def fixed_columns(self) -> tuple[Column, ...]:
        """The columns of a format whose rows always look alike; whatever is declared."""
        return ()

    def find_columns(self, document: Document) -> tuple[Column, ...]:
        """The document's own columns, where the job file declares none."""
        return CONTENT

    def parts(self, document: Document) -> list[Place]:
        """Parts that can be read by themselves, in order; together the whole document."""
        return [{}]

    @abstractmethod
    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
        """Batches of the wanted columns after ``start``, each with the place behind it (None: the part cannot be
        resumed inside)."""


def number(place: Place | None, key: str, default: int = 0) -> int:
    """A whole number out of a place."""
    return cast(int, place[key]) if place and key in place else default


def batch_of(layout: Layout, arrays: list[Any], rows: int) -> pa.RecordBatch:
    """A batch of the wanted columns; ``rows`` counts where there are no columns at all."""
    import pyarrow as pa

    from seatunnel_py.api import to_arrow

    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    fields = [pa.field(column.name, to_arrow(column.dtype)) for column in layout.output()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def refuse_others(document: Document, layout: Layout, options: FileReadOptions, names: Sequence[str]) -> None:
    """Nobody chose the columns, so they are the first file's: what only this file has would be lost without a word."""
    known = {column.name for column in layout.columns}
    others = [name for name in names if name not in known]
    if others and not layout.declared and not options.read_columns:
        raise FatalError(
            f"{document.name} has columns that the first file does not have: {', '.join(others)}",
            "choose the columns with read_columns, name all of them in schema, or read these files as another table",
        )


def misfit(document: Document, where: str, column: str, reason: object) -> BadRows:
    """The error for a value that does not fit its column."""
    return BadRows(
        f"{document.name}, {where}, column {column!r}: {reason}",
        "correct the file, or the column's type in schema, or the date and null formats",
    )
