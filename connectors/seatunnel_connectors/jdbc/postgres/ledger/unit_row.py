"""Keeps a unit's own row in the target, which makes its rows count once, in every recipe.

The row is written in the transaction of the unit's rows. If the target itself was written, an attempt at rows that
another attempt has committed applies nothing; if the rows are staged in a separate table, the new attempt replaces the
older one. Older epochs and runs are fenced off.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import adbc_driver_manager as adbc
import psycopg

from seatunnel_connectors.jdbc import failpoints
from seatunnel_connectors.jdbc.postgres.connection.session import failure, literal, quote, relation_of
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import PIECES, PostgresLedger, oid_of
from seatunnel_connectors.jdbc.postgres.write import prepared
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load
from seatunnel_connectors.jdbc.target.load_decision import PREPARED, STAGED, TABLE
from seatunnel_connectors.jdbc.target.unit_record import RecordedUnit, fenced_off
from seatunnel_py.api import FatalError, Piece, RetriableError, WriteContext

UNIQUE = "23505"
_NOT_NULL = "23502"

SessionError = (adbc.Error, psycopg.Error)


class UnitRecord:
    """Record of a unit. ``run`` and ``ask`` use the session of the unit's rows; their errors are the driver's own.

    ``held`` is the record that another attempt at these rows has committed, None if there was none at the start of this
    one; ``before`` is the same record if it is valid for these rows. If this attempt replaces it, ``replaced`` is the
    table with its rows, or empty.
    """

    def __init__(
        self,
        load: Load,
        table: str,
        context: WriteContext,
        run: Callable[[str], object],
        ask: Callable[[str], list[dict[str, Any]]],
    ) -> None:
        self.context = context
        self.load = load
        self.shown = f"{load.schema}.{load.table}"
        self.books = PostgresLedger(load.schema, load.token, table) if load.books else None
        self.held: RecordedUnit | None = None
        self.before: RecordedUnit | None = None
        self.replaced: str | None = None
        self._run = run
        self._ask = ask

    def look_back(self) -> None:
        """Look for an existing record, if the unit was tried before, or follows one of an older epoch."""
        context = self.context
        if self.books and (context.attempt or context.epoch or context.incarnation > 1):
            self._run(
                self.books.raise_fence(
                    context.job_id, context.lineage, context.step, context.incarnation, context.epoch
                )
            )
            if self.load.how == PREPARED:
                for row in self._ask(prepared.older(self.load, context)):
                    self._run(f"ROLLBACK PREPARED {literal(row['gid'])}")
            self._look(self.books)

    def _look(self, books: PostgresLedger) -> None:
        found = self._ask(books.select_piece(self.context.data_id))
        if not found:
            return
        row = found[0]
        if self.load.how in (STAGED, PREPARED):
            if row["checkpoint"] is not None or self.load.how == PREPARED:
                raise FatalError(f"table {self.shown}: unit {self.context.data_id} is part of a checkpoint already")
            self.replaced = row["staged"] or ""
            return
        end = json.loads(row["source_position"]) if row["source_position"] else None
        self.held = RecordedUnit(row["rows"], row["bytes"], row["merged"], end, row["source_rows"])
        if self.load.key and self.load.upsert and self.load.how == TABLE:
            self.replaced = (
                row["staged"] or ""
            )  # by key the rows may be repeated, even if a query returns others this time
        else:
            self.before = self.held

    def commit(self, mine: RecordedUnit, *, begun: bool) -> Piece:
        """Send the unit's own row and COMMIT in one message. If another attempt was faster, this one rolls back."""
        staged, end = self.load.into if self.load.how == STAGED and begun else "", "COMMIT"
        if self.load.how == PREPARED:
            staged = prepared.gid(self.load, self.context)
            end = f"PREPARE TRANSACTION {literal(staged)}"
        last = [] if begun else ["BEGIN", *self.load.make]
        if self.books and self.replaced is not None:
            last.append(self.books.forget_piece(self.context.data_id, self.replaced))
            if self.replaced and self.load.how == STAGED:
                last.append(f"DROP TABLE IF EXISTS {quote(self.load.schema, self.replaced)}")
        if self.books:
            last.append(self.books.insert_piece(self.context, mine, self._place(staged)))  # which checks the fence
            last += [] if self.load.recorded else [self.books.forget_unit(self.context.data_id)]
        failpoints.POSTGRES_WRITTEN.hit()
        try:
            self._run("; ".join([*last, end]))
        except SessionError as error:
            if error.sqlstate == _NOT_NULL:
                raise fenced_off(self.shown) from error
            if self.books is None or error.sqlstate != UNIQUE or relation_of(error) != PIECES:
                # COMMIT checks deferred constraints.
                raise failure(error, f"committing a unit of table {self.shown}") from error
            return self._other_was_faster(self.books, mine)
        failpoints.POSTGRES_UNIT.hit()
        return mine.piece(self.context, replayed=False, staged=staged)

    def _place(self, staged: str) -> str:
        """SQL expression for the table with the rows; NULL if the user's statement decides that."""
        if self.load.how == STAGED:
            return literal(staged) if staged else "NULL"
        return oid_of(self.load.schema, self.load.into) if self.load.into else "NULL"

    def already(self, recorded: RecordedUnit, rows: int) -> Piece:
        """Result of an earlier attempt that has committed the same rows: nothing is applied, its counts are used."""
        recorded.check_same(rows, self.shown)
        self._run("ROLLBACK")
        return recorded.piece(self.context, replayed=True)

    def _other_was_faster(self, books: PostgresLedger, mine: RecordedUnit) -> Piece:
        self._run("ROLLBACK")
        self._look(books)
        if self.before is None:
            raise RetriableError(f"table {self.shown}: another attempt at unit {self.context.data_id} was faster")
        return self.already(self.before, mine.rows)
