"""The sink's ``query`` option: one statement a row, in one transaction a unit."""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.held import Held
from seatunnel_connectors.jdbc.parameters import bind
from seatunnel_connectors.jdbc.postgres.session import Statements, explained, statements
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, Piece, Writer


class QueryWriter(Writer):
    """Every row of whatever kind is given to the statement, as the peer does. A failed unit leaves nothing behind."""

    def __init__(self, address: Address, request: SinkRequest) -> None:
        assert request.options.query is not None
        self.statement = bind(request.options.query, request.table)
        self.what = f"running the sink's query for table {request.table.path}"
        self.rows = self.bytes = 0
        with explained(self.what):
            self.held = Held(statements(address))
            self.db: Statements = self.held.connection
            self.db.execute("BEGIN")

    def write(self, batch: Batch) -> None:
        columns = [batch.data.column(at).to_pylist() for at in self.statement.positions]
        values = [[_plain(value) for value in row] for row in zip(*columns, strict=True)]
        if not columns:
            values = [[] for _ in range(batch.rows)]
        with explained(self.what), self.db.cursor() as cursor:
            cursor.executemany(self.statement.sql.encode(), values)
        self.rows += batch.rows
        self.bytes += batch.data.nbytes

    def stage(self) -> Piece:
        try:
            with explained(self.what):
                self.db.execute("COMMIT")
        except BaseException:
            self.abort()
            raise
        self.held.release()
        return Piece(self.rows, self.bytes)

    def abort(self) -> None:
        self.held.discard()


def _plain(value: Any) -> Any:
    """Rows and maps as JSON; everything else psycopg adapts itself."""
    if isinstance(value, dict):
        return Jsonb(value)
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return Jsonb(dict(value))
    return value
