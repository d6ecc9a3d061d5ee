"""How far the end of the log is ahead of a slot, and whether the server is about to remove log that the slot needs.

A slot keeps log from the oldest transaction that was open at its confirmed position. So a transaction that stays open
for hours keeps the log of these hours, however fast the slot is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained
from seatunnel_py.api import LogLag

_SAFE_SINCE = 130000
_FIND = """
    SELECT pg_wal_lsn_diff(e, '0/0')::bigint, pg_wal_lsn_diff(e, restart_lsn)::bigint, {status}, {safe},
           current_setting('max_slot_wal_keep_size', true)
    FROM pg_replication_slots,
         (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END) AS log (e)
    WHERE slot_name = %s
"""
_SAFE_SHARE = 0.2
"""Warn when so much of the log that may be kept is left."""


@dataclass(frozen=True, slots=True)
class SlotRetention:
    """``end``: of the log; ``retained``: bytes that the slot keeps; ``safe``: bytes that may be written before it is
    lost, None: no limit; ``limit``: the server's setting."""

    end: int
    retained: int
    status: str
    safe: int | None
    limit: str


def find_retention(db: Statements, slot: str) -> SlotRetention | None:
    """The slot of that name, if there is one."""
    known = db.info.server_version >= _SAFE_SINCE
    query = _FIND.format(
        status="wal_status" if known else "NULL::text", safe="safe_wal_size" if known else "NULL::bigint"
    )
    with explained(f"looking at the lag of replication slot {slot!r}"):
        row = db.execute(query.encode(), [slot]).fetchone()
    if row is None:
        return None
    end, retained, status, safe, limit = row
    return SlotRetention(end, retained or 0, status or "", safe, limit or "")


def lag_of(found: SlotRetention, slot: str, position: int, max_lag: int | None) -> LogLag:
    """The lag of a position; 0: one that is not known, so the slot's own counts. ``max_lag``: bytes that the slot may
    keep before it is a warning."""
    behind = max(0, found.end - position) if position else found.retained
    warning = remedy = ""
    if found.safe is not None and found.safe < _SAFE_SHARE * (found.retained + max(0, found.safe)):
        warning = (
            f"the server removes log that replication slot {slot!r} needs after {max(0, found.safe)} more bytes "
            f"(max_slot_wal_keep_size = {found.limit}, {found.retained} bytes are kept)"
        )
        remedy = "raise max_slot_wal_keep_size; end transactions that are open for long; see which target is slow"
    elif found.status in ("unreserved", "lost"):
        warning = f"the server is about to remove log that replication slot {slot!r} needs (wal_status {found.status})"
        remedy = "raise max_slot_wal_keep_size; see which target is slow"
    elif max_lag is not None and found.retained > max_lag:
        warning = f"replication slot {slot!r} keeps {found.retained} bytes of log, and slot.max-lag is {max_lag}"
        remedy = "end transactions that are open for long; see which target is slow; or raise slot.max-lag"
    return LogLag(behind, found.retained, warning, remedy)
