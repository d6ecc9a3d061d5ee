"""Defines what a log reader yields: blocks of rows, changes of tables, ends of transactions, heartbeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from seatunnel_connectors.mysql_cdc.log.xa_ids import XaId
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.definitions import TableDefinition
from seatunnel_connectors.mysql_cdc.schema.history import TableChange

if TYPE_CHECKING:
    import pyarrow as pa

    from seatunnel_connectors.mysql_cdc.rows.table_decoder import RowImages


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows of one table under one definition. ``metadata`` holds a value per row, by name."""

    name: Name
    definition: TableDefinition
    version: int
    rows: RowImages
    metadata: Mapping[str, pa.Array]


@dataclass(frozen=True, slots=True)
class RowsBlock:
    """Rows of all tables up to ``end``: the order across tables is lost inside of a block, and kept between blocks.

    ``transactions`` ended inside of it. ``prepared`` is the XA transaction that the rows belong to: they wait for its
    decision.
    """

    tables: tuple[TableBlock, ...]
    end: BinlogPosition
    transactions: int = 0
    prepared: XaId | None = None


@dataclass(frozen=True, slots=True)
class LogTableChange:
    """A table is another from ``end`` on, which is the position after the statement. ``more``: other changes of the
    same statement follow."""

    change: TableChange
    end: BinlogPosition
    more: bool = False


@dataclass(frozen=True, slots=True)
class LogTransactionEnd:
    """Everything up to ``end`` is whole transactions; ``transaction`` is the last one."""

    transaction: str
    end: BinlogPosition


@dataclass(frozen=True, slots=True)
class XaDecided:
    """A prepared transaction is committed or rolled back."""

    xid: XaId
    commit: bool
    end: BinlogPosition


@dataclass(frozen=True, slots=True)
class LogIdle:
    """The log has nothing more for now, or only rows of other tables."""

    end: BinlogPosition


LogChange: TypeAlias = RowsBlock | LogTableChange | LogTransactionEnd | XaDecided | LogIdle
