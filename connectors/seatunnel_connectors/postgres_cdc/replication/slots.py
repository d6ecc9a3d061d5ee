"""Replication slots through ordinary connections: looking at one, taking it over, dropping it, and whether reading may
go on at a position."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained
from seatunnel_connectors.postgres_cdc.replication.failures import LogLostError, SlotInUseError
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of, lsn_text

_POLL_SECONDS = 0.1
_FIND = """
    SELECT plugin, database, active_pid, restart_lsn::text, confirmed_flush_lsn::text, {wal_status},
           pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
                           restart_lsn)::bigint
    FROM pg_replication_slots WHERE slot_name = %s
"""
_STATUS_SINCE = 130000
_RUNNING = """
    SELECT pid, coalesce(usename, ''), coalesce(application_name, ''), extract(epoch FROM now() - xact_start)::float8
    FROM pg_stat_activity
    WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid() ORDER BY xact_start LIMIT 5
"""


@dataclass(frozen=True, slots=True)
class FoundSlot:
    """A slot in the catalog. ``confirmed`` is where it goes on by itself; ``restart`` from where the server decodes
    again and keeps its log; ``retained`` the bytes of log that it keeps. ``pid`` reads it, 0: none."""

    name: str
    plugin: str
    database: str
    pid: int
    restart: int
    confirmed: int
    status: str
    retained: int

    @property
    def lost(self) -> bool:
        return self.status == "lost"


def find_slot(db: Statements, name: str) -> FoundSlot | None:
    """The slot of that name, if there is one."""
    known = db.info.server_version >= _STATUS_SINCE
    with explained(f"looking at replication slot {name!r}"):
        query = _FIND.format(wal_status="wal_status" if known else "NULL::text")
        row = db.execute(query.encode(), [name]).fetchone()
    if row is None:
        return None
    plugin, database, pid, restart, confirmed, status, retained = row
    return FoundSlot(
        name, plugin or "", database or "", pid or 0, lsn_of(restart) if restart else 0,
        lsn_of(confirmed) if confirmed else 0, status or "", retained or 0,
    )  # fmt: skip


def check_start(slot: FoundSlot | None, name: str, position: int, log_end: int = 0) -> FoundSlot:
    """Check that the slot still holds everything after ``position``, the end of the last transaction that is durable.
    A server asked for less than the slot has confirmed goes forward without a word (F-C6). ``log_end``: the end of the
    server's log, for messages. Raises LogLostError."""
    if slot is None:
        up_to = f" up to {lsn_text(log_end)}" if log_end else ""
        raise LogLostError(
            f"replication slot {name!r} is gone, so the changes since {lsn_text(position)}{up_to} are lost",
            "a new primary has only slots that were copied to it as a standby: copy the tables again (resnapshot)",
        )
    if slot.lost:
        raise LogLostError(
            f"the server has removed the log that replication slot {name!r} needs; changes since "
            f"{lsn_text(position)} are lost",
            "copy the tables again (resnapshot), and raise max_slot_wal_keep_size",
        )
    if slot.confirmed > position:
        raise LogLostError(
            f"replication slot {name!r} has been confirmed up to {lsn_text(slot.confirmed)}, and the last checkpoint "
            f"ends at {lsn_text(position)}: the changes in between are lost",
            "another program has read the slot, or the checkpoint is an old one; trust-slot goes on without those "
            "changes, resnapshot copies the tables again",
        )
    return slot


def take_over(db: Statements, name: str, seconds: float) -> bool:
    """Free a slot that another connection holds, such as that of a driver that is dead: end its process if the role
    may, else wait until the server notices. Return whether a process was ended. Raises SlotInUseError."""
    until = time.monotonic() + seconds
    ended = False
    while (slot := find_slot(db, name)) is not None and slot.pid:
        if not ended:
            ended = _terminate(db, slot.pid)
        if time.monotonic() >= until:
            why = "was told to end, and has not" if ended else "belongs to another role"
            raise SlotInUseError(
                f"replication slot {name!r} is held by the server process {slot.pid}, which {why}, for {seconds:g} s",
                f"SELECT pg_terminate_backend({slot.pid}) as a superuser or a member of pg_signal_backend; by itself "
                "it ends once wal_sender_timeout has passed without an answer",
                slot.pid,
            )
        time.sleep(_POLL_SECONDS)
    return ended


def _terminate(db: Statements, pid: int) -> bool:
    try:
        row = db.execute("SELECT pg_terminate_backend(%s)", [pid]).fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return False
    return bool(row and row[0])


def drop_slot(db: Statements, name: str) -> bool:
    """Drop the slot; return whether it was there."""
    with explained(f"dropping replication slot {name!r}"):
        found = db.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [name]
        )
        return found.rowcount > 0


def running_transactions(db: Statements) -> Sequence[str]:
    """The oldest transactions that a new slot waits for: a sentence for each."""
    with explained("looking for transactions that run"):
        rows = db.execute(_RUNNING).fetchall()
    return [
        f"process {pid} of {user}{f' ({application})' if application else ''} has a transaction open for {age:.0f} s"
        for pid, user, application, age in rows
    ]
