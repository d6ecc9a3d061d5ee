"""Finds the one split of a log, once the tables are copied.

Definitions are those of the catalog at that moment. A table that is altered between the mark before its copy and that
moment has rows in the log that do not fit; the reader then stops with the statement or with the columns that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pymysql

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, explained, sessions
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.copy import mark_of
from seatunnel_connectors.mysql_cdc.dump.session import replicas
from seatunnel_connectors.mysql_cdc.log_places import end_of_log, first_of_log, oldest, require_log, with_transactions
from seatunnel_connectors.mysql_cdc.log_split import LOG_ID, BinlogPlace
from seatunnel_connectors.mysql_cdc.log_times import place_at
from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions, BinlogStart
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.from_catalog import definitions_of
from seatunnel_connectors.mysql_cdc.server_checks import identity_of
from seatunnel_py.api import Enumerator, FatalError, FollowedTable, Plain, RetriableError, Split


class BinlogEnumerator(Enumerator):
    """Enumerates the log of a step."""

    def __init__(
        self,
        address: Address,
        options: BinlogCdcOptions,
        server_id: int,
        tables: Sequence[FollowedTable],
        *,
        known: bool,
    ) -> None:
        self._address, self._options, self._server_id = address, options, server_id
        self._tables = tuple(tables)
        self._known = known

    def discover(self) -> Iterable[Split]:
        if self._known:
            return ()
        with explained(f"looking up the log of {self._address.display}"), sessions(self._address) as session:
            _require_free_id(session, self._server_id)
            place = self._place(session)
        self._known = True
        return (place.split(),)

    def snapshot(self) -> Plain:
        return LOG_ID

    def _place(self, session: MysqlSession) -> BinlogPlace:
        if self._options.start is BinlogStart.INITIAL:
            starts = {_name(one): _mark(one) for one in self._tables}
        else:
            begin = self._chosen(session)
            starts = {_name(one): begin for one in self._tables}
        server = identity_of(session)
        begin = oldest(starts.values())
        require_log(session, begin)
        begin = replace(with_transactions(session, begin), server=server)
        return BinlogPlace(server, begin, starts, definitions_of(session, list(starts)))

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


def _name(one: FollowedTable) -> Name:
    return one.table.schema.path.database, one.table.schema.path.table


def _mark(one: FollowedTable) -> BinlogPosition:
    """The mark before the table's copy; of a copy whose splits were found at several moments, the oldest one."""
    if not one.copied:
        raise FatalError(
            f"table {one.table.schema.path} was not copied, so its changes cannot be followed",
            "start over with --fresh, which copies it",
        )
    return oldest(mark_of(split) for split in one.copied)
