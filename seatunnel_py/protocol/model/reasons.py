"""Reasons why a request was refused, a checkpoint aborted, or a subtask or pipeline failed: a closed list.
``failure_policy.py`` has the reaction to each; a test finds a reason without a row there.

May not know: the reaction to a reason.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The value is the text for users."""

    # refusals of a trigger, in the order of the checks (O4.3, O4.4)
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
