"""Loads blocks of rows into one table, within one transaction.

A block goes straight into the target by COPY; if a key exists already, the savepoint before it is rolled back, and the
block is merged by key through a temporary table instead.

While a thread, which mostly waits for the server, writes one block, the next one is read, and folded by key: pausing
the reader for every COPY cost about a tenth of the speed. Only one of the two ever uses the connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import adbc_driver_manager as adbc
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc.postgres.connection.session import Rows, failure
from seatunnel_connectors.jdbc.postgres.ledger.unit_row import UNIQUE
from seatunnel_connectors.jdbc.postgres.read import arrow_conversion
from seatunnel_connectors.jdbc.postgres.write.last_rows import (
    LoadBlock,
    can_count,
    can_fold,
    count_kind,
    deleted_keys,
    folded,
    last_counts,
)
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load
from seatunnel_connectors.jdbc.postgres.write.merge import KIND, ORDER, Staging, begin_unit, keep_kinds, keep_order
from seatunnel_connectors.jdbc.target import version_column
from seatunnel_connectors.jdbc.target.load_decision import PREPARED, SHADOW, STAGED, TABLE
from seatunnel_connectors.jdbc.target.target_plan import places_of
from seatunnel_py.api import BadRowsError, FatalError, RowKind, TableSchema, to_arrow

BLOCK_BYTES = 4 << 20  # one COPY costs under a millisecond; a conflict repeats a whole block
EARLY_BYTES = 1 << 20  # while the thread has nothing to do

_NUL = "22021"


class CopyLoader:
    """Gathers rows and writes them, one block later. ``begun``: a transaction is open; ``answered``: the server has
    just refused rows, and its session is usable; ``merged`` counts rows that were merged into another one with the same
    key; ``kept``: rows of the unit's own table are numbered."""

    def __init__(self, connection: Rows, load: Load, table: TableSchema, unit: str) -> None:
        self.connection = connection
        self.load = load
        self.table = table
        self.unit = unit
        self.shown = f"{load.schema}.{load.table}"
        self.block = LoadBlock()
        self.gathered: list[tuple[pa.RecordBatch, pa.UInt8Array | None, pa.RecordBatch | None]] = []
        self.bytes = self.rows = self.merged = 0
        self.thread: ThreadPoolExecutor | None = None
        self.writing: Future[None] | None = None
        self.begun = False
        self.answered = False
        self.optimistic = True
        self.staged = self.kept = False
        self._first = begin_unit(load)
        self._prepare_columns()

    def _prepare_columns(self) -> None:
        wanted = _direct_types(self.load, self.table)
        declared = self.table.arrow()
        types = {column.name: column.dtype for column in self.table.columns}
        self.direct = all(arrow is not None for arrow in wanted)
        self.converters = [
            arrow_conversion.converter(column.native, types[column.source], wanted[at])
            for at, column in enumerate(self.load.columns)
        ]
        self.schema = pa.schema(
            [
                pa.field(column.name, arrow if arrow is not None else pa.string())
                for column, arrow in zip(self.load.columns, wanted, strict=True)
            ]
        )
        self.positions = [declared.get_field_index(column.source) for column in self.load.columns]
        as_text = tuple(arrow is None for arrow in wanted)
        self.folds, self.counts = can_fold(self.load, as_text), can_count(self.load, as_text)
        self.staging = Staging(self.load, as_text)

    def add(self, data: pa.RecordBatch, kinds: pa.UInt8Array | None, absent: pa.RecordBatch | None = None) -> None:
        """Add rows; a full block is written."""
        self.gathered.append((self._converted(data), kinds, absent))
        self.rows += data.num_rows
        self.bytes += data.nbytes
        if self.bytes >= (BLOCK_BYTES if self._is_writing() else EARLY_BYTES):
            block = self._take()
            self.wait()
            self.thread = self.thread or ThreadPoolExecutor(1, "copy")
            self.writing = self.thread.submit(self._write_block, block)

    def _is_writing(self) -> bool:
        return self.writing is not None and not self.writing.done()

    def _take(self) -> LoadBlock:
        """Make a block of the gathered rows, folded if the target is changed by key."""
        data, kinds, absent = zip(*self.gathered, strict=True)
        self.gathered, self.bytes = [], 0
        block = LoadBlock(data, kinds, absent, self.rows)
        if self.folds and self.load.how != STAGED and block.changes and block.is_whole:
            return replace(block, folded=folded(block.numbered(), self.load.key))
        return block

    def _write_block(self, block: LoadBlock) -> None:
        """Write a block, and let go of its rows: the next one may be long in coming."""
        self.block = block
        try:
            self._write()
        finally:
            self.block = LoadBlock()

    def wait(self) -> None:
        """Wait for the current block; raise its error."""
        writing, self.writing = self.writing, None
        if writing is not None:
            writing.result()

    def flush(self) -> None:
        """Write all added rows; only then may the connection be used for something else."""
        block = self._take() if self.gathered else None
        self.wait()
        if block is not None:
            self._write_block(block)
        self.close()

    def close(self) -> None:
        """Stop the thread after its current block."""
        if self.thread is not None:
            self.thread.shutdown(wait=True)
            self.thread = None

    def _converted(self, data: pa.RecordBatch) -> pa.RecordBatch:
        arrays = []
        try:
            for at, field, column, convert in zip(
                self.positions, self.schema, self.load.columns, self.converters, strict=True
            ):
                array = data.column(at)
                if convert is not None:
                    array = convert(array, column.source)
                arrays.append(
                    array if array.type == field.type else arrow_conversion.cast(array, field.type, column.source)
                )
        except arrow_conversion.ValueRefusedError as error:
            raise BadRowsError(f"writing table {self.shown}: {error}", "convert the column in a transform") from None
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _write(self) -> None:
        changes = self.block.changes
        if self.load.how == STAGED and (changes or self.kept or not self.direct):
            self._keep_block()
        elif changes:
            self._merge_block()
        elif not self.direct or (self.load.triggered and self.load.how != STAGED):
            self._run_merge(self._stage_block())
        elif not (self.load.key and self.load.upsert) or self.load.how != TABLE:
            self._copy_block()
        elif not (self.optimistic and self._try_copy()):
            self.optimistic = False
            self._merge()

    def _begin(self, savepoint: str = "") -> None:
        """Begin the transaction before the first block, and set a savepoint, in one message."""
        statements = [*([] if self.begun else self._first), *([savepoint] if savepoint else [])]
        if statements:
            self.run("; ".join(statements))
        self.begun = True

    def _copy_block(self) -> None:
        """Copy a block. The driver counts what it has sent: if a trigger may skip rows, they go through an INSERT."""
        self._begin()
        written = self._ingest(self.load.schema, self.load.into, self.block.data, temporary=False)
        self._expect(written, self.block.rows)

    def _try_copy(self) -> bool:
        """Copy into the keyed table; False if a key exists already, with nothing changed."""
        self._begin("SAVEPOINT block")
        try:
            self.connection.ingest(self.load.schema, self.load.into, self.block.data)
        except adbc.Error as error:
            if error.sqlstate != UNIQUE:
                raise self._explained(error) from error
            self.run("ROLLBACK TO SAVEPOINT block")
            return False
        return True

    def _keep_block(self) -> None:
        """Insert into the unit's own table, numbered and with kinds: the commit applies them to the target."""
        self._begin()
        changes = self.block.changes
        if changes:
            self._check_removals(self.block.all_kinds())
        needed = [keep_kinds(self.load)] if changes else []
        if not self.kept:
            needed.append(keep_order(self.load))
        if needed:
            self.run("; ".join(needed))
        staged = self._stage_block().num_rows
        self._expect(self.run(self.staging.keep(self.block.end - self.block.rows, kinds=changes)), staged)
        self.kept = True
        self.merged += self.block.rows - staged

    def _merge_block(self) -> None:
        """Merge rows of other kinds than INSERT, by key."""
        self._check_changes(self.block.all_kinds())
        self._merge()

    def _merge(self) -> None:
        if self.block.folded is not None:
            self._merge_folded(self.block.folded)
        elif self.folds:
            self._merge_folded(folded(self.block.numbered(), self.load.key))
        else:
            self._run_merge(self._stage_block())

    def _merge_folded(self, rows: pa.Table) -> None:
        """Merge rows of which each key has one. Most updates find their row: an UPDATE costs less than an upsert."""
        given, staging = rows.num_rows, replace(self.staging, one_per_key=True)
        if count_kind(rows, RowKind.DELETE) and len(self.load.key) == 1:
            self._begin()
            self.run(staging.delete_listed(), deleted_keys(rows, self.load.key[0]))
            rows = rows.filter(pc.not_equal(rows.column(KIND), RowKind.DELETE.value))
        updates, inserts = count_kind(rows, RowKind.UPDATE_AFTER), count_kind(rows, RowKind.INSERT)
        if updates == rows.num_rows:
            staging, rows = replace(staging, only_updates=True), rows.drop_columns([ORDER, KIND])
        if rows.num_rows:
            self._stage_rows(rows)
        if updates + inserts < rows.num_rows:
            self.run(staging.delete())
        if updates and (found := self.run(staging.update())) < updates:
            self._expect(found + self.run(staging.insert_missing()), updates)
        if inserts:
            self._expect(self.run(staging.upsert(RowKind.INSERT)), inserts)
        self.merged += self.block.rows - given

    def _check_changes(self, kinds: pa.Array) -> None:
        if self.load.how == SHADOW:
            raise FatalError(
                f"table {self.shown}: the upstream proved its key unique, but sends updates or deletes",
                "set data_save_mode or primary_keys so that the table is written by key",
            )
        if self.load.how == PREPARED:
            raise FatalError(
                f"table {self.shown}: a prepared transaction takes inserts only, and the upstream sends updates, "
                "deletes or rows with absent cells",
                "set exactly_once_recipe = staged",
            )
        self._check_removals(kinds)

    def _check_removals(self, kinds: pa.Array) -> None:
        removing = pc.any(pc.or_(pc.equal(kinds, RowKind.DELETE.value), pc.equal(kinds, RowKind.UPDATE_BEFORE.value)))
        if not self.load.key and removing.as_py():
            raise FatalError(
                f"table {self.shown}: rows of kind DELETE or UPDATE_BEFORE need a key to find their row by",
                "set primary_keys (and not create_index = false), or drop these rows with the FilterRowKind transform",
            )
        if self.load.versioned_by and pc.any(pc.equal(kinds, RowKind.DELETE.value)).as_py():
            raise version_column.refused(self.shown, self.load.versioned_by)

    def _stage_block(self) -> pa.Table:
        """Copy the block, numbered, into the temporary table; return these rows."""
        rows = self.block.numbered()
        self._stage_rows(rows)
        return rows

    def _stage_rows(self, table: pa.Table, *more: str) -> None:
        """Copy the rows into the temporary table, after ``more`` statements about it."""
        self._begin()
        self.run("; ".join((self.staging.empty() if self.staged else self.staging.create(), *more)))
        self.staged = True
        if table.num_rows:
            self._ingest(None, self.staging.name, table.to_batches(), temporary=True)

    def _run_merge(self, staged: pa.Table) -> None:
        """Merge the staged rows into the target, and check that every key was handled."""
        if not (self.load.key and (self.load.upsert or self.block.changes)):
            written = self.run(self.staging.append())
            self._expect(written, staged.num_rows)
            return
        keys, deletes = last_counts(staged, self.load.key) if self.counts else self._counted_keys()
        if deletes:
            self.run(self.staging.delete())
        if self.load.upsert:
            written = self.run(self.staging.upsert())
            if self.load.versioned_by:
                self.merged += keys - written  # rows that are older than those in the target
            else:
                self._expect(written, keys - deletes)
        else:
            self.run(self.staging.update())
            self.run(self.staging.insert())
        self.merged += self.block.rows - keys

    def _counted_keys(self) -> tuple[int, int]:
        """The server's numbers of keys, and of deleted ones, in the temporary table."""
        try:
            (found,) = self.connection.ask(self.staging.counts())
        except adbc.Error as error:
            raise self._explained(error) from error
        return found["keys"], found["deletes"]

    def _expect(self, confirmed: int, wanted: int) -> None:
        if confirmed != wanted:
            raise FatalError(f"table {self.shown}: {confirmed} of {wanted} rows were confirmed by the server")

    def _ingest(self, schema: str | None, table: str, batches: Sequence[pa.RecordBatch], *, temporary: bool) -> int:
        try:
            return self.connection.ingest(schema, table, batches, temporary=temporary)
        except adbc.Error as error:
            raise self._explained(error) from error

    def run(self, sql: str, parameters: pa.RecordBatch | None = None) -> int:
        try:
            return self.connection.run(sql, parameters)
        except adbc.Error as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> Exception:
        found = arrow_conversion.first_with_nul(self.block.data) if getattr(error, "sqlstate", "") == _NUL else None
        what = f"writing table {self.shown}"
        before = self.block.end - self.block.rows
        if found:
            column, row = found
            what += f", column {column!r}, row {before + row + 1} of unit {self.unit}"
        explained = failure(error, what)
        if isinstance(explained, BadRowsError):
            self.answered = True
            number = found[1] if found else explained.row
            explained.row = None if number is None or self.staged else before + number
        return explained


def _direct_types(load: Load, table: TableSchema) -> list[Any]:
    """For each column the Arrow type that COPY takes, or None where the value goes through text."""
    places = places_of(f"{load.schema}.{load.table}", [column.source for column in load.columns], table)
    return [
        arrow_conversion.direct_type(column.native, column.element, to_arrow(table.columns[at].dtype))
        for column, at in zip(load.columns, places, strict=True)
    ]
