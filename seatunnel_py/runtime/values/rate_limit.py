"""How fast a source may be read: a budget for all of its readers together. Pure: time is told.

Rules. (1) The budget grows with time, from nothing, and is never saved for longer than ``SAVED_SECONDS``; what a unit
may read is taken from it before the unit begins. (2) A unit stops between batches only, so it may read more than that:
this is owed, and nobody gets it again. Once it has happened twice the reader's next units wait until there is so much
to spare: the first time may have been all of a small table. So the whole never outruns the limit by more than such a
batch of each reader. (3) What is there is shared between those who have read or asked lately: the part of an idle
reader goes to the others. (4) Nobody knows the bytes of a row beforehand: they are estimated from what was read so far.
"""

from __future__ import annotations

from collections.abc import Hashable, Set
from dataclasses import dataclass

SAVED_SECONDS = 1.0
LATELY_SECONDS = 1.0  # whoever was silent for longer is idle
LEAST_SECONDS = 0.05  # of a reader's part of the rate: a smaller grant is not worth a unit
PROBE_ROWS = 100  # before the bytes of a row are known
SHORTEST_SECONDS = 0.001  # of a wait


@dataclass(frozen=True, slots=True)
class Grant:
    """So many rows may be read now, of about so many bytes; no rows: ask again after ``wait`` seconds."""

    rows: int
    bytes: int = 0
    wait: float = 0.0


class _Budget:
    """What each reader may use: the whole fills at ``rate`` a second, in equal parts."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.levels: dict[Hashable, float] = {}
        self._at: float | None = None

    def fill(self, at: float, readers: Set[Hashable], least: float) -> None:
        """What is too much for one goes to the others. Never so little is saved that ``least`` could not be."""
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
                return  # only what calculating with fractions leaves over

    def take(self, reader: Hashable, amount: float) -> None:
        self.levels[reader] = self.levels.get(reader, 0.0) - amount


class RateLimit:
    """Of one source; ``rows`` and ``bytes`` a second, None: no limit."""

    def __init__(self, rows: float | None, size: float | None) -> None:
        self._rows = None if rows is None else _Budget(rows)
        self._bytes = None if size is None else _Budget(size)
        self._reading: dict[Hashable, float] = {}
        self._beyond: dict[Hashable, tuple[int, int]] = {}
        self._read_rows = 0
        self._read_bytes = 0

    def ask(self, at: float, reader: Hashable) -> Grant:
        """A reader wants to begin a unit."""
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
        """A unit has ended: what it did not read goes back, what it read beyond its grant is owed."""
        self._reading[reader] = at + LATELY_SECONDS
        beyond = max(0, rows - grant.rows), max(0, size - grant.bytes)
        if any(beyond):
            before = self._beyond.get(reader)
            # Who has done so once may be at its end, which it only learns by one more unit.
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
    """A reader's part of what is there, if that is worth a unit, less what its units read ``beyond`` their grants."""
    least = beyond + max(per_row or 0.0, budget.rate * LEAST_SECONDS / len(readers))
    budget.fill(at, readers, least)
    level = budget.levels[reader]
    if level < least * (1 - 1e-9):
        return Grant(0, 0, max((least - level) * len(readers) / budget.rate, SHORTEST_SECONDS))
    return Grant(PROBE_ROWS if per_row is None else max(1, int((level - beyond) / per_row)))
