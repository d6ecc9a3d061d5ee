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
UNSUMMED_MAX = 1_000
NO_BUCKETS = (0,) * (len(BUCKETS) + 1)

CheckpointEvent = CheckpointDone | CheckpointCommitted | RegionRestarted
OF_CHECKPOINTS = (CheckpointDone, CheckpointCommitted, RegionRestarted)
"""As a tuple: a job of a thousand tables has ten thousand events, and a look at a union takes longer."""


class DurationSums:
    """Sums durations by name, in buckets. ``before``: its ``plain`` of the driver before."""

    def __init__(self, before: Mapping[str, Mapping[str, Any]]) -> None:
        self._sums = {name: (float(one["sum"]), tuple(one["buckets"])) for name, one in before.items()}
        self._new: dict[str, list[float]] = {}  # durations that are not in the sums yet: many at once take less time

    def add(self, name: str, seconds: float) -> None:
        """Add a duration; a clock that was set back gives 0."""
        new = self._new.setdefault(name, [])
        new.append(max(0.0, seconds))
        if len(new) >= UNSUMMED_MAX:
            self._sum_up()

    def _sum_up(self) -> None:
        for name, new in self._new.items():
            total, buckets = self._sums.get(name, (0.0, NO_BUCKETS))
            found = Counter(map(partial(bisect_left, BUCKETS), new))
            self._sums[name] = (total + sum(new), tuple(one + found[at] for at, one in enumerate(buckets)))
        self._new.clear()

    @property
    def plain(self) -> dict[str, Any]:
        """The sums as JSON-ready data."""
        self._sum_up()
        return {name: {"sum": total, "buckets": buckets} for name, (total, buckets) in self._sums.items()}


class CheckpointTotals:
    """The sums of one job. ``before``: ``plain`` of the driver before, or empty."""

    def __init__(self, before: Mapping[str, Any]) -> None:
        self._counts = {name: int(before.get(name, 0)) for name in ("completed", "failed", "restarts")}
        self._kinds = DurationSums(before.get("kinds", {}))
        self._phases = DurationSums(before.get("phases", {}))
        self._bytes: dict[str, int] = {}
        self._ended: float | None = None
        self._uncommitted: dict[tuple[str, int], float] = {}

    def saw(self, event: CheckpointEvent) -> None:
        """Take an event into account."""
        if isinstance(event, CheckpointDone):
            self._done(event)
        elif isinstance(event, RegionRestarted):
            self._counts["restarts"] += 1
        else:
            ended = self._uncommitted.pop((event.pipeline, event.checkpoint), None)
            if ended is not None:
                self._phases.add("commit", event.at - ended)

    def _done(self, event: CheckpointDone) -> None:
        facts = event.facts
        if facts is None:
            return  # it was refused
        if event.reason:
            self._counts["failed"] += 1
            return
        self._counts["completed"] += 1
        self._kinds.add(facts.kind, event.at - facts.triggered_at)
        if facts.acknowledged_at is not None:
            self._phases.add("align", facts.acknowledged_at - facts.triggered_at)
            self._phases.add("store", event.at - facts.acknowledged_at)
        self._bytes[event.pipeline], self._ended = facts.bytes, event.at
        if len(self._uncommitted) < UNCOMMITTED_MAX:
            self._uncommitted[event.pipeline, event.checkpoint] = event.at

    @property
    def plain(self) -> dict[str, Any]:
        """The sums as JSON-ready data. ``ended`` and ``bytes`` are None before the first checkpoint of this driver."""
        newest = {"ended": self._ended, "bytes": sum(self._bytes.values()) if self._bytes else None}
        return {**self._counts, "kinds": self._kinds.plain, "phases": self._phases.plain, **newest}
