"""The failpoints of the Kafka sink."""

from __future__ import annotations

from seatunnel_py.api import failpoint

STAGED = failpoint("kafka.unit.staged", "A unit's file is whole and on the disk; its worker has not reported it yet.")
CONFIRMED = failpoint(
    "kafka.unit.confirmed", "The cluster has confirmed every record of a unit; this is not reported yet."
)
BEFORE = failpoint("kafka.commit.before", "Nothing of the commit has reached the cluster.")
FENCED = failpoint(
    "kafka.commit.fenced", "Earlier committers are fenced; according to the ledger this commit is still to be done."
)
WRITTEN = failpoint(
    "kafka.commit.written", "The cluster has all records, in an open transaction without ledger record."
)
INSIDE = failpoint("kafka.commit.inside", "Records and ledger record are confirmed, the transaction is open.")
COMMITTED = failpoint("kafka.commit.committed", "The transaction is committed; the ledger was not read back.")
AFTER = failpoint("kafka.commit.after", "The commit is done; the driver has not reported it yet.")
