"""Deliveries of the outbox: one event for one target.

::

    WAITING -> SENT
       |----> GIVEN_UP      the target has not taken it in time
       |----> DROPPED       too many wait for the target, or the target is not in the settings any more

Rules. (1) The deliveries of a target are sent in the order of their numbers; one that has ended is never sent again.
(2) At most ``BACKLOG_MAX`` wait for a target: the oldest make room. (3) Ended ones are kept for ``KEPT_SECONDS``, and
at most ``KEPT_MAX`` of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, desc, func, insert, select, update

from seatunnel_py.control.store.tables import OUTBOX_DELIVERY, OUTBOX_EVENT

BACKLOG_MAX = 1_000
KEPT_SECONDS = 30 * 86_400.0
KEPT_MAX = 10_000
FULL = f"more than {BACKLOG_MAX:,} waited for the target"
NO_TARGET = "the target is not in the settings any more"
_D = OUTBOX_DELIVERY.c


class DeliveryState(StrEnum):
    """State of a delivery."""

    WAITING = "waiting"
    SENT = "sent"
    GIVEN_UP = "given up"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery. ``event``: the number of its event; ``at``: since when it waits; ``code``, ``error``: of the newest
    attempt."""

    id: int
    event: int
    target: str
    state: DeliveryState
    attempts: int
    at: float
    tried_at: float | None
    ended_at: float | None
    code: int | None
    error: str


def add(connection: Connection, event: int, target: str, at: float) -> None:
    """Let an event wait for a target. The oldest that waits too much is dropped."""
    values = {"state": DeliveryState.WAITING.value, "attempts": 0, "error": ""}
    connection.execute(insert(OUTBOX_DELIVERY).values(event=event, target=target, at=at, **values))
    waiting = _waiting(target)
    newest = select(_D.id).where(waiting).order_by(desc(_D.id)).limit(BACKLOG_MAX)
    surplus = waiting & _D.id.not_in(newest)
    connection.execute(update(OUTBOX_DELIVERY).where(surplus).values(**_ended(DeliveryState.DROPPED, at, FULL)))


def first_waiting(connection: Connection, target: str) -> tuple[Delivery, Row[Any]] | None:
    """The delivery that a target gets next, with its event as ``outbox_events.event_of`` reads it."""
    row = connection.execute(_joined().where(_waiting(target)).order_by(_D.id).limit(1)).first()
    return None if row is None else (delivery_of(row._mapping), row)


def tried(
    connection: Connection, id: int, state: DeliveryState, at: float, *, code: int | None = None, error: str = ""
) -> None:
    """Note an attempt, and what has become of the delivery."""
    ended_at = None if state is DeliveryState.WAITING else at
    values = {"state": state.value, "tried_at": at, "ended_at": ended_at, "code": code, "error": error}
    connection.execute(update(OUTBOX_DELIVERY).where(_D.id == id).values(attempts=_D.attempts + 1, **values))


def give_up(connection: Connection, target: str, before: float, at: float, why: str) -> int:
    """End the deliveries that wait since ``before`` or longer; return how many these are."""
    late = _waiting(target) & (_D.at <= before)
    values = _ended(DeliveryState.GIVEN_UP, at, func.ltrim(_D.error + f"; {why}", "; "))
    return connection.execute(update(OUTBOX_DELIVERY).where(late).values(**values)).rowcount


def drop_others(connection: Connection, targets: Collection[str], at: float) -> None:
    """End the deliveries to all other targets than these."""
    others = (_D.state == DeliveryState.WAITING.value) & _D.target.not_in(targets)
    connection.execute(update(OUTBOX_DELIVERY).where(others).values(**_ended(DeliveryState.DROPPED, at, NO_TARGET)))


def counts(connection: Connection) -> Mapping[tuple[str, DeliveryState], int]:
    """How many deliveries of each target are in each state."""
    query = select(_D.target, _D.state, func.count()).group_by(_D.target, _D.state)
    return {(target, DeliveryState(state)): number for target, state, number in connection.execute(query)}


def listing(
    connection: Connection, *, before: int | None = None, limit: int = 200, target: str = "", state: str = ""
) -> Sequence[tuple[Delivery, Row[Any]]]:
    """Deliveries with their events, newest first; ``before``: the id where the last page ended."""
    query = _joined().order_by(desc(_D.id)).limit(limit)
    if before is not None:
        query = query.where(_D.id < before)
    for column, wanted in ((_D.target, target), (_D.state, state)):
        if wanted:
            query = query.where(column == wanted)
    return [(delivery_of(row._mapping), row) for row in connection.execute(query)]


def forget_old(connection: Connection, now: float) -> None:
    """Delete ended deliveries (rule 3)."""
    ended = _D.ended_at.is_not(None)
    border = select(_D.id).where(ended).order_by(desc(_D.id)).offset(KEPT_MAX).limit(1).scalar_subquery()
    old = ended & ((_D.ended_at < now - KEPT_SECONDS) | (_D.id <= border))
    connection.execute(delete(OUTBOX_DELIVERY).where(old))


def delivery_of(row: Mapping[Any, Any]) -> Delivery:
    """The delivery of a row."""
    values = {name: row[name] for name in Delivery.__slots__}
    return Delivery(**{**values, "state": DeliveryState(row["state"])})


def _joined() -> Select[Any]:
    event = OUTBOX_EVENT.c
    columns = (event.event.label("event_id"), event.at.label("event_at"), event.kind, event.run, event.definition)
    query = select(OUTBOX_DELIVERY, *columns, event.job, event.body)
    return query.join(OUTBOX_EVENT, event.id == _D.event)


def _waiting(target: str) -> Any:
    return (_D.target == target) & (_D.state == DeliveryState.WAITING.value)


def _ended(state: DeliveryState, at: float, error: Any) -> dict[str, Any]:
    return {"state": state.value, "ended_at": at, "error": error}
