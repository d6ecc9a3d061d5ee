"""Defines the port to a database for the sinks that write by statements."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.target.details import CommentPlace
from seatunnel_connectors.jdbc.target.target_plan import TargetColumn
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    BadRowsError,
    Column,
    Detail,
    DetailKind,
    FatalError,
    Kind,
    NameRules,
    TablePath,
    TableSchema,
    TargetPlace,
)

Row = Sequence[Any]


class RowsRefusedError(Exception):
    """The database has refused some rows of a statement: their places, in order, with its messages. The others
    passed."""

    def __init__(self, rows: Sequence[tuple[int, str]], remedy: str) -> None:
        super().__init__(rows[0][1])
        self.rows = rows
        self.remedy = remedy

    def bad_rows(self, what: str, before: int) -> BadRowsError:
        """The error for the engine: ``before`` rows came before the statement's first one."""
        (first, text), *others = [(row + before, f"{what}: {text}") for row, text in self.rows]
        return BadRowsError(text, self.remedy, first, others)


class StatementSession(ABC):
    """One pooled connection. Statements use the dialect's markers; outside of ``begin`` each commits itself."""

    @abstractmethod
    def ask(self, sql: str, values: Row = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    @abstractmethod
    def run(self, sql: str, values: Row = ()) -> int:
        """Run a statement and return the rows that it affected."""

    @abstractmethod
    def run_many(self, sql: str, rows: Sequence[Row]) -> int:
        """Run a statement once for each row, as fast as the driver can; return the affected rows, -1: unknown. Raises
        RowsRefusedError if the driver reports which rows the database has refused."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction that may write."""

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def rollback(self) -> None: ...


KEY, OTHERS = "primary key", "other constraints"


@dataclass(frozen=True, slots=True)
class TargetTable:
    """State of a target; ``database`` and ``table`` are names in the database's own spelling."""

    database: str
    table: str
    exists: bool
    counted: int = 0
    columns: Mapping[str, TargetColumn] = field(default_factory=dict)
    keys: tuple[tuple[str, ...], ...] = ()
    may_create: bool = True
    has_books: bool = False
    database_exists: bool = True
    comment: str = ""
    lasting: str = ""
    """The storage engine, if it cannot roll back a transaction."""
    ties: tuple[str, ...] = ()
    """Reasons why no other table can replace it, if that was checked."""
    changes_rows: bool = False
    """A trigger may change a row before it is checked."""
    replacing: frozenset[str] = frozenset()
    """Constraints, ``KEY`` or ``OTHERS``, that let a row replace others, or a null become a default."""
    features: frozenset[str] = frozenset()
    """Types and collations that not every server of this kind has."""
    estimate: int = 0
    """Number of rows in the statistics, if there are too many to count."""

    @property
    def has_rows(self) -> bool:
        return self.counted > 0


class TargetDialect(ABC):
    """One kind of database; stateless."""

    marker: ClassVar[str] = "?"
    shared_lock: ClassVar[str] = ""
    own_lock: ClassVar[str] = ""
    """Clause of a SELECT that locks its rows against changes and locking reads until the transaction ends; empty if a
    writing transaction is alone anyway."""
    unless_there: ClassVar[str] = ""
    """Clause of an INSERT that changes nothing if another transaction was first with the key; empty if a writing
    transaction is alone anyway."""
    names: ClassVar[NameRules] = NameRules()
    """Rules for table names, as far as every server of the kind agrees."""
    column_names: ClassVar[NameRules] = NameRules()
    """Rules for column names, and for their equality."""
    updates_by_any_key: ClassVar[bool] = False
    """True if ``upsert`` updates a row that is equal in any unique index of the target, whether in the key or not."""
    counts_updates: ClassVar[bool] = False
    """True if ``upsert`` counts each row that it inserts or updates once."""
    row_order: ClassVar[str] = ""
    """Column of a staging table that grows from row to row."""
    clock: ClassVar[str] = ""
    """The database's seconds since 1970, as an expression; empty: it has none, and its ledger is never swept."""
    counts_up: ClassVar[str] = ""
    """Clause of a column definition that makes the database number the rows."""
    exact_collations: ClassVar[str] = ""
    """Collations that distinguish all texts, for display; only if ``TargetColumn.inexact`` is known."""
    alters_at_once: ClassVar[bool] = False
    """True if one ALTER TABLE takes any number of actions, all or none of which happen."""
    spans_databases: ClassVar[bool] = False
    """True if a connection reaches every database of its server, so that the option ``database`` may differ from the
    url's."""

    @abstractmethod
    def sessions(self, address: Address) -> AbstractContextManager[StatementSession]:
        """Borrow a connection from the pool; it is returned if the block ends without an exception."""

    def watched(self, session: StatementSession) -> AbstractContextManager[None]:
        """Guard a transaction that locks the ledger's row: if supported, the server ends the session of a driver that
        stalls in it, so that its successor need not wait (I34, F8)."""
        return nullcontext()

    def alone(self, session: StatementSession, database: str, table: str) -> AbstractContextManager[None]:
        """Keep other drivers from setting up this table until the block ends. A driver that stalls in the block is
        overtaken, and can do nothing more in it (I34)."""
        return nullcontext()

    @abstractmethod
    def explained(self, what: str) -> AbstractContextManager[None]:
        """Turn the driver's errors into typed ones."""

    @abstractmethod
    def quote(self, *names: str) -> str:
        """A dotted identifier."""

    @abstractmethod
    def place(self, address: Address, path: TablePath) -> tuple[str, str]:
        """Database (or schema) and table of the option ``table``. Raises ValueError for an invalid path."""

    can_be_read_back: ClassVar[bool] = True
    """Whether rows are read with the same values that the sink writes, so that both can be compared."""

    def target_place(self, address: Address, database: str, table: str) -> TargetPlace:
        """The target as data, comparable with those of all sinks of a job."""
        return TargetPlace((address.dialect, address.host, address.port, address.database), (database, table))

    @abstractmethod
    def name_rules(self, session: StatementSession) -> NameRules:
        """How this server compares table names."""

    @abstractmethod
    def look(self, session: StatementSession, database: str, table: str) -> TargetTable:
        """Inspect the table of that name, and the tables of ``books`` beside it."""

    @abstractmethod
    def created_type(self, column: Column, *, in_key: bool, alone: bool, features: frozenset[str]) -> str:
        """A column's type in a created table; ``alone``: it is the whole key. Raises ValueError if there is no such
        type."""

    @abstractmethod
    def made_column(self, name: str, column: Column, kind: str) -> TargetColumn:
        """``column`` in the target, under ``name``, with the type from ``created_type``."""

    def stored(self, array: pa.Array, column: Column, shown: str) -> pa.Array:
        """The values as a column of the type ``shown`` takes them. Raises ValueMisfitError for the first value that the
        database would accept, but store as another."""
        return array

    def changed(self, column: Column, there: TargetColumn) -> str:
        """Description of changes to the column's values there, beyond those by type; empty: none."""
        return ""

    compared: ClassVar[frozenset[Kind]] = frozenset()
    """Kinds of columns that its statements can compare (``version_column``); empty: row versions are not supported."""

    def retyped(self, name: str, kind: str, *, nullable: bool) -> str:
        """The action of an ALTER TABLE that gives a column another type. Raises FatalError if the database has none."""
        raise FatalError(
            f"this database cannot change column {name!r} to {kind}",
            "make the table again, and copy it with another job",
        )

    def literal(self, text: str) -> str:
        """A text as a literal; by default with doubled quotes."""
        return "'" + text.replace("'", "''") + "'"

    def upsert(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()
    ) -> str:
        """Statement that inserts or updates one row by key, with quoted names; empty if the database has none, and its
        writer must handle that. ``version``: update only if this column is not smaller. ``fixed``: columns of the key
        that stay unchanged in an existing row."""
        return ""

    @abstractmethod
    def is_there(self, session: StatementSession, database: str, table: str) -> bool:
        """True if a table of this name exists."""

    def beside(self, session: StatementSession, database: str, token: str) -> list[str]:
        """Tables of a run beside its target: its token is part of their names."""
        return []

    def told_by(self, session: StatementSession, database: str, table: str) -> str:
        """Identity of a table, which a later table of its name does not have; empty: not available. The table may not
        exist yet."""
        return ""

    def mark(self, relation: str, column: str, token: str) -> list[str]:
        """Statements that mark the table, for databases that recognise it only by such a mark."""
        return []

    def unmark(self, token: str) -> list[str]:
        """Statements that remove the mark, or have no effect; part of a transaction."""
        return []

    def table_id(self, session: StatementSession, load: StatementLoad) -> str | None:
        """Id of the table with the target's name, by the method of ``told_by``; None: there is no table."""
        return None

    def name_of(self, session: StatementSession, load: StatementLoad, table_id: str) -> str | None:
        """The present name of this table, if the database knows it."""
        return None

    same_id_lost_by: ClassVar[str] = ""
    """Other actions that give a table another id, for messages; empty: none."""

    def create_staging(self, staging: str, target: str, columns: Sequence[str]) -> list[str]:
        """Create a table beside the target with its columns, and unit, kind and order of each row
        (``statements.staged``); no statements if the database cannot stage rows."""
        return []

    def is_key(self, name: str, *, inexact: bool) -> str:
        """Condition that a column of the key has a value; pass the same value for each marker."""
        return f"{name} = {self.marker}"

    def delete_where(self, relation: str, column: str) -> str:
        """Delete the rows with one value in an indexed column, without waiting for locks on other rows."""
        return f"DELETE FROM {relation} WHERE {column} = {self.marker}"

    def insert_from(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()
    ) -> str:
        """Insert the rows of a query that replaces ``{rows}``. With ``key`` they also update, and with ``version`` only
        if this column is not smaller. ``fixed``: see ``upsert``."""
        return f"INSERT INTO {relation} ({', '.join(columns)}) {{rows}}"

    def change_from(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, inexact: Sequence[str] = ()
    ) -> str:
        """Update the present columns of the rows of a query that replaces ``{rows}``, and has their masks as
        ``st_absent``; empty if the database cannot stage rows. ``version``: see ``upsert``, ``inexact``: see
        ``delete_keys``."""
        return ""

    def delete_keys(self, relation: str, key: Sequence[str], keys: str, inexact: Sequence[str] = ()) -> str:
        """Delete the rows whose keys a query returns; those of ``inexact`` columns are compared byte by byte."""
        return f"DELETE FROM {relation} WHERE ({', '.join(key)}) IN ({keys})"

    @abstractmethod
    def values(self, array: pa.Array, column: Column, shown: str = "") -> list[Any]:
        """A column as the driver's values, for one of the type ``shown``, if that is known. Raises ValueError that
        names a value that cannot be stored."""

    def empty(self, relation: str) -> str:
        return f"DELETE FROM {relation}"

    def create_table(
        self, relation: str, table: TableSchema, names: Mapping[str, str], key: Sequence[str], *, indexes: bool,
        wanted: Mapping[str, str], features: frozenset[str], details: Sequence[Detail] = (),
    ) -> list[str]:  # fmt: skip
        """CREATE TABLE and its companions, each without effect when repeated."""
        lines = []
        defaults = {one.name: one.definition for one in details if one.kind is DetailKind.DEFAULT}
        counted = {one.name for one in details if one.kind is DetailKind.IDENTITY}
        for column in table.columns:
            in_key = column.name in key
            kind = self.created_type(column, in_key=in_key, alone=in_key and len(key) == 1, features=features)
            forced = in_key or not column.nullable
            ending = " NOT NULL" if forced else ""
            if column.name in defaults:
                kind = re.sub(r" default .*", "", kind, flags=re.I)
                ending += f" DEFAULT {defaults[column.name]}"
            ending += f" {self.counts_up}" if column.name in counted else ""
            lines.append(f"{self.quote(names[column.name])} {kind}{ending}{self.comment(column)}")
        if key and indexes:
            lines.append(f"PRIMARY KEY ({', '.join(self.quote(names[name]) for name in key)})")
        others = (one for one in details if one.kind not in (DetailKind.DEFAULT, DetailKind.IDENTITY))
        lines += [one.definition.format(self.quote(one.name)) for one in others]
        return [
            f"CREATE TABLE IF NOT EXISTS {relation} ({', '.join(lines)}){self.table_ending(table, wanted, details)}"
        ]

    def can_be_made(self, detail: Detail, names: Mapping[str, str]) -> bool:
        """True if a detail of the source's definition can be carried over to a table whose columns have these names: a
        default, or an index as a line of CREATE TABLE with a placeholder for its quoted name."""
        return False

    def keeps_comment(self, text: str, place: CommentPlace) -> bool:
        """True if a created table keeps this comment unchanged."""
        return False

    def comment(self, column: Column) -> str:
        """Text after a column's definition, in a database that stores comments."""
        return ""

    def table_ending(self, table: TableSchema, wanted: Mapping[str, str], details: Sequence[Detail]) -> str:
        """Text after the columns of CREATE TABLE; ``wanted`` are the job file's ``table_options``, ``details`` the
        carried over parts of the source's definition."""
        return ""

    def text_type(self, length: int) -> str:
        """A text type that can be part of a key."""
        return f"VARCHAR({length})"


def same_row(key: Sequence[str], version: str, inexact: Sequence[str]) -> str:
    """Condition that a row ``t`` of the target has the key of ``s``, and no higher version."""
    same = [f"t.{name} = s.{name}" for name in key] + [f"HEX(t.{name}) = HEX(s.{name})" for name in inexact]
    same += [f"(t.{version} IS NULL OR t.{version} <= s.{version})"] if version else []
    return " AND ".join(same)
