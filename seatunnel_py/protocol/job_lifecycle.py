"""Life cycles that people see: of a job, and of each vertex in it, which is a table or a few of them.

Rules. (Z1) A job that has some failed pipelines and some others is PARTLY_FINISHED, never FINISHED: the exit code says
which. (Z2) A vertex is left out only after its retries are used up, and comes back only by rejoining; neither ends the
others (I21). (Z3) A job that is being ended waits for all its pipelines, whatever else happens to them.
``lifecycle.py`` says how tables are read.

May not know: pipelines' inner states.
"""

from __future__ import annotations

from enum import StrEnum

from seatunnel_py.protocol.lifecycle import Table


class JobState(StrEnum):
    """A job is its pipelines together: PARTLY_FINISHED when some of them failed and the others did not mind."""

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
    """FAIL_FAST: a pipeline failed and the others shall end with it. ALL_...: the last pipeline has ended."""

    START = "start"
    REFUSE = "refuse"
    FAIL_FAST = "fail-fast"
    CANCEL = "cancel"
    ALL_FINISHED = "all-finished"
    SOME_FAILED = "some-failed"
    ALL_STOPPED = "all-stopped"
    ALL_FAILED = "all-failed"
    ALL_ENDED = "all-ended"


class VertexState(StrEnum):
    """What people see of a table: it runs, it is tried again, it is left out, it is done."""

    WAITING = "waiting"
    RUNNING = "running"
    RETRYING = "retrying"
    ISOLATED = "isolated"
    DONE = "done"
    CANCELLED = "cancelled"


class VertexEvent(StrEnum):
    """REJOIN: an isolated table comes back at a barrier."""

    START = "start"
    FAIL = "fail"
    ATTEMPTS_USED_UP = "attempts-used-up"
    REJOIN = "rejoin"
    FINISH = "finish"
    CANCEL = "cancel"


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
        JobEvent.SOME_FAILED: JobState.PARTLY_FINISHED,
        JobEvent.ALL_STOPPED: JobState.STOPPED,
        JobEvent.ALL_FAILED: JobState.FAILED,
    },
    JobState.FAILING: {JobEvent.ALL_ENDED: JobState.FAILED, JobEvent.CANCEL: JobState.CANCELLING},
    JobState.CANCELLING: {JobEvent.ALL_ENDED: JobState.CANCELLED},
    JobState.FINISHED: {},
    JobState.PARTLY_FINISHED: {},
    JobState.STOPPED: {},
    JobState.FAILED: {},
    JobState.CANCELLED: {},
}

VERTEX: Table[VertexState, VertexEvent] = {
    VertexState.WAITING: {
        VertexEvent.START: VertexState.RUNNING,
        VertexEvent.FAIL: VertexState.RETRYING,
        VertexEvent.CANCEL: VertexState.CANCELLED,
    },
    VertexState.RUNNING: {
        VertexEvent.FAIL: VertexState.RETRYING,
        VertexEvent.FINISH: VertexState.DONE,
        VertexEvent.CANCEL: VertexState.CANCELLED,
    },
    VertexState.RETRYING: {
        VertexEvent.START: VertexState.RUNNING,
        VertexEvent.FAIL: VertexState.RETRYING,
        VertexEvent.ATTEMPTS_USED_UP: VertexState.ISOLATED,
        VertexEvent.CANCEL: VertexState.CANCELLED,
    },
    VertexState.ISOLATED: {VertexEvent.REJOIN: VertexState.WAITING, VertexEvent.CANCEL: VertexState.CANCELLED},
    VertexState.DONE: {},
    VertexState.CANCELLED: {},
}
