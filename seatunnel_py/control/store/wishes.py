"""Wishes: which run of a definition is to be kept running, and how often that has failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from seatunnel_py.control.store.tables import WISH


class RestartPolicy(StrEnum):
    """When a run is restored without being asked. ``ON_FAILURE``: after a failure, a kill, or a start of the machine.
    ``ALWAYS``: also where some tables have failed, and where a shutdown of the machine has stopped it."""

    NEVER = "never"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Wish:
    """``run``: the run to keep, None: none is wished. ``failures``: restarts in a row without a healthy time; ``same``:
    how many of them had this ``cause`` at this ``position``; ``held``: why it is not restarted any more, empty: it
    is."""

    definition: str
    policy: RestartPolicy = RestartPolicy.NEVER
    run: str | None = None
    failures: int = 0
    cause: str = ""
    position: str = ""
    same: int = 0
    held: str = ""


def of_definition(connection: Connection, definition: str) -> Wish:
    """The wish of a definition; without one: never to be restarted."""
    row = connection.execute(select(WISH).where(WISH.c.definition == definition)).mappings().first()
    return Wish(definition) if row is None else _wish(row)


def every(connection: Connection) -> Sequence[Wish]:
    """All wishes."""
    return [_wish(row) for row in connection.execute(select(WISH).order_by(WISH.c.definition)).mappings()]


def keep(connection: Connection, wish: Wish, at: float) -> None:
    """Keep a wish in place of the one before."""
    connection.execute(delete(WISH).where(WISH.c.definition == wish.definition))
    values = {name: getattr(wish, name) for name in Wish.__slots__}
    connection.execute(insert(WISH).values(**{**values, "policy": wish.policy.value}, at=at))


def _wish(row: Mapping[Any, Any]) -> Wish:
    values = {name: row[name] for name in Wish.__slots__}
    return Wish(**{**values, "policy": RestartPolicy(row["policy"])})
