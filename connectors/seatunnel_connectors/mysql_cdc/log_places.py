"""Looks up places of a server's log: its first one, its end, and the mark before a copy.

The mark before a copy must be earlier than every change that the copy may miss. The end of the log is too late: a
transaction is in the log before other sessions see it. MariaDB: a consistent snapshot knows its exact place in the
log, and every later snapshot shows at least as much. MySQL: ``gtid_executed`` holds only transactions that are
committed in the engine; without transaction ids, a lock on the tables for a moment waits for their writers. MySQL's
ways follow its documentation and have not been run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pymysql

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, quote
from seatunnel_connectors.mysql_cdc.dump.session import identity_of, server_facts
from seatunnel_connectors.mysql_cdc.failures import PurgedLogError
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet
from seatunnel_connectors.mysql_cdc.options import FIRST_OFFSET
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.server_checks import settings_of
from seatunnel_py.api import FatalError

_UNKNOWN_STATEMENT = 1064


def mark_before_copy(session: MysqlSession, tables: Sequence[Name]) -> BinlogPosition:
    """A place such that every later read of the tables on this server shows all transactions before it."""
    return replace(_mark(session, tables), server=identity_of(session))


def _mark(session: MysqlSession, tables: Sequence[Name]) -> BinlogPosition:
    if server_facts(session).mariadb:
        return _snapshot_place(session)
    if settings_of(session).get("gtid_mode", "OFF").startswith("ON"):
        [(executed,)] = session.ask("SELECT @@global.gtid_executed")
        return BinlogPosition("", 0, GtidSet.parse(_text(executed)))
    session.run("LOCK TABLES " + ", ".join(f"{quote(*name)} READ" for name in tables))
    try:
        return end_of_log(session)
    finally:
        session.run("UNLOCK TABLES")


def _snapshot_place(session: MysqlSession) -> BinlogPosition:
    session.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")  # of the next transaction
    session.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    try:
        rows = session.ask("SHOW STATUS LIKE 'binlog_snapshot_%'")
    finally:
        session.rollback()
    found = {_text(name).lower(): _text(value) for name, value in rows}
    file, offset = (found.get(f"binlog_snapshot_{name}", "") for name in ("file", "position"))
    if not file or not offset.isdigit():
        raise FatalError(
            "the server does not report the place of a snapshot in its log (binlog_snapshot_file)",
            "use MariaDB 5.3 or newer, with log_bin",
        )
    return BinlogPosition(file, int(offset))


def end_of_log(session: MysqlSession) -> BinlogPosition:
    """The place that the next transaction is written to."""
    try:
        rows = session.ask("SHOW MASTER STATUS")
    except pymysql.Error as error:
        if error.args[0] != _UNKNOWN_STATEMENT:
            raise
        rows = session.ask("SHOW BINARY LOG STATUS")  # MySQL since 8.4
    file, offset = rows[0][:2]
    return BinlogPosition(_text(file), int(offset))


def first_of_log(session: MysqlSession) -> BinlogPosition:
    """The beginning of the oldest file."""
    return BinlogPosition(next(iter(file_sizes(session))), FIRST_OFFSET)


def with_transactions(session: MysqlSession, place: BinlogPosition) -> BinlogPosition:
    """The place with the ids of the transactions before it, where MariaDB knows them: an offset beyond 4 GB can only be
    asked for by these."""
    if place.gtids is not None or not server_facts(session).mariadb:
        return place
    [(found,)] = session.ask("SELECT BINLOG_GTID_POS(%s, %s)", (place.file, place.offset))
    return replace(place, gtids=GtidList.parse(_text(found)) if found else None)


def oldest(places: Iterable[BinlogPosition]) -> BinlogPosition:
    """The first one in the order of the log. Places of one kind only: all of files, or all of transaction ids."""
    found, *others = places
    for one in others:
        earlier = (
            found.gtids.contains(one.gtids)
            if isinstance(found.gtids, GtidSet) and isinstance(one.gtids, GtidSet)
            else one.place < found.place
        )
        found = one if earlier else found
    return found


_START_OVER = (
    "start over with --fresh, which copies the tables again, or with startup.mode = latest, which leaves a gap; "
    "raise binlog_expire_logs_seconds for the next time"
)


def require_log(session: MysqlSession, place: BinlogPosition, remedy: str = _START_OVER) -> None:
    """Raise PurgedLogError unless the server still has the log from this place on (F-C9, F-C21)."""
    sizes = file_sizes(session)
    if not place.file or place.offset <= sizes.get(place.file, -1):
        return
    begins = f"{next(iter(sizes))}:{FIRST_OFFSET}"
    if place.file in sizes:
        why = f"is gone: the file {place.file} has only {sizes[place.file]} bytes now, so the log was reset"
    else:
        why = f"was purged: the server's log begins at {begins}"
    raise PurgedLogError(
        f"the log from {place.file}:{place.offset} {why}",
        remedy,
    )


def file_sizes(session: MysqlSession) -> dict[str, int]:
    """The files of the log with their sizes, the oldest first."""
    return {_text(row[0]): int(row[1]) for row in session.ask("SHOW BINARY LOGS")}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
