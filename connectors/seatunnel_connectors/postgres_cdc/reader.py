"""Reads the log of a slot through the replication protocol, as batches of its tables.

Rules. (1) Reading begins at the end of the last whole transaction before the position, and passes over what was read of
the open one. (2) The server is told only what a checkpoint confirms (``confirm``). (3) A slot that another connection
holds is taken over: it belongs to a driver that this one has replaced, or to a worker that is gone. (4) The log is read
on the server that it began on: a log that went on elsewhere, or was forgotten, is refused (F-C6, F-C16).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from seatunnel_connectors.jdbc.postgres.connection.session import conninfo, statements
from seatunnel_connectors.jdbc.postgres.connection.types import NativeType
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.postgres_cdc.catalog_types import CatalogTypes
from seatunnel_connectors.postgres_cdc.log_enumerator import LogPlace
from seatunnel_connectors.postgres_cdc.log_rows import RowFilter, ending, has_reached, place_of, position_of
from seatunnel_connectors.postgres_cdc.pgoutput.changes import Before
from seatunnel_connectors.postgres_cdc.pgoutput.decoder import PgoutputDecoder
from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, LogElement, LogPosition, Truncation
from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationCache, RelationChange, TableRefused
from seatunnel_connectors.postgres_cdc.pgoutput.transactions import TransactionTracker
from seatunnel_connectors.postgres_cdc.replication.connection import (
    Received,
    ReplicationConnection,
    ReplicationStream,
    StreamOptions,
)
from seatunnel_connectors.postgres_cdc.replication.failures import LogLostError, SlotInUseError
from seatunnel_connectors.postgres_cdc.replication.slots import check_start, find_slot, take_over
from seatunnel_py.api import (
    PLAIN_READ,
    Element,
    FatalError,
    Heartbeat,
    Position,
    ReadContext,
    Reader,
    SchemaChange,
    SourceTable,
    Split,
    TablePath,
)

IDLE_SECONDS = 0.05
TAKE_OVER_SECONDS = 10.0
HEARTBEAT_SECONDS = 5.0


@dataclass(slots=True)
class PooledTypes:
    """Looks types up with a connection of the worker's pool."""

    address: Address
    known: dict[int, NativeType] = field(default_factory=dict)

    def __call__(self, oids: Collection[int]) -> Mapping[int, NativeType]:
        if all(oid in self.known for oid in oids):
            return self.known
        with statements(self.address) as db:
            return CatalogTypes(db, self.known)(oids)


class LogReader(Reader):
    """Reads the log for these tables, whose schemas are those that the job was planned with."""

    def __init__(self, address: Address, tables: Sequence[SourceTable]) -> None:
        self._address = address
        self._tables = {table.schema.path: table.schema for table in tables}
        self._stream: ReplicationStream | None = None

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        place = LogPlace.of(split)
        begin = LogPosition() if start is None else place_of(start)
        connection = ReplicationConnection(conninfo(self._address), f"the log of {self._address.display}")
        try:
            self._require_same_server(connection, place)
            self._stream = self._opened(connection, place, begin)
            yield from self._elements(self._stream, place, begin, context)
        finally:
            stream, self._stream = self._stream, None
            if stream is not None and connection.pgconn.status == 0:
                stream.stop()
            connection.close()

    def confirm(self, position: Position) -> None:
        if self._stream is not None:
            self._stream.confirm(place_of(position).end)

    def idle(self) -> None:
        if self._stream is not None:
            self._stream.keep_alive()

    # ---------------------------------------------------------------- opening

    def _require_same_server(self, connection: ReplicationConnection, place: LogPlace) -> None:
        found = connection.identify().system
        if found != place.system:
            raise LogLostError(
                f"the log began on the server {place.system}, and {self._address.display} is the server {found}",
                "correct the url; a job on another server begins anew with --fresh",
            )

    def _opened(self, connection: ReplicationConnection, place: LogPlace, begin: LogPosition) -> ReplicationStream:
        oldest = begin.end or min(position for _, position in place.starts)
        options = StreamOptions(place.slot, (place.publication,), oldest)
        with statements(self._address) as db:
            check_start(find_slot(db, place.slot), place.slot, oldest)
        try:
            return connection.start(options)
        except SlotInUseError:
            with statements(self._address) as db:
                take_over(db, place.slot, TAKE_OVER_SECONDS)
            return connection.start(options)

    # ---------------------------------------------------------------- reading

    def _elements(
        self, stream: ReplicationStream, place: LogPlace, begin: LogPosition, context: ReadContext
    ) -> Iterator[Element]:
        starts = {path: position for path, position in place.starts if path in self._tables}
        until = None if context.until is None else place_of(context.until)
        chosen = RowFilter(starts, until)
        relations = RelationCache(
            PooledTypes(self._address), self._address.database, self._key, lambda path: path in starts
        )
        decoder = PgoutputDecoder(relations, TransactionTracker(begin), Before.MOVES)
        stream.expect(len(starts))
        place_now = begin
        while until is None or not has_reached(place_now, until):
            received = stream.receive(IDLE_SECONDS)
            if received.ended:
                raise LogLostError(f"the server has ended the log of slot {place.slot!r}", "run the job again")
            for element in decoder.decode(received.messages):
                yield from self._given(element, chosen, context)
            place_now = _after(decoder, received)
            if until is None or not has_reached(place_now, until):
                yield Heartbeat(position_of(place_now))
        assert context.until is not None, "without an end the log is read on"
        yield Heartbeat(context.until)

    def _given(self, element: LogElement, chosen: RowFilter, context: ReadContext) -> Iterator[Element]:
        match element:
            case Block():
                end = position_of(element.position)
                if context.until is not None and has_reached(element.position, place_of(context.until)):
                    end = context.until
                for batch in ending(chosen.batches(element), end):
                    self._check(batch.table, batch.data.schema)
                    yield batch
            case RelationChange():
                yield self._changed(element)
            case TableRefused():
                raise FatalError(element.message, element.remedy)
            case Truncation():
                names = ", ".join(str(table.path) for table in element.tables)
                raise FatalError(
                    f"{names} was truncated, which a job that follows the log cannot repeat yet",
                    "begin anew with --fresh, which copies the tables again",
                )
            case _:
                return

    def _key(self, path: TablePath) -> Sequence[str]:
        schema = self._tables.get(path)
        return () if schema is None or schema.primary_key is None else schema.primary_key.columns

    def _check(self, path: TablePath, found: object) -> None:
        """The log describes a table as it was when a row was written, and the plan as it is."""
        wanted = self._tables[path].arrow()
        if found != wanted and not _alike(found, wanted):
            raise FatalError(
                f"table {path} looks different in the log: {_columns(found)} instead of {_columns(wanted)}",
                "begin anew with --fresh, which copies it as it is now",
            )

    def _changed(self, change: RelationChange) -> SchemaChange:
        return SchemaChange(
            change.before.path, self._tables[change.before.path], change.after.schema(), change.after.number
        )


def _after(decoder: PgoutputDecoder, received: Received) -> LogPosition:
    """The position after what was received: between transactions it moves with the server's, so that the log of other
    tables can be forgotten (F-C4)."""
    place = decoder.tracker.position
    if received.idle_end is None or decoder.tracker.open is not None or place.index:
        return place
    moved = LogPosition(place.commit, max(place.end, received.idle_end))
    decoder.tracker.position = moved
    return moved


def _alike(found: object, wanted: object) -> bool:
    return _columns(found) == _columns(wanted)


def _columns(schema: object) -> str:
    return ", ".join(f"{one.name} {one.type}" for one in schema)  # type: ignore[attr-defined]
