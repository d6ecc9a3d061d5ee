"""Reads the log of a server as one of its replicas, as batches of the captured tables.

Rules. (1) A place inside of a transaction is its start and the number of events that were taken: reading begins at the
start, because events need the table maps before them. (2) Nothing is confirmed to the server, which keeps its log for
a time of its own: a log that is gone is refused (F-C9). (3) The log is read on the server that it began on (F-C24).
(4) A change of rows without row events stops the job, with its statement: DDL, TRUNCATE, statements that are
logged by their text, prepared transactions of XA.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from seatunnel_connectors.jdbc.mysql.connection.session import explained, sessions
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.dump.session import DumpSession
from seatunnel_connectors.mysql_cdc.log_places import require_log
from seatunnel_connectors.mysql_cdc.log_rows import batches, ending
from seatunnel_connectors.mysql_cdc.log_split import BinlogPlace
from seatunnel_connectors.mysql_cdc.reading.changes import LogChange, LogTableChange, RowsBlock
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_reader import LogReader
from seatunnel_connectors.mysql_cdc.reading.table_starts import TableStarts
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions
from seatunnel_connectors.mysql_cdc.schema.history import TableChange, TableChangeKind, TableHistory
from seatunnel_connectors.mysql_cdc.server_checks import require_same_server
from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    Element,
    FatalError,
    Heartbeat,
    Position,
    ReadContext,
    Reader,
    Rejected,
    SchemaChange,
    SourceTable,
    Split,
)

IDLE_SECONDS = 0.05
BLOCK_SECONDS = 0.2
"""How long rows wait for others, to be decoded together."""
_OFFSET_MAX = (1 << 32) - 1


class BinlogReader(Reader):
    """Reads the log for these tables, whose schemas are those that the job was planned with."""

    def __init__(self, address: Address, tables: Sequence[SourceTable], server_id: int, decode: DecodeOptions) -> None:
        self._address = address
        self._schemas = {(one.schema.path.database, one.schema.path.table): one.schema for one in tables}
        self._server_id = server_id
        self._decode = decode

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        place = BinlogPlace.of(split)
        begin = place.begin if start is None else BinlogPosition.of(start.value)
        with explained(f"looking up the log of {self._address.display}"), sessions(self._address) as session:
            require_same_server(self._address, session, place.server)
            require_log(session, begin)
        dump = DumpSession(self._address, request_from(begin, self._server_id))
        try:
            yield from self._elements(dump, place, begin, context)
        finally:
            dump.close()

    def _elements(
        self, dump: DumpSession, place: BinlogPlace, begin: BinlogPosition, context: ReadContext
    ) -> Iterator[Element]:
        starts = TableStarts(
            {name: one for name, one in place.starts.items() if name in self._schemas}, place.definitions
        )
        server = dump.server
        history = TableHistory(
            {}, starts.captured, mariadb=server.mariadb, server_version=server.version, fold_names=server.fold_names
        )
        until = None if context.until is None else BinlogPosition.of(context.until.value)
        reader = LogReader(history, begin, options=self._decode, starts=starts, until=until)
        now, flushed = begin, time.monotonic()
        while not reader.ended:
            for change in _changes(reader, dump, flushed):
                now, flushed = change.end, time.monotonic()
                end = _position(now) if context.until is None or not reader.ended else context.until
                yield from self._given(change, end, context)
            if not reader.ended:
                yield Heartbeat(_position(now))
        assert context.until is not None, "without an end the log is read on"
        yield Heartbeat(context.until)

    # ---------------------------------------------------------------- changes

    def _given(self, change: LogChange, end: Position, context: ReadContext) -> Iterator[Element]:
        if isinstance(change, RowsBlock):
            yield from ending(self._batches(change, context), end)
        elif isinstance(change, LogTableChange):
            yield from self._changed(change.change)

    def _batches(self, block: RowsBlock, context: ReadContext) -> Iterator[Batch | Rejected]:
        if block.prepared is not None:
            names = ", ".join(".".join(one.name) for one in block.tables)
            raise FatalError(
                f"the transaction {block.prepared} of XA changes {names}: its rows are in the log before it is decided",
                "write these tables without XA, and start over with --fresh",
            )
        for one in block.tables:
            yield from batches(one, self._schemas[one.name], tolerant=context.tolerant)

    def _changed(self, change: TableChange) -> Iterator[Element]:
        """Stop at a change that rows cannot follow; a table that is made as it was planned is none."""
        planned = self._schemas[change.name]
        if change.kind is TableChangeKind.TRUNCATED:
            raise FatalError(
                f"table {planned.path} was truncated, which a job that follows the log cannot repeat yet: "
                f"{change.statement}",
                "start over with --fresh, which copies the table again",
            )
        if change.after is None or change.needs_refresh:
            raise FatalError(
                f"table {planned.path} was changed in a way that its rows in the log do not show ({change.kind}): "
                f"{change.statement}",
                "start over with --fresh, which copies the table again",
            )
        after = change.after.as_schema(self._decode)
        if after.arrow() != planned.arrow():
            yield SchemaChange(planned.path, planned, after, change.version, change.statement)


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
