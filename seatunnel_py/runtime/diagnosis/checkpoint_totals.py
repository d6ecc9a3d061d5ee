"""Sums up the checkpoints of a job over all of its drivers, for the live record.

Rules. (1) The sums go on from those of the record of the driver before. (2) Durations are counted in the buckets of
``BUCKETS``, each without those below it. (3) ``bytes`` and ``ended`` are of the newest completed checkpoint of each
pipeline, of this driver only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Any

from seatunnel_py.runtime.observe.events import CheckpointCommitted, CheckpointDone, JobEvent, RegionRestarted
from seatunnel_py.runtime.observe.run_record import BUCKETS

UNCOMMITTED_MAX = 10_000  # in memory, for pipelines whose targets do not answer


class CheckpointTotals:
    """The sums of one job. ``before``: ``plain`` of the driver before, or empty."""

    def __init__(self, before: Mapping[str, Any]) -> None:
        self._counts = {name: int(before.get(name, 0)) for name in ("completed", "failed", "restarts")}
        self._kinds = _copied(before.get("kinds", {}))
        self._phases = _copied(before.get("phases", {}))
        self._bytes: dict[str, int] = {}
        self._ended: float | None = None
        self._uncommitted: dict[tuple[str, int], float] = {}

    def saw(self, event: JobEvent) -> None:
        """Take an event of the job into account."""
        take = _TAKEN.get(type(event))
        if take is not None:
            take(self, event)

    def _restarted(self, _: RegionRestarted) -> None:
        self._counts["restarts"] += 1

    def _committed(self, event: CheckpointCommitted) -> None:
        ended = self._uncommitted.pop((event.pipeline, event.checkpoint), None)
        if ended is not None:
            _count(self._phases, "commit", event.at - ended)

    def _done(self, event: CheckpointDone) -> None:
        facts = event.facts
        if facts is None:
            return  # it was refused
        if event.reason:
            self._counts["failed"] += 1
            return
        self._counts["completed"] += 1
        _count(self._kinds, facts.kind, event.at - facts.triggered_at)
        if facts.acknowledged_at is not None:
            _count(self._phases, "align", facts.acknowledged_at - facts.triggered_at)
            _count(self._phases, "store", event.at - facts.acknowledged_at)
        self._bytes[event.pipeline], self._ended = facts.bytes, event.at
        if len(self._uncommitted) < UNCOMMITTED_MAX:
            self._uncommitted[event.pipeline, event.checkpoint] = event.at

    @property
    def plain(self) -> dict[str, Any]:
        """The sums as JSON-ready data. ``ended`` and ``bytes`` are None before the first checkpoint of this driver."""
        newest = {"ended": self._ended, "bytes": sum(self._bytes.values()) if self._bytes else None}
        return {**self._counts, "kinds": _copied(self._kinds), "phases": _copied(self._phases), **newest}


_TAKEN: Mapping[type, Callable[[CheckpointTotals, Any], None]] = {
    RegionRestarted: CheckpointTotals._restarted,
    CheckpointCommitted: CheckpointTotals._committed,
    CheckpointDone: CheckpointTotals._done,
}
"""By type: a job of a thousand tables has ten thousand events, and few of them are of checkpoints."""


def _count(sums: dict[str, dict[str, Any]], name: str, seconds: float) -> None:
    seconds = max(0.0, seconds)
    one = sums.get(name)
    if one is None:
        one = sums[name] = {"sum": 0.0, "buckets": [0] * (len(BUCKETS) + 1)}
    one["sum"] += seconds
    one["buckets"][bisect_left(BUCKETS, seconds)] += 1


def _copied(sums: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {"sum": float(one["sum"]), "buckets": list(one["buckets"])} for name, one in sums.items()}
