"""What flows: batches of rows in Arrow, and the few other things that a reader may yield."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from seatunnel_py.api.schema import TablePath, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | tuple[Plain, ...] | None"
"""JSON-like data: what splits, positions and pieces are made of, so that a checkpoint can hold them."""


class RowKind(IntEnum):
    """What a row says about its table. The numbers are the ones in ``Batch.kinds``."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def short(self) -> str:
        return ("+I", "-U", "+U", "-D")[self]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a reader goes on inside a split.

    ``generation`` names what the position is valid for (an exported snapshot, a file's identity): when that
    is gone the position is worth nothing. ``version`` is the writer's format; readers migrate older ones.
    """

    value: Mapping[str, Plain]
    generation: str = ""
    version: builtins.int = 1

    def int(self, name: str) -> builtins.int:
        """A whole number of it. Raises TypeError where it holds something else under that name."""
        found = self.value.get(name)
        if type(found) is not builtins.int:
            raise TypeError(f"the position holds no whole number {name!r}: {dict(self.value)}")
        return found

    def to_plain(self) -> dict[str, Any]:
        """As a checkpoint, or a target that remembers how far it got, can hold it."""
        return {"value": dict(self.value), "generation": self.generation, "version": self.version}

    @staticmethod
    def of(plain: Any) -> Position:
        """The inverse of ``to_plain``."""
        return Position(plain["value"], plain["generation"], plain["version"])


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one table, in source order.

    ``end`` is the position after the last row: a reader restarted there yields exactly the rows that follow.
    It may be None only where the split cannot be resumed inside (then a unit takes the split whole).
    ``kinds`` holds a RowKind per row as uint8; None means that every row is an INSERT.
    ``absent`` marks cells that the source did not send (unchanged TOAST, partial updates), same shape as data.
    ``metadata`` holds named per-row values that are not columns (Partition, EventTime, Delay …).
    """

    table: TablePath
    data: pa.RecordBatch
    end: Position | None = None
    start: Position | None = None
    kinds: pa.UInt8Array | None = None
    schema_version: int = 0
    absent: pa.RecordBatch | None = None
    metadata: Mapping[str, pa.Array] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.data.num_rows)


@dataclass(frozen=True, slots=True)
class Rejected:
    """Rows that a step refuses, with one reason per row: they are counted, kept, and never silently lost.

    A reader that cannot decode a record yields it so: ``data`` then has one binary column ``raw``, the bytes as they
    came, and ``end`` is the position behind them. A transform may say in ``rows`` which ones of its batch these are,
    counted from 0: where they come back to it (``retry_rejected``) nobody has to look for them among the others.
    """

    table: TablePath
    data: pa.RecordBatch
    reasons: tuple[str, ...]
    end: Position | None = None
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """Records that a reader leaves out because its options ask for it: read, and counted among the filtered rows.

    Yield it in front of the batch that they stood in, without an end, or with one where no row is left of them.
    """

    table: TablePath
    rows: int
    end: Position | None = None


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """The table looks different from here on; ``statement`` is the source's own words, for people."""

    table: TablePath
    before: TableSchema
    after: TableSchema
    schema_version: int
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Nothing to read, but the position moved (an idle log, a filtered partition)."""

    end: Position


@dataclass(frozen=True, slots=True)
class TransactionEnd:
    """Everything since the last one was one transaction in the source."""

    transaction_id: str
    end: Position


@dataclass(frozen=True, slots=True)
class ReaderEvent:
    """The reader has something to tell its enumerator (``Enumerator.on_reader_event``): that its split should be
    divided, that a log has ended. It is told before the rows of its unit count, and again where the unit is repeated.
    Yield it in front of the rows that it belongs to: a repeated unit ends behind the last row that a target holds.
    """

    event: Plain
    end: Position | None = None


Element: TypeAlias = Batch | Rejected | Skipped | SchemaChange | Heartbeat | TransactionEnd | ReaderEvent
