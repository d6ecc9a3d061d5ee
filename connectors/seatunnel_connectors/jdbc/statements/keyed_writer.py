"""Writes rows into one table, some with absent cells: folded by key, then written, or staged in rounds."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc.statements.target_dialect import RowsRefusedError
from seatunnel_connectors.jdbc.statements.writer import StatementWriter
from seatunnel_connectors.jdbc.target.load_decision import ABSENT, PARTIAL, SHADOW
from seatunnel_connectors.jdbc.target.partial_rows import RowBlock, in_rounds, row_block, whole_rows_needed
from seatunnel_py.api import BadRowsError, FatalError, RowKind

DELETE = RowKind.DELETE.value


class KeyedWriter(StatementWriter):
    """Writes one unit into one table. A key that is not in the target stays away from it."""

    def run_partial(self, data: pa.RecordBatch, kinds: pa.UInt8Array | None, absent: pa.RecordBatch) -> None:
        self._check_partial()
        rows = self._rounds_of(data, kinds, absent)
        self.merged += data.num_rows - rows.rows
        try:
            for part in rows.each_round():
                self.round += 1
                self._write_round(part)
        except RowsRefusedError as refused:  # their places are those of folded rows
            raise BadRowsError(f"{self.what}: {refused}", refused.remedy) from refused.__cause__
        self.round += 1

    def _check_partial(self) -> None:
        if not self.load.key:
            raise whole_rows_needed(self.what)
        if self.load.how == SHADOW:
            raise FatalError(
                f"table {self.load.table}: the upstream proved its key unique, but sends rows with absent cells",
                "set data_save_mode or primary_keys so that the table is written by key",
            )
        if self.unit and not self.load.keeps_masks:
            raise FatalError(
                f"table {self.load.table}: the staging table of this run has no place for rows with absent cells: an "
                "older version has created it",
                "run the job again with --fresh",
            )
        if self.unit and not self.load.upsert:
            raise FatalError(
                f"table {self.load.table}: rows with absent cells cannot be staged with enable_upsert = false",
                "set enable_upsert = true, or exactly_once_recipe = direct",
            )

    def _rounds_of(self, data: pa.RecordBatch, kinds: pa.UInt8Array | None, absent: pa.RecordBatch) -> RowBlock:
        load, names = self.load, self.load.names
        marks = absent.columns if self.places is None else [absent.column(at) for at in self.places]
        block = row_block(data, kinds, marks)
        key = [names.index(name) for name in load.key]
        return in_rounds(block, key, versioned=bool(load.versioned_by), upsert=load.upsert)

    def _write_round(self, rows: RowBlock) -> None:
        """Write rows of different keys: those that free values of other unique keys come first."""
        for kind in (RowKind.DELETE, PARTIAL, RowKind.INSERT, RowKind.UPDATE_AFTER):
            part = rows.of_kind(kind)
            if not part.rows:
                continue
            if isinstance(kind, RowKind):
                self._of_one_kind(kind, part.data)
            elif self.unit:
                self._check_present(part)
                self.keep(part.data, PARTIAL, part.masks())
            else:
                self.change(part)

    def _check_present(self, rows: RowBlock) -> None:
        """Check required columns now, where a row can be quarantined, and not in the common commit."""
        for name in self.load.required:
            at = self.load.names.index(name)
            null = pc.and_not(rows.data.column(at).is_null(), pa.array(rows.absent[:, at]))
            if count := pc.sum(null).as_py():
                raise BadRowsError(
                    f"{self.what}: column {name!r} takes no null, and {count} rows have one",
                    "fill the column in a transform, or allow nulls in the target",
                )

    def change(self, rows: RowBlock) -> None:
        """Update the present columns of rows whose key exists: one statement for each mask, of which there are few."""
        masks = rows.masks()
        for mask in masks.unique().to_pylist():
            present = [
                name for name, mark in zip(self.load.names, mask, strict=True)
                if mark != ABSENT and name not in self.load.key
            ]  # fmt: skip
            if present:
                self.update(rows.data.filter(pc.equal(masks, mask)), present)
