"""The sink's ``query`` option: one statement a row, in one transaction a unit."""

from __future__ import annotations

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.held import Held
from seatunnel_connectors.jdbc.parameters import bind
from seatunnel_connectors.jdbc.statements.flavor import Flavor, Session
from seatunnel_py.api import Batch, FatalError, Piece, Writer


class QueryWriter(Writer):
    """Every row of whatever kind is given to the statement, as the peer does. A failed unit leaves nothing behind."""

    def __init__(self, flavor: Flavor, request: SinkRequest) -> None:
        assert request.options.query is not None
        self.flavor = flavor
        self.table = request.table
        self.statement = bind(request.options.query, request.table, flavor.marker, escape_percent=flavor.marker == "%s")
        self.what = f"running the sink's query for table {request.table.path}"
        self.rows = self.bytes = 0
        with flavor.explained(self.what):
            self.held = Held(flavor.sessions(request.address))
            self.session: Session = self.held.connection
            self.session.begin()

    def write(self, batch: Batch) -> None:
        columns = []
        for at in self.statement.positions:
            column = self.table.columns[at]
            try:
                columns.append(self.flavor.values(batch.data.column(at), column))
            except ValueError as error:
                raise FatalError(f"{self.what}: column {column.name!r}: {error}") from None
        rows = list(zip(*columns, strict=True)) if columns else [()] * batch.rows
        with self.flavor.explained(self.what):
            self.session.run_many(self.statement.sql, rows)
        self.rows += batch.rows
        self.bytes += batch.data.nbytes

    def stage(self) -> Piece:
        try:
            with self.flavor.explained(self.what):
                self.session.commit()
        except BaseException:
            self.abort()
            raise
        self.held.release()
        return Piece(self.rows, self.bytes)

    def abort(self) -> None:
        self.held.discard()
