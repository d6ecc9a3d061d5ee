"""Tables whose rows count only from a place of the log: what is before it has reached the target by their copy.

Before its place a table is as good as not captured: its statements change no definition that is needed later, and its
rows are passed over without being decoded, under whatever definition they were written.
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
    """``definitions`` are those at each table's own start, which lies between two transactions."""

    starts: Mapping[Name, BinlogPosition]
    definitions: Mapping[Name, TableDefinition]
    waiting: set[Name] = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = set(self.starts)

    def captured(self, name: Name) -> bool:
        """Whether the table's rows count at the present place."""
        return name in self.starts and name not in self.waiting

    def reach(self, file: int, offset: int, history: TableHistory) -> bool:
        """Begin the tables that count in a transaction that starts there; whether there is one."""
        begun = [name for name in self.waiting if self.starts[name].place <= (file, offset, 0)]
        for name in begun:
            self.waiting.discard(name)
            if name in self.definitions:
                history.begin(self.definitions[name])
        return bool(begun)
