"""Defines the events of a log as values. ``RowsEvent`` refers to the bytes that it was parsed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from seatunnel_connectors.mysql_cdc.log.event_types import EventHeader, RowsForm
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList, MariadbGtidId
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet
from seatunnel_connectors.mysql_cdc.log.status_variables import StatusVariables
from seatunnel_connectors.mysql_cdc.log.table_map import TableMap


@dataclass(frozen=True, slots=True)
class FormatDescription:
    """The first event of a file: how the others are laid out. With ``checksums`` each ends in a CRC32."""

    header: EventHeader
    server_version: str
    header_bytes: int
    post_header_bytes: tuple[int, ...]
    checksums: bool

    @property
    def mariadb(self) -> bool:
        return "mariadb" in self.server_version.lower()


@dataclass(frozen=True, slots=True)
class Rotate:
    """The log goes on in another file, at ``position`` there. The header's position belongs to the file before."""

    header: EventHeader
    file: str
    position: int


@dataclass(frozen=True, slots=True)
class MysqlGtid:
    """A transaction of MySQL begins. ``number`` is 0 in an anonymous one."""

    header: EventHeader
    uuid: str
    number: int
    tag: str = ""
    commit_microseconds: int = 0
    """Since 1970, at the server that executed the transaction first; 0 before MySQL 8.0.1."""


class MariadbGtid(NamedTuple):
    """A transaction of MariaDB begins. A ``standalone`` one is a single statement without COMMIT. A tuple, as it comes
    with each transaction."""

    header: EventHeader
    gtid: MariadbGtidId
    standalone: bool
    ddl: bool
    xid: bytes = b""
    """Of a prepared or completed XA transaction: format, lengths and data as logged."""
    prepared: bool = False
    completed: bool = False


@dataclass(frozen=True, slots=True)
class PreviousGtids:
    """All transactions before this file, of MySQL."""

    header: EventHeader
    gtids: GtidSet


@dataclass(frozen=True, slots=True)
class PreviousGtidList:
    """The last transactions before this file, of MariaDB."""

    header: EventHeader
    gtids: GtidList


@dataclass(frozen=True, slots=True)
class Query:
    """A statement: BEGIN, COMMIT, DDL, or a change that is logged by its text."""

    header: EventHeader
    thread: int
    error: int
    database: str
    statement: str
    status: StatusVariables


class RowsEvent(NamedTuple):
    """Rows of one table. A tuple, because one is made for each event.

    ``present`` is the bitmap of the columns that an image holds; ``present_after`` that of the second image of an
    update. ``body`` holds the images one after the other.
    """

    header: EventHeader
    table_id: int
    form: RowsForm
    column_count: int
    present: bytes
    present_after: bytes
    body: memoryview


class Xid(NamedTuple):
    """COMMIT of a transaction."""

    header: EventHeader


@dataclass(frozen=True, slots=True)
class XaPrepare:
    """A transaction is prepared; its decision comes in a later event. With ``one_phase`` it is committed at once."""

    header: EventHeader
    one_phase: bool
    xid: bytes


@dataclass(frozen=True, slots=True)
class RowsQuery:
    """The statement that the following rows events come from."""

    header: EventHeader
    statement: str


@dataclass(frozen=True, slots=True)
class LogHeartbeat:
    """The log ends at that position for now. No file of the log holds this event."""

    header: EventHeader
    file: str
    position: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The server was shut down in order."""

    header: EventHeader


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event without a meaning for rows or positions."""

    header: EventHeader


Event: TypeAlias = (
    FormatDescription
    | Rotate
    | MysqlGtid
    | MariadbGtid
    | PreviousGtids
    | PreviousGtidList
    | Query
    | TableMap
    | RowsEvent
    | Xid
    | XaPrepare
    | RowsQuery
    | LogHeartbeat
    | Stop
    | Ignored
)
