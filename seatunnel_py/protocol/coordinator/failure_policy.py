"""What follows from each reason, and how many failed checkpoints in a row are borne.

Rules. (FP1) Every reason has a row; none is judged by default. (FP2) A checkpoint that was declined, not acknowledged
in time or not stored counts; one that was given up because something else was wanted does not. (FP3) More than the
tolerable number of counted ones in a row fail the pipeline, one fewer does not (I15). (FP4) A completed checkpoint, of
whatever kind, sets the count to nothing. (FP5) A failed savepoint is answered to whoever asked for it, and does not
count.

May not know: how often a vertex was restarted (``backoff.py`` does), and what a failure looked like outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind


@dataclass(frozen=True, slots=True)
class Policy:
    """``counts``: towards the tolerable failures. ``fails``: the pipeline ends at once. ``retriable``: the same thing,
    asked for again, may succeed without anybody changing anything. ``remedy``: what a person can do, empty where
    nothing is wrong."""

    counts: bool
    fails: bool
    retriable: bool
    remedy: str = ""


NO = False
YES = True

POLICIES: Mapping[Reason, Policy] = {
    # refusals of a trigger                     counts fails retriable
    Reason.SHUT_DOWN: Policy(NO, NO, NO, "run the job again with --restore latest if it is not finished"),
    Reason.NOT_RUNNING: Policy(NO, NO, YES, "ask again when the pipeline runs"),
    Reason.PERIODIC_OFF: Policy(NO, NO, NO),
    Reason.TOO_MANY_QUEUED: Policy(NO, NO, YES, "wait for the answers to earlier requests"),
    Reason.MIN_PAUSE: Policy(NO, NO, YES),
    Reason.CONCURRENCY: Policy(NO, NO, YES),
    Reason.COMMIT_LAG: Policy(NO, NO, YES, "look whether the targets are reachable; raise checkpoint.max-uncommitted"),
    Reason.NOTHING_NEW: Policy(NO, NO, YES),
    Reason.NOT_POSSIBLE: Policy(NO, NO, NO, "name a vertex of the pipeline that is not isolated already"),
    # ends of a pending checkpoint
    Reason.EXPIRED: Policy(YES, NO, YES, "raise checkpoint.timeout, or lower unit.seconds of the vertex that is named"),
    Reason.DECLINED: Policy(YES, NO, YES, "see the log of the vertex that is named"),
    Reason.SUBSUMED: Policy(NO, NO, YES),
    Reason.RESTARTING: Policy(NO, NO, YES),
    Reason.STORE_FAILED: Policy(YES, NO, YES, "look at checkpoint.location: space, permissions, reachability"),
    Reason.OPERATION_ENDED: Policy(NO, NO, NO),
    # failures of subtasks and pipelines
    Reason.UNIT_FAILED: Policy(NO, NO, YES, "see the first error of the vertex that is named"),
    Reason.UNIT_REFUSED: Policy(NO, NO, NO, "see the first error of the vertex that is named"),
    Reason.SNAPSHOT_FAILED: Policy(YES, NO, YES, "see the first error of the vertex that is named"),
    Reason.RESTORE_FAILED: Policy(NO, NO, YES, "see the first error of the vertex that is named"),
    # An id beyond the next one is a fatal gap (I23): a restart would only hide that a batch got lost.
    Reason.GAP: Policy(NO, YES, NO, "run the job again with --restore latest, and report this: it is an error of ours"),
    # The receiver and its descendants go back to the checkpoint, and then take what comes (I22).
    Reason.CONTENT_CHANGED: Policy(NO, NO, YES, "set channel.retain = always, or source.consistency = snapshot"),
    Reason.COMMIT_FAILED: Policy(NO, NO, YES, "look whether the target is reachable and takes writes"),
    Reason.COMMIT_REFUSED: Policy(NO, NO, NO, "mend what the target names, then go on with --restore latest"),
    Reason.LOST: Policy(NO, YES, NO, "compare the target with the staged names in the record before going on (I31)"),
    Reason.POSITIONS_VOID: Policy(NO, NO, YES, "none needed: the tables are read again from checkpoint 0"),
    Reason.TOO_MANY_FAILED_CHECKPOINTS: Policy(NO, YES, NO, "see the log: why each of them failed"),
    Reason.FENCED: Policy(NO, YES, NO, "none needed: the newer driver goes on with the job"),
    Reason.FOREIGN: Policy(NO, YES, NO, "give the job its store back, or begin anew with --fresh and another target"),
    Reason.CANCELLED: Policy(NO, NO, NO),
}


class Verdict(StrEnum):
    """What a pipeline does after a checkpoint has ended."""

    GO_ON = "go on"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class FailedInARow:
    """How many counted checkpoints have failed since the last one completed."""

    count: int = 0

    def completed(self) -> FailedInARow:
        """After a checkpoint completed (FP4)."""
        return FailedInARow()

    def aborted(self, kind: RecordKind, reason: Reason) -> FailedInARow:
        """After a checkpoint ended otherwise (FP2, FP5)."""
        counts = POLICIES[reason].counts and kind is not RecordKind.SAVEPOINT
        return FailedInARow(self.count + 1) if counts else self

    def verdict(self, tolerable: int) -> Verdict:
        """Whether that was one too many (FP3)."""
        return Verdict.FAIL if self.count > tolerable else Verdict.GO_ON


def explain(reason: Reason) -> str:
    """A sentence for people: what happened, and what can be done about it."""
    remedy = POLICIES[reason].remedy
    return f"{reason}: {remedy}" if remedy else str(reason)
