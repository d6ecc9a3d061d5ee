"""Opens connections to a SQLite file."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from operator import length_hint
from pathlib import Path
from typing import Any
from urllib.parse import quote as url_quote

from seatunnel_connectors.jdbc.statements.target_dialect import Row, RowsRefusedError, StatementSession
from seatunnel_connectors.jdbc.url import Address, report_unknown
from seatunnel_py.api import BadRowsError, FatalError, PluginError, RetriableError, borrow, is_on_network, lock_timeout

BUSY_SECONDS = 60.0  # how long a writer waits for the others: only one can write at a time
KNOWN = frozenset(
    {
        "mode", "cache", "busy_timeout", "journal_mode", "synchronous", "foreign_keys", "date_class", "date_precision",
    }
)  # fmt: skip


class SqliteSession(StatementSession):
    """One connection, in autocommit outside of ``begin``. A transaction that may write takes the file's one write lock
    at once, so that it never fails in between."""

    def __init__(self, address: Address, *, writing: bool) -> None:
        report_unknown(address, KNOWN)
        path = Path(address.path)
        if not writing and not path.exists():
            raise FatalError(f"the SQLite database {path} does not exist", "correct the url")
        if writing and not path.parent.is_dir():
            raise FatalError(f"the directory {path.parent} of the SQLite database does not exist", "create it")
        mode = "rwc" if writing else "ro"
        self.db = sqlite3.connect(
            f"file:{url_quote(str(path.absolute()))}?mode={mode}", uri=True, isolation_level=None,
            timeout=lock_timeout() or BUSY_SECONDS, check_same_thread=False,
        )  # fmt: skip
        if writing:
            # WAL: readers continue during a write. Its shared memory does not work over a network.
            if not is_on_network(path.absolute()):
                self.db.execute("PRAGMA journal_mode = WAL")
            self.db.execute("PRAGMA synchronous = FULL")

    def ask(self, sql: str, values: Row = ()) -> list[tuple[Any, ...]]:
        return self.db.execute(sql, values).fetchall()

    def run(self, sql: str, values: Row = ()) -> int:
        return self.db.execute(sql, values).rowcount

    def run_many(self, sql: str, rows: Sequence[Row]) -> int:
        """Run a statement for each row. A refused row undoes only its own statement: the next rows are still tried, so
        that one run finds thousands of bad rows."""
        left, done, bad = iter(rows), 0, []
        first: sqlite3.Error | None = None
        while True:
            try:
                done += self.db.executemany(sql, left).rowcount
                break
            except sqlite3.Error as error:
                if not _is_about_a_row(error) or not self.db.in_transaction:  # ON CONFLICT ROLLBACK ends it
                    raise
                first = first or error
                bad.append((len(rows) - length_hint(left) - 1, str(error)))
        if first is not None:
            raise RowsRefusedError(bad, _remedy(first)) from first
        return done

    def begin(self) -> None:
        self.db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.db.execute("COMMIT")

    def rollback(self) -> None:
        self.db.execute("ROLLBACK")

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.db.close()


@contextlib.contextmanager
def sessions(address: Address, *, writing: bool = True) -> Iterator[SqliteSession]:
    """Borrow a connection from the pool."""
    key = ("sqlite", address.path, writing, lock_timeout())
    with borrow(key, lambda: SqliteSession(address, writing=writing), SqliteSession.close) as session:
        yield session


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn sqlite3's errors into typed ones."""
    try:
        yield
    except sqlite3.Error as error:
        raise failure(error, what) from error


def failure(error: sqlite3.Error, what: str) -> PluginError:
    if _code(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR")):
        return RetriableError(f"{what}: {error}", "end whatever else writes to the file")
    return (BadRowsError if _is_about_a_row(error) else FatalError)(f"{what}: {error}", _remedy(error))


def _code(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "") or ""


def _is_about_a_row(error: sqlite3.Error) -> bool:
    return _code(error).startswith(("SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_TOOBIG"))


def _remedy(error: sqlite3.Error) -> str:
    if _code(error).startswith(("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE")):
        return "set primary_keys and enable_upsert = true, or remove the duplicates"
    return "make room on its disk" if _code(error) == "SQLITE_FULL" else ""


def quote(*names: str) -> str:
    for name in names:
        if not name or "\0" in name:
            raise ValueError(f"{name!r} cannot be a name in SQLite")
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def literal(text: str) -> str:
    if "\0" in text:
        raise ValueError("a text with a NUL character cannot be a literal in SQLite")
    return "'" + text.replace("'", "''") + "'"
