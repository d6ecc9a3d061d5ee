"""Tables whose rows count only from a place of the log: what is before it has reached the target, by their copy or
before the log went back for another table.

Before its place a table is as good as not captured: its statements change no definition that is needed later, and its
rows are passed over without being decoded, under whatever definition they were written. A place may lie inside of a
transaction: the table begins with that transaction, and those of its rows are passed over that were given before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.definitions import TableDefinition
from seatunnel_connectors.mysql_cdc.schema.history import TableHistory


@dataclass(slots=True)
class TableStarts:
    """``definitions`` are those at each table's own start; no definition changes inside of a transaction. ``divided``:
    the tables whose place lies inside of the present transaction."""

    starts: Mapping[Name, BinlogPosition]
    definitions: Mapping[Name, TableDefinition]
    waiting: set[Name] = field(init=False)
    divided: set[Name] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.waiting = set(self.starts)

    def captured(self, name: Name) -> bool:
        """Whether the table's rows count at the present place."""
        return name in self.starts and name not in self.waiting

    def reach(self, file: int, offset: int, history: TableHistory) -> bool:
        """Begin the tables that count in a transaction that starts there; whether there is one."""
        begun = [name for name in self.waiting if self.starts[name].place[:2] <= (file, offset)]
        for name in begun:
            self.waiting.discard(name)
            if name in self.definitions:
                history.begin(self.definitions[name])
        self.divided = {name for name in (*begun, *self.divided) if self._divides(name, file, offset)}
        return bool(begun)

    def given(self, name: Name, events: int) -> int | None:
        """How many rows of an event of the present transaction were given before, by its number from 1; None: all."""
        if name not in self.divided:
            return 0
        start = self.starts[name]
        if events <= start.events:
            return None
        return start.rows if events == start.events + 1 else 0

    def _divides(self, name: Name, file: int, offset: int) -> bool:
        start = self.starts[name]
        return start.place[:2] == (file, offset) and bool(start.events or start.rows)
