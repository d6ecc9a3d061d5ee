"""Decodes row events of one table, under one definition, into an Arrow batch with row kinds.

Events of the same present columns are decoded together, whatever they do: an update is two images of the same form.
Rows come out in the order of the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.read.cells import CellBlock, Ints, RowCells
from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError, DefinitionMismatchError
from seatunnel_connectors.mysql_cdc.log.event_types import RowsKind
from seatunnel_connectors.mysql_cdc.log.events import RowsEvent
from seatunnel_connectors.mysql_cdc.log.table_map import TableMap
from seatunnel_connectors.mysql_cdc.rows.column_reader import column_reader
from seatunnel_connectors.mysql_cdc.rows.image_layout import ImageLayout, image_starts
from seatunnel_connectors.mysql_cdc.rows.partial_json import PartialImages, partial_images
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions, TableDefinition
from seatunnel_py.api import RowKind

_FIRST_KIND = {RowsKind.WRITE: RowKind.INSERT, RowsKind.UPDATE: RowKind.UPDATE_BEFORE, RowsKind.DELETE: RowKind.DELETE}
_ORDER_SHIFT = 32


@dataclass(frozen=True, slots=True)
class RowMisfit:
    """A cell of a batch whose value has no counterpart: the cell is null, and its row must be set aside."""

    row: int
    column: str
    value: str

    @property
    def reason(self) -> str:
        return f"column {self.column!r} holds {self.value}"


@dataclass(frozen=True, slots=True)
class RowImages:
    """Rows in the order of the log. ``kinds`` holds a RowKind for each; ``absent`` marks cells that the log does not
    hold, None if it holds all; ``events`` counts the rows of each event that was decoded."""

    data: pa.RecordBatch
    kinds: pa.UInt8Array
    absent: pa.RecordBatch | None
    misfits: tuple[RowMisfit, ...]
    events: tuple[int, ...]


@dataclass(slots=True)
class _DecodedPart:
    """The decoded images of one form. ``order`` sorts the rows of all parts; an array is None if it is absent."""

    order: Ints
    kinds: Ints
    arrays: list[pa.Array | None]
    misfits: list[tuple[int, int, str]]


class TableDecoder:
    """Bound to a table map and to the definition that was valid then."""

    def __init__(self, table_map: TableMap, definition: TableDefinition, options: DecodeOptions | None = None) -> None:
        self.table_map = table_map
        self.definition = definition
        self._name = f"{table_map.database}.{table_map.table}"
        self._check()
        chosen = options or DecodeOptions()
        self._readers = [
            column_reader(storage, column, chosen, self._name)
            for storage, column in zip(table_map.columns, definition.columns, strict=True)
        ]
        self.schema = pa.schema([pa.field(one.name, one.kind) for one in self._readers])
        self._layouts: dict[bytes, ImageLayout] = {}

    def _check(self) -> None:
        remedy = "the table was altered: its definition at this position of the log is needed"
        held, declared = len(self.table_map.columns), len(self.definition.columns)
        if held != declared:
            raise DefinitionMismatchError(
                f"table {self._name} has {declared} columns by its definition, and {held} in the log", remedy
            )
        names = self.table_map.metadata.names
        for name, column in zip(names, self.definition.columns, strict=bool(names)):
            if name.lower() != column.name.lower():
                raise DefinitionMismatchError(
                    f"table {self._name} has a column {column.name!r} by its definition, and {name!r} in its place in "
                    "the log", remedy,
                )  # fmt: skip

    def decode(self, events: Sequence[RowsEvent], *, before: bool = True) -> RowImages:
        """The rows of events. ``before = False`` drops the images before updates."""
        groups: dict[tuple[tuple[bytes, ...], bool], list[int]] = {}
        for number, event in enumerate(events):
            if event.column_count != len(self._readers):
                raise BinlogFormatError(
                    f"a rows event of table {self._name} has {event.column_count} columns, and its table map "
                    f"{len(self._readers)}"
                )
            pair = event.form.kind is RowsKind.UPDATE and event.present != event.present_after
            both = (event.present, event.present_after)
            turns: tuple[bytes, ...] = both if pair or event.form.partial else (event.present,)
            groups.setdefault((turns, event.form.partial), []).append(number)
        parts: list[_DecodedPart] = []
        counts = np.zeros(len(events), np.int64)
        for (turns, partial), numbers in groups.items():
            parts += self._group(events, numbers, turns, counts, partial=partial, before=before)
        return self._merged(parts, counts)

    # ------------------------------------------------------------ events of one form

    def _layout(self, present: bytes) -> ImageLayout:
        if present not in self._layouts:
            self._layouts[present] = ImageLayout(self.table_map.columns, present)
        return self._layouts[present]

    def _group(
        self, events: Sequence[RowsEvent], numbers: list[int], turns: tuple[bytes, ...], counts: Ints, *, partial: bool,
        before: bool,
    ) -> list[_DecodedPart]:  # fmt: skip
        bodies = [events[number].body for number in numbers]
        block = CellBlock(bodies)
        lengths = np.array([len(one) for one in bodies], np.int64)
        ends = np.cumsum(lengths)
        layouts = [self._layout(one) for one in turns]
        what = f"a rows event of table {self._name}"
        images: PartialImages | None = None
        if partial:
            images = partial_images(block, ends - lengths, ends, layouts, what)
            starts, images_of = images.starts, images.counts
        else:
            starts, images_of = image_starts(block, ends - lengths, ends, layouts, what)
        places = np.array(numbers, np.int64)
        counts[places] = images_of
        ordinal = np.arange(len(starts)) - np.repeat(np.cumsum(images_of) - images_of, images_of)
        order = np.repeat(places << _ORDER_SHIFT, images_of) + ordinal
        kinds = self._kinds(events, places, images_of, ordinal, what)
        if not before:
            counts[places] -= np.bincount(
                np.repeat(np.arange(len(places)), images_of)[kinds == RowKind.UPDATE_BEFORE], minlength=len(places)
            )
        if len(layouts) == 1:
            keep = slice(None) if before else kinds != RowKind.UPDATE_BEFORE
            return [self._part(layouts[0].cells(block, starts[keep]), layouts[0], order[keep], kinds[keep])]
        first = self._part(layouts[0].cells(block, starts[0::2]), layouts[0], order[0::2], kinds[0::2])
        cells = layouts[1].cells(block, starts[1::2])
        second = self._part(cells, layouts[1], order[1::2], kinds[1::2], images, first)
        return [first, second] if before else [second]

    @staticmethod
    def _kinds(events: Sequence[RowsEvent], places: Ints, images_of: Ints, ordinal: Ints, what: str) -> Ints:
        kinds = np.array([events[number].form.kind for number in places.tolist()], np.int64)
        updates = kinds == RowsKind.UPDATE
        if (images_of[updates] % 2).any():
            raise BinlogFormatError(f"{what} has an update without its second image")
        firsts = np.array([_FIRST_KIND[RowsKind(one)] for one in kinds.tolist()], np.int64)
        found = np.repeat(firsts, images_of)
        if updates.any():
            found = found + np.where(np.repeat(updates, images_of), ordinal & 1, 0)
        return found

    def _part(
        self, cells: list[RowCells], layout: ImageLayout, order: Ints, kinds: Ints, images: PartialImages | None = None,
        first: _DecodedPart | None = None,
    ) -> _DecodedPart:  # fmt: skip
        """``first``: the images before: a column that only they hold has not changed."""
        arrays: list[pa.Array | None] = [None] * len(self._readers)
        misfits: list[tuple[int, int, str]] = []
        if first is not None:
            arrays = list(first.arrays)
            misfits = [one for one in first.misfits if one[1] not in layout.columns]
        for column, found in zip(layout.columns, cells, strict=True):
            if images is not None and images.has(column):
                before = first.arrays[column] if first is not None else None
                arrays[column] = images.documents(column, found, before)
                continue
            built = self._readers[column].build(found)
            arrays[column] = built.array
            misfits += [(row, column, text) for row, text in built.misfits]
        return _DecodedPart(order, kinds, arrays, misfits)

    # ------------------------------------------------------------ all of them

    def _merged(self, parts: list[_DecodedPart], counts: Ints) -> RowImages:
        if not parts:
            empty = pa.RecordBatch.from_pylist([], schema=self.schema)
            return RowImages(empty, pa.array([], pa.uint8()), None, (), tuple(counts.tolist()))
        order = np.concatenate([one.order for one in parts])
        kinds = np.concatenate([one.kinds for one in parts]).astype(np.uint8)
        arrays = [self._column(parts, number) for number in range(len(self._readers))]
        absent = self._absent(parts)
        places = np.arange(len(order))
        if len(parts) > 1:
            sorting = np.argsort(order, kind="stable")
            places = np.empty(len(order), np.int64)
            places[sorting] = np.arange(len(order))
            kinds = kinds[sorting]
            taken = pa.array(sorting)
            arrays = [one.take(taken) for one in arrays]
            absent = absent.take(taken) if absent is not None else None
        misfits = []
        base = 0
        for part in parts:
            misfits += [
                RowMisfit(int(places[base + row]), self._readers[column].name, text)
                for row, column, text in part.misfits
            ]
            base += len(part.order)
        misfits.sort(key=lambda one: one.row)
        data = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return RowImages(data, pa.array(kinds), absent, tuple(misfits), tuple(counts.tolist()))

    def _column(self, parts: list[_DecodedPart], number: int) -> pa.Array:
        kind = self._readers[number].kind
        found = [pa.nulls(len(part.order), kind) if (one := part.arrays[number]) is None else one for part in parts]
        return found[0] if len(found) == 1 else pa.concat_arrays(found)

    def _absent(self, parts: list[_DecodedPart]) -> pa.RecordBatch | None:
        if all(one is not None for part in parts for one in part.arrays):
            return None
        arrays = [
            pa.array(np.concatenate([np.full(len(part.order), part.arrays[number] is None) for part in parts]))
            for number in range(len(self._readers))
        ]
        return pa.RecordBatch.from_arrays(arrays, names=self.schema.names)
