"""Elements that a reader may yield: Arrow batches, rejected rows, schema changes, heartbeats and the like."""

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
"""JSON-like data. Splits, positions and pieces consist of it, so that a checkpoint can store them."""


class RowKind(IntEnum):
    """Kind of a row: insert, before or after an update, delete. The numbers are stored in ``Batch.kinds``."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def short(self) -> str:
        return ("+I", "-U", "+U", "-D")[self]


@dataclass(frozen=True, slots=True)
class Position:
    """How far a split has been read; a reader resumes after it.

    ``generation`` names the snapshot or file version that the position belongs to: without it the position
    cannot be used. ``version`` is the format of ``value``; readers convert older ones.
    """

    value: Mapping[str, Plain]
    generation: str = ""
    version: builtins.int = 1

    def int(self, name: str) -> builtins.int:
        """Return the integer under ``name``. Raises TypeError if the value is not an integer."""
        found = self.value.get(name)
        if type(found) is not builtins.int:
            raise TypeError(f"the position holds no whole number {name!r}: {dict(self.value)}")
        return found

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain data, for checkpoints and for units' records in targets."""
        return {"value": dict(self.value), "generation": self.generation, "version": self.version}

    @staticmethod
    def of(plain: Any) -> Position:
        """The inverse of ``to_plain``."""
        return Position(plain["value"], plain["generation"], plain["version"])


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one table, in source order.

    ``end`` is the position after the last row: a reader that restarts there yields exactly the rows after it.
    None: reading cannot resume inside the split, so one unit reads the whole split.
    ``kinds`` holds a RowKind per row as uint8; None means that every row is an INSERT.
    ``absent`` marks cells that the source did not send (unchanged TOAST, partial updates), in the shape of ``data``.
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

    @property
    def lacks_cells(self) -> bool:
        """Whether the source did not send some cell."""
        if self.absent is None:
            return False
        import pyarrow.compute as pc

        return any(pc.any(marks).as_py() for marks in self.absent.columns)


@dataclass(frozen=True, slots=True)
class Rejected:
    """Rows that a step rejects, with one reason per row. Rejected rows are counted and quarantined, never silently
    lost.

    A reader yields it for records that it cannot decode: ``data`` then has one binary column ``raw`` with the original
    bytes, and ``end`` is the position after them. A transform may give in ``rows`` their row numbers in its batch, from
    0: with ``retry_rejected`` the engine then need not search for them.
    """

    table: TablePath
    data: pa.RecordBatch
    reasons: tuple[str, ...]
    end: Position | None = None
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """Records that a reader skips because its options ask for it. Skipped records count as filtered rows.

    Yield it without an end before the batch that contained them; with an end if no row of that batch remains.
    """

    table: TablePath
    rows: int
    end: Position | None = None


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """The table's schema changes at this place of a log; ``end`` is the place, and the log is read on from there under
    the schema ``after``. ``statement`` is the source's statement, for display only. ``renamed``: columns by their
    earlier names, as far as the source proves it; any other difference of names is a dropped or an added column. The
    ``default`` of an added column is the value that earlier rows have in it. ``log_hints`` replace those of the
    table. ``stops``: the reason, with a remedy, why the table cannot be followed any more; its later rows reach no
    target."""

    table: TablePath
    before: TableSchema
    after: TableSchema
    schema_version: int = 0
    statement: str = ""
    end: Position | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    log_hints: Mapping[str, Plain] = field(default_factory=dict)
    stops: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class TableStopped:
    """A log cannot be read on for this table, for the reason in ``message``; its other tables go on. No row of the
    table follows, and the table stands where its last checkpoint left it."""

    table: TablePath
    message: str
    remedy: str
    end: Position | None = None


@dataclass(frozen=True, slots=True)
class TableTruncated:
    """All rows of the table are removed at this place of a log; ``end`` is the place. ``statement`` is the source's
    statement, for display only."""

    table: TablePath
    statement: str = ""
    end: Position | None = None


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
    """A message from a reader to its enumerator (``Enumerator.on_reader_event``), for example: divide this split, this
    log has ended. The enumerator gets it before the unit's rows count, and again if the unit is repeated.
    Yield it before the rows that it belongs to: a repeated unit ends after the last row that a target holds.
    """

    event: Plain
    end: Position | None = None


Element: TypeAlias = (
    Batch | Rejected | Skipped | SchemaChange | TableTruncated | TableStopped | Heartbeat | TransactionEnd | ReaderEvent
)
