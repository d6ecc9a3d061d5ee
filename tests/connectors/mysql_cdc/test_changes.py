"""What users do to rows, and what the server does to its log, against the table's own content."""

from __future__ import annotations

import resource
import time
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_connectors.mysql_cdc.dump.session import DumpSession
from seatunnel_connectors.mysql_cdc.failures import StatementLoggedError
from seatunnel_connectors.mysql_cdc.reading.changes import LogIdle, LogTransactionEnd, RowsBlock, TableBlock, XaDecided
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_reader import LogReader
from seatunnel_connectors.mysql_cdc.reading.row_places import METADATA
from tests.connectors.mysql_cdc.log_place import LogPlace, blocks, cause_of, replayed, rows_of

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200), n DECIMAL(12,3), b LONGTEXT)"


def content(log: LogPlace, table: str = "t") -> dict[int, tuple[object, ...]]:
    return {row[0]: row for row in log.ask(f"SELECT * FROM {table}")}


def workload(log: LogPlace, seed: int, transactions: int) -> None:
    """Keys inserted, changed, swapped, deleted and inserted again, in transactions that may be rolled back."""
    random = Random(seed)
    log.run("SET autocommit = 0")
    known: set[int] = set()
    for _ in range(transactions):
        before = set(known)
        for _ in range(random.randrange(1, 8)):
            key = random.randrange(60)
            match random.randrange(6):
                case 0 | 1 if key not in known:
                    log.run(
                        f"INSERT INTO t VALUES ({key}, 'v{random.random()}', {random.random()}, REPEAT('ä', {random.randrange(300)}))"
                    )
                    known.add(key)
                case 2:
                    log.run(
                        f"UPDATE t SET v = NULLIF(CONCAT('u', id % 3, '{random.random()}'), 'u1'), n = n + 1 WHERE id BETWEEN {key} AND {key + 9}"
                    )
                case 3 if key in known and key + 100 not in known:
                    log.run(f"UPDATE t SET id = id + 100 WHERE id = {key}")
                    known.remove(key)
                    known.add(key + 100)
                case 4:
                    log.run(f"DELETE FROM t WHERE id = {key}")
                    known.discard(key)
                case 5:
                    log.run("SAVEPOINT s", f"UPDATE t SET n = 7 WHERE id < {key}", "ROLLBACK TO SAVEPOINT s")
        if random.random() < 0.25:
            log.run("ROLLBACK")
            known = before
        else:
            log.run("COMMIT")
        if random.random() < 0.1:
            log.run("FLUSH LOGS")
    log.run("SET autocommit = 1")


@pytest.mark.parametrize("compressed", ["OFF", "ON"])
@pytest.mark.parametrize("image", ["FULL", "NOBLOB", "MINIMAL"])
@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL", "NO_LOG"])
def test_the_log_leads_to_the_table(log: LogPlace, compressed: str, image: str, metadata: str) -> None:
    """F-C28, F-C30, F-C31, F-C46: compressed events, rotation, key changes, rollbacks, minimal row images."""
    log.run(TABLE, "CREATE TABLE u (id INT PRIMARY KEY)")
    log.run(f"SET GLOBAL log_bin_compress = {compressed}, GLOBAL log_bin_compress_min_len = 10")
    log.run(f"SET SESSION binlog_row_image = {image}", f"SET GLOBAL binlog_row_metadata = {metadata}")
    try:
        workload(log, seed=len(compressed + image + metadata), transactions=80)
    finally:
        log.run(
            "SET GLOBAL log_bin_compress = OFF",
            "SET SESSION binlog_row_image = FULL",
            "SET GLOBAL binlog_row_metadata = FULL",
        )

    found = blocks(list(log.changes(log.definitions("t", "u"))))

    assert found
    if image == "FULL":
        assert replayed(found) == content(log)
        assert not any(block.rows.absent for block in found)
    else:
        assert merged(found) == content(log)


def merged(found: list[TableBlock]) -> dict[int, tuple[object, ...]]:
    """Absent cells keep their values; images before updates are needed for their keys only."""
    state: dict[int, tuple[object, ...]] = {}
    old = None
    for block in found:
        absent = block.rows.absent.to_pylist() if block.rows.absent else [{}] * block.rows.data.num_rows
        for (kind, row), gaps in zip(rows_of([block]), absent, strict=True):
            assert not gaps.get("id")
            if kind == "-U":
                old = state.pop(row[0])
            elif kind == "-D":
                del state[row[0]]
            else:
                known = old if kind == "+U" else (None,) * len(row)
                state[row[0]] = tuple(
                    known[i] if gap else cell
                    for i, (cell, gap) in enumerate(zip(row, gaps.values() or [False] * len(row), strict=True))
                )
    return state


def test_no_images_before_updates(log: LogPlace) -> None:
    log.run(
        TABLE,
        "INSERT INTO t (id) VALUES (1), (2), (3)",
        "UPDATE t SET v = 'x' WHERE id > 1",
        "DELETE FROM t WHERE id = 2",
    )

    found = rows_of(blocks(list(log.changes(log.definitions("t"), before=False))))

    assert [(kind, row[0]) for kind, row in found] == [("+I", 1), ("+I", 2), ("+I", 3), ("+U", 2), ("+U", 3), ("-D", 2)]


def test_order_within_a_table_is_that_of_the_log(log: LogPlace) -> None:
    """Also where images have different columns, and are decoded apart."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "SET SESSION binlog_row_image = MINIMAL", "BEGIN")
    for i in range(30):
        log.run(
            f"INSERT INTO t VALUES ({i}, {i}, {i})",
            f"UPDATE t SET {'a' if i % 2 else 'b'} = -1 WHERE id = {i}",
            f"DELETE FROM t WHERE id = {i - 3}",
        )
    log.run("COMMIT", "SET SESSION binlog_row_image = FULL")

    found = [(kind, row[0]) for kind, row in rows_of(blocks(list(log.changes(log.definitions("t")))))]

    wanted = [one for i in range(30) for one in [("+I", i), ("-U", i), ("+U", i), *([("-D", i - 3)] if i > 2 else [])]]
    assert found == wanted


def test_a_position_inside_of_a_transaction(log: LogPlace) -> None:
    """F-C23: a reader that goes on there yields exactly the rows that are left, at each event and row."""
    log.run(
        TABLE,
        "BEGIN",
        "INSERT INTO t (id, b) SELECT seq, REPEAT('x', 3000) FROM seq_1_to_9",
        "UPDATE t SET v = 'y'",
        "COMMIT",
        "INSERT INTO t (id) VALUES (99)",
    )
    definitions = log.definitions("t")
    whole = rows_of(blocks(list(log.changes(definitions))))
    assert len(whole) == 28

    reader = LogReader(log.history(definitions), log.start)
    positions = []
    dump = DumpSession(log.address, log.request())
    taken = 0
    for event in dump.events():
        for change in [*reader.read([event]), *reader.flush()]:
            if isinstance(change, RowsBlock):
                taken += sum(one.rows.data.num_rows for one in change.tables)
                positions.append((change.end, taken))
    dump.close()
    assert len(positions) > 8 and any(one.events for one, _ in positions)
    for position, count in positions:
        plain = BinlogPosition.of(position.to_plain())
        assert plain == position
        assert rows_of(blocks(list(log.changes(definitions, plain)))) == whole[count:]
        if position.events and count < 27:
            assert rows_of(blocks(list(log.changes(definitions, replace(position, rows=1))))) == whole[count + 1 :]


def test_metadata_is_the_same_from_any_position(log: LogPlace) -> None:
    """A row's place does not depend on where reading begins, also inside of an event."""
    log.run(TABLE)
    start = log.end()
    log.run(
        "INSERT INTO t (id) VALUES (1), (2), (3), (4)",
        "BEGIN",
        "UPDATE t SET v = 'y'",
        "DELETE FROM t",
        "COMMIT",
    )
    definitions = log.definitions("t")

    def told(start: BinlogPosition) -> list[dict[str, Any]]:
        found = blocks(list(log.changes(definitions, start, metadata=METADATA)))
        rows = [pa.table(dict(one.metadata)).to_pylist() for one in found]
        return [row for one in rows for row in one]

    whole = told(start)
    assert {name for row in whole for name in row} == METADATA
    assert [row["BinlogRow"] for row in whole] == [0, 1, 2, 3, 0, 0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 3]
    places = [(row["BinlogFile"], row["BinlogPos"]) for row in whole]
    assert places == sorted(places) and len(set(places)) == 3
    transactions = [row["Gtid"] for row in whole]
    assert transactions == [row["TransactionId"] for row in whole] and len(set(transactions)) == 2
    assert all(abs(row["EventTime"] / 1000 - time.time()) < 60 and row["EventTime"] % 1000 == 0 for row in whole)
    for rows in (1, 2, 3):
        assert told(replace(start, rows=rows)) == whole[rows:]


def test_a_transaction_of_any_size_takes_bounded_memory(log: LogPlace) -> None:
    """F-C15: a block ends inside of it."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v CHAR(200)) CHARACTER SET latin1")
    log.run("INSERT INTO t SELECT seq, REPEAT(CHAR(65 + seq % 26), 200) FROM seq_1_to_300000")
    definitions = log.definitions("t")
    rows, largest, before = 0, 0, 0
    for change in log.changes(definitions):
        if isinstance(change, RowsBlock):
            count = sum(one.rows.data.num_rows for one in change.tables)
            rows, largest = rows + count, max(largest, count)
            if count > 30_000:  # the first blocks are smaller
                before = before or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert before
    assert (rows, largest < 60_000) == (300_000, True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KB: 60 MB of rows, and none is kept


def test_xa_transactions_wait_for_their_decision(log: LogPlace) -> None:
    log.run(
        TABLE,
        "XA START 'one', 'b', 7",
        "INSERT INTO t (id) VALUES (1)",
        "XA END 'one', 'b', 7",
        "XA PREPARE 'one', 'b', 7",
    )
    log.run("XA COMMIT 'one', 'b', 7")
    log.run("XA START 'two'", "INSERT INTO t (id) VALUES (2)", "XA END 'two'", "XA PREPARE 'two'", "XA ROLLBACK 'two'")
    log.run("XA START 'three'", "INSERT INTO t (id) VALUES (3)", "XA END 'three'", "XA COMMIT 'three' ONE PHASE")
    log.run("INSERT INTO t (id) VALUES (4)")

    found = list(log.changes(log.definitions("t")))

    rows = [
        (one.prepared and one.prepared.transaction, rows_of(list(one.tables))[0][1][0])
        for one in found
        if isinstance(one, RowsBlock)
    ]
    decided = [
        (one.xid.transaction, one.xid.branch, one.xid.format, one.commit) for one in found if isinstance(one, XaDecided)
    ]
    assert rows[:2] == [(b"one", 1), (b"two", 2)] and rows[2][0] is None
    assert decided == [(b"one", b"b", 7, True), (b"two", b"", 1, False)]


def test_a_change_that_is_logged_by_its_text_is_refused(log: LogPlace) -> None:
    log.run(
        TABLE,
        "SET SESSION binlog_format = STATEMENT",
        "INSERT INTO t (id) VALUES (1)",
        "SET SESSION binlog_format = ROW",
    )

    found = cause_of(log.changes(log.definitions("t")))
    assert isinstance(found, StatementLoggedError) and "INSERT INTO t" in found.message


def test_other_tables_cost_nothing_but_positions(log: LogPlace) -> None:
    log.run(
        "CREATE DATABASE IF NOT EXISTS other",
        "CREATE OR REPLACE TABLE other.t (id INT)",
        "INSERT INTO other.t VALUES (1)",
    )

    found = list(log.changes({}))

    assert not blocks(found)
    assert isinstance(found[-1], LogTransactionEnd | LogIdle) and found[-1].end.offset > log.start.offset
    log.run("DROP DATABASE other")


def test_batches_are_valid_arrow(log: LogPlace) -> None:
    log.run(TABLE)
    workload(log, 5, 40)

    for block in blocks(list(log.changes(log.definitions("t")))):
        assert isinstance(block.rows.data, pa.RecordBatch)
        block.rows.data.validate(full=True)
        assert block.rows.data.num_rows == len(block.rows.kinds) and not block.metadata
