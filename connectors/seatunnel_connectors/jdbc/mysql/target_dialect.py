"""Writes to MySQL and MariaDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.connection import name_spelling, table_identity, text_conversion, types
from seatunnel_connectors.jdbc.mysql.connection.named_lock import named_lock
from seatunnel_connectors.jdbc.mysql.connection.session import explained, quote, sessions
from seatunnel_connectors.jdbc.mysql.read.details import can_be_made
from seatunnel_connectors.jdbc.mysql.write import comments, created_types, silent_changes
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.statements.ledger_tables import LEDGER, PIECES
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession, TargetDialect, TargetTable, same_row
from seatunnel_connectors.jdbc.target.details import CommentPlace
from seatunnel_connectors.jdbc.target.load_decision import ABSENT
from seatunnel_connectors.jdbc.target.table_options import mysql_ending
from seatunnel_connectors.jdbc.target.target_plan import TargetColumn, counting, no_table
from seatunnel_connectors.jdbc.target.version_column import COMPARED
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    ANY_DIGITS,
    Column,
    Detail,
    DetailKind,
    Kind,
    NameRules,
    TablePath,
    TableSchema,
    TargetPlace,
)

STILL_SECONDS = 20
"""Seconds that a driver may pause between two statements of a commit: nothing but the driver itself takes time
there."""
MASK_COLUMN = "st_absent TEXT CHARACTER SET ascii"
TABLES = ("BASE TABLE", "SYSTEM VERSIONED")
_AS_DECLARED = JdbcSourceOptions.model_construct(int_type_narrowing=False, handle_blob_as_string=False)


class MysqlTargetDialect(TargetDialect):
    names: ClassVar[NameRules] = NameRules(ignored_at_end=" ", length_max=64, unit="characters")
    column_names: ClassVar[NameRules] = replace(names, folds_case=True)
    marker: ClassVar[str] = "%s"
    counts_up: ClassVar[str] = "AUTO_INCREMENT"
    exact_collations: ClassVar[str] = "utf8mb4_nopad_bin, in MySQL utf8mb4_0900_bin"
    spans_databases: ClassVar[bool] = True
    shared_lock: ClassVar[str] = " LOCK IN SHARE MODE"
    own_lock: ClassVar[str] = " FOR UPDATE"
    unless_there: ClassVar[str] = " ON DUPLICATE KEY UPDATE epoch = epoch"
    row_order: ClassVar[str] = "st_order"
    updates_by_any_key: ClassVar[bool] = True
    clock: ClassVar[str] = "unix_timestamp()"
    compared: ClassVar[frozenset[Kind]] = COMPARED
    same_id_lost_by: ClassVar[str] = table_identity.LOST_BY

    def sessions(self, address: Address) -> AbstractContextManager[StatementSession]:
        return sessions(address)

    @contextmanager
    def watched(self, session: StatementSession) -> Iterator[None]:
        session.run(f"SET SESSION wait_timeout = {STILL_SECONDS}")
        yield
        session.run("SET SESSION wait_timeout = DEFAULT")

    @contextmanager
    def alone(self, session: StatementSession, database: str, table: str) -> Iterator[None]:
        with named_lock(session, database, table), self.watched(session):
            yield

    def explained(self, what: str) -> AbstractContextManager[None]:
        return explained(what)

    def quote(self, *names: str) -> str:
        return quote(*names)

    def place(self, address: Address, path: TablePath) -> tuple[str, str]:
        database = path.schema or path.database or address.database
        if not database:
            raise ValueError(f"table: {path} names no database, and neither does the url")
        return database, path.table

    def target_place(self, address: Address, database: str, table: str) -> TargetPlace:
        return TargetPlace(("mysql", address.host, address.port), (database, table))

    def name_rules(self, session: StatementSession) -> NameRules:
        return replace(self.names, folds_case=name_spelling.rule(session) != 0)

    def look(self, session: StatementSession, database: str, table: str) -> TargetTable:
        database, table = name_spelling.stored(session, database, table)
        names = {
            name: (comment, engine, rows, kind)
            for name, comment, engine, rows, kind in session.ask(
                "SELECT table_name, table_comment, engine, table_rows, table_type FROM information_schema.tables "
                "WHERE table_schema = %s AND table_name IN (%s, %s, %s)",
                (database, table, LEDGER, PIECES),
            )
        }
        books = {LEDGER, PIECES} <= names.keys()
        features = _features(session)
        if table not in names:
            known = session.ask("SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", (database,))
            return TargetTable(
                database, table, exists=False, has_books=books, database_exists=bool(known), features=features
            )
        comment, engine, rows, kind = names[table]
        if _text(kind) not in TABLES:
            raise no_table(f"{database}.{table}", f"a {_text(kind).lower()}")
        found = session.ask(
            "SELECT column_name, data_type, column_type, is_nullable, column_default, extra, collation_name "
            "FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
            (database, table),
        )
        documents = _documents(session, database, table, found) if "json" in features else ()
        found = [(row[0], "json", "json", *row[3:]) if row[0] in documents else row for row in found]
        columns = {row[0]: replace(_column(*row[:6]), inexact=bool(row[6]) and not is_exact(row[6])) for row in found}
        keys: dict[str, list[str]] = {}
        for index, column in session.ask(
            "SELECT index_name, if(sub_part IS NULL, coalesce(column_name, '(expression)'), "
            "concat(column_name, '(', sub_part, ')')) FROM information_schema.statistics WHERE table_schema = %s "
            "AND table_name = %s AND non_unique = 0 ORDER BY index_name, seq_in_index",
            (database, table),
        ):
            keys.setdefault(index, []).append(column)
        counted = session.ask(counting(quote(database, table)))[0][0]
        changing = session.ask(
            "SELECT 1 FROM information_schema.triggers WHERE event_object_schema = %s AND event_object_table = %s "
            "AND event_manipulation = 'INSERT' AND action_timing = 'BEFORE' LIMIT 1",
            (database, table),
        )
        return TargetTable(
            database, table, True, counted, columns, tuple(tuple(key) for key in keys.values()), has_books=books,
            comment=comment, lasting="" if takes_back(session, engine) else engine,
            changes_rows=bool(changing), features=features, estimate=int(rows or 0),
        )  # fmt: skip

    def created_type(self, column: Column, *, in_key: bool, alone: bool, features: frozenset[str]) -> str:
        return created_types.created_type(column, in_key=in_key, features=features)

    def made_column(self, name: str, column: Column, kind: str) -> TargetColumn:
        full = re.sub(r" (character set|collate|null|default) ?.*", "", kind, flags=re.I)
        made = _column(name, re.split(r"[ (]", full)[0], full, "YES", None, "")
        text = (
            made.dtype is not None and made.dtype.kind is Kind.STRING and full.lower() not in created_types.NATIVE_TYPES
        )
        # In the server's spelling: a plan then shows the same before and after the table is created.
        return replace(made, inexact=text and not is_exact(kind), shown=full.lower())

    def stored(self, array: pa.Array, column: Column, shown: str) -> pa.Array:
        return silent_changes.stored(array, column, shown)

    def changed(self, column: Column, there: TargetColumn) -> str:
        return "-0.0 is stored as 0" if there.dtype and there.dtype.kind in (Kind.FLOAT, Kind.DOUBLE) else ""

    alters_at_once = True

    def retyped(self, name: str, kind: str, *, nullable: bool) -> str:
        return f"MODIFY COLUMN {self.quote(name)} {kind} {'NULL' if nullable else 'NOT NULL'}"

    def literal(self, text: str) -> str:
        return _literal(text)

    def upsert(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()
    ) -> str:
        markers = ", ".join(["%s"] * len(columns))
        values = f"INSERT INTO {relation} ({', '.join(columns)}) VALUES ({markers})"
        return values + on_duplicate(relation, columns, key, version, fixed)

    def is_there(self, session: StatementSession, database: str, table: str) -> bool:
        where = "table_schema = %s AND table_name = %s"
        return bool(session.ask(f"SELECT 1 FROM information_schema.tables WHERE {where}", (database, table)))

    def beside(self, session: StatementSession, database: str, token: str) -> list[str]:
        """Return the run's own tables, and the old table that a shadow of the run has renamed."""
        sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_name REGEXP %s"
        return [name for (name,) in session.ask(sql, (database, f"__st_{token}(_old)?$"))]

    def told_by(self, session: StatementSession, database: str, table: str) -> str:
        return table_identity.told_by(session, database, table)

    def table_id(self, session: StatementSession, load: StatementLoad) -> str | None:
        return table_identity.table_id(session, load)

    def name_of(self, session: StatementSession, load: StatementLoad, table_id: str) -> str | None:
        return table_identity.name_of(session, load, table_id)

    def create_staging(self, staging: str, target: str, columns: Sequence[str]) -> list[str]:
        return [
            f"CREATE TABLE IF NOT EXISTS {staging} (st_order BIGINT AUTO_INCREMENT PRIMARY KEY, "
            f"st_unit {self.text_type(40)} NOT NULL DEFAULT '', st_kind SMALLINT NOT NULL DEFAULT 0, "
            f"st_round INT, {MASK_COLUMN}, KEY st_unit (st_unit, st_round)) ENGINE=InnoDB {no_rows(target, columns)}"
        ]

    def change_from(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, inexact: Sequence[str] = ()
    ) -> str:
        # Each column is set, also to its own value: ON UPDATE CURRENT_TIMESTAMP changes it otherwise.
        sets = ", ".join(
            f"t.{name} = IF(SUBSTR(s.st_absent, {at}, 1) = '{ABSENT}', t.{name}, s.{name})"
            for at, name in enumerate(columns, 1)
            if name not in key
        )
        # The rows come first: otherwise the server often scans the target, and locks all of it.
        return f"UPDATE ({{rows}}) s STRAIGHT_JOIN {relation} t ON {same_row(key, version, inexact)} SET {sets}"

    def delete_where(self, relation: str, column: str) -> str:
        # By default it scans a small table, and waits for rows that other transactions are still inserting: if it held
        # the ledger's row, which those need at their end, it would never get them.
        return f"DELETE r FROM {relation} r FORCE INDEX ({column}) WHERE r.{column} = {self.marker}"

    def insert_from(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()
    ) -> str:
        plain = super().insert_from(relation, columns, key, version)
        return plain + on_duplicate(relation, columns, key, version, fixed) if key else plain

    def delete_keys(self, relation: str, key: Sequence[str], keys: str, inexact: Sequence[str] = ()) -> str:
        same = [f"t.{name} = s.{name}" for name in key] + [f"HEX(t.{name}) = HEX(s.{name})" for name in inexact]
        return f"DELETE t FROM {relation} t JOIN ({keys}) s ON {' AND '.join(same)}"

    def is_key(self, name: str, *, inexact: bool) -> str:
        return f"{name} = %s" + (f" AND HEX(CONVERT({name} USING utf8mb4)) = HEX(%s)" if inexact else "")

    def values(self, array: pa.Array, column: Column, shown: str = "") -> list[Any]:
        return text_conversion.values(array, column)

    def empty(self, relation: str) -> str:
        return f"TRUNCATE TABLE {relation}"

    def can_be_made(self, detail: Detail, names: Mapping[str, str]) -> bool:
        return can_be_made(detail, names)

    def table_ending(self, table: TableSchema, wanted: Mapping[str, str], details: Sequence[Detail]) -> str:
        comment = comments.of_table(table)
        first = "".join(f" AUTO_INCREMENT={one.definition}" for one in details if one.kind is DetailKind.IDENTITY)
        return mysql_ending(wanted) + first + (f" COMMENT={_literal(comment)}" if comment else "")

    def keeps_comment(self, text: str, place: CommentPlace) -> bool:
        return comments.keeps(text, place)

    def comment(self, column: Column) -> str:
        kept = column.comment and comments.keeps(column.comment, CommentPlace.COLUMN)
        return f" COMMENT {_literal(column.comment)}" if kept else ""

    def text_type(self, length: int) -> str:
        return f"VARCHAR({length}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


def no_rows(target: str, columns: Sequence[str]) -> str:
    """A query without rows, whose columns are those of the target and allow nulls, because of the outer join: only the
    key of a deleted row is known, and only the present columns of one with absent cells."""
    return f"SELECT {', '.join(columns)} FROM (SELECT 1) AS one LEFT JOIN {target} ON 1 = 0 WHERE 1 = 0"


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def is_exact(collation: str) -> bool:
    """True if different texts are never equal under it; ``…_bin`` alone treats 'a' and 'a ' as equal."""
    return collation == "binary" or collation.endswith(("_nopad_bin", "_0900_bin"))


def _features(session: StatementSession) -> frozenset[str]:
    names = ", ".join(f"'{name}'" for name in created_types.EXACT_COLLATIONS)
    collations = session.ask(
        f"SELECT collation_name FROM information_schema.collations WHERE collation_name IN ({names})"
    )
    version = str(session.ask("SELECT VERSION()")[0][0])
    return created_types.features_of(version, [str(name) for (name,) in collations])


def takes_back(session: StatementSession, engine: str | None) -> bool:
    """True if a storage engine supports transactions. A view has no engine, and its tables' engines are not checked."""
    if engine is None or engine.lower() == "innodb":
        return True
    known = session.ask("SELECT transactions FROM information_schema.engines WHERE engine = %s", (engine,))
    return bool(known) and known[0][0] == "YES"


def on_duplicate(
    relation: str, columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()
) -> str:
    """The end of an INSERT. Columns are set in sequence, and all compare with the version, so the version is last. The
    existing row may have another key, and be equal in another unique index: if the key is fixed, such a row stays
    unchanged (``key_collisions.refuse_rows_of_other_keys``)."""
    changed = [name for name in columns if name not in fixed]
    only = []
    if version:
        changed = [*(name for name in changed if name != version), version]
        only.append(f"({relation}.{version} IS NULL OR {relation}.{version} <= VALUES({version}))")
    if set(key) <= set(fixed):
        only += [f"{relation}.{name} <=> VALUES({name})" for name in key]
    where = " AND ".join(only)
    sets = [
        f"{relation}.{name} = " + (f"IF({where}, VALUES({name}), {relation}.{name})" if where else f"VALUES({name})")
        for name in changed
    ]
    return " ON DUPLICATE KEY UPDATE " + ", ".join(sets or [f"{name} = {relation}.{name}" for name in fixed])


def _documents(session: StatementSession, database: str, table: str, found: Sequence[Sequence[Any]]) -> frozenset[str]:
    """Columns that were created as JSON, which MariaDB calls longtext: each has a check with its own name."""
    if not any(_text(row[1]) == "longtext" and row[6] == "utf8mb4_bin" for row in found):
        return frozenset()
    checks = session.ask(
        "SELECT constraint_name FROM information_schema.check_constraints WHERE constraint_schema = %s "
        "AND table_name = %s AND check_clause = CONCAT('json_valid(`', REPLACE(constraint_name, '`', '``'), '`)')",
        (database, table),
    )
    return frozenset(str(name) for (name,) in checks)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _column(name: str, data: str, shown: str | bytes, nullable: str, default: Any, extra: str) -> TargetColumn:
    full = _text(shown)
    read = types.read_as(data, full, _AS_DECLARED)
    digits = types.digits_of(read.dtype, full) if read else None
    fills = default is not None or "auto_increment" in extra
    generated = "GENERATED" in extra.upper() and "DEFAULT_GENERATED" not in extra.upper()
    length = types.length_of(data, full)
    return TargetColumn(
        name, read.dtype if read else None, full, nullable == "YES", fills, length, generated,
        ANY_DIGITS if digits is None else digits,
    )  # fmt: skip


TARGET = MysqlTargetDialect()
