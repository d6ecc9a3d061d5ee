"""Locks the name of a target, for steps that no transaction can hold together, because DDL commits by itself.

Rules. (1) The lock belongs to the session, and ends with it: an exception closes the session. (2) The server ends a
session that does nothing for ``wait_timeout`` seconds. A driver that stalls under the lock thus loses both, and its
next statement fails, before a newer driver goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import pymysql

from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession
from seatunnel_py.api import RetriableError

LOCK_SECONDS = 50  # InnoDB's timeout for a row lock
_NO_LOCKS = (1105, 1235)
"""Errors of clusters of several servers, which do not support named locks."""


@contextmanager
def named_lock(session: StatementSession, database: str, table: str) -> Iterator[None]:
    """Hold the lock. Raises RetriableError if another session keeps it."""
    name = "seatunnel_" + blake2b(f"{database}.{table}".encode(), digest_size=16).hexdigest()
    try:
        [(locked,)] = session.ask("SELECT GET_LOCK(%s, %s)", (name, LOCK_SECONDS))
    except pymysql.Error as error:
        if not error.args or error.args[0] not in _NO_LOCKS:
            raise
        yield  # names, comments and records decide without it, too, but for a driver that stalls between two steps
        return
    if locked != 1:
        raise RetriableError(
            f"table {table}: another session has been preparing or renaming it for {LOCK_SECONDS} s",
            "look for a session that waits for a lock of the table",
        )
    yield
    session.ask("SELECT RELEASE_LOCK(%s)", (name,))
