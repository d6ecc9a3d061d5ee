"""Reads the log of a slot through the replication protocol, as batches of its tables.

Rules. (1) Reading begins at the end of the last whole transaction before the position, and passes over what was read of
the open one. (2) The server gets only positions that a checkpoint confirms (``confirm``). (3) A slot that another
connection holds is taken over: it belongs to a driver that this one has replaced, or to a worker that is gone. (4) The
log is read on the server that it began on: a log that went on elsewhere, or was forgotten, is refused (F-C6, F-C16).
(5) A table that cannot be read stops alone, and so does one that is truncated or whose schema changes, unless the job
follows that. (6) A change of a schema counts from the first row under it, at the position before the block of that row:
nothing of the block is given. (7) A bounded log ends at its bound (``log_bound.py``): no later element is given. (8) A
unit ends between two transactions, or in a large one: a target gets a small transaction whole. (9) A table that is gone
from the catalog stops alone, when all of its rows are given (``captured_tables.py``). A unit that is repeated takes
that from the journal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from seatunnel_connectors.jdbc.postgres.connection.session import conninfo, statements
from seatunnel_connectors.jdbc.postgres.connection.types import NativeType
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.postgres_cdc.catalog_types import CatalogTypes
from seatunnel_connectors.postgres_cdc.log_bound import ReadLimit, at_time, end_of_log
from seatunnel_connectors.postgres_cdc.log_enumerator import ENDED, LogPlace
from seatunnel_connectors.postgres_cdc.log_rows import (
    RowFilter,
    ending,
    has_reached,
    moves_partially,
    place_of,
    position_of,
    timeline_of,
)
from seatunnel_connectors.postgres_cdc.pgoutput.changes import Before
from seatunnel_connectors.postgres_cdc.pgoutput.decoder import PgoutputDecoder
from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, LogElement, LogPosition, Truncation
from seatunnel_connectors.postgres_cdc.pgoutput.relations import (
    RelationCache,
    RelationChange,
    TableRefused,
    TableVersion,
)
from seatunnel_connectors.postgres_cdc.pgoutput.transactions import TransactionTracker
from seatunnel_connectors.postgres_cdc.replication.captured_tables import LOST, CapturedTables, oid_of
from seatunnel_connectors.postgres_cdc.replication.catch_up import CatchUp
from seatunnel_connectors.postgres_cdc.replication.connection import (
    Received,
    ReplicationConnection,
    ReplicationStream,
    StreamOptions,
    SystemIdentity,
)
from seatunnel_connectors.postgres_cdc.replication.failures import LogLostError, SlotInUseError
from seatunnel_connectors.postgres_cdc.replication.read_ahead import ReadAhead
from seatunnel_connectors.postgres_cdc.replication.slot_log import SlotLog
from seatunnel_connectors.postgres_cdc.replication.slots import check_start, find_slot, take_over
from seatunnel_connectors.postgres_cdc.replication.timelines import TakenPosition, start_on
from seatunnel_connectors.postgres_cdc.table_versions import TableVersions
from seatunnel_py.api import (
    COPY_AGAIN,
    PLAIN_READ,
    Batch,
    Element,
    FatalError,
    Heartbeat,
    Position,
    ReadContext,
    Reader,
    ReaderEvent,
    RetriableError,
    SchemaChange,
    SchemaPolicy,
    SourceTable,
    Split,
    TablePath,
    TableStopped,
    TableTruncated,
)

IDLE_SECONDS = 0.05
WHOLE_MAX = 10_000
"""Changes of a transaction that are given without a place to stop at."""
TAKE_OVER_SECONDS = 10.0
NOT_FOLLOWED = "set schema-changes.enabled = true, with a behavior that follows such changes"


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


class SlotReader(Reader):
    """Reads the log for these tables, whose schemas are those of the position. ``policy_of``: the changes of a
    table that the job follows."""

    def __init__(
        self,
        address: Address,
        tables: Sequence[SourceTable],
        policy_of: Callable[[TablePath], SchemaPolicy],
    ) -> None:
        self._address = address
        self._tables_of = {table.schema.path: table for table in tables}
        self._tables = {path: table.schema for path, table in self._tables_of.items()}
        policies = {path: policy_of(path) for path in self._tables}
        filled = frozenset(path for path, one in policies.items() if one.stops or one.fills_added)
        self._oids = {path: oid for path, one in self._tables_of.items() if (oid := oid_of(one)) is not None}
        self._lost = frozenset(path for path, one in self._tables_of.items() if LOST in one.log_hints)
        self._versions = TableVersions(self._tables_of, needs_earlier_values=filled)
        self._following = frozenset(path for path, one in policies.items() if not one.stops)
        self._given_until = LogPosition()
        self._until: Position | None = None
        self._timeline = 0
        self._log: ReadAhead | None = None
        self._confirmed: Position | None = None
        self._counting = RowFilter({})

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        place = LogPlace.of(split.payload)
        from_run = start or place.begin
        begin = LogPosition() if from_run is None else place_of(from_run)
        self._until = context.until
        connection = ReplicationConnection(conninfo(self._address), f"the log of {self._address.display}")
        slot_log = None
        try:
            server = self._same_server(connection, place)
            oldest = start_on(connection, server, taken(place, from_run))
            if context.until is not None:
                start_on(connection, server, taken(place, context.until))
            if begin.end > oldest:
                begin = replace(begin, end=oldest)
            self._timeline = server.timeline
            slot_log = self._opened(connection, place, oldest, server)
            self._log = ReadAhead(slot_log, self._confirmed_here())
            yield from self._elements(self._log, place, begin, context)
        finally:
            log, self._log = self._log, None
            if log is not None:
                log.stop()
            if slot_log is not None:
                slot_log.close()
            connection.close()

    def confirm(self, position: Position) -> None:
        self._confirmed = position
        if self._log is not None:
            self._log.confirm(self._confirmed_here())

    def _confirmed_here(self) -> int:
        """The position that is durable; 0: it is one of another timeline, where the same number is another place."""
        known = self._confirmed
        here = known is not None and timeline_of(known) in (0, self._timeline)
        return place_of(known).end if known is not None and here else 0

    # ---------------------------------------------------------------- opening

    def _same_server(self, connection: ReplicationConnection, place: LogPlace) -> SystemIdentity:
        """The server, which must be the one that the log began on, or a standby that has taken its place."""
        found = connection.identify()
        if found.system != place.system:
            raise LogLostError(
                f"the log began on the server {place.system}, and {self._address.display} is the server {found.system}",
                "correct the url; a job on another server starts with --fresh",
            )
        return found

    def _opened(
        self, connection: ReplicationConnection, place: LogPlace, oldest: int, server: SystemIdentity
    ) -> SlotLog:
        options = StreamOptions(place.slot, (place.publication,), oldest)
        with statements(self._address) as db:
            check_start(find_slot(db, place.slot), place.slot, oldest, server.position)
            what = f"the log of {self._address.display}, slot {place.slot}"
            catch_up = CatchUp.begun(db, conninfo(self._address), options, what)
        return SlotLog(catch_up, lambda start: self._stream(connection, replace(options, start=start)), oldest)

    def _stream(self, connection: ReplicationConnection, options: StreamOptions) -> ReplicationStream:
        try:
            return connection.start(options)
        except SlotInUseError:
            with statements(self._address) as db:
                take_over(db, options.slot, TAKE_OVER_SECONDS)
            return connection.start(options)

    # ---------------------------------------------------------------- reading

    def _elements(self, log: ReadAhead, place: LogPlace, begin: LogPosition, context: ReadContext) -> Iterator[Element]:
        starts = {path: position for path, position in place.starts if path in self._tables}
        given = {path: to for path, to in place.given if path in starts and not has_reached(begin, to)}
        self._counting = RowFilter(starts, given=given, metadata=context.metadata)
        limit = ReadLimit(None if context.until is None else place_of(context.until), place.bound)
        relations = RelationCache(
            PooledTypes(self._address), self._address.database, self._key, partial(self._wants, frozenset(starts))
        )
        oids = {path: oid for path, oid in self._oids.items() if path in starts and path not in self._lost}
        captured = CapturedTables(oids, place.publication, partial(statements, self._address), end_of_log)
        before = Before.IMAGES if context.before_images else Before.MOVES
        decoder = PgoutputDecoder(relations, TransactionTracker(begin), before)
        self._given_until = now = begin
        log.begin(len(starts))
        while not limit.has_reached(now):
            received = log.receive(IDLE_SECONDS)
            if received.ended:
                raise RetriableError(f"the server has ended the log of slot {place.slot!r}", "see the server's log")
            for element in decoder.decode(received.messages):
                if not isinstance(element, Block) and limit.passed(decoder.tracker):
                    break
                yield from self._given(element, decoder, limit)
            now = _after(decoder, received)
            if context.until is None:
                captured.look()
                yield from self._losses(captured, decoder, now, limit)
            if not limit.has_reached(now):
                if not _is_inside(now):
                    self._given_until = now  # it may be confirmed, so a change of a schema does not go back before it
                    yield Heartbeat(self._position(now))
                self._look_at_clock(limit, received)
        assert limit.position is not None, "without an end the log is read on"
        end = self._position(limit.position)
        yield Heartbeat(end)
        if limit.bound is not None:
            yield ReaderEvent({ENDED: dict(end.value)}, end)

    def _wants(self, starts: Collection[TablePath], path: TablePath, oid: int) -> bool:
        """Whether rows of this table are given: another one may have its name by now."""
        return path in starts and path not in self._lost and self._oids.get(path, oid) == oid

    def _losses(
        self, captured: CapturedTables, decoder: PgoutputDecoder, now: LogPosition, limit: ReadLimit
    ) -> Iterator[SchemaChange]:
        """The tables that the catalog has lost, once the log is read up to there (rule 9), or to its end."""
        stopped, at_end = {one.path for one in decoder.relations.refused.values()}, limit.has_reached(now)
        place = limit.position if at_end and limit.position is not None else now
        for one in captured.lost.values() if decoder.tracker.open is None else ():
            if one.path not in stopped and (at_end or now.end >= one.place):
                decoder.relations.refuse(self._oids[one.path], TableRefused(one.path, one.fact, one.remedy))
                yield one.change(self._tables_of[one.path], self._position(place))

    def _look_at_clock(self, limit: ReadLimit, received: Received) -> None:
        """Fix the end of a log that has been silent since the time at which it ends."""
        bound = limit.bound
        if bound is None or bound.lsn or bound.time is None or received.idle_end is None:
            return
        if time.time() * 1e6 > bound.time:
            with statements(self._address) as db:
                limit.bound = at_time(db, bound)

    def _given(self, element: LogElement, decoder: PgoutputDecoder, limit: ReadLimit) -> Iterator[Element]:
        match element:
            case Block():
                limit.sees(element)
                place = element.position
                if limit.position is not None and limit.has_reached(place):
                    place = limit.position
                rows = self._fitting(element, decoder, replace(self._counting, until=limit.position))
                stops = not _is_inside(place) or limit.has_reached(place)
                yield from ending(rows, self._position(place)) if stops else rows
                self._given_until = place
            case RelationChange(before, after) if element.renamed or element.recreated:
                if not has_reached(decoder.tracker.position, self._counting.given.get(before.path, LogPosition())):
                    return
                yield self._stops(decoder, before.path, after.relation.oid, changed_text(element), COPY_AGAIN)
            case TableRefused(path, message, remedy):
                yield TableStopped(path, message, remedy, self._position(decoder.tracker.position))
            case Truncation():
                yield from self._truncated(element, decoder)
            case _:
                return

    def _truncated(self, found: Truncation, decoder: PgoutputDecoder) -> Iterator[TableTruncated | TableStopped]:
        commit, order = found.position.open_commit, found.position.index - 1
        tables = [one for one in found.tables if self._counting.counts(one.path, commit, order)]
        tables.sort(key=lambda one: one.path in self._following)  # the last of these has the end
        for at, table in enumerate(tables, 1):
            end = self._position(found.position) if at == len(tables) else None
            if table.path in self._following:
                yield TableTruncated(table.path, f"TRUNCATE {table.path.schema}.{table.path.table}", end)
            else:
                text = f"table {table.path} was truncated at the source"
                yield self._stops(decoder, table.path, table.relation.oid, text, f"{NOT_FOLLOWED}; {COPY_AGAIN}")
        if any(one.path in self._following for one in tables):
            self._given_until = found.position

    def _fitting(
        self, block: Block, decoder: PgoutputDecoder, chosen: RowFilter
    ) -> Iterator[Batch | TableStopped | SchemaChange]:
        """The batches of a block, or the first change of a schema instead (rule 6). A table that changes in another way
        stops."""
        versions = {rows.table.path: rows.table for rows in block.rows}
        batches = list(chosen.batches(block))
        stopped: dict[TablePath, TableStopped] = {}
        for batch in batches:
            found = self._changed(batch, versions[batch.table])
            if isinstance(found, SchemaChange):
                yield replace(found, end=self._position(self._given_until))
                return
            if found is not None:
                stopped[batch.table] = self._stops(
                    decoder, batch.table, versions[batch.table].relation.oid, found.message, found.remedy
                )
        for batch in batches:
            yield stopped.get(batch.table, batch)

    def _changed(self, batch: Batch, version: TableVersion) -> SchemaChange | FatalError | None:
        """The change of the schema that the rows of a batch show, or the reason why the table stops."""
        path = batch.table
        if batch.absent is not None and moves_partially(batch):
            return FatalError(
                f"table {path}: an update of a key leaves a large value unchanged, which the log lacks",
                f"ALTER TABLE {path.schema}.{path.table} REPLICA IDENTITY FULL; {COPY_AGAIN}",
            )
        if self._versions.fits(version):
            change = self._versions.made_nullable(batch)
        else:
            try:
                with statements(self._address) as db:
                    change = self._versions.change(db, version)
            except FatalError as refused:
                return refused
        if change is None or path in self._following:
            return change
        text = f"the schema of table {path} has changed at the source: {change.statement}"
        return FatalError(text, f"{NOT_FOLLOWED}; {COPY_AGAIN}")

    def _stops(self, decoder: PgoutputDecoder, path: TablePath, oid: int, message: str, remedy: str) -> TableStopped:
        """Give no more rows of the table."""
        decoder.relations.refuse(oid, TableRefused(path, message, remedy))
        return TableStopped(path, message, remedy)

    def _position(self, place: LogPosition) -> Position:
        """The place for a checkpoint; the end of an earlier attempt, as that attempt has given it."""
        if self._until is not None and place == place_of(self._until):
            return self._until
        return position_of(place, self._timeline)

    def _key(self, path: TablePath) -> Sequence[str]:
        schema = self._tables.get(path)
        return () if schema is None or schema.primary_key is None else schema.primary_key.columns


def taken(place: LogPlace, position: Position | None) -> TakenPosition:
    """The position, as another server is asked for it; None: only the copies of the tables were read."""
    start = min(position for _, position in place.starts)
    if position is None:
        return TakenPosition(place.timeline, start - 1, start)
    found = place_of(position)
    return TakenPosition(timeline_of(position), max(found.commit, found.open_commit, start - 1), found.end or start)


def _is_inside(place: LogPosition) -> bool:
    """Whether a unit that ended there would divide a small transaction (rule 8)."""
    return 0 < place.index < WHOLE_MAX


def _after(decoder: PgoutputDecoder, received: Received) -> LogPosition:
    """The position after what was received: between transactions it moves with the server's, so that the log of other
    tables can be forgotten (F-C4)."""
    place = decoder.tracker.position
    if received.idle_end is None or decoder.tracker.open is not None or place.index:
        return place
    moved = LogPosition(place.commit, max(place.end, received.idle_end))
    decoder.tracker.position = moved
    return moved


def changed_text(change: RelationChange) -> str:
    """A sentence about the difference."""
    path = change.before.path
    parts = [
        *(f"{name!r} was added" for name in change.added),
        *(f"{name!r} was dropped" for name in change.dropped),
        *(f"{name!r} has another type" for name in change.retyped),
    ]
    if change.reordered:
        parts.append("its columns have another order")
    if change.renamed:
        parts.append(f"it is called {change.after.path} now")
    if change.recreated:
        parts.append("it was created again")
    return f"table {path} has changed at the source: {', '.join(parts)}"
