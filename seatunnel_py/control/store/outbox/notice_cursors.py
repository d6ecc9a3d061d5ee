"""How far a run has been looked at for events, written in the transaction of the events that were found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from seatunnel_py.control.store.tables import NOTICE_CURSOR


@dataclass(frozen=True, slots=True)
class NoticeCursor:
    """``position``: in the log of the run, as ``event_lines`` writes it, empty: its beginning; ``begun``,
    ``ended``, ``stalled``: the driver whose start, end or stall was noted last."""

    run: str
    position: str = ""
    begun: str = ""
    ended: str = ""
    stalled: str = ""


def of_run(connection: Connection, run: str) -> NoticeCursor:
    """The cursor of a run; one that was not looked at yet is at its beginning."""
    row = connection.execute(select(NOTICE_CURSOR).where(NOTICE_CURSOR.c.run == run)).mappings().first()
    return NoticeCursor(run) if row is None else NoticeCursor(**{name: row[name] for name in NoticeCursor.__slots__})


def runs(connection: Connection) -> Sequence[str]:
    """The runs that were looked at."""
    return connection.execute(select(NOTICE_CURSOR.c.run)).scalars().all()


def keep(connection: Connection, cursor: NoticeCursor, at: float) -> None:
    """Keep a cursor in place of the one before."""
    connection.execute(delete(NOTICE_CURSOR).where(NOTICE_CURSOR.c.run == cursor.run))
    values = {name: getattr(cursor, name) for name in NoticeCursor.__slots__}
    connection.execute(insert(NOTICE_CURSOR).values(**values, at=at))


def forget_gone(connection: Connection, before: float, there: Collection[str]) -> None:
    """Forget the cursors of runs that are not there any more, and were looked at before this time."""
    old = connection.execute(select(NOTICE_CURSOR.c.run).where(NOTICE_CURSOR.c.at < before)).scalars().all()
    for run in set(old) - set(there):
        connection.execute(delete(NOTICE_CURSOR).where(NOTICE_CURSOR.c.run == run))


def forget_all(connection: Connection) -> None:
    """Forget all cursors."""
    connection.execute(delete(NOTICE_CURSOR))
