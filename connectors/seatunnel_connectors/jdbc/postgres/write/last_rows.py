"""Numbers the rows of a block, and folds them to the last one of each key before they are sent, so that the server need
not sort them.

Folds only where two keys are equal for the server exactly if their values here are: texts may have a collation under
which different ones are equal, and decimals are equal with another scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc.postgres.write.load_plan import EXACT, Load, LoadColumn
from seatunnel_connectors.jdbc.postgres.write.merge import KIND, ORDER
from seatunnel_py.api import RowKind

_FIRST_KIND, _LAST_ORDER = f"{KIND}_min", f"{ORDER}_max"


@dataclass(frozen=True, slots=True)
class LoadBlock:
    """Rows that are written together, ``end`` of the unit's rows up to the last one. ``folded``: the last row of each
    key, if the block is merged by it."""

    data: Sequence[pa.RecordBatch] = ()
    kinds: Sequence[pa.UInt8Array | None] = ()
    absent: Sequence[pa.RecordBatch | None] = ()
    end: int = 0
    folded: pa.Table | None = None

    @property
    def rows(self) -> int:
        return sum(one.num_rows for one in self.data)

    @property
    def changes(self) -> bool:
        """Whether rows of other kinds than INSERT may be among them."""
        return any(kinds is not None for kinds in self.kinds)

    @property
    def is_whole(self) -> bool:
        """Whether no cell is absent."""
        return all(absent is None for absent in self.absent)

    def all_kinds(self) -> pa.UInt8Array:
        """The kind of each row."""
        parts = [
            _inserts(one.num_rows, pa.uint8()) if kinds is None else kinds
            for one, kinds in zip(self.data, self.kinds, strict=True)
        ]
        return pa.concat_arrays(parts)

    def numbered(self) -> pa.Table:
        """The rows with order and kind. UPDATE_BEFORE rows add no information."""
        table = pa.Table.from_batches(self.data)
        kinds = self.all_kinds().cast(pa.int16()) if self.changes else _inserts(table.num_rows, pa.int16())
        table = table.append_column(ORDER, pa.array(np.arange(table.num_rows))).append_column(KIND, kinds)
        return table.filter(pc.not_equal(table.column(KIND), RowKind.UPDATE_BEFORE.value)) if self.changes else table


def _inserts(rows: int, kind: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(RowKind.INSERT.value, kind), rows)


def can_fold(load: Load, as_text: tuple[bool, ...]) -> bool:
    """Whether rows of this load may be folded: the newest of each key wins, and keys are compared exactly."""
    key = _key_columns(load, as_text)
    exact = all(one.native in EXACT and not text for one, text in key)
    return bool(key) and load.upsert and not load.versioned_by and exact


def can_count(load: Load, as_text: tuple[bool, ...]) -> bool:
    """Whether the keys that the server will find can be counted here."""
    return all(one.exact and not text for one, text in _key_columns(load, as_text))


def _key_columns(load: Load, as_text: tuple[bool, ...]) -> list[tuple[LoadColumn, bool]]:
    return [pair for pair in zip(load.columns, as_text, strict=True) if pair[0].name in load.key]


def folded(rows: pa.Table, key: tuple[str, ...]) -> pa.Table:
    """The last row of each key, in order. A row that was inserted among these rows, and updated later, is an insert."""
    groups = rows.group_by(list(key)).aggregate([(ORDER, "max"), (KIND, "min")]).sort_by(_LAST_ORDER)
    if groups.num_rows == rows.num_rows:
        return rows
    at = pc.index_in(groups.column(_LAST_ORDER), rows.column(ORDER).combine_chunks())
    last = rows.take(at)
    kinds = last.column(KIND)
    was_inserted = pc.and_(
        pc.equal(groups.column(_FIRST_KIND), RowKind.INSERT.value), pc.equal(kinds, RowKind.UPDATE_AFTER.value)
    )
    kinds = pc.if_else(was_inserted, pa.scalar(RowKind.INSERT.value, pa.int16()), kinds)
    return last.set_column(last.schema.get_field_index(KIND), KIND, kinds)


def deleted_keys(rows: pa.Table, key: str) -> pa.RecordBatch:
    """The keys of these rows that are deleted, as one list: a parameter for ``Staging.delete_listed``."""
    keys = rows.column(key).filter(pc.equal(rows.column(KIND), RowKind.DELETE.value)).combine_chunks()
    return pa.RecordBatch.from_arrays([pa.ListArray.from_arrays([0, len(keys)], keys)], names=["keys"])


def last_counts(staged: pa.Table, key: tuple[str, ...]) -> tuple[int, int]:
    """Number of keys of the staged rows, and of those whose last row is a delete."""
    last = staged.group_by(list(key)).aggregate([(ORDER, "max")]).column(_LAST_ORDER)
    kinds = staged.select([KIND]).filter(pc.is_in(staged.column(ORDER), last.combine_chunks()))
    return kinds.num_rows, count_kind(kinds, RowKind.DELETE)


def count_kind(rows: pa.Table, kind: RowKind) -> int:
    """Number of rows of this kind."""
    return pc.sum(pc.equal(rows.column(KIND), kind.value)).as_py() or 0
