"""Samples of the rows of runs: every five seconds for a day, every minute for thirty days. At most 17,280 and 43,200
rows for each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete, desc, select

from seatunnel_py.control.store.places.store_place import insert_new
from seatunnel_py.control.store.tables import SERIES_1M, SERIES_5S

DAY_SECONDS = 86_400.0
FINE_SECONDS, COARSE_SECONDS = DAY_SECONDS, 30 * DAY_SECONDS
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class RowSample:
    """The rows of a run until ``at``, in seconds since 1970: over all of its drivers, each row once."""

    run: str
    at: float
    read: int
    written: int


def keep(connection: Connection, samples: Sequence[RowSample], now: float) -> None:
    """Add samples in order, and delete those that are too old. A sample that is stored already stays."""
    newest_of_minute = {(one.run, one.at // MINUTE): one for one in samples}
    for table, kept, chosen in (
        (SERIES_5S, FINE_SECONDS, samples),
        (SERIES_1M, COARSE_SECONDS, list(newest_of_minute.values())),
    ):
        values = [{"run": one.run, "at": one.at, "rows_read": one.read, "rows_written": one.written} for one in chosen]
        if values:
            connection.execute(insert_new(connection, table), values)
        connection.execute(delete(table).where(table.c.at < now - kept))


def between(connection: Connection, run: str, begin: float, end: float, now: float) -> list[RowSample]:
    """The samples of a run in this time and the one before it, oldest first: minutes, and then every five seconds."""
    border = max(begin, now - FINE_SECONDS)
    found = _rows(connection, SERIES_1M, run, begin, min(end, border)) if begin < border else []
    found += _rows(connection, SERIES_5S, run, border, end)
    return sorted({one.at: one for one in found}.values(), key=lambda one: one.at)  # a minute may be in both


def newest(connection: Connection, run: str) -> RowSample | None:
    """The newest sample of a run; None: there is none."""
    for table in (SERIES_5S, SERIES_1M):
        query = select(table).where(table.c.run == run).order_by(desc(table.c.at)).limit(1)
        row = connection.execute(query).first()
        if row is not None:
            return RowSample(*row)
    return None


def _rows(connection: Connection, table: Table, run: str, begin: float, end: float) -> list[RowSample]:
    mine = table.c.run == run
    before = select(table).where(mine & (table.c.at < begin)).order_by(desc(table.c.at)).limit(1)
    within = select(table).where(mine & (table.c.at >= begin) & (table.c.at <= end)).order_by(table.c.at)
    first = connection.execute(before).first()
    rows = connection.execute(within).all()
    return [RowSample(*row) for row in ([first, *rows] if first is not None else rows)]
