"""Encrypted connections to MariaDB: when they are made, and that a log reads the same over them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, explained
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_py.api import Element, PluginError
from tests.connectors.mysql_cdc.log_place import LogPlace
from tests.connectors.mysql_cdc.test_following import Follower, rows_of
from tests.servers.encrypted_mariadb import encrypted_mariadb
from tests.servers.mariadb import ROW_LOG, MariadbServer
from tests.servers.process import ServerMissing

ROWS = 20_000


@pytest.fixture(scope="module")
def encrypted() -> Iterator[tuple[MariadbServer, Path]]:
    try:
        with encrypted_mariadb(ROW_LOG) as server:
            yield server
    except ServerMissing as missing:
        pytest.skip(str(missing))


def cipher(server: MariadbServer, wishes: str, host: str = "127.0.0.1") -> str:
    """The cipher of a session with these parameters; empty: none."""
    address = parse_url(f"jdbc:mysql://{host}:{server.port}/test?{wishes}")
    with explained(f"connecting to {address.display}"):
        session = MysqlSession(address)
    [(_, found)] = session.ask("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
    session.close()
    return str(found)


@pytest.mark.parametrize(
    ("wishes", "host", "is_encrypted"),
    [
        ("", "127.0.0.1", True),
        ("useSSL=false", "127.0.0.1", False),
        ("sslMode=DISABLED", "127.0.0.1", False),
        ("useSSL=true", "127.0.0.1", True),
        ("sslMode=REQUIRED", "127.0.0.1", True),
        ("sslMode=VERIFY_CA&sslCa={authority}", "127.0.0.1", True),
        ("sslMode=VERIFY_IDENTITY&sslCa={authority}", "localhost", True),
    ],
)
def test_a_session_is_encrypted_as_its_url_wishes(
    encrypted: tuple[MariadbServer, Path], wishes: str, host: str, is_encrypted: bool
) -> None:
    server, authority = encrypted
    assert bool(cipher(server, wishes.format(authority=authority), host)) is is_encrypted


@pytest.mark.parametrize(
    ("wishes", "host"),
    [
        ("sslMode=VERIFY_CA", "127.0.0.1"),  # the machine's authorities did not sign it
        ("sslMode=VERIFY_IDENTITY&sslCa={authority}", "127.0.0.1"),  # the certificate is for another name
    ],
)
def test_a_server_that_cannot_be_verified_is_refused(
    encrypted: tuple[MariadbServer, Path], wishes: str, host: str
) -> None:
    server, authority = encrypted
    with pytest.raises(PluginError, match=r"(?i)certificate"):
        cipher(server, wishes.format(authority=authority), host)


def test_a_server_without_tls_is_refused_only_if_tls_is_wished(log: LogPlace) -> None:
    assert cipher(log.server, "") == ""
    with pytest.raises(PluginError, match="SSL"):
        cipher(log.server, "sslMode=REQUIRED")


def place_of(server: MariadbServer, wishes: str) -> LogPlace:
    db = pymysql.connect(**server.connection(), autocommit=True)
    place = LogPlace(db, server, BinlogPosition("", 0), wishes=wishes)
    place.run("CREATE DATABASE IF NOT EXISTS a", "USE a")
    place.start = place.end()
    return place


def test_a_log_reads_the_same_over_an_encrypted_connection(encrypted: tuple[MariadbServer, Path]) -> None:
    place = place_of(encrypted[0], "sslMode=REQUIRED")
    place.run("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(1000))")
    place.run(f"INSERT INTO t SELECT seq, REPEAT('x', seq % 900) FROM seq_1_to_{ROWS}")
    follower = Follower(place, ("t",))
    over_tls = [row for element in follower.to_the_end() for row in rows_of(element)]
    place.wishes = "useSSL=false"
    plain = [row for element in Follower(place, ("t",)).to_the_end() for row in rows_of(element)]
    assert [row[2][0] for row in over_tls] == [*range(1, ROWS + 1)]
    assert over_tls == plain


def test_an_encrypted_reader_that_waits_is_closed_at_once(encrypted: tuple[MariadbServer, Path]) -> None:
    place = place_of(encrypted[0], "sslMode=REQUIRED")
    place.run("CREATE OR REPLACE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    elements: Iterator[Element] = Follower(place, ("u",)).elements(None)
    next(elements)
    began = time.monotonic()
    elements.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 2
