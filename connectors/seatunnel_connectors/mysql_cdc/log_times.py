"""Finds the place of a log at a time, which the server's log has in whole seconds.

The time of a transaction is that of its statement, so an earlier one may follow in the log: rows since the first
transaction with that time are given, and all that follow it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.dump.session import DumpSession, log_files
from seatunnel_connectors.mysql_cdc.log.event_parser import EventParser
from seatunnel_connectors.mysql_cdc.log.event_types import EventType
from seatunnel_connectors.mysql_cdc.log.events import Rotate
from seatunnel_connectors.mysql_cdc.log_places import end_of_log
from seatunnel_connectors.mysql_cdc.options import FIRST_OFFSET
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_tracker import LogTracker

_STARTS = (
    EventType.FORMAT_DESCRIPTION, EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED,
    EventType.MARIADB_GTID,
)  # fmt: skip


def place_at(address: Address, session: MysqlSession, server_id: int, milliseconds: int) -> BinlogPosition:
    """The first transaction at that time since 1970, or later; the end of the log if there is none. Looks at the
    beginnings of some files, and reads one."""
    files, end = log_files(session), end_of_log(session)
    low, high = 0, len(files) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _begun(address, server_id, files[middle]) * 1000 < milliseconds:
            low = middle
        else:
            high = middle - 1
    with closing(_times(address, server_id, files[low])) as times:
        for seconds, place in times:
            if seconds * 1000 >= milliseconds and place.offset > FIRST_OFFSET:
                return place
    return end


def _begun(address: Address, server_id: int, file: str) -> int:
    with closing(_times(address, server_id, file)) as times:
        return next(times)[0]


def _times(address: Address, server_id: int, file: str) -> Generator[tuple[int, BinlogPosition], None, None]:
    """The time of each beginning of a file or transaction, from that file to the end of the log."""
    parser, track = EventParser(), LogTracker.at(BinlogPosition(file, FIRST_OFFSET))
    with closing(DumpSession(address, DumpRequest(server_id, file, bounded=True))) as dump:
        for data in dump.events():
            header = parser.header(data)
            if header.type in (EventType.ROTATE, EventType.FORMAT_DESCRIPTION):
                for event in parser.parse(header, data):
                    if isinstance(event, Rotate):
                        track.rotated(event)
            if header.type in _STARTS:
                yield header.timestamp, BinlogPosition(track.file, track.offset)
            if header.type != EventType.ROTATE:
                track.passed(header)
