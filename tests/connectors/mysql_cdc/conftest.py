"""Servers that write a log: one for the whole session, an empty database for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pymysql
import pytest

from seatunnel_py.api.process.resources import close_all
from tests.connectors.mysql_cdc.log_place import DATABASE, LogPlace
from tests.servers.install import ServerMissing
from tests.servers.mariadb import ROW_LOG, MariadbServer

SETTINGS = ROW_LOG


@pytest.fixture(scope="session")
def binlog_server() -> Iterator[MariadbServer]:
    try:
        with MariadbServer.running(settings=SETTINGS) as server:
            yield server
    except ServerMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def log(binlog_server: MariadbServer) -> Iterator[LogPlace]:
    db = pymysql.connect(**binlog_server.connection(), autocommit=True, charset="utf8mb4")
    with db.cursor() as cursor:
        for statement in (
            f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4",
            f"USE {DATABASE}", "SHOW MASTER STATUS",
        ):  # fmt: skip
            cursor.execute(statement)
        file, position = cursor.fetchone()[:2]
    from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition

    yield LogPlace(db, binlog_server, BinlogPosition(file, int(position)))
    close_all()
    db.close()
