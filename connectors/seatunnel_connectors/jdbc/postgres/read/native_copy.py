"""Copies one PostgreSQL table to another as COPY's own bytes, for columns with the same binary form on both sides.

The statements, the unit's row and the errors are those of the route through Arrow; only the rows are not parsed. A
small table costs one message to the source and two to the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import psycopg

from seatunnel_connectors.jdbc.postgres.connection.copy_stream import CopyStream, stream
from seatunnel_connectors.jdbc.postgres.connection.copy_types import same_bytes, sent_as, type_number
from seatunnel_connectors.jdbc.postgres.connection.session import explained, failure, quote
from seatunnel_connectors.jdbc.postgres.ledger.unit_row import UNIQUE, UnitRecord
from seatunnel_connectors.jdbc.postgres.read import reader as reading
from seatunnel_connectors.jdbc.postgres.read.snapshot import check_snapshot, join_snapshot, unchanged
from seatunnel_connectors.jdbc.postgres.write.ddl import listed
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load, load_of
from seatunnel_connectors.jdbc.postgres.write.merge import Staging, begin_unit
from seatunnel_connectors.jdbc.source.source import hints_of
from seatunnel_connectors.jdbc.target.held_connection import HeldConnection
from seatunnel_connectors.jdbc.target.load_decision import TABLE
from seatunnel_connectors.jdbc.target.unit_record import RecordedUnit
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Block,
    FatalError,
    NativeForm,
    NativeReader,
    NativeRefusedError,
    NativeWriter,
    Piece,
    Plain,
    Position,
    SourceTable,
    Split,
    WriteContext,
)

FORM = "PostgreSQL binary COPY"


def native_form(table: SourceTable) -> NativeForm | None:
    """Types that COPY sends, one for each column."""
    hints = hints_of(table)
    if len(hints.fulls) != len(hints.columns):
        return None  # an older version did not store the types
    names = table.schema.names
    return NativeForm(FORM, tuple(zip(names, map(sent_as, hints.fulls), strict=True)))


def takes_native(form: NativeForm, setup: Mapping[str, Plain]) -> bool:
    """True if the target's column takes each type's bytes as they are, and no modifier there would round them. Nulls in
    a key are not checked on this route, so the target must refuse them."""
    load = load_of(setup)
    if load.nulls_in_key and load.whole:
        return False
    if form.name != FORM or [name for name, _ in form.columns] != [column.source for column in load.columns]:
        return False
    return all(same_bytes(full, column.full) for (_, full), column in zip(form.columns, load.columns, strict=True))


class PostgresNativeReader(NativeReader):
    def __init__(self, address: Address, table: SourceTable) -> None:
        self.address = address
        self.table = table

    def read(self, split: Split, start: Position | None) -> Iterator[Block]:
        generation = str(split.payload.get("snapshot") or "")
        hints = hints_of(self.table)
        select = reading.statement(hints, split, start, native=True)
        sql = f"{select} LIMIT 0; COPY ({select}) TO STDOUT (FORMAT binary)"
        if generation:
            sql = f"{join_snapshot(generation)}; {unchanged(select)}; {sql}; COMMIT"
        what = f"reading table {self.table.schema.path}, split {split.id}"
        wanted = tuple(type_number(full) for full in hints.fulls)
        with explained(what), stream(self.address) as session:
            try:
                for block in session.copy_out(sql):
                    if session.types != wanted:
                        raise NativeRefusedError(
                            "columns are of other types than they were: their bytes mean something else"
                        )
                    yield block
            except psycopg.Error as error:
                check_snapshot(error, generation, self.table)
                raise
            self.rows = session.rows


_conflicting: set[str] = set()
"""Loads whose target has been found to hold some of their keys, in this process: their rows are merged at once."""


class PostgresNativeWriter(NativeWriter):
    """Writes one unit into one table, in one transaction. Rows that may have to be merged by key are copied into the
    table until a key exists already; from then on they go through a temporary one."""

    def __init__(self, address: Address, table: str, context: WriteContext) -> None:
        self.load: Load = load_of(context.setup).for_unit(context)
        self.shown = f"{self.load.schema}.{self.load.table}"
        self.bytes = 0
        self.begun = False
        by_key = bool(self.load.key and self.load.upsert) and self.load.how == TABLE
        self.staging = Staging(self.load, (False,) * len(self.load.columns))
        self.merges = by_key and self.load.token in _conflicting
        with explained(f"connecting to write table {self.shown}"):
            self.held = HeldConnection(stream(address))
        session: CopyStream = self.held.connection
        self.session = session
        self.record = UnitRecord(self.load, table, context, session.run, session.ask)
        try:
            with explained(f"looking back at a unit of table {self.shown}"):
                self.record.look_back()
            if self.record.held is not None and self.record.held.end is not None:
                raise NativeRefusedError("an earlier attempt stopped inside the split")
        except BaseException:
            self.abort()
            raise

    def write(self, block: Block) -> None:
        self.bytes += len(block)
        if self.record.before is not None:
            return
        try:
            if not self.begun:
                self.begun = True
                first = [self.staging.create(counted=True)] if self.merges else []
                self.session.begin_copy("; ".join([*begin_unit(self.load), *first, self._copy()]))
            self.session.feed(block)
        except psycopg.Error as error:
            raise self._explained(error) from error

    def _copy(self) -> str:
        columns = listed(column.name for column in self.load.columns)
        into = self.staging.relation if self.merges else quote(self.load.schema, self.load.into)
        return f"COPY {into} ({columns}) FROM STDIN (FORMAT binary)"

    def stage(self, rows: int) -> Piece:
        try:
            piece = self._staged(rows)
        except BaseException:
            self.abort()
            raise
        self.held.release()
        return piece

    def _staged(self, rows: int) -> Piece:
        if self.record.before is not None:
            return self.record.already(self.record.before, rows)
        merged = 0
        if self.begun:
            try:
                confirmed = self.session.end_copy()
                if confirmed == rows and self.merges:
                    merged = rows - self._merge()
            except psycopg.Error as error:
                raise self._explained(error) from error
            if confirmed != rows:
                raise FatalError(f"table {self.shown}: {confirmed} of {rows} rows were confirmed by the server")
        return self.record.commit(RecordedUnit(rows, self.bytes, merged, None, rows), begun=self.begun)

    def _merge(self) -> int:
        """Merge the temporary table into the target. Return the number of written rows: one per key, fewer only if
        older versions met newer ones."""
        self.session.run(self.staging.upsert())
        written = self.session.rows
        if not self.load.versioned_by:
            [found] = self.session.ask(f"SELECT count(*) AS keys FROM ({self.staging.keys()}) k")
            if written != found["keys"]:
                raise FatalError(f"table {self.shown}: {written} of {found['keys']} keys were confirmed by the server")
        return written

    def _explained(self, error: psycopg.Error) -> Exception:
        if error.sqlstate == UNIQUE and self.load.key and self.load.upsert and self.load.how == TABLE:
            _conflicting.add(self.load.token)
            return NativeRefusedError("a key is there already", again=not self.merges)
        return failure(error, f"writing table {self.shown}")

    def abort(self) -> None:
        """Close the session instead of returning it: the server then rolls back the open transaction."""
        self.held.discard()
