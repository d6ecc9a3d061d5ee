"""Checkpoints of a job in SeaTunnel's form: by pipeline, the newest ones. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seatunnel_py.runtime.observe.checkpoint_history import CheckpointAttempt, CheckpointHistory
from seatunnel_py.web.rest_v2.documents.values import milliseconds

RING = 32
_TYPES = {"savepoint": "SAVEPOINT_TYPE", "final": "COMPLETED_POINT_TYPE"}
_USUAL = "CHECKPOINT_TYPE"
COMPLETED, FAILED = "COMPLETED", "FAILED"
STATUSES = (COMPLETED, FAILED, "CANCELED")


def overview_document(number: int, history: CheckpointHistory, at: float) -> dict[str, Any]:
    """The checkpoints of a job. ``at``: now, in seconds. The counts of a job with one pipeline are over all of its
    checkpoints, those of several pipelines over the kept ones."""
    by_pipeline: dict[int, list[CheckpointAttempt]] = {}
    for one in history.attempts:
        by_pipeline.setdefault(pipeline_number(one.pipeline), []).append(one)
    whole = history if len(by_pipeline) == 1 else None
    newest = max((one.ended for one in history.attempts), default=at)
    pipelines = [_pipeline(id, found, whole) for id, found in sorted(by_pipeline.items())]
    return {"jobId": str(number), "updatedAt": milliseconds(newest), "pipelines": pipelines}


def _pipeline(id: int, attempts: Sequence[CheckpointAttempt], whole: CheckpointHistory | None) -> dict[str, Any]:
    completed = [one for one in attempts if one.completed]
    failed = [one for one in attempts if not one.completed]
    number = (len(completed), len(failed)) if whole is None else (whole.completed, whole.failed)
    restored = max((one.driver or 1 for one in attempts), default=1) - 1
    return {
        "pipelineId": id,
        "counts": {
            "triggered": sum(number),
            "completed": number[0],
            "failed": number[1],
            "inProgress": 0,
            "restored": restored,
        },
        "latestCompleted": _latest(completed),
        "latestFailed": _latest(failed),
        "latestSavepoint": _latest([one for one in completed if one.kind == "savepoint"]),
        "inProgress": [],
        "history": [_record(id, one) for one in reversed(attempts[-RING:])],
    }


def history_documents(
    history: CheckpointHistory, *, pipeline: int | None, limit: int, status: str
) -> list[dict[str, Any]]:
    """Checkpoints, newest first. ``pipeline``: None: all; ``status``: empty: any."""
    found = [
        _record(number, one)
        for one in reversed(history.attempts)
        if pipeline in (None, number := pipeline_number(one.pipeline)) and status in ("", _status(one))
    ]
    return found[:limit]


def pipeline_number(id: str) -> int:
    """The number of a pipeline; ours are ``p1``, ``p2``."""
    digits = "".join(one for one in id if one.isdecimal())
    return int(digits) if digits else 0


def _latest(attempts: Sequence[CheckpointAttempt]) -> dict[str, Any] | None:
    return _plain(attempts[-1]) if attempts else None


def _record(pipeline: int, one: CheckpointAttempt) -> dict[str, Any]:
    return {"pipelineId": pipeline, "checkpoint": _plain(one)}


def _plain(one: CheckpointAttempt) -> dict[str, Any]:
    about = {
        "checkpointId": one.checkpoint,
        "checkpointType": _TYPES.get(one.kind, _USUAL),
        "status": _status(one),
        "triggerTimestamp": milliseconds(one.triggered),
    }
    if not one.completed:
        return {**about, "failureReason": one.reason}
    done = {"completedTimestamp": milliseconds(one.ended), "durationMillis": milliseconds(one.seconds)}
    return {**about, **done, "stateSize": one.bytes}


def _status(one: CheckpointAttempt) -> str:
    return COMPLETED if one.completed else FAILED
