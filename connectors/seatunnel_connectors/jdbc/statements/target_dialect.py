"""What a database must say about itself for the sinks that write by statements."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_connectors.jdbc.statements.load_plan import Load
from seatunnel_connectors.jdbc.target.details import CommentPlace
from seatunnel_connectors.jdbc.target.target_plan import TargetColumn
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import BadRows, Column, Detail, DetailKind, Kind, NameRules, TablePath, TableSchema, TargetPlace

Row = Sequence[Any]


class RowsRefusedError(Exception):
    """The database has refused some rows of a statement: their places, in order, with its words. The others passed."""

    def __init__(self, rows: Sequence[tuple[int, str]], remedy: str) -> None:
        super().__init__(rows[0][1])
        self.rows = rows
        self.remedy = remedy

    def bad_rows(self, what: str, before: int) -> BadRows:
        """The same for the engine: ``before`` rows came before the statement's first one."""
        (first, text), *others = [(row + before, f"{what}: {text}") for row, text in self.rows]
        return BadRows(text, self.remedy, first, others)


class Session(ABC):
    """One pooled connection. Statements use the dialect's markers; outside of ``begin`` each commits itself."""

    @abstractmethod
    def ask(self, sql: str, values: Row = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    @abstractmethod
    def run(self, sql: str, values: Row = ()) -> int:
        """Run a statement and return the rows that it affected."""

    @abstractmethod
    def run_many(self, sql: str, rows: Sequence[Row]) -> int:
        """Run a statement once for each row, as fast as the driver can; returns the affected rows, -1: unknown.
        RowsRefusedError where the driver tells which ones the database has refused."""

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
    """A target as it is; ``database`` and ``table`` are names in the database's own spelling."""

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
    """The storage engine, where it cannot take a transaction back."""
    ties: tuple[str, ...] = ()
    """Why no other table can take its place, where that was asked for."""
    changes_rows: bool = False
    """A trigger may make another row of one before it is looked at."""
    replacing: frozenset[str] = frozenset()
    """Which of its constraints, ``KEY`` or ``OTHERS``, let a row replace others, or a null become a default."""
    features: frozenset[str] = frozenset()
    """Types and collations that not every server of this kind has."""
    estimate: int = 0
    """Rows as the statistics have it, for where there are too many to count."""

    @property
    def has_rows(self) -> bool:
        return self.counted > 0


class TargetDialect(ABC):
    """One kind of database; stateless."""

    marker: ClassVar[str] = "?"
    shared_lock: ClassVar[str] = ""
    own_lock: ClassVar[str] = ""
    """What a SELECT says so that nobody may change its rows, or read them with a lock, before the transaction ends;
    empty where a transaction that writes is alone anyway."""
    unless_there: ClassVar[str] = ""
    """What an INSERT says so that it changes nothing where another transaction was first with the key; empty where a
    transaction that writes is alone anyway."""
    names: ClassVar[NameRules] = NameRules()
    """What names tables may have, as far as every server of the kind agrees."""
    column_names: ClassVar[NameRules] = NameRules()
    """What names columns may have, and which of them are one."""
    updates_by_any_key: ClassVar[bool] = False
    """Whether ``upsert`` updates a row that is equal in any unique index of the target, of another key or not."""
    counts_updates: ClassVar[bool] = False
    """Whether ``upsert`` counts each row that it inserts or updates once."""
    row_order: ClassVar[str] = ""
    """The column of a staging table that grows from row to row."""
    clock: ClassVar[str] = ""
    """The database's seconds since 1970, as an expression; empty: there is none, and its ledger is never swept."""
    counts_up: ClassVar[str] = ""
    """What a column's definition says so that the database numbers rows."""
    exact_collations: ClassVar[str] = ""
    """Collations that tell all texts apart, for people; only where ``TargetColumn.inexact`` is known."""
    spans_databases: ClassVar[bool] = False
    """Whether a connection reaches every database of its server, so that the option ``database`` may be another
    one than the url's."""

    @abstractmethod
    def sessions(self, address: Address) -> AbstractContextManager[Session]:
        """A pooled connection; given back when the block ends without an exception."""

    def watched(self, session: Session) -> AbstractContextManager[None]:
        """For a transaction that holds the ledger's row: a server that can ends the session of a driver that stands
        still in it, so that the one that takes over does not wait (I34, F8)."""
        return nullcontext()

    @abstractmethod
    def explained(self, what: str) -> AbstractContextManager[None]:
        """Turns the driver's errors into ours."""

    @abstractmethod
    def quote(self, *names: str) -> str:
        """A dotted identifier."""

    @abstractmethod
    def place(self, address: Address, path: TablePath) -> tuple[str, str]:
        """Database (or schema) and table that the option ``table`` means. ValueError for what is neither."""

    def target_place(self, address: Address, database: str, table: str) -> TargetPlace:
        """The same as a place among those of all sinks of a job."""
        return TargetPlace((address.dialect, address.host, address.port, address.database), (database, table))

    @abstractmethod
    def name_rules(self, session: Session) -> NameRules:
        """How this server compares the names of tables."""

    @abstractmethod
    def look(self, session: Session, database: str, table: str) -> TargetTable:
        """What stands at that name now, with the tables of ``books`` beside it."""

    @abstractmethod
    def created_type(self, column: Column, *, in_key: bool, alone: bool, features: frozenset[str]) -> str:
        """A column's type in a table that we create; ``alone`` says that it is the whole key. ValueError where there
        is none."""

    @abstractmethod
    def made_column(self, name: str, column: Column, kind: str) -> TargetColumn:
        """``column`` in the target, under ``name``, of the type that ``created_type`` said."""

    def stored(self, array: pa.Array, column: Column, shown: str) -> pa.Array:
        """The values as a column of the type ``shown`` takes them. ValueMisfitError for the first value that the
        database would take, and store as another."""
        return array

    def changed(self, column: Column, there: TargetColumn) -> str:
        """What becomes of the column's values there, beyond what their types say; empty: nothing."""
        return ""

    compared: ClassVar[frozenset[Kind]] = frozenset()
    """What kinds of columns its statements can compare (``versions``); none: rows have no versions there."""

    def upsert(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()
    ) -> str:
        """A statement that inserts or updates one row by key, all names being quoted already; empty where the
        database has none, which its writer must know. ``version``: only where this column is not smaller.
        ``fixed``: columns of the key that stay as they are in a row that is there."""
        return ""

    @abstractmethod
    def is_there(self, session: Session, database: str, table: str) -> bool:
        """Whether a table stands at this name."""

    def beside(self, session: Session, database: str, token: str) -> list[str]:
        """The tables that a run has beside its target: its token is part of their names."""
        return []

    def told_by(self, session: Session, database: str, table: str) -> str:
        """How this database tells a table from another one that is made under its name later; empty: it cannot.
        The table may not be there yet."""
        return ""

    def mark(self, relation: str, column: str, token: str) -> list[str]:
        """Statements that make the table known, where only a mark of ours tells it from another one."""
        return []

    def unmark(self, token: str) -> list[str]:
        """Statements that remove the mark, or have no effect; part of a transaction."""
        return []

    def table_id(self, session: Session, load: Load) -> str | None:
        """Which table stands at the target's name, by what ``told_by`` has decided; None: none does."""
        return None

    def name_of(self, session: Session, load: Load, table_id: str) -> str | None:
        """The name that this table has now, where the database knows."""
        return None

    same_id_lost_by: ClassVar[str] = ""
    """What else gives a table another id, for people; empty: nothing does."""

    def create_staging(self, staging: str, target: str, columns: Sequence[str]) -> list[str]:
        """A table beside the target with its columns, and unit, kind and order of each row (``statements.staged``);
        none where the database cannot stage rows."""
        return []

    def is_key(self, name: str, *, inexact: bool) -> str:
        """The condition that a column of the key has a value; the same value once for each marker."""
        return f"{name} = {self.marker}"

    def delete_where(self, relation: str, column: str) -> str:
        """Deletes the rows with one value in a column that has an index, and waits for nobody's other rows."""
        return f"DELETE FROM {relation} WHERE {column} = {self.marker}"

    def insert_from(
        self, relation: str, columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()
    ) -> str:
        """Insert the rows of a query that replaces ``{rows}``; by ``key``, where there is one, they update as well, and
        with ``version`` only where this column is not smaller. ``fixed``: see ``upsert``."""
        return f"INSERT INTO {relation} ({', '.join(columns)}) {{rows}}"

    def delete_keys(self, relation: str, key: Sequence[str], keys: str, inexact: Sequence[str] = ()) -> str:
        """Delete the rows whose keys a query gives; those of ``inexact`` columns byte by byte."""
        return f"DELETE FROM {relation} WHERE ({', '.join(key)}) IN ({keys})"

    @abstractmethod
    def values(self, array: pa.Array, column: Column, shown: str = "") -> list[Any]:
        """A column as the driver's values for one of the type ``shown``, where that is known. ValueError names a value
        that cannot be stored."""

    def empty(self, relation: str) -> str:
        return f"DELETE FROM {relation}"

    def create_table(
        self, relation: str, table: TableSchema, names: Mapping[str, str], key: Sequence[str], *, indexes: bool,
        wanted: Mapping[str, str], features: frozenset[str], details: Sequence[Detail] = (),
    ) -> list[str]:  # fmt: skip
        """CREATE TABLE and what belongs to it, each without effect where it was done before."""
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
        """Whether a detail of the source's definition can be carried over into a table whose columns have these
        names: a default, or an index as a line of CREATE TABLE with a place for its quoted name."""
        return False

    def keeps_comment(self, text: str, place: CommentPlace) -> bool:
        """Whether a table that is made keeps this comment as it is."""
        return False

    def comment(self, column: Column) -> str:
        """What stands behind a column's definition, in a database that keeps comments."""
        return ""

    def table_ending(self, table: TableSchema, wanted: Mapping[str, str], details: Sequence[Detail]) -> str:
        """What follows the columns of CREATE TABLE; ``wanted`` are the job file's ``table_options``, ``details`` what
        the table gets of its source's definition."""
        return ""

    def text_type(self, length: int) -> str:
        """A text type that can be part of a key."""
        return f"VARCHAR({length})"
