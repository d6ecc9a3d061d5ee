"""What MySQL says of a session that waits: whose lock it is, as far as the server knows and tells."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pymysql
import pytest

from seatunnel_py.api import Sink
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.conftest import MariadbPlace
from tests.connectors.jdbc.copying import copy_table, make_sink, make_source
from tests.connectors.jdbc.exactly_once import maria_target
from tests.servers.mariadb import MariadbServer

pytestmark = pytest.mark.mariadb

SECONDS_MAX = 60.0
LOOK_SECONDS = 0.25  # who looks at InnoDB's locks again within a tenth of a second is shown the same, for ever
WATCHED = {"performance_schema": "ON", "performance_schema_instrument": "wait/lock/metadata/sql/mdl=ON"}
TABLES = (
    "CREATE TABLE a.t (id bigint PRIMARY KEY, v varchar(10))",
    "INSERT INTO a.t VALUES (1, 'x'), (2, 'y')",
    "CREATE TABLE b.t (id bigint PRIMARY KEY, v varchar(10))",
    "INSERT INTO b.t VALUES (1, 'before')",
)


class Locker:
    """Another session, which holds something."""

    def __init__(self, maria: MariadbPlace, *statements: str) -> None:
        self.db: Any = pymysql.connect(host="127.0.0.1", port=maria.port, user="root")
        self.run(*statements)

    @property
    def session(self) -> int:
        return int(self.db.thread_id())

    def run(self, *statements: str) -> None:
        with self.db.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def close(self) -> None:
        self.db.close()


@contextmanager
def copying(maria: MariadbPlace, options: Mapping[str, Any], locker: Locker) -> Iterator[Sink]:
    """Copies the table on another thread; at the end the lock is given up, and it has come through."""
    source = make_source(maria.source(table_path="a.t"))
    [table] = source.tables()
    sink, _ = make_sink(options, table.schema)
    failed: list[Exception] = []

    def copy() -> None:
        try:
            copy_table(source, table, sink)
        except Exception as error:  # noqa: BLE001 - shown by the other thread
            failed.append(error)

    thread = threading.Thread(target=copy)
    thread.start()
    try:
        yield sink
    finally:
        locker.run("ROLLBACK")
        thread.join(SECONDS_MAX)
    assert not thread.is_alive() and not failed, failed


def said(ask: Callable[[], Sequence[Any]]) -> Any:
    """What the only session that waits is told, as soon as there is one."""
    until = time.monotonic() + SECONDS_MAX
    while not (found := ask()):
        assert time.monotonic() < until, "nobody waits"
        time.sleep(LOOK_SECONDS)
    (line,) = found
    return line


def test_who_holds_a_row_is_named(maria: MariadbPlace) -> None:
    """A transaction that somebody has left open is the commonest reason."""
    maria.run(*TABLES)
    with closing(Locker(maria, "BEGIN", "UPDATE b.t SET v = 'mine' WHERE id = 1")) as locker:
        with copying(maria, maria.sink(table="t", primary_keys=["id"]), locker) as sink:
            line = said(sink.blocked_by)
        assert f"for the lock of a row that session {locker.session} holds: user root, in its transaction" in line
        assert f"KILL {locker.session}" in line and "mine" not in line
        said(lambda: ["nothing"] if not sink.blocked_by() else [])  # the server shows a lock for a moment longer
    assert maria.rows("SELECT id, v FROM b.t ORDER BY id") == [(1, "x"), (2, "y")]


def test_who_may_hold_a_table_is_named(maria: MariadbPlace) -> None:
    """The server itself does not say whose it is; open transactions are what can be shown."""
    maria.run(*TABLES)
    with closing(Locker(maria, "BEGIN", "SELECT * FROM b.t")) as locker:
        with copying(maria, maria.sink(table="t", data_save_mode="DROP_DATA"), locker) as sink:
            line = said(sink.blocked_by)
        assert "for the lock of a table; who holds it: known only with performance_schema on" in line
        assert f"session {locker.session} of user root" in line
    assert maria.rows("SELECT id, v FROM b.t ORDER BY id") == [(1, "x"), (2, "y")]


def test_a_user_who_may_see_nothing_is_told_what_it_lacks(maria: MariadbPlace) -> None:
    """Its own sessions it may see, and that one of them waits."""
    maria.run(*TABLES, "CREATE OR REPLACE USER poor", "GRANT ALL ON b.* TO poor")
    poor = {**maria.sink(table="t", data_save_mode="DROP_DATA"), "user": "poor"}
    with closing(Locker(maria, "BEGIN", "SELECT * FROM b.t")) as locker:
        with copying(maria, poor, locker) as sink:
            said(lambda: maria.rows("SELECT id FROM information_schema.processlist WHERE state LIKE 'Waiting for %'"))
            line = said(sink.blocked_by)
        assert "who holds it: the server does not tell this user (grant PROCESS" in line


@pytest.fixture(scope="module")
def watched_server() -> Iterator[MariadbServer]:
    with MariadbServer.running(settings={"local_infile": "ON", **WATCHED}) as server:
        yield server


def test_a_server_that_watches_tables_says_who_holds_one(watched_server: MariadbServer) -> None:
    with closing(pymysql.connect(**watched_server.connection(), autocommit=True)) as db:
        maria = MariadbPlace(db, watched_server.port)
        maria.run("CREATE DATABASE a", "CREATE DATABASE b", *TABLES)
        with (
            closing(Locker(maria, "BEGIN", "SELECT * FROM b.t")) as locker,
            copying(maria, maria.sink(table="t", data_save_mode="DROP_DATA"), locker) as sink,
        ):
            line = said(sink.blocked_by)
            assert f"for the lock of a table that session {locker.session} holds: user root, in state Sleep" in line
        close_all()


def test_a_commit_waits_for_nobody_who_is_still_staging(request: pytest.FixtureRequest, maria: MariadbPlace) -> None:
    """It holds the ledger's row, which a unit wants at its end: both would wait for ever, and the server ends one."""
    target = maria_target(request)
    target.plan()
    piece = target.stage("x/1", *(("+I", number, "new") for number in range(300)))
    [staging] = target.staging()
    waits = "SET GLOBAL innodb_lock_wait_timeout = "
    maria.run(f"{waits} 1")
    try:
        with closing(Locker(maria, "BEGIN", f"INSERT INTO b.{staging} (st_unit, id) VALUES ('another', 1)")):
            target.commit(1, piece)
    finally:
        maria.run(f"{waits} 50")

    assert len(target.rows) == 1 + 300 and target.staged_rows() == 0
