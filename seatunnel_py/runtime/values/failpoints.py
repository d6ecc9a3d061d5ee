"""The driver's failpoints, in the order in which a job passes them.

Each is between two durable acts. ``tests/protocol/reference/commit_life.py`` defines the reaction of the next driver;
the crash sweep (``e2e/crash_sweep``) tests it on real servers.
"""

from __future__ import annotations

from seatunnel_py.api.process.failpoints import Failpoint, failpoint
from seatunnel_py.protocol.model.records import RecordKind

TAKEN = failpoint("driver.takeover.taken", "The incarnation is taken; nothing has been read.")
CLAIMED = failpoint("driver.takeover.claimed", "It is durable from where this driver goes on; nothing is done.")
FENCED = failpoint("driver.takeover.fenced", "Every target of a pipeline knows the new incarnation.")
ZERO = failpoint("driver.zero.durable", "Checkpoint 0 is durable; nothing has had a side effect.")
BEFORE_SET_UP = failpoint("driver.setup.before", "A set-up unit is about to begin.")
SET_UP = failpoint("driver.setup.after", "Start effects are done, which is not written down.")
BEFORE_JOURNAL = failpoint("driver.journal.before", "Units are done; the journal does not know what they took.")
JOURNALLED = failpoint(
    "driver.journal.written", "The journal entry is durable; the output of the units is not visible yet."
)
ACKNOWLEDGED = failpoint("driver.checkpoint.acknowledged", "One more subtask has acknowledged a checkpoint.")
BEFORE_RECORD = failpoint("driver.record.before", "All subtasks have acknowledged; the record is not stored.")
DRAFTED = failpoint("driver.store.drafted", "Something is in the store, but not under its name.")
RECORDED = failpoint("driver.record.durable", "A checkpoint is durable; no participant has been notified.")
FINAL = failpoint("driver.final.durable", "The last checkpoint is durable; no participant has been notified.")
BEFORE_ALTERATION = failpoint(
    "driver.schema.before", "All rows of the earlier schema are committed; the target has not been altered."
)
ALTERED = failpoint("driver.schema.altered", "The target is altered; no record says so.")
SAVEPOINT = failpoint("driver.savepoint.durable", "A savepoint is durable; no participant has been notified.")
BEFORE_COMMIT = failpoint("driver.commit.before", "A commit is about to begin.")
COMMITTED = failpoint("driver.commit.after", "The target has committed; no record knows.")
CONFIRMED = failpoint("driver.commit.confirmed", "The coordinator knows that a commit is done.")
CLEANED = failpoint("driver.record.deleted", "A record that is not needed is deleted; others may still be there.")
BEFORE_ABORT = failpoint("driver.abort.before", "A pipeline is given up; what it staged is still there.")
ABORTED = failpoint("driver.abort.after", "Staged rows are dropped; the job has not ended.")
ENDED = failpoint("driver.end.before", "A pipeline is done; the job's end is not written down.")


def completed(kind: RecordKind) -> Failpoint:
    """The failpoint after a record of this kind has become durable."""
    return _COMPLETED[kind]


_COMPLETED = {
    RecordKind.ZERO: ZERO,
    RecordKind.PERIODIC: RECORDED,
    RecordKind.SAVEPOINT: SAVEPOINT,
    RecordKind.FINAL: FINAL,
}
