"""Checks of MySQL-CDC and MariaDB-CDC on a server: privileges, and tables that a log cannot follow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.dump.session import DumpSession
from seatunnel_connectors.mysql_cdc.factory import MariadbCdcFactory
from seatunnel_connectors.mysql_cdc.failures import PurgedLogError
from seatunnel_connectors.mysql_cdc.log_places import first_of_log, with_transactions
from seatunnel_connectors.mysql_cdc.log_split import BinlogPlace
from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.server_checks import require_row_log
from seatunnel_connectors.mysql_cdc.source import BinlogCdcSource
from seatunnel_py.api import (
    Batch,
    Element,
    FatalError,
    FollowedTable,
    Heartbeat,
    Position,
    ReadContext,
    RetriableError,
    Secret,
    SourceTable,
    TableFailure,
    TableLeftOut,
)
from seatunnel_py.plan.job_text.chosen import Connection
from tests.connectors.mysql_cdc.log_place import LogPlace
from tests.kit.discovered import Discovered


def source(log: LogPlace, **more: Any) -> BinlogCdcSource:
    options = BinlogCdcOptions.model_validate({"url": log.server.jdbc_url("a"), "username": "root", **more})
    return BinlogCdcSource(log.address, options, 5)


def tables(log: LogPlace, **more: Any) -> dict[str, Any]:
    found = {}
    for one in source(log, **more).tables():
        path = one.schema.path if isinstance(one, SourceTable) else one.path
        found[path.table] = one
    return found


def test_the_privileges_of_a_replica_are_needed(log: LogPlace) -> None:
    """One statement after the other, each as the refusal before it says."""
    log.run("CREATE OR REPLACE USER 'reads'@'%' IDENTIFIED BY 'hidden'", "GRANT SELECT ON a.* TO 'reads'@'%'")
    address = replace(log.address, user="reads", password=Secret("hidden"))
    try:
        for grant in ("GRANT BINLOG MONITOR, REPLICATION SLAVE ON *.*", "GRANT REPLICATION SLAVE ON *.*"):
            with pytest.raises(FatalError, match="the user 'reads'@'%' may not") as raised:
                require_row_log(address)
            assert raised.value.remedy == f"{grant} TO 'reads'@'%'"
            assert "hidden" not in str(raised.value)
            log.run("GRANT BINLOG MONITOR ON *.* TO 'reads'@'%'")
        log.run("GRANT REPLICATION SLAVE ON *.* TO 'reads'@'%'")
        assert require_row_log(address) == {"binlog_row_metadata": "FULL"}
    finally:
        log.run("DROP USER 'reads'@'%'")


def test_the_settings_of_the_server_are_looked_at(log: LogPlace) -> None:
    log.run("SET GLOBAL binlog_row_image = NOBLOB")
    try:
        with pytest.raises(FatalError, match="binlog_row_image = NOBLOB"):
            require_row_log(log.address)
    finally:
        log.run("SET GLOBAL binlog_row_image = FULL")


def test_what_a_log_cannot_follow_is_said(log: LogPlace) -> None:
    """F-C61: also rows that a cascade removes."""
    log.run(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, "
        "CONSTRAINT gone FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
        "CREATE TABLE plain (id INT)",
        "CREATE TABLE versioned (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
        "CREATE VIEW looked AS SELECT * FROM parent",
    )
    names = [f"a.{name}" for name in ("parent", "child", "plain", "versioned", "looked")]

    found = tables(log, **{"table-names": names})

    assert found["parent"].notes == ()
    assert "foreign key gone" in found["child"].notes[0]
    assert "no primary key" in found["plain"].notes[0]
    assert isinstance(found["versioned"], TableFailure) and "DROP SYSTEM VERSIONING" in found["versioned"].remedy
    assert isinstance(found["looked"], TableFailure) and "is a view" in found["looked"].message


def test_a_cascade_can_be_refused(log: LogPlace) -> None:
    """F-C61: for each rule that changes rows; the parent is followed."""
    rules = ("ON DELETE CASCADE", "ON DELETE SET NULL", "ON UPDATE CASCADE", "ON UPDATE SET NULL")
    log.run("CREATE TABLE parent (id INT PRIMARY KEY)")
    for number, rule in enumerate((*rules, "ON DELETE RESTRICT")):
        log.run(
            f"CREATE TABLE child{number} (id INT PRIMARY KEY, p INT, "
            f"CONSTRAINT gone{number} FOREIGN KEY (p) REFERENCES parent (id) {rule})"
        )
    names = ["a.parent", *(f"a.child{number}" for number in range(5))]

    found = tables(log, **{"table-names": names, "cascade": "refuse"})

    for number in range(4):
        assert f"foreign key gone{number}" in found[f"child{number}"].message
        assert f"DROP FOREIGN KEY `gone{number}`" in found[f"child{number}"].remedy
    assert {found["parent"].notes, found["child4"].notes} == {()}


def test_exactly_once_asks_for_a_key(log: LogPlace) -> None:
    log.run("CREATE TABLE plain (id INT, n INT)")
    given = {"table-names": ["a.plain"], "exactly_once": True}

    assert "ADD PRIMARY KEY" in tables(log, **given)["plain"].remedy
    config = [{"table": "a.plain", "primaryKeys": ["id"]}]
    keyed = tables(log, **given, **{"table-names-config": config})["plain"]
    assert (keyed.schema.primary_key.columns, keyed.schema.primary_key.proved) == (("id",), False)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"table": "a.plain", "primaryKeys": ["no"]}, "has no column no"),
        ({"table": "a.other", "primaryKeys": ["id"]}, "names tables that are not read: a.other"),
    ],
)
def test_a_declared_key_must_be_there(log: LogPlace, config: dict[str, Any], told: str) -> None:
    log.run("CREATE TABLE plain (id INT, n INT)")

    with pytest.raises(FatalError, match=told):
        tables(log, **{"table-names": ["a.plain"], "table-names-config": [config]})


def test_databases_limit_a_pattern(log: LogPlace) -> None:
    log.run(
        "CREATE DATABASE IF NOT EXISTS b", "CREATE OR REPLACE TABLE b.t2 (id INT PRIMARY KEY)",
        "CREATE TABLE t1 (id INT PRIMARY KEY)",
    )  # fmt: skip
    try:
        for more in ({"database-names": ["a"]}, {"database-pattern": "[ac]"}):
            found = tables(log, **{"table-pattern": r"[ab]\.t\d", **more})
            assert isinstance(found["t1"], SourceTable) and isinstance(found["t2"], TableLeftOut)
        with pytest.raises(FatalError, match="no table matches"):
            tables(log, **{"table-pattern": r"b\..*", "database-names": ["a"]})
    finally:
        log.run("DROP DATABASE b")


def test_facts_of_the_server_are_shown(log: LogPlace) -> None:
    options = BinlogCdcOptions.model_validate(
        {"url": log.server.jdbc_url("a"), "username": "root", "table-names": ["a.t"]}
    )

    assert MariadbCdcFactory().test_connection(options)["binlog_row_metadata"] == "FULL"


def test_a_place_has_the_transactions_before_it(log: LogPlace) -> None:
    log.run("CREATE TABLE t (id INT PRIMARY KEY)")
    [(known,)] = log.ask("SELECT @@gtid_binlog_pos")
    session = MysqlSession(log.address)
    try:
        assert str(with_transactions(session, log.end()).gtids) == known
        assert with_transactions(session, first_of_log(session)).file == "log.000001"
    finally:
        session.close()


def test_an_id_that_a_replica_has_is_refused(log: LogPlace) -> None:
    """F-C34: before the two end each other's connections."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY)")
    found = [
        FollowedTable(one) for one in source(log, **{"table-names": ["a.t"]}).tables() if isinstance(one, SourceTable)
    ]
    chosen = replace(source(log, **{"table-names": ["a.t"], "startup.mode": "latest"}), server_id=4_000_009)
    dump = DumpSession(log.address, DumpRequest(4_000_009, log.start.file, log.start.offset))
    try:
        with pytest.raises(RetriableError, match="server id 4000009 reads the log already"):
            chosen.log_enumerator(found, None).discover()
    finally:
        dump.close()
    free = replace(chosen, server_id=4_000_010)
    [split] = free.log_enumerator(found, None).discover()
    assert BinlogPlace.of(split.payload).begin.place == log.end().place


def test_a_place_that_is_asked_for_must_be_there(log: LogPlace) -> None:
    log.run("CREATE TABLE t (id INT PRIMARY KEY)")
    chosen = {"startup.specific-offset.file": "log.999999", "startup.specific-offset.pos": 4}
    specific = source(log, **{"table-names": ["a.t"], "startup.mode": "specific", **chosen})
    found = [FollowedTable(one) for one in specific.tables() if isinstance(one, SourceTable)]

    with pytest.raises(PurgedLogError, match=r"log.999999:4 was purged: the server's log begins at log.000001:4"):
        specific.log_enumerator(found, None).discover()


def test_a_time_leads_to_the_first_transaction_since_then(log: LogPlace) -> None:
    """Across the files of the log; the session sets the time of its statements."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY)")
    [(now,)] = log.ask("SELECT UNIX_TIMESTAMP()")
    places = {}
    for second in range(now + 100, now + 112, 2):
        log.run(f"SET timestamp = {second}", "FLUSH LOGS")
        log.run("CREATE OR REPLACE TABLE u (id INT)" if second % 4 else "DO 1")
        places[second] = log.end()
        log.run(f"INSERT INTO t VALUES ({second})")
    log.run("SET timestamp = DEFAULT")

    def found(milliseconds: int) -> BinlogPosition:
        chosen = {"startup.mode": "timestamp", "startup.timestamp": milliseconds}
        one = source(log, **{"table-names": ["a.t"], **chosen})
        tables = [FollowedTable(table) for table in one.tables() if isinstance(table, SourceTable)]
        [split] = one.log_enumerator(tables, None).discover()
        return BinlogPlace.of(split.payload).begin

    first, *_, last = places
    for second in list(places)[1:]:
        if second % 4 == 0:
            assert found(second * 1000).place == found(second * 1000 - 999).place == places[second].place
    assert found(first * 1000 - 50_000).place <= places[first].place
    assert found(last * 1000 + 1).place == log.end().place


def test_a_range_of_the_copy_ends_at_its_key_again(log: LogPlace) -> None:
    """Also if rows came, or the row at its end has gone: no row of the range is left to the next unit, or lost."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t SELECT seq * 2 FROM seq_1_to_100")
    copied = source(log, **{"table-names": ["a.t"]}).copy_source()
    assert copied is not None
    [table] = [one for one in copied.tables() if isinstance(one, SourceTable)]
    [split] = copied.enumerator([table], None).discover()
    log.run("DELETE FROM t WHERE id IN (30, 100)", "INSERT INTO t VALUES (31), (33), (35), (99), (101)")
    start, until = Position({"after": 20}), Position({"after": 100})

    def read(start: Position, until: Position | None) -> list[Element]:
        return list(copied.reader(table).read(split, start, ReadContext(until)))

    [again] = read(start, until)
    rest = [row for one in read(until, None) if isinstance(one, Batch) for row in one.data.column(0).to_pylist()]

    assert isinstance(again, Batch) and again.end == until
    assert [*again.data.column(0).to_pylist(), *rest] == [row[0] for row in log.ask("SELECT id FROM t WHERE id > 20")]
    log.run("DELETE FROM t WHERE id < 150")
    assert read(start, until) == [Heartbeat(until)]


@pytest.mark.parametrize("plugin", ["MySQL-CDC", "MariaDB-CDC"])
def test_u14_names_that_are_discovered_select_their_tables(log: LogPlace, tmp_path: Path, plugin: str) -> None:
    """Whatever is in them; tables of the server itself are not listed."""
    log.run('CREATE TABLE `Odd.name "q` (id int PRIMARY KEY)', "CREATE TABLE plain (id int PRIMARY KEY)")
    found = Discovered(Connection(plugin, {"url": log.server.jdbc_url("a"), "username": "root"}), tmp_path)
    everything = found.everything()
    assert everything == ['a."Odd.name ""q"', "a.plain"]
    assert found.chosen(everything[:1]) == everything[:1] and found.chosen(everything) == everything
