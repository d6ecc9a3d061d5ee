"""Commits a shadow: it takes the target's name while the ledger's row is locked, and the ledger then records it."""

from __future__ import annotations

from collections.abc import Sequence

from seatunnel_connectors.jdbc import failpoints
from seatunnel_connectors.jdbc.mysql.connection.named_lock import named_lock
from seatunnel_connectors.jdbc.mysql.write import shadow
from seatunnel_connectors.jdbc.statements.committer import StatementCommitter
from seatunnel_connectors.jdbc.statements.key_collisions import refuse_equal_keys
from seatunnel_connectors.jdbc.statements.ledger_tables import StatementLedger
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad, load_of
from seatunnel_connectors.jdbc.statements.staged import Staged
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession
from seatunnel_connectors.jdbc.target.load_decision import SHADOW
from seatunnel_py.api import CannotResumeError, CommitContext, Piece


class MysqlCommitter(StatementCommitter):
    """Commits one sink and table, on the driver."""

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        load = load_of(context.setup)
        if load.how != SHADOW or not context.final:
            super().commit(pieces, context)
            return
        books = self._books(load)
        with (
            self.dialect.explained(f"committing table {load.table}"),
            self.dialect.sessions(self.request.address) as session,
        ):
            failpoints.MYSQL_BEFORE.hit()
            session.begin()
            # The row must exist to be locked: no other driver may rename, or take over this run, in the meantime.
            books.raise_fence(session, context.job_id, context.lineage, context.step, context.incarnation, 0)
            self._commit(session, load, pieces, context)
            failpoints.MYSQL_INSIDE.hit()
            session.commit()
            failpoints.MYSQL_AFTER.hit()
            with named_lock(session, load.database, load.table):
                shadow.tidy(session, load)

    def _apply(
        self,
        session: StatementSession,
        load: StatementLoad,
        books: StatementLedger,
        pieces: Sequence[Piece],
        context: CommitContext,
    ) -> None:
        super()._apply(session, load, books, pieces, context)
        if load.how != SHADOW or not context.final:
            return
        if unnamed := books.unnamed(session):
            raise CannotResumeError(
                f"table {load.table}: {load.staging} holds rows of units that no checkpoint names "
                f"({', '.join(unnamed)})",
                self._begin_anew(load),
            )
        with self.dialect.sessions(self.request.address) as beside, named_lock(beside, load.database, load.table):
            taken = shadow.take_place(beside, load, context, books.rows_beside(session), self._begin_anew(load))
        if not taken:
            self._add(session, load)

    def _add(self, session: StatementSession, load: StatementLoad) -> None:
        """Another session has created a table of that name meanwhile; it is kept."""
        staged = Staged(self.dialect, load)
        key = staged.key if load.upsert else []
        insert = self.dialect.insert_from(staged.target, staged.columns, key, staged.version, staged.inexact)
        session.run(insert.format(rows=f"SELECT {', '.join(staged.columns)} FROM {staged.staging}"))
        refuse_equal_keys(self.dialect, session, load, staged.staging, staged.target)

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        load = load_of(context.setup)
        if load.how != SHADOW:
            super().abort(pieces, context)
            return
        if not load.books or not context.final:
            return
        books = self._books(load)
        with (
            self.dialect.explained(f"dropping what was written for {load.table}"),
            self.dialect.sessions(self.request.address) as session,
            self.dialect.sessions(self.request.address) as beside,
        ):
            session.begin()
            _, incarnation = books.lock(session, context.lineage, context.step)
            if incarnation <= context.incarnation:  # otherwise it belongs to a newer driver
                with named_lock(beside, load.database, load.table):
                    shadow.drop_unmarked(beside, load)
                books.forget_all(session)
            session.commit()
