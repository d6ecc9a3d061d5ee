"""Goes on with a log on another server: a replica that has taken the place of the one that the log was read on.

Files and offsets mean other places there (F-C24); transactions have the same ids. So reading goes on after the last
transaction that was read, if this server has it. The server itself refuses an id that is not in its log.
"""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.failures import PurgedLogError
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition, Gtids, has_all
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name

_REMEDY = (
    "correct the url, or compare the rows of source and target (seatunnel reconcile) and start the job with --fresh, "
    "which copies the tables again"
)
BEGUN = BinlogPosition("", 0)
"""A place before all others."""


def place_on(address: Address, session: MysqlSession, place: BinlogPosition, here: str) -> BinlogPosition:
    """The place on the server ``here`` after the transactions before ``place``, which is one of another server. Raises
    PurgedLogError with both places if there is none."""
    why = _why_not(place, known := _known(session, place))
    if why:
        raise PurgedLogError(
            f"the log was read on the server {place.server} up to {place.file}:{place.offset} "
            f"({place.gtids or 'no transaction ids'}), and {address.display} is the server {here} "
            f"({known or 'no transaction ids'}): {why}",
            _REMEDY,
        )
    return BinlogPosition("", 0, place.gtids, server=here)


def starts_on(
    starts: Mapping[Name, BinlogPosition], read: BinlogPosition, known: str, here: str
) -> dict[Name, BinlogPosition]:
    """The places from which tables count, on the server ``here``; ``known``: the server of places that name none.
    Raises PurgedLogError for one on another server that reading has not come to."""
    found = {}
    for name, start in starts.items():
        server = start.server or known
        if server == here:
            found[name] = start
            continue
        if server == read.server and start.place > read.place:
            raise PurgedLogError(
                f"table {'.'.join(name)} counts from {start.file}:{start.offset} of the server {server}, and the log "
                f"was read up to {read.file}:{read.offset} before the server {here} took its place",
                _REMEDY,
            )
        found[name] = BEGUN
    return found


def bounded_elsewhere(address: Address, bound: BinlogPosition, server: str, here: str) -> PurgedLogError:
    """The error for a run whose end is a place of another server."""
    return PurgedLogError(
        f"this run ends at {bound.file}:{bound.offset} of the server {server}, and {address.display} is the server "
        f"{here}",
        _REMEDY,
    )


def _known(session: MysqlSession, place: BinlogPosition) -> Gtids | None:
    """The transactions that the server has."""
    if isinstance(place.gtids, GtidList):
        [(text,)] = session.ask("SELECT @@global.gtid_current_pos")
        return GtidList.parse(_text(text))
    if isinstance(place.gtids, GtidSet):
        [(text,)] = session.ask("SELECT @@global.gtid_executed")
        return GtidSet.parse(_text(text))
    return None


def _why_not(place: BinlogPosition, known: Gtids | None) -> str:
    if place.events or place.rows:
        return "the last checkpoint is inside of a transaction, whose parts another server may divide otherwise"
    if known is None:
        return "only transaction ids have a meaning on both"
    return "" if has_all(known, place.gtids) else "it lacks transactions that were read"


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")
