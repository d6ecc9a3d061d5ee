"""Rows with absent cells (``Batch.absent``): each changes the present columns of its key's row, and inserts none.

Rules. (1) Rows of one key apply in their order. ``fold`` gives each row the cells that earlier rows of its key in the
block hold, so that one row for each key remains: a whole one, a deletion, or a partial one, whose other cells are in
the target. (2) If only the target decides whether a row applies (``version_column``, updates that never insert), no row
can be given to the next one: ``one_by_one`` divides the block into rounds, in which a partial row is the only one of
its key. (3) A partial row after a deletion in its block has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc.target.load_decision import PARTIAL
from seatunnel_py.api import Batch, FatalError, RowKind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = "npt.NDArray[np.int64]"
    Marks: TypeAlias = "npt.NDArray[np.bool_]"


@dataclass(frozen=True)
class RowBlock:
    """Rows in order, with a kind and marks of absent cells (rows x columns); ``rounds`` ascends. Only partial rows have
    marks."""

    data: pa.RecordBatch
    kinds: npt.NDArray[np.uint8]
    absent: Marks
    rounds: Numbers

    @property
    def rows(self) -> int:
        return int(self.data.num_rows)

    @property
    def round_count(self) -> int:
        return int(self.rounds[-1]) + 1 if self.rows else 0

    def each_round(self) -> Iterator[RowBlock]:
        import numpy as np

        bounds = np.searchsorted(self.rounds, np.arange(self.round_count + 1))
        for start, end in pairwise(bounds):
            yield self._at(np.arange(start, end))

    def of_kind(self, kind: int) -> RowBlock:
        return self._where(self.kinds == kind)

    def count(self, kind: int) -> int:
        return int((self.kinds == kind).sum())

    def masks(self) -> pa.Array:
        """A mask for each row; null for whole ones."""
        import numpy as np

        rows, columns = self.absent.shape
        texts = (self.absent.astype(np.uint8) + ord("0")).tobytes()
        ends = np.arange(rows + 1, dtype=np.int64) * columns
        masks = pa.LargeStringArray.from_buffers(rows, pa.py_buffer(ends.tobytes()), pa.py_buffer(texts))
        return pc.if_else(pa.array(self.kinds == PARTIAL), masks.cast(pa.string()), pa.scalar(None, pa.string()))

    def _where(self, chosen: Marks) -> RowBlock:
        return self._at(chosen.nonzero()[0])

    def _at(self, places: Numbers) -> RowBlock:
        return RowBlock(self.data.take(pa.array(places)), self.kinds[places], self.absent[places], self.rounds[places])


def absent_cells(batch: Batch, needed: Sequence[int], shown: str) -> pa.RecordBatch | None:
    """The marks of a batch; None: every cell is present. Raises FatalError if a cell of a ``needed`` column is absent:
    the key finds the row, and the version decides whether it applies. Rows before an update are not applied."""
    absent = batch.absent
    if absent is None or not batch.lacks_cells:
        return None
    applied = None if batch.kinds is None else pc.not_equal(batch.kinds, RowKind.UPDATE_BEFORE.value)
    for at in needed:
        marks = absent.column(at)
        if pc.any(marks if applied is None else pc.and_(marks, applied)).as_py():
            name = batch.data.schema.names[at]
            raise FatalError(
                f"table {shown}: the source sent a row without its value of column {name!r}, but the key (and the "
                "version_column) of a row with absent cells decides what it changes",
                f"let the source send {name!r} with every row, or choose other primary_keys (and version_column)",
            )
    return absent


def refuse_absent(batch: Batch, shown: str) -> None:
    """Raise FatalError if cells are absent, for a sink that writes no rows by key."""
    if batch.lacks_cells:
        raise whole_rows_needed(shown)


def whole_rows_needed(shown: str) -> FatalError:
    return FatalError(
        f"{shown}: the source sent rows with absent cells, and this sink needs whole rows: it does not update rows by "
        "key, whose other cells could stay",
        "let the source send whole rows, or write into a table with a key: primary_keys, enable_upsert = true, and no "
        "query",
    )


def cleared(data: pa.RecordBatch, absent: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with a null in each absent cell: its value means nothing, and must not be checked."""
    import numpy as np

    places = np.arange(data.num_rows)
    for at, marks in enumerate(absent.columns):
        if pc.any(marks).as_py():
            present = data.column(at).take(pa.array(places, mask=_flags(marks)))
            data = data.set_column(at, data.schema.field(at).with_nullable(True), present)
    return data


def row_block(data: pa.RecordBatch, kinds: pa.UInt8Array | None, absent: Sequence[pa.Array]) -> RowBlock:
    """Rows without those of kind UPDATE_BEFORE, with marks for each column."""
    import numpy as np

    marks = np.column_stack([_flags(column) for column in absent])
    given = np.zeros(data.num_rows, np.uint8) if kinds is None else np.array(kinds, np.uint8)
    marks[given == RowKind.DELETE.value] = False
    block = RowBlock(
        data, np.where(marks.any(axis=1), PARTIAL, given).astype(np.uint8), marks, np.zeros(data.num_rows, np.int64)
    )
    before = given == RowKind.UPDATE_BEFORE.value
    return block._where(~before) if before.any() else block


@dataclass(frozen=True)
class _Keys:
    """Rows sorted by key. ``order``: their places in the block; ``first``: for each row the first one of its key;
    ``last``: the last row of each key."""

    order: Numbers
    first: Numbers
    last: Numbers


def in_rounds(block: RowBlock, key: Sequence[int], *, versioned: bool, upsert: bool) -> RowBlock:
    """The rows as a target takes them that compares versions, or not, and whose updates insert, or not."""
    return one_by_one(block, key, only_partial=upsert) if versioned or not upsert else fold(block, key)


def fold(block: RowBlock, key: Sequence[int]) -> RowBlock:
    """One row for each key, in the order of its last one."""
    import numpy as np

    if not block.rows:
        return block
    keys = _sorted_by_key(block.data, key)
    places = np.arange(block.rows)
    kinds, absent = block.kinds[keys.order], block.absent[keys.order]
    whole = np.maximum.accumulate(np.where(kinds == PARTIAL, -1, places))[keys.last]
    first = keys.first[keys.last]
    begun = whole >= first  # a whole row or a deletion, to which the following partial rows belong
    lowest = np.where(begun, whole, first)
    columns, marks = [], np.zeros((len(first), absent.shape[1]), np.bool_)
    for at, column in enumerate(block.data.columns):
        found = np.maximum.accumulate(np.where(absent[:, at], -1, places))[keys.last]
        marks[:, at] = found < lowest
        columns.append(column.take(pa.array(keys.order[found], mask=marks[:, at])))
    data = pa.RecordBatch.from_arrays(columns, schema=block.data.schema)
    folded = RowBlock(data, np.where(begun, kinds[whole], PARTIAL).astype(np.uint8), marks, np.zeros_like(first))
    return folded._at(np.argsort(keys.order[keys.last]))


def one_by_one(block: RowBlock, key: Sequence[int], *, only_partial: bool) -> RowBlock:
    """The rows in rounds: of each key the first row in the first round, and so on. ``only_partial``: keys without a
    partial row need no rounds, because the database compares their rows."""
    import numpy as np

    if not block.rows:
        return block
    keys = _sorted_by_key(block.data, key)
    rounds = np.empty(block.rows, np.int64)
    rounds[keys.order] = np.arange(block.rows) - keys.first
    if only_partial:
        partial = np.zeros(block.rows, np.bool_)
        np.logical_or.at(partial, keys.first, block.kinds[keys.order] == PARTIAL)
        rounds[keys.order[~partial[keys.first]]] = 0
    return replace(block, rounds=rounds)._at(np.argsort(rounds, kind="stable"))


def _sorted_by_key(data: pa.RecordBatch, key: Sequence[int]) -> _Keys:
    import numpy as np

    ids = np.zeros(data.num_rows, np.int64)
    for at in key:
        codes = np.asarray(data.column(at).dictionary_encode().indices.fill_null(-1), np.int64)
        ids = np.unique(ids * (codes.max() + 2) + codes + 1, return_inverse=True)[1]
    order = np.argsort(ids, kind="stable")
    begins = np.append(True, np.diff(ids[order]) != 0)
    first = np.maximum.accumulate(np.where(begins, np.arange(len(ids)), 0))
    return _Keys(order, first, np.flatnonzero(np.append(begins[1:], True)))


def _flags(marks: Any) -> Marks:
    import numpy as np

    return np.asarray(marks.fill_null(False), np.bool_)
