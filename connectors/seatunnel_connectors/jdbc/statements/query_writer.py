"""Runs the sink's ``query`` option: one statement per row, in one transaction per unit.

For exactly-once writes, that transaction also holds the unit's record, as for generated statements: the effects of the
query then count once, whatever they are.
"""

from __future__ import annotations

import secrets

import pyarrow as pa

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.statements.ledger_tables import LEDGER, PIECES, StatementLedger
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.target_dialect import Row, RowsRefusedError, StatementSession, TargetDialect
from seatunnel_connectors.jdbc.statements.writer import StatementWriter
from seatunnel_connectors.jdbc.target.held_connection import HeldConnection
from seatunnel_connectors.jdbc.target.partial_rows import refuse_absent
from seatunnel_connectors.jdbc.target.query_parameters import Parameterised, bind
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Batch,
    Effect,
    FatalError,
    Piece,
    Setup,
    TablePath,
    TableSchema,
    Visible,
    WriteContext,
    Writer,
)


class StatementQueryWriter(Writer):
    """Runs the statement for every row, of any kind, as SeaTunnel does. A failed unit has no effect."""

    def __init__(self, dialect: TargetDialect, request: SinkRequest) -> None:
        self.dialect = dialect
        self.table = request.table
        self.statement = _bound(dialect, request)
        self.what = f"running the sink's query for table {request.table.path}"
        self.rows = self.bytes = 0
        with dialect.explained(self.what):
            self.held = HeldConnection(dialect.sessions(request.address))
            self.session: StatementSession = self.held.connection
            self.session.begin()

    def write(self, batch: Batch) -> None:
        refuse_absent(batch, self.what)
        rows = _values(self.dialect, self.table, self.statement, batch.data, self.what)
        with self.dialect.explained(self.what):
            try:
                self.session.run_many(self.statement.sql, rows)
            except RowsRefusedError as refused:
                raise refused.bad_rows(self.what, self.rows) from refused.__cause__
        self.rows += batch.rows
        self.bytes += batch.data.nbytes

    def stage(self) -> Piece:
        try:
            with self.dialect.explained(self.what):
                self.session.commit()
        except BaseException:
            self.abort()
            raise
        self.held.release()
        return Piece(self.rows, self.bytes)

    def abort(self) -> None:
        self.held.discard()


class RecordedStatementQueryWriter(StatementWriter):
    """Adds the unit's record, like a unit of generated statements, and runs the query."""

    def __init__(
        self, dialect: TargetDialect, request: SinkRequest, load: StatementLoad, context: WriteContext
    ) -> None:
        self.statement = _bound(dialect, request)
        super().__init__(dialect, request, load, context)
        self.what = f"running the sink's query for table {request.table.path}"

    def run_block(self, data: pa.RecordBatch, kinds: pa.UInt8Array | None) -> None:
        self.session.run_many(self.statement.sql, _values(self.dialect, self.table, self.statement, data, self.what))


def plan_query(dialect: TargetDialect, address: Address) -> Setup:
    """The ledger in the database of the url. FatalError where there is none, and none can be made."""
    try:
        database, pieces = dialect.place(address, TablePath("", "", PIECES))
    except ValueError:
        raise FatalError(
            "is_exactly_once with a query needs a database for its ledger, and the url names none",
            "write the database into the url",
        ) from None
    with dialect.explained(f"looking for the ledger in {address.display}"), dialect.sessions(address) as session:
        target = dialect.look(session, database, pieces)
    if not (target.has_books or target.may_create):
        raise FatalError(
            f"is_exactly_once needs a ledger in {address.display}, and the user may not create tables there",
            "grant the user the right, or set is_exactly_once = false",
        )
    token = secrets.token_hex(4)
    make = () if target.has_books else tuple(StatementLedger(dialect, database, token, "").create())
    load = StatementLoad(database, "(query)", token, (), (), False, True, prepare=make, booked=target.has_books)
    effects = (Effect("create ledger", f"{database}.{LEDGER}".lstrip(".")),) if make else ()
    return Setup(effects, load.to_plain(), Visible.STAGED, counted=True)


def _bound(dialect: TargetDialect, request: SinkRequest) -> Parameterised:
    assert request.options.query is not None
    return bind(request.options.query, request.table, dialect.marker, escape_percent=dialect.marker == "%s")


def _values(
    dialect: TargetDialect, table: TableSchema, statement: Parameterised, data: pa.RecordBatch, what: str
) -> list[Row]:
    columns = []
    for at in statement.positions:
        column = table.columns[at]
        try:
            columns.append(dialect.values(data.column(at), column))
        except ValueError as error:
            raise FatalError(f"{what}: column {column.name!r}: {error}") from None
    return list(zip(*columns, strict=True)) if columns else [()] * data.num_rows
