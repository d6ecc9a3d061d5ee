"""Fixes the place at which the log of a bounded job ends, and recognises it while the log is read.

Rules. (1) The place is fixed once for each run, and is durable with the split before the log is read: a driver that
takes over ends at the same place. A time that has not come yet is durable instead (4). The bound is never before the
place at which the run begins: such a run reads nothing. (2) Transactions that commit before it are read, and no other:
positions of commits are compared, so a transaction that is open there counts by its commit. (3) A log may be silent
after the place. So a transaction without changes follows it, which the server reports as progress. (4) A time is
compared with the times of commits in the log: the first transaction after it marks the place (F-C19).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained
from seatunnel_connectors.postgres_cdc.log_rows import has_reached
from seatunnel_connectors.postgres_cdc.options import PostgresCdcOptions, StopMode
from seatunnel_connectors.postgres_cdc.pgoutput.elements import EPOCH_MICROSECONDS, Block, LogPosition
from seatunnel_connectors.postgres_cdc.pgoutput.transactions import TransactionTracker
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of

_NOW = """
    SELECT pg_is_in_recovery(),
           CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text,
           (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
"""


@dataclass(frozen=True, slots=True)
class LogBound:
    """The end of a run. ``lsn``: transactions that commit before it are read; 0: it follows from ``time``, the time of
    the last transaction that is read, in microseconds since 1970."""

    lsn: int = 0
    time: int | None = None

    @property
    def position(self) -> LogPosition:
        """The position after everything that is read."""
        return LogPosition(self.lsn - 1, self.lsn)

    def reached(self, place: LogPosition) -> bool:
        """Whether everything has been read at ``place``."""
        return bool(self.lsn) and max(place.end, place.open_commit) >= self.lsn

    def at_least(self, begin: int) -> LogBound:
        """The bound of a run that begins there."""
        return replace(self, lsn=max(self.lsn, begin)) if self.lsn else self

    def before(self, commit: int) -> LogBound:
        """The bound if the transaction that commits there must not be read."""
        return self if self.lsn and self.lsn <= commit else replace(self, lsn=commit)

    def to_plain(self) -> dict[str, Any]:
        return {"lsn": self.lsn, "time": self.time}

    @staticmethod
    def of(plain: Any) -> LogBound | None:
        """The inverse of ``to_plain``; None: the log has no end."""
        return LogBound(**plain) if isinstance(plain, Mapping) else None


def fixed_bound(db: Statements, options: PostgresCdcOptions, stop: StopMode) -> LogBound | None:
    """The end of a run that begins now; None: it has none."""
    if stop is StopMode.LATEST:
        return LogBound(end_of_log(db)[0])
    if stop is StopMode.SPECIFIC:
        assert options.stop_lsn is not None, "the options require it"
        return LogBound(lsn_of(options.stop_lsn))
    if stop is StopMode.TIMESTAMP:
        assert options.stop_timestamp is not None, "the options require it"
        return at_time(db, LogBound(time=options.stop_timestamp * 1000))
    return None


def at_time(db: Statements, bound: LogBound) -> LogBound:
    """The bound, with its place in the log if its time has passed at the server."""
    assert bound.time is not None, "it is a time"
    lsn, clock = end_of_log(db)
    return replace(bound, lsn=lsn) if clock > bound.time else bound


def end_of_log(db: Statements) -> tuple[int, int]:
    """The place that all finished transactions are before, and the server's clock (rule 3)."""
    with explained("looking for the end of the log"):
        row = db.execute(_NOW).fetchone()
        assert row is not None, "it is a function"
        recovers, lsn, clock = row
        if not recovers:
            db.execute("SELECT txid_current()")
    return lsn_of(lsn), clock


class ReadLimit:
    """The end of one reading: ``until``, where an earlier attempt has stopped, else the bound of the run."""

    def __init__(self, until: LogPosition | None, bound: LogBound | None) -> None:
        self._until = until
        self.bound = None if until is not None else bound

    @property
    def position(self) -> LogPosition | None:
        """The position of the end; None: it is not known, or there is none."""
        if self.bound is not None and self.bound.lsn:
            return self.bound.position
        return self._until

    def has_reached(self, place: LogPosition) -> bool:
        if self.bound is not None:
            return self.bound.reached(place)
        return self._until is not None and has_reached(place, self._until)

    def sees(self, block: Block) -> None:
        """Look at the times of a block's transactions (rule 4)."""
        if self.bound is None or self.bound.time is None:
            return
        late = np.flatnonzero(np.asarray(block.transactions.time) > self.bound.time)
        if len(late):
            self.bound = self.bound.before(block.transactions.commit[int(late[0])].as_py())

    def passed(self, tracker: TransactionTracker) -> bool:
        """Whether an element of the open transaction comes after the end."""
        if self.bound is None:
            return False
        inside = tracker.open
        if inside is None:
            return self.bound.reached(tracker.position)
        if self.bound.time is not None and inside.time + EPOCH_MICROSECONDS > self.bound.time:
            self.bound = self.bound.before(inside.commit)
        return bool(self.bound.lsn) and inside.commit >= self.bound.lsn
