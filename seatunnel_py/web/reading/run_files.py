"""Reads the files of a run for answers, and remembers what it has parsed until the files change.

Rules. (1) No part of a path comes from a client: the index finds a run by its id. (2) A link in place of a directory or
a file is not followed. (3) Memory is bounded: the newest ``REMEMBERED`` of each kind are kept.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from seatunnel_py import run_plan
from seatunnel_py.config.resolve import did_you_mean
from seatunnel_py.control.run_index import UNKNOWN, RunIndex
from seatunnel_py.control.run_row import RunRow, signature
from seatunnel_py.jobs.home_metrics import record_of
from seatunnel_py.jobs.job_lookup import KnownJob
from seatunnel_py.jobs.job_rows import progress_of
from seatunnel_py.plan.picture import graph_data
from seatunnel_py.plan.picture.step_graph import StepGraph, step_graph
from seatunnel_py.runtime.observe import checkpoint_history, failure_timeline
from seatunnel_py.runtime.observe.checkpoint_history import CheckpointHistory
from seatunnel_py.runtime.observe.failure_timeline import Timeline
from seatunnel_py.runtime.observe.rotated_files import generations
from seatunnel_py.runtime.observe.run_record import RunRecord
from seatunnel_py.runtime.storage.job_directory import JobDirectory
from seatunnel_py.web.problems import ApiError

REMEMBERED = 16
KEPT = 200
PICTURED = 10_000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RunDocuments:
    """The documents of a run. ``told``: its receipt, or the counters of its driver, which have the same tables."""

    about: dict[str, Any]
    receipt: dict[str, Any] | None
    counters: dict[str, Any] | None

    @property
    def told(self) -> dict[str, Any]:
        return self.receipt or self.counters or {"tables": []}


@dataclass(frozen=True, slots=True)
class RunGraph:
    """The graph of a run by steps, and its geometry."""

    steps: StepGraph
    geometry: dict[str, Any]


class RunFiles:
    """The files of all runs of an index."""

    def __init__(self, index: RunIndex) -> None:
        self._index = index
        self._lock = Lock()
        self._records: dict[str, tuple[Any, RunRecord | None]] = {}
        self._kept: dict[str, OrderedDict[str, tuple[Any, Any]]] = {}

    def row(self, run: str) -> RunRow:
        """A run as it is now. Raises ApiError for an unknown one."""
        row, place = self._index.look(run), self._index.place(run)
        if place is not None and not os.path.lexists(place.path) and self._index.look_at_home():
            self._index.scan()  # it was removed since
            row = None
        if row is None:
            meant = did_you_mean(run, [one.run for one in self._index.rows()]) if len(run) <= 100 else ""
            raise ApiError(404, "unknown-run", "there is no such run", f"{meant}GET /api/v1/runs lists them")
        return row

    def place(self, run: str) -> JobDirectory:
        """The directory of a run. Raises ApiError for an unknown one, and for one that cannot be read;
        HomeAwayError."""
        row = self.row(run)
        if row.state == UNKNOWN or self._index.away:
            self._index.require_home()
        place = self._index.place(run)
        if row.fault or place is None:
            raise ApiError(409, "unreadable", row.fault or "the run has just been removed", "look at its directory")
        return place

    def documents(self, run: str) -> RunDocuments:
        """The documents of a run. Raises SeaTunnelError for a damaged one."""
        place = self.place(run)
        files = (signature(place.path), place.running)
        return self._remembered("documents", run, files, lambda: _documents(place))

    def failures(self, run: str) -> Timeline:
        """The newest failures of a run."""
        place = self.place(run)
        alive = place.running
        files = (_sizes(place.events), alive)
        read = failure_timeline.read
        return self._remembered("failures", run, files, lambda: read(place.events, alive=alive, kept=KEPT))

    def checkpoints(self, run: str) -> CheckpointHistory:
        """The newest checkpoints of a run."""
        path = self.place(run).checkpoint_history
        return self._remembered("checkpoints", run, _sizes(path), lambda: checkpoint_history.read(path, kept=KEPT))

    def all_checkpoints(self, run: str) -> CheckpointHistory:
        """As many checkpoints of a run as a picture can show."""
        path = self.place(run).checkpoint_history
        read = checkpoint_history.read
        return self._remembered("all-checkpoints", run, _sizes(path), lambda: read(path, kept=PICTURED))

    def graph(self, run: str) -> RunGraph | None:
        """The graph of the last driver's plan; None: no plan is stored."""
        place = self.place(run)
        files = _sizes(place.path / f"{run_plan.NAME}.json")
        return self._remembered("graph", run, files, lambda: _graph(place))

    def lineage(self, run: str) -> list[dict[str, Any]] | None:
        """The lineage of the columns of the last driver's plan; None: it is not stored."""
        place = self.place(run)
        files = _sizes(place.path / f"{run_plan.LINEAGE}.json")
        return self._remembered("lineage", run, files, lambda: run_plan.stored_lineage(place))

    def record(self, place: JobDirectory) -> RunRecord | None:
        """The record of a run for its metrics. All are remembered: a scrape reads only what has changed."""
        try:
            files = (signature(place.path), place.running)
        except OSError:
            return None
        before, known = self._records.get(place.job_id, (None, None))
        if before != files:
            known = record_of(place)
            self._records[place.job_id] = (files, known)
        return known

    def forget_records(self, kept: Collection[str]) -> None:
        """Forget the records of other runs than these."""
        for run in self._records.keys() - set(kept):
            del self._records[run]

    def _remembered(self, kind: str, run: str, files: Any, read: Callable[[], _T]) -> _T:
        with self._lock:
            kept = self._kept.setdefault(kind, OrderedDict())
            before, value = kept.get(run, (None, None))
            if before == files and before is not None:
                kept.move_to_end(run)
                found: _T = value
                return found
        made = read()
        with self._lock:
            kept[run] = (files, made)
            while len(kept) > REMEMBERED:
                kept.popitem(last=False)
        return made


def _graph(place: JobDirectory) -> RunGraph | None:
    plan = place.read(run_plan.NAME)
    if plan is None:
        return None
    steps = step_graph(plan)
    return RunGraph(steps, graph_data.geometry(steps))


def _documents(place: JobDirectory) -> RunDocuments:
    job = KnownJob(place)
    alive = job.here
    receipt = None if alive else job.receipt
    counters = None if receipt else progress_of(job, job.state, alive=alive)
    return RunDocuments(job.about or {}, receipt, counters)


def _sizes(path: Path) -> tuple[tuple[int, int], ...]:
    """Identity of all generations of a file."""
    found = []
    for one in generations(path):
        try:
            about = one.lstat()
        except OSError:
            continue
        found.append((about.st_ino, about.st_size))
    return tuple(found)
