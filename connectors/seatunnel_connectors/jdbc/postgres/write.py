"""Writing Arrow batches: each unit is one transaction that COPYs its rows and leaves one row about itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc.held import Held
from seatunnel_connectors.jdbc.postgres.blocks import Blocks
from seatunnel_connectors.jdbc.postgres.plan import Load, load_of
from seatunnel_connectors.jdbc.postgres.record import UnitRecord
from seatunnel_connectors.jdbc.postgres.session import Rows, explained, rows
from seatunnel_connectors.jdbc.recorded import Recorded, position_plain
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Batch,
    FatalError,
    Piece,
    Position,
    RowKind,
    TableSchema,
    WriteContext,
    Writer,
)


class PostgresWriter(Writer):
    """One unit into one table."""

    def __init__(self, address: Address, table: TableSchema, context: WriteContext) -> None:
        self.table = table
        self.context = context
        self.load: Load = load_of(context.setup)
        self.shown = f"{self.load.schema}.{self.load.table}"
        self.rows = self.bytes = self.skipped = 0
        self.end: Position | None = None
        with explained(f"connecting to write table {self.shown}"):
            self.held = Held(rows(address))
        self.connection: Rows = self.held.connection
        self.blocks = Blocks(self.connection, self.load, table, context.data_id)
        self.record = UnitRecord(self.load, str(table.path), context, self.connection.run, self._ask)
        try:
            with explained(f"looking back at a unit of table {self.shown}"):
                self.record.look_back()
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
        before = self.record.before
        skip = before.covers(batch.rows, self.skipped) if before else 0
        self.skipped += skip
        kinds = batch.kinds
        if kinds is not None and pc.all(pc.equal(kinds, RowKind.INSERT.value)).as_py():
            kinds = None
        if not skip:
            return batch.data, kinds
        return batch.data.slice(skip), None if kinds is None else kinds.slice(skip)

    # -------------------------------------------------- the end

    def flush(self) -> None:
        self.blocks.flush()

    def stage(self) -> Piece:
        try:
            self.blocks.flush()
            before = self.record.before
            if before is not None and self.skipped == self.rows:
                piece = self.record.already(before, self.rows)
            else:
                merged = self.blocks.merged + (before.merged if before else 0)
                mine = Recorded(self.rows, self.bytes, merged, position_plain(self.end))
                piece = self.record.commit(mine, begun=self.blocks.begun)
        except BaseException:
            self.abort()
            raise
        self.held.release()
        return piece

    def _ask(self, sql: str) -> list[dict[str, Any]]:
        return [row for batch in self.connection.copy(sql, 1 << 16) for row in batch.to_pylist()]

    def abort(self) -> None:
        """The connection is closed rather than given back: the server then rolls back what is open."""
        self.blocks.close()
        self.held.discard()
