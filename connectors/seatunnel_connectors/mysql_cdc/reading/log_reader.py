"""Reads a log: events go in, changes of captured tables come out, in blocks of bounded size.

Rows events are collected as bytes and decoded together, a table at a time. A block ends at a change of a captured
table, at its size, and when the caller asks for it: usually as soon as nothing more has arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError, StatementLoggedError, TableLogError
from seatunnel_connectors.mysql_cdc.log.event_parser import EventParser
from seatunnel_connectors.mysql_cdc.log.event_types import EventHeader, EventType
from seatunnel_connectors.mysql_cdc.log.events import (
    Event,
    FormatDescription,
    LogHeartbeat,
    MariadbGtid,
    MysqlGtid,
    PreviousGtidList,
    PreviousGtids,
    Query,
    Rotate,
    RowsEvent,
    XaPrepare,
    Xid,
)
from seatunnel_connectors.mysql_cdc.log.table_map import TableMap
from seatunnel_connectors.mysql_cdc.log.xa_ids import XaId
from seatunnel_connectors.mysql_cdc.reading.changes import (
    LogChange,
    LogIdle,
    LogTableChange,
    LogTransactionEnd,
    RowsBlock,
    XaDecided,
)
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_tracker import LogTracker
from seatunnel_connectors.mysql_cdc.reading.row_places import EventPlace
from seatunnel_connectors.mysql_cdc.reading.rows_collector import RowsCollector
from seatunnel_connectors.mysql_cdc.reading.table_starts import TableStarts
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Statement, StatementKind
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions
from seatunnel_connectors.mysql_cdc.schema.history import TableChange, TableHistory

_PLAIN = {"BEGIN": StatementKind.BEGIN, "COMMIT": StatementKind.COMMIT}


class LogReader:
    """``before = False`` drops the images before updates. ``starts``: tables that count from later places of the log.
    ``until``: the place where reading ends, an end that an earlier reader has yielded; ``ended``: it was reached.
    ``metadata``: names of the metadata that blocks get."""

    def __init__(
        self,
        history: TableHistory,
        start: BinlogPosition,
        *,
        options: DecodeOptions | None = None,
        before: bool = True,
        parser: EventParser | None = None,
        starts: TableStarts | None = None,
        until: BinlogPosition | None = None,
        metadata: frozenset[str] = frozenset(),
    ) -> None:
        self._history = history
        self._starts = starts
        self._until = until
        self._parser = parser or EventParser()
        self._track = LogTracker.at(start)
        self.ended = self._is_at_end()
        if starts is not None:
            starts.reach(*start.place[:2], history)
        self._rows = RowsCollector(history, options or DecodeOptions(), before=before, metadata=metadata)
        self._needs_places = bool(metadata)
        self._transactions = 0
        self._moved = False
        self._xa: XaId | None = None
        self._taken_in_transaction = 0

    def read(self, events: Iterable[memoryview]) -> Iterator[LogChange]:
        """The changes of these events. Rows may wait for ``flush``."""
        parser, track = self._parser, self._track
        for data in events:
            header = parser.header(data)
            start = track.offset
            for event in parser.parse(header, data):
                # The events of small transactions are the most, and yield nothing by themselves.
                kind = type(event)
                if kind is RowsEvent:
                    self._take(event)  # type: ignore[arg-type]  # narrowed by its exact type: half of isinstance's cost
                    if self._is_at_end():
                        break
                    if self._rows.full:
                        yield from self.flush()
                elif kind is Xid:
                    self._ended(header)
                elif not (kind is TableMap and self._rows.knows(event)):  # type: ignore[arg-type]
                    yield from self._event(event, header, start)
            if header.type != EventType.ROTATE:
                track.passed(header)  # the end of a rotate event is one of the file before
            if not track.in_transaction:
                track.begin = track.offset
            if self._is_at_end():
                self.ended = True
                yield from self.flush()
                return

    def _is_at_end(self) -> bool:
        """Whether everything up to ``until`` was read. On another server than that of ``until``, transactions show it:
        places do not."""
        until, track = self._until, self._track
        if until is None:
            return False
        if until.server == track.server or not (until.server and track.server):
            return track.place >= until.place
        return not track.in_transaction and track.has_read(until.gtids)

    def flush(self) -> Iterator[LogChange]:
        """Everything that was read and not yielded, and the position after it."""
        end = self._track.position() if self._track.file else None
        tables = self._rows.take()
        if end is None:
            if tables:
                raise BinlogFormatError("the log begins with rows, without the name of its file")
            return
        if tables:
            yield RowsBlock(tables, end, self._transactions, self._xa)
        if self._transactions and not self._track.in_transaction:
            yield LogTransactionEnd(self._track.transaction(), end)
        elif self._moved and not tables:
            yield LogIdle(end)
        self._transactions = 0
        self._moved = False

    # ------------------------------------------------------------ events

    def _event(self, event: Event, header: EventHeader, start: int) -> Iterator[LogChange]:
        if isinstance(event, TableMap):
            yield from self._table_map(event)
        elif isinstance(event, MysqlGtid | MariadbGtid):
            yield from self._begins(event, start)
        elif isinstance(event, Query):
            yield from self._query(event, header, start)
        elif isinstance(event, Rotate):
            self._track.rotated(event)
            self._moved = True
        elif isinstance(event, FormatDescription):
            self._rows.new_file()
        elif isinstance(event, PreviousGtids | PreviousGtidList):
            self._track.known_before(event)
        elif isinstance(event, LogHeartbeat):
            self._track.idle(event)
            self._moved = True
        elif isinstance(event, XaPrepare):
            yield from self._prepared(event, header)

    def _count_tables(self) -> None:
        """Begin the tables that count in the transaction that begins. Their maps come again in it."""
        starts, track = self._starts, self._track
        if starts is None or not (starts.waiting or starts.divided):
            return
        if starts.reach(*track.place[:2], self._history):
            self._rows.new_file()

    def _take(self, event: RowsEvent) -> None:
        track = self._track
        track.took_event()
        if track.events <= track.skip_events:
            return
        skip = track.skip_rows if track.events == track.skip_events + 1 else 0
        if self._starts is not None and self._starts.divided and (name := self._rows.table_of(event)) is not None:
            given = self._starts.given(name, track.events)
            if given is None:
                return
            skip = max(skip, given)
        place = EventPlace.of(track) if self._needs_places else None
        self._taken_in_transaction += self._rows.add(event, skip, place)

    def _table_map(self, event: TableMap) -> Iterator[LogChange]:
        while (change := self._opened(event)) is not None:
            yield from self.flush()
            self._rows.forget_table(change.name)  # other tables keep their maps: rows of theirs may follow
            yield LogTableChange(change, self._track.position())

    def _opened(self, event: TableMap) -> TableChange | None:
        """Open the table of a map. A change that comes first is returned: then it is not open yet."""
        try:
            change = self._rows.change_of(event)
            if change is None:
                self._rows.table_map(event)
        except TableLogError as error:
            return self._history.stop((event.database, event.table), error)
        return change

    def _begins(self, event: MysqlGtid | MariadbGtid, start: int) -> Iterator[LogChange]:
        self._track.begins(event, start)
        self._count_tables()
        self._taken_in_transaction = 0
        if isinstance(event, MariadbGtid) and event.prepared:
            yield from self.flush()
            self._xa = XaId.from_bytes(event.xid)

    def _ended(self, header: EventHeader) -> None:
        self._track.passed(header)
        self._track.ends()
        self._transactions += 1
        self._moved = True

    def _prepared(self, event: XaPrepare, header: EventHeader) -> Iterator[LogChange]:
        """The rows before belong to a transaction that is prepared, or committed in one phase."""
        xid = XaId.from_bytes(event.xid)
        self._xa = None if event.one_phase else xid
        self._ended(header)
        yield from self.flush()
        self._xa = None

    # ------------------------------------------------------------ statements

    def _query(self, event: Query, header: EventHeader, start: int) -> Iterator[LogChange]:
        if self._track.current is None and not self._track.in_transaction:
            self._count_tables()  # a log without ids of transactions
        kind = _PLAIN.get(event.statement)
        statement, changes = (Statement(kind), []) if kind else self._history.statement(event)
        match statement.kind:
            case StatementKind.BEGIN:
                self._begins_explicitly(start)
            case StatementKind.COMMIT:
                self._ended(header)
            case StatementKind.ROLLBACK | StatementKind.ROLLBACK_TO:
                self._rolled_back(event, header, whole=statement.kind is StatementKind.ROLLBACK)
            case StatementKind.XA_START:
                yield from self.flush()
                self._begins_explicitly(start)
                self._xa = XaId.from_words([one.value for one in statement.details])
            case StatementKind.XA_COMMIT | StatementKind.XA_ROLLBACK:
                xid = XaId.from_words([one.value for one in statement.details])
                self._ended(header)
                yield from self.flush()
                yield XaDecided(xid, statement.kind is StatementKind.XA_COMMIT, self._track.position())
            case _:
                yield from self._changed(changes, None if self._track.explicit else header)

    def _begins_explicitly(self, start: int) -> None:
        if self._track.current is None:
            self._taken_in_transaction = 0
        self._track.begins_explicitly(start)

    def _changed(self, changes: list[TableChange], ends: EventHeader | None = None) -> Iterator[LogChange]:
        """Rows before a change come before it, and are decoded under the definition before it. ``ends``: the statement
        is a transaction of its own, as DDL is."""
        if changes:
            yield from self.flush()
            self._rows.forget()
        if ends is not None:
            self._ended(ends)
        if not changes:
            return
        end = self._track.position()
        for number, change in enumerate(changes, 1):
            yield LogTableChange(change, end, more=number < len(changes))
        if ends is not None:
            yield from self.flush()

    def _rolled_back(self, event: Query, header: EventHeader, *, whole: bool) -> None:
        if self._taken_in_transaction:
            raise StatementLoggedError(
                f"the log holds rows of captured tables that are rolled back after them ({event.statement}): a table "
                "without transactions was changed with them",
                "convert that table to InnoDB, and copy the captured tables again",
            )
        if whole:
            self._ended(header)
