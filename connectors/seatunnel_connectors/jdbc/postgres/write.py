"""Writing: each unit is one transaction that COPYs its rows and leaves one row about itself.

An attempt at rows that another attempt has committed already applies nothing. Older epochs and runs are fenced off.
"""

from __future__ import annotations

import json
from typing import Any

import adbc_driver_manager as adbc
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc.held import Held
from seatunnel_connectors.jdbc.postgres.blocks import UNIQUE, Blocks
from seatunnel_connectors.jdbc.postgres.ledger import Books, Recorded, position_plain
from seatunnel_connectors.jdbc.postgres.plan import Load, load_of
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

_NOT_NULL = "23502"


class PostgresWriter(Writer):
    """One unit into one table."""

    def __init__(self, address: Address, table: TableSchema, context: WriteContext) -> None:
        self.table = table
        self.context = context
        self.load: Load = load_of(context.setup)
        self.books = Books(self.load.schema, self.load.token, str(table.path)) if self.load.books else None
        self.shown = f"{self.load.schema}.{self.load.table}"
        self.rows = self.bytes = self.skipped = 0
        self.end: Position | None = None
        self.recorded: Recorded | None = None
        with explained(f"connecting to write table {self.shown}"):
            self.held = Held(rows(address))
        self.connection: Rows = self.held.connection
        self.blocks = Blocks(self.connection, self.load, table, context.data_id)
        self._look_back()

    def _look_back(self) -> None:
        """A unit that was tried before, or follows one of an older epoch, first asks what the target holds."""
        context = self.context
        try:
            if self.books and (context.attempt or context.epoch or context.incarnation > 1):
                self.blocks.run(
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
        self.blocks.add(data, kinds)

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

    # -------------------------------------------------- the end

    def stage(self) -> Piece:
        try:
            self.blocks.flush()
            if self.recorded is not None and self.skipped == self.rows:
                return self._already(self.recorded)
            return self._commit()
        except BaseException:
            self.abort()
            raise

    def _commit(self) -> Piece:
        """The unit's own row and COMMIT in one message. Another attempt that was faster makes this one undo itself."""
        merged = self.blocks.merged + (self.recorded.merged if self.recorded else 0)
        mine = Recorded(self.rows, self.bytes, merged, position_plain(self.end))
        last = [] if self.blocks.begun else ["BEGIN"]
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
        if self.books is None or error.sqlstate != UNIQUE:
            return None
        self.blocks.run("ROLLBACK")
        return self._find_piece()

    def _already(self, recorded: Recorded) -> Piece:
        """An earlier attempt at the same rows has committed: nothing is applied, its counts are the truth. One that
        read other rows cannot be followed up from here: the next unit would begin before its end."""
        if recorded.rows != self.rows:
            raise RetriableError(
                f"table {self.shown}: it holds {recorded.rows} rows of this unit already, but this attempt "
                f"read {self.rows}"
            )
        self.blocks.run("ROLLBACK")
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
        self.blocks.close()
        self.held.discard()
