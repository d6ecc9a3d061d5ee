"""The checkpoints of a job: one line for each when it ends, and one when its rows are visible in all targets.

Rules. (1) Lines are read one by one, and only the newest checkpoints are kept; all are counted. (2) A number is used
once in a pipeline, so the second line is merged into the first by it. (3) A line that cannot be read is skipped: the
driver may be writing it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from seatunnel_py.runtime.observe.events import CheckpointCommitted, CheckpointDone
from seatunnel_py.runtime.observe.rotated_files import generations, json_lines

KEPT = 20
TAIL_BYTES = 2**16  # more than a hundred lines


@dataclass(frozen=True, slots=True)
class CheckpointAttempt:
    """One checkpoint of a pipeline. Times are seconds since the epoch: the trigger, the last acknowledgement, the end,
    and the commit in all targets. ``reason``: empty if it is complete; ``missing``: subtasks that had not acknowledged;
    ``slowest``: the one that acknowledged last; ``bytes``: size of its record; ``rows``: read since the one before."""

    pipeline: str
    table: str
    checkpoint: int
    kind: str
    savepoint: str
    driver: int | None
    triggered: float
    acknowledged: float | None
    ended: float
    slowest: str
    bytes: int
    rows: int
    reason: str
    missing: tuple[str, ...]
    committed: float | None = None

    @property
    def completed(self) -> bool:
        return not self.reason

    @property
    def seconds(self) -> float:
        """From the trigger until it was durable, or had failed."""
        return max(0.0, self.ended - self.triggered)

    @property
    def phases(self) -> dict[str, float]:
        """Seconds of the phases that have ended: ``align`` until all subtasks have acknowledged, ``store`` until the
        record is durable, ``commit`` until its rows are visible in all targets."""
        found = {}
        if self.acknowledged is not None:
            found["align"] = max(0.0, self.acknowledged - self.triggered)
            if self.completed:
                found["store"] = max(0.0, self.ended - self.acknowledged)
        if self.committed is not None:
            found["commit"] = max(0.0, self.committed - self.ended)
        return found


@dataclass(frozen=True, slots=True)
class CheckpointHistory:
    """``attempts``: the newest ones, oldest first; the counts are over all of them."""

    attempts: tuple[CheckpointAttempt, ...] = ()
    completed: int = 0
    failed: int = 0


def line_of(event: CheckpointDone | CheckpointCommitted, driver: int | None) -> dict[str, Any] | None:
    """The line about an event; None: a request was refused."""
    which = {"pipeline": event.pipeline, "checkpoint": event.checkpoint}
    if isinstance(event, CheckpointCommitted):
        return which | {"committed": event.at}
    facts = event.facts
    if facts is None:
        return None
    about = {"table": event.name, "kind": facts.kind, "savepoint": facts.savepoint, "driver": driver}
    times = {"triggered": facts.triggered_at, "acknowledged": facts.acknowledged_at, "ended": event.at}
    outcome = {"reason": event.reason, "missing": event.missing}
    return which | about | times | {"slowest": facts.slowest, "bytes": facts.bytes, "rows": facts.rows} | outcome


def read(path: Path, *, kept: int | None = KEPT, pipeline: str | None = None) -> CheckpointHistory:
    """Read the checkpoints of a job, or of one ``pipeline``; keep the newest ``kept``, None: all."""
    lines = filter(None, map(_known, json_lines(generations(path))))
    return _history((line for line in lines if pipeline in (None, line["pipeline"])), kept)


def newest(path: Path) -> CheckpointAttempt | None:
    """The newest checkpoint of a job. Reads only the end of the file, if that holds one."""
    lines = filter(None, map(_known, json_lines([path], last_bytes=TAIL_BYTES)))
    attempts = _history(lines, 1).attempts or read(path, kept=1).attempts
    return attempts[-1] if attempts else None


def plain(history: CheckpointHistory) -> dict[str, Any]:
    """Render checkpoints as JSON-ready data."""
    attempts = [
        {**asdict(one), "seconds": round(one.seconds, 3), "phases": one.phases, "completed": one.completed}
        for one in history.attempts
    ]
    return {"completed": history.completed, "failed": history.failed, "attempts": attempts}


def _history(lines: Iterable[Mapping[str, Any]], kept: int | None) -> CheckpointHistory:
    attempts: dict[tuple[str, int], CheckpointAttempt] = {}
    completed = failed = 0
    for line in lines:
        key = (line["pipeline"], line["checkpoint"])
        if "committed" in line:
            if key in attempts:
                attempts[key] = replace(attempts[key], committed=line["committed"])
            continue
        attempts.pop(key, None)
        attempts[key] = found = CheckpointAttempt(**{**line, "missing": tuple(line["missing"])})
        completed, failed = completed + found.completed, failed + (not found.completed)
        if kept is not None and len(attempts) > kept:
            del attempts[next(iter(attempts))]
    return CheckpointHistory(tuple(attempts.values()), completed, failed)


_COMMITTED = {"pipeline", "checkpoint", "committed"}
_ENDED = set(CheckpointAttempt.__slots__) - {"committed"}


def _known(line: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The keys of a line that this release knows; None: it is of another kind."""
    if line.keys() >= _ENDED:
        return {key: line[key] for key in _ENDED}
    return line if line.keys() >= _COMMITTED else None
