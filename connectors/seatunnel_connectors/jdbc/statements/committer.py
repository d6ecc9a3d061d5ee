"""Finishing what units wrote by statements: staged rows are added to the target, in the transaction that writes the
ledger; where units wrote to the target itself the ledger is all that is left."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from seatunnel_connectors.jdbc import crash_points
from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.recorded import data_ids, fenced_off, lives
from seatunnel_connectors.jdbc.statements.books import Books
from seatunnel_connectors.jdbc.statements.flavor import Flavor, Session
from seatunnel_connectors.jdbc.statements.load import SHADOW, STAGED, Load, load_of
from seatunnel_connectors.jdbc.statements.staged import Staged
from seatunnel_py.api import CommitContext, Committer, NoWayOn, Piece


class StatementCommitter(Committer):
    """One sink and table, on the driver."""

    def __init__(self, flavor: Flavor, request: SinkRequest) -> None:
        self.flavor = flavor
        self.request = request

    def _books(self, load: Load) -> Books:
        return Books(self.flavor, load.database, load.token, str(self.request.table.path))

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        load = load_of(context.setup)
        if not load.books:
            return
        with (
            self.flavor.explained(f"committing table {load.table}"),
            self.flavor.sessions(self.request.address) as session,
        ):
            crash_points.STATEMENTS_BEFORE.hit()
            with self.flavor.watched(session):
                session.begin()
                self._commit(session, load, pieces, context)
                crash_points.STATEMENTS_INSIDE.hit()
                session.commit()
            crash_points.STATEMENTS_AFTER.hit()
            if load.how == STAGED and context.final:
                session.run(Staged(self.flavor, load).drop())

    def _commit(self, session: Session, load: Load, pieces: Sequence[Piece], context: CommitContext) -> None:
        books = self._books(load)
        done, incarnation = books.lock(session, context.lineage, context.step)
        if incarnation > context.incarnation:
            raise fenced_off(load.table)
        if done is not None and done >= context.checkpoint:
            return
        names = data_ids(pieces)
        lost = books.missing(session, names)
        if lost:
            raise NoWayOn(
                f"table {load.table}: {len(lost)} of {len(names)} units that were written are not in the target's "
                "records: they are lost",
                "run the job again with --fresh",
            )
        self._apply(session, load, books, pieces, context)
        books.record(session, context)

    def _apply(
        self, session: Session, load: Load, books: Books, pieces: Sequence[Piece], context: CommitContext
    ) -> None:
        """What becomes of the pieces, in the transaction of the ledger."""
        if load.how == STAGED:
            self._add_staged(session, load, books, pieces, context)
        elif load.how == SHADOW:
            books.accept(session, context.checkpoint, data_ids(pieces))
        else:
            self._keep_books(session, books, pieces, context)

    def _keep_books(self, session: Session, books: Books, pieces: Sequence[Piece], context: CommitContext) -> None:
        """Of rows that are in the target itself."""
        contested = _contested(pieces)
        books.take_off(session, [name for name in data_ids(pieces) if name not in contested])
        newest = lives(pieces)
        books.keep_late(session, context.checkpoint, sorted(contested), max(newest.values(), default=(0, 0)))
        for vertex, life in newest.items():
            books.forget_late(session, vertex, life)

    def _add_staged(
        self, session: Session, load: Load, books: Books, pieces: Sequence[Piece], context: CommitContext
    ) -> None:
        staged = Staged(self.flavor, load)
        books.accept(session, context.checkpoint, data_ids(pieces))
        if context.final or not load.at_end:
            units = staged.in_order(session, books.named(session))
            for unit in units:
                staged.add(session, unit)
            staged.forget(session, units)
            books.forget_named(session)
        for vertex, life in lives(pieces).items():
            staged.forget(session, books.forget_overtaken(session, vertex, life))

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        load = load_of(context.setup)
        if not load.books or not context.final:
            return  # of a run that goes on a later life's commit finds what an older one has left
        with (
            self.flavor.explained(f"dropping what was staged for {load.table}"),
            self.flavor.sessions(self.request.address) as session,
        ):
            if load.how == STAGED:
                session.run(Staged(self.flavor, load).drop())
            self._books(load).forget_all(session)

    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        load = load_of(context.setup)
        if not load.booked:
            return None
        books = self._books(load)
        with (
            self.flavor.explained(f"reading the ledger of {load.table}"),
            self.flavor.sessions(self.request.address) as session,
        ):
            if fresh:
                books.disown(session, context)
            return next(iter(books.others(session, context)), None)

    def ledger(self, context: CommitContext) -> Hashable:
        load = load_of(context.setup)
        return (self.request.address.identity, load.database) if load.books and self.flavor.clock else None

    def lineage_ended(self, context: CommitContext, keep_days: int) -> None:
        load = load_of(context.setup)
        with (
            self.flavor.explained(f"sweeping the ledger of {load.table}"),
            self.flavor.sessions(self.request.address) as session,
        ):
            books = self._books(load)
            books.end(session, context)
            books.sweep(session, keep_days)

    def recover(self, context: CommitContext) -> int | None:
        load = load_of(context.setup)
        if not load.books:
            return None
        books = self._books(load)
        with (
            self.flavor.explained(f"reading the ledger of {load.table}"),
            self.flavor.sessions(self.request.address) as session,
        ):
            session.begin()
            last, _ = books.lock(session, context.lineage, context.step)
            books.raise_fence(session, context.job_id, context.lineage, context.step, context.incarnation, 0)
            session.commit()
        crash_points.STATEMENTS_FENCED.hit()
        return last


def _contested(pieces: Sequence[Piece]) -> set[str]:
    return set(data_ids([piece for piece in pieces if piece.data["contested"]]))
