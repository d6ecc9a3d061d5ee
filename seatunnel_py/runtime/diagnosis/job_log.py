"""The job log: every event of a job as one JSON line, for ``jq`` and log collectors.

A line has ``time`` (UTC), ``level``, ``event``, ``job``, ``driver`` (its number), and further keys such as
``pipeline``, ``table``, ``unit``, ``state``, counts, and the complete ``cause`` of a failure with its traceback, which
is only here. Secrets of the job are masked, also in texts of client libraries; the file has mode 0600, because error
texts may contain rows (S14).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from traceback import format_exception
from types import TracebackType
from typing import Any, Self

from seatunnel_py.errors import ExitCode
from seatunnel_py.redaction import redacted_plain
from seatunnel_py.runtime.diagnosis.rotating_file import RotatingFile
from seatunnel_py.runtime.observe.events import (
    ChangesAnnounced,
    CheckpointCommitted,
    CheckpointDone,
    DriverAsked,
    JobEnded,
    JobEvent,
    JobStalled,
    JobStarted,
    LogAtRisk,
    LogReleased,
    RegionRestarted,
    RequestAnswered,
    RowsMoved,
    SchemaChanged,
    SinkIsolated,
    StateLarge,
    StoreUnavailable,
    TableChanged,
    TableRefreshed,
    TargetSwept,
    UnitGivenUp,
    UnitRetried,
)
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.work.unit import UnitFailure

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_encode = json.JSONEncoder(default=str).encode
_GRAVE = {
    TableState.FAILED: "ERROR",
    TableState.ISOLATED: "ERROR",
    TableState.RETRYING: "WARNING",
    TableState.STOPPED: "WARNING",
}


class JobLog:
    """A listener that appends events of at least ``level`` to ``path``."""

    def __init__(self, path: Path, job_id: str, level: str) -> None:
        self._job_id = job_id
        self._driver: int | None = None  # until a driver has claimed the job
        self._least = LEVELS.index(level)
        self._file = RotatingFile(path)

    def __call__(self, event: JobEvent) -> None:
        level, name, about = _line(event)
        if isinstance(event, JobStarted):
            self._driver = event.driver
        self.write(level, name, about)

    def write(self, level: str, name: str, about: Mapping[str, Any]) -> None:
        """Write one line, also for an event outside of the job."""
        if LEVELS.index(level) < self._least:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, "level": level, "event": name, "job": self._job_id, "driver": self._driver}
        line |= redacted_plain(about)
        self._file.write(_encode(line) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the log; an exception that ended the job is its last line. A full disk does not change the result."""
        with suppress(OSError), closing(self._file):
            if error is not None:
                message, text = f"{type(error).__name__}: {error}", "".join(format_exception(error))
                self.write("ERROR", "driver_failed", {"message": message, "trace": text})


def _line(event: JobEvent) -> tuple[str, str, dict[str, Any]]:
    """Level, name and content of an event."""
    match event:
        case JobStarted():
            return "INFO", "job_started", {"name": event.job_name, "tables": event.tables, "rows": event.rows}
        case TableChanged():
            about = {"pipeline": event.pipeline, "table": event.name, "state": event.state.value}
            more: dict[str, Any] = {"tables": event.tables} if len(event.tables) > 1 else {}
            more |= {"checkpoint": event.good} if event.failure else {}
            level = _GRAVE.get(event.state, "ERROR" if event.failure else "INFO")
            return level, "table_changed", {**about, **more, **_cause(event.failure)}
        case RowsMoved():
            about = {"pipeline": event.pipeline, "table": event.name}
            return "DEBUG", "rows_moved", {**about, "rows": event.rows, "bytes": event.bytes}
        case UnitRetried():
            about = {"pipeline": event.pipeline, "table": event.name, "unit": event.unit}
            again = {"attempt": event.attempt, "delay_seconds": event.delay_seconds, **asdict(event.place)}
            return "WARNING", "unit_retried", {**about, **again, **_cause(event.failure)}
        case UnitGivenUp():
            about = {"pipeline": event.pipeline, "table": event.name, "unit": event.unit}
            last = {"attempt": event.attempt, **asdict(event.place)}
            return "WARNING", "unit_given_up", {**about, **last, **_cause(event.failure)}
        case RegionRestarted():
            about = {"pipeline": event.pipeline, "table": event.name}
            names = ("epochs", "checkpoint", "causes", "twice", "lost")
            return "WARNING", "region_restarted", {**about, **{name: getattr(event, name) for name in names}}
        case SinkIsolated():
            about = {"pipeline": event.pipeline, "table": event.name, "vertex": event.vertex}
            return "ERROR", "sink_left_out", {
                **about, "targets": event.targets, "checkpoint": event.good, **_cause(event.failure)
            }  # fmt: skip
        case StateLarge():
            about = {"pipeline": event.pipeline, "table": event.name, "what": event.what}
            return "WARNING", "state_large", {**about, "bytes": event.bytes, "allowed": event.allowed}
        case CheckpointDone() | CheckpointCommitted():
            return _line_of_checkpoint(event)
        case TargetSwept() | SchemaChanged() | TableRefreshed() | LogReleased():
            return _line_of_target(event)
        case JobStalled() | ChangesAnnounced() | DriverAsked() | RequestAnswered() | StoreUnavailable() | LogAtRisk():
            return _line_of_job(event)
        case JobEnded(receipt):
            plain = receipt.to_plain()
            kept = {key: plain[key] for key in ("state", "exit_code", "totals", "seconds")}
            return "INFO" if receipt.exit_code == ExitCode.SUCCESS else "ERROR", "job_ended", kept


def _line_of_checkpoint(event: CheckpointDone | CheckpointCommitted) -> tuple[str, str, dict[str, Any]]:
    which = {"pipeline": event.pipeline, "table": event.name, "checkpoint": event.checkpoint}
    if isinstance(event, CheckpointCommitted):
        return "DEBUG", "checkpoint_committed", which
    if event.facts is not None:
        which |= {"kind": event.facts.kind, "seconds": round(event.at - event.facts.triggered_at, 3)}
    if not event.reason:
        return "DEBUG", "checkpoint_completed", which
    return "WARNING", "checkpoint_ended", {
        **which, "reason": event.reason, "missing": event.missing, "good": event.good
    }  # fmt: skip


def _line_of_target(
    event: TargetSwept | SchemaChanged | TableRefreshed | LogReleased,
) -> tuple[str, str, dict[str, Any]]:
    if isinstance(event, LogReleased):
        about = {"pipeline": event.pipeline, "table": event.table, "change": event.change}
        return "WARNING", "log_released", {**about, "bytes": event.bytes, "allowed": event.allowed}
    if isinstance(event, TableRefreshed):
        found = event.outcome
        about = {"pipeline": event.pipeline, **found.about, "request": found.wish.request, "message": found.text}
        return "INFO" if found.done else "WARNING", "table_refreshed", {**about, "done": found.done}
    if isinstance(event, SchemaChanged):
        return "INFO", "schema_changed", {"pipeline": event.pipeline, "table": event.name, "changes": event.sentences}
    return "INFO", "target_swept", {"pipeline": event.pipeline, "table": event.name, "swept": event.sentences}


def _line_of_job(
    event: JobStalled | ChangesAnnounced | DriverAsked | RequestAnswered | StoreUnavailable | LogAtRisk,
) -> tuple[str, str, dict[str, Any]]:
    """Level, name and content of an event without a table."""
    match event:
        case LogAtRisk():
            about = {"pipeline": event.pipeline, "table": event.name, "bytes": event.bytes}
            level = "WARNING" if event.warning else "INFO"
            return level, "log_at_risk", {**about, "warning": event.warning, "remedy": event.remedy}
        case JobStalled():
            return "WARNING", "nothing_moved", {"seconds": round(event.seconds, 1), "waits": event.waits}
        case ChangesAnnounced():
            return "INFO", "changes_announced", {"changes": event.changes}
        case DriverAsked():
            return "INFO", "driver_asked", {"message": event.text}
        case StoreUnavailable():
            about = {"message": event.message, "seconds": round(event.seconds, 1)}
            return ("WARNING", "store_away", about) if event.message else ("INFO", "store_back", about)
        case RequestAnswered():
            about = {"request": event.request, "wish": event.wish, "message": event.text}
            return "INFO" if event.done else "WARNING", "request_answered", {**about, "done": event.done}


def _cause(failure: UnitFailure | None) -> dict[str, Any]:
    return {"cause": asdict(failure)} if failure else {}
