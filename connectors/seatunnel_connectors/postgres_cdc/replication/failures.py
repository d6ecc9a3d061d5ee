"""Typed errors of replication, with what helps against each."""

from __future__ import annotations

import re

import psycopg

from seatunnel_connectors.jdbc.postgres.connection.session import failure
from seatunnel_py.api import CannotResumeError, FatalError, PluginError, RetriableError


class SlotInUseError(RetriableError):
    """Another connection reads the slot; ``pid`` is its process at the server, 0 if it is unknown."""

    def __init__(self, message: str, remedy: str = "", pid: int = 0) -> None:
        super().__init__(message, remedy)
        self.pid = pid
        self.args = (self.message, self.remedy, pid)


class LogLostError(CannotResumeError):
    """The server no longer holds the log from the position on that reading has to go on at."""


_ACTIVE = re.compile(r"is active for PID (\d+)")
_NO_ROLE = "must be superuser or replication role|permission denied to (?:use|start) "
_REMEDIES = (
    (
        r"logical decoding requires wal_level",
        "set wal_level = logical at the source, and start it again: ALTER SYSTEM SET wal_level = logical",
    ),
    (
        r"all replication slots are in use",
        "raise max_replication_slots at the source, or drop a slot that is no longer needed (pg_replication_slots)",
    ),
    (
        r"number of requested standby connections exceeds max_wal_senders|max_wal_senders",
        "raise max_wal_senders at the source",
    ),
    (_NO_ROLE, "ALTER ROLE ... REPLICATION, or a superuser at the source; on Amazon RDS: GRANT rds_replication TO ..."),
    (
        r"no pg_hba\.conf entry for replication|no pg_hba\.conf entry",
        "let the user in for its database in the server's pg_hba.conf; a pooler in between cannot replicate",
    ),
    (r"publication .* does not exist", "create the publication before the slot, or correct publication.name"),
    (r"replication slot .* already exists", "drop the slot, choose another slot.name, or set slot.reuse = true"),
    (r"was not created in this database", "correct the database of the url, or slot.name"),
    (r"is not a logical|cannot use .* physical", "correct slot.name: the slot is one for physical replication"),
)
_LOST = re.compile(
    r"can no longer get changes from|requested WAL segment .* has already been removed|has been invalidated"
    r"|replication slot .* does not exist"
)


def replication_failure(error: psycopg.Error, what: str) -> PluginError:
    """A typed error for a server's or a driver's one."""
    reason = error.diag.message_primary or str(error)
    if error.sqlstate == "55006" or _ACTIVE.search(reason):
        pid = _ACTIVE.search(reason)
        return SlotInUseError(
            f"{what}: {reason}",
            "end the other reader; one that is dead holds the slot until wal_sender_timeout of the server has passed",
            int(pid[1]) if pid else 0,
        )
    if _LOST.search(reason):
        return LogLostError(
            f"{what}: {reason}",
            "copy the tables again (resnapshot): changes since the last checkpoint are gone from the server's log; "
            "raise max_slot_wal_keep_size so that it does not happen again",
        )
    remedy = next((text for pattern, text in _REMEDIES if re.search(pattern, reason)), "")
    found = failure(error, what)
    if remedy and isinstance(found, FatalError | RetriableError):
        return FatalError(found.message, remedy)
    return found
