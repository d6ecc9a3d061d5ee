"""Writes Arrow batches: each unit is one transaction that COPYs its rows and leaves one record."""

from __future__ import annotations

from contextlib import suppress

import pyarrow.compute as pc

from seatunnel_connectors.jdbc.postgres.connection.session import Rows, explained, rows
from seatunnel_connectors.jdbc.postgres.ledger.unit_row import UnitRecord
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load, load_of
from seatunnel_connectors.jdbc.postgres.write.partial_loader import PartialLoader
from seatunnel_connectors.jdbc.target.column_fit import fit_of, judged
from seatunnel_connectors.jdbc.target.held_connection import HeldConnection
from seatunnel_connectors.jdbc.target.partial_rows import absent_cells, cleared
from seatunnel_connectors.jdbc.target.unit_record import RecordedUnit
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Batch,
    Piece,
    Position,
    Reached,
    RowKind,
    TableSchema,
    WriteContext,
    Writer,
)


class PostgresWriter(Writer):
    """Writes one unit into one table."""

    def __init__(self, address: Address, table: TableSchema, context: WriteContext) -> None:
        self.table = table
        self.context = context
        self.load: Load = load_of(context.setup).for_unit(context)
        self.shown = f"{self.load.schema}.{self.load.table}"
        self.rows = self.bytes = self.read = 0
        self.end: Position | None = None
        with explained(f"connecting to write table {self.shown}"):
            self.held = HeldConnection(rows(address))
        self.connection: Rows = self.held.connection
        self.fit = fit_of(table, self.load.checked, self.shown, self.load.whole)
        self.blocks = PartialLoader(self.connection, self.load, self.fit.table, context.data_id)
        self.record = UnitRecord(self.load, str(table.path), context, self.connection.run, self.connection.ask)
        try:
            with explained(f"looking back at a unit of table {self.shown}"):
                self.record.look_back()
            if self.record.held is not None:
                self.reached = self.record.held.reached
        except BaseException:
            self.abort()
            raise

    # -------------------------------------------------- rows in

    def write(self, batch: Batch) -> None:
        before, self.rows = self.rows, self.rows + batch.rows
        self.bytes += batch.data.nbytes
        if self.record.before is not None or not batch.rows:
            return
        kinds = batch.kinds
        if kinds is not None and pc.all(pc.equal(kinds, RowKind.INSERT.value)).as_py():
            kinds = None
        absent = None if batch.absent is None else absent_cells(batch, self.blocks.needed, self.shown)
        given = batch.data if absent is None else cleared(batch.data, absent)
        data, refused = judged(given, before, self.fit.apply)
        if rows := data.num_rows:
            self.blocks.add(
                data,
                kinds if kinds is None else kinds.slice(0, rows),
                absent if absent is None else absent.slice(0, rows),
            )
        if refused is not None:
            self.flush()
            raise refused

    def ends_at(self, reached: Reached) -> None:
        self.end, self.read = reached.end, reached.rows

    # -------------------------------------------------- the end

    def flush(self) -> None:
        self.blocks.flush()
        self.blocks.answered = True

    def stage(self) -> Piece:
        try:
            self.blocks.flush()
            before = self.record.before
            if before is not None:
                piece = self.record.already(before, self.rows)
            else:
                end = None if self.end is None else self.end.to_plain()
                mine = RecordedUnit(self.rows, self.bytes, self.blocks.merged, end, self.read)
                piece = self.record.commit(mine, begun=self.blocks.begun)
        except BaseException:
            self.abort()
            raise
        self.held.release()
        return piece

    def abort(self) -> None:
        """Close the connection instead of returning it: the server then rolls back the open transaction. If the server
        has just answered, roll back and keep it: finding bad rows takes many attempts, and a new connection costs 20
        ms."""
        self.blocks.close()
        if self.blocks.answered:
            self.blocks.answered = False
            with suppress(Exception):
                self.connection.run("ROLLBACK")
                self.held.release()
                return
        self.held.discard()
