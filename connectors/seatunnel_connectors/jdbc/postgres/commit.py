"""Finishing: the key and indexes of a shadow are made last, then it takes the target's name; what units have staged is
added to the target; all in the transaction that writes the ledger. Where units write to the target itself only the
ledger is left to be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

from seatunnel_connectors.jdbc import crash_points
from seatunnel_connectors.jdbc.postgres import ddl, prepared, staged
from seatunnel_connectors.jdbc.postgres.ledger import Books
from seatunnel_connectors.jdbc.postgres.plan import PREPARED, SHADOW, STAGED, TABLE, Load, load_of
from seatunnel_connectors.jdbc.postgres.session import Statements, explained, literal, quote, statements
from seatunnel_connectors.jdbc.recorded import data_ids, lives
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import CommitContext, Committer, FatalError, Piece, TableSchema

# For building indexes: enough that a few million keys are sorted in memory.
_MEMORY = "SET LOCAL maintenance_work_mem = '256MB'; SET LOCAL max_parallel_maintenance_workers = 2"


class PostgresCommitter(Committer):
    """One sink and table, on the driver."""

    def __init__(self, address: Address, table: TableSchema) -> None:
        self.address = address
        self.table = table

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        load = load_of(context.setup)
        if not load.books:
            return
        books = Books(load.schema, load.token, str(self.table.path))
        how = self._commit_pieces if load.how in (SHADOW, STAGED) else self._commit_table
        with explained(f"committing table {load.schema}.{load.table}"), statements(self.address) as db:
            crash_points.POSTGRES_BEFORE.hit()
            if load.how == PREPARED and not self._known(db, load, books, context):
                prepared.commit_all(db, load, books, pieces)
            db.execute("BEGIN")
            try:
                ended = how(db, load, books, pieces, context)
            except BaseException:
                db.execute("ROLLBACK")
                raise
            crash_points.POSTGRES_INSIDE.hit()
            db.execute(ended)
            if load.how == PREPARED and context.final:
                prepared.roll_back_all(db, load)
        crash_points.POSTGRES_AFTER.hit()

    def _known(self, db: Statements, load: Load, books: Books, context: CommitContext) -> bool:
        row = db.execute(books.lock(context.lineage, context.step).encode()).fetchone()
        return self._is_done(load, row, context)

    def _commit_table(
        self, db: Statements, load: Load, books: Books, pieces: Sequence[Piece], context: CommitContext
    ) -> LiteralString:
        """Where units write to the target itself: one message, for a job may have hundreds of small tables. The rows
        are durable already, so a ledger row that a crash takes back is only written again."""
        names = data_ids(pieces)
        contested = data_ids([piece for piece in pieces if piece.data["contested"]])
        script = [
            "SET LOCAL synchronous_commit = off",
            books.lock(context.lineage, context.step),
            *([books.take_off(context, names, contested)] if names else []),
            *([books.forget_pieces()] if context.final else []),
            books.record(context, sum(piece.rows for piece in pieces)),
        ]
        cursor = db.execute(";\n".join(script).encode(), prepare=False)
        cursor.nextset()
        if self._is_done(load, cursor.fetchone(), context):
            return "ROLLBACK"
        cursor.nextset()
        if names:
            row = cursor.fetchone()
            self._all_there(load, row[0] if row else 0, len(names))
        return "COMMIT"

    def _commit_pieces(
        self, db: Statements, load: Load, books: Books, pieces: Sequence[Piece], context: CommitContext
    ) -> LiteralString:
        """Where units write beside the target."""
        if self._known(db, load, books, context):
            return "ROLLBACK"
        names = data_ids(pieces)
        if names:
            self._all_there(load, db.execute(books.accept(context, names).encode()).rowcount, len(names))
        {SHADOW: self._add_shadow, STAGED: self._add_staged}[load.how](db, load, books, pieces, final=context.final)
        if not db.execute(books.record(context, sum(piece.rows for piece in pieces)).encode()).rowcount:
            raise self._fenced_off(load)
        return "COMMIT"

    def _add_staged(self, db: Statements, load: Load, books: Books, pieces: Sequence[Piece], *, final: bool) -> None:
        if final or not load.at_end:
            staged.add_named(db, load, books)
        for vertex, life in lives(pieces).items():
            overtaken = db.execute(books.forget_overtaken(vertex, life).encode()).fetchall()
            staged.drop(db, load.schema, (table for (table,) in overtaken if table))
        if final:
            self._drop_all(db, load, books)

    def _add_shadow(self, db: Statements, load: Load, books: Books, pieces: Sequence[Piece], *, final: bool) -> None:
        if final:
            self._nothing_else(db, load, books)
            self._finish(db, load)
            db.execute(books.forget_pieces().encode())

    def _drop_all(self, db: Statements, load: Load, books: Books) -> None:
        """Everything that this run has staged, whoever it was."""
        if load.how != PREPARED:
            left = db.execute(books.tables(load.into).encode()).fetchall()
            staged.drop(db, load.schema, (table for (table,) in left))
        db.execute(books.forget_pieces().encode())

    def _is_done(self, load: Load, row: tuple[Any, ...] | None, context: CommitContext) -> bool:
        """Whether the ledger says so; FatalError where it knows a newer run."""
        if row is not None and row[1] > context.incarnation:
            raise self._fenced_off(load)
        return row is not None and row[0] is not None and bool(row[0] >= context.checkpoint)

    def _fenced_off(self, load: Load) -> FatalError:
        return FatalError(
            f"table {load.schema}.{load.table}: a newer run of this job has taken over; this one is fenced off"
        )

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        """The run is given up: what nobody will finish is dropped. Of a run that goes on, what a life has left is found
        by the commit of a later one: here rows of others would go, that a checkpoint has named."""
        load = load_of(context.setup)
        if not load.books or not context.final:
            return
        with explained(f"dropping what was staged for {load.schema}.{load.table}"), statements(self.address) as db:
            if load.how == PREPARED:
                prepared.roll_back_all(db, load)
            if load.how != TABLE:
                self._drop_all(db, load, Books(load.schema, load.token, str(self.table.path)))

    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        load = load_of(context.setup)
        if not load.booked:
            return None
        books = Books(load.schema, load.token, str(self.table.path))
        with explained(f"reading the ledger of {load.schema}.{load.table}"), statements(self.address) as db:
            if fresh:
                db.execute(books.disown(context).encode())
            row = db.execute(books.others(context).encode()).fetchone()
        return row[0] if row else None

    def recover(self, context: CommitContext) -> int | None:
        """The last committed checkpoint; makes this incarnation known, so that writers of older ones are refused."""
        load = load_of(context.setup)
        if not load.books:
            return None
        books = Books(load.schema, load.token, str(self.table.path))
        with explained(f"reading the ledger of {load.schema}.{load.table}"), statements(self.address) as db:
            row = db.execute(books.lock(context.lineage, context.step).encode()).fetchone()
            db.execute(
                books.raise_fence(context.job_id, context.lineage, context.step, context.incarnation, 0).encode()
            )
        crash_points.POSTGRES_FENCED.hit()
        return row[0] if row else None

    def _all_there(self, load: Load, found: int, wanted: int) -> None:
        if found != wanted:
            raise FatalError(
                f"table {load.schema}.{load.table}: {wanted - found} of {wanted} units that were written are not in "
                "the target's records: they are lost",
                "run the job again with --fresh",
            )

    def _nothing_else(self, db: Statements, load: Load, books: Books) -> None:
        """In a shadow the rows of a unit that no checkpoint names could not be told apart."""
        unnamed = [row[0] for row in db.execute(books.unnamed().encode())]
        if unnamed:
            raise FatalError(
                f"table {load.schema}.{load.table}: it holds rows of units that no checkpoint names "
                f"({', '.join(unnamed)})",
                "run the job again with --fresh",
            )

    def _finish(self, db: Statements, load: Load) -> None:
        """Key and indexes, then the name. Whoever made a table of that name in the meantime keeps it: the rows are
        then added to it."""
        shadow = quote(load.schema, load.into)
        # Two sinks of one run may want the same name at the same time.
        db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{load.schema}.{load.table}"])
        taken = db.execute(
            "SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = %s AND c.relname = %s",
            [load.schema, load.table],
        ).fetchone()
        if taken is not None:
            self._add(db, load)
            return
        db.execute(_MEMORY.encode())
        pkey = ddl.cut(load.into, "_pkey")
        if load.key:
            db.execute(
                f"ALTER TABLE {shadow} ADD CONSTRAINT {quote(pkey)} PRIMARY KEY ({ddl.listed(load.key)})".encode()
            )
        for statement in load.finish:
            db.execute(statement.encode())
        last = [
            f"ALTER TABLE {shadow} RESET (autovacuum_enabled)",
            f"ALTER TABLE {shadow} RENAME TO {quote(load.table)}",
        ]
        db.execute("; ".join(last).encode())
        if load.key:
            self._name_key(db, load, pkey)

    def _name_key(self, db: Statements, load: Load, pkey: str) -> None:
        """The key gets the name that CREATE TABLE would have given it, where that is free."""
        wanted = ddl.cut(load.table, "_pkey")
        free = db.execute(f"SELECT to_regclass({literal(quote(load.schema, wanted))}) IS NULL".encode()).fetchone()
        if free and free[0]:
            db.execute(
                f"ALTER TABLE {quote(load.schema, load.table)} "
                f"RENAME CONSTRAINT {quote(pkey)} TO {quote(wanted)}".encode()
            )

    def _add(self, db: Statements, load: Load) -> None:
        """Another sink of this run (several upstream tables, one target) was first with the name."""
        names = ddl.listed(column.name for column in load.columns)
        conflict = ""
        if load.key and load.upsert:
            updates = ", ".join(f"{quote(column.name)} = excluded.{quote(column.name)}" for column in load.columns)
            conflict = f" ON CONFLICT ({ddl.listed(load.key)}) DO UPDATE SET {updates}"
        shadow = quote(load.schema, load.into)
        db.execute(
            f"INSERT INTO {quote(load.schema, load.table)} ({names}) SELECT {names} FROM {shadow}{conflict}; "
            f"DROP TABLE {shadow}".encode()
        )
