"""The connection: slots, feedback, time limits, errors with what helps, on a real server; F-C numbers are the faults of
other systems that must not happen here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, LogPosition
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Messages
from seatunnel_connectors.postgres_cdc.replication import slots
from seatunnel_connectors.postgres_cdc.replication.connection import ReplicationConnection, StreamOptions
from seatunnel_connectors.postgres_cdc.replication.failures import LogLostError, SlotInUseError
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of, lsn_text
from seatunnel_py.api import FatalError, RetriableError, TimeLimitError
from tests.connectors.postgres_cdc.conftest import PUBLICATION, Log, read_until, wait_free
from tests.servers.postgres import PostgresServer

MakeLog = Callable[..., Log]


@contextmanager
def connected(dsn: str) -> Iterator[ReplicationConnection]:
    connection = ReplicationConnection(dsn)
    try:
        yield connection
    finally:
        connection.close()


def confirmed(log: Log) -> int:
    slot = slots.find_slot(log.db, log.slot)
    assert slot is not None
    return slot.confirmed


def test_positions_have_the_servers_text() -> None:
    assert lsn_of("16/B374D848") == 0x16B374D848
    assert lsn_text(0x16B374D848) == "16/B374D848"
    with pytest.raises(ValueError, match="16/B374D848"):
        lsn_of("16B374D848")


def test_a_new_slot_exports_a_snapshot_that_ends_where_the_log_begins(make_log: MakeLog) -> None:
    """F-C10: the snapshot is the slot's: nothing twice, nothing missing, and it can be exported again."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with connected(log.dsn) as connection, psycopg.connect(log.dsn) as keeper, psycopg.connect(log.dsn) as reader:
        assert connection.identify().database == log.db.info.dbname
        created = connection.create_slot(f"{log.slot}_new")
        log.run("INSERT INTO t VALUES (2)")
        keeper.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        keeper.execute(f"SET TRANSACTION SNAPSHOT '{created.snapshot}'".encode())
        again = keeper.execute("SELECT pg_export_snapshot()").fetchone()
        connection.identify()  # ends the first export
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        reader.execute(f"SET TRANSACTION SNAPSHOT '{again[0]}'".encode())  # type: ignore[index]
        assert reader.execute("SELECT id FROM t").fetchall() == [(1,)]

    log.slot = created.name
    assert [row[2] for row in log.rows()] == [(2,)]


def test_a_slot_that_cannot_be_created_in_time_names_whom_it_waits_for(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    with psycopg.connect(log.dsn, application_name="forgotten") as other, connected(log.dsn) as connection:
        other.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(TimeLimitError, match="waits for every running transaction"):
            connection.create_slot(f"{log.slot}_new", seconds=0.5)
        assert any("(forgotten)" in one for one in slots.running_transactions(log.db))


@pytest.mark.parametrize("through_libpq", [False, True])
def test_only_confirm_moves_the_slot(make_log: MakeLog, through_libpq: bool) -> None:
    """F-C1, F-C2, F-C3: neither decoding nor keepalives nor the end of a stream do."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    before = confirmed(log)
    log.run("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    decoder = log.decoder()
    with log.stream(through_libpq=through_libpq) as stream:
        read_until(stream, decoder, log.end)
        for _ in range(3):
            stream.send_status(reply=True)
            stream.receive(0.2)
        assert confirmed(log) == before
        position = decoder.tracker.position.end
        stream.confirm(position)
        stream.confirm(position - 5)
        stream.stop()
    wait_free(log.db, log.slot)
    assert confirmed(log) == position
    assert log.rows() == []


def test_quiet_tables_move_on_with_keepalives(make_log: MakeLog) -> None:
    """F-C4: what others write is no reason to keep the log."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE other (id int)", publication="FOR TABLE t")
    log.run("INSERT INTO other SELECT generate_series(1, 1000)")
    decoder, end = log.decoder(), log.end
    with log.stream() as stream:
        assert read_until(stream, decoder, end) == []
        assert stream.wal_end >= end
        stream.confirm(stream.wal_end)
        stream.stop()
    assert confirmed(log) >= end


@pytest.mark.parametrize("through_libpq", [False, True])
def test_a_reader_that_is_busy_elsewhere_stays_connected(make_log: MakeLog, through_libpq: bool) -> None:
    """F-C14: the server ends a connection without an answer after wal_sender_timeout; statuses alone keep it."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY, v text)")
    log.run("INSERT INTO t SELECT n, repeat('x', 1000) FROM generate_series(1, 20000) n")
    decoder, dsn = log.decoder(), f"{log.dsn}?options=-c%20wal_sender_timeout%3D3s"
    with log.stream(through_libpq=through_libpq, dsn=dsn) as stream:
        found = [*decoder.decode(stream.receive(5.0).messages)]
        until = time.monotonic() + 7
        while time.monotonic() < until:  # the server has more to send than fits
            stream.keep_alive()
            time.sleep(0.1)
        found += read_until(stream, decoder, log.end)
        assert sum(part.data.num_rows for one in found for part in getattr(one, "rows", ())) == 20_000


def test_a_connection_that_ends_is_a_retriable_error(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    for through_libpq in (False, True):
        with log.stream(through_libpq=through_libpq) as stream:
            stream.receive(0.1)
            log.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
            with pytest.raises(RetriableError, match=log.slot):
                for _ in range(50):
                    stream.receive(0.2)
        wait_free(log.db, log.slot)


def test_a_silent_server_is_asked_and_then_given_up(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    with log.stream() as stream:
        stream.silence_seconds = 0.2
        for _ in range(10):
            stream.receive(0.1)  # it answers
        stream._heard_at -= 1.0
        stream._asked = True
        with pytest.raises(RetriableError, match="does not answer"):
            stream.receive(0.1)


def test_nothing_is_heard_while_nothing_is_read(make_log: MakeLog) -> None:
    """F-C14: a reader that was busy elsewhere for long does not take its server for silent."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    with log.stream() as stream:
        stream._heard_at -= 1000.0
        stream._asked = True
        stream.keep_alive()
        stream.receive(0.1)


def test_a_slot_that_is_held_is_named_and_taken_over(make_log: MakeLog) -> None:
    """F-C13: the dead engine's connection is ended, within a limit."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    log.run("INSERT INTO t VALUES (1)")
    with log.stream() as zombie:
        zombie.receive(0.2)
        with pytest.raises(SlotInUseError) as error, log.stream():
            pass
        slot = slots.find_slot(log.db, log.slot)
        assert slot is not None
        assert error.value.pid == slot.pid
        assert slots.take_over(log.db, log.slot, 10.0)
        assert [row[2] for row in log.rows()] == [(1,)]
    assert not slots.take_over(log.db, log.slot, 0.1)


def test_a_role_without_the_right_waits_and_then_says_what_to_run(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)", "DROP ROLE IF EXISTS cdc_poor", "CREATE ROLE cdc_poor LOGIN")
    dsn = log.dsn.replace("postgres@", "cdc_poor@")
    with log.stream() as zombie, psycopg.connect(dsn, autocommit=True) as poor:
        zombie.receive(0.2)
        with pytest.raises(SlotInUseError, match="pg_terminate_backend"):
            slots.take_over(poor, log.slot, 0.3)
    with pytest.raises(FatalError, match="ALTER ROLE"), connected(dsn):
        pass
    log.run("DROP OWNED BY cdc_poor", "DROP ROLE cdc_poor")


def test_what_the_server_no_longer_has_is_refused_with_both_positions(make_log: MakeLog) -> None:
    """F-C6, F-C8, F-C16: the server itself would go forward without a word."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    log.run("INSERT INTO t VALUES (1)")
    decoder = log.decoder()
    log.rows(decoder)
    end = decoder.tracker.position.end
    assert slots.check_start(slots.find_slot(log.db, log.slot), log.slot, end).plugin == "pgoutput"
    log.run("INSERT INTO t VALUES (2)", f"SELECT pg_replication_slot_advance('{log.slot}', pg_current_wal_lsn())")

    with pytest.raises(LogLostError) as error:
        slots.check_start(slots.find_slot(log.db, log.slot), log.slot, end)
    assert lsn_text(end) in error.value.message
    assert lsn_text(confirmed(log)) in error.value.message
    assert "resnapshot" in error.value.remedy

    assert slots.drop_slot(log.db, log.slot)
    assert not slots.drop_slot(log.db, log.slot)
    with pytest.raises(LogLostError, match="is gone"):
        slots.check_start(slots.find_slot(log.db, log.slot), log.slot, end)
    with pytest.raises(LogLostError, match="does not exist"), log.stream():
        pass


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"publications": ("nothing",)}, "publication"),
        ({"version": 9}, "proto_version"),
        ({"more": (("streamin", "on"),)}, "streamin"),
    ],
)
def test_what_the_server_refuses_is_said(make_log: MakeLog, given: dict[str, object], words: str) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    log.run("INSERT INTO t VALUES (1)")
    for through_libpq in (False, True):
        with connected(log.dsn) as connection:
            options = StreamOptions(**{"slot": log.slot, "publications": (PUBLICATION,), **given})  # type: ignore[arg-type]
            with pytest.raises(FatalError, match=words):
                stream = connection.start(options, through_libpq=through_libpq)
                for _ in range(20):
                    stream.receive(0.2)
        wait_free(log.db, log.slot)


def test_a_server_without_logical_decoding_says_which_setting(tmp_path: Path) -> None:
    with PostgresServer.running(settings={"wal_level": "replica"}) as server, connected(server.dsn) as connection:
        with pytest.raises(FatalError) as error:
            connection.create_slot("s")
        assert "wal_level = logical" in error.value.remedy


def test_a_row_of_many_megabytes_passes(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY, v text)")
    log.run("INSERT INTO t VALUES (1, repeat('ab', 20000000)), (2, 'x')")
    for through_libpq in (False, True):
        rows = log.rows(through_libpq=through_libpq)
        assert [(row[2][0], len(row[2][1])) for row in rows] == [(1, 40_000_000), (2, 1)]


def test_a_restart_in_the_middle_of_writing_loses_and_repeats_nothing(make_log: MakeLog) -> None:
    """F-C5: connections are cut at random while four sessions write; each goes on behind what was taken."""
    log = make_log("CREATE TABLE t (id serial PRIMARY KEY, who int)")

    def write(who: int) -> None:
        with psycopg.connect(log.dsn) as db:
            for _ in range(60):
                db.execute("INSERT INTO t (who) SELECT %s FROM generate_series(1, 7)", [who])
                db.commit()

    writers = [threading.Thread(target=write, args=[who]) for who in range(4)]
    for one in writers:
        one.start()
    found: list[object] = []
    position = LogPosition()
    while any(one.is_alive() for one in writers) or len(found) < 4 * 60 * 7:
        decoder = log.decoder(position)
        with log.stream() as stream:
            for _ in range(3):
                for block in decoder.decode(stream.receive(0.3).messages):
                    for part in getattr(block, "rows", ()):
                        found += part.data.column("id").to_pylist()
            position = decoder.tracker.position
            stream.confirm(position.end)
        wait_free(log.db, log.slot)
    for one in writers:
        one.join()

    assert sorted(found) == [row[0] for row in log.db.execute("SELECT id FROM t ORDER BY id")]  # type: ignore[type-var]


def test_two_transactions_of_ten_thousand_rows_are_cut_at_each_thousand(make_log: MakeLog) -> None:
    """F-C5: the first one to begin commits last, so the positions of its rows are lower than those of the other. The
    connection ends twenty times, each time a thousand rows further, and the next one goes on there."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY)")
    with psycopg.connect(log.dsn) as late:
        for first in range(0, 10_000, 1_000):
            late.execute(f"INSERT INTO t SELECT generate_series({first}, {first + 999})".encode())
            if first == 5_000:
                log.run("INSERT INTO t SELECT generate_series(10000, 19999)")
        late.commit()

    found: list[int] = []
    position = LogPosition()
    for wanted in range(1_000, 20_001, 1_000):
        decoder = log.decoder(position)
        with log.stream() as stream:
            while len(found) < wanted:
                received = stream.receive(5.0).messages
                while len(received) and len(found) < wanted:
                    size = wanted - len(found)
                    piece = Messages(received.buffer, received.starts[:size], received.ends[:size])
                    received = Messages(received.buffer, received.starts[size:], received.ends[size:])
                    blocks = [one for one in decoder.decode(piece) if isinstance(one, Block)]
                    found += [key for one in blocks for part in one.rows for key in part.data.column("id").to_pylist()]
            position = decoder.tracker.position
        assert len(found) == wanted
        wait_free(log.db, log.slot)

    assert found == [*range(10_000, 20_000), *range(10_000)]
