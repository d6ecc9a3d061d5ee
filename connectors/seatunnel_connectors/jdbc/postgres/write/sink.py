"""Defines PostgreSQL's sink of one upstream table."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import psycopg

from seatunnel_connectors.jdbc.dialect import SinkRequest, TableSink
from seatunnel_connectors.jdbc.postgres.connection import catalog, locks
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained, quote, statements
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import PIECES, PostgresLedger
from seatunnel_connectors.jdbc.postgres.read.native_copy import PostgresNativeWriter, takes_native
from seatunnel_connectors.jdbc.postgres.write.ddl import NAMES
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load, load_of
from seatunnel_connectors.jdbc.target.load_decision import PREPARED, SHADOW, STAGED, TABLE
from seatunnel_connectors.jdbc.target.target_plan import check_names, target_path
from seatunnel_connectors.jdbc.target.unit_record import of_job
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    CommitContext,
    Committer,
    NameRules,
    NativeForm,
    NativeSink,
    NativeWriter,
    NothingToCommit,
    Plain,
    SchemaChange,
    Setup,
    SinkSetup,
    StoredRows,
    TablePath,
    TargetPlace,
    Visible,
    WriteContext,
    Writer,
)

MADE = frozenset({"create schema", "create ledger", "create table", "carry over"})


def _happens_once(setup: Setup) -> bool:
    """Whether it drops or empties a table, or runs statements of the user."""
    return any(effect.destructive for effect in setup.effects)


@dataclass(frozen=True)
class PostgresSink(TableSink, NativeSink):
    request: SinkRequest

    @cached_property
    def address(self) -> Address:
        database = self.request.options.database
        return replace(self.request.address, database=database) if database else self.request.address

    @property
    def target(self) -> str:
        if self.request.options.query:
            return f"{self.address.display} (query)"
        return f"{self.address.database}.{self._path().full_name}"

    @property
    def target_place(self) -> TargetPlace | None:
        if self.request.options.query:
            return None
        path, at = self._path(), self.address
        return TargetPlace(("postgres", at.host, at.port, at.database), (path.schema, path.table))

    def name_rules(self) -> NameRules:
        with explained(f"asking how names are compared in {self.address.display}"), statements(self.address) as db:
            asked = f"SELECT {catalog.OWN_SCHEMA}, current_setting('max_identifier_length')::int"
            row = db.execute(asked.encode()).fetchone()
        assert row is not None
        return replace(NAMES, length_max=row[1], default=row[0])

    def plan_setup(self) -> Setup:
        if self.request.keeps_no_record:
            return Setup(visible=Visible.STAGED)
        from seatunnel_connectors.jdbc.postgres.write.inspect_target import look  # workers never plan
        from seatunnel_connectors.jdbc.postgres.write.plan import plan

        if self.request.options.query:
            from seatunnel_connectors.jdbc.postgres.write.query_writer import plan_query

            with explained(f"looking for the ledger in {self.address.display}"), statements(self.address) as db:
                return plan_query(look(db, "", ""))
        path = self._path()
        with explained(f"looking at the sink table {path}"), statements(self.address) as db:
            return plan(self.request, look(db, path.schema, path.table))

    def stored_rows(self) -> StoredRows | None:
        if self.request.options.query:
            return None
        from seatunnel_connectors.jdbc.source.stored_rows import stored_rows  # only comparisons read

        return stored_rows(self.request, self.address, self._path())

    def alter(self, change: SchemaChange, setup: Setup) -> Setup:
        if self.request.options.query:
            return super().alter(change, setup)
        from seatunnel_connectors.jdbc.postgres.write.alter import alter  # workers never alter

        with explained(f"altering the sink table {self._path()}"), statements(self.address) as db:
            return alter(db, self.request, change, setup)

    @property
    def can_be_emptied(self) -> bool:
        return not self.request.options.query

    def truncate(self, setup: Setup, context: CommitContext) -> None:
        if not self.can_be_emptied:
            super().truncate(setup, context)
        from seatunnel_connectors.jdbc.postgres.write.alter import truncate

        with explained(f"emptying the sink table {self._path()}"), statements(self.address) as db:
            truncate(db, setup, self._ledger(load_of(setup.data)), context)

    def _ledger(self, load: Load) -> PostgresLedger:
        return PostgresLedger(load.schema, load.token, str(self.request.table.path))

    def _path(self) -> TablePath:
        return target_path(self.request.options, self.request.table, schema_first=True)

    def check_names(self) -> None:
        """Raise ValueError if the target cannot have that name."""
        path = self._path()
        if path.database and path.database != self.address.database:
            raise ValueError(
                f"table: {path} is in database {path.database!r}, but the connection is to {self.address.database!r}; "
                "set database, or leave it out of table"
            )
        check_names(NAMES, path.schema, path.table)

    def setup(self, setup: Setup) -> None:
        if self.request.keeps_no_record:
            return
        load = self._prepares(setup)
        # One message for all statements makes them one transaction.
        script = ";\n".join(self._script(setup, load))
        if not script:
            return
        with explained(f"preparing the sink table {load.schema}.{load.table}"), statements(self.address) as db:
            if load.books and _happens_once(setup):
                self._prepare_once(db, load)
            else:
                db.execute(script.encode(), prepare=False)
            if load.how == SHADOW:
                self._tidy(db, load)

    def _prepare_once(self, db: Statements, load: Load) -> None:
        """Run the statements, unless the record shows that it was done. An overtaken driver may come to this after a
        newer one has set up the table and written rows: if both do it at a time, the record lets one of them win."""
        books = PostgresLedger(load.schema, load.token, "")
        if self._is_done(db, books):
            return
        with db.transaction():
            db.execute(";\n".join(load.before).encode(), prepare=False)
            if not db.execute(books.claim_table(self._job).encode()).rowcount:
                raise psycopg.Rollback

    def _script(self, setup: Setup, load: Load) -> list[str]:
        """Statements of the set-up. The script leaves a record if the run will have other tables beside the target, or
        if it runs statements that must not run twice."""
        if not load.books or not (_happens_once(setup) or load.how in (SHADOW, STAGED, PREPARED)):
            return list(load.before)
        return [*load.before, PostgresLedger(load.schema, load.token, "").claim_table(self._job)]

    @property
    def _job(self) -> str:
        return of_job(self.request.job_id, self.request.step, str(self.request.table.path))

    def _prepares(self, setup: Setup) -> Load:
        from seatunnel_connectors.jdbc.postgres.write.plan import place_of

        load = load_of(setup.data)
        place = place_of(self.request, load.schema, load.table)
        self.request.targets.mark_prepared(place, str(self.request.table.path), load.token)
        return load

    def sets_up_with(self, setup: Setup) -> Hashable:
        """Grouping key for set-ups that only create tables. None for others: dropping or emptying a table waits for its
        readers, and other tables need not wait with it."""
        if self.request.keeps_no_record or not {effect.action for effect in setup.effects} <= MADE:
            return None
        load = load_of(setup.data)
        alike = bool(self._script(setup, load)) and load.how != SHADOW
        return ("postgres", self.address.identity, load.schema) if alike else None

    def set_up_together(self, setups: Sequence[SinkSetup]) -> None:
        loads = [cast("PostgresSink", one.sink)._prepares(one.setup) for one in setups]
        scripts = (
            cast("PostgresSink", one.sink)._script(one.setup, load) for one, load in zip(setups, loads, strict=True)
        )
        script = ";\n".join(dict.fromkeys(statement for one in scripts for statement in one))
        what = f"preparing {len(loads)} sink tables of schema {loads[0].schema}"
        with explained(what), statements(self.address) as db:
            db.execute(script.encode(), prepare=False)

    def _is_done(self, db: Statements, books: PostgresLedger) -> bool:
        """True if an earlier try has done all of this, including the user's statements, which must not run twice."""
        there = catalog.is_there(db, books.schema, PIECES)
        return there and db.execute(books.select_piece("").encode()).fetchone() is not None

    def _tidy(self, db: Statements, load: Load) -> None:
        """Remove leftovers of runs that never came back."""
        books = PostgresLedger(load.schema, load.token, "")
        pattern = f"^{re.escape(load.into[: -len(load.token)])}[0-9a-f]{{8}}$"
        for name, token in db.execute(books.abandoned(pattern).encode()).fetchall():
            db.execute(f"DROP TABLE IF EXISTS {quote(load.schema, name)}".encode())
            db.execute(PostgresLedger(load.schema, token, "").forget_pieces().encode())

    def open(self, context: WriteContext) -> Writer:
        if not self.request.options.query:
            from seatunnel_connectors.jdbc.postgres.write.writer import PostgresWriter  # drivers never write

            return PostgresWriter(self.address, self.request.table, context)
        from seatunnel_connectors.jdbc.postgres.write import query_writer

        if self.request.keeps_no_record:
            return query_writer.PostgresQueryWriter(self.address, self.request)
        return query_writer.RecordedPostgresQueryWriter(self.address, self.request, context)

    def marks_units(self, setup: Mapping[str, Plain]) -> bool:
        return not self.request.keeps_no_record and bool(setup["books"]) and setup["how"] in (SHADOW, TABLE)

    def takes_native(self, form: NativeForm, setup: Mapping[str, Plain]) -> bool:
        return not self.request.options.query and takes_native(form, setup)

    def open_native(self, context: WriteContext) -> NativeWriter:
        return PostgresNativeWriter(self.address, str(self.request.table.path), context)

    def at_work(self, seconds: float) -> Sequence[str]:
        return locks.at_work(self.address, seconds)

    def blocked_by(self) -> Sequence[str]:
        return locks.blocked_by(self.address)

    def committer(self) -> Committer:
        if self.request.keeps_no_record:
            return NothingToCommit()
        from seatunnel_connectors.jdbc.postgres.ledger.committer import PostgresCommitter  # workers never commit

        return PostgresCommitter(self.address, self.request.table)
