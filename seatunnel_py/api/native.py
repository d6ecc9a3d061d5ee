"""Native copy: passes bytes from a source to a sink in a format that both systems know, without decoding them.

For example, two PostgreSQL servers can exchange COPY data without Arrow. A source and a sink of this kind also
implement :class:`NativeSource` and :class:`NativeSink`. The engine uses them if no transform is between the two and the
formats match; else it uses Arrow. Both routes must leave the same rows and unit record, and raise the same errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from seatunnel_py.api.batch import Plain, Position
from seatunnel_py.api.sink import Piece, WriteContext
from seatunnel_py.api.source import SourceTable, Split

Block = bytes | bytearray | memoryview
"""Bytes in the native form; a block may end inside a row. A writer must not keep a block after it returns."""


@dataclass(frozen=True, slots=True)
class NativeForm:
    """Format of the bytes: its name, and the columns in order, each with the system's own type name."""

    name: str
    columns: tuple[tuple[str, str], ...]


class NativeRefusedError(Exception):
    """Raised by a native reader or writer that cannot copy these rows natively after all, for example because an
    existing key must be merged. Nothing of the unit has been applied. The engine then uses Arrow; with ``again`` it
    repeats the native copy, which the writer then handles differently."""

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


class NativeReader(ABC):
    """Reads one split to its end; created, used and closed inside one unit, like a :class:`Reader`."""

    rows: int = 0
    """Number of rows that the source reports as sent; valid once ``read`` has ended."""

    @abstractmethod
    def read(self, split: Split, start: Position | None) -> Iterator[Block]:
        """Yield the rows after ``start``, with bounded memory. Unlike ``Reader.read``, it always runs to the end."""

    def close(self) -> None:
        """Return borrowed connections to the pool."""
        return


class NativeWriter(ABC):
    """Writes the blocks of one unit. Exactly one of ``stage`` and ``abort`` ends it."""

    @abstractmethod
    def write(self, block: Block) -> None:
        """Take a block."""

    @abstractmethod
    def stage(self, rows: int) -> Piece:
        """Like :meth:`Writer.stage`. The target must confirm exactly ``rows`` before anything becomes durable."""

    @abstractmethod
    def abort(self) -> None:
        """Like :meth:`Writer.abort`. Must not raise."""


class NativeSource(ABC):
    """Mixin for a :class:`Source` that can also send its rows in a native form."""

    @abstractmethod
    def native_form(self, table: SourceTable) -> NativeForm | None:
        """Return the native form of the table's rows, or None. Must not connect."""

    @abstractmethod
    def native_reader(self, table: SourceTable) -> NativeReader:
        """Create a reader of the native form, in a worker."""


class NativeSink(ABC):
    """Mixin for a :class:`Sink` that also accepts rows in a native form."""

    @abstractmethod
    def takes_native(self, form: NativeForm, setup: Mapping[str, Plain]) -> bool:
        """Return True if rows of that form can be written unchanged. Must not connect."""

    @abstractmethod
    def open_native(self, context: WriteContext) -> NativeWriter:
        """Create a writer for one unit, in a worker."""
