"""Readings of a running job: its files at one moment, and rates between two of them.

Rules. (1) It only reads the files that the driver writes, so any number of viewers costs the driver nothing. (2) Rates
are differences of two readings of the same run. (3) A driver without a heartbeat is named as such.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.runtime.diagnosis.live_counters import BEAT_SECONDS
from seatunnel_py.runtime.observe import checkpoint_history
from seatunnel_py.runtime.observe.checkpoint_history import CheckpointAttempt
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.storage.job_directory import JobDirectory

SILENT_SECONDS = 3 * BEAT_SECONDS
FIRST_SILENT_SECONDS = 300.0  # it may still be planning, or waiting for Spark
WINDOW_SECONDS = 10.0  # of rates


@dataclass(frozen=True, slots=True)
class Reading:
    """The files of a job at one moment. ``counters``: None: its driver has written none yet."""

    at: float
    started: float
    run: str
    counters: Mapping[str, Any] | None
    checkpoint: CheckpointAttempt | None

    @property
    def silent(self) -> float:
        """Seconds since the driver's last heartbeat."""
        return self.at - (self.started if self.counters is None else self.counters["at"])

    @property
    def stalled(self) -> bool:
        """Whether a living driver has been silent for too long: it hangs, or its machine sleeps."""
        return self.silent > patience(has_counters=self.counters is not None)


def patience(*, has_counters: bool) -> float:
    """Seconds that a living driver may be silent: before its first counters, or since it has written some."""
    return SILENT_SECONDS if has_counters else FIRST_SILENT_SECONDS


_Seen = tuple[float, int, dict[str, int]]
"""Time, rows that were read then, and those of each table."""


class Rates:
    """Rows per second, over the last readings of one run."""

    def __init__(self) -> None:
        self._seen: deque[_Seen] = deque()
        self._run = ""

    def add(self, reading: Reading) -> None:
        """Take a reading into account."""
        if reading.counters is None:
            return
        if reading.run != self._run:
            self._seen.clear()
            self._run = reading.run
        at, tables = reading.counters["at"], reading.counters["tables"]
        if self._seen and self._seen[-1][0] >= at:
            return
        read = {table["table"]: table["rows_read"] for table in tables}
        self._seen.append((at, reading.counters["totals"]["rows_read"], read))
        while len(self._seen) > 2 and self._seen[1][0] <= at - WINDOW_SECONDS:
            self._seen.popleft()

    @property
    def total(self) -> float | None:
        """None: there is no second reading yet."""
        return self._between(lambda seen: seen[1])

    def of(self, table: str) -> float | None:
        """The rate of one table."""
        return self._between(lambda seen: seen[2].get(table, 0))

    def _between(self, rows: Callable[[_Seen], int]) -> float | None:
        if len(self._seen) < 2:
            return None
        first, last = self._seen[0], self._seen[-1]
        return max(0.0, (rows(last) - rows(first)) / (last[0] - first[0]))


def read(place: JobDirectory) -> Reading:
    """Read the files of a job now."""
    about = place.last_claim or {}
    newest = checkpoint_history.newest(place.checkpoint_history)
    return Reading(time.time(), about.get("started", 0.0), about.get("driver", ""), place.counters, newest)


def plain(reading: Reading, rates: Rates) -> dict[str, Any]:
    """The document for machines; ``tables`` holds those that have begun and not ended."""
    counters = reading.counters or {"totals": None, "tables": []}
    ended = {one.value for one in TableState if one.ended}
    running = [table for table in counters["tables"] if table["state"] not in ended | {"PENDING"}]
    return {
        "at": reading.at,
        "started": reading.started,
        "silent_seconds": round(reading.silent) if reading.silent > SILENT_SECONDS else 0,
        "totals": counters["totals"],
        "rows_per_second": rates.total,
        "states": dict(Counter(table["state"] for table in counters["tables"])),
        "tables": [{**table, "rows_per_second": rates.of(table["table"])} for table in running],
        "checkpoint": None if reading.checkpoint is None else reading.checkpoint.checkpoint,
    }
