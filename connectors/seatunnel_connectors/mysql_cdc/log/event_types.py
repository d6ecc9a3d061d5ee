"""Numbers the events of both servers, and defines the header that every event begins with."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple


class EventType(IntEnum):
    """MySQL's numbers below 100, MariaDB's own from 160 on."""

    QUERY = 2
    STOP = 3
    ROTATE = 4
    INTVAR = 5
    RAND = 13
    USER_VAR = 14
    FORMAT_DESCRIPTION = 15
    XID = 16
    BEGIN_LOAD_QUERY = 17
    EXECUTE_LOAD_QUERY = 18
    TABLE_MAP = 19
    WRITE_ROWS_V1 = 23
    UPDATE_ROWS_V1 = 24
    DELETE_ROWS_V1 = 25
    INCIDENT = 26
    HEARTBEAT = 27
    IGNORABLE = 28
    ROWS_QUERY = 29
    WRITE_ROWS = 30
    UPDATE_ROWS = 31
    DELETE_ROWS = 32
    GTID = 33
    ANONYMOUS_GTID = 34
    PREVIOUS_GTIDS = 35
    TRANSACTION_CONTEXT = 36
    VIEW_CHANGE = 37
    XA_PREPARE = 38
    PARTIAL_UPDATE_ROWS = 39
    TRANSACTION_PAYLOAD = 40
    HEARTBEAT_V2 = 41
    GTID_TAGGED = 42
    ANNOTATE_ROWS = 160
    BINLOG_CHECKPOINT = 161
    MARIADB_GTID = 162
    GTID_LIST = 163
    START_ENCRYPTION = 164
    QUERY_COMPRESSED = 165
    WRITE_ROWS_COMPRESSED_V1 = 166
    UPDATE_ROWS_COMPRESSED_V1 = 167
    DELETE_ROWS_COMPRESSED_V1 = 168
    WRITE_ROWS_COMPRESSED = 169
    UPDATE_ROWS_COMPRESSED = 170
    DELETE_ROWS_COMPRESSED = 171


class RowsKind(IntEnum):
    """The three changes of a row."""

    WRITE = 0
    UPDATE = 1
    DELETE = 2


class RowsForm(NamedTuple):
    """The layout of a rows event, which its type number determines."""

    kind: RowsKind
    version: int = 1
    compressed: bool = False
    partial: bool = False


ROWS_FORMS = {
    EventType.WRITE_ROWS_V1: RowsForm(RowsKind.WRITE),
    EventType.UPDATE_ROWS_V1: RowsForm(RowsKind.UPDATE),
    EventType.DELETE_ROWS_V1: RowsForm(RowsKind.DELETE),
    EventType.WRITE_ROWS: RowsForm(RowsKind.WRITE, 2),
    EventType.UPDATE_ROWS: RowsForm(RowsKind.UPDATE, 2),
    EventType.DELETE_ROWS: RowsForm(RowsKind.DELETE, 2),
    EventType.PARTIAL_UPDATE_ROWS: RowsForm(RowsKind.UPDATE, 2, partial=True),
    EventType.WRITE_ROWS_COMPRESSED_V1: RowsForm(RowsKind.WRITE, compressed=True),
    EventType.UPDATE_ROWS_COMPRESSED_V1: RowsForm(RowsKind.UPDATE, compressed=True),
    EventType.DELETE_ROWS_COMPRESSED_V1: RowsForm(RowsKind.DELETE, compressed=True),
    EventType.WRITE_ROWS_COMPRESSED: RowsForm(RowsKind.WRITE, 2, compressed=True),
    EventType.UPDATE_ROWS_COMPRESSED: RowsForm(RowsKind.UPDATE, 2, compressed=True),
    EventType.DELETE_ROWS_COMPRESSED: RowsForm(RowsKind.DELETE, 2, compressed=True),
}

HEADER_BYTES = 19
CHECKSUM_BYTES = 4
IN_USE_FLAG = 0x1
ARTIFICIAL_FLAG = 0x20
IGNORABLE_FLAG = 0x80
HEADER = struct.Struct("<IBIIIH")


class EventHeader(NamedTuple):
    """The first 19 bytes of an event. A tuple, because one is made for each event."""

    timestamp: int
    type: int
    server_id: int
    size: int
    end_position: int
    """Of the event's end in its file, modulo 4 GB; 0 in artificial events, and in those of a payload."""
    flags: int

    @property
    def artificial(self) -> bool:
        return bool(self.flags & ARTIFICIAL_FLAG)

    @property
    def ignorable(self) -> bool:
        return bool(self.flags & IGNORABLE_FLAG)


def name_of(event_type: int) -> str:
    """The name and number of an event's type, for messages."""
    known = event_type in EventType._value2member_map_
    return f"{EventType(event_type).name} ({event_type})" if known else f"of the unknown type {event_type}"
