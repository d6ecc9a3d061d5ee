"""SeaTunnel's ``jobStatus`` for each state of a run. Pure.

Rules. (1) A driver that is alive is RUNNING, also while tables are tried again or were isolated; ``errorMsg`` names
them. (2) A run that waits to be restored is RUNNING. (3) A run of which some tables failed is FAILED, unless the server
was started with another wish: a client that only reads the status must not take it for a whole success.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store.intents import Intent, IntentState, StartKind
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.control.requests import RequestKind
from seatunnel_py.runtime.observe.run_summary import UNREADABLE
from seatunnel_py.web.settings import PARTIAL

INITIALIZING, PENDING, CREATED, SCHEDULED = "INITIALIZING", "PENDING", "CREATED", "SCHEDULED"
RUNNING, DOING_SAVEPOINT, CANCELING = "RUNNING", "DOING_SAVEPOINT", "CANCELING"
FINISHED, CANCELED, FAILED = "FINISHED", "CANCELED", "FAILED"
SAVEPOINT_DONE, UNKNOWABLE = "SAVEPOINT_DONE", "UNKNOWABLE"
ENDED = (FINISHED, CANCELED, FAILED, SAVEPOINT_DONE, UNKNOWABLE)
_OF_EXIT: Mapping[int, str] = {
    ExitCode.SUCCESS: FINISHED,
    ExitCode.FAILED: FAILED,
    ExitCode.JOB_FILE_WRONG: FAILED,
    ExitCode.INTERRUPTED: CANCELED,
    ExitCode.TERMINATED: CANCELED,
}
_OF_INTENT: Mapping[IntentState, str] = {
    IntentState.STARTING: CREATED,
    IntentState.STARTED: SCHEDULED,
    IntentState.ENDED: FAILED,
    IntentState.NOT_STARTED: FAILED,
    IntentState.DROPPED: CANCELED,
}


def job_status(
    row: RunRow | None,
    intent: Intent | None,
    *,
    queued: bool = False,
    asked: Collection[RequestKind] = (),
    saved: bool = False,
    partial: str = PARTIAL[0],
) -> str:
    """The status of a run. ``row``: None, it has no directory; ``intent``: its newest start, None: it was started by
    hand; ``queued``: limits hold it back; ``asked``: open requests to its driver; ``saved``: it has ended with the
    savepoint that was asked for."""
    waits = intent is not None and intent.state is IntentState.WAITING
    if row is None:
        if intent is None:
            return UNKNOWABLE
        return (PENDING if queued else INITIALIZING) if waits else _OF_INTENT[intent.state]
    if row.state == UNREADABLE:
        return UNKNOWABLE
    if row.alive:
        return _alive(row, asked)
    if intent is not None and intent.kind is StartKind.RESTORE and (waits or intent.state is IntentState.STARTING):
        return RUNNING
    return _ended(row, saved, partial)


def _alive(row: RunRow, asked: Collection[RequestKind]) -> str:
    if RequestKind.CANCEL in asked:
        return CANCELING
    if RequestKind.STOP in asked:
        return DOING_SAVEPOINT
    return RUNNING if row.has_counters else SCHEDULED


def _ended(row: RunRow, saved: bool, partial: str) -> str:
    if row.exit_code == ExitCode.SOME_TABLES_FAILED:
        return partial.upper()
    if saved:
        return SAVEPOINT_DONE
    return FAILED if row.exit_code is None else _OF_EXIT.get(row.exit_code, FAILED)
