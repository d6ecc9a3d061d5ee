"""The audit: one row for each act, refused ones included. Rows are only added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from sqlalchemy import Connection, desc, insert, select

from seatunnel_py.control.store.tables import AUDIT

DONE = "done"
SUPERVISOR = "supervisor"
"""The actor of what the server does by itself."""


@dataclass(frozen=True, slots=True)
class Act:
    """An act of ``actor`` (the id of a token, or ``SUPERVISOR``) from ``address`` on ``object`` (a definition, run or
    token). ``act``: as in ``run.start``. ``digest``: of the job file; ``announced``: digest of the announced changes;
    ``request``: id of the request."""

    actor: str
    act: str
    object: str = ""
    address: str = ""
    revision: int | None = None
    digest: str = ""
    announced: str = ""
    result: str = DONE
    request: str = ""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An act with its number and time."""

    id: int
    at: float
    act: Act


def record(connection: Connection, act: Act, at: float) -> None:
    """Add a row, in the transaction of the act."""
    connection.execute(insert(AUDIT).values(at=at, **asdict(act)))


def rows(
    connection: Connection,
    *,
    before: int | None = None,
    limit: int = 200,
    actor: str = "",
    act: str = "",
    object: str = "",
    since: float | None = None,
) -> Sequence[AuditRow]:
    """Rows, newest first; ``before``: the id where the last page ended; the other arguments choose rows."""
    query = select(AUDIT).order_by(desc(AUDIT.c.id)).limit(limit)
    if before is not None:
        query = query.where(AUDIT.c.id < before)
    if since is not None:
        query = query.where(AUDIT.c.at >= since)
    for column, wanted in ((AUDIT.c.actor, actor), (AUDIT.c.act, act), (AUDIT.c.object, object)):
        if wanted:
            query = query.where(column == wanted)
    names = [field.name for field in fields(Act)]
    found = connection.execute(query).mappings()
    return [AuditRow(row["id"], row["at"], Act(**{name: row[name] for name in names})) for row in found]
