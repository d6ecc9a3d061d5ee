"""Connections whose other end is gone without a word are given up (P4-F5), and so are sessions of clients that are."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import psycopg
import pytest

from seatunnel_connectors.jdbc.factory import JdbcSourceFactory
from seatunnel_connectors.jdbc.generic.session import GenericSession
from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession
from seatunnel_connectors.jdbc.postgres.connection.session import connect, explained, statements
from seatunnel_connectors.jdbc.source.source import JdbcSource
from seatunnel_connectors.jdbc.url import Address, resolve
from seatunnel_py.api import TimeLimitError
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import make_source

LIMITS = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
SECONDS_MAX = 20.0


def address_of(options: dict[str, Any]) -> Address:
    source = make_source({**options, "table_path": "a.t"})
    assert isinstance(source, JdbcSource) and JdbcSourceFactory.name == "Jdbc"
    return source.address


def limits_of(sock: socket.socket) -> dict[str, int]:
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    return {name: sock.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in LIMITS}


def postgres_limits(pg: PostgresPlace, parameters: str = "") -> dict[str, int]:
    db = connect(address_of({**pg.connection, "url": pg.url + parameters}))
    with socket.socket(fileno=os.dup(db.pgconn.socket)) as sock:
        found = limits_of(sock)
    db.close()
    return found


def test_sessions_of_postgresql_have_limits_and_the_url_wins(pg: PostgresPlace) -> None:
    assert postgres_limits(pg) == LIMITS
    wanted = postgres_limits(pg, "?keepalives_idle=5&tcp_user_timeout=7000")
    assert wanted == {**LIMITS, "TCP_KEEPIDLE": 5, "TCP_USER_TIMEOUT": 7000}


@pytest.mark.mariadb
def test_sessions_of_mysql_have_limits(maria: MariadbPlace) -> None:
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY)", "INSERT INTO a.t VALUES (1)")
    session = MysqlSession(address_of(maria.source()))
    assert limits_of(session.db._sock) == LIMITS
    session.close()


def test_sessions_of_other_databases_have_limits_and_the_url_wins(pg: PostgresPlace) -> None:
    """SQLAlchemy's drivers do not show their sockets, and know no limits by a common name."""

    def limits(parameters: str) -> dict[str, int]:
        url = pg.url.removeprefix("jdbc:").replace("postgresql:", "postgresql+psycopg:") + parameters
        session = GenericSession(resolve(url, "postgres", None, {}, "sqlalchemy"))
        driver: Any = session.connection.connection.driver_connection
        with socket.socket(fileno=os.dup(driver.pgconn.socket)) as sock:
            found = limits_of(sock)
        session.close()
        return found

    assert limits("") == LIMITS
    assert limits("?keepalives_idle=5") == {**LIMITS, "TCP_KEEPIDLE": 5}


WAITING = """
import sys
from seatunnel_connectors.jdbc.postgres.connection.session import statements
from seatunnel_connectors.jdbc.url import resolve
with statements(resolve(sys.argv[1], "postgres", None, {}, None)) as db:
    db.execute("SELECT 'waits' FROM a.t")
"""


def test_a_session_that_waits_for_a_lock_ends_with_its_client(pg: PostgresPlace) -> None:
    """P1-C: behind the end of the command its session went on waiting, and kept others waiting behind it."""
    pg.db.execute("CREATE TABLE a.t (id int PRIMARY KEY)")
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT ''waits''%' AND datname = current_database()"
    )
    with psycopg.connect(pg.db.info.dsn) as other:
        other.execute("LOCK TABLE a.t IN ACCESS EXCLUSIVE MODE")
        process = subprocess.Popen([sys.executable, "-c", WAITING, pg.url])
        until(lambda: pg.rows(waiting) == [(1,)])
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: pg.rows(waiting) == [(0,)])


def until(condition: Any) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def test_a_statement_timeout_is_no_loss_of_the_connection(pg: PostgresPlace) -> None:
    address = address_of({**pg.connection, "url": f"{pg.url}?options=-c%20statement_timeout%3D50"})
    with (
        pytest.raises(TimeLimitError, match="statement timeout") as raised,
        explained("reading"),
        statements(address) as db,
    ):
        db.execute("SELECT pg_sleep(5)")
    assert "raise statement_timeout" in raised.value.remedy
