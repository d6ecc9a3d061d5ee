"""From one PostgreSQL table into another as COPY's own bytes, for columns whose binary form is the same on both sides.

The statements, the unit's row and the errors are those of the way through Arrow; only the rows are not looked into.
A small table costs one message to the source and two to the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import psycopg

from seatunnel_connectors.jdbc.held import Held
from seatunnel_connectors.jdbc.postgres import read as reading
from seatunnel_connectors.jdbc.postgres.ddl import listed
from seatunnel_connectors.jdbc.postgres.merge import begin_unit
from seatunnel_connectors.jdbc.postgres.plan import TABLE, Load, load_of
from seatunnel_connectors.jdbc.postgres.record import UNIQUE, UnitRecord
from seatunnel_connectors.jdbc.postgres.session import explained, failure, quote
from seatunnel_connectors.jdbc.postgres.snapshot import check_snapshot, join_snapshot, unchanged
from seatunnel_connectors.jdbc.postgres.stream import Stream, stream
from seatunnel_connectors.jdbc.recorded import Recorded
from seatunnel_connectors.jdbc.source import hints_of
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    FatalError,
    NativeForm,
    NativeReader,
    NativeRefused,
    NativeWriter,
    Piece,
    Plain,
    Position,
    SourceTable,
    Split,
    WriteContext,
)
from seatunnel_py.api.native import Block

FORM = "PostgreSQL binary COPY"

_SCALARS = frozenset(
    {"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "bpchar", "bytea", "date"}
    | {"time", "timetz", "timestamp", "timestamptz", "uuid", "json", "jsonb", "inet", "cidr", "macaddr", "macaddr8"}
    | {"interval", "bit", "varbit", "point", "line", "lseg", "box", "path", "polygon", "circle"}
)
_TYPES = {info.name: info.oid for info in psycopg.adapters.types} | {
    f"_{info.name}": info.array_oid for info in psycopg.adapters.types
}
COPIED = _SCALARS | {f"_{name}" for name in _SCALARS}
"""Types whose binary form depends on nothing but PostgreSQL: no user's type, no setting, no catalog."""


def native_form(table: SourceTable) -> NativeForm | None:
    hints = hints_of(table)
    if len(hints.natives) != len(hints.columns) or not COPIED.issuperset(hints.natives):
        return None
    pairs = zip(hints.columns, hints.natives, strict=True)
    return NativeForm(FORM, tuple((name, _same(native)) for (name, _), native in pairs))


def takes_native(form: NativeForm, setup: Mapping[str, Plain]) -> bool:
    """Not where rows may have to be merged by key: COPY can only add."""
    load = load_of(setup)
    if form.name != FORM or form.columns != tuple((column.source, _same(column.native)) for column in load.columns):
        return False
    return load.how != TABLE or load.fresh or not (load.key and load.upsert)


def _same(native: str) -> str:
    return native.replace("varchar", "text")


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
        wanted = tuple(_TYPES[native] for native in hints.natives)
        with explained(what), stream(self.address) as session:
            try:
                for block in session.copy_out(sql):
                    if session.types != wanted:
                        raise NativeRefused(
                            "columns are of other types than they were: their bytes mean something else"
                        )
                    yield block
            except psycopg.Error as error:
                check_snapshot(error, generation, self.table)
                raise
            self.rows = session.rows


class PostgresNativeWriter(NativeWriter):
    """One unit into one table, in one transaction."""

    def __init__(self, address: Address, table: str, context: WriteContext) -> None:
        self.load: Load = load_of(context.setup).for_unit(context)
        self.shown = f"{self.load.schema}.{self.load.table}"
        self.bytes = 0
        self.begun = False
        with explained(f"connecting to write table {self.shown}"):
            self.held = Held(stream(address))
        session: Stream = self.held.connection
        self.session = session
        self.record = UnitRecord(self.load, table, context, session.run, session.ask)
        try:
            with explained(f"looking back at a unit of table {self.shown}"):
                self.record.look_back()
            if self.record.held is not None and self.record.held.end is not None:
                raise NativeRefused("an earlier attempt stopped inside the split")
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
                self.session.begin_copy("; ".join([*begin_unit(self.load), self._copy()]))
            self.session.feed(block)
        except psycopg.Error as error:
            raise self._explained(error) from error

    def _copy(self) -> str:
        columns = listed(column.name for column in self.load.columns)
        return f"COPY {quote(self.load.schema, self.load.into)} ({columns}) FROM STDIN (FORMAT binary)"

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
        if self.begun:
            try:
                confirmed = self.session.end_copy()
            except psycopg.Error as error:
                raise self._explained(error) from error
            if confirmed != rows:
                raise FatalError(f"table {self.shown}: {confirmed} of {rows} rows were confirmed by the server")
        return self.record.commit(Recorded(rows, self.bytes, 0, None, rows), begun=self.begun)

    def _explained(self, error: psycopg.Error) -> Exception:
        if error.sqlstate == UNIQUE and self.load.key and self.load.upsert and self.load.how == TABLE:
            return NativeRefused("a key is there already")
        return failure(error, f"writing table {self.shown}")

    def abort(self) -> None:
        """The session is closed rather than given back: the server then rolls back what is open."""
        self.held.discard()
