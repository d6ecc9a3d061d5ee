"""Writes to any database that SQLAlchemy supports."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import sqlalchemy as sa

from seatunnel_connectors.jdbc.generic import types
from seatunnel_connectors.jdbc.generic.session import GenericSession, explained, sessions, url_of
from seatunnel_connectors.jdbc.statements.keyed_writer import KeyedWriter
from seatunnel_connectors.jdbc.statements.ledger_tables import LEDGER, PIECES
from seatunnel_connectors.jdbc.statements.load_plan import load_of
from seatunnel_connectors.jdbc.statements.sink import StatementSink
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession, TargetDialect, TargetTable
from seatunnel_connectors.jdbc.target.target_plan import TargetColumn, no_table, words_given
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Column, NameRules, TablePath, WriteContext, Writer


@dataclass(frozen=True)
class GenericTargetDialect(TargetDialect):
    """Words and quotes come from the dialect of the address."""

    column_names: ClassVar[NameRules] = NameRules(folds_case=True)
    can_be_read_back: ClassVar[bool] = False

    address: Address

    @property
    def dialect(self) -> sa.Dialect:
        return url_of(self.address).get_dialect()()

    def sessions(self, address: Address) -> AbstractContextManager[StatementSession]:
        return sessions(address)

    def explained(self, what: str) -> AbstractContextManager[None]:
        return explained(what)

    def quote(self, *names: str) -> str:
        preparer = self.dialect.identifier_preparer
        return ".".join(preparer.quote_identifier(name) for name in names)

    def place(self, address: Address, path: TablePath) -> tuple[str, str]:
        return ".".join(filter(None, (path.database, path.schema))), path.table

    def name_rules(self, session: StatementSession) -> NameRules:
        """Names that differ in letter case only count as equal: whether case matters depends on the database and its
        collations, and there is no common way to ask."""
        assert isinstance(session, GenericSession)
        default = sa.inspect(session.connection).default_schema_name or ""
        longest = session.engine.dialect.max_identifier_length
        return NameRules(folds_case=True, length_max=longest, unit="characters", default=default)

    def is_there(self, session: StatementSession, database: str, table: str) -> bool:
        assert isinstance(session, GenericSession)
        return bool(sa.inspect(session.connection).has_table(table, schema=database or None))

    def look(self, session: StatementSession, database: str, table: str) -> TargetTable:
        assert isinstance(session, GenericSession)
        inspector = sa.inspect(session.connection)
        schema = database or None
        books = inspector.has_table(LEDGER, schema=schema) and inspector.has_table(PIECES, schema=schema)
        if not inspector.has_table(table, schema=schema):
            return TargetTable(database, table, exists=False, has_books=books)
        if kind := _kind_of(inspector, table, schema):
            raise no_table(".".join(filter(None, (database, table))), kind)
        columns = {}
        for found in inspector.get_columns(table, schema=schema):
            native = found["type"]
            fills = found.get("default") is not None or bool(found.get("autoincrement") is True)
            columns[found["name"]] = TargetColumn(
                found["name"], types.target_type(native), str(native), bool(found.get("nullable", True)), fills,
                getattr(native, "length", None) or 0, "computed" in found, types.digits_of(native),
            )  # fmt: skip
        keys = [tuple(inspector.get_pk_constraint(table, schema=schema).get("constrained_columns") or ())]
        keys += [tuple(one["column_names"]) for one in inspector.get_unique_constraints(table, schema=schema)]
        relation = self.quote(*filter(None, (database, table)))
        rows = int(session.ask(f"SELECT count(*) FROM {relation}")[0][0])
        unique = tuple(key for key in keys if key)
        return TargetTable(database, table, True, rows, columns, unique, has_books=books, estimate=rows)

    def created_type(self, column: Column, *, in_key: bool, alone: bool, features: frozenset[str]) -> str:
        if given := words_given(column):
            return given
        return types.created_type(column, in_key=in_key).compile(dialect=self.dialect)

    def made_column(self, name: str, column: Column, kind: str) -> TargetColumn:
        made = None if words_given(column) else types.created_type(column, in_key=False)
        return TargetColumn(name, None if made is None else types.target_type(made), kind)

    def values(self, array: pa.Array, column: Column, shown: str = "") -> list[Any]:
        return types.to_values(array, column)


def _kind_of(inspector: sa.Inspector, table: str, schema: str | None) -> str:
    """The kind of object with that name, if the database reports that it is not a table."""
    for kind, names in (
        ("a view", inspector.get_view_names),
        ("a materialized view", inspector.get_materialized_view_names),
    ):
        with suppress(NotImplementedError):  # a dialect without such objects
            if table in names(schema=schema):
                return kind
    return ""


class GenericSink(StatementSink):
    def open(self, context: WriteContext) -> Writer:
        if self.request.options.query:
            return super().open(context)
        return GenericWriter(self.dialect, self.request, load_of(context.setup), context)


class GenericWriter(KeyedWriter):
    """Updates each row, and inserts it if none was updated: no upsert statement is common to all databases."""

    def insert(self, data: pa.RecordBatch) -> None:
        if not (self.load.key and self.load.upsert):
            super().insert(data)
            return
        quote, names, key = self.dialect.quote, self.load.names, self.load.key
        others = [name for name in names if name not in key] or list(key)
        update = (
            f"UPDATE {self.relation} SET {', '.join(f'{quote(name)} = ?' for name in others)} "
            f"WHERE {' AND '.join(f'{quote(name)} = ?' for name in key)}"
        )
        order = [names.index(name) for name in (*others, *key)]
        insert = (
            f"INSERT INTO {self.relation} ({', '.join(map(quote, names))}) VALUES ({', '.join(['?'] * len(names))})"
        )
        for row in self._rows(data):
            if self.session.run(update, tuple(row[at] for at in order)) == 0:
                self.session.run(insert, row)
