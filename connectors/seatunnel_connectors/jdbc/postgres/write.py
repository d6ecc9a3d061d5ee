"""Writing: each unit is one transaction that COPYs its rows and leaves one row about itself.

Rows are gathered into blocks. A block goes straight into the target by COPY; where a key is already there, the
savepoint before it is taken back and the block goes through a temporary table and is merged by key instead.
"""

from __future__ import annotations

import json
from typing import Any

import adbc_driver_manager as adbc
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc.held import Held
from seatunnel_connectors.jdbc.postgres import wire
from seatunnel_connectors.jdbc.postgres.ledger import Books, Recorded, position_plain
from seatunnel_connectors.jdbc.postgres.merge import KIND, ORDER, Staging
from seatunnel_connectors.jdbc.postgres.plan import SHADOW, Load, load_of, takes_directly
from seatunnel_connectors.jdbc.postgres.session import Rows, explained, failure, rows
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Batch,
    FatalError,
    Piece,
    Plain,
    Position,
    RetriableError,
    RowKind,
    TableSchema,
    WriteContext,
    Writer,
)

BLOCK_BYTES = 16 << 20  # one COPY costs under a millisecond; a block is also what a conflict makes us repeat

_UNIQUE = "23505"
_NOT_NULL = "23502"
_NUL = "22021"


class PostgresWriter(Writer):
    """One unit into one table."""

    def __init__(self, address: Address, table: TableSchema, context: WriteContext) -> None:
        self.table = table
        self.context = context
        self.load: Load = load_of(context.setup)
        self.books = Books(self.load.schema, self.load.token, str(table.path)) if self.load.books else None
        self.shown = f"{self.load.schema}.{self.load.table}"
        self._prepare_columns()
        self.block: list[pa.RecordBatch] = []
        self.kinds: list[pa.UInt8Array | None] = []
        self.block_bytes = 0
        self.rows = self.bytes = self.merged = self.skipped = 0
        self.end: Position | None = None
        self.optimistic = True
        self.staged = False
        self.begun = False
        self.recorded: Recorded | None = None
        with explained(f"connecting to write table {self.shown}"):
            self.held = Held(rows(address))
        self.connection: Rows = self.held.connection
        self._look_back()

    def _prepare_columns(self) -> None:
        wanted = takes_directly(self.load, self.table)
        declared = self.table.arrow()
        self.direct = all(arrow is not None for arrow in wanted)
        self.converters = [
            wire.converter(column.source, column.native, declared.field(at).type, wanted[at])
            for at, column in enumerate(self.load.columns)
        ]
        self.schema = pa.schema(
            [
                pa.field(column.name, arrow if arrow is not None else pa.string())
                for column, arrow in zip(self.load.columns, wanted, strict=True)
            ]
        )
        self.positions = [declared.get_field_index(column.source) for column in self.load.columns]
        self.staging = Staging(self.load, tuple(arrow is None for arrow in wanted))

    def _look_back(self) -> None:
        """A unit that was tried before, or follows one of an older epoch, first asks what the target holds."""
        context = self.context
        try:
            if self.books and (context.attempt or context.epoch or context.incarnation > 1):
                self._run(
                    self.books.raise_fence(
                        context.job_id, context.lineage, context.step, context.incarnation, context.epoch
                    )
                )
                self.recorded = self._find_piece()
        except BaseException:
            self.abort()
            raise

    # -------------------------------------------------- rows in

    def write(self, batch: Batch) -> None:
        if batch.absent is not None:
            raise FatalError(
                f"table {self.shown}: rows with columns that the source did not send cannot be written",
                "let the source send whole rows (replica identity full)",
            )
        self.rows += batch.rows
        self.bytes += batch.data.nbytes
        self.end = batch.end
        data, kinds = self._unwritten(batch)
        if not data.num_rows:
            return
        self.block.append(self._converted(data))
        self.kinds.append(kinds)
        self.block_bytes += data.nbytes
        if self.block_bytes >= BLOCK_BYTES:
            self._flush()

    def _unwritten(self, batch: Batch) -> tuple[pa.RecordBatch, pa.UInt8Array | None]:
        """The rows of a batch that an earlier attempt at the same unit has not committed already."""
        skip = self._written_before(batch)
        self.skipped += skip
        kinds = batch.kinds
        if kinds is not None and pc.all(pc.equal(kinds, RowKind.INSERT.value)).as_py():
            kinds = None
        if not skip:
            return batch.data, kinds
        return batch.data.slice(skip), None if kinds is None else kinds.slice(skip)

    def _written_before(self, batch: Batch) -> int:
        """Rows of the batch that an earlier attempt has committed: all, where a split is only ever read whole."""
        if self.recorded is None:
            return 0
        return batch.rows if self.recorded.end is None else max(0, min(self.recorded.rows - self.skipped, batch.rows))

    def _converted(self, data: pa.RecordBatch) -> pa.RecordBatch:
        arrays = []
        try:
            for at, field, column, convert in zip(
                self.positions, self.schema, self.load.columns, self.converters, strict=True
            ):
                array = data.column(at)
                if convert is not None:
                    array = convert(array, column.source)
                arrays.append(array if array.type == field.type else wire.cast(array, field.type, column.source))
        except wire.ValueRefused as error:
            raise FatalError(f"writing table {self.shown}: {error}", "convert the column in a transform") from None
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    # -------------------------------------------------- blocks out

    def _flush(self) -> None:
        if not self.block:
            return
        changes = any(kinds is not None for kinds in self.kinds)
        if changes:
            self._merge_block()
        elif not self.direct:
            self._stage_block()
            self._run_merge()
        elif not (self.load.key and self.load.upsert) or self.load.how == SHADOW:
            self._copy_block()
        elif not (self.optimistic and self._try_copy()):
            self.optimistic = False
            self._stage_block()
            self._run_merge()
        self.block, self.kinds, self.block_bytes = [], [], 0

    def _begin(self, savepoint: str = "") -> None:
        """Before a block: the transaction, if this is the first one, and a savepoint, in one message."""
        statements = [*([] if self.begun else ["BEGIN"]), *([savepoint] if savepoint else [])]
        if statements:
            self._run("; ".join(statements))
        self.begun = True

    def _copy_block(self) -> None:
        self._begin()
        wanted = sum(batch.num_rows for batch in self.block)
        confirmed = self._ingest(self.load.schema, self.load.into, self.block, temporary=False)
        if confirmed != wanted:
            raise FatalError(f"table {self.shown}: {confirmed} of {wanted} rows were confirmed by the server")

    def _try_copy(self) -> bool:
        """Straight into the keyed table; False where a key is there already, with nothing changed."""
        self._begin("SAVEPOINT block")
        try:
            self.connection.ingest(self.load.schema, self.load.into, self.block)
        except adbc.Error as error:
            if error.sqlstate != _UNIQUE:
                raise self._explained(error) from error
            self._run("ROLLBACK TO SAVEPOINT block")
            return False
        return True

    def _merge_block(self) -> None:
        """Rows of other kinds than INSERT: a key is what they are about."""
        kinds = self._kinds_of_block()
        removing = pc.any(pc.or_(pc.equal(kinds, RowKind.DELETE.value), pc.equal(kinds, RowKind.UPDATE_BEFORE.value)))
        if self.load.how == SHADOW:
            raise FatalError(
                f"table {self.shown}: the upstream proved its key unique, but sends updates or deletes",
                "set data_save_mode or primary_keys so that the table is written by key",
            )
        if not self.load.key and removing.as_py():
            raise FatalError(
                f"table {self.shown}: rows of kind DELETE or UPDATE_BEFORE need a key to find their row by",
                "set primary_keys, or drop these rows with the FilterRowKind transform",
            )
        self._stage_block(kinds)
        self._run_merge(kinds)

    def _kinds_of_block(self) -> pa.Array:
        parts = [
            pa.array([RowKind.INSERT.value], pa.uint8()).take(pa.array([0] * batch.num_rows, pa.int32()))
            if kinds is None
            else kinds
            for batch, kinds in zip(self.block, self.kinds, strict=True)
        ]
        return pa.concat_arrays(parts)

    def _stage_block(self, kinds: pa.Array | None = None) -> None:
        """The block, numbered, in the temporary table; UPDATE_BEFORE rows say nothing that the others do not."""
        table = pa.Table.from_batches(self.block)
        order = pa.array(range(table.num_rows), pa.int64())
        kinds = pa.array([0] * table.num_rows, pa.int16()) if kinds is None else kinds.cast(pa.int16())
        table = table.append_column(ORDER, order).append_column(KIND, kinds)
        table = table.filter(pc.not_equal(table.column(KIND), RowKind.UPDATE_BEFORE.value))
        self._begin()
        self._run(self.staging.empty() if self.staged else self.staging.create())
        self.staged = True
        self.waiting = table
        if table.num_rows:
            self._ingest(None, self.staging.name, table.to_batches(), temporary=True)

    def _run_merge(self, kinds: pa.Array | None = None) -> None:
        """From the temporary table into the target, checking that every key was answered for."""
        staged, handed = self.waiting, sum(batch.num_rows for batch in self.block)
        if not (self.load.key and (self.load.upsert or kinds is not None)):
            written = self._run(self.staging.append())
            self._expect(written, staged.num_rows)
            return
        last = _last_rows(staged, self.load.key)
        deletes = pc.sum(pc.equal(last.column(KIND), RowKind.DELETE.value)).as_py() or 0
        if deletes:
            self._run(self.staging.delete())
        if self.load.upsert:
            self._expect(self._run(self.staging.upsert()), last.num_rows - deletes)
        else:
            self._run(self.staging.update())
            self._run(self.staging.insert())
        self.merged += handed - last.num_rows

    def _expect(self, confirmed: int, wanted: int) -> None:
        if confirmed != wanted:
            raise FatalError(f"table {self.shown}: {confirmed} of {wanted} rows were confirmed by the server")

    def _ingest(self, schema: str | None, table: str, batches: list[pa.RecordBatch], *, temporary: bool) -> int:
        try:
            return self.connection.ingest(schema, table, batches, temporary=temporary)
        except adbc.Error as error:
            raise self._explained(error) from error

    def _run(self, sql: str) -> int:
        try:
            return self.connection.run(sql)
        except adbc.Error as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> Exception:
        found = wire.first_with_nul(self.block) if getattr(error, "sqlstate", "") == _NUL else None
        what = f"writing table {self.shown}"
        if found:
            column, row = found
            before = self.rows - sum(batch.num_rows for batch in self.block)
            what += f", column {column!r}, row {before + row + 1} of unit {self.context.data_id}"
        return failure(error, what)

    # -------------------------------------------------- the end

    def stage(self) -> Piece:
        try:
            self._flush()
            if self.recorded is not None and self.skipped == self.rows:
                return self._already(self.recorded)
            return self._commit()
        except BaseException:
            self.abort()
            raise

    def _commit(self) -> Piece:
        """The unit's own row and COMMIT in one message. Another attempt that was faster makes this one undo itself."""
        mine = Recorded(self.rows, self.bytes, self.merged, position_plain(self.end))
        last = [] if self.begun else ["BEGIN"]
        if self.books and self.recorded is not None:
            last.append(self.books.forget_piece(self.context.data_id))
        if self.books:
            last.append(self.books.insert_piece(self.context, mine))
        try:
            self.connection.run("; ".join([*last, "COMMIT"]))
        except adbc.Error as error:
            found = self._why_not_recorded(error)
            if found is None:
                raise failure(error, f"recording a unit of table {self.shown}") from error
            return self._already(found)
        self.held.release()
        return self._piece(mine, replayed=False)

    def _why_not_recorded(self, error: adbc.Error) -> Recorded | None:
        """The record of another attempt at the same rows, which has committed; FatalError for a newer writer."""
        if error.sqlstate == _NOT_NULL:
            raise FatalError(
                f"table {self.shown}: a newer run or attempt of this job writes to it; this one is fenced off",
                "nothing is to be done: the newer one goes on",
            ) from error
        if self.books is None or error.sqlstate != _UNIQUE:
            return None
        self._run("ROLLBACK")
        return self._find_piece()

    def _already(self, recorded: Recorded) -> Piece:
        """An earlier attempt at the same rows has committed: nothing is applied, its counts are the truth. One that
        read other rows cannot be followed up from here: the next unit would begin before its end."""
        if recorded.rows != self.rows:
            raise RetriableError(
                f"table {self.shown}: it holds {recorded.rows} rows of this unit already, but this attempt "
                f"read {self.rows}"
            )
        self._run("ROLLBACK")
        self.held.release()
        return self._piece(recorded, replayed=True)

    def _piece(self, recorded: Recorded, *, replayed: bool) -> Piece:
        data: dict[str, Plain] = {"data_id": self.context.data_id, "end": recorded.end, "replayed": replayed}
        return Piece(recorded.rows, recorded.bytes, recorded.merged, data)

    def _find_piece(self) -> Recorded | None:
        assert self.books is not None
        found = list(self.connection.copy(self.books.select_piece(self.context.data_id), 1 << 16))
        rows_found: list[dict[str, Any]] = [row for batch in found for row in batch.to_pylist()]
        if not rows_found:
            return None
        row = rows_found[0]
        end = json.loads(row["source_position"]) if row["source_position"] else None
        return Recorded(row["rows"], row["bytes"], row["merged"], end)

    def abort(self) -> None:
        """The connection is closed rather than given back: the server then rolls back what is open."""
        self.held.discard()


def _last_rows(staged: pa.Table, key: tuple[str, ...]) -> pa.Table:
    """The last staged row of each key, with its kind: what the server will find, counted here as well."""
    last = staged.group_by(list(key)).aggregate([(ORDER, "max")]).column(f"{ORDER}_max")
    return staged.select([ORDER, KIND]).filter(pc.is_in(staged.column(ORDER), last.combine_chunks()))
