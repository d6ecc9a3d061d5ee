"""The reader of the sources: what a unit reads again, up to where it stopped, is what it read before."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count, pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pymysql
import pytest

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession
from seatunnel_connectors.mysql_cdc.dump.session import DumpSession, identity_of
from seatunnel_connectors.mysql_cdc.failures import PurgedLogError
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList
from seatunnel_connectors.mysql_cdc.log_places import end_of_log, mark_before_copy
from seatunnel_connectors.mysql_cdc.log_split import BinlogPlace
from seatunnel_connectors.mysql_cdc.reader import BinlogReader
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_reader import LogReader
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions
from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    Element,
    Heartbeat,
    PluginError,
    Position,
    ReadContext,
    Rejected,
    RowKind,
    SchemaBehavior,
    SchemaChange,
    SchemaPolicy,
    SourceTable,
    TablePath,
    TableStopped,
)
from tests.connectors.mysql_cdc.log_place import DATABASE, SERVER_ID, LogPlace

Row = tuple[str, str, tuple[Any, ...]]


def _no_change(_: TablePath) -> SchemaPolicy:
    return SchemaPolicy(SchemaBehavior.EXCEPTION)


class Follower:
    """A reader of tables, and the split of their log."""

    def __init__(self, log: LogPlace, tables: tuple[str, ...], starts: dict[str, BinlogPosition] | None = None) -> None:
        found: list[SourceTable] = [log.source(table)[0] for table in tables]
        session = MysqlSession(log.address)
        places = {(DATABASE, table): (starts or {}).get(table, log.start) for table in tables}
        self.place = BinlogPlace(identity_of(session), log.start, places, log.definitions(*tables))
        self.end = end_of_log(session)
        session.close()
        self.reader = BinlogReader(log.address, found, SERVER_ID, DecodeOptions(), _no_change)

    def elements(self, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        return self.reader.read(self.place.split(), start, context)

    def to_the_end(self, start: Position | None = None) -> Iterator[Element]:
        """Everything up to the present end of the log."""
        for element in self.elements(start):
            yield element
            end = getattr(element, "end", None)
            if end is not None and BinlogPosition.of(end.value).place >= self.end.place:
                return


def rows_of(element: Element) -> list[Row]:
    if not isinstance(element, Batch):
        return []
    kinds = element.kinds.to_pylist() if element.kinds is not None else [0] * element.rows
    return [
        (element.table.table, RowKind(kind).short, tuple(row.values()))
        for kind, row in zip(kinds, element.data.to_pylist(), strict=True)
    ]


def by_table(rows: list[Row]) -> dict[str, list[Row]]:
    return {table: [row for row in rows if row[0] == table] for table in {row[0] for row in rows}}


def workload(log: LogPlace, seed: int, transactions: int) -> None:
    random = Random(seed)
    log.run("SET autocommit = 0")
    for number in range(transactions):
        for _ in range(random.choice((1, 1, 2, 30))):
            table, key = random.choice("tu"), random.randrange(50)
            log.run(
                random.choice(
                    (
                        f"INSERT IGNORE INTO {table} VALUES ({key}, {number})",
                        f"UPDATE {table} SET n = {number} WHERE id BETWEEN {key} AND {key + 3}",
                        f"UPDATE IGNORE {table} SET id = {random.randrange(50)}, n = {number} WHERE id = {key}",
                        f"DELETE FROM {table} WHERE id = {key}",
                        "INSERT INTO other VALUES (1)",
                    )
                )
            )
        log.run("ROLLBACK" if random.random() < 0.1 else "COMMIT")
        if random.random() < 0.05:
            log.run("FLUSH LOGS")
    log.run("SET autocommit = 1")


def make(log: LogPlace) -> None:
    log.run(
        *(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT)" for table in "tu"),
        "CREATE TABLE other (id INT) ENGINE = InnoDB",
    )
    log.start = log.end()


def places_of(log: LogPlace, follower: Follower) -> list[BinlogPosition]:
    """The place after each event of the log, where a unit may stop."""
    history = log.history(log.definitions("t", "u"))
    reader, dump, found = LogReader(history, log.start), DumpSession(log.address, log.request()), [log.start]
    for event in dump.events():
        found += [change.end for change in [*reader.read([event]), *reader.flush()]]
    dump.close()
    return found


def test_ranges_of_the_log_are_its_rows_once(log: LogPlace) -> None:
    """F-C30, F-C37: ranges end inside of transactions, between the files of the log, and where nothing was read."""
    make(log)
    workload(log, 3, 150)
    follower = Follower(log, ("t", "u"))
    whole = [row for element in follower.to_the_end() for row in rows_of(element)]
    places = places_of(log, follower)
    assert len({one.file for one in places}) > 3 and any(one.events for one in places)
    chosen = sorted(Random(5).sample(range(len(places)), 80))
    edges = [Position(places[at].to_plain()) for at in [0, *chosen, len(places) - 1]]

    found: list[Row] = []
    for start, until in pairwise(edges):
        elements = list(follower.elements(start, ReadContext(until)))
        found += [row for one in elements for row in rows_of(one)]
        assert elements[-1] == Heartbeat(until)

    assert by_table(found) == by_table(whole)
    assert len(whole) > 500


def test_rows_before_the_mark_of_their_table_are_not_given(log: LogPlace) -> None:
    """F-C51: also where the table looked different then: what is before the mark reaches the target by the copy."""
    make(log)
    log.run("ALTER TABLE u ADD COLUMN gone INT", "INSERT INTO u VALUES (1, 1, 1)", "ALTER TABLE u DROP COLUMN gone")
    workload(log, 4, 40)
    mark = log.end()
    workload(log, 5, 40)
    rest = Follower(log, ("t", "u"), {"t": mark, "u": mark})
    late = by_table([row for element in rest.to_the_end(Position(mark.to_plain())) for row in rows_of(element)])

    found = by_table([row for one in Follower(log, ("t", "u"), {"u": mark}).to_the_end() for row in rows_of(one)])

    assert found["u"] == late["u"] and len(found["t"]) > len(late["t"]) and found["t"][-len(late["t"]) :] == late["t"]


def test_an_update_of_the_key_is_a_delete_and_an_insert(log: LogPlace) -> None:
    make(log)
    log.run(
        "INSERT INTO t VALUES (1, 1), (2, 2)", "UPDATE t SET n = 9", "UPDATE t SET id = id + 10 WHERE id = 2",
        "UPDATE t SET n = NULL WHERE id = 1", "DELETE FROM t WHERE id = 1",
    )  # fmt: skip

    found = [row[1:] for element in Follower(log, ("t",)).to_the_end() for row in rows_of(element)]

    assert found == [
        ("+I", (1, 1)), ("+I", (2, 2)), ("+U", (1, 9)), ("+U", (2, 9)), ("-D", (2, 9)), ("+I", (12, 9)),
        ("+U", (1, None)), ("-D", (1, None)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (("SET SESSION binlog_row_image = MINIMAL", "UPDATE t SET n = 3"), "lacks columns.*binlog_row_image = FULL"),
        (("SET SESSION binlog_format = STATEMENT", "UPDATE t SET n = 5"), "logged by its text.*UPDATE t SET n = 5"),
    ],
)
def test_changes_without_whole_rows_stop_their_table(log: LogPlace, statements: tuple[str, ...], told: str) -> None:
    """The others are read on, and no later row of the table is given."""
    make(log)
    log.run("INSERT INTO t VALUES (1, 1)")
    follower = Follower(log, ("t", "u"))
    try:
        log.run(*statements)
    finally:
        log.run("SET SESSION binlog_row_image = FULL", "SET SESSION binlog_format = ROW")
    log.run("INSERT INTO t VALUES (7, 7)", "INSERT INTO u VALUES (2, 2)")

    elements = follower.elements(None)
    found = next(one for one in elements if isinstance(one, TableStopped))
    rows = next(rows for rows in map(rows_of, elements) if rows)

    assert re.search(told, f"{found.message} {found.remedy}")
    assert rows == [("u", "+I", (2, 2))]


def test_a_table_that_is_stopped_leaves_the_other_tables_of_a_statement_alone(log: LogPlace) -> None:
    """One statement changes both tables, so both maps come before its rows."""
    make(log)
    log.run("INSERT INTO t VALUES (1, 1)", "INSERT INTO u VALUES (1, 1)")
    follower = Follower(log, ("t", "u"))
    missed = "SET SESSION sql_log_bin = {}"
    log.run(missed.format(0), "ALTER TABLE t ADD COLUMN missed INT", missed.format(1))
    log.run("UPDATE u JOIN t USING (id) SET u.n = 5, t.n = 6", "UPDATE t JOIN u USING (id) SET u.n = 7, t.n = 8")

    elements = follower.elements(None)
    found: list[Row] = []
    stopped: list[TableStopped] = []
    while ("u", "+U", (1, 7)) not in found:
        element = next(elements)
        found += rows_of(element)
        stopped += [element] if isinstance(element, TableStopped) else []

    assert [one.table.table for one in stopped] == ["t"] and "and 3 in the log" in stopped[0].message
    assert by_table(found) == by_table([
        ("t", "+I", (1, 1)), ("u", "+I", (1, 1)), ("u", "+U", (1, 5)), ("u", "+U", (1, 7))
    ])  # fmt: skip


def test_a_transaction_of_xa_stops_the_reader(log: LogPlace) -> None:
    make(log)
    log.run("INSERT INTO t VALUES (1, 1)")
    follower = Follower(log, ("t",))
    log.run("XA START 'one'", "UPDATE t SET n = 4", "XA END 'one'", "XA PREPARE 'one'", "XA COMMIT 'one'")

    with pytest.raises(PluginError, match="XA changes a.t") as raised:
        list(follower.elements(None))
    assert raised.value.remedy


@pytest.mark.parametrize("statement", ["TRUNCATE TABLE t", "RENAME TABLE t TO moved", "DROP TABLE t"])
def test_a_statement_that_cannot_be_followed_stops_its_table(log: LogPlace, statement: str) -> None:
    """The others are read on."""
    make(log)
    follower = Follower(log, ("t", "u"))
    log.run("INSERT INTO t VALUES (1, 1)", statement, "INSERT INTO u VALUES (2, 2)")

    elements = follower.elements(None)
    found = next(one for one in elements if isinstance(one, TableStopped))
    rows = next(rows for rows in map(rows_of, elements) if rows)

    assert found.table.table == "t" and statement.split()[0] in found.message and found.remedy
    assert rows == [("u", "+I", (2, 2))]


def test_a_change_of_columns_is_given_with_its_statement(log: LogPlace) -> None:
    make(log)
    follower = Follower(log, ("t",))
    log.run("INSERT INTO t VALUES (1, 1)", "ALTER TABLE t ADD INDEX (n)", "ALTER TABLE t ADD COLUMN more INT")

    elements = follower.elements(None)
    found = next(one for one in elements if isinstance(one, SchemaChange))

    assert (found.before.names, found.after.names) == (("id", "n"), ("id", "n", "more"))
    assert found.statement == "ALTER TABLE t ADD COLUMN more INT"


ELSEWHERE = "server_id 8, gtid_domain_id 0"


def test_places_of_another_server_are_never_compared(log: LogPlace) -> None:
    """F-C24: without transaction ids, or inside of a transaction, the log of another server is refused."""
    make(log)
    follower = Follower(log, ("t",))
    follower.place = replace(follower.place, server=ELSEWHERE)
    with pytest.raises(PurgedLogError, match="read on the server server_id 8.*is the server server_id 7.*only trans"):
        next(follower.elements(Position(replace(log.start, gtids=None, server=ELSEWHERE).to_plain())))
    inside = replace(log.start, gtids=known_transactions(log), server=ELSEWHERE, events=1)
    with pytest.raises(PurgedLogError, match="inside of a transaction"):
        next(follower.elements(Position(inside.to_plain())))
    ahead = replace(log.start, gtids=GtidList.parse("0-8-1000000"), server=ELSEWHERE)
    with pytest.raises(PurgedLogError, match=r"0-8-1000000\).*it lacks transactions that were read"):
        next(follower.elements(Position(ahead.to_plain())))


def identity_here(log: LogPlace) -> str:
    session = MysqlSession(log.address)
    try:
        return identity_of(session)
    finally:
        session.close()


def known_transactions(log: LogPlace) -> GtidList:
    [(text,)] = log.ask("SELECT @@global.gtid_current_pos")
    return GtidList.parse(text)


def test_the_log_of_a_replica_goes_on_after_the_last_transaction(log: LogPlace) -> None:
    """F-C24: from a place of another server, whose file this one has never had; a unit ends where it ended there."""
    make(log)
    start = BinlogPosition("elsewhere.000042", 5, known_transactions(log), server=ELSEWHERE)
    log.run("INSERT INTO t VALUES (71, 0)")
    until = BinlogPosition("elsewhere.000042", 900, known_transactions(log), server=ELSEWHERE)
    log.run("INSERT INTO t VALUES (72, 0)")
    follower = Follower(log, ("t",), {"t": start})
    follower.place = replace(follower.place, server=ELSEWHERE)

    after = [*follower.elements(Position(start.to_plain()), ReadContext(Position(until.to_plain())))]
    assert [row for one in after for row in rows_of(one)] == [("t", "+I", (71, 0))]
    assert after[-1] == Heartbeat(Position(until.to_plain()))

    elements = follower.elements(Position(until.to_plain()))
    found = next(one for one in elements if isinstance(one, Batch))
    assert rows_of(found) == [("t", "+I", (72, 0))]
    ended = next(end for one in chain([found], elements) if (end := getattr(one, "end", None)) is not None)
    assert ended is not None
    assert BinlogPosition.of(ended.value).server == identity_here(log)


def test_a_log_that_was_reset_is_refused(log: LogPlace) -> None:
    make(log)
    follower = Follower(log, ("t",))
    start = Position(replace(log.start, offset=1 << 30).to_plain())

    with pytest.raises(PurgedLogError, match=r"has only \d+ bytes now"):
        next(follower.elements(start))


def test_the_mark_before_a_copy_hides_no_change(log: LogPlace) -> None:
    """F-C25: while a writer commits: a row that a later look does not show has its transaction behind the mark."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY)")
    log.start = log.end()
    stopped = threading.Event()

    def write() -> None:
        with pymysql.connect(**log.server.connection(DATABASE), autocommit=True) as db, db.cursor() as cursor:
            for number in count():
                if stopped.is_set():
                    return
                cursor.execute(f"INSERT INTO t VALUES ({number})")

    writer = threading.Thread(target=write)
    writer.start()
    session = MysqlSession(log.address)
    try:
        looks = [(mark_before_copy(session, [(DATABASE, "t")]), ids(session)) for _ in range(100)]
    finally:
        stopped.set()
        writer.join()
        session.close()

    follower = Follower(log, ("t",))
    logged = [row[2][0] for element in follower.to_the_end() for row in rows_of(element)]
    for mark, seen in looks[::9]:
        follower = Follower(log, ("t",), {"t": mark})
        late = [row[2][0] for one in follower.to_the_end() for row in rows_of(one)]
        assert set(logged) - set(late) <= seen and logged[len(logged) - len(late) :] == late


def ids(session: MysqlSession) -> set[int]:
    return {row[0] for row in session.ask("SELECT id FROM t")}


WIDE = """
    id INT PRIMARY KEY, a TINYINT(1), b TINYINT, c SMALLINT UNSIGNED, d MEDIUMINT, e INT UNSIGNED, f BIGINT,
    g BIGINT UNSIGNED, h DECIMAL(20, 5), i FLOAT, j DOUBLE, k CHAR(5), l VARCHAR(20) CHARACTER SET latin1, m LONGTEXT,
    n BINARY(4), o VARBINARY(9), p BLOB, q DATE, r TIME(3), s DATETIME(6), t TIMESTAMP(3) NULL, u YEAR, v BIT(1),
    w BIT(9), x ENUM('one', 'two'), y SET('red', 'blue'), z JSON, aa UUID, ab INET6, ac POINT, ad INT INVISIBLE,
    ae INT AS (id + 1) STORED
"""
VALUES = """
    (1, 1, -3, 65535, -8388608, 4294967295, -9, 18446744073709551615, -12345.67891, 1.5, -2.25, 'ab', 'é', 'text',
    x'01000000', x'00ff', x'', '2024-02-29', '-12:30:00.125', '2024-01-02 03:04:05.678901', '2024-05-06 07:08:09.120',
    2024, 1, b'100000001', 'two', 'red,blue', '{"a": [1]}', '123e4567-e89b-12d3-a456-426655440000', '::1',
    POINT(1, 2)), (2, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""


@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL", "NO_LOG"])
def test_the_log_has_the_rows_that_the_copy_has(log: LogPlace, metadata: str) -> None:
    """With the types that the job was planned with, whatever the log itself knows of them."""
    names = "id, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac"
    log.run(f"CREATE TABLE w ({WIDE.replace(', r TIME(3)', ', r VARCHAR(20)')})")
    log.start = log.end()
    log.run(f"SET GLOBAL binlog_row_metadata = {metadata}")
    try:
        log.run(f"INSERT INTO w ({names}) VALUES {VALUES}")
        follower = Follower(log, ("w",))
        logged = [element.data for element in follower.to_the_end() if isinstance(element, Batch)]
    finally:
        log.run("SET GLOBAL binlog_row_metadata = FULL")

    copied = log.source("w")[1]
    assert pa.Table.from_batches(logged, schema=copied.schema).to_pylist() == copied.to_pylist()


def test_a_value_that_a_column_cannot_hold_is_rejected_alone(log: LogPlace) -> None:
    log.run("CREATE TABLE t (id INT PRIMARY KEY, d DATE)")
    log.start = log.end()
    follower, tolerant = Follower(log, ("t",)), Follower(log, ("t",))
    log.run("SET sql_mode = ''", "INSERT INTO t VALUES (1, '2024-01-01'), (2, '0000-00-00'), (3, NULL)")

    until = Position(log.end().to_plain())
    [stopped] = [one for one in follower.elements(None, ReadContext(until)) if isinstance(one, TableStopped)]
    assert "table a.t in the log: column 'd' holds 0000-00-00" in stopped.message and "max-rows" in stopped.remedy
    elements = list(tolerant.elements(None, ReadContext(until, tolerant=True)))

    assert [row[2][0] for one in elements for row in rows_of(one)] == [1, 3]
    [rejected] = [one for one in elements if isinstance(one, Rejected)]
    assert rejected.reasons[0].startswith("column 'd' holds 0000-00-00, which has no counterpart")
    assert rejected.end == until
    assert rejected.data.to_pylist() == [{"raw": b'{"id": 2, "d": null}'}]


def test_the_place_moves_on_with_other_tables(log: LogPlace) -> None:
    make(log)
    follower = Follower(log, ("t",))
    elements = follower.elements(None)
    assert isinstance(next(elements), Heartbeat)
    log.run("INSERT INTO other VALUES (1)", "INSERT INTO u VALUES (1, 1)", "FLUSH LOGS")
    end = log.end()

    for element in elements:
        assert isinstance(element, Heartbeat)
        if BinlogPosition.of(element.end.value).place >= end.place:  # the server notes a checkpoint after FLUSH LOGS
            break
