"""Snapshots that end at a known place of the log, for copies of tables.

A temporary slot gives both: a snapshot with every transaction that committed before its consistent point, and none
after it. So the log goes on exactly there, for any copy at any time, also for one that begins again under another
snapshot.
"""

from __future__ import annotations

import secrets

from seatunnel_connectors.jdbc.postgres.connection.session import conninfo
from seatunnel_connectors.jdbc.postgres.read.snapshot import Keeper, Keepers
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.postgres_cdc.replication.connection import ReplicationConnection

LOG_POSITION = "log_position"
"""Key of a split's payload: the position of the log from which the split lacks changes."""
_PREFIX = "st_copy_"


class SlotKeepers(Keepers):
    """The snapshots of copies that a job keeps open. ``wait_seconds``: how long one may wait for transactions that
    run."""

    wait_seconds = 60.0

    def make(self, address: Address) -> Keeper:
        replication = ReplicationConnection(conninfo(address), f"a snapshot of {address.display}")
        try:
            slot = replication.create_slot(_name(), temporary=True, seconds=self.wait_seconds)
            return Keeper(address, slot.snapshot, slot.consistent_point)
        finally:
            replication.close()  # the keeper shows the snapshot from now on


def consistent_point(address: Address, wait_seconds: float) -> int:
    """A position of the log after all transactions that run now."""
    replication = ReplicationConnection(conninfo(address), f"a place in the log of {address.display}")
    try:
        return replication.create_slot(_name(), temporary=True, seconds=wait_seconds).consistent_point
    finally:
        replication.close()


def _name() -> str:
    return f"{_PREFIX}{secrets.token_hex(8)}"
