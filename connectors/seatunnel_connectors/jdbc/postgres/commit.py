"""Finishing: the key and indexes of a shadow are made last, then it takes the target's name, all in the transaction
that writes the ledger. Where units write to the target itself only the ledger is left to be written."""

from __future__ import annotations

from collections.abc import Sequence

from seatunnel_connectors.jdbc.postgres import ddl
from seatunnel_connectors.jdbc.postgres.ledger import Books
from seatunnel_connectors.jdbc.postgres.plan import SHADOW, Load, load_of
from seatunnel_connectors.jdbc.postgres.session import Statements, explained, literal, quote, statements
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
        shown = f"{load.schema}.{load.table}"
        books = Books(load.schema, load.token, str(self.table.path))
        with explained(f"committing table {shown}"), statements(self.address) as db, db.transaction():
            if load.how != SHADOW:
                # The rows are durable already; a ledger row that a crash takes back is written again.
                db.execute("SET LOCAL synchronous_commit = off")
            row = db.execute(books.lock(context.lineage, context.step).encode()).fetchone()
            if row is not None and row[0] is not None and row[0] >= context.checkpoint:
                return
            if row is not None and row[1] > context.incarnation:
                raise FatalError(f"table {shown}: a newer run of this job has taken over; this one is fenced off")
            self._accept(db, load, books, pieces, context)
            if context.final:
                if load.how == SHADOW:
                    self._finish(db, load, books)
                db.execute(books.forget_pieces().encode())
            db.execute(books.record(context, sum(piece.rows for piece in pieces)).encode())

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        """The run is given up: a shadow that nobody will finish is dropped."""
        load = load_of(context.setup)
        if not load.books:
            return
        with explained(f"dropping what was staged for {load.schema}.{load.table}"), statements(self.address) as db:
            if load.how == SHADOW:
                db.execute(f"DROP TABLE IF EXISTS {quote(load.schema, load.into)}".encode())
                db.execute(Books(load.schema, load.token, str(self.table.path)).forget_pieces().encode())

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
        return row[0] if row else None

    def _accept(
        self, db: Statements, load: Load, books: Books, pieces: Sequence[Piece], context: CommitContext
    ) -> None:
        """Every piece must be in the target, and for a shadow nothing else: its rows cannot be told apart."""
        names = sorted({str(piece.data["data_id"]) for piece in pieces})
        if names:
            found = db.execute(books.accept(context, names).encode()).rowcount
            if found != len(names):
                raise FatalError(
                    f"table {load.schema}.{load.table}: {len(names) - found} of {len(names)} units that were written "
                    "are not in the target's records: they are lost",
                    "run the job again with --fresh",
                )
        if load.how == SHADOW and context.final:
            unnamed = [row[0] for row in db.execute(books.unnamed().encode())]
            if unnamed:
                raise FatalError(
                    f"table {load.schema}.{load.table}: it holds rows of units that no checkpoint names "
                    f"({', '.join(unnamed)})",
                    "run the job again with --fresh",
                )

    def _finish(self, db: Statements, load: Load, books: Books) -> None:
        """Key and indexes, then the name. Whoever made a table of that name in the meantime keeps it: the rows are
        then added to it."""
        shadow = quote(load.schema, load.into)
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
