"""A simulated database: its log, in which each row belongs to a table, and what its server still keeps of it.

Rules. (1) A place is the number of a row of the log. The log grows with time, and ends at last. (2) A table changes its
schema at some places: rows from there on have the next version. (3) What lies before the confirmed place is gone. A
reader that asks for it again shows that it was confirmed too early (I40).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.simulation.choices import Stream
from tests.simulation.violation import expect

NAMES = ("a", "b", "c", "d")
ROWS = (12, 60)
SECONDS = (1.0, 8.0)
"""The time in which the log is written."""
CHANGES_MAX = 2


@dataclass(frozen=True)
class History:
    """``owners``: the table of each row; ``changes``: by table, the places of its changes; ``seconds``: until all is
    written."""

    owners: tuple[str, ...]
    changes: Mapping[str, tuple[int, ...]]
    seconds: float

    def end(self, now: float) -> int:
        """The place after the last row that is written."""
        return min(len(self.owners), int(len(self.owners) * now / self.seconds))

    def places(self, table: str, stop: int | None = None) -> list[int]:
        """The rows of a table, up to a place."""
        return [place for place, owner in enumerate(self.owners[:stop]) if owner == table]

    def version(self, table: str, place: int) -> int:
        """That of rows from this place on."""
        return sum(change <= place for change in self.changes[table])

    def next_change(self, table: str, version: int) -> int | None:
        """The place at which the version ends; None: never."""
        changes = self.changes[table]
        return changes[version] if version < len(changes) else None


def drawn(stream: Stream) -> History:
    """A history that the choices decide."""
    names = NAMES[: stream.between(1, len(NAMES))]
    owners = tuple(stream.pick(names) for _ in range(stream.between(*ROWS)))
    changes = {
        name: tuple(sorted({stream.between(1, len(owners)) for _ in range(stream.between(0, CHANGES_MAX))}))
        for name in names
    }
    return History(owners, changes, SECONDS[0] + stream.draw() * (SECONDS[1] - SECONDS[0]))


@dataclass
class Database:
    """``forgotten``: the server keeps the log from here on; ``began``: where the newest driver goes on with it, and
    up to where its journal may repeat it; ``read``: how far any driver has read it."""

    history: History
    now: Callable[[], float]
    forgotten: int = 0
    began: int = 0
    read: int = 0

    @property
    def end(self) -> int:
        return self.history.end(self.now())

    def confirm(self, place: int) -> None:
        self.forgotten = max(self.forgotten, place)

    def asked(self, who: object, start: int) -> None:
        """A unit whose result may count reads from there."""
        kept = self.forgotten
        expect(start >= kept, "ConfirmedIsDurable", f"{who} reads the log from {start}, confirmed up to {kept}")
