"""Life cycles of a pipeline, a subtask and a checkpoint, as literal tables (state x event -> state), and how such a
table is read. The pictures in the documentation are drawn from the tables.

Rules. (LC1) What a table does not hold is forbidden: asking for it is a mistake of ours and raises. (LC2) Every state
has a row; the first is the start, an empty one is an end, and nothing leaves an end (I12). (LC3) A pipeline finishes
only by FINAL_CONFIRMED, so success is said after the last commit is confirmed (I43), and stops only by
SAVEPOINT_CONFIRMED (I44). (LC4) A failure while restarting is a restart again (I26). (LC5) Out of STOPPING no way leads
back to RUNNING but a restart: some sources are silent behind its barrier already. (LC6) A pipeline that has not ended
can be cancelled and can fail. (LC7) A checkpoint completes only out of STORING, and only the store's answer leads out
of that (I10). (LC8) A subtask runs only after it was told to start, and a life that failed does nothing more but give
way to another (O5.4).

May not know: why something happened. Reasons are the business of ``failure_policy.py``, decisions of the coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias, TypeVar

from seatunnel_py.protocol.model.errors import LocalProtocolError


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
    """FAIL: for good. SUBTASK_FAILED: a life is over, or a stop was (LC5), and attempts are left."""

    SET_UP = "set-up"
    RESTORE = "restore"
    ALL_READY = "all-ready"
    SUBTASK_FAILED = "subtask-failed"
    BACKOFF_OVER = "backoff-over"
    SOURCES_ENDED = "sources-ended"
    FINAL_CONFIRMED = "final-confirmed"
    STOP = "stop"
    SAVEPOINT_CONFIRMED = "savepoint-confirmed"
    FAIL = "fail"
    CANCEL = "cancel"


class ExecutionState(StrEnum):
    """Of a subtask. That a source has nothing more to read is no state: it lives on and answers triggers (I46)."""

    NONE = "none"
    READY = "ready"
    RUNNING = "running"
    FAILED = "failed"


class ExecutionEvent(StrEnum):
    """RESTORE begins a life, with an epoch of its own, whatever became of the one before."""

    RESTORE = "restore"
    START = "start"
    FAIL = "fail"


class CheckpointState(StrEnum):
    """COMPLETE: everybody has acknowledged; STORING: the store has been asked; COMPLETED: its record is durable."""

    PENDING = "pending"
    COMPLETE = "complete"
    STORING = "storing"
    COMPLETED = "completed"
    ABORTED = "aborted"


class CheckpointEvent(StrEnum):
    """STORE: the record is handed to the store; STORED: it is durable; NOT_STORED: it is not there."""

    ALL_ACKNOWLEDGED = "all-acknowledged"
    STORE = "store"
    STORED = "stored"
    NOT_STORED = "not-stored"
    ABORT = "abort"


S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)
Table: TypeAlias = Mapping[S, Mapping[E, S]]

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
        PipelineEvent.FINAL_CONFIRMED: PipelineState.FINISHED,
        PipelineEvent.SAVEPOINT_CONFIRMED: PipelineState.STOPPED,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.RUNNING: {
        PipelineEvent.SUBTASK_FAILED: PipelineState.RESTARTING,
        PipelineEvent.SOURCES_ENDED: PipelineState.FINISHING,
        PipelineEvent.STOP: PipelineState.STOPPING,
        PipelineEvent.FINAL_CONFIRMED: PipelineState.FINISHED,
        PipelineEvent.SAVEPOINT_CONFIRMED: PipelineState.STOPPED,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.FINISHING: {
        PipelineEvent.SUBTASK_FAILED: PipelineState.RESTARTING,
        PipelineEvent.FINAL_CONFIRMED: PipelineState.FINISHED,
        PipelineEvent.STOP: PipelineState.STOPPING,
        PipelineEvent.SAVEPOINT_CONFIRMED: PipelineState.STOPPED,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.STOPPING: {
        PipelineEvent.SUBTASK_FAILED: PipelineState.RESTARTING,
        PipelineEvent.SAVEPOINT_CONFIRMED: PipelineState.STOPPED,
        PipelineEvent.FINAL_CONFIRMED: PipelineState.FINISHED,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.RESTARTING: {
        PipelineEvent.BACKOFF_OVER: PipelineState.RESTORING,
        PipelineEvent.SUBTASK_FAILED: PipelineState.RESTARTING,
        PipelineEvent.FINAL_CONFIRMED: PipelineState.FINISHED,
        PipelineEvent.SAVEPOINT_CONFIRMED: PipelineState.STOPPED,
        PipelineEvent.FAIL: PipelineState.FAILED,
        PipelineEvent.CANCEL: PipelineState.CANCELLED,
    },
    PipelineState.FINISHED: {},
    PipelineState.STOPPED: {},
    PipelineState.FAILED: {},
    PipelineState.CANCELLED: {},
}

LIFE: Table[ExecutionState, ExecutionEvent] = {
    ExecutionState.NONE: {ExecutionEvent.RESTORE: ExecutionState.READY},
    ExecutionState.READY: {
        ExecutionEvent.RESTORE: ExecutionState.READY,
        ExecutionEvent.START: ExecutionState.RUNNING,
        ExecutionEvent.FAIL: ExecutionState.FAILED,
    },
    ExecutionState.RUNNING: {ExecutionEvent.RESTORE: ExecutionState.READY, ExecutionEvent.FAIL: ExecutionState.FAILED},
    ExecutionState.FAILED: {ExecutionEvent.RESTORE: ExecutionState.READY},
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
        CheckpointEvent.NOT_STORED: CheckpointState.ABORTED,
    },
    CheckpointState.COMPLETED: {},
    CheckpointState.ABORTED: {},
}


def advance(table: Table[S, E], state: S, event: E) -> S:
    """The next state. Raises LocalProtocolError for what the table does not hold (LC1)."""
    row = table[state]
    if event not in row:
        allowed = ", ".join(row) or "nothing: it is an end"
        raise LocalProtocolError(f"{type(state).__name__}: {event} cannot happen when {state}; what can is {allowed}")
    return row[event]


def has_ended(table: Table[S, E], state: S) -> bool:
    """Nothing leaves this state (LC2)."""
    return not table[state]
