"""Wraps SQLAlchemy's engines and connections in the session of the statement sinks."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError

from seatunnel_connectors.jdbc.statements.target_dialect import Row, StatementSession
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import BadRowsError, FatalError, PluginError, RetriableError, borrow, reachable_addresses, silence

# Parts that contain no parameter, and the parameter itself.
_MARKS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|\?|:", re.S)
_CREATE = re.compile(r"CREATE TABLE IF NOT EXISTS (\S+(?:\.\S+)?) ", re.I)


def url_of(address: Address) -> URL:
    url = make_url(address.raw)
    return url.set(username=address.user or None, password=address.secret or None)


def _engine(url: sa.URL) -> sa.Engine:
    """Make an engine. JSON documents stay unparsed text, if the dialect supports it: parsing would lose digits of
    numbers."""
    try:
        return sa.create_engine(url, poolclass=sa.pool.NullPool, json_deserializer=_as_it_is)
    except TypeError:
        return sa.create_engine(url, poolclass=sa.pool.NullPool)


def _as_it_is(document: str | bytes) -> str:
    return document.decode() if isinstance(document, bytes) else document


class GenericSession(StatementSession):
    """One connection. Statements mark parameters by ``?``, whatever the driver's own style is."""

    def __init__(self, address: Address) -> None:
        if address.host:
            reachable_addresses(address.host, address.port)
        self.engine = _engine(url_of(address))
        self.connection = silence.watched(self.engine.connect)
        self._transaction: sa.Transaction | None = None

    def ask(self, sql: str, values: Row = ()) -> list[tuple[Any, ...]]:
        found = self.connection.execute(*_named(sql, values))
        rows = [tuple(row) for row in found]
        self._settle()
        return rows

    def run(self, sql: str, values: Row = ()) -> int:
        created = _CREATE.match(sql)
        if created and self._exists(created[1]):
            return 0
        # Some databases lack IF NOT EXISTS; the check was done above.
        sql = sql.replace("IF NOT EXISTS ", "", 1) if created else sql
        if sql.startswith("DROP TABLE IF EXISTS "):
            if not self._exists(sql.removeprefix("DROP TABLE IF EXISTS ")):
                return 0
            sql = sql.replace("IF EXISTS ", "", 1)
        count = self.connection.execute(*_named(sql, values)).rowcount
        self._settle()
        return int(count)

    def run_many(self, sql: str, rows: Sequence[Row]) -> int:
        if not rows:
            return 0
        samples = [next((value for value in column if value is not None), None) for column in zip(*rows, strict=True)]
        text = _named(sql, samples)[0]
        done = self.connection.execute(text, [_numbered(row) for row in rows])
        self._settle()
        return int(done.rowcount)

    def _exists(self, relation: str) -> bool:
        """True if a quoted, possibly dotted name is a table."""
        preparer = self.engine.dialect.identifier_preparer
        parts = [part.strip(preparer.initial_quote + preparer.final_quote) for part in relation.split(".")]
        schema = parts[0] if len(parts) > 1 else None
        return bool(sa.inspect(self.connection).has_table(parts[-1], schema=schema))

    def _settle(self) -> None:
        """Outside of a transaction each statement commits itself."""
        if self._transaction is None:
            self.connection.commit()

    def begin(self) -> None:
        if self.connection.in_transaction():
            self.connection.commit()
        self._transaction = self.connection.begin()

    def commit(self) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            transaction.commit()

    def rollback(self) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            transaction.rollback()

    def close(self) -> None:
        with contextlib.suppress(SQLAlchemyError):
            self.connection.close()
            self.engine.dispose()


def _named(sql: str, values: Row) -> tuple[sa.TextClause, dict[str, Any]]:
    """Convert ``?`` to ``:p0`` and so on; other colons belong to the statement."""
    number = iter(range(len(values)))

    def one(match: re.Match[str]) -> str:
        word = match.group(0)
        if word == "?" and values:
            return f":p{next(number)}"
        return word.replace(":", "\\:")

    text = sa.text(_MARKS.sub(one, sql))
    # Typed by the value, so that the dialect converts what its driver does not support (a Decimal).
    numbered = _numbered(values)
    typed: list[sa.BindParameter[Any]] = [
        sa.bindparam(name, value) for name, value in numbered.items() if value is not None
    ]
    return text.bindparams(*typed) if typed else text, numbered


def _numbered(values: Row) -> dict[str, Any]:
    return {f"p{at}": value for at, value in enumerate(values)}


@contextlib.contextmanager
def sessions(address: Address) -> Iterator[GenericSession]:
    """Borrow a connection from the pool."""
    with borrow(("sqlalchemy", *address.identity), lambda: GenericSession(address), GenericSession.close) as session:
        yield session


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn SQLAlchemy's errors into typed ones."""
    try:
        yield
    except SQLAlchemyError as error:
        raise failure(error, what) from error


def failure(error: SQLAlchemyError, what: str) -> PluginError:
    """A typed error with the driver's own text only: SQLAlchemy adds the statement with its values, which may be
    secrets."""
    text = " ".join(str(getattr(error, "orig", None) or error).split())
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    if lost or isinstance(error, OperationalError | InterfaceError):
        return RetriableError(f"{what}: {text}", "check that the server is up and can be reached")
    return (BadRowsError if isinstance(error, DataError | IntegrityError) else FatalError)(f"{what}: {text}")
