"""Follows the position through the events of a log: files, offsets of 64 bits, transactions."""

from __future__ import annotations

from dataclasses import dataclass, field

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.event_types import ARTIFICIAL_FLAG, EventHeader
from seatunnel_connectors.mysql_cdc.log.events import (
    LogHeartbeat,
    MariadbGtid,
    MysqlGtid,
    PreviousGtidList,
    PreviousGtids,
    Rotate,
)
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList, MariadbGtidId
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet, Interval, Source
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition, Gtids, Place, file_number, has_all

_WRAP = 1 << 32


@dataclass(slots=True)
class LogTracker:
    """``offset`` is the end of the last event; the transaction in progress began at ``begin``."""

    file: str = ""
    offset: int = 0
    gtids: Gtids | None = None
    server: str = ""
    begin: int = 0
    current: MysqlGtid | MariadbGtid | None = None
    in_transaction: bool = False
    explicit: bool = False
    """The transaction has a BEGIN, and ends with a COMMIT."""
    events: int = 0
    skip_events: int = 0
    skip_rows: int = 0
    last_transaction: MysqlGtid | MariadbGtid | None = None
    _last: dict[int, MariadbGtidId] = field(default_factory=dict)
    _ranges: dict[Source, Interval] = field(default_factory=dict)

    @classmethod
    def at(cls, start: BinlogPosition) -> LogTracker:
        """``skip_events`` and ``skip_rows`` are those of the first transaction that were taken before."""
        return cls(
            start.file, start.offset, start.gtids, start.server, start.offset, skip_events=start.events,
            skip_rows=start.rows,
        )  # fmt: skip

    @property
    def place(self) -> Place:
        """The place after everything that was read, or that is passed over; before the first file all are later."""
        return file_number(self.file), self.begin, self.events if self.in_transaction else 0

    # ------------------------------------------------------------ files

    def passed(self, header: EventHeader) -> None:
        """Note that an event of the file was read whole. Its end position has 32 bits only, so it is completed from the
        earlier one: positions grow."""
        if not header.end_position or header.flags & ARTIFICIAL_FLAG:
            return
        end = self.offset // _WRAP * _WRAP + header.end_position
        self.offset = end if end >= self.offset else end + _WRAP

    def rotated(self, event: Rotate) -> None:
        """The position in the event's header belongs to the file before (F-C30)."""
        self.file = event.file
        self.offset = event.position
        if not self.in_transaction:
            self.begin = self.offset

    def idle(self, event: LogHeartbeat) -> None:
        if event.file:
            self.file = event.file
        if event.position and not self.in_transaction:
            end = self.offset // _WRAP * _WRAP + event.position if event.position < _WRAP else event.position
            self.offset = max(self.offset, end)
            self.begin = self.offset

    def known_before(self, event: PreviousGtids | PreviousGtidList) -> None:
        """The transactions before a file. A dump by transactions has begun with a larger set."""
        if self.gtids is None:
            self.gtids = event.gtids

    # ------------------------------------------------------------ transactions

    def begins(self, event: MysqlGtid | MariadbGtid, start: int) -> None:
        """A transaction begins at ``start`` with its id."""
        self.current = event
        self.begin = start
        self.events = 0
        self.in_transaction = True
        self.explicit = isinstance(event, MariadbGtid) and not event.standalone

    def begins_explicitly(self, start: int) -> None:
        """BEGIN: the first event of a transaction without an id."""
        if self.current is None:
            self.begin = start
            self.events = 0
        self.in_transaction = self.explicit = True

    def took_event(self) -> None:
        self.events += 1

    def ends(self) -> None:
        """The transaction is over."""
        current = self.current
        if isinstance(current, MariadbGtid):
            self._last[current.gtid.domain] = current.gtid
        elif current is not None and current.number:
            self._executed(current.uuid, current.tag, current.number)
        self.last_transaction = current
        self.current = None
        self.in_transaction = self.explicit = False
        self.begin = self.offset
        self.events = self.skip_events = self.skip_rows = 0

    def _executed(self, uuid: str, tag: str, number: int) -> None:
        first, end = self._ranges.get((uuid, tag), (number, number))
        if number != end:
            self._fold()
            first = number
        self._ranges[uuid, tag] = (first, number + 1)

    def _fold(self) -> None:
        """Add the transactions since the last time to the set: that costs too much for each of them."""
        if self._last:
            known = dict(self.gtids.last) if isinstance(self.gtids, GtidList) else {}
            self.gtids = GtidList(dict(sorted({**known, **self._last}.items())))
            self._last = {}
        if self._ranges and isinstance(self.gtids, GtidSet):
            self.gtids = self.gtids.union(GtidSet({source: (one,) for source, one in self._ranges.items()}))
        self._ranges = {}

    def has_read(self, gtids: Gtids | None) -> bool:
        """Whether these transactions have been read."""
        self._fold()
        return has_all(self.gtids, gtids)

    def transaction(self) -> str:
        """The id of the last transaction that ended; its end's position where the log has no ids."""
        return transaction_text(self.last_transaction) or f"{self.file}:{self.begin}"

    def position(self) -> BinlogPosition:
        """The position after everything that was read."""
        if not self.file:
            raise BinlogFormatError("the log does not name its file: a rotate event is missing at its start")
        self._fold()
        if not self.in_transaction and not self.skip_events:
            return BinlogPosition(self.file, self.begin, self.gtids, 0, self.skip_rows, self.server)
        rows = self.skip_rows if self.events <= self.skip_events else 0
        return BinlogPosition(self.file, self.begin, self.gtids, max(self.events, self.skip_events), rows, self.server)


def transaction_text(found: MysqlGtid | MariadbGtid | None) -> str | None:
    """The id of a transaction; None: the log has none for it."""
    if isinstance(found, MariadbGtid):
        return str(found.gtid)
    if found is None or not found.number:
        return None
    return ":".join(filter(None, (found.uuid, found.tag, str(found.number))))
