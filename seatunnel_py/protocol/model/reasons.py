"""Why a checkpoint, a request, a subtask or a pipeline did not get what it wanted: a closed list. What
follows from each stands in ``failure_policy.py``; a reason without a row there is found by a test.

May not know: what follows from a reason.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The value is what people read."""

    # refusals of a trigger, in the order in which they are looked at (O4.3, O4.4)
    SHUT_DOWN = "the pipeline has ended"
    NOT_RUNNING = "not all subtasks are running"
    PERIODIC_OFF = "periodic checkpoints are switched off"
    TOO_MANY_QUEUED = "too many requests are waiting already"
    MIN_PAUSE = "the last checkpoint ended too short a while ago"
    CONCURRENCY = "as many checkpoints as allowed are under way"
    COMMIT_LAG = "too many checkpoints are completed, but not committed"
    NOTHING_NEW = "nothing has moved since the last checkpoint"
    NOT_POSSIBLE = "the pipeline has no such vertex, or nothing would remain without it"
    # ends of a pending checkpoint
    EXPIRED = "it was not acknowledged in time"
    DECLINED = "a subtask declined it"
    SUBSUMED = "a newer checkpoint completed first"
    RESTARTING = "a region of the pipeline restarts"
    STORE_FAILED = "its record could not be stored"
    OPERATION_ENDED = "the pipeline is being stopped"
    # failures of subtasks and pipelines
    UNIT_FAILED = "a unit failed"
    UNIT_REFUSED = "a unit failed in a way that trying again does not mend"
    SNAPSHOT_FAILED = "a snapshot failed"
    RESTORE_FAILED = "a restore failed"
    GAP = "a batch is missing on a channel"
    CONTENT_CHANGED = "a batch came again with other rows"
    COMMIT_FAILED = "a commit failed"
    COMMIT_REFUSED = "the target refuses a commit for good"
    LOST = "what was prepared is neither there nor committed"
    POSITIONS_VOID = "what was read under a lost snapshot is worth nothing"
    TOO_MANY_FAILED_CHECKPOINTS = "too many checkpoints failed in a row"
    FENCED = "a newer driver has taken over"
    FOREIGN = "the target remembers another run, or more than the store does"
    CANCELLED = "it was cancelled"
