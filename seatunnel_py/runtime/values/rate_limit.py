"""Limits the rate at which a source is read, with one budget for all of its readers. Pure: time is an argument.

Rules. (1) The budget grows with time, from zero, and at most ``SAVED_SECONDS`` of it are saved; the grant of a unit
is deducted before the unit starts. (2) A unit stops only between batches, so it may exceed its grant;
the excess is deducted later. After the second excess the reader's next units wait until the budget covers it;
the first one may have been a whole small table. So the rate exceeds the limit by at most one such
batch per reader. (3) The budget is shared among recently active readers: an idle reader's part
goes to the others. (4) The bytes of a row are estimated from the rows read so far.
"""

from __future__ import annotations

from collections.abc import Hashable, Set
from dataclasses import dataclass

SAVED_SECONDS = 1.0
LATELY_SECONDS = 1.0  # an inactive reader is idle after this time
LEAST_SECONDS = 0.05  # of a reader's part of the rate: a smaller grant is not worth a unit
PROBE_ROWS = 100  # before the bytes of a row are known
SHORTEST_SECONDS = 0.001  # of a wait


@dataclass(frozen=True, slots=True)
class Grant:
    """Number of rows to read now, and about their bytes; no rows: ask again after ``wait`` seconds."""

    rows: int
    bytes: int = 0
    wait: float = 0.0


class _Budget:
    """The budget of each reader: the total grows by ``rate`` per second, in equal parts."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.levels: dict[Hashable, float] = {}
        self._at: float | None = None

    def fill(self, at: float, readers: Set[Hashable], least: float) -> None:
        """Add to the budgets; a full one passes its surplus to the others. At least ``least`` can always be saved."""
        left = max(0.0, at - (at if self._at is None else self._at)) * self.rate
        self._at = at
        most = max(self.rate * SAVED_SECONDS / len(readers), least)
        owed = {one: level for one, level in self.levels.items() if one in readers or level < 0}
        self.levels = owed | {one: 0.0 for one in readers if one not in owed}
        while left > 0 and (wanting := [one for one, level in self.levels.items() if level < most]):
            part = left / len(wanting)
            for one in wanting:
                given = min(part, most - self.levels[one])
                self.levels[one] += given
                left -= given
            if part <= most * 1e-9:
                return  # only a rounding error is left

    def take(self, reader: Hashable, amount: float) -> None:
        self.levels[reader] = self.levels.get(reader, 0.0) - amount


class RateLimit:
    """Rate limit of one source; ``rows`` and ``bytes`` per second, None: no limit."""

    def __init__(self, rows: float | None, size: float | None) -> None:
        self._rows = None if rows is None else _Budget(rows)
        self._bytes = None if size is None else _Budget(size)
        self._reading: dict[Hashable, float] = {}
        self._beyond: dict[Hashable, tuple[int, int]] = {}
        self._read_rows = 0
        self._read_bytes = 0

    def ask(self, at: float, reader: Hashable) -> Grant:
        """Request a grant for a reader's next unit."""
        self._reading = {one: until for one, until in self._reading.items() if at <= until} | {reader: at}
        per_row = self._read_bytes / self._read_rows if self._read_bytes else None
        rows, size = self._beyond.get(reader, (0, 0))
        parts = [
            _part(budget, each, beyond, at, reader, self._reading.keys())
            for budget, each, beyond in ((self._rows, 1.0, rows), (self._bytes, per_row, size))
            if budget is not None
        ]
        grant, wait = min(part.rows for part in parts), max(part.wait for part in parts)
        self._reading[reader] = at + wait + LATELY_SECONDS
        if wait:
            return Grant(0, 0, wait)
        granted = Grant(grant, round(grant * (per_row or 0.0)))
        self._take(reader, granted.rows, granted.bytes)
        return granted

    def used(self, at: float, reader: Hashable, grant: Grant, rows: int, size: int) -> None:
        """A unit has ended: return its unused rows, or deduct its excess."""
        self._reading[reader] = at + LATELY_SECONDS
        beyond = max(0, rows - grant.rows), max(0, size - grant.bytes)
        if any(beyond):
            before = self._beyond.get(reader)
            # After one excess a reader may be at its end, which only one more unit shows.
            self._beyond[reader] = (0, 0) if before is None else (max(before[0], beyond[0]), max(before[1], beyond[1]))
        self._take(reader, rows - grant.rows, size - grant.bytes)
        self._read_rows += rows
        self._read_bytes += size

    def _take(self, reader: Hashable, rows: int, size: int) -> None:
        if self._rows is not None:
            self._rows.take(reader, rows)
        if self._bytes is not None:
            self._bytes.take(reader, size)


def _part(
    budget: _Budget, per_row: float | None, beyond: int, at: float, reader: Hashable, readers: Set[Hashable]
) -> Grant:
    """A reader's part of the budget, without its excess ``beyond`` earlier grants; zero if too small for a unit."""
    least = beyond + max(per_row or 0.0, budget.rate * LEAST_SECONDS / len(readers))
    budget.fill(at, readers, least)
    level = budget.levels[reader]
    if level < least * (1 - 1e-9):
        return Grant(0, 0, max((least - level) * len(readers) / budget.rate, SHORTEST_SECONDS))
    return Grant(PROBE_ROWS if per_row is None else max(1, int((level - beyond) / per_row)))
