"""The state of each target of the outbox: failures in a row, the next attempt, and whether it is switched off."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from seatunnel_py.control.store.tables import OUTBOX_TARGET


@dataclass(frozen=True, slots=True)
class OutboxTarget:
    """``failures``: attempts in a row that have failed; ``next_at``: when the next one is due, None: at once;
    ``code``, ``error``: of the newest attempt; ``disabled``: why nothing is sent any more, empty: it is."""

    name: str
    failures: int = 0
    failing_since: float | None = None
    next_at: float | None = None
    tried_at: float | None = None
    sent_at: float | None = None
    code: int | None = None
    error: str = ""
    disabled: str = ""

    @property
    def standing(self) -> str:
        """The state of the target, in one word."""
        if self.disabled:
            return "disabled"
        if self.failures:
            return "failing"
        return "works" if self.sent_at is not None else "unused"


def every(connection: Connection) -> Mapping[str, OutboxTarget]:
    """All states by the names of their targets; a target without one has had no attempt."""
    found = connection.execute(select(OUTBOX_TARGET)).mappings()
    return {row["name"]: OutboxTarget(**row) for row in found}


def of_target(connection: Connection, name: str) -> OutboxTarget:
    """The state of a target."""
    row = connection.execute(select(OUTBOX_TARGET).where(OUTBOX_TARGET.c.name == name)).mappings().first()
    return OutboxTarget(name) if row is None else OutboxTarget(**row)


def keep(connection: Connection, state: OutboxTarget) -> None:
    """Keep a state in place of the one before."""
    connection.execute(delete(OUTBOX_TARGET).where(OUTBOX_TARGET.c.name == state.name))
    values = {name: getattr(state, name) for name in OutboxTarget.__slots__}
    connection.execute(insert(OUTBOX_TARGET).values(**values))


def forget_others(connection: Connection, names: Collection[str]) -> None:
    """Forget the states of all other targets than these."""
    connection.execute(delete(OUTBOX_TARGET).where(OUTBOX_TARGET.c.name.not_in(names)))
