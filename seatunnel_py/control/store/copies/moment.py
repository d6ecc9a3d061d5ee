"""Removes state from a copy of the database that was true only at its moment, when the copy is given back.

Such rows are sessions, codes to log in, starts that waited, times of schedules that have passed, tokens that were
revoked since, the lease of a server, and the home that it served.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select, update

from seatunnel_py.control.presence.home_identity import HomeIdentity
from seatunnel_py.control.store import definitions, tokens
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.control.store.tables import INTENT, LEASE, LOGIN_CODE, QUEUE, SCHEDULE, SESSION, TOKEN


@dataclass(frozen=True, slots=True)
class ReplacedState:
    """State of the database that is replaced, and that stays. ``revoked``: its revoked tokens, with the times;
    ``lease``: the highest number of a lease in it."""

    revoked: Mapping[str, float]
    lease: int = 0


@dataclass(frozen=True, slots=True)
class FreshStart:
    """The database after that. ``definitions``: how many there are; ``dropped``: starts that waited; ``revoked``:
    tokens that were revoked after the copy was made."""

    definitions: int
    dropped: int
    revoked: int


def remove_stale_state(connection: Connection, replaced: ReplacedState, now: float) -> FreshStart:
    """Change a copy into a database with which a server begins."""
    known = connection.execute(select(TOKEN.c.id).where(TOKEN.c.revoked_at.is_(None))).scalars().all()
    again = [id for id in known if id in replaced.revoked]
    for id in again:
        tokens.revoke(connection, id, replaced.revoked[id])
    connection.execute(delete(SESSION))
    connection.execute(delete(LOGIN_CODE))
    connection.execute(delete(QUEUE))
    waiting = INTENT.c.state == IntentState.WAITING.value
    dropped = connection.execute(update(INTENT).where(waiting).values(state=IntentState.DROPPED.value)).rowcount
    connection.execute(update(SCHEDULE).values(decided=func.max(SCHEDULE.c.decided, now), queued=None))
    number = func.max(LEASE.c.number, replaced.lease)  # it only grows: writes with a lower one are refused
    connection.execute(update(LEASE).values(number=number, holder="", address="", renewed_at=0.0, expires_at=0.0))
    HomeIdentity.unbind(connection)
    return FreshStart(definitions.number(connection), dropped, len(again))
