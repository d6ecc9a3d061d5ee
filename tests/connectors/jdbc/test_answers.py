"""Who answers, as ``test-connection`` tells it."""

from __future__ import annotations

import socket
import time

import pytest

from seatunnel_connectors.jdbc.factory import JdbcSinkFactory, JdbcSourceFactory
from seatunnel_connectors.jdbc.options import JdbcSinkOptions, JdbcSourceOptions
from seatunnel_py.api import PluginError, RetriableError
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace


def test_postgresql_says_what_its_user_may_do(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE ROLE reader LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    try:
        own = JdbcSinkFactory().test_connection(JdbcSinkOptions.model_validate(pg.sink(table="b.t")))
        given = pg.sink(table="b.t") | {"username": "reader"}
        other = JdbcSinkFactory().test_connection(JdbcSinkOptions.model_validate(given))
    finally:
        close_all()
        pg.db.execute("DROP ROLE reader")

    version = pg.db.info.server_version // 10_000
    assert own["server"].startswith(f"PostgreSQL {version}.")
    assert (own["user"], own["may create tables"]) == ("postgres", "yes, in public")
    assert (other["user"], other["may create tables"]) == ("reader", "not in public")
    assert own["wal_level"] == "replica" and own["standby"] == "no"


def test_mariadb_says_whether_it_writes_a_log(maria: MariadbPlace) -> None:
    options = JdbcSourceOptions.model_validate(maria.source(table_path="a.t"))

    found = JdbcSourceFactory().test_connection(options)

    assert found["server"].startswith("MariaDB ") and found["database"] == "a"
    assert found["binlog"] == "off" and found["user"].startswith("root@")


def test_a_wrong_database_is_named_with_its_remedy(pg: PostgresPlace) -> None:
    given = pg.source(table_path="a.t") | {"url": pg.url.rpartition("/")[0] + "/elsewhere"}

    with pytest.raises(PluginError, match='database "elsewhere" does not exist') as refused:
        JdbcSourceFactory().test_connection(JdbcSourceOptions.model_validate(given))

    assert refused.value.remedy


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_takes_a_connection_and_says_nothing_is_given_up(scheme: str) -> None:
    """A stuck proxy or server would else be waited for as long as it lives; `connection_check_timeout_sec` says when."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"jdbc:{scheme}://127.0.0.1:{silent.getsockname()[1]}/x"
        options = {"url": url, "username": "u", "query": "select 1", "connection_check_timeout_sec": 1}
        began = time.monotonic()

        with pytest.raises(RetriableError, match="connecting to"):
            JdbcSourceFactory().test_connection(JdbcSourceOptions.model_validate(options))

    assert time.monotonic() - began < 10
