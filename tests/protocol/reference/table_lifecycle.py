"""The life cycle of a table, as a literal table. The runtime shows the same states in its receipt.

Rules, in continuation of ``isolation.py``. (IS9) A table that fails while it rejoins is isolated again, from where it
was; the others do not notice (I21).

May not know: why something happened to a table.
"""

from __future__ import annotations

from enum import StrEnum

from seatunnel_py.protocol.model.lifecycle import Table


class TableState(StrEnum):
    """What people see of a table."""

    RUNNING = "running"
    RETRYING = "retrying"
    ISOLATED = "isolated"
    REJOINING = "rejoining"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TableEvent(StrEnum):
    """GIVE_UP: its isolation is durable. JOIN: the record of its barrier is durable. FINISH: its last commit is
    confirmed. END_PIPELINE: the pipeline failed, whoever's fault it was."""

    FAIL = "fail"
    START = "start"
    GIVE_UP = "give-up"
    REJOIN = "rejoin"
    JOIN = "join"
    FINISH = "finish"
    END_PIPELINE = "end-pipeline"
    CANCEL = "cancel"


TABLE: Table[TableState, TableEvent] = {
    TableState.RUNNING: {
        TableEvent.FAIL: TableState.RETRYING,
        TableEvent.GIVE_UP: TableState.ISOLATED,
        TableEvent.FINISH: TableState.DONE,
        TableEvent.END_PIPELINE: TableState.FAILED,
        TableEvent.CANCEL: TableState.CANCELLED,
    },
    TableState.RETRYING: {
        TableEvent.FAIL: TableState.RETRYING,
        TableEvent.START: TableState.RUNNING,
        TableEvent.GIVE_UP: TableState.ISOLATED,
        TableEvent.END_PIPELINE: TableState.FAILED,
        TableEvent.CANCEL: TableState.CANCELLED,
    },
    # It does not run, so that it can neither fail nor finish: it ends as what it is, with the pipeline (exit code 3).
    TableState.ISOLATED: {
        TableEvent.REJOIN: TableState.REJOINING,
        TableEvent.END_PIPELINE: TableState.FAILED,
        TableEvent.CANCEL: TableState.CANCELLED,
    },
    TableState.REJOINING: {
        TableEvent.FAIL: TableState.ISOLATED,
        TableEvent.JOIN: TableState.RUNNING,
        TableEvent.END_PIPELINE: TableState.FAILED,
        TableEvent.CANCEL: TableState.CANCELLED,
    },
    TableState.DONE: {},
    TableState.FAILED: {},
    TableState.CANCELLED: {},
}
