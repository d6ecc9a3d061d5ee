"""The status of a run for SeaTunnel's clients: the whole table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store.intents import Intent, IntentState, StartKind, StartOptions
from seatunnel_py.runtime.control.requests import RequestKind
from seatunnel_py.web.rest_v2.documents.job_status import job_status

INTENT = Intent(1, "r", "d", 1, StartKind.NEW, IntentState.WAITING, StartOptions(), "", "", "me", 1.0)
RUNS = RunRow("r", "RUNNING", started=1.0, has_counters=True)


def start(state: IntentState, kind: StartKind = StartKind.NEW) -> Intent:
    return replace(INTENT, state=state, kind=kind)


def ended(code: int | None, state: str = "STOPPED") -> RunRow:
    return RunRow("r", state, started=1.0, seconds=2.0, exit_code=code, outcome="ended")


@pytest.mark.parametrize(
    ("row", "intent", "more", "status"),
    [
        (None, start(IntentState.WAITING), {}, "INITIALIZING"),
        (None, start(IntentState.WAITING), {"queued": True}, "PENDING"),
        (None, start(IntentState.STARTING), {}, "CREATED"),
        (None, start(IntentState.STARTED), {}, "SCHEDULED"),
        (None, start(IntentState.DROPPED), {}, "CANCELED"),
        (None, start(IntentState.NOT_STARTED), {}, "FAILED"),
        (None, start(IntentState.ENDED), {}, "FAILED"),
        (None, None, {}, "UNKNOWABLE"),
        (replace(RUNS, has_counters=False), start(IntentState.STARTED), {}, "SCHEDULED"),
        (RUNS, start(IntentState.STARTED), {}, "RUNNING"),
        (replace(RUNS, state="STALLED"), None, {}, "RUNNING"),
        (RUNS, None, {"asked": {RequestKind.STOP}}, "DOING_SAVEPOINT"),
        (RUNS, None, {"asked": {RequestKind.CANCEL}}, "CANCELING"),
        (RUNS, None, {"asked": {RequestKind.CANCEL, RequestKind.STOP}}, "CANCELING"),
        (RUNS, None, {"asked": {RequestKind.SAVEPOINT}}, "RUNNING"),
        (ended(0, "SUCCESS"), start(IntentState.ENDED), {}, "FINISHED"),
        (ended(1, "FAILED"), None, {}, "FAILED"),
        (ended(2, "FAILED"), None, {}, "FAILED"),
        (ended(3, "SOME_TABLES_FAILED"), None, {}, "FAILED"),
        (ended(3, "SOME_TABLES_FAILED"), None, {"partial": "finished"}, "FINISHED"),
        (ended(130), None, {}, "CANCELED"),
        (ended(143), None, {}, "CANCELED"),
        (ended(143), None, {"saved": True}, "SAVEPOINT_DONE"),
        (ended(None, "KILLED"), start(IntentState.ENDED), {}, "FAILED"),
        (ended(None, "KILLED"), start(IntentState.WAITING, StartKind.RESTORE), {}, "RUNNING"),
        (ended(1, "FAILED"), start(IntentState.STARTING, StartKind.RESTORE), {}, "RUNNING"),
        (RunRow("r", "UNREADABLE", fault="a link"), None, {}, "UNKNOWABLE"),
    ],
)
def test_the_status_of_a_run(row: RunRow | None, intent: Intent | None, more: dict[str, Any], status: str) -> None:
    """U15: Each line of the table."""
    assert job_status(row, intent, **more) == status
