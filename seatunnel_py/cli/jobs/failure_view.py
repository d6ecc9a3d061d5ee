"""Renders the failures of a job as text; ``failure_timeline.plain`` has the same content."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

from seatunnel_py.cli.view.numbers import and_more, count
from seatunnel_py.runtime.observe.failure_timeline import Failure, Timeline
from seatunnel_py.runtime.observe.receipt import position_text

TABLES_MAX = 20


def timeline_text(timeline: Timeline) -> Iterator[str]:
    """Render failures as text lines; none if nothing failed."""
    if not timeline.total:
        return
    shown = len(timeline.failures)
    yield f"failures: {count(timeline.total)}" + (f", the last {shown} (--all shows them)" * (shown < timeline.total))
    for table, counts in list(timeline.counts.items())[:TABLES_MAX]:
        yield f"  {table}: {', '.join(_times(number, what) for what, number in counts.items())}"
    for line in and_more(len(timeline.counts), TABLES_MAX, "tables"):
        yield f"  {line}"
    for one in timeline.failures:
        yield f"  {_clock(one.at)}  {_who(one)}"
        yield f"      {one.cause}"
        if one.remedy:
            yield f"      remedy: {one.remedy}"
        good = "none" if one.checkpoint is None else str(one.checkpoint)
        last_good = f"last good checkpoint: {good}; " if one.table else ""
        yield f"      {last_good}{one.follows}"


_ONE = {
    "failed attempts": "failed attempt", "restarts": "restart", "ends": "end", "drivers lost": "driver lost",
    "sinks left out": "sink left out", "checkpoints given up": "checkpoint given up",
    "outages of the checkpoint store": "outage of the checkpoint store",
}  # fmt: skip


def _times(number: int, what: str) -> str:
    return f"1 {_ONE.get(what, what)}" if number == 1 else f"{count(number)} {what}"


def _who(one: Failure) -> str:
    parts = [one.table, one.what, f"attempt {one.attempt}" if one.attempt else "", _where(one)]
    driver = "" if one.driver is None else f"driver {one.driver}"
    return "  ".join(part for part in (driver, *parts) if part)


def _where(one: Failure) -> str:
    vertex = f"{one.vertex} (life {one.epoch})" if one.vertex and one.epoch else one.vertex
    split = f"split {one.split}" if one.split else ""
    at = f"at {position_text(one.position)}" if one.position else ""
    if split and not at:
        at = "at its beginning"
    return "  ".join(part for part in (vertex, split, at) if part)


def _clock(at: str) -> str:
    """Local time; the log uses UTC."""
    if not at:
        return "(unknown)          "
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(datetime.fromisoformat(at).timestamp()))
