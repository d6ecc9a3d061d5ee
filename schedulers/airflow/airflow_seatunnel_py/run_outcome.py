"""Decides what the end of a run means for its task. Pure.

Rules. (1) Exit code 0 is a success. (2) 3, some tables failed: ``partial`` decides. (3) 2, the job file is wrong: no
retry helps. (4) Any other end is a failure that a retry may restore from its newest checkpoint.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

SUCCESS, FAILED, FILE_WRONG, SOME_FAILED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
PARTIAL = ("fail", "warn", "ok")
NOT_STARTED = ("NOT_STARTED", "DROPPED", "ENDED")
ID_MAX = 63


class Verdict(Enum):
    """What becomes of the task. ``FAILS_FOR_GOOD``: Airflow must not try it again."""

    SUCCEEDS = "succeeds"
    WARNS = "warns"
    FAILS = "fails"
    FAILS_FOR_GOOD = "fails for good"


@dataclass(frozen=True)
class RunEnd:
    """The end of a run. ``summary``: for other tasks; ``text``: one line."""

    verdict: Verdict
    text: str
    summary: dict[str, Any]


def has_ended(head: Mapping[str, Any]) -> bool:
    """Whether this head of a run is its last one. A driver that is killed leaves no exit code, and is not alive."""
    return head["state"] not in ("RUNNING", "STALLED", "WAITING", "STARTING", "STARTED")


def summary_of(head: Mapping[str, Any]) -> dict[str, Any]:
    """The receipt of a run without its tables."""
    receipt = head.get("receipt") or {}
    totals = receipt.get("totals") or {}
    return {
        "job_id": head["job_id"],
        "state": head["state"],
        "exit_code": head.get("exit_code"),
        "rows_read": totals.get("rows_read"),
        "rows_written": totals.get("rows_written"),
        "rows_rejected": totals.get("rows_rejected"),
        "seconds": head.get("seconds"),
        "tables": head.get("tables") or {},
    }


def end_of(head: Mapping[str, Any], partial: str) -> RunEnd:
    """What the end of a run means. ``partial``: one of ``PARTIAL``."""
    code, tables = head.get("exit_code"), head.get("tables") or {}
    counts = ", ".join(f"{number} {state}" for state, number in sorted(tables.items()))
    text = f"the run {head['job_id']} is {head['state']}" + (f" ({counts})" if counts else "")
    if code == FILE_WRONG:
        text += ": its job file is wrong, `seatunnel check` names each mistake"
    if code == SUCCESS:
        verdict = Verdict.SUCCEEDS
    elif code == SOME_FAILED:
        verdict = {"ok": Verdict.SUCCEEDS, "warn": Verdict.WARNS, "fail": Verdict.FAILS}[partial]
    else:
        verdict = Verdict.FAILS_FOR_GOOD if code == FILE_WRONG else Verdict.FAILS
    return RunEnd(verdict, text, summary_of(head))


def has_begun(head: Mapping[str, Any]) -> bool:
    """Whether a driver has ever had the run."""
    return head.get("job") is not None


def may_restore(head: Mapping[str, Any]) -> bool:
    """Whether a retry goes on with a run that has ended: it has failed as a whole, in parts, or was killed."""
    helps = head.get("exit_code") in (None, FAILED, SOME_FAILED, INTERRUPTED, TERMINATED)
    return has_ended(head) and has_begun(head) and helps


def idempotency_key(dag: str, run: str, task: str, map_index: int, cleared: int) -> str:
    """The key of a task: the same for each try, so that a retry adopts the run; another one after a clear, which asks
    for a new run. At most 100 characters."""
    whole = "\0".join((dag, run, task, str(map_index), *([str(cleared)] if cleared else [])))
    return f"airflow-{hashlib.sha256(whole.encode()).hexdigest()}"


def definition_id(dag: str, task: str) -> str:
    """The id under which the text of a task is stored."""
    slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{dag}.{task}").strip("-.")
    mark = hashlib.sha256(f"{dag}\0{task}".encode()).hexdigest()[:8]
    return f"airflow-{slug[: ID_MAX - 17]}-{mark}"
