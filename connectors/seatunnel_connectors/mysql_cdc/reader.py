"""Reads the log of a server as one of its replicas, as batches of the captured tables.

Rules. (1) A place inside of a transaction is its start and the number of events that were taken: reading begins at the
start, because events need the table maps before them. (2) Nothing is confirmed to the server, which keeps its log for
a time of its own: a log that is gone is refused (F-C9). (3) The log goes on at a replica that has taken the server's
place, by the ids of transactions (F-C24).
(4) A statement that changes a table is followed, or stops that table alone. (5) A bounded log ends at its bound, or
at the end of the transaction that holds it. Statements that are logged by their
text, and prepared transactions of XA, stop the job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from seatunnel_connectors.jdbc.mysql.connection.session import explained, sessions
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.dump.promotion import bounded_elsewhere, place_on, starts_on
from seatunnel_connectors.mysql_cdc.dump.session import DumpSession, identity_of
from seatunnel_connectors.mysql_cdc.log_enumerator import ENDED
from seatunnel_connectors.mysql_cdc.log_places import require_log
from seatunnel_connectors.mysql_cdc.log_rows import batches, ending, unreadable
from seatunnel_connectors.mysql_cdc.log_split import BinlogPlace
from seatunnel_connectors.mysql_cdc.reading.changes import LogChange, LogTableChange, RowsBlock
from seatunnel_connectors.mysql_cdc.reading.decode_ahead import decode_ahead
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_reader import LogReader
from seatunnel_connectors.mysql_cdc.reading.row_places import METADATA
from seatunnel_connectors.mysql_cdc.reading.table_starts import TableStarts
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions, TableDefinition
from seatunnel_connectors.mysql_cdc.schema.history import TableChange, TableHistory
from seatunnel_connectors.mysql_cdc.schema.schema_changes import element_of, hinted
from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    Element,
    FatalError,
    Heartbeat,
    Position,
    ReadContext,
    Reader,
    ReaderEvent,
    Rejected,
    SchemaChange,
    SchemaPolicy,
    SourceTable,
    Split,
    TablePath,
    TableStopped,
    TableTruncated,
)

IDLE_SECONDS = 0.05
BLOCK_SECONDS = 0.2
"""How long rows wait for others, to be decoded together."""
_OFFSET_MAX = (1 << 32) - 1


class BinlogReader(Reader):
    """Reads the log for these tables, whose schemas are those of the position. ``policy_of``: the changes of a
    table that the job follows."""

    def __init__(
        self,
        address: Address,
        tables: Sequence[SourceTable],
        server_id: int,
        decode: DecodeOptions,
        policy_of: Callable[[TablePath], SchemaPolicy],
    ) -> None:
        self._address = address
        self._tables = {(one.schema.path.database, one.schema.path.table): one for one in tables}
        self._stopped: set[Name] = set()
        self._changes: list[SchemaChange | TableTruncated | TableStopped] = []
        self._policy_of = policy_of
        self._server_id = server_id
        self._decode = decode

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        place = BinlogPlace.of(split.payload)
        begin = place.begin if start is None else BinlogPosition.of(start.value)
        begin = begin if begin.server else replace(begin, server=place.server)
        with explained(f"looking up the log of {self._address.display}"), sessions(self._address) as session:
            here = identity_of(session)
            starts = starts_on(place.starts, begin, place.server, here)
            if here != begin.server:
                if place.bound is not None:
                    raise bounded_elsewhere(self._address, place.bound, place.server, here)
                begin = place_on(self._address, session, begin, here)
            until = None if context.until is None else BinlogPosition.of(context.until.value)
            if until is not None and until.server not in ("", here):
                place_on(self._address, session, until, here)
            require_log(session, begin)
        place = replace(place, starts=starts)
        dump = DumpSession(self._address, request_from(begin, self._server_id), server=here)
        try:
            yield from decode_ahead(self._elements(dump, place, begin, context), dump.interrupt)
        finally:
            dump.close()

    def _elements(
        self, dump: DumpSession, place: BinlogPlace, begin: BinlogPosition, context: ReadContext
    ) -> Iterator[Element]:
        starts = TableStarts(
            {name: one for name, one in place.starts.items() if name in self._tables},
            {**place.definitions, **self._hinted()},
        )
        server = dump.server
        history = TableHistory(
            {}, starts.captured, mariadb=server.mariadb, server_version=server.version, fold_names=server.fold_names
        )
        until = place.bound if context.until is None else BinlogPosition.of(context.until.value)
        reader = LogReader(
            history, begin, options=self._decode, starts=starts, until=until, metadata=context.metadata & METADATA
        )
        now, flushed = begin, time.monotonic()
        while not reader.ended:
            for change in _changes(reader, dump, flushed):
                now, flushed = change.end, time.monotonic()
                end = _position(now) if context.until is None or not reader.ended else context.until
                yield from self._given(change, end, context)
            if not reader.ended:
                yield Heartbeat(_position(now))
        if context.until is not None:
            yield Heartbeat(context.until)
            return
        assert place.bound is not None, "without an end the log is read on"
        yield Heartbeat(_position(now))
        yield ReaderEvent({ENDED: now.to_plain()}, _position(now))

    # ---------------------------------------------------------------- changes

    def _given(self, change: LogChange, end: Position, context: ReadContext) -> Iterator[Element]:
        if isinstance(change, RowsBlock):
            yield from ending(self._batches(change, context), end)
        elif isinstance(change, LogTableChange):
            self._changes += self._changed(change.change)
            if not change.more:
                found, self._changes = self._changes, []
                yield from found[:-1]
                yield from (replace(one, end=end) for one in found[-1:])

    def _batches(self, block: RowsBlock, context: ReadContext) -> Iterator[Batch | Rejected | TableStopped]:
        if block.prepared is not None:
            names = ", ".join(".".join(one.name) for one in block.tables)
            raise FatalError(
                f"the transaction {block.prepared} of XA changes {names}: its rows are in the log before it is decided",
                "write these tables without XA, and start over with --fresh",
            )
        for one in block.tables:
            if one.name in self._stopped:
                continue
            schema = self._tables[one.name].schema
            stopped = unreadable(one, schema)
            for element in [stopped] if stopped else batches(one, schema, context):
                if isinstance(element, TableStopped):
                    self._stopped.add(one.name)
                yield element

    def _hinted(self) -> dict[Name, TableDefinition]:
        """The definitions that changes have left at this position."""
        found = ((name, hinted(table)) for name, table in self._tables.items())
        return {name: definition for name, definition in found if definition is not None}

    def _changed(self, change: TableChange) -> list[SchemaChange | TableTruncated | TableStopped]:
        """A change of a table, without its end; one that is made as it was planned is none."""
        if change.name in self._stopped:
            return []
        table = self._tables[change.name]
        found = element_of(change, table, self._decode, self._policy_of(table.schema.path))
        if isinstance(found, TableStopped):
            self._stopped.add(change.name)
        return [] if found is None else [found]


def request_from(begin: BinlogPosition, server_id: int) -> DumpRequest:
    """The request for the log from a place: by its file, or by transactions where the file is unknown or too long."""
    if begin.file and (begin.offset <= _OFFSET_MAX or begin.gtids is None):
        return DumpRequest(server_id, begin.file, begin.offset)
    return DumpRequest(server_id, gtids=begin.gtids)


def _position(place: BinlogPosition) -> Position:
    return Position(place.to_plain())


def _changes(reader: LogReader, dump: DumpSession, flushed: float) -> Iterator[LogChange]:
    """The changes that have arrived; rows wait for more of them, but not for long."""
    events = dump.read(IDLE_SECONDS)
    yield from reader.read(events)
    if not reader.ended and (not events or time.monotonic() - flushed >= BLOCK_SECONDS):
        yield from reader.flush()
