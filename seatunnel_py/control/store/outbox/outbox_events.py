"""Events of the outbox. An event is written in the transaction of the change that it reports, with one delivery for
each target that wants it: both are there after a crash, or neither is."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, exists, insert, select

from seatunnel_py.control.store.outbox import deliveries
from seatunnel_py.control.store.tables import OUTBOX_DELIVERY, OUTBOX_EVENT


@dataclass(frozen=True, slots=True)
class OutboxEvent:
    """An event. ``id``: unique, and the same for each attempt to send it, so that receivers drop repeats; ``body``: its
    document, JSON-ready and without secrets."""

    id: str
    kind: str
    run: str
    definition: str
    job: str
    at: float
    body: Mapping[str, Any] = field(repr=False)


def add(connection: Connection, event: OutboxEvent, targets: Collection[str], at: float) -> bool:
    """Keep an event with a delivery for each of these targets. False: an event of that id is there already."""
    values = {name: getattr(event, name) for name in ("kind", "run", "definition", "job", "at")}
    found = select(OUTBOX_EVENT.c.id).where(OUTBOX_EVENT.c.event == event.id)
    if connection.execute(found).first() is not None:  # writes follow one another
        return False
    connection.execute(insert(OUTBOX_EVENT).values(event=event.id, body=json.dumps(event.body), **values))
    number = connection.execute(found).scalar_one()
    for target in targets:
        deliveries.add(connection, number, target, at)
    return True


def event_of(row: Mapping[Any, Any]) -> OutboxEvent:
    """The event of a row that has all columns of ``OUTBOX_EVENT``, its time as ``event_at``."""
    names = ("kind", "run", "definition", "job")
    about = {name: row[name] for name in names}
    return OutboxEvent(id=row["event_id"], at=row["event_at"], body=json.loads(row["body"]), **about)


def forget_undelivered(connection: Connection) -> None:
    """Delete the events whose deliveries are all forgotten."""
    kept = exists().where(OUTBOX_DELIVERY.c.event == OUTBOX_EVENT.c.id)
    connection.execute(delete(OUTBOX_EVENT).where(~kept))
