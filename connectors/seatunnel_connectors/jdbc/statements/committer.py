"""Commits units written by statements: staged rows are added to the target, in the transaction that writes the ledger.
If units write to the target itself, only the ledger is written."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from seatunnel_connectors.jdbc import failpoints
from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.statements import cleanup
from seatunnel_connectors.jdbc.statements.ledger_tables import LEDGER, PIECES, StatementLedger, UnitRow
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad, load_of
from seatunnel_connectors.jdbc.statements.staged import Staged
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession, TargetDialect
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_connectors.jdbc.target.load_decision import SHADOW, STAGED
from seatunnel_connectors.jdbc.target.unit_record import data_ids, fenced_off, lives
from seatunnel_py.api import CannotResumeError, CommitContext, Committer, FatalError, Piece


class StatementCommitter(Committer):
    """Commits one sink and table, on the driver."""

    def __init__(self, dialect: TargetDialect, request: SinkRequest) -> None:
        self.dialect = dialect
        self.request = request

    def _books(self, load: StatementLoad) -> StatementLedger:
        return StatementLedger(self.dialect, load.database, load.token, str(self.request.table.path))

    @contextmanager
    def _session(self, load: StatementLoad, what: str) -> Iterator[StatementSession]:
        """Open a session for a target with a ledger. Raise FatalError if the ledger is missing."""
        address = self.request.address
        try:
            with self.dialect.explained(what), self.dialect.sessions(address) as session:
                yield session
        except FatalError as error:
            with self.dialect.explained(what), self.dialect.sessions(address) as session:
                for table in (LEDGER, PIECES):
                    if not self.dialect.is_there(session, load.database, table):
                        shown = ".".join(filter(None, (load.database, table)))
                        raise conservation.ledger_gone(shown, load.shown) from error
            raise

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        load = load_of(context.setup)
        if not load.books:
            return
        with self._session(load, f"committing table {load.table}") as session:
            failpoints.STATEMENTS_BEFORE.hit()
            with self.dialect.watched(session):
                session.begin()
                self._commit(session, load, pieces, context)
                failpoints.STATEMENTS_INSIDE.hit()
                session.commit()
            failpoints.STATEMENTS_AFTER.hit()
            if load.how == STAGED and context.final:
                session.run(Staged(self.dialect, load).drop())

    def _commit(
        self, session: StatementSession, load: StatementLoad, pieces: Sequence[Piece], context: CommitContext
    ) -> None:
        books = self._books(load)
        done, incarnation = books.lock(session, context.lineage, context.step)
        if incarnation > context.incarnation:
            raise fenced_off(load.table)
        if done is not None and done >= context.checkpoint:
            return
        held = books.held(session)
        self._compare(load, pieces, held)
        place = self._same_table(session, load, pieces, held)
        self._apply(session, load, books, pieces, context)
        if place and pieces and not context.final:
            books.remember(session, place, held)
        if load.told_by and context.final:
            self._unmark(session, load)
        books.record(session, context)

    def _begin_anew(self, load: StatementLoad) -> str:
        return Staged(self.dialect, load).restart_remedy

    def _compare(self, load: StatementLoad, pieces: Sequence[Piece], held: Mapping[str, UnitRow]) -> None:
        """Raise FatalError if a written unit has no record, or one with another row count."""
        names = data_ids(pieces)
        if lost := [name for name in names if name not in held]:
            raise CannotResumeError(
                f"table {load.table}: {len(lost)} of {len(names)} units that were written are not in the target's "
                "records: they are lost",
                self._begin_anew(load),
            )
        staged, found = sum(piece.rows for piece in pieces), sum(held[name].rows for name in names)
        if staged != found:
            place = f"{len(names)} units, according to {PIECES}"
            raise conservation.lost_rows(load.shown, place, staged, found, self._begin_anew(load))

    def _same_table(
        self, session: StatementSession, load: StatementLoad, pieces: Sequence[Piece], held: Mapping[str, UnitRow]
    ) -> str | None:
        """The table with the target's name. Raise FatalError if rows of this run are in another one."""
        if not load.told_by:
            return None
        names = [*(data_ids(pieces) if load.how != STAGED else ()), ""]
        now = self.dialect.table_id(session, load)
        others = {held[name].place for name in names if name in held and held[name].place} - {now or ""}
        if not others:
            return now
        if where := next(filter(None, (self.dialect.name_of(session, load, one) for one in sorted(others))), None):
            raise conservation.renamed(load.shown, where)
        rebuilt = self.dialect.same_id_lost_by
        anew = self._begin_anew(load)
        if now and rebuilt:
            books = self._books(load)
            told = (
                f"UPDATE {books.pieces} SET staged = '{now}' WHERE token = '{load.token}' AND staged = '{min(others)}'"
            )
            anew = f"if it was only rebuilt and its rows are there, {told} and run with --restore latest; else {anew}"
        raise conservation.other_table(load.shown, anew, there=now is not None, rebuilt=rebuilt)

    def _unmark(self, session: StatementSession, load: StatementLoad) -> None:
        for statement in self.dialect.unmark(load.token):
            session.run(statement)

    def _apply(
        self,
        session: StatementSession,
        load: StatementLoad,
        books: StatementLedger,
        pieces: Sequence[Piece],
        context: CommitContext,
    ) -> None:
        """Apply the pieces, in the transaction of the ledger."""
        if load.how == STAGED:
            self._add_staged(session, load, books, pieces, context)
        elif load.how == SHADOW:
            books.accept(session, context.checkpoint, data_ids(pieces))
        else:
            self._keep_books(session, books, pieces, context)

    def _keep_books(
        self, session: StatementSession, books: StatementLedger, pieces: Sequence[Piece], context: CommitContext
    ) -> None:
        """Update the records of rows that are in the target itself."""
        contested = _contested(pieces)
        books.take_off(session, [name for name in data_ids(pieces) if name not in contested])
        newest = lives(pieces)
        books.keep_late(session, context.checkpoint, sorted(contested), max(newest.values(), default=(0, 0)))
        for vertex, life in newest.items():
            books.forget_late(session, vertex, life)

    def _add_staged(
        self,
        session: StatementSession,
        load: StatementLoad,
        books: StatementLedger,
        pieces: Sequence[Piece],
        context: CommitContext,
    ) -> None:
        staged = Staged(self.dialect, load)
        books.accept(session, context.checkpoint, data_ids(pieces))
        if context.final or not load.at_end:
            staged.move(session, books.named(session))
            books.forget_named(session)
        for vertex, life in lives(pieces).items():
            staged.forget(session, books.forget_overtaken(session, vertex, life))

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        load = load_of(context.setup)
        if not load.books or not context.final:
            return  # if the run continues, a later execution's commit finds leftovers of older ones
        with (
            self.dialect.explained(f"dropping what was staged for {load.table}"),
            self.dialect.sessions(self.request.address) as session,
        ):
            if load.how == STAGED:
                session.run(Staged(self.dialect, load).drop())
            if load.told_by:
                self._unmark(session, load)
            self._books(load).forget_all(session)

    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        load = load_of(context.setup)
        if not load.booked:
            return None
        books = self._books(load)
        with self._session(load, f"reading the ledger of {load.table}") as session:
            if fresh:
                books.release_owner(session, context)
            return next(iter(books.others(session, context)), None)

    def last_committed(self, context: CommitContext) -> int | None:
        load = load_of(context.setup)
        if not load.booked:
            return None
        with self._session(load, f"reading the ledger of {load.table}") as session:
            return self._books(load).last(session, context.lineage, context.step)

    def sweep(self, context: CommitContext) -> Sequence[str]:
        load = load_of(context.setup)
        if not load.booked:
            return ()
        with (
            self.dialect.explained(f"removing what earlier runs have left beside {load.shown}"),
            self.dialect.sessions(self.request.address) as session,
        ):
            return cleanup.sweep(session, self.dialect, load, self._books(load), context)

    def ledger(self, context: CommitContext) -> Hashable:
        load = load_of(context.setup)
        return (self.request.address.identity, load.database) if load.books and self.dialect.clock else None

    def lineage_ended(self, context: CommitContext, keep_days: int) -> None:
        load = load_of(context.setup)
        with self._session(load, f"sweeping the ledger of {load.table}") as session:
            books = self._books(load)
            books.end(session, context)
            books.sweep(session, keep_days)

    def recover(self, context: CommitContext) -> int | None:
        load = load_of(context.setup)
        if not load.books:
            return None
        books = self._books(load)
        with (
            self._session(load, f"reading the ledger of {load.table}") as session,
            self.dialect.alone(session, load.database, load.table),  # not while an older driver empties the table
        ):
            session.begin()
            last, _ = books.lock(session, context.lineage, context.step)
            books.raise_fence(session, context.job_id, context.lineage, context.step, context.incarnation, 0)
            session.commit()
        failpoints.STATEMENTS_FENCED.hit()
        return last


def _contested(pieces: Sequence[Piece]) -> set[str]:
    return set(data_ids([piece for piece in pieces if piece.data["contested"]]))
