"""The index of all runs in a home, in memory. Nothing of it is stored: a new server reads it from the directories.

Rules. (1) Only the lock shows whether a driver is alive. (2) A directory that cannot be read is a row with the reason;
the others go on. (3) A run is looked at again after 1 s if it is alive, else after 5 s, up to 30 s where nothing
changes; its files are read only after one was replaced. (4) Times between looks are monotonic: a wall clock that jumps
changes nothing. (5) A driver that is alive, but has not written its counters for ``SILENT_SECONDS``, is STALLED. (6) A
driver of another machine is NOT ENDED until its receipt is there. (7) While the home is away nothing is looked at: a
run that was alive is UNKNOWN, and the others stay as they were. When the directory is back, the locks decide again.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

from seatunnel_py.control.run_row import RunRow, Signature, row_of, signature
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.job_reading import patience
from seatunnel_py.runtime.observe.run_summary import NOT_ENDED, UNREADABLE
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory

ALIVE_SECONDS = 1.0
OTHER_SECONDS = 5.0
IDLE_SECONDS = 30.0
STALLED = "STALLED"
UNKNOWN = "UNKNOWN"
NO_FILES: Signature = (None, None, None)


class HomeAwayError(SeaTunnelError):
    """The storage of the home is not there."""


@dataclass(slots=True)
class _Entry:
    """``interval``: until the next look; ``beat``: when its counters last changed, or the driver was first seen;
    ``looked``: when it was looked at, in seconds since 1970."""

    place: JobDirectory
    row: RunRow
    signature: Signature
    interval: float
    due: float
    beat: float
    looked: float
    change: int = 0


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are listed. ``states``: all if empty; ``text``: a part of id, name or file; ``since``: started at or
    after this time; ``runs``: only these, None: all."""

    states: frozenset[str] = frozenset()
    text: str = ""
    since: float | None = None
    runs: frozenset[str] | None = None

    def chooses(self, row: RunRow) -> bool:
        """Whether the run is listed."""
        if (self.states and row.state not in self.states) or (self.runs is not None and row.run not in self.runs):
            return False
        if self.since is not None and row.started < self.since:
            return False
        text = self.text.lower()
        return not text or any(text in one.lower() for one in (row.run, row.job_name, row.job_file))


_SORTS: dict[str, tuple[Callable[[RunRow], Any], bool]] = {
    "started": (lambda row: (row.started, row.run), True),
    "rows": (lambda row: (row.rows_read or 0, row.run), True),
    "duration": (lambda row: (row.seconds or 0.0, row.run), True),
    "state": (lambda row: (row.state, -row.started, row.run), False),
    "name": (lambda row: (row.job_name, -row.started, row.run), False),
}
SORTS = tuple(_SORTS)


@dataclass(frozen=True, slots=True)
class RunPage:
    """A page of a list. ``total``: of all pages; ``more``: whether another one follows."""

    rows: Sequence[RunRow]
    total: int
    more: bool


@dataclass(slots=True)
class RunIndex:
    """All runs of ``home``. ``clock``: monotonic seconds; ``shared``: other machines may have the home, too; ``here``:
    whether it is there now. ``away``: it was not at the last look. Methods may be called from any thread."""

    home: Home
    clock: Callable[[], float]
    shared: bool = False
    here: Callable[[], bool] = lambda: True
    now: Callable[[], float] = time.time
    away: bool = False
    _entries: dict[str, _Entry] = field(default_factory=dict)
    _due: list[tuple[float, str]] = field(default_factory=list)
    _lock: RLock = field(default_factory=RLock)
    _change: int = 0
    _listed_at: float = float("-inf")
    _folder: int = 0

    def scan(self) -> None:
        """Look for new and deleted directories, and read the new ones."""
        now = self.clock()
        folder = self.home.path / "jobs"
        try:
            self._folder = folder.stat().st_mtime_ns
            with os.scandir(folder) as found:
                names = [one.name for one in found if not one.name.startswith(".") and _is_place(one)]
        except FileNotFoundError:
            names = []
        known = set(names)
        if self._entries.keys() - known and not self.look_at_home():
            return  # what seems to be gone is out of sight
        self._listed_at = now
        with self._lock:
            for name in self._entries.keys() - known:
                del self._entries[name]
                self._change += 1
            new = [name for name in names if name not in self._entries]
        for number, name in enumerate(new):
            place = JobDirectory(name, folder / name)
            row, files = row_of(place, shared=self.shared)
            with self._lock:
                interval = _interval(row)
                # Spread: ten thousand idle runs are not all looked at in the same second.
                due = now + interval * (number + 1) / len(new)
                self._entries[name] = _Entry(place, row, files, interval, due, now, self.now())
                self._changed(self._entries[name])
                heapq.heappush(self._due, (due, name))

    def poll(self) -> Sequence[RunRow]:
        """Look at the runs whose time has come, and for new ones; return the rows that have changed."""
        now, before = self.clock(), self._change
        if not self.look_at_home():
            return self.changed_since(before)[1]
        try:
            folder = (self.home.path / "jobs").stat().st_mtime_ns
        except OSError:
            folder = 0
        if folder != self._folder or now - self._listed_at >= OTHER_SECONDS:
            self.scan()
        for name in self._take_due(now):
            self.look(name)
        return self.changed_since(before)[1]

    def look_at_home(self) -> bool:
        """Whether the home is there now, which decides what is seen of its runs. Read after each sign that a driver has
        ended: then that sign was in the home."""
        here = self.here()
        with self._lock:
            if here is self.away:
                self.away = not here
                for entry in list(self._entries.values()):
                    if not here and entry.row.alive:
                        entry.row = replace(entry.row, state=UNKNOWN, seen=entry.looked)
                        self._changed(entry)
                if here:
                    self._listed_at = float("-inf")
                    for run in [name for name, entry in self._entries.items() if entry.row.state == UNKNOWN]:
                        self._entries[run].signature = NO_FILES  # read it again
                        self.look(run)
        return here

    def require_home(self) -> None:
        """Raise HomeAwayError if the home is away."""
        if not self.look_at_home():
            raise HomeAwayError(
                f"the home {self.home.path} is away, and nothing of its runs can be seen or changed",
                "give its storage back: mount it again, or look at its server; the drivers may be at work",
            )

    def _take_due(self, now: float) -> Iterator[str]:
        with self._lock:
            names: list[str] = []
            while self._due and self._due[0][0] <= now:
                due, name = heapq.heappop(self._due)
                entry = self._entries.get(name)
                if entry is not None and entry.due == due:
                    names.append(name)
        yield from names

    def look(self, run: str) -> RunRow | None:
        """Look at one run now; None: there is no directory of that id."""
        with self._lock:
            entry = self._entries.get(run)
            if self.away:
                return None if entry is None else entry.row
            if entry is None:
                return self._first_look(run)
            now = self.clock()
            files = signature(entry.place.path)
            changed = files != entry.signature or _lock_changed(entry)
            if changed:
                row, read = row_of(entry.place, shared=self.shared)
                if entry.row.alive and not row.alive and not self.look_at_home():
                    return self._entries[run].row
                if read[2] != entry.signature[2] or row.driver != entry.row.driver or not entry.row.alive:
                    entry.beat = now
                entry.signature = read
            else:
                row = _without_stall(entry.row)
            row = _with_stall(row, now - entry.beat)
            entry.interval = _interval(row) if row != entry.row else _longer(entry.interval, row)
            entry.due, entry.looked = now + entry.interval, self.now()
            heapq.heappush(self._due, (entry.due, run))
            if row != entry.row:
                entry.row = row
                self._changed(entry)
            return entry.row

    def _first_look(self, run: str) -> RunRow | None:
        path = self.home.path / "jobs" / run
        if not run or run.startswith(".") or "/" in run or not os.path.lexists(path):
            return None
        self.scan()
        entry = self._entries.get(run)
        return None if entry is None else entry.row

    def row(self, run: str) -> RunRow | None:
        """A run as it was last seen."""
        entry = self._entries.get(run)
        return None if entry is None else entry.row

    def place(self, run: str) -> JobDirectory | None:
        """The directory of a run that the index knows. An id from outside is never joined to a path."""
        entry = self._entries.get(run)
        return None if entry is None else entry.place

    def rows(self) -> Sequence[RunRow]:
        """All runs, in no order."""
        with self._lock:
            return [entry.row for entry in self._entries.values()]

    def page(
        self, chosen: RunFilter | None = None, *, sort: str = "started", after: str = "", limit: int = 200
    ) -> RunPage:
        """Runs in the order of ``sort``, one of ``SORTS``; ``after``: the run where the last page ended. A run that has
        gone since begins at the first page."""
        key, falls = _SORTS[sort]
        wanted = chosen or RunFilter()
        rows = sorted((row for row in self.rows() if wanted.chooses(row)), key=key, reverse=falls)
        start = next((at + 1 for at, row in enumerate(rows) if row.run == after), 0) if after else 0
        return RunPage(rows[start : start + limit], len(rows), start + limit < len(rows))

    def changed_since(self, change: int) -> tuple[int, Sequence[RunRow]]:
        """The number of the newest change, and the rows that have changed after ``change``."""
        with self._lock:
            if change == self._change:
                return change, ()
            return self._change, [entry.row for entry in self._entries.values() if entry.change > change]

    def _changed(self, entry: _Entry) -> None:
        self._change += 1
        entry.change = self._change


def counts_by_state(rows: Iterable[RunRow]) -> dict[str, int]:
    """How many runs are in each state."""
    found: dict[str, int] = {}
    for row in rows:
        found[row.state] = found.get(row.state, 0) + 1
    return found


def _is_place(found: os.DirEntry[str]) -> bool:
    return found.is_symlink() or found.is_dir(follow_symlinks=False)


def _lock_changed(entry: _Entry) -> bool:
    try:
        return entry.place.running != entry.row.alive
    except OSError:
        return entry.row.state != UNREADABLE


def _interval(row: RunRow) -> float:
    return ALIVE_SECONDS if row.alive else OTHER_SECONDS


def _longer(interval: float, row: RunRow) -> float:
    return ALIVE_SECONDS if row.alive else min(2 * interval, IDLE_SECONDS)


def _with_stall(row: RunRow, silent: float) -> RunRow:
    stalled = row.alive and row.state != NOT_ENDED and silent > patience(has_counters=row.has_counters)
    return replace(row, state=STALLED) if stalled else row


def _without_stall(row: RunRow) -> RunRow:
    return replace(row, state="RUNNING") if row.state == STALLED else row
