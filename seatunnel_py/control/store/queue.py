"""The queue: intents that wait for their turn. A higher priority goes first, an older intent before a newer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, desc, insert, select, update

from seatunnel_py.control.store import intents
from seatunnel_py.control.store.intents import Intent, IntentState
from seatunnel_py.control.store.tables import INTENT, QUEUE
from seatunnel_py.errors import SeaTunnelError


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A waiting start. ``priority``: 0 by default; ``at``: since when it waits."""

    intent: Intent
    priority: int
    at: float


def put(connection: Connection, intent: Intent, at: float, priority: int = 0) -> None:
    """Add an intent; one that is there keeps its place."""
    there = connection.execute(select(QUEUE.c.intent).where(QUEUE.c.intent == intent.id)).first()
    if there is None and intent.state is IntentState.WAITING:
        connection.execute(insert(QUEUE).values(intent=intent.id, priority=priority, at=at))


def entries(connection: Connection) -> Sequence[QueueEntry]:
    """The queue in its order."""
    query = select(INTENT.c.id, QUEUE.c.priority, QUEUE.c.at.label("since")).join(QUEUE, QUEUE.c.intent == INTENT.c.id)
    ordered = connection.execute(query.order_by(desc(QUEUE.c.priority), QUEUE.c.intent)).all()
    return [QueueEntry(intents.found(connection, row.id), row.priority, row.since) for row in ordered]


def prioritise(connection: Connection, intent: int, priority: int) -> None:
    """Give a waiting start another priority. Raises SeaTunnelError if it does not wait."""
    changed = connection.execute(update(QUEUE).where(QUEUE.c.intent == intent).values(priority=priority)).rowcount
    if not changed:
        raise SeaTunnelError(f"the start {intent} is not in the queue", "it has begun, or was dropped")


def take(connection: Connection, intent: int, previous_driver: str, fence: int | None = None) -> Intent:
    """Take a start out of the queue because it begins now; ``fence``: the number of the lease. Raises
    IntentStateError."""
    connection.execute(delete(QUEUE).where(QUEUE.c.intent == intent))
    return intents.move(connection, intent, IntentState.STARTING, previous_driver=previous_driver, fence=fence)


def drop(connection: Connection, intent: int) -> Intent:
    """Take a start out of the queue for good. Raises IntentStateError if it has begun."""
    connection.execute(delete(QUEUE).where(QUEUE.c.intent == intent))
    return intents.move(connection, intent, IntentState.DROPPED)
