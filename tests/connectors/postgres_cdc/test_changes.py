"""What a real server's log says about changes, and what comes out: identities, key changes, truncation, rollbacks, DDL
in the middle, large transactions, other ways to read the same slot."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from seatunnel_connectors.jdbc.postgres.connection.copy_stream import CopyStream
from seatunnel_connectors.postgres_cdc.pgoutput.changes import Before
from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, LogicalMessage, Truncation
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Messages
from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationChange
from seatunnel_connectors.postgres_cdc.replication.connection import session_info
from seatunnel_connectors.postgres_cdc.replication.query_changes import ChangesQuery, query_changes
from seatunnel_connectors.postgres_cdc.replication.slots import find_slot
from tests.connectors.postgres_cdc.conftest import PUBLICATION, Log, read_until
from tests.connectors.postgres_cdc.reading import ABSENT, all_rows, shown

LONG = "(SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 400))"
MakeLog = Callable[..., Log]


def test_a_long_value_that_an_update_leaves_alone_is_absent(make_log: MakeLog) -> None:
    """F-C11: 12 kB that do not compress; another column changes."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY, n int, v text)", f"INSERT INTO t VALUES (1, 1, {LONG})")
    log.run("UPDATE t SET n = 2")

    assert log.rows() == [("t", "+U", (1, 2, ABSENT))]


def test_under_full_a_long_value_comes_from_the_row_before(make_log: MakeLog) -> None:
    """F-C11, F-C60: every column is flagged, the key is the catalog's."""
    log = make_log(
        "CREATE TABLE t (id int PRIMARY KEY, n int, v text)", "ALTER TABLE t REPLICA IDENTITY FULL",
        f"INSERT INTO t VALUES (1, 1, {LONG})",
    )  # fmt: skip
    long = log.value("SELECT v FROM t")
    log.run("UPDATE t SET n = 2", "DELETE FROM t")

    assert log.rows() == [("t", "-U", (1, 1, long)), ("t", "+U", (1, 2, long)), ("t", "-D", (1, 2, long))]
    keyed = log.decoder(before=Before.MOVES, keys=lambda path: ("id",))
    assert log.rows(keyed) == [("t", "+U", (1, 2, long)), ("t", "-D", (1, 2, long))]


def test_keys_that_move_and_swap(make_log: MakeLog) -> None:
    """F-C46, F-C12."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    log.run(
        "BEGIN; UPDATE t SET id = 3 WHERE id = 1; UPDATE t SET id = 1 WHERE id = 2; UPDATE t SET id = 2 WHERE id = 3; COMMIT"
    )
    log.run("DELETE FROM t WHERE id = 1")

    assert log.rows(log.decoder(before=Before.MOVES)) == [
        ("t", "-D", (1, ABSENT)), ("t", "+I", (3, "a")),
        ("t", "-D", (2, ABSENT)), ("t", "+I", (1, "b")),
        ("t", "-D", (3, ABSENT)), ("t", "+I", (2, "a")),
        ("t", "-D", (1, ABSENT)),
    ]  # fmt: skip


def test_a_long_key_is_filled_from_the_old_key(make_log: MakeLog) -> None:
    """The server logs the old key of an update where the key is stored out of line."""
    log = make_log("CREATE TABLE t (k text PRIMARY KEY, n int)", "ALTER TABLE t ALTER k SET STORAGE EXTERNAL")
    key = "x" * 2_500
    log.run(f"INSERT INTO t VALUES ('{key}', 1)", "UPDATE t SET n = 2")

    assert log.rows(log.decoder(before=Before.MOVES)) == [("t", "+I", (key, 1)), ("t", "+U", (key, 2))]


def test_an_index_as_identity_and_none(make_log: MakeLog) -> None:
    log = make_log(
        "CREATE TABLE t (id int PRIMARY KEY, u int NOT NULL UNIQUE, v text)",
        "ALTER TABLE t REPLICA IDENTITY USING INDEX t_u_key", "CREATE TABLE n (v text)",
    )  # fmt: skip
    log.run("INSERT INTO t VALUES (1, 10, 'a')", "UPDATE t SET u = 11", "DELETE FROM t", "INSERT INTO n VALUES ('x')")

    found = log.elements()

    assert all_rows(found) == [
        ("t", "+I", (1, 10, "a")), ("t", "-U", (ABSENT, 10, ABSENT)), ("t", "+U", (1, 11, "a")),
        ("t", "-D", (ABSENT, 11, ABSENT)), ("n", "+I", ("x",)),
    ]  # fmt: skip
    keys = {part.table.path.table: part.table.key for one in found if isinstance(one, Block) for part in one.rows}
    assert keys == {"t": ("u",), "n": ()}


def test_truncations_messages_and_what_was_rolled_back(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)")
    log.run(
        "INSERT INTO t VALUES (1)",
        "BEGIN; INSERT INTO t VALUES (2); ROLLBACK",
        "BEGIN; INSERT INTO t VALUES (3); SAVEPOINT s; INSERT INTO t VALUES (4); ROLLBACK TO s; COMMIT",
        "TRUNCATE t, u RESTART IDENTITY CASCADE",
        "SELECT pg_logical_emit_message(true, 'p', 'x'), pg_logical_emit_message(false, 'q', 'y')",
    )
    found = log.elements(messages=True)
    (truncation,) = [one for one in found if isinstance(one, Truncation)]
    messages = {one.prefix: (one.transactional, one.content) for one in found if isinstance(one, LogicalMessage)}

    assert [row[2][0] for row in all_rows(found)] == [1, 3]
    assert {table.path.table for table in truncation.tables} == {"t", "u"}
    assert (truncation.cascade, truncation.restart_identity) == (True, True)
    assert messages == {"p": (True, b"x"), "q": (False, b"y")}


def test_partitions_come_as_their_root_and_generated_columns_stay_away(make_log: MakeLog) -> None:
    log = make_log(
        "CREATE TABLE r (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED) PARTITION BY RANGE (id)",
        "CREATE TABLE r1 PARTITION OF r FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE r2 PARTITION OF r FOR VALUES FROM (10) TO (20)",
        publication="FOR TABLE r WITH (publish_via_partition_root = true)",
    )
    log.run("INSERT INTO r VALUES (1), (11)", "UPDATE r SET id = 12 WHERE id = 1")

    # The server sends a row that moves to another partition as a delete and an insert.
    assert log.rows() == [("r", "+I", (1,)), ("r", "+I", (11,)), ("r", "-D", (1,)), ("r", "+I", (12,))]


def test_row_filters_and_column_lists_of_a_publication(make_log: MakeLog) -> None:
    """An update that leaves the filter is a delete, one that enters it an insert."""
    log = make_log(
        "CREATE TABLE t (id int PRIMARY KEY, v text, n int)", "INSERT INTO t VALUES (1, 'a', 1), (20, 'b', 2)",
        publication="FOR TABLE t (id, n) WHERE (id > 10)",
    )  # fmt: skip
    log.run(
        "UPDATE t SET id = 11 WHERE id = 1", "UPDATE t SET id = 2 WHERE id = 20", "INSERT INTO t VALUES (3, 'c', 3)"
    )

    assert log.rows() == [("t", "+I", (11, 1)), ("t", "-D", (20, ABSENT))]


def test_many_busy_tables_in_larger_pieces(make_log: MakeLog) -> None:
    names = [f"t{number}" for number in range(30)]
    log = make_log(*[f"CREATE TABLE {name} (id int PRIMARY KEY, v text)" for name in names])
    log.run(
        "BEGIN; " + "; ".join(f"INSERT INTO {names[at % 30]} VALUES ({at}, 'x')" for at in range(3_000)) + "; COMMIT"
    )
    found: list[tuple[str, int, int]] = []
    decoder, end = log.decoder(), log.end
    with log.stream() as stream:
        stream.expect(len(names))
        for one in read_until(stream, decoder, end):
            assert isinstance(one, Block)
            for part in one.rows:
                ids = part.data.column("id").to_pylist()
                found += [(part.table.path.table, *pair) for pair in zip(ids, part.order.to_pylist(), strict=True)]

    assert sorted(found, key=lambda row: row[1]) == [(names[at % 30], at, at) for at in range(3_000)]


def test_ddl_in_the_middle(make_log: MakeLog) -> None:
    """F-C20, F-C50, F-C59: each row with the columns of its time; F-C52: a rename is not guessed."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY, v text)")
    log.run(
        "INSERT INTO t VALUES (1, 'a')",
        "ALTER TABLE t ADD COLUMN w numeric(5,2) DEFAULT 1.5",
        "INSERT INTO t VALUES (2, 'b', 2.5)",
        "ALTER TABLE t DROP COLUMN v, ALTER COLUMN id TYPE bigint",
        "INSERT INTO t VALUES (3, 3)",
        "ALTER TABLE t RENAME COLUMN w TO x",
        "ALTER TABLE t RENAME TO t2",
        "INSERT INTO t2 VALUES (4, 4)",
    )
    found = log.elements()
    changes = [one for one in found if isinstance(one, RelationChange)]

    assert [row[0] for row in all_rows(found)] == ["t", "t", "t", "t2"]
    assert [tuple(map(str, row[2])) for row in all_rows(found)] == [
        ("1", "a"),
        ("2", "b", "2.50"),
        ("3", "3.00"),
        ("4", "4.00"),
    ]
    assert [(one.added, one.dropped, one.retyped, one.renamed) for one in changes] == [
        (("w",), (), (), False),
        ((), ("v",), ("id",), False),
        (("x",), ("w",), (), True),
    ]
    assert [one.after.number for one in changes] == [1, 2, 3]


def test_interleaved_transactions_and_every_place_to_go_on_at(make_log: MakeLog) -> None:
    """F-C5, F-C3: the one that begins first commits last; a reader that goes on at any change gives the rest."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    with psycopg.connect(log.dsn) as other:
        other.execute("INSERT INTO t VALUES (100), (101), (102)")
        log.run("INSERT INTO t VALUES (1), (2)")
        other.execute("INSERT INTO t VALUES (103)")
        other.commit()
    log.run("INSERT INTO t VALUES (3)")
    whole = [row[2][0] for row in log.rows()]
    assert whole == [1, 2, 100, 101, 102, 103, 3]

    with closing(CopyStream(session_info(log.dsn))) as session:
        pieces = [*query_changes(session, ChangesQuery(log.slot, (PUBLICATION,)))]
    messages = [piece.bytes_of(at) for piece in pieces for at in range(len(piece))]
    for taken in range(len(messages) + 1):
        first = log.decoder()
        before = [one for message in messages[:taken] for one in first.decode(Messages.of([message]))]
        second = log.rows(log.decoder(first.tracker.position))
        assert [row[2][0] for row in [*all_rows(before), *second]] == whole


def test_a_large_transaction_is_decoded_in_pieces(make_log: MakeLog) -> None:
    """F-C15: a million rows in one transaction, in the memory of a few pieces."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    log.run("INSERT INTO t SELECT generate_series(1, 1000000)")
    decoder, end = log.decoder(), log.end
    count = total = blocks = 0
    with log.stream() as stream:
        before = 0
        while not (decoder.tracker.open is None and count):
            for one in decoder.decode(stream.receive(5.0).messages):
                assert isinstance(one, Block)
                for part in one.rows:
                    count += part.data.num_rows
                    total += int(part.data.column(0).to_numpy().sum(dtype="int64"))
                    assert part.data.nbytes < 1 << 22
                blocks += 1
            if blocks == 20 and not before:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    assert (count, total) == (1_000_000, 1_000_000 * 1_000_001 // 2)
    assert blocks > 20
    assert grown < 40_000, f"{grown} kB more than after twenty pieces"
    assert decoder.tracker.position.end <= end


def test_every_way_to_read_a_slot_gives_the_same(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY, v text)")
    log.run(
        "INSERT INTO t SELECT n, repeat('x', n % 700) FROM generate_series(1, 5000) n", "DELETE FROM t WHERE id < 100"
    )
    by_socket, by_libpq = log.rows(), log.rows(through_libpq=True)
    with closing(CopyStream(session_info(log.dsn))) as session:
        for moves in (False, True):
            decoder = log.decoder()
            query = ChangesQuery(log.slot, (PUBLICATION,), until=log.end, moves=moves)
            queried = [row for piece in query_changes(session, query) for row in all_rows([*decoder.decode(piece)])]
            assert len(by_socket) == 5099
            assert by_socket == by_libpq == queried
        assert [len(piece) for piece in query_changes(session, query)] == [0]
    slot = find_slot(log.db, log.slot)
    assert slot is not None
    assert slot.confirmed >= decoder.tracker.position.end
    assert log.rows() == []


@pytest.mark.parametrize("version", [2, 3])
def test_streamed_transactions_of_a_server(make_log: MakeLog, version: int) -> None:
    """F-C15: pieces of large transactions, with a part that is rolled back, and one that is rolled back whole."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY, v text)")
    log.options = {"version": version, "more": (("streaming", "on"),)}
    many = "INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series({}, {}) n"
    log.run(
        f"BEGIN; {many.format(1, 2000)}; SAVEPOINT s; {many.format(2001, 3000)}; ROLLBACK TO s; {many.format(3001, 3500)}; COMMIT",
        f"BEGIN; {many.format(5000, 8000)}; ROLLBACK",
        "INSERT INTO t VALUES (9000, '')",
    )
    decoder = log.decoder()
    found = log.rows(decoder, dsn=f"{log.dsn}?options=-c%20logical_decoding_work_mem%3D64kB")

    assert [row[2][0] for row in found] == [*range(1, 2001), *range(3001, 3501), 9000]
    assert decoder.held.empty


def test_prepared_transactions_of_a_server(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    log.run(
        f"SELECT pg_drop_replication_slot('{log.slot}')",
        f"SELECT pg_create_logical_replication_slot('{log.slot}', 'pgoutput', false, true)",
        "BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'cdc_g'",
        "BEGIN; INSERT INTO t VALUES (2); PREPARE TRANSACTION 'cdc_h'",
        "INSERT INTO t VALUES (3)",
        "ROLLBACK PREPARED 'cdc_h'",
        "COMMIT PREPARED 'cdc_g'",
    )
    log.options = {"version": 3, "more": (("two_phase", "on"),)}

    assert [row[2][0] for row in log.rows()] == [3, 1]


def test_blocks_say_which_transaction_each_row_belongs_to(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    log.run("INSERT INTO t VALUES (1), (2)", "INSERT INTO t VALUES (3)")
    times = [log.value("SELECT extract(epoch FROM now())")]
    found = []
    for one in log.elements():
        if isinstance(one, Block):
            for part in one.rows:
                for row, of, order in zip(
                    shown(part), part.transactions.to_pylist(), part.order.to_pylist(), strict=True
                ):
                    found.append(
                        (row[2][0], one.transactions.xid[of].as_py(), order, one.transactions.time[of].as_py())
                    )

    assert [(one[0], one[2]) for one in found] == [(1, 0), (2, 1), (3, 0)]
    assert found[0][1] == found[1][1] < found[2][1]
    assert abs(found[0][3] / 1e6 - float(times[0])) < 60
