"""Defines MySQL's sink of one upstream table: its decisions beyond those for every database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seatunnel_connectors.jdbc.mysql.connection import locks
from seatunnel_connectors.jdbc.mysql.connection.session import quote
from seatunnel_connectors.jdbc.mysql.target_dialect import takes_back
from seatunnel_connectors.jdbc.mysql.write import comments, shadow
from seatunnel_connectors.jdbc.mysql.write.rename_blockers import ties
from seatunnel_connectors.jdbc.mysql.write.shadow_commit import MysqlCommitter
from seatunnel_connectors.jdbc.mysql.write.writer import MysqlWriter
from seatunnel_connectors.jdbc.options import Recipe
from seatunnel_connectors.jdbc.statements.ledger_tables import StatementLedger
from seatunnel_connectors.jdbc.statements.load_plan import EMPTIED, RECREATED, StatementLoad, load_of
from seatunnel_connectors.jdbc.statements.sink import StatementSink
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession, TargetTable
from seatunnel_connectors.jdbc.target.load_decision import SHADOW, STAGED, is_large
from seatunnel_connectors.jdbc.target.sink_key import key_is_proved
from seatunnel_connectors.jdbc.target.table_options import by_name
from seatunnel_connectors.jdbc.target.target_plan import TargetPlan, decide
from seatunnel_connectors.save_modes import SchemaSaveMode
from seatunnel_py.api import (
    Committer,
    Effect,
    FatalError,
    JobMode,
    Setup,
    WriteContext,
    Writer,
)


class MysqlSink(StatementSink):
    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.request.options.query:
            self.request.targets.announce(self._key(*self._place()), self._upstream, self)

    @property
    def _upstream(self) -> str:
        return f"{self.request.step} {self.request.table.path}"

    def _look(self, session: StatementSession, database: str, table: str) -> TargetTable:
        seen = super()._look(session, database, table)
        self._refuse_engine(session, seen, f"{database}.{table}")
        seen = replace(seen, comment=shadow.without_mark(seen.comment))
        if not seen.exists or not self._considers_shadow:
            return seen
        chosen = decide(self.request.options, f"{database}.{table}", exists=True, has_rows=seen.has_rows)
        if not chosen.drop and not chosen.truncate:
            return seen
        return replace(seen, ties=ties(session, database, table, kept=chosen.truncate))

    def _refuse_engine(self, session: StatementSession, seen: TargetTable, shown: str) -> None:
        """Raise FatalError if rows cannot be rolled back: for a created table, or for exactly-once rows."""
        options = self.request.options
        remade = not seen.exists or options.schema_save_mode is SchemaSaveMode.RECREATE_SCHEMA
        asked = by_name(options.table_options).get("engine")
        if remade and asked and not takes_back(session, asked):
            raise FatalError(
                f"the sink table {shown}: the server has no engine {asked} with transactions, and a unit of rows that "
                "fails in the middle has to be taken back",
                "set table_options.engine = InnoDB, or leave it out",
            )
        if seen.lasting and not remade and options.is_exactly_once:
            raise FatalError(
                f"the sink table {shown} is of the engine {seen.lasting}, which cannot take a transaction back: rows "
                "could arrive twice",
                f"ALTER TABLE {shown} ENGINE = InnoDB, or set is_exactly_once = false",
            )

    @property
    def _considers_shadow(self) -> bool:
        """True if a shadow is possible, so that dependencies matter: finding them makes a server open all its
        tables."""
        options = self.request.options
        if options.exactly_once_recipe is Recipe.AUTO:
            return options.is_exactly_once and self.request.mode is JobMode.BATCH and is_large(self.request)
        return options.exactly_once_recipe is Recipe.SHADOW

    def _why_no_shadow(self, target: TargetTable, chosen: TargetPlan, key: Sequence[str]) -> str:
        options = self.request.options
        if self.request.mode is not JobMode.BATCH:
            return "only a job that ends has a moment at which one table can take another's place"
        if chosen.custom or not (chosen.create or chosen.truncate):
            return "the rows that are in the table stay (data_save_mode = DROP_DATA empties it)"
        if target.ties:
            return f"another table in its place would lose {', '.join(target.ties)}"
        if not key_is_proved(tuple(key), self.request.table):
            return f"the source does not prove that rows differ in ({', '.join(key)})"
        if self.request.targets.is_shared(self._key(*self._place()), self._upstream):
            return "other tables of this job are written to it as well"
        if not (target.has_books or target.may_create) or not options.is_exactly_once:
            return "there is no ledger"
        return ""

    def _as_shadow(self, load: StatementLoad, target: TargetTable, chosen: TargetPlan) -> StatementLoad:
        replaces = RECREATED if chosen.drop else EMPTIED if chosen.truncate else ""
        comment = target.comment if chosen.truncate else comments.of_table(self.request.table)
        return replace(load, replaces=replaces, comment=comment)

    def _effects(
        self, target: TargetTable, chosen: TargetPlan, shown: str, relation: str, names: dict[str, str],
        key: Sequence[str], load: StatementLoad,
    ) -> tuple[list[Effect], list[str], list[str]]:  # fmt: skip
        """Effects of the set-up. A shadow destroys nothing before the end. Privileges for the rename are checked now:
        ALTER and DROP need others than CREATE."""
        effects, renew, prepare = super()._effects(target, chosen, shown, relation, names, key, load)
        if load.how != SHADOW:
            return effects, renew, prepare
        beside = quote(load.database, load.staging)
        if chosen.truncate:
            made = [f"CREATE TABLE IF NOT EXISTS {beside} LIKE {relation}"]
        else:
            options = self.request.options
            made = self.dialect.create_table(
                beside, self.request.table, names, key, indexes=options.create_index, wanted=options.table_options,
                features=target.features, details=self._divided(names)[0],
            )  # fmt: skip
        if load.replaces:
            effects.append(Effect("replace table", shown, shadow.statement(load), destructive=True))
        made += [
            f"ALTER TABLE {beside} COMMENT = ''",
            f"DROP TABLE IF EXISTS {quote(load.database, shadow.old_name(load))}",
        ]
        return effects, renew, [*prepare, *made]

    def setup(self, setup: Setup) -> None:
        super().setup(setup)
        if self.request.options.query:
            return
        load = load_of(setup.data)
        if load.how not in (SHADOW, STAGED) or not load.books:
            return
        books = StatementLedger(self.dialect, load.database, load.token, "")
        prefix = load.staging.removesuffix(load.token)
        with (
            self.dialect.explained(f"sweeping what was left beside table {load.table}"),
            self.dialect.sessions(self.request.address) as session,
        ):
            shadow.sweep(session, books, load, prefix)

    def open(self, context: WriteContext) -> Writer:
        if self.request.options.query:
            return super().open(context)
        return MysqlWriter(self.dialect, self.request, load_of(context.setup), context)

    def committer(self) -> Committer:
        return super().committer() if self.request.options.query else MysqlCommitter(self.dialect, self.request)

    def at_work(self, seconds: float) -> Sequence[str]:
        return locks.at_work(self.request.address, seconds)

    def blocked_by(self) -> Sequence[str]:
        return locks.blocked_by(self.request.address)
