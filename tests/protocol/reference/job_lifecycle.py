"""The life cycle of a job, and how it follows from those of its pipelines.

Rules. (JL1) A job has FINISHED only if all its pipelines have; with some that did not arrive it is PARTLY_FINISHED, and
the exit code says so. (JL2) A pipeline that ends does not end the others (O5.1), unless the job is to fail fast.
(JL3) A job that is being ended waits for all its pipelines. (JL4) A cancel that came too late changed nothing: where
everything finished in spite of it, the job has finished.

May not know: pipelines' inner affairs, and tables' (``isolation.py``).
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from seatunnel_py.protocol.model.lifecycle import PIPELINE, PipelineState, Table, has_ended


class JobState(StrEnum):
    """FAILING: one pipeline failed, and the others are being ended with it. STOPPED: at a savepoint."""

    CREATED = "created"
    RUNNING = "running"
    FAILING = "failing"
    CANCELLING = "cancelling"
    FINISHED = "finished"
    PARTLY_FINISHED = "partly-finished"
    STOPPED = "stopped"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobEvent(StrEnum):
    """REFUSE: the plan, or the claim of the job's id, was refused. ALL_ENDED: however each of them did."""

    START = "start"
    REFUSE = "refuse"
    FAIL_FAST = "fail-fast"
    CANCEL = "cancel"
    ALL_FINISHED = "all-finished"
    ALL_STOPPED = "all-stopped"
    SOME_FAILED = "some-failed"
    ALL_FAILED = "all-failed"
    ALL_ENDED = "all-ended"


JOB: Table[JobState, JobEvent] = {
    JobState.CREATED: {
        JobEvent.START: JobState.RUNNING,
        JobEvent.REFUSE: JobState.FAILED,
        JobEvent.CANCEL: JobState.CANCELLED,
    },
    JobState.RUNNING: {
        JobEvent.FAIL_FAST: JobState.FAILING,
        JobEvent.CANCEL: JobState.CANCELLING,
        JobEvent.ALL_FINISHED: JobState.FINISHED,
        JobEvent.ALL_STOPPED: JobState.STOPPED,
        JobEvent.SOME_FAILED: JobState.PARTLY_FINISHED,
        JobEvent.ALL_FAILED: JobState.FAILED,
    },
    JobState.FAILING: {JobEvent.ALL_ENDED: JobState.FAILED, JobEvent.CANCEL: JobState.CANCELLING},
    JobState.CANCELLING: {JobEvent.ALL_FINISHED: JobState.FINISHED, JobEvent.ALL_ENDED: JobState.CANCELLED},
    JobState.FINISHED: {},
    JobState.PARTLY_FINISHED: {},
    JobState.STOPPED: {},
    JobState.FAILED: {},
    JobState.CANCELLED: {},
}

ENDING = frozenset({JobState.FAILING, JobState.CANCELLING})
ARRIVED = frozenset({PipelineState.FINISHED, PipelineState.STOPPED})


def follows(job: JobState, pipelines: Collection[PipelineState], *, fail_fast: bool) -> JobEvent | None:
    """What has happened to a job, now that its pipelines are in these states; None: nothing. Ask again after it."""
    if job is JobState.RUNNING and fail_fast and PipelineState.FAILED in pipelines:
        return JobEvent.FAIL_FAST
    if not JOB[job] or job is JobState.CREATED or not all(has_ended(PIPELINE, state) for state in pipelines):
        return None
    ends = set(pipelines)
    if ends == {PipelineState.FINISHED} and job is not JobState.FAILING:
        return JobEvent.ALL_FINISHED
    if job in ENDING:
        return JobEvent.ALL_ENDED
    if ends <= ARRIVED:
        return JobEvent.ALL_STOPPED
    return JobEvent.SOME_FAILED if ends & ARRIVED else JobEvent.ALL_FAILED
