"""Life cycles of job, pipeline, vertex, subtask and checkpoint, as literal tables: state x event -> state.

Rules. (L1) A pipeline finishes only by FINAL_CONFIRMED, so success is said after the last commit is confirmed (I43), and
stops only by SAVEPOINT_CONFIRMED (I44). (L2) A failure while restarting is a restart again (I26). (L3) A stop that did
not come about restarts the pipeline: some sources are silent behind its barrier already. (L4) What has not ended can be
cancelled. (L5) A checkpoint completes only out of STORING: the store has been asked, and has answered (I10).
``transitions.py`` says how tables are read; the pictures in the documentation are drawn from these.

May not know: why something happened. Reasons are ``failure_policy.py``'s, and who decides is the coordinator.
"""

from __future__ import annotations

from enum import StrEnum

from seatunnel_py.protocol.transitions import Table


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


class PipelineState(StrEnum):
    """SETTING_UP: start effects; RESTORING: lives begin; FINISHING: the final checkpoint; STOPPING: the savepoint
    behind which nothing is emitted; RESTARTING: the backoff before a region is restored, while siblings run (I21)."""

    CREATED = "created"
    SETTING_UP = "setting-up"
    RESTORING = "restoring"
    RUNNING = "running"
    FINISHING = "finishing"
    STOPPING = "stopping"
    RESTARTING = "restarting"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    CANCELLED = "cancelled"


class PipelineEvent(StrEnum):
    """FAIL: for good. SUBTASK_FAILED: a life is over, and attempts are left."""

    SET_UP = "set-up"
    RESTORE = "restore"
    ALL_READY = "all-ready"
    SUBTASK_FAILED = "subtask-failed"
    BACKOFF_OVER = "backoff-over"
    SOURCES_ENDED = "sources-ended"
    FINAL_CONFIRMED = "final-confirmed"
    STOP = "stop"
    STOP_FAILED = "stop-failed"
    SAVEPOINT_CONFIRMED = "savepoint-confirmed"
    FAIL = "fail"
    CANCEL = "cancel"


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


class SubtaskState(StrEnum):
    """ENDED: a source has nothing more, but goes on answering triggers (I46)."""

    CREATED = "created"
    RESTORING = "restoring"
    READY = "ready"
    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"
    CLOSED = "closed"


class SubtaskEvent(StrEnum):
    """RESTORE begins a life, with an epoch of its own, out of any state but the last."""

    RESTORE = "restore"
    READY = "ready"
    START = "start"
    END = "end"
    FAIL = "fail"
    CLOSE = "close"


class CheckpointState(StrEnum):
    """COMPLETE: everybody has acknowledged; STORING: the store has been asked; COMPLETED: its record is durable."""

    PENDING = "pending"
    COMPLETE = "complete"
    STORING = "storing"
    COMPLETED = "completed"
    ABORTED = "aborted"


class CheckpointEvent(StrEnum):
    """STORE: the record is handed to the store; STORED: it is durable."""

    ALL_ACKNOWLEDGED = "all-acknowledged"
    STORE = "store"
    STORED = "stored"
    ABORT = "abort"


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

PIPELINE: Table[PipelineState, PipelineEvent] = {
    PipelineState.CREATED: {
        PipelineEvent.SET_UP: PipelineState.SETTING_UP,
        PipelineEvent.RESTORE: PipelineState.RESTORING,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.SETTING_UP: {
        PipelineEvent.RESTORE: PipelineState.RESTORING,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.RESTORING: {
        PipelineEvent.ALL_READY: PipelineState.RUNNING,
        PipelineEvent.SUBTASK_FAILED: PipelineState.RESTARTING,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.RUNNING: {
        PipelineEvent.SUBTASK_FAILED: PipelineState.RESTARTING,
        PipelineEvent.SOURCES_ENDED: PipelineState.FINISHING,
        PipelineEvent.STOP: PipelineState.STOPPING,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.FINISHING: {
        PipelineEvent.SUBTASK_FAILED: PipelineState.RESTARTING,
        PipelineEvent.FINAL_CONFIRMED: PipelineState.FINISHED,
        PipelineEvent.STOP: PipelineState.STOPPING,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.STOPPING: {
        PipelineEvent.SUBTASK_FAILED: PipelineState.RESTARTING,
        PipelineEvent.STOP_FAILED: PipelineState.RESTARTING,
        PipelineEvent.SAVEPOINT_CONFIRMED: PipelineState.STOPPED,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.RESTARTING: {
        PipelineEvent.BACKOFF_OVER: PipelineState.RESTORING,
        PipelineEvent.SUBTASK_FAILED: PipelineState.RESTARTING,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.FINISHED: {},
    PipelineState.STOPPED: {},
    PipelineState.FAILED: {},
    PipelineState.CANCELLED: {},
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

SUBTASK: Table[SubtaskState, SubtaskEvent] = {
    SubtaskState.CREATED: {
        SubtaskEvent.RESTORE: SubtaskState.RESTORING,
        SubtaskEvent.CLOSE: SubtaskState.CLOSED,
    },
    SubtaskState.RESTORING: {
        SubtaskEvent.RESTORE: SubtaskState.RESTORING,
        SubtaskEvent.READY: SubtaskState.READY,
        SubtaskEvent.FAIL: SubtaskState.FAILED,
        SubtaskEvent.CLOSE: SubtaskState.CLOSED,
    },
    SubtaskState.READY: {
        SubtaskEvent.RESTORE: SubtaskState.RESTORING,
        SubtaskEvent.START: SubtaskState.RUNNING,
        SubtaskEvent.FAIL: SubtaskState.FAILED,
        SubtaskEvent.CLOSE: SubtaskState.CLOSED,
    },
    SubtaskState.RUNNING: {
        SubtaskEvent.RESTORE: SubtaskState.RESTORING,
        SubtaskEvent.END: SubtaskState.ENDED,
        SubtaskEvent.FAIL: SubtaskState.FAILED,
        SubtaskEvent.CLOSE: SubtaskState.CLOSED,
    },
    SubtaskState.ENDED: {
        SubtaskEvent.RESTORE: SubtaskState.RESTORING,
        SubtaskEvent.FAIL: SubtaskState.FAILED,
        SubtaskEvent.CLOSE: SubtaskState.CLOSED,
    },
    SubtaskState.FAILED: {
        SubtaskEvent.RESTORE: SubtaskState.RESTORING,
        SubtaskEvent.CLOSE: SubtaskState.CLOSED,
    },
    SubtaskState.CLOSED: {},
}

CHECKPOINT: Table[CheckpointState, CheckpointEvent] = {
    CheckpointState.PENDING: {
        CheckpointEvent.ALL_ACKNOWLEDGED: CheckpointState.COMPLETE,
        CheckpointEvent.ABORT: CheckpointState.ABORTED,
    },
    CheckpointState.COMPLETE: {
        CheckpointEvent.STORE: CheckpointState.STORING,
        CheckpointEvent.ABORT: CheckpointState.ABORTED,
    },
    CheckpointState.STORING: {
        CheckpointEvent.STORED: CheckpointState.COMPLETED,
        CheckpointEvent.ABORT: CheckpointState.ABORTED,
    },
    CheckpointState.COMPLETED: {},
    CheckpointState.ABORTED: {},
}
