"""Schedules and their fires in the server's database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, desc, insert, select, update
from sqlalchemy.sql.functions import count

from seatunnel_py.control.schedule.decision import Fire, FireOutcome, Schedule
from seatunnel_py.control.schedule.terms import Missed, Overlap, ScheduleTerms
from seatunnel_py.control.store.intents import options_of, options_text
from seatunnel_py.control.store.tables import SCHEDULE, SCHEDULE_FIRE
from seatunnel_py.errors import SeaTunnelError

FIRES_KEPT = 500


class UnknownScheduleError(SeaTunnelError):
    """There is no such schedule."""


class ScheduleExistsError(SeaTunnelError):
    """The id of the schedule is taken."""


class StaleScheduleError(SeaTunnelError):
    """The schedule was changed since the caller has read it."""


@dataclass(frozen=True, slots=True)
class StoredFire:
    """A fire with the moment at which it was decided."""

    fire: Fire
    at: float


def found(connection: Connection, id: str) -> Schedule:
    """The schedule of this id. Raises UnknownScheduleError."""
    schedule = find(connection, id)
    if schedule is None:
        raise UnknownScheduleError(f"there is no schedule {id!r}", "the list of schedules names them")
    return schedule


def find(connection: Connection, id: str) -> Schedule | None:
    """The schedule of this id; None: there is none."""
    row = connection.execute(select(SCHEDULE).where(SCHEDULE.c.id == id)).mappings().first()
    return None if row is None else _schedule(row)


def every(connection: Connection) -> Sequence[Schedule]:
    """All schedules."""
    return [_schedule(row) for row in connection.execute(select(SCHEDULE).order_by(SCHEDULE.c.id)).mappings()]


def listing(
    connection: Connection, *, definition: str = "", after: str = "", text: str = "", limit: int = 200
) -> Sequence[Schedule]:
    """Schedules in the order of their ids; ``after``: the id where the last page ended; ``text``: a part of the id."""
    query = select(SCHEDULE).where(SCHEDULE.c.id > after).order_by(SCHEDULE.c.id).limit(limit)
    if definition:
        query = query.where(SCHEDULE.c.definition == definition)
    if text:
        query = query.where(SCHEDULE.c.id.icontains(text, autoescape=True))
    return [_schedule(row) for row in connection.execute(query).mappings()]


def of_definitions(connection: Connection, chosen: Sequence[str]) -> Mapping[str, Sequence[Schedule]]:
    """The schedules of these definitions."""
    made: dict[str, list[Schedule]] = {name: [] for name in chosen}
    query = select(SCHEDULE).where(SCHEDULE.c.definition.in_(chosen)).order_by(SCHEDULE.c.id)
    for row in connection.execute(query).mappings():
        made[row["definition"]].append(_schedule(row))
    return made


def number(connection: Connection) -> int:
    """How many schedules there are."""
    return int(connection.execute(select(count()).select_from(SCHEDULE)).scalar() or 0)


def add(connection: Connection, schedule: Schedule) -> None:
    """Keep a new schedule. Raises ScheduleExistsError."""
    if connection.execute(select(SCHEDULE.c.id).where(SCHEDULE.c.id == schedule.id)).first() is not None:
        raise ScheduleExistsError(f"a schedule {schedule.id!r} exists", "change it, or choose another id")
    connection.execute(insert(SCHEDULE).values(**_row(schedule)))


def keep(connection: Connection, schedule: Schedule) -> None:
    """Keep a schedule in place of the one before."""
    connection.execute(update(SCHEDULE).where(SCHEDULE.c.id == schedule.id).values(**_row(schedule)))


def remove(connection: Connection, id: str) -> None:
    """Delete a schedule with its fires."""
    connection.execute(delete(SCHEDULE).where(SCHEDULE.c.id == id))
    connection.execute(delete(SCHEDULE_FIRE).where(SCHEDULE_FIRE.c.schedule == id))


def remove_of(connection: Connection, definition: str) -> Sequence[str]:
    """Delete the schedules of a definition that is deleted; return their ids."""
    ids = connection.execute(select(SCHEDULE.c.id).where(SCHEDULE.c.definition == definition)).scalars().all()
    for id in ids:
        remove(connection, id)
    return ids


def is_decided(connection: Connection, id: str, due: float) -> bool:
    """Whether a time has a fire that is more than ``QUEUED``: it starts nothing any more."""
    chosen = (SCHEDULE_FIRE.c.schedule == id) & (SCHEDULE_FIRE.c.due == due)
    outcome = connection.execute(select(SCHEDULE_FIRE.c.outcome).where(chosen)).scalar()
    return outcome is not None and outcome != FireOutcome.QUEUED.value


def fired(connection: Connection, id: str, fire: Fire, at: float) -> None:
    """Keep a fire. A time has one: a second one for it fails, unless the first was ``QUEUED``. Old fires are
    forgotten."""
    mine = SCHEDULE_FIRE.c.schedule == id
    queued = mine & (SCHEDULE_FIRE.c.due == fire.due) & (SCHEDULE_FIRE.c.outcome == FireOutcome.QUEUED.value)
    connection.execute(delete(SCHEDULE_FIRE).where(queued))
    values = {"due": fire.due, "outcome": fire.outcome.value, "why": fire.why, "run": fire.run}
    connection.execute(insert(SCHEDULE_FIRE).values(schedule=id, at=at, **values))
    newest = select(SCHEDULE_FIRE.c.due).where(mine).order_by(desc(SCHEDULE_FIRE.c.due))
    oldest = connection.execute(newest.offset(FIRES_KEPT).limit(1)).scalar()
    if oldest is not None:
        connection.execute(delete(SCHEDULE_FIRE).where(mine & (SCHEDULE_FIRE.c.due <= oldest)))


def fires(connection: Connection, id: str, *, before: float | None = None, limit: int = 200) -> Sequence[StoredFire]:
    """The fires of a schedule, newest first; ``before``: the time where the last page ended."""
    query = select(SCHEDULE_FIRE).where(SCHEDULE_FIRE.c.schedule == id)
    if before is not None:
        query = query.where(SCHEDULE_FIRE.c.due < before)
    rows = connection.execute(query.order_by(desc(SCHEDULE_FIRE.c.due)).limit(limit)).mappings()
    return [_fire(row) for row in rows]


def _fire(row: Mapping[Any, Any]) -> StoredFire:
    return StoredFire(Fire(row["due"], FireOutcome(row["outcome"]), row["why"], row["run"]), row["at"])


def _row(schedule: Schedule) -> dict[str, Any]:
    terms = {name: getattr(schedule.terms, name) for name in ScheduleTerms.__slots__}
    own = {name: getattr(schedule, name) for name in Schedule.__slots__ if name not in ("terms", "options")}
    options = options_text(schedule.options)
    return {**own, **terms, "options": options, "paused": int(schedule.paused)}


def _schedule(row: Mapping[Any, Any]) -> Schedule:
    terms = {name: row[name] for name in ScheduleTerms.__slots__}
    terms |= {"overlap": Overlap(row["overlap"]), "missed": Missed(row["missed"])}
    own = {name: row[name] for name in Schedule.__slots__ if name not in ("terms", "options", "paused")}
    return Schedule(**own, terms=ScheduleTerms(**terms), options=options_of(row["options"]), paused=bool(row["paused"]))
