"""Loads blocks with absent cells: folded by key, then merged into the target, or staged for the commit in rounds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seatunnel_connectors.jdbc.postgres.connection.session import Rows
from seatunnel_connectors.jdbc.postgres.write.copy_loader import CopyLoader
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load
from seatunnel_connectors.jdbc.postgres.write.merge import KIND, MASK, ORDER, ROUND, keep_kinds, keep_masks, keep_order
from seatunnel_connectors.jdbc.target.load_decision import PARTIAL, STAGED
from seatunnel_connectors.jdbc.target.partial_rows import RowBlock, in_rounds, row_block, whole_rows_needed
from seatunnel_py.api import RowKind, TableSchema


class PartialLoader(CopyLoader):
    """Gathers rows and writes them, some with absent cells. Blocks without any are written by ``CopyLoader``."""

    def __init__(self, connection: Rows, load: Load, table: TableSchema, unit: str) -> None:
        super().__init__(connection, load, table, unit)
        self.rounds = 0
        """The round of rows that are staged now."""

    @property
    def needed(self) -> list[int]:
        """Places of the upstream's columns that every row must have: those of the key, and the version."""
        wanted = {*self.load.key, self.load.versioned_by}
        return [at for at, column in zip(self.positions, self.load.columns, strict=True) if column.name in wanted]

    def _write(self) -> None:
        if self.block.is_whole:
            super()._write()
        else:
            self._write_partial()

    def _write_partial(self) -> None:
        """Write a block with absent cells: into the target, or into the unit's own table for the commit."""
        if not self.load.key:
            raise whole_rows_needed(f"table {self.shown}")
        kinds = self.block.all_kinds()
        self._check_changes(kinds)
        rows = self._rounds_of_block(kinds)
        self._stage_rows(
            pa.Table.from_batches([rows.data])
            .append_column(ORDER, pa.array(np.arange(rows.rows)))
            .append_column(KIND, pa.array(rows.kinds).cast(pa.int16()))
            .append_column(ROUND, pa.array(rows.rounds, pa.int32()))
            .append_column(MASK, rows.masks()),
            self.staging.keep_masks(),
        )
        written = rows.rows
        if self.load.how == STAGED:
            first, self.rounds = self.rounds + 1, self.rounds + rows.round_count + 1
            self.run("; ".join((keep_kinds(self.load), keep_order(self.load), keep_masks(self.load, self.rounds))))
            self.kept = True
            self._expect(self.run(self.staging.append_partial(first)), rows.rows)
        else:
            written = sum(self._merge_round(number, one) for number, one in enumerate(rows.each_round()))
        self.merged += self.block.rows - written

    def _rounds_of_block(self, kinds: pa.Array) -> RowBlock:
        load, names = self.load, self.schema.names
        data = pa.Table.from_batches(self.block.data).combine_chunks().to_batches()[0]
        marks = pa.Table.from_batches(
            [self._marks(*one) for one in zip(self.block.data, self.block.absent, strict=True)]
        )
        block = row_block(data, kinds, marks.columns)
        key = [names.index(name) for name in load.key]
        return in_rounds(block, key, versioned=bool(load.versioned_by), upsert=load.upsert)

    def _marks(self, data: pa.RecordBatch, absent: pa.RecordBatch | None) -> pa.RecordBatch:
        none = pa.nulls(data.num_rows, pa.bool_())
        columns = [none if absent is None else absent.column(at) for at in self.positions]
        return pa.RecordBatch.from_arrays(columns, names=self.schema.names)

    def _merge_round(self, number: int, rows: RowBlock) -> int:
        """Merge one round into the target; return the number of rows that were not merged into another one."""
        staging = self.staging.of_round(number)
        if rows.count(RowKind.DELETE):
            self.run(staging.delete())
        if rows.count(PARTIAL):
            self.run(staging.change())
        whole = rows.count(RowKind.INSERT) + rows.count(RowKind.UPDATE_AFTER)
        if not self.load.upsert:
            self.run(staging.update())
            self.run(staging.insert())
        elif whole:
            written = self.run(staging.upsert())
            if self.load.versioned_by:
                return rows.rows - whole + written
            self._expect(written, whole)
        return rows.rows
