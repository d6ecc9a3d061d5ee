"""Drivers that are killed if they do not end in time. Kept in the transaction of the request: a server that dies in
between leaves the wish to the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from seatunnel_py.control.store.tables import FORCED_END


@dataclass(frozen=True, slots=True)
class ForcedEnd:
    """``driver``: the one that is killed, and no later one; ``actor``, ``address``, ``request``: as in the audit;
    ``at``: when it was asked; ``seconds``: how long it may take to end by itself."""

    run: str
    driver: str
    actor: str
    address: str
    request: str
    at: float
    seconds: float


def keep(connection: Connection, wish: ForcedEnd) -> None:
    """Keep a wish in place of an older one for the same run."""
    remove(connection, wish.run)
    connection.execute(insert(FORCED_END).values(**{name: getattr(wish, name) for name in ForcedEnd.__slots__}))


def every(connection: Connection) -> Sequence[ForcedEnd]:
    """All wishes."""
    return [ForcedEnd(**row) for row in connection.execute(select(FORCED_END)).mappings()]


def remove(connection: Connection, run: str) -> None:
    """Forget the wish for a run."""
    connection.execute(delete(FORCED_END).where(FORCED_END.c.run == run))
