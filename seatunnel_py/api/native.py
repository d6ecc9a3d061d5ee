"""Rows that pass from a source to a sink in the outside system's own form, without being looked into.

Two ends of a chain that speak the same form (two PostgreSQL servers and COPY, say) need no Arrow between them. A
source and a sink that offer this implement :class:`NativeSource` and :class:`NativeSink` beside their usual
contract; the engine takes this way where nothing stands between the two and the forms fit, and the usual way
otherwise. Both ways must leave the same rows, the same record of the unit, and raise the same errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from seatunnel_py.api.batch import Plain, Position
from seatunnel_py.api.sink import Piece, WriteContext
from seatunnel_py.api.source import SourceTable, Split

Block = bytes | bytearray | memoryview
"""A run of bytes in the native form; it need not end where a row ends. A writer is done with it when it returns."""


@dataclass(frozen=True, slots=True)
class NativeForm:
    """What the bytes mean: the name of the form, and (column, type in the system's own words) in their order."""

    name: str
    columns: tuple[tuple[str, str], ...]


class NativeRefusedError(Exception):
    """Raised by a native reader or writer that finds out late that these rows cannot go this way (a key that is
    there already and must be merged). Nothing of the unit has been applied; the engine takes the usual way, or, where
    the error says ``again``, this one once more: the writer knows by then what is different."""

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


class NativeReader(ABC):
    """Reads one split to its end; made, used and closed inside one unit, as a :class:`Reader` is."""

    rows: int = 0
    """The rows that the source says it sent; valid once ``read`` has ended."""

    @abstractmethod
    def read(self, split: Split, start: Position | None) -> Iterator[Block]:
        """Yield the rows after ``start``, bounded in memory. Unlike a reader's, it is never stopped half-way."""

    def close(self) -> None:
        """Give back what was borrowed."""
        return


class NativeWriter(ABC):
    """Writes the blocks of one unit. Exactly one of ``stage`` and ``abort`` ends it."""

    @abstractmethod
    def write(self, block: Block) -> None:
        """Take a block."""

    @abstractmethod
    def stage(self, rows: int) -> Piece:
        """As :meth:`Writer.stage`; the target must have confirmed exactly ``rows`` before anything is durable."""

    @abstractmethod
    def abort(self) -> None:
        """As :meth:`Writer.abort`. Must not raise."""


class NativeSource(ABC):
    """Beside :class:`Source`: a source whose rows can be had in a native form."""

    @abstractmethod
    def native_form(self, table: SourceTable) -> NativeForm | None:
        """The form that the table's rows come in, or None. Opens nothing."""

    @abstractmethod
    def native_reader(self, table: SourceTable) -> NativeReader:
        """A reader of that form, in a worker."""


class NativeSink(ABC):
    """Beside :class:`Sink`: a sink that takes rows in a native form."""

    @abstractmethod
    def takes_native(self, form: NativeForm, setup: Mapping[str, Plain]) -> bool:
        """Whether rows of that form can be written as they are. Opens nothing."""

    @abstractmethod
    def open_native(self, context: WriteContext) -> NativeWriter:
        """A writer for one unit, in a worker."""
