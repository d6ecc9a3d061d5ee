"""State machines of a pipeline, a subtask and a checkpoint, as tables (state x event -> state). The diagrams in the
documentation are drawn from them.

Rules. (LC1) A transition outside of the table is forbidden and raises. (LC2) Every state has a row; the first is the
initial state, an empty row is a final state, without transitions (I12). (LC3) A pipeline finishes only by
FINAL_CONFIRMED, so success is reported after the last commit is confirmed (I43), and stops only by SAVEPOINT_CONFIRMED
(I44). (LC4) A failure during a restart starts another restart (I26). (LC5) Only a restart leads from STOPPING back to
RUNNING: some sources have already stopped emitting at its barrier. (LC6) A pipeline that has not ended can be cancelled
and can fail. (LC7) A checkpoint completes only from STORING, and only the store's reply ends STORING (I10). (LC8) A
subtask runs only after the start command, and a failed execution can only be replaced (O5.4).

May not know: the cause of an event (``failure_policy.py`` has the reasons, the coordinator decides).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias, TypeVar

from seatunnel_py.protocol.model.errors import LocalProtocolError


class PipelineState(StrEnum):
    """SETTING_UP: start effects; RESTORING: executions start; FINISHING: the final checkpoint; STOPPING: the savepoint
    after which nothing is emitted; RESTARTING: the pause before a region is restored, while others run (I21)."""

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
    """FAIL: for good. SUBTASK_FAILED: an execution or a stop has failed (LC5), and attempts are left."""

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
    """State of a subtask. A source that has read everything stays RUNNING and handles triggers (I46)."""

    NONE = "none"
    READY = "ready"
    RUNNING = "running"
    FAILED = "failed"


class ExecutionEvent(StrEnum):
    """RESTORE starts a new execution with a new epoch, in any state."""

    RESTORE = "restore"
    START = "start"
    FAIL = "fail"


class CheckpointState(StrEnum):
    """COMPLETE: all subtasks have acknowledged; STORING: its record is being stored; COMPLETED: the record is
    durable."""

    PENDING = "pending"
    COMPLETE = "complete"
    STORING = "storing"
    COMPLETED = "completed"
    ABORTED = "aborted"


class CheckpointEvent(StrEnum):
    """STORE: the record is sent to the store; STORED: it is durable; NOT_STORED: storing failed."""

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
    """Return the next state. Raises LocalProtocolError for a transition outside of the table (LC1)."""
    row = table[state]
    if event not in row:
        allowed = ", ".join(row) or "nothing: it is an end"
        raise LocalProtocolError(f"{type(state).__name__}: {event} cannot happen when {state}; possible: {allowed}")
    return row[event]


def has_ended(table: Table[S, E], state: S) -> bool:
    """True for a final state (LC2)."""
    return not table[state]
