"""Collects rows events of captured tables, and decodes them a table at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.events import RowsEvent
from seatunnel_connectors.mysql_cdc.log.table_map import TableMap
from seatunnel_connectors.mysql_cdc.reading.changes import TableBlock
from seatunnel_connectors.mysql_cdc.reading.row_places import EventPlace, metadata_of
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions, TableDefinition
from seatunnel_connectors.mysql_cdc.schema.history import TableChange, TableHistory

if TYPE_CHECKING:
    from seatunnel_connectors.mysql_cdc.rows.table_decoder import RowImages, TableDecoder

_FIRST_BYTES, _BLOCK_BYTES = 1 << 20, 8 << 20
"""The first block is small, so that its rows are soon on their way; each block may have twice the bytes of the last."""
_BLOCK_EVENTS = 20_000
_DUMMY_ID = 0xFFFFFF
"""The table's number in an event without rows that only ends a statement."""


@dataclass(slots=True)
class _Open:
    """A captured table of the current file, and its events that wait, with their places if these are wanted. ``skip``
    rows of the first one are known."""

    name: Name
    definition: TableDefinition
    decoder: TableDecoder
    version: int
    events: list[RowsEvent] = field(default_factory=list)
    places: list[EventPlace] = field(default_factory=list)
    skip: int = 0


class RowsCollector:
    """State: the tables of the current file by their numbers, and the events that wait to be decoded."""

    def __init__(
        self, history: TableHistory, options: DecodeOptions, *, before: bool, metadata: frozenset[str]
    ) -> None:
        self._history = history
        self._options = options
        self._before = before
        self._metadata = metadata
        self._by_id: dict[int, tuple[TableMap, _Open | None]] = {}
        self._open: dict[Name, list[_Open]] = {}
        self._bytes = 0
        self._events = 0
        self._block_bytes = _FIRST_BYTES

    @property
    def full(self) -> bool:
        return self._bytes >= self._block_bytes or self._events >= _BLOCK_EVENTS

    def new_file(self) -> None:
        """Numbers of tables are those of one file (F-C31). Rows that wait keep their decoders."""
        self._by_id.clear()

    def forget(self) -> None:
        """Definitions have changed: decoders are made again."""
        self._by_id.clear()
        self._open.clear()

    def forget_table(self, name: Name) -> None:
        """One table has another definition, or is captured no more."""
        self._open.pop(name, None)
        self._by_id = {number: one for number, one in self._by_id.items() if (one[0].database, one[0].table) != name}

    def knows(self, event: TableMap) -> bool:
        """True if the table is open under this very map."""
        known = self._by_id.get(event.table_id)
        return known is not None and known[0] is event

    def change_of(self, event: TableMap) -> TableChange | None:
        """The change of a table that only the log's metadata shows, of a definition that was not known."""
        name = (event.database, event.table)
        if self.knows(event) or not self._history.captured(name):
            return None
        return self._history.definition(event)[1]

    def table_map(self, event: TableMap) -> None:
        """Open a table for the rows after it."""
        if self.knows(event):
            return
        name = (event.database, event.table)
        opened = None
        if self._history.captured(name):
            opened = self._opened(name, event, self._history.definition(event)[0])
        self._by_id[event.table_id] = (event, opened)

    def _opened(self, name: Name, event: TableMap, definition: TableDefinition) -> _Open:
        from seatunnel_connectors.mysql_cdc.rows.table_decoder import TableDecoder

        waiting = self._open.setdefault(name, [])
        for one in waiting:
            if _same(one.decoder.table_map, event) and one.definition is definition:
                # The newest one only: rows of an older one come before.
                if one is waiting[-1]:
                    return one
                break
        found = _Open(name, definition, TableDecoder(event, definition, self._options), self._history.version_of(name))
        waiting.append(found)
        return found

    def table_of(self, event: RowsEvent) -> Name | None:
        """The table that an event belongs to; None: its number is not known."""
        known = self._by_id.get(event.table_id)
        return None if known is None else (known[0].database, known[0].table)

    def add(self, event: RowsEvent, skip: int, place: EventPlace | None = None) -> int:
        """Take an event; 1 if it belongs to a captured table. ``place``: given for all, or for none."""
        known = self._by_id.get(event.table_id)
        if known is None:
            if event.table_id == _DUMMY_ID and not len(event.body):
                return 0
            raise BinlogFormatError(f"a rows event belongs to table number {event.table_id}, which has no table map")
        opened = known[1]
        if opened is None:
            return 0
        if skip:
            opened.skip = skip
        opened.events.append(event)
        if place is not None:
            opened.places.append(place)
        self._bytes += len(event.body)
        self._events += 1
        return 1

    def take(self) -> tuple[TableBlock, ...]:
        """All rows that wait, decoded."""
        if not self._events:
            return ()
        found = [self._decoded(one) for waiting in self._open.values() for one in waiting if one.events]
        for name, waiting in self._open.items():
            self._open[name] = waiting[-1:]
        self._bytes = self._events = 0
        self._block_bytes = min(2 * self._block_bytes, _BLOCK_BYTES)
        return tuple(one for one in found if one.rows.data.num_rows)

    def _decoded(self, opened: _Open) -> TableBlock:
        events, opened.events = opened.events, []
        places, opened.places = opened.places, []
        skip, opened.skip = opened.skip, 0
        rows = opened.decoder.decode(events, before=self._before)
        counts = list(rows.events)
        if skip:
            rows, counts = _without(rows, skip, counts)
        metadata = metadata_of(self._metadata, events, places, counts, skip) if places else {}
        return TableBlock(opened.name, opened.definition, opened.version, rows, metadata)


def _same(one: TableMap, other: TableMap) -> bool:
    return one is other or (one.columns == other.columns and one.metadata == other.metadata)


def _without(rows: RowImages, skip: int, counts: Sequence[int]) -> tuple[RowImages, list[int]]:
    """The rows after those that were taken before."""
    if skip > counts[0]:
        raise BinlogFormatError(f"the position lies {skip} rows inside of an event of {counts[0]} rows")
    left = replace(
        rows, data=rows.data.slice(skip), kinds=rows.kinds.slice(skip),
        absent=None if rows.absent is None else rows.absent.slice(skip),
        misfits=tuple(replace(one, row=one.row - skip) for one in rows.misfits if one.row >= skip),
    )  # fmt: skip
    return left, [counts[0] - skip, *counts[1:]]
