"""The live record of a run as values: its job, its tables and its checkpoints, from the files of its directory.

Rules. (1) The receipt counts, if the driver has written one; else its live counters. (2) A counter never goes back: it
keeps the highest value that an earlier attempt or driver has shown (``marks``), until the job has done that work again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from seatunnel_py.runtime.observe.receipt import TableState

DEFAULT_JOB_NAME = "SeaTunnel_Job"  # of env.job.name
BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Upper bounds of durations in seconds; one more bucket has none."""
COUNTERS = ("rows_read", "rows_written", "rows_filtered", "rows_rejected", "bytes_written", "attempts")
_ORDER = {state.value: at for at, state in enumerate(TableState)}


@dataclass(frozen=True, slots=True)
class TableRecord:
    """A source table. ``counts``: by the names in ``COUNTERS``; ``state`` is empty if only an earlier driver had it."""

    table: str
    state: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A job id with all of its drivers. ``at``: when the record was written; ``checkpoints``: as ``CheckpointTotals``;
    ``labelled``: tables with series of their own, None: no table has."""

    job: str
    run: str
    alive: bool
    outcome: str
    started: float
    at: float | None = None
    mode: str = ""
    interval: float | None = None
    tables: tuple[TableRecord, ...] = ()
    checkpoints: Mapping[str, Any] = field(default_factory=dict)
    labelled: tuple[str, ...] | None = None


def run_record(
    run: str,
    about: Mapping[str, Any],
    counters: Mapping[str, Any] | None,
    receipt: Mapping[str, Any] | None,
    *,
    alive: bool,
) -> RunRecord:
    """The record of a run, from job.json, counters.json and receipt.json of its last driver."""
    live = counters or {}
    tables = tables_of((receipt or live).get("tables", ()), live.get("marks", {}))
    return RunRecord(
        job_label(about),
        run,
        alive,
        "" if alive else outcome_of(about, receipt),
        float(about.get("started", 0.0)),
        live.get("at"),
        str(live.get("mode", "")),
        live.get("interval"),
        tables if receipt is None else tuple(one for one in tables if one.state),
        live.get("checkpoints", {}),
        None if live.get("labelled") is None else tuple(live["labelled"]),
    )


def tables_of(tables: Iterable[Mapping[str, Any]], marks: Mapping[str, Mapping[str, int]]) -> tuple[TableRecord, ...]:
    """The tables, each once: one that was copied and is followed has two entries. ``marks``: by table."""
    states: dict[str, str] = {}
    counts: dict[str, dict[str, int]] = {}
    for one in tables:
        name, state = one["table"], one["state"]
        if (sums := counts.get(name)) is None:
            counts[name] = {key: one[key] for key in COUNTERS}
        else:
            for key in COUNTERS:
                sums[key] += one[key]
        done = states.get(name) in (None, TableState.DONE.value)
        states[name] = state if done else min(states[name], state, key=_rank)
    for name, mark in marks.items():
        sums = counts.setdefault(name, dict.fromkeys(COUNTERS, 0))
        for key in COUNTERS:
            sums[key] = max(sums[key], int(mark.get(key, 0)))
    return tuple(TableRecord(name, states.get(name, ""), sums) for name, sums in counts.items())


def _rank(state: str) -> int:
    return -_ORDER.get(state, len(_ORDER))


def job_label(about: Mapping[str, Any]) -> str:
    """The name of a job in series: ``job.name``, or the name of its file without one."""
    name = str(about.get("job_name") or DEFAULT_JOB_NAME)
    return PurePath(str(about.get("job_file", ""))).stem or name if name == DEFAULT_JOB_NAME else name


def outcome_of(about: Mapping[str, Any], receipt: Mapping[str, Any] | None) -> str:
    """How a run has ended."""
    if receipt is None:
        return "failed" if about.get("failed") else "killed"
    return _OUTCOMES.get(str(receipt["state"]), "failed")


_OUTCOMES = {"SUCCESS": "done", "SOME_TABLES_FAILED": "partial", "STOPPED": "stopped"}
