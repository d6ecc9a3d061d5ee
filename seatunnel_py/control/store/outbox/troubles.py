"""Troubles: a definition, or a job that was started by hand, whose newest run has failed and has not recovered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from seatunnel_py.control.store.tables import TROUBLE


@dataclass(frozen=True, slots=True)
class Trouble:
    """``event``: the first one of the trouble; ``run``, ``driver``: that have failed last, at this ``position``;
    ``reported``: by kind of event, its last time, a digest of its
    cause, and how many equal ones were folded since."""

    subject: str
    event: str
    run: str
    driver: str
    position: str
    at: float
    reported: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def of_subject(connection: Connection, subject: str) -> Trouble | None:
    """The open trouble of a subject."""
    row = connection.execute(select(TROUBLE).where(TROUBLE.c.subject == subject)).mappings().first()
    return None if row is None else _trouble(row)


def every(connection: Connection) -> Sequence[Trouble]:
    """All open troubles."""
    return [_trouble(row) for row in connection.execute(select(TROUBLE)).mappings()]


def keep(connection: Connection, trouble: Trouble) -> None:
    """Keep a trouble in place of the one before."""
    close(connection, trouble.subject)
    values = {name: getattr(trouble, name) for name in Trouble.__slots__}
    connection.execute(insert(TROUBLE).values(**{**values, "reported": json.dumps(trouble.reported)}))


def close(connection: Connection, subject: str) -> None:
    """The subject has recovered."""
    connection.execute(delete(TROUBLE).where(TROUBLE.c.subject == subject))


def forget_old(connection: Connection, before: float) -> None:
    """Forget troubles that began before this time."""
    connection.execute(delete(TROUBLE).where(TROUBLE.c.at < before))


def _trouble(row: Mapping[Any, Any]) -> Trouble:
    values = {name: row[name] for name in Trouble.__slots__}
    return Trouble(**{**values, "reported": json.loads(row["reported"])})
