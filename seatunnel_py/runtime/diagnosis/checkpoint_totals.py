"""Sums up the checkpoints of a job over all of its drivers, for the live record.

Rules. (1) The sums go on from those of the record of the driver before. (2) Durations are counted in the buckets of
``BUCKETS``, each without those below it. (3) ``bytes`` and ``ended`` are of the newest completed checkpoint of each
pipeline, of this driver only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from seatunnel_py.runtime.observe.events import CheckpointCommitted, CheckpointDone, RegionRestarted
from seatunnel_py.runtime.observe.run_record import BUCKETS

UNCOMMITTED_MAX = 10_000  # in memory, for pipelines whose targets do not answer
NEW_MAX = 1_000
NO_BUCKETS = (0,) * (len(BUCKETS) + 1)

CheckpointEvent = CheckpointDone | CheckpointCommitted | RegionRestarted
OF_CHECKPOINTS = (CheckpointDone, CheckpointCommitted, RegionRestarted)
"""As a tuple: a job of a thousand tables has ten thousand events, and a look at a union takes longer."""


class DurationSums:
    """Sums durations by name, in buckets. ``before``: its ``plain`` of the driver before."""

    def __init__(self, before: Mapping[str, Mapping[str, Any]]) -> None:
        self._sums = {name: (float(one["sum"]), tuple(one["buckets"])) for name, one in before.items()}

    def add(self, name: str, durations: list[float]) -> None:
        """Add durations; a clock that was set back gives 0."""
        seconds = [max(0.0, one) for one in durations]
        if seconds:
            total, buckets = self._sums.get(name, (0.0, NO_BUCKETS))
            found = Counter(map(partial(bisect_left, BUCKETS), seconds))
            self._sums[name] = (total + sum(seconds), tuple(one + found[at] for at, one in enumerate(buckets)))

    @property
    def plain(self) -> dict[str, Any]:
        """The sums as JSON-ready data."""
        return {name: {"sum": total, "buckets": buckets} for name, (total, buckets) in self._sums.items()}


class CheckpointTotals:
    """The sums of one job. ``before``: ``plain`` of the driver before, or empty."""

    def __init__(self, before: Mapping[str, Any]) -> None:
        self._counts = {name: int(before.get(name, 0)) for name in ("completed", "failed", "restarts")}
        self._kinds = DurationSums(before.get("kinds", {}))
        self._phases = DurationSums(before.get("phases", {}))
        self._bytes: dict[str, int] = {}
        self._ended: float | None = None
        self._new: list[CheckpointEvent] = []
        self._uncommitted: dict[tuple[str, int], float] = {}

    def saw(self, event: CheckpointEvent) -> None:
        """Take an event into account."""
        self._new.append(event)
        if len(self._new) >= NEW_MAX:
            self._sum_up()

    def _sum_up(self) -> None:
        """Add the new events to the sums: many at once take half the time."""
        new, self._new = self._new, []
        commits: list[float] = []
        done: list[CheckpointDone] = []
        for event in new:
            if isinstance(event, CheckpointCommitted):
                ended = self._uncommitted.pop((event.pipeline, event.checkpoint), None)
                if ended is not None:
                    commits.append(event.at - ended)
            elif isinstance(event, RegionRestarted):
                self._counts["restarts"] += 1
            elif event.facts is not None and event.reason:  # without facts it was refused
                self._counts["failed"] += 1
            elif event.facts is not None:
                done.append(event)
                if len(self._uncommitted) < UNCOMMITTED_MAX:
                    self._uncommitted[event.pipeline, event.checkpoint] = event.at
        self._phases.add("commit", commits)
        self._completed(done)

    def _completed(self, events: list[CheckpointDone]) -> None:
        self._counts["completed"] += len(events)
        found = [(event, event.facts) for event in events if event.facts is not None]
        for kind in {facts.kind for _, facts in found}:
            self._kinds.add(kind, [event.at - facts.triggered_at for event, facts in found if facts.kind == kind])
        acknowledged = [
            (event.at, facts.triggered_at, at) for event, facts in found if (at := facts.acknowledged_at) is not None
        ]
        self._phases.add("align", [at - triggered for _, triggered, at in acknowledged])
        self._phases.add("store", [ended - at for ended, _, at in acknowledged])
        for event, facts in found:
            self._bytes[event.pipeline], self._ended = facts.bytes, event.at

    @property
    def plain(self) -> dict[str, Any]:
        """The sums as JSON-ready data. ``ended`` and ``bytes`` are None before the first checkpoint of this driver."""
        self._sum_up()
        newest = {"ended": self._ended, "bytes": sum(self._bytes.values()) if self._bytes else None}
        return {**self._counts, "kinds": self._kinds.plain, "phases": self._phases.plain, **newest}
