"""The reaction to each reason, and the number of tolerated checkpoint failures.

Rules. (FP1) Every reason has a row; there is no default. (FP2) A checkpoint that was declined, not acknowledged in time
or not stored counts; one that was aborted in favour of another request does not. (FP3) More than the tolerable number
of counted failures in a row fail the pipeline, one fewer does not (I15). (FP4) A completed checkpoint of any kind
resets the count. (FP5) A failed savepoint is reported to the user who requested it, and does not count.

May not know: how often a vertex was restarted (``backoff.py`` does), and the details of a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind


@dataclass(frozen=True, slots=True)
class ReasonPolicy:
    """``counts``: towards the tolerable failures. ``fails``: the pipeline ends at once. ``retriable``: the same
    request may succeed later without any change. ``remedy``: advice for the user, empty if nothing is wrong."""

    counts: bool
    fails: bool
    retriable: bool
    remedy: str = ""


NO = False
YES = True

POLICIES: Mapping[Reason, ReasonPolicy] = {
    # refusals of a trigger                     counts fails retriable
    Reason.SHUT_DOWN: ReasonPolicy(NO, NO, NO, "run the job again with --restore latest if it is not finished"),
    Reason.NOT_RUNNING: ReasonPolicy(NO, NO, YES, "ask again when the pipeline runs"),
    Reason.PERIODIC_OFF: ReasonPolicy(NO, NO, NO),
    Reason.TOO_MANY_QUEUED: ReasonPolicy(NO, NO, YES, "wait for the answers to earlier requests"),
    Reason.MIN_PAUSE: ReasonPolicy(NO, NO, YES),
    Reason.CONCURRENCY: ReasonPolicy(NO, NO, YES),
    Reason.COMMIT_LAG: ReasonPolicy(
        NO, NO, YES, "look whether the targets are reachable; raise checkpoint.max-uncommitted"
    ),
    Reason.NOTHING_NEW: ReasonPolicy(NO, NO, YES),
    Reason.NOT_POSSIBLE: ReasonPolicy(NO, NO, NO, "name a vertex of the pipeline that is not isolated already"),
    # ends of a pending checkpoint
    Reason.EXPIRED: ReasonPolicy(
        YES, NO, YES, "raise checkpoint.timeout, or lower unit.seconds of the vertex that is named"
    ),
    Reason.DECLINED: ReasonPolicy(YES, NO, YES, "see the log of the vertex that is named"),
    Reason.SUBSUMED: ReasonPolicy(NO, NO, YES),
    Reason.RESTARTING: ReasonPolicy(NO, NO, YES),
    Reason.STORE_FAILED: ReasonPolicy(YES, NO, YES, "look at checkpoint.location: space, permissions, reachability"),
    Reason.OPERATION_ENDED: ReasonPolicy(NO, NO, NO),
    # failures of subtasks and pipelines
    Reason.UNIT_FAILED: ReasonPolicy(NO, NO, YES, "see the first error of the vertex that is named"),
    Reason.UNIT_REFUSED: ReasonPolicy(NO, NO, NO, "see the first error of the vertex that is named"),
    Reason.SNAPSHOT_FAILED: ReasonPolicy(YES, NO, YES, "see the first error of the vertex that is named"),
    Reason.RESTORE_FAILED: ReasonPolicy(NO, NO, YES, "see the first error of the vertex that is named"),
    # An id beyond the next one is a fatal gap (I23): a restart would only hide that a batch was lost.
    Reason.GAP: ReasonPolicy(
        NO, YES, NO, "run the job again with --restore latest, and report this: it is a bug of seatunnel-py"
    ),
    # The receiver and its descendants restart from the checkpoint, and then accept the new content (I22).
    Reason.CONTENT_CHANGED: ReasonPolicy(NO, NO, YES, "set channel.retain = always, or source.consistency = snapshot"),
    Reason.COMMIT_FAILED: ReasonPolicy(NO, NO, YES, "look whether the target is reachable and takes writes"),
    Reason.COMMIT_REFUSED: ReasonPolicy(NO, NO, NO, "mend what the target names, then go on with --restore latest"),
    Reason.LOST: ReasonPolicy(
        NO, YES, NO, "compare the target with the staged names in the record before going on (I31)"
    ),
    Reason.POSITIONS_VOID: ReasonPolicy(NO, NO, YES, "none needed: the tables are read again from checkpoint 0"),
    Reason.TOO_MANY_FAILED_CHECKPOINTS: ReasonPolicy(NO, YES, NO, "see the log: why each of them failed"),
    Reason.FENCED: ReasonPolicy(NO, YES, NO, "none needed: the newer driver goes on with the job"),
    Reason.FOREIGN: ReasonPolicy(
        NO, YES, NO, "restore the job's store, or start again with --fresh and another target"
    ),
    Reason.CANCELLED: ReasonPolicy(NO, NO, NO),
}


class FailureVerdict(StrEnum):
    """Reaction of a pipeline to the end of a checkpoint."""

    GO_ON = "go on"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class FailedInARow:
    """Number of counted checkpoint failures since the last completed one."""

    count: int = 0

    def completed(self) -> FailedInARow:
        """After a checkpoint completed (FP4)."""
        return FailedInARow()

    def aborted(self, kind: RecordKind, reason: Reason) -> FailedInARow:
        """After a checkpoint was aborted (FP2, FP5)."""
        counts = POLICIES[reason].counts and kind is not RecordKind.SAVEPOINT
        return FailedInARow(self.count + 1) if counts else self

    def verdict(self, tolerable: int) -> FailureVerdict:
        """Fail the pipeline if there were too many failures (FP3)."""
        return FailureVerdict.FAIL if self.count > tolerable else FailureVerdict.GO_ON


def explain(reason: Reason) -> str:
    """A sentence for users: the reason and the remedy."""
    remedy = POLICIES[reason].remedy
    return f"{reason}: {remedy}" if remedy else str(reason)
