"""Finds the splits of a log, once the tables are copied: one for each run of a bounded job, one for all other runs.

Rules. (1) The end of a run is fixed once, and is durable with its split before the log is read. (2) A reader
reports the place at which its split has ended. The next run begins there, with another split. (3) A log that was opened
without an end cannot get one: the position of its reader is not known here.

The definition of a table is that at the mark before its copy. Without a copy, it is that of the catalog: where the log
begins earlier, rows under an older definition describe themselves, or their table is stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pymysql

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, explained, sessions
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.copy import definition_at_mark, mark_of
from seatunnel_connectors.mysql_cdc.dump.session import identity_of, replicas
from seatunnel_connectors.mysql_cdc.log_places import end_of_log, first_of_log, oldest, require_log, with_transactions
from seatunnel_connectors.mysql_cdc.log_split import LOG_ID, BinlogPlace
from seatunnel_connectors.mysql_cdc.log_times import place_at
from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions, BinlogStart, BinlogStop
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.definitions import TableDefinition
from seatunnel_connectors.mysql_cdc.schema.from_catalog import at_place, definitions_of
from seatunnel_py.api import (
    COPY_AGAIN,
    BegunLog,
    Enumerator,
    FatalError,
    FollowedTable,
    Plain,
    Position,
    RetriableError,
    Split,
    TablePath,
)

ENDED = "ended"
"""Key of the event of a reader, and of the state: the position at which the split has ended."""
_PLACE, _RUN = "place", "run"
_LOOK_SECONDS = 2.0
"""A restored enumerator with an ``interval`` is asked at once, and again if that fails."""


class BinlogEnumerator(Enumerator):
    """Enumerates the log of a step."""

    def __init__(
        self,
        address: Address,
        options: BinlogCdcOptions,
        server_id: int,
        tables: Sequence[FollowedTable],
        stop: BinlogStop,
        state: Plain,
    ) -> None:
        self._address, self._options, self._server_id, self._stop = address, options, server_id, stop
        self._tables = tuple(tables)
        earlier: Any = state if isinstance(state, Mapping) else {}
        self._known = state is not None
        self._run: int = earlier.get(_RUN, 1)
        self._place = BinlogPlace.of(earlier[_PLACE]) if _PLACE in earlier else None
        self._ended: dict[str, Plain] | None = earlier.get(ENDED)
        if self._ended is not None:
            self.interval = _LOOK_SECONDS
        elif self._known and stop is not BinlogStop.NEVER and (self._place is None or self._place.bound is None):
            raise FatalError(
                "this job has followed its log without an end, so a run of it cannot end by itself",
                "set job.mode = STREAMING and stop.mode = never, or start it with --fresh, which copies the tables",
            )

    def discover(self) -> Iterable[Split]:
        if self._known and (self._ended is None or self.interval is None):
            return ()
        with explained(f"looking up the log of {self._address.display}"), sessions(self._address) as session:
            if self._place is None or self._ended is None:
                _require_free_id(session, self._server_id)
                self._place = self._first(session)
            else:
                begin = BinlogPosition.of(self._ended)
                require_log(session, begin)
                self._place = replace(self._place, begin=begin, bound=self._bound(session))
                self._run, self._ended = self._run + 1, None
        self._known, self.interval = True, None
        return (self._place.split(self._run),)

    def on_reader_event(self, split: Split, event: Plain) -> Iterable[Split]:
        plain: Any = event
        self._ended = dict(plain[ENDED])
        return ()

    def snapshot(self) -> Plain:
        if self._place is None or (self._place.bound is None and self._ended is None):
            return LOG_ID
        plain: dict[str, Plain] = {_PLACE: self._place.to_plain(), _RUN: self._run}
        return plain if self._ended is None else {**plain, ENDED: self._ended}

    def _first(self, session: MysqlSession) -> BinlogPlace:
        if self._options.start is BinlogStart.INITIAL:
            starts = {_name(one): _mark(one) for one in self._tables}
            definitions: Mapping[Name, TableDefinition] = _definitions(session, self._tables)
        else:
            names = [_name(one) for one in self._tables]
            begin, definitions = at_place(session, names, lambda: self._chosen(session))
            starts = dict.fromkeys(names, begin)
        server = identity_of(session)
        _require_one_server(starts, server)
        begin = oldest(starts.values())
        require_log(session, begin)
        begin = replace(with_transactions(session, begin), server=server)
        return BinlogPlace(server, begin, starts, definitions, self._bound(session))

    def _bound(self, session: MysqlSession) -> BinlogPosition | None:
        """The end of a run that begins now; None: it has none. A transaction that holds the place is read whole."""
        match self._stop:
            case BinlogStop.LATEST:
                return end_of_log(session)
            case BinlogStop.SPECIFIC:
                file, offset = self._options.stop_file, self._options.stop_offset
                assert file is not None and offset is not None, "options are checked"
                return BinlogPosition(file, offset)
            case BinlogStop.TIMESTAMP:
                assert self._options.stop_timestamp is not None, "options are checked"
                return _end_at(self._address, session, self._server_id, self._options.stop_timestamp)
            case _:
                return None

    def _chosen(self, session: MysqlSession) -> BinlogPosition:
        """The place that the job file asks for."""
        match self._options.start:
            case BinlogStart.EARLIEST:
                return first_of_log(session)
            case BinlogStart.SPECIFIC:
                file, offset = self._options.start_file, self._options.start_offset
                assert file is not None and offset is not None, "options are checked"
                return BinlogPosition(file, offset)
            case BinlogStart.TIMESTAMP:
                assert self._options.start_timestamp is not None, "options are checked"
                return place_at(self._address, session, self._server_id, self._options.start_timestamp)
            case _:
                return end_of_log(session)


def _end_at(address: Address, session: MysqlSession, server_id: int, milliseconds: int) -> BinlogPosition:
    """The place after the last transaction of that second, and of those before."""
    second = milliseconds // 1000
    [(now,)] = session.ask("SELECT UNIX_TIMESTAMP()")
    if int(now) <= second:
        raise FatalError(
            "stop.timestamp has not passed yet at the server, so transactions up to it may follow",
            "run the job after that time, or set job.mode = STREAMING and end it with `seatunnel jobs savepoint`",
        )
    return place_at(address, session, server_id, (second + 1) * 1000)


def _require_free_id(session: MysqlSession, server_id: int) -> None:
    """Raise RetriableError while a replica has the id, as an earlier reader has until the server finds it gone. A user
    who may not list replicas learns of another one when that is ended."""
    try:
        known = replicas(session)
    except pymysql.Error:
        return
    if server_id in known:
        raise RetriableError(
            f"a replica with the server id {server_id} reads the log already (host {known[server_id]!r})",
            "choose another `server-id` for the job",
        )


def joined(address: Address, begun: BegunLog, table: FollowedTable, *, copies: bool) -> BegunLog:
    """The log with one more table (F-C45). ``copies``: it is copied; else its changes count from where the log is."""
    place, name, state = BinlogPlace.of(begun.split.payload), _name(table), begun.state
    read = _read_to(begun, place)
    start = _mark(table) if copies else read
    if start.server and read.server and start.server != read.server:
        raise FatalError(
            f"table {'.'.join(name)} was copied from the server {start.server}, and the log was read on the server "
            f"{read.server}, whose place another one has taken",
            COPY_AGAIN,
        )
    if start != read and oldest((read, start)) is start:
        raise FatalError(
            f"table {'.'.join(name)} was copied at {start.file}:{start.offset}, and the log has been read up to "
            f"{read.file}:{read.offset}: its changes in between are missing",
            COPY_AGAIN,
        )
    with explained(f"looking up the log of {address.display}"), sessions(address) as session:
        found = _definitions(session, [table])

    def with_table(one: BinlogPlace) -> BinlogPlace:
        return replace(one, starts={**one.starts, name: start}, definitions={**one.definitions, **found})

    earlier: Any = state
    if isinstance(state, Mapping) and _PLACE in state:
        state = {**state, _PLACE: with_table(BinlogPlace.of(earlier[_PLACE])).to_plain()}
    return BegunLog(replace(begun.split, payload=with_table(place).to_plain()), begun.position, state)


def _read_to(begun: BegunLog, place: BinlogPlace) -> BinlogPosition:
    """The position up to which the log has been read, or from which it will be."""
    state: Any = begun.state
    if isinstance(state, Mapping) and ENDED in state:
        return BinlogPosition.of(state[ENDED])
    return place.begin if begun.position is None else BinlogPosition.of(begun.position.value)


def gone_back(address: Address, begun: BegunLog, path: TablePath, to: BinlogPosition) -> BegunLog:
    """The log that is read again from ``to`` for one table. The others count from where the log is, or from a later
    place. Raises FatalError if the server has purged the place, or another server has taken its place."""
    place, name = BinlogPlace.of(begun.split.payload), (path.database, path.table)
    at = _read_to(begun, place)
    with explained(f"looking up the log of {address.display}"), sessions(address) as session:
        _require_place_of(path, to, at, identity_of(session))
        require_log(session, to, COPY_AGAIN)
    goes = to.place < at.place
    starts = {
        one: at if goes and (start.server not in ("", at.server) or start.place < at.place) else start
        for one, start in place.starts.items()
    }
    starts[name] = to
    position = Position((to if goes else at).to_plain())
    state: Any = begun.state
    if isinstance(state, Mapping) and _PLACE in state:
        state = {**state, _PLACE: replace(BinlogPlace.of(state[_PLACE]), starts=starts).to_plain()}
    has_ended = isinstance(state, Mapping) and ENDED in state
    if has_ended:
        state = {**state, ENDED: dict(position.value)}
    split = replace(begun.split, payload=replace(place, starts=starts).to_plain())
    return BegunLog(split, None if has_ended else position, state)


def _require_place_of(path: TablePath, to: BinlogPosition, at: BinlogPosition, here: str) -> None:
    """Raise FatalError unless both places are of this server: those of two servers have no order (F-C24)."""
    if not (to.file and at.file and to.server == at.server == here):
        raise FatalError(
            f"table {path} has stopped at {to.file}:{to.offset} of the server {to.server}, the log was read up to "
            f"{at.file}:{at.offset} of the server {at.server}, and the log of the server {here} has other places",
            COPY_AGAIN,
        )


def _name(one: FollowedTable) -> Name:
    return one.table.schema.path.database, one.table.schema.path.table


def _require_one_server(starts: Mapping[Name, BinlogPosition], here: str) -> None:
    """Raise FatalError if a table was copied from another server: the place of its mark has no meaning here (F-C24)."""
    for name, start in starts.items():
        if start.server not in ("", here):
            raise FatalError(
                f"table {'.'.join(name)} was copied from the server {start.server}, and the log is that of the server "
                f"{here}, which has taken its place",
                "start the job with --fresh, which copies the tables again",
            )


def _definitions(session: MysqlSession, tables: Sequence[FollowedTable]) -> dict[Name, TableDefinition]:
    """The definitions at the marks of copies, and those of the catalog where no copy holds one."""
    held = {_name(one): definition_at_mark(one.copied) for one in tables}
    known = {name: definition for name, definition in held.items() if definition is not None}
    return {**known, **definitions_of(session, [name for name in held if name not in known])}


def _mark(one: FollowedTable) -> BinlogPosition:
    """The mark before the table's copy; of a copy whose splits were found at several moments, the oldest one."""
    if not one.copied:
        raise FatalError(
            f"table {one.table.schema.path} was not copied, so its changes cannot be followed",
            COPY_AGAIN,
        )
    return oldest(mark_of(split) for split in one.copied)
