"""Samples the rows of live runs, from the files that their drivers write.

Rules. (1) A total counts each row once over all drivers of a run (``run_record.tables_of``): rows that a restart reads
again do not count twice, and no total goes back. (2) The time of a sample is that of the counters, so a server that is
late changes no rate; a clock that is set back leaves a gap, and no wrong rate. (3) The first sample of a new driver is
at its start, with the total of the one before: the time between both has the rate 0. (4) Samples are written once a
minute, in a thread of its own; until then they are in memory. A database that cannot be written loses samples, and
delays nothing; of several servers the leader writes, and the others keep the newest only. (5) A table has samples only
while it is looked at: they are in memory, for an hour, of at most ``TABLES_MAX`` tables.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store import series
from seatunnel_py.control.store.database import Database, StaleLeaseError, StoreUnreadableError, StoreUnwritableError
from seatunnel_py.control.store.series import RowSample
from seatunnel_py.jobs.home_metrics import record_of
from seatunnel_py.runtime.observe.run_record import RunRecord, TableRecord

EVERY_SECONDS = 5.0
WRITTEN_EVERY_SECONDS = 60.0
PENDING_MAX = 100_000
UNWRITTEN_SECONDS = 300.0
TABLES_MAX = 200
TABLE_SAMPLES = 720
WATCHED_SECONDS = 600.0


@dataclass(slots=True)
class _Followed:
    """The newest sample of a run, and the driver that it is of."""

    driver: str
    sample: RowSample


@dataclass(slots=True)
class _WatchedTable:
    asked: float
    samples: deque[RowSample] = field(default_factory=lambda: deque(maxlen=TABLE_SAMPLES))


class RowSampler:
    """Samples the runs of ``index``. ``now``: wall-clock seconds."""

    def __init__(self, database: Database, index: RunIndex, now: Callable[[], float]) -> None:
        self._database, self._index, self._now = database, index, now
        self._followed: dict[str, _Followed] = {}
        self._tables: OrderedDict[tuple[str, str], _WatchedTable] = OrderedDict()
        self._pending: list[RowSample] = []
        self._written_at = now()
        self._lock = threading.Lock()

    def turn(self) -> None:
        """Take samples, and write them once a minute."""
        rows = self._index.rows()
        alive = {row.run: row for row in rows if row.alive}
        for row in alive.values():
            self._look(row)
        for run in self._followed.keys() - alive.keys():
            ended = next((one for one in rows if one.run == run), None)
            if ended is not None:
                self._look(ended)  # the counts of its receipt
            del self._followed[run]
        now = self._now()
        self._forget_tables(now)
        if abs(now - self._written_at) >= WRITTEN_EVERY_SECONDS:
            self.write()

    def write(self) -> None:
        """Write the samples of the last minute. Without effect if the database cannot be written."""
        now = self._now()
        self._written_at = now
        with self._lock:
            pending = list(self._pending)
        try:
            with self._database.writing() as connection:
                series.keep(connection, pending, now)
        except StaleLeaseError:
            pending = [one for one in pending if one.at < now - UNWRITTEN_SECONDS]
        except StoreUnwritableError:
            pending = pending[: max(0, len(pending) - PENDING_MAX)]
        with self._lock:
            del self._pending[: len(pending)]

    def samples(self, run: str, begin: float, end: float) -> list[RowSample]:
        """The samples of a run in this time, and the one before it. Raises StoreUnreadableError."""
        with self._database.reading() as connection:
            found = series.between(connection, run, begin, end, self._now())
        with self._lock:
            newer = [one for one in self._pending if one.run == run and one.at <= end]
        last = found[-1].at if found else float("-inf")
        return found + [one for one in newer if one.at > last]

    def samples_of_table(self, run: str, table: str) -> list[RowSample]:
        """The samples of a table since the first question about it; it is sampled from now on."""
        key = (run, table)
        with self._lock:
            watched = self._tables.setdefault(key, _WatchedTable(self._now()))
            watched.asked = self._now()
            self._tables.move_to_end(key)
            while len(self._tables) > TABLES_MAX:
                self._tables.popitem(last=False)
            return list(watched.samples)

    def _look(self, row: RunRow) -> None:
        place = self._index.place(row.run)
        record = None if place is None else record_of(place)
        if record is None or record.at is None:
            return
        before = self._before(row)
        for sample in _samples(row, record, before):
            self._followed[row.run] = _Followed(row.driver, sample)
            with self._lock:
                self._pending.append(sample)
                del self._pending[: max(0, len(self._pending) - PENDING_MAX)]
        self._look_at_tables(row.run, record)

    def _before(self, row: RunRow) -> _Followed | None:
        """The sample before; for a run that was not alive at the last look, that of an earlier driver or server."""
        known = self._followed.get(row.run)
        if known is not None:
            return known
        with self._lock:
            found = next((one for one in reversed(self._pending) if one.run == row.run), None)
        try:
            with self._database.reading() as connection:
                found = found or series.newest(connection, row.run)
        except StoreUnreadableError:
            return None
        same = found is not None and found.at >= row.started
        return None if found is None else _Followed(row.driver if same else "", found)

    def _look_at_tables(self, run: str, record: RunRecord) -> None:
        with self._lock:
            watched = {table: one for (of, table), one in self._tables.items() if of == run}
        if not watched or record.at is None:
            return
        for table in record.tables:
            one = watched.get(table.table)
            if one is not None and (not one.samples or one.samples[-1].at < record.at):
                one.samples.append(RowSample(run, record.at, *_rows([table])))

    def _forget_tables(self, now: float) -> None:
        with self._lock:
            for key in [key for key, one in self._tables.items() if now - one.asked > WATCHED_SECONDS]:
                del self._tables[key]


def _samples(row: RunRow, record: RunRecord, before: _Followed | None) -> Iterator[RowSample]:
    """The new samples of a run; none if its counters have not changed since the one before."""
    read, written = _rows(record.tables)
    at = float(record.at or 0.0)
    if not row.alive and row.seconds is not None:
        at = max(at, row.started + row.seconds)
    if before is None:
        yield RowSample(row.run, at, read, written)
        return
    last = before.sample
    if before.driver != row.driver and last.at < row.started < at:
        last = RowSample(row.run, row.started, last.read, last.written)
        yield last
    if at > last.at:
        yield RowSample(row.run, at, max(read, last.read), max(written, last.written))


def _rows(tables: list[TableRecord] | tuple[TableRecord, ...]) -> tuple[int, int]:
    return sum(one.counts["rows_read"] for one in tables), sum(one.counts["rows_written"] for one in tables)
