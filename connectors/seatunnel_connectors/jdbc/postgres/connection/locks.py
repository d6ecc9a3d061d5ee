"""Finds the sessions that block this job's sessions in PostgreSQL, so that users see why nothing moves.

The search uses its own connection with short timeouts. It shows no text of a statement, which may contain rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.conninfo import make_conninfo

from seatunnel_connectors.jdbc.postgres.connection.pinned import connection
from seatunnel_connectors.jdbc.postgres.connection.session import conninfo
from seatunnel_connectors.jdbc.url import Address

LOOK_SECONDS = 3
SESSIONS_MAX = 5
_BLOCKED = """
    SELECT w.pid, coalesce(extract(epoch FROM now() - w.query_start), 0)::int, b.pid, b.usename, b.application_name,
           b.state, coalesce(extract(epoch FROM now() - b.xact_start), 0)::int
    FROM pg_stat_activity w
    CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS blocking(pid)
    JOIN pg_stat_activity b ON b.pid = blocking.pid
    WHERE w.datname = current_database() AND w.usename = current_user AND w.wait_event_type = 'Lock'
      AND w.application_name = (SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid())
    ORDER BY 2 DESC LIMIT %s
"""


_AT_WORK = """
    SELECT pid, extract(epoch FROM now() - query_start)::int, coalesce(wait_event_type || ': ' || wait_event, 'running')
    FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
      AND application_name = (SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid())
      AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'
      AND query_start <= now() - make_interval(secs => %s)
    ORDER BY 2 DESC LIMIT %s
"""


def at_work(address: Address, seconds: float) -> Sequence[str]:
    """Sessions of this job whose current statement has run for ``seconds`` on the server; those that wait for their
    client are omitted."""
    rows = _asked(address, _AT_WORK, [seconds, SESSIONS_MAX])
    return [
        f"session {pid} in {address.display} has been at one statement for {since} s ({doing})"
        for pid, since, doing in rows
    ]


def _asked(address: Address, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    info = make_conninfo(conninfo(address), connect_timeout=LOOK_SECONDS)
    with connection(info) as db:
        db.execute(f"SET statement_timeout = '{LOOK_SECONDS}s'")
        return db.execute(sql.encode(), values).fetchall()


def blocked_by(address: Address) -> Sequence[str]:
    """One sentence for each of this job's sessions that waits for a lock, with the holder."""
    rows = _asked(address, _BLOCKED, [SESSIONS_MAX])
    return [
        f"session {waiting} in {address.display} has waited for {seconds} s for a lock that session {pid} holds: "
        f"{name or 'no name'} of user {user}, {state or 'unknown'}, in its transaction for {since} s "
        f"(SELECT pg_terminate_backend({pid}) would end it)"
        for waiting, seconds, pid, user, name, state, since in rows
    ]
