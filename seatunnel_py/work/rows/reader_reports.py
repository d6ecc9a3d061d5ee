"""Collects the reports of a reader that are not rows: messages to its enumerator, tables that stop, and tables whose
schema changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from seatunnel_py.api.batch import Element, Plain, ReaderEvent, SchemaChange, TableStopped, TableTruncated
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import SourceTable
from seatunnel_py.errors import FatalError
from seatunnel_py.work.chain import Chain, ChainSource
from seatunnel_py.work.failing_code import MEND
from seatunnel_py.work.plain_schema import table_plain
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import Slice, Unit, stopped_slice


@dataclass(slots=True)
class ReaderReports:
    """The reports of one unit. ``events`` pairs each message with the split's id; ``tables`` are those with rows in the
    unit; ``cut``: the unit ends before a report, which the next one begins with."""

    unit: Unit
    chain: Chain
    events: list[tuple[str, Plain]] = field(default_factory=list)
    stopped: list[Slice] = field(default_factory=list)
    altered: list[SchemaAlteration] = field(default_factory=list)
    tables: set[TablePath] = field(default_factory=set)
    cut: bool = False

    def cuts(self, element: Element) -> bool:
        """Whether the unit ends before this element: a table stops of which the unit has rows. A repeated unit ends
        where it did."""
        self.cut = isinstance(element, TableStopped) and self.unit.until is None and element.table in self.tables
        return self.cut

    def take(self, element: ReaderEvent | TableStopped | SchemaChange | TableTruncated) -> None:
        """Take one report."""
        match element:
            case ReaderEvent():
                assert self.unit.split is not None, "only readers of splits have enumerators"
                self.events.append((self.unit.split.id, element.event))
            case TableStopped(table, message, remedy):
                if self.chain.output is None:
                    raise FatalError(message, remedy)
                self.stopped.append(stopped_slice(self.chain.output.channel, table, message, remedy))
            case SchemaChange() | TableTruncated():
                self._alter(element)

    def _alter(self, change: SchemaChange | TableTruncated) -> None:
        head = self.chain.head
        tables = head.log_tables if isinstance(head, ChainSource) else ()
        if not tables:
            raise FatalError(
                f"table {change.table} changed while it was read"
                + (f": {change.statement}" if change.statement else ""),
                "run the job again: the new schema is looked up when a job starts",
            )
        known = next((one for one in tables if one.schema.path == change.table), None)
        if known is not None and isinstance(change, TableTruncated):
            self.altered.append(SchemaAlteration.truncating(known, change))
            return
        alteration = SchemaAlteration.of(change) if isinstance(change, SchemaChange) else None
        if alteration is None or known is None or alteration.path != change.table or _alike(alteration, tables):
            raise FatalError(
                f"the reader of {change.table} reports a change of a table that is not read, or to the schema that it "
                "has",
                MEND,
            )
        self.altered.append(alteration)


def _alike(alteration: SchemaAlteration, tables: Iterable[SourceTable]) -> bool:
    """Whether the table is read under this schema already: the unit would meet the same change again, forever."""
    return any(table_plain(replace(one, projection=None)) == table_plain(alteration.table) for one in tables)
