"""The sink of one upstream table, for every dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.jdbc.dialect import SinkRequest, TableSink
from seatunnel_connectors.jdbc.source.splits import NUMBERS
from seatunnel_connectors.jdbc.statements.alter import alter, take_up, truncate
from seatunnel_connectors.jdbc.statements.columns import columns_of, conversions
from seatunnel_connectors.jdbc.statements.committer import StatementCommitter
from seatunnel_connectors.jdbc.statements.keyed_writer import KeyedWriter
from seatunnel_connectors.jdbc.statements.ledger_tables import PIECES, StatementLedger
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad, load_of
from seatunnel_connectors.jdbc.statements.query_writer import (
    RecordedStatementQueryWriter,
    StatementQueryWriter,
    plan_query,
)
from seatunnel_connectors.jdbc.statements.script import split_statements
from seatunnel_connectors.jdbc.statements.staged import Staged
from seatunnel_connectors.jdbc.statements.target_dialect import KEY, StatementSession, TargetDialect, TargetTable
from seatunnel_connectors.jdbc.target import column_fit, version_column
from seatunnel_connectors.jdbc.target.details import divided
from seatunnel_connectors.jdbc.target.load_decision import (
    SHADOW,
    STAGED,
    TABLE,
    LoadDecision,
    Recipes,
    decide_load,
    present_in,
    recipe_of,
    refuse_misfit,
    visible_by,
)
from seatunnel_connectors.jdbc.target.sink_key import key_of
from seatunnel_connectors.jdbc.target.target_plan import (
    NO_COLUMNS,
    TargetPlan,
    check_names,
    column_problems,
    guards,
    in_own_words,
    misfits,
    target_name,
    target_path,
)
from seatunnel_connectors.jdbc.target.unit_record import of_job
from seatunnel_py.api import (
    CommitContext,
    Committer,
    Detail,
    DetailKind,
    Effect,
    NameRules,
    NothingToCommit,
    Plain,
    SchemaChange,
    Setup,
    StoredRows,
    TablePath,
    TargetPlace,
    Visible,
    WriteContext,
    Writer,
)

STAGING_NAME_MAX = 40  # of the target's name in that of its staging table: databases differ in what they allow


@dataclass(frozen=True)
class StatementSink(TableSink):
    """Writes one upstream table by statements; ``dialect`` is the database's own part."""

    request: SinkRequest
    dialect: TargetDialect

    def __post_init__(self) -> None:
        own = in_own_words(self.request.table, self.request.address.dialect)
        object.__setattr__(self, "request", replace(self.request, table=own))

    @property
    def target(self) -> str:
        if self.request.options.query:
            return f"{self.request.address.display} (query)"
        path = self._path
        shown = path if path.database or path.schema else replace(path, database=self._other_database())
        return f"{self.request.address.display}: {shown}"

    @property
    def _path(self) -> TablePath:
        return target_path(self.request.options, self.request.table)

    @property
    def target_place(self) -> TargetPlace | None:
        return None if self.request.options.query else self.dialect.target_place(self.request.address, *self._place())

    def name_rules(self) -> NameRules:
        with (
            self.dialect.explained(f"asking how names are compared in {self.request.address.display}"),
            self.dialect.sessions(self.request.address) as session,
        ):
            return self.dialect.name_rules(session)

    def check_names(self) -> None:
        """ValueError where the target cannot be named so."""
        check_names(self.dialect.names, *self._place())

    def plan_setup(self) -> Setup:
        if self.request.keeps_no_record:
            return Setup(visible=Visible.STAGED)
        if self.request.options.query:
            return plan_query(self.dialect, self.request.address)
        database, table = self._place()
        with (
            self.dialect.explained(f"looking at the sink table {table}"),
            self.dialect.sessions(self.request.address) as session,
        ):
            target = self._look(session, database, table)
            told_by = self.dialect.told_by(session, target.database, target.table)
        return self._plan(target, told_by)

    def _look(self, session: StatementSession, database: str, table: str) -> TargetTable:
        return self.dialect.look(session, database, table)

    def _other_database(self) -> str:
        """The option ``database``, if it applies: the url names another one, and the table names none."""
        named = self.request.options.database or ""
        if not self.dialect.spans_databases or named == self.request.address.database:
            return ""
        return "" if self._path.database or self._path.schema else named

    def _place(self) -> tuple[str, str]:
        other = self._other_database()
        return self.dialect.place(self.request.address, replace(self._path, database=other) if other else self._path)

    def _plan(self, target: TargetTable, told_by: str) -> Setup:
        options, table = self.request.options, self.request.table
        shown = f"{target.database}.{target.table}" if target.database else target.table
        decision = decide_load(self.request, target, self._key(target.database, target.table), shown)
        chosen, key, names, token = decision.chosen, decision.key, decision.names, decision.token
        self._refuse(target, chosen, shown, key, names)
        relation = self.dialect.quote(*filter(None, (target.database, target.table)))
        columns = columns_of(self.dialect, table, target, chosen, key, names)
        load = StatementLoad(
            target.database, target.table, token, tuple(names.values()), tuple(names[name] for name in key),
            options.enable_upsert, decision.books, how=self._how(shown, target, decision),
            staging=f"{target.table[:STAGING_NAME_MAX]}__st_{token}", at_end=decision.at_end,
            booked=target.has_books, versioned_by=version_column.versioned_by(options, names),
            sources=tuple(names), required=self._required(target, chosen, key, names),
            types=tuple(columns[name].shown for name in names.values()),
            rewritten=tuple(tuple(one.to_plain()) for one in column_fit.rewritten_columns(table, columns, names)),
            inexact=tuple(names[name] for name in key if columns[names[name]].inexact),
            whole=tuple(key) if options.enable_upsert else (),
            other_keys=self._has_other_keys(target, chosen, [names[name] for name in key], names),
            keeps_masks=True,
        )  # fmt: skip
        load = replace(load, told_by=told_by if load.books and load.shows_early else "", fresh=decision.fresh)
        load = self._as_shadow(load, target, chosen) if load.how == SHADOW else load
        effects, renew, prepare = self._effects(target, chosen, shown, relation, names, key, load)
        if load.how == STAGED:
            prepare += Staged(self.dialect, load).create()
        if load.told_by:
            prepare += self.dialect.mark(relation, self.dialect.quote(load.names[0]), token)
        visible = visible_by(load.how, at_end=load.at_end)
        load = replace(load, renew=tuple(renew), prepare=tuple(prepare))
        there = present_in(self.request, decision, target, guarded=guards(target.columns, target.keys, names.values()))
        changes = conversions(self.dialect, table, columns, names)
        left = self._divided(names)[1] if chosen.create else ()
        return Setup(tuple(effects), load.to_plain(), visible, load.books, changes, there, left)

    def _has_other_keys(
        self, target: TargetTable, chosen: TargetPlan, key: Sequence[str], names: Mapping[str, str]
    ) -> bool:
        """Whether an upsert may meet a row of another key: it is equal in a unique index that does not hold the key."""
        if not (self.dialect.updates_by_any_key and key and self.request.options.enable_upsert):
            return False
        if chosen.create:
            return any("unique" in one.definition.lower() for one in self._divided(names)[0])
        return any(not set(key) <= set(other) for other in target.keys)

    def _divided(self, names: Mapping[str, str]) -> tuple[tuple[Detail, ...], tuple[Detail, ...]]:
        """Parts of the source's definition that a created table gets, and those that it lacks."""
        request = self.request
        return divided(
            request.options, request.table, lambda one: self._can_be_made(one, names), self.dialect.keeps_comment,
            unique_keys=False,
        )  # fmt: skip

    def _can_be_made(self, one: Detail, names: Mapping[str, str]) -> bool:
        """A column that the database numbers has to be an integer, and the first one of a key."""
        options, table = self.request.options, self.request.table
        if one.kind is DetailKind.IDENTITY:
            column = table.column(one.name)
            number = column is not None and column.dtype.kind in NUMBERS
            if not (number and options.create_index and key_of(options, table)[:1] == (one.name,)):
                return False
        return self.dialect.can_be_made(one, names)

    def _required(
        self, target: TargetTable, chosen: TargetPlan, key: Sequence[str], names: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Columns that do not allow nulls, except those that the target or a trigger may fill."""
        if chosen.create:
            return tuple(names[one.name] for one in self.request.table.columns if one.name in key or not one.nullable)
        there = () if target.changes_rows else (target.columns[name] for name in names.values())
        return tuple(one.name for one in there if not one.nullable and not one.fills)

    def _as_shadow(self, load: StatementLoad, target: TargetTable, chosen: TargetPlan) -> StatementLoad:
        """Facts for the end of a shadow."""
        return load

    def _why_no_shadow(self, target: TargetTable, chosen: TargetPlan, key: Sequence[str]) -> str:
        """Why the table cannot be filled beside its place; empty: it can."""
        return "this database cannot put a table into another's place"

    def _how(self, shown: str, target: TargetTable, decision: LoadDecision) -> str:
        return recipe_of(
            self.request,
            shown,
            Recipes(staged=bool(self.dialect.row_order)),
            lambda: self._why_no_shadow(target, decision.chosen, decision.key),
            books=decision.books,
        )

    def _refuse(
        self, target: TargetTable, chosen: TargetPlan, shown: str, key: Sequence[str], names: dict[str, str]
    ) -> None:
        problems = column_problems(self.dialect.column_names, names.values(), self.request.options.field_ide)
        if chosen.create:
            if not names:
                problems.append(NO_COLUMNS)
            if not target.may_create:
                problems.append("the user may not create tables there")
            for column in self.request.table.columns:
                try:
                    self.dialect.created_type(
                        column, in_key=column.name in key, alone=len(key) == 1, features=target.features
                    )
                except (ValueError, KeyError):
                    problems.append(f"column {column.name!r}: the database has no type for {column.dtype}")
        else:
            problems += misfits(self.request.table, dict(target.columns), names)
            wanted = {names[name] for name in key}
            if key and self.request.options.enable_upsert and not any(set(unique) == wanted for unique in target.keys):
                columns = ", ".join(names[name] for name in key)
                problems.append(
                    f"it has no unique key on ({columns}), which inserting or updating by key needs; "
                    "add one, set primary_keys to its key, or set enable_upsert = false"
                )
            by_primary = bool(key) and self.request.options.enable_upsert and wanted == set(target.keys[0])
            if target.replacing - ({KEY} if by_primary else set()):
                problems.append("its definition says ON CONFLICT REPLACE, by which rows would take the place of others")
        found_by = () if chosen.create and not self.request.options.create_index else key
        there = {} if chosen.create else target.columns
        problems += version_column.problems(
            self.request.options, self.request.table, found_by, names, there, self.dialect.compared
        )
        refuse_misfit(self.request, shown, problems)

    def _effects(
        self, target: TargetTable, chosen: TargetPlan, shown: str, relation: str, names: dict[str, str],
        key: Sequence[str], load: StatementLoad,
    ) -> tuple[list[Effect], list[str], list[str]]:  # fmt: skip
        effects: list[Effect] = []
        renew: list[str] = []
        prepare: list[str] = []
        shadow = load.how == SHADOW
        if chosen.drop and not shadow:
            renew.append(f"DROP TABLE IF EXISTS {relation}")
            effects.append(Effect("drop table", shown, renew[-1], destructive=True))
        if chosen.truncate and not shadow:
            renew.append(self.dialect.empty(relation))
            effects.append(Effect("truncate table", shown, renew[-1], destructive=True))
        if not target.database_exists:
            prepare.append(f"CREATE DATABASE IF NOT EXISTS {self.dialect.quote(target.database)}")
            effects.append(Effect("create database", target.database, prepare[-1]))
        if chosen.create:
            options = self.request.options
            created = self.dialect.create_table(
                relation, self.request.table, names, key, indexes=options.create_index, wanted=options.table_options,
                features=target.features, details=self._divided(names)[0],
            )  # fmt: skip
            prepare += [] if shadow else created
            effects.append(Effect("create table", shown, created[0]))
        if load.books and not target.has_books:
            prepare += StatementLedger(self.dialect, target.database, load.token, "").create()
            effects.append(Effect("create ledger", f"{target.database}.seatunnel_ledger".lstrip(".")))
        if chosen.custom:
            statement = (self.request.options.custom_sql or "").strip().rstrip(";")
            effects.append(Effect("custom sql", shown, statement, destructive=True))
        return effects, renew, prepare

    def stored_rows(self) -> StoredRows | None:
        if self.request.options.query or not self.dialect.can_be_read_back:
            return None
        from seatunnel_connectors.jdbc.source.stored_rows import stored_rows  # only comparisons read

        database, table = self._place()
        return stored_rows(self.request, self.request.address, TablePath(database, "", table))

    def alter(self, change: SchemaChange, setup: Setup) -> Setup:
        if self.request.options.query:
            return super().alter(change, setup)
        load = load_of(setup.data)
        what = f"altering the sink table {load.shown}"
        with self.dialect.explained(what), self.dialect.sessions(self.request.address) as session:
            target = alter(self.dialect, self.request, session, change, load)
            made = self._planned_again(target, setup)
            take_up(self.dialect, session, load_of(made.data), str(self.request.table.path))
        return made

    @property
    def can_be_emptied(self) -> bool:
        return not self.request.options.query

    def truncate(self, setup: Setup, context: CommitContext) -> None:
        if not self.can_be_emptied:
            super().truncate(setup, context)
        truncate(self.dialect, self.request, load_of(setup.data), context)

    def _planned_again(self, target: TargetTable, setup: Setup) -> Setup:
        """The set-up of later units: the same recipe and ledger, for the altered target."""
        options, table, load, chosen = self.request.options, self.request.table, load_of(setup.data), TargetPlan()
        key = key_of(options, table)
        names = {column: target_name(column, options.field_ide) for column in table.names}
        self._refuse(target, chosen, load.shown, key, names)
        columns = columns_of(self.dialect, table, target, chosen, key, names)
        load = replace(
            load, names=tuple(names.values()), key=tuple(names[name] for name in key), sources=tuple(names),
            versioned_by=version_column.versioned_by(options, names), renew=(), prepare=(),
            required=self._required(target, chosen, key, names),
            types=tuple(columns[name].shown for name in names.values()),
            rewritten=tuple(tuple(one.to_plain()) for one in column_fit.rewritten_columns(table, columns, names)),
            inexact=tuple(names[name] for name in key if columns[names[name]].inexact),
            whole=tuple(key) if options.enable_upsert else (),
            other_keys=self._has_other_keys(target, chosen, [names[name] for name in key], names),
        )  # fmt: skip
        changes = conversions(self.dialect, table, columns, names)
        return replace(setup, data=load.to_plain(), conversions=changes)

    def setup(self, setup: Setup) -> None:
        if self.request.keeps_no_record:
            return
        load = load_of(setup.data)
        key, upstream = self._key(load.database, load.table), str(self.request.table.path)
        first = not self.request.targets.prepared_by_sibling(key, upstream)
        custom = [one.statement for one in setup.effects if first and one.action == "custom sql"]
        own = [part for text in custom for part in split_statements(text)]
        books = StatementLedger(self.dialect, load.database, load.token, "")
        with (
            self.dialect.explained(f"preparing the sink table {load.table}"),
            self.dialect.sessions(self.request.address) as session,
            self.dialect.alone(session, load.database, load.table),
        ):
            if (own or load.renew) and load.books and self._is_done(session, load, books):
                return
            for statement in (*(load.renew if first else ()), *load.prepare):
                session.run(statement)
            if own:
                self._run_own(session, own, books if load.books else None)
            elif load.books and (load.renew or load.how in (STAGED, SHADOW)) and not books.is_claimed(session):
                books.claim_table(session, self._job)
        self.request.targets.mark_prepared(key, upstream, load.token)

    def _is_done(self, session: StatementSession, load: StatementLoad, books: StatementLedger) -> bool:
        """True if all of it was done: an overtaken driver may come to it when a newer one has written rows."""
        return self.dialect.look(session, load.database, PIECES).exists and books.is_claimed(session)

    @property
    def _job(self) -> str:
        return of_job(self.request.job_id, self.request.step, str(self.request.table.path))

    def _run_own(self, session: StatementSession, own: Sequence[str], books: StatementLedger | None) -> None:
        """In one transaction with the word that they were done; a statement that commits by itself ends it early."""
        session.begin()
        for statement in own:
            session.run(statement)
        if books is not None:
            books.claim_table(session, self._job)
        session.commit()

    def _key(self, database: str, table: str) -> tuple[object, ...]:
        return (self.request.address.identity, database, table)

    def open(self, context: WriteContext) -> Writer:
        if self.request.keeps_no_record:
            return StatementQueryWriter(self.dialect, self.request)
        if self.request.options.query:
            return RecordedStatementQueryWriter(self.dialect, self.request, load_of(context.setup), context)
        return KeyedWriter(self.dialect, self.request, load_of(context.setup), context)

    def marks_units(self, setup: Mapping[str, Plain]) -> bool:
        return not self.request.keeps_no_record and load_of(setup).how in (TABLE, SHADOW) and load_of(setup).books

    def committer(self) -> Committer:
        return NothingToCommit() if self.request.keeps_no_record else StatementCommitter(self.dialect, self.request)
