"""Drops the slot and the publication of a job that has ended: a slot keeps the log at the server.

Only what the job has made is dropped. Names that the job chose are its own. A name of the job file belongs to it if its
splits name it as created by one of its drivers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained, quote
from seatunnel_connectors.postgres_cdc.replication.slots import drop_slot, find_slot, take_over
from seatunnel_py.api import Leftover

SLOT, PUBLICATION = "slot", "publication"
_NOT_MADE = "the job has not made it, or no state of the job says so: {} drops it"


@dataclass(frozen=True, slots=True)
class Leftovers:
    """``made``: SLOT and PUBLICATION, where the job has made them."""

    slot: str
    publication: str
    made: Collection[str]

    def found(self, db: Statements) -> Iterator[Leftover]:
        """Find the leftovers that exist now."""
        if (slot := find_slot(db, self.slot)) is not None:
            statement = f"SELECT pg_drop_replication_slot('{self.slot}')"
            yield Leftover(f"the replication slot {self.slot!r}", self._kept(SLOT, statement), slot.retained)
        what = f"the publication {self.publication!r}"
        with explained(f"looking at {what}"):
            exists = db.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", [self.publication]).fetchone()
        if exists is not None:
            yield Leftover(what, self._kept(PUBLICATION, f"DROP PUBLICATION {quote(self.publication)}"))

    def drop(self, db: Statements, seconds: float) -> None:
        """Drop those that the job has made. The process of a dead driver that holds the slot is ended, within this
        time."""
        if SLOT in self.made:
            take_over(db, self.slot, seconds)
            drop_slot(db, self.slot)
        if PUBLICATION in self.made:
            with explained(f"dropping the publication {self.publication!r}"):
                db.execute(f"DROP PUBLICATION IF EXISTS {quote(self.publication)}".encode())

    def _kept(self, kind: str, statement: str) -> str:
        return "" if kind in self.made else _NOT_MADE.format(statement)
