"""The summary of a run: one line of a list of jobs, from the files of its directory. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seatunnel_py.runtime.observe.receipt import FAILED_AGAIN

UNREADABLE = "UNREADABLE"
KILLED = "KILLED"
NOT_ENDED = "NOT ENDED"
RUN_STATES = (
    "RUNNING", "SUCCESS", "SOME_TABLES_FAILED", "FAILED", FAILED_AGAIN, "STOPPED", KILLED, NOT_ENDED, "DROPPED",
    UNREADABLE,
)  # fmt: skip


def state_of(
    about: Mapping[str, Any] | None, receipt: Mapping[str, Any] | None, *, alive: bool, far: bool = False
) -> str:
    """State of a run whose lock shows whether a driver is ``alive``. ``far``: its driver may be on another machine,
    from which a dead one looks like a running one."""
    if alive:
        return "RUNNING"
    if "dropped" in (about or {}):
        return "DROPPED"
    if receipt is not None:
        return str(receipt["state"])
    if (about or {}).get("failed"):
        return "FAILED"
    return NOT_ENDED if far else KILLED


def summary(
    job_id: str, state: str, about: Mapping[str, Any], told: Mapping[str, Any] | None, *, alive: bool, now: float
) -> dict[str, Any]:
    """The line of a run. ``told``: its receipt, or its counters, or None. ``rows_read`` sums over all of its drivers;
    None if it is not known here."""
    started = about.get("started", 0.0)
    return {
        "job_id": job_id,
        "job_name": about.get("job_name", ""),
        "job_file": about.get("job_file", ""),
        "started": started,
        "state": state,
        "seconds": max(0.0, now - started) if alive else _seconds(told, started),
        "rows_read": told["totals"]["rows_read"] if told else None,
        "rows_read_this_run": told["this_run"]["rows_read"] if told and "this_run" in told else None,
    }


def unreadable(job_id: str) -> dict[str, Any]:
    """The line of a run with a damaged record, which must not hide the others."""
    nothing = {"seconds": None, "rows_read": None, "rows_read_this_run": None}
    return {"job_id": job_id, "job_name": "", "job_file": "", "started": 0.0, "state": UNREADABLE, **nothing}


def _seconds(told: Mapping[str, Any] | None, started: float) -> float | None:
    """Duration until the driver ended, or until it died."""
    if told is None:
        return None
    return float(told["seconds"]["total"] if "seconds" in told else max(0.0, told["at"] - started))
