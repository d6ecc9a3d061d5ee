"""Renders the checkpoints of a job as text; ``checkpoint_history.plain`` has the same content."""

from __future__ import annotations

import time
from collections.abc import Iterator

from seatunnel_py.cli.view.numbers import count, rows, seconds, size
from seatunnel_py.runtime.observe.checkpoint_history import CheckpointAttempt, CheckpointHistory

SHOWN = 3
_PHASES = {
    "align": "until every step had acknowledged",
    "store": "to store its record",
    "commit": "to commit",
}


def history_text(history: CheckpointHistory) -> Iterator[str]:
    """Render the newest checkpoints as text lines; none if there are none."""
    if not history.attempts:
        return
    failed = f", {count(history.failed)} failed" if history.failed else ""
    yield f"checkpoints: {count(history.completed)} completed{failed}"
    for one in history.attempts[-SHOWN:]:
        yield f"  {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(one.triggered))}  {attempt_text(one)}"


def attempt_text(one: CheckpointAttempt) -> str:
    """Describe a checkpoint in one line."""
    name = f" {one.savepoint}" if one.savepoint else ""
    head = f"{one.table}: {one.kind} checkpoint {one.checkpoint}{name}"
    if not one.completed:
        missing = f"; no answer of {', '.join(one.missing)}" if one.missing else ""
        return f"{head} failed after {seconds(one.seconds)}: {one.reason}{missing}"
    phases = [f"{seconds(took)} {_PHASES[name]}{_by(one, name)}" for name, took in one.phases.items()]
    waits = [] if one.committed is not None else ["not committed yet"]
    return f"{head}, {rows(one.rows)}, {size(one.bytes)}: {', '.join([*phases, *waits])}"


def _by(one: CheckpointAttempt, phase: str) -> str:
    return f" (last {one.slowest})" if phase == "align" and one.slowest else ""
