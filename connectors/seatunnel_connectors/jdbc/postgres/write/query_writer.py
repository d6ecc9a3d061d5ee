"""Runs the sink's ``query`` option: one statement per row, in one transaction per unit.

For exactly-once writes, that transaction also holds the unit's record, as for generated statements: the effects of the
query then count once, whatever they are.
"""

from __future__ import annotations

import secrets
from typing import Any

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained, statements
from seatunnel_connectors.jdbc.postgres.ledger import ledger_tables
from seatunnel_connectors.jdbc.postgres.ledger.unit_row import UnitRecord
from seatunnel_connectors.jdbc.postgres.write.inspect_target import Target
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load, load_of
from seatunnel_connectors.jdbc.target.held_connection import HeldConnection
from seatunnel_connectors.jdbc.target.load_decision import TABLE
from seatunnel_connectors.jdbc.target.partial_rows import refuse_absent
from seatunnel_connectors.jdbc.target.query_parameters import bind
from seatunnel_connectors.jdbc.target.unit_record import RecordedUnit
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Batch,
    Effect,
    FatalError,
    Piece,
    Position,
    Reached,
    Setup,
    Visible,
    WriteContext,
    Writer,
)


class PostgresQueryWriter(Writer):
    """Runs the statement for every row, of any kind, as SeaTunnel does. A failed unit has no effect."""

    def __init__(self, address: Address, request: SinkRequest) -> None:
        assert request.options.query is not None
        self.statement = bind(request.options.query, request.table)
        self.what = f"running the sink's query for table {request.table.path}"
        self.rows = self.bytes = 0
        with explained(self.what):
            self.held = HeldConnection(statements(address))
        self.db: Statements = self.held.connection
        self.begun = False

    def write(self, batch: Batch) -> None:
        refuse_absent(batch, self.what)
        self.run(batch)
        self.rows += batch.rows
        self.bytes += batch.data.nbytes

    def run(self, batch: Batch) -> None:
        """Run the statement for each of these rows."""
        columns = [batch.data.column(at).to_pylist() for at in self.statement.positions]
        values = [[_plain(value) for value in row] for row in zip(*columns, strict=True)]
        if not columns:
            values = [[] for _ in range(batch.rows)]
        with explained(self.what), self.db.cursor() as cursor:
            if not self.begun:
                self.db.execute("BEGIN")
                self.begun = True
            cursor.executemany(self.statement.sql.encode(), values)

    def stage(self) -> Piece:
        try:
            with explained(self.what):
                piece = self.end()
        except BaseException:
            self.abort()
            raise
        self.held.release()
        return piece

    def end(self) -> Piece:
        """Commit."""
        if self.begun:
            self.db.execute("COMMIT")
        return Piece(self.rows, self.bytes)

    def abort(self) -> None:
        self.held.discard()


class RecordedPostgresQueryWriter(PostgresQueryWriter):
    """Adds the unit's record to the transaction; an attempt at rows that are already committed applies nothing."""

    def __init__(self, address: Address, request: SinkRequest, context: WriteContext) -> None:
        super().__init__(address, request)
        self.read = 0
        self.position: Position | None = None
        load = load_of(context.setup)
        self.record = UnitRecord(load, str(request.table.path), context, self._run, self._ask)
        try:
            with explained(f"{self.what}: looking back at a unit"):
                self.record.look_back()
        except BaseException:
            self.abort()
            raise
        if self.record.held is not None:
            self.reached = self.record.held.reached

    def run(self, batch: Batch) -> None:
        if self.record.before is None:
            super().run(batch)

    def ends_at(self, reached: Reached) -> None:
        self.position, self.read = reached.end, reached.rows

    def end(self) -> Piece:
        if self.record.before is not None:
            return self.record.already(self.record.before, self.rows)
        end = None if self.position is None else self.position.to_plain()
        return self.record.commit(RecordedUnit(self.rows, self.bytes, 0, end, self.read), begun=self.begun)

    def _run(self, sql: str) -> None:
        self.db.execute(sql.encode(), prepare=False)

    def _ask(self, sql: str) -> list[dict[str, Any]]:
        with self.db.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(sql.encode(), prepare=False).fetchall()


def plan_query(target: Target) -> Setup:
    """Plan the ledger in the connection's current schema; ``target`` is not a table here. Raise FatalError if there is
    no ledger, and none can be created."""
    if not (target.has_books or target.may_create):
        raise FatalError(
            f"is_exactly_once needs a ledger in schema {target.schema}, and the user may not create tables there",
            "grant the user CREATE on the schema, or set is_exactly_once = false",
        )
    make = () if target.has_books else (ledger_tables.create(target.schema).strip().rstrip(";"),)
    load = Load(
        how=TABLE, schema=target.schema, table="(query)", into="", token=secrets.token_hex(4), key=(), upsert=False,
        books=True, columns=(), before=make, booked=target.has_books,
    )  # fmt: skip
    effects = (Effect("create ledger", f"{target.schema}.{ledger_tables.LEDGER}"),) if make else ()
    return Setup(effects, load.to_plain(), Visible.STAGED, counted=True)


def _plain(value: Any) -> Any:
    """Rows and maps as JSON; psycopg adapts everything else itself."""
    if isinstance(value, dict):
        return Jsonb(value)
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return Jsonb(dict(value))
    return value
