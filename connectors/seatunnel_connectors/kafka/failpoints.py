"""The failpoints of the Kafka sink."""

from __future__ import annotations

from seatunnel_py.api import failpoint

STAGED = failpoint("kafka.unit.staged", "A unit's file is whole and on the disk; its worker has told nobody.")
CONFIRMED = failpoint("kafka.unit.confirmed", "The cluster has confirmed every record of a unit; nobody has been told.")
BEFORE = failpoint("kafka.commit.before", "Nothing of the commit has reached the cluster.")
FENCED = failpoint(
    "kafka.commit.fenced", "Whoever committed before is fenced; the ledger says that this is to be done."
)
WRITTEN = failpoint(
    "kafka.commit.written", "The cluster has all records, in an open transaction without ledger record."
)
INSIDE = failpoint("kafka.commit.inside", "Records and ledger record are confirmed, the transaction is open.")
COMMITTED = failpoint("kafka.commit.committed", "The transaction is committed; the ledger was not read back.")
AFTER = failpoint("kafka.commit.after", "The commit is done; the driver has told nobody.")
