"""Catches up with a log that is far ahead: reads it through SQL, twice as fast as through the replication protocol.

Rules. (1) The job's slot is not touched: a temporary copy of it, which ends with its session, is read and moved. (2)
Changes are read range by range, because the server keeps those of a range until all are decoded. After a range
everything that commits before its end has been given; the replication protocol goes on there. (3) The server decodes
each range from the copy's ``restart_lsn`` on, which moves only where it has logged its running transactions. So a range
is as long as what is decoded again for it, and catching up ends where that is more than ``RANGE_MAX``. (4) If the
server has no room for the copy or for a range, or the session is encrypted, the replication protocol is used.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

import psycopg

from seatunnel_connectors.jdbc.postgres.connection.copy_stream import CopyStream
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained, literal
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Messages
from seatunnel_connectors.postgres_cdc.replication.connection import Received, StreamOptions, session_info
from seatunnel_connectors.postgres_cdc.replication.failures import replication_failure
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of, lsn_text
from seatunnel_connectors.postgres_cdc.replication.query_changes import ChangesQuery, query_changes

FAR_BYTES = 32 << 20
"""Log between the position and the server's end from which on catching up pays."""
NEAR_BYTES = 4 << 20
RANGE_MIN, RANGE_MAX = 16 << 20, 64 << 20
CAUGHT_UP_MAX = 4 << 30  # the job's slot keeps the log meanwhile
_COPIES_SINCE = 120000
_NO_ROOM = "53"  # the class of insufficient resources
_NOTHING = Messages.of(())
_END = "SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_wal_flush_lsn() END::text"


@dataclass(slots=True)
class CatchUp:
    """The log from ``options.start`` on, through a copy of the slot. ``at``: everything that commits before is
    given."""

    session: CopyStream
    options: StreamOptions
    what: str
    copy: str
    at: int
    _pieces: Iterator[Received] = field(init=False)

    def __post_init__(self) -> None:
        self._pieces = self._read()

    @staticmethod
    def begun(db: Statements, info: str, options: StreamOptions, what: str) -> CatchUp | None:
        """Copy the slot, if its log is far ahead of the position; None: it is not, or the server has no room. ``db``
        asks the server that ``info`` leads to."""
        with explained(f"looking for the end of {what}"):
            end = _end_of_log(db)
            if db.info.server_version < _COPIES_SINCE or end is None or end - options.start < FAR_BYTES:
                return None
        session = CopyStream(session_info(info))
        found = CatchUp(session, options, what, f"{options.slot[:40]}_{secrets.token_hex(6)}", options.start)
        try:
            if not session.encrypted and found._copied():
                return found
        except psycopg.Error as error:
            session.close()
            raise replication_failure(error, what) from error
        session.close()
        return None

    def _copied(self) -> bool:
        source, copy, start = literal(self.options.slot), literal(self.copy), literal(lsn_text(self.options.start))
        try:
            self.session.run(f"SELECT pg_copy_logical_replication_slot({source}, {copy}, true)")
            self.session.run(
                f"SELECT pg_replication_slot_advance(slot_name, {start}::pg_lsn) FROM pg_replication_slots "
                f"WHERE slot_name = {copy} AND confirmed_flush_lsn < {start}::pg_lsn"
            )
        except psycopg.Error as error:
            if _has_no_room(error):
                return False
            raise
        return True

    def receive(self) -> Received:
        """The next piece; ``ended``: the replication protocol goes on at ``at``."""
        try:
            return next(self._pieces)
        except psycopg.Error as error:
            if _has_no_room(error):
                return Received(_NOTHING, self.at, None, True)
            raise replication_failure(error, self.what) from error

    def _read(self) -> Iterator[Received]:
        limit = self.options.start + CAUGHT_UP_MAX
        while (until := self._range_end()) is not None and self.at < limit:
            query = ChangesQuery(
                self.copy, self.options.publications, until, self.options.version, self.options.messages, moves=True
            )
            for messages in query_changes(self.session, query):
                yield Received(messages, until, None, False)
            self.at = until
            yield Received(_NOTHING, until, until, False)
        yield Received(_NOTHING, self.at, None, True)

    def _range_end(self) -> int | None:
        """The end of the next range (rule 3); None: the rest is not for ranges."""
        end = _end_of_log(self.session.session)
        (row,) = self.session.ask(
            f"SELECT restart_lsn::text AS restart FROM pg_replication_slots WHERE slot_name = {literal(self.copy)}"
        )
        again = self.at - lsn_of(row["restart"])
        if end is None or end - self.at < NEAR_BYTES or again > RANGE_MAX:
            return None
        return min(end, self.at + max(RANGE_MIN, again))

    def interrupt(self) -> None:
        """End a statement that runs, from another thread."""
        self.session.session.cancel()

    def close(self) -> None:
        """End the session, and the copy with it."""
        self.session.close()


def _end_of_log(db: Statements) -> int | None:
    """The position up to which the server has written its log; None: it is a standby."""
    row = db.execute(_END.encode()).fetchone()
    return None if row is None or row[0] is None else lsn_of(row[0])


def _has_no_room(error: psycopg.Error) -> bool:
    return (error.sqlstate or "").startswith(_NO_ROOM)
