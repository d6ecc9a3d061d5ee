"""Elements that a decoder gives, in stream order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationChange, TableRefused, TableVersion

if TYPE_CHECKING:
    import pyarrow as pa

EPOCH_MICROSECONDS = 946_684_800_000_000
"""1 January 2000, where the server's clock begins, as microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The place at which a stream goes on. ``commit`` and ``end`` belong to the last whole transaction: ``end`` may be
    confirmed. ``index`` counts what was taken of the transaction that commits at ``open_commit``; 0 outside of one.

    Positions are compared by the commit, never by the place of a change in the log: a transaction that commits later
    may hold earlier ones."""

    commit: int = 0
    end: int = 0
    open_commit: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True)
class Transactions:
    """The transactions of a block in order: ``xid``, ``commit`` (position of the commit record), ``end`` (after it; 0:
    the transaction goes on in the next block) and ``time`` of the commit, microseconds since 1970."""

    xid: pa.Int64Array
    commit: pa.Int64Array
    end: pa.Int64Array
    time: pa.Int64Array

    def __len__(self) -> int:
        return len(self.xid)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of one table in log order. ``kinds`` holds a RowKind per row. ``absent`` marks cells that the log does not
    hold; they are null in ``data``. ``transactions`` is the index of each row's transaction in the block, ``order`` its
    place among the changes of that transaction, from 0; both rows of an update have the same."""

    table: TableVersion
    data: pa.RecordBatch
    kinds: pa.UInt8Array
    absent: pa.RecordBatch | None
    transactions: pa.Int64Array
    order: pa.Int64Array


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of any number of tables, a batch each. Order is kept in a table; between tables ``TableRows.order`` holds
    it. ``position`` is the one after the block. ``left_out`` counts changes of tables that were refused."""

    rows: tuple[TableRows, ...]
    transactions: Transactions
    position: LogPosition
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Truncation:
    """The tables were emptied by one statement."""

    tables: tuple[TableVersion, ...]
    cascade: bool
    restart_identity: bool
    position: LogPosition


@dataclass(frozen=True, slots=True)
class LogicalMessage:
    """A message that a session wrote into the log. A message that is not transactional stands outside of transactions
    and does not move the position."""

    transactional: bool
    lsn: int
    prefix: str
    content: bytes
    position: LogPosition


LogElement: TypeAlias = Block | RelationChange | TableRefused | Truncation | LogicalMessage
