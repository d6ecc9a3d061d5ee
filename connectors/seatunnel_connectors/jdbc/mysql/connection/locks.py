"""Finds the sessions that block this job's sessions in MySQL and MariaDB, so that users see why nothing moves.

The search uses its own connection with short timeouts. It shows no text of a statement, which may contain rows. The
server always knows the holder of a row lock. The server knows the holder of a table lock only if performance_schema is
on and records metadata locks; otherwise that is reported with the oldest open transactions, one of which is the usual
cause. If the user may see only its own sessions, that is reported, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pymysql

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, explained
from seatunnel_connectors.jdbc.url import Address

LOOK_SECONDS = 3
SESSIONS_MAX = 5
_OURS = "w.user = SUBSTRING_INDEX(USER(), '@', 1) AND w.db <=> DATABASE()"
_WAITING = f"""
    SELECT w.id, w.time FROM information_schema.processlist w
    WHERE {_OURS} AND w.state LIKE 'Waiting for %% lock' ORDER BY w.time DESC LIMIT %s
"""
_ROW_HOLDERS = f"""
    SELECT DISTINCT l.waiting_pid, l.wait_age_secs, 'row', b.id, b.user, b.command, TIME_TO_SEC(l.blocking_trx_age)
    FROM sys.innodb_lock_waits l
    JOIN information_schema.processlist w ON w.id = l.waiting_pid
    JOIN information_schema.processlist b ON b.id = l.blocking_pid
    WHERE {_OURS} ORDER BY 2 DESC LIMIT %s
"""
_TABLE_HOLDERS = f"""
    SELECT DISTINCT w.id, w.time, 'table', b.id, b.user, b.command, b.time
    FROM sys.schema_table_lock_waits l
    JOIN information_schema.processlist w ON w.id = l.waiting_pid
    JOIN information_schema.processlist b ON b.id = l.blocking_pid
    WHERE {_OURS} AND w.id <> b.id ORDER BY 2 DESC LIMIT %s
"""
_OLDEST = """
    SELECT b.id, b.user, TIMESTAMPDIFF(SECOND, t.trx_started, NOW())
    FROM information_schema.innodb_trx t JOIN information_schema.processlist b ON b.id = t.trx_mysql_thread_id
    WHERE b.state NOT LIKE 'Waiting for %% lock' ORDER BY 3 DESC LIMIT %s
"""
_REFUSED = "the server does not tell this user (grant PROCESS, and SELECT and EXECUTE on sys)"
_NOT_PERMITTED = (1044, 1142, 1227, 1370)


_AT_WORK = f"""
    SELECT w.id, w.time, w.state FROM information_schema.processlist w
    WHERE {_OURS} AND w.id <> CONNECTION_ID() AND w.command NOT IN ('Sleep', 'Killed') AND w.time >= %s
      AND w.state NOT IN ('', 'init') AND w.state NOT LIKE '%%net' AND w.state NOT LIKE '%%client%%'
      AND w.state NOT LIKE 'Reading file'
    ORDER BY w.time DESC LIMIT %s
"""


def at_work(address: Address, seconds: float) -> Sequence[str]:
    """Sessions of this job whose current statement has run for ``seconds`` on the server; those that wait for their
    client are omitted."""
    with (
        explained(f"asking {address.display} what its sessions do"),
        closing(MysqlSession(address, patience=LOOK_SECONDS)) as session,
    ):
        rows = session.ask(_AT_WORK, (int(seconds), SESSIONS_MAX))
    return [
        f"session {one} in {address.display} has been at one statement for {since} s ({state})"
        for one, since, state in rows
    ]


def blocked_by(address: Address) -> Sequence[str]:
    """One sentence for each of this job's sessions that waits for a lock, with the holder."""
    with (
        explained(f"asking {address.display} what keeps its sessions waiting"),
        closing(MysqlSession(address, patience=LOOK_SECONDS)) as session,
    ):
        waiting = session.ask(_WAITING, (SESSIONS_MAX,))
        try:
            held = [row for asked in (_ROW_HOLDERS, _TABLE_HOLDERS) for row in session.ask(asked, (SESSIONS_MAX,))]
            known = {row[0] for row in held}
            unknown = [row for row in waiting if row[0] not in known]
            suspects = _suspects(session.ask(_OLDEST, (SESSIONS_MAX,))) if unknown else ""
        except pymysql.Error as error:
            if not waiting or error.args[0] not in _NOT_PERMITTED:
                raise
            held, unknown, suspects = [], waiting, _REFUSED
    return [
        *(_held(address, *row) for row in held),
        *(
            f"session {one} in {address.display} has waited for {seconds} s for the lock of a table; who holds it: "
            f"{suspects}"
            for one, seconds in unknown
        ),
    ][:SESSIONS_MAX]


def _held(
    address: Address, waiting: int, seconds: int, what: str, pid: int, user: str, command: str, since: int
) -> str:
    doing = "in its transaction" if what == "row" else f"in state {command}"
    return (
        f"session {waiting} in {address.display} has waited for {seconds} s for the lock of a {what} that session "
        f"{pid} holds: user {user}, {doing} for {since} s (KILL {pid} would end it)"
    )


def _suspects(oldest: Sequence[tuple[Any, ...]]) -> str:
    shown = ", ".join(f"session {pid} of user {user}, {seconds} s old" for pid, user, seconds in oldest)
    return f"known only with performance_schema on; transactions that are open: {shown or 'none'}"
