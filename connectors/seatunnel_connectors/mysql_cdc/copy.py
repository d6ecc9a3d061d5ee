"""Copies the rows of tables before the log: tables are divided and read as by Jdbc, after a mark in the log.

A snapshot cannot be shared by several connections of MySQL or MariaDB, so each query of a copy shows another moment.
All of them are later than the mark, which is taken before the first one, and the log is read from the mark. The log
holds every change since the mark, in order, each with the whole row. A row without a change was the same for every
query. Of a row with changes, the last one decides, whichever version a query has shown, and also if it has shown none.
So every sink that writes by key ends with the rows of the source, and passes through older states of them until the log
has passed the end of the copy. A sink that only appends keeps both the copied row and its changes since the mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_connectors.copied_rows import as_copied
from seatunnel_connectors.jdbc.mysql.connection.session import explained, literal, quote, sessions
from seatunnel_connectors.jdbc.source.source import JdbcEnumerator, JdbcReader, JdbcSource, hints_of
from seatunnel_connectors.mysql_cdc.log_places import mark_before_copy
from seatunnel_connectors.mysql_cdc.log_split import definition_of, definition_plain
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.schema.definitions import TableDefinition
from seatunnel_connectors.mysql_cdc.schema.from_catalog import at_place
from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    Element,
    Enumerator,
    Heartbeat,
    Plain,
    Position,
    ReadContext,
    Reader,
    Rejected,
    SourceTable,
    Split,
)

LOG_MARK = "log_mark"
"""The place of the log before a split was read, in its payload."""
_DEFINITION = "definition"
"""The definition of the table at that place, in the payload of its first split."""


@dataclass(frozen=True, slots=True)
class BinlogCopySource(JdbcSource):
    """The rows of tables after a mark in the log."""

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return BinlogCopyEnumerator(self, tables)

    def reader(self, table: SourceTable) -> Reader:
        return BinlogCopyReader(self.address, table)


class BinlogCopyEnumerator(JdbcEnumerator):
    """Divides tables, and gives each split the mark: the log is read under the definition at that place (F-C51)."""

    def discover(self) -> Iterable[Split]:
        if not self.tables:
            return ()
        address = self.source.address
        names = [(one.schema.path.database, one.schema.path.table) for one in self.tables]
        with explained(f"looking up the place of a copy in the log of {address.display}"), sessions(address) as session:
            place, definitions = at_place(session, names, lambda: mark_before_copy(session, names))
        mark, found = place.to_plain(), []
        left = dict(definitions)
        for split in super().discover():
            definition = left.pop((split.table.database, split.table.table), None)
            more: dict[str, Plain] = {} if definition is None else {_DEFINITION: definition_plain(definition)}
            found.append(replace(split, payload={**split.payload, LOG_MARK: mark, **more}))
        return found


class BinlogCopyReader(JdbcReader):
    """Reads a range again up to the key where it ended, not up to its number of rows, which may have changed."""

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        return as_copied(self._read(split, start, context), context)

    def _read(self, split: Split, start: Position | None, context: ReadContext) -> Iterator[Element]:
        if context.until is None:
            yield from super().read(split, start, context)
            return
        hints = hints_of(self.table)
        where = f"{quote(hints.key)} <= {literal(str(context.until.value['after']))}"
        where = f"({hints.where}\n) AND {where}" if hints.where else where
        bounded = replace(self.table, hints=replace(hints, where=where).to_plain())
        yield from _as_one(JdbcReader(self.address, bounded).read(split, start, context), context.until)


def _as_one(elements: Iterable[Element], until: Position) -> Iterator[Element]:
    """All rows in one batch that ends there: batches in between could be cut by the number of rows."""
    found: list[Batch] = []
    for element in elements:
        if isinstance(element, Batch):
            found.append(element)
        elif isinstance(element, Rejected):
            yield replace(element, end=None)
    if found:
        import pyarrow as pa

        yield replace(found[0], data=pa.concat_batches([one.data for one in found]), end=until)
    else:
        yield Heartbeat(until)


def definition_at_mark(splits: Sequence[Split]) -> TableDefinition | None:
    """The definition of the table at the mark of its copy; None: the copy is one of an earlier release."""
    found: list[Any] = [split.payload[_DEFINITION] for split in splits if _DEFINITION in split.payload]
    return definition_of(found[0]) if found else None


def mark_of(split: Split) -> BinlogPosition:
    """The mark before a split's rows were read."""
    mark = split.payload[LOG_MARK]
    assert isinstance(mark, dict), "a mark is a position of the log"
    return BinlogPosition.of(mark)
