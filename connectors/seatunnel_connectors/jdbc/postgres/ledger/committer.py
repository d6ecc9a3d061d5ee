"""Commits a table: a shadow takes the target's name, or staged rows are added to the target, in the transaction that
writes the ledger. If units write to the target itself, only the ledger is written."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import cast

import psycopg

from seatunnel_connectors.jdbc import failpoints
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained, statements
from seatunnel_connectors.jdbc.postgres.ledger import staged
from seatunnel_connectors.jdbc.postgres.ledger.ledger_commit import fenced_off, keep
from seatunnel_connectors.jdbc.postgres.ledger.ledger_entries import entry_of
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import LEDGER, PIECES, PostgresLedger
from seatunnel_connectors.jdbc.postgres.write import cleanup, prepared, shadow
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load, load_of
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_connectors.jdbc.target.load_decision import PREPARED, SHADOW, STAGED, TABLE
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import CannotResumeError, CommitContext, Committer, FatalError, Piece, SinkCommit, TableSchema


class PostgresCommitter(Committer):
    """Commits one sink and table, on the driver."""

    def __init__(self, address: Address, table: TableSchema) -> None:
        self.address = address
        self.table = table

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        load = load_of(context.setup)
        if not load.books:
            return
        books, entry = self._books(load), entry_of(load, str(self.table.path), pieces, context)
        with self._session(load, f"committing table {entry.shown}") as db:
            failpoints.POSTGRES_BEFORE.hit()
            if load.how == PREPARED and not self._known(db, books, context):
                prepared.commit_all(db, load, books, pieces)
            _make(db, [(load, context, pieces)])
            then = partial(self._apply, db, load, books, final=context.final)
            keep(db, load.schema, [entry], then)
            if load.how == PREPARED and context.final:
                prepared.roll_back_all(db, load)
        failpoints.POSTGRES_AFTER.hit()

    def commits_with(self, context: CommitContext) -> Hashable:
        load = load_of(context.setup)
        waits = load.how == SHADOW or (load.how == STAGED and load.at_end)
        if not load.books or not (load.how == TABLE or (waits and not context.final)):
            return None
        return "postgres", self.address.identity, load.schema, waits

    def commit_together(self, commits: Sequence[SinkCommit]) -> None:
        loads = [load_of(one.context.setup) for one in commits]
        tables = [str(cast("PostgresCommitter", one.committer).table.path) for one in commits]
        entries = [
            entry_of(load, table, one.pieces, one.context)
            for load, table, one in zip(loads, tables, commits, strict=True)
        ]
        schema = loads[0].schema
        with explained(f"committing {len(commits)} tables of schema {schema}"), statements(self.address) as db:
            failpoints.POSTGRES_BEFORE.hit()
            try:
                _make(db, [(load, one.context, one.pieces) for load, one in zip(loads, commits, strict=True)])
                keep(db, schema, entries)
            except psycopg.errors.LockNotAvailable as error:
                raise FatalError(f"another session holds the ledger's row of one of these tables: {error}") from error
        failpoints.POSTGRES_AFTER.hit()

    def _books(self, load: Load) -> PostgresLedger:
        return PostgresLedger(load.schema, load.token, str(self.table.path))

    @contextmanager
    def _session(self, load: Load, what: str) -> Iterator[Statements]:
        """Open a session for a target with a ledger. Raise FatalError if the ledger is missing."""
        with explained(what), statements(self.address) as db:
            try:
                yield db
            except psycopg.errors.UndefinedTable as error:
                for table in (LEDGER, PIECES):
                    if table in str(error):
                        raise conservation.ledger_gone(f"{load.schema}.{table}", load.shown) from error
                raise

    def _known(self, db: Statements, books: PostgresLedger, context: CommitContext) -> bool:
        """True if the ledger has this checkpoint. Raise FatalError if the ledger has a newer run."""
        row = db.execute(books.lock(context.lineage, context.step).encode()).fetchone()
        if row is not None and row[1] > context.incarnation:
            raise fenced_off(f"{books.schema}.{self.table.path.table}")
        return row is not None and row[0] is not None and bool(row[0] >= context.checkpoint)

    def _apply(self, db: Statements, load: Load, books: PostgresLedger, *, final: bool) -> None:
        """Make the rows visible, together with the ledger."""
        if load.how == STAGED and (final or not load.at_end):
            staged.add_named(db, load, books)
        if load.how == STAGED and final:
            self._drop_all(db, load, books)
        if load.how == SHADOW and final:
            self._nothing_else(db, load, books)
            shadow.finish(db, load, self._staged_rows(db, books))
            db.execute(books.forget_pieces().encode())

    def _drop_all(self, db: Statements, load: Load, books: PostgresLedger) -> None:
        """Drop everything that this run has staged, in any attempt."""
        if load.how != PREPARED:
            left = db.execute(books.tables(load.into).encode()).fetchall()
            staged.drop(db, load.schema, (table for (table,) in left))
        db.execute(books.forget_pieces().encode())

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        """Abandon the run: drop what no commit will finish. For a run that continues, a later execution's commit finds
        the leftovers of earlier ones: dropping here could delete rows of others that a checkpoint contains."""
        load = load_of(context.setup)
        if not load.books or not context.final:
            return
        with explained(f"dropping what was staged for {load.schema}.{load.table}"), statements(self.address) as db:
            if load.how == PREPARED:
                prepared.roll_back_all(db, load)
            if load.how == TABLE:  # the rows are in the target; their records are not needed any more
                db.execute(self._books(load).forget_pieces().encode())
            else:
                self._drop_all(db, load, self._books(load))

    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        load = load_of(context.setup)
        if not load.booked:
            return None
        books = self._books(load)
        with self._session(load, f"reading the ledger of {load.shown}") as db:
            if fresh:
                db.execute(books.release_owner(context).encode())
            row = db.execute(books.others(context).encode()).fetchone()
        return row[0] if row else None

    def last_committed(self, context: CommitContext) -> int | None:
        load = load_of(context.setup)
        if not load.booked:
            return None
        with self._session(load, f"reading the ledger of {load.shown}") as db:
            row = db.execute(self._books(load).last(context).encode()).fetchone()
        return row[0] if row else None

    def sweep(self, context: CommitContext) -> Sequence[str]:
        load = load_of(context.setup)
        if not load.booked:
            return ()
        what = f"removing what earlier runs have left beside {load.shown}"
        with explained(what), statements(self.address) as db:
            return cleanup.sweep(db, load, self._books(load), context)

    def ledger(self, context: CommitContext) -> Hashable:
        load = load_of(context.setup)
        return ("postgres", self.address.identity, load.schema) if load.books else None

    def lineage_ended(self, context: CommitContext, keep_days: int) -> None:
        load = load_of(context.setup)
        books = self._books(load)
        with explained(f"sweeping the ledger of schema {load.schema}"), statements(self.address) as db:
            db.execute(books.end(context).encode())
            db.execute(books.sweep(keep_days).encode())

    def recover(self, context: CommitContext) -> int | None:
        """Return the last committed checkpoint. Announces this incarnation, so that writers of older ones are
        refused."""
        load = load_of(context.setup)
        if not load.books:
            return None
        books = self._books(load)
        with self._session(load, f"reading the ledger of {load.shown}") as db:
            row = db.execute(books.lock(context.lineage, context.step).encode()).fetchone()
            db.execute(
                books.raise_fence(context.job_id, context.lineage, context.step, context.incarnation, 0).encode()
            )
        failpoints.POSTGRES_FENCED.hit()
        return row[0] if row else None

    def _nothing_else(self, db: Statements, load: Load, books: PostgresLedger) -> None:
        """Raise if a shadow has rows of a unit outside of any checkpoint, which cannot be distinguished."""
        unnamed = [row[0] for row in db.execute(books.unnamed().encode())]
        if unnamed:
            raise CannotResumeError(
                f"table {load.schema}.{load.table}: it holds rows of units that no checkpoint names "
                f"({', '.join(unnamed)})",
                load.restart_remedy,
            )

    def _staged_rows(self, db: Statements, books: PostgresLedger) -> int:
        row = db.execute(books.staged_rows().encode()).fetchone()
        assert row is not None
        return int(row[0])


def _make(db: Statements, ends: Iterable[tuple[Load, CommitContext, Sequence[Piece]]]) -> None:
    """Create tables that no unit has created, because there were no rows."""
    script = [statement for load, context, pieces in ends if context.final and not pieces for statement in load.make]
    if script:
        db.execute("; ".join(script).encode(), prepare=False)
