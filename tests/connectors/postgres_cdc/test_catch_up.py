"""Reading ahead, and catching up through SQL: the same changes as through the replication protocol, on a real server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from random import Random

import psycopg
import pytest

from seatunnel_connectors.postgres_cdc.pgoutput.elements import LogElement, LogPosition
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Messages
from seatunnel_connectors.postgres_cdc.replication import catch_up as catching_up
from seatunnel_connectors.postgres_cdc.replication.catch_up import CatchUp
from seatunnel_connectors.postgres_cdc.replication.connection import Received, ReplicationConnection, StreamOptions
from seatunnel_connectors.postgres_cdc.replication.read_ahead import ReadAhead
from seatunnel_connectors.postgres_cdc.replication.slot_log import SlotLog
from seatunnel_connectors.postgres_cdc.replication.slots import find_slot
from seatunnel_py.api import RetriableError
from tests.connectors.postgres_cdc.conftest import PUBLICATION, SECONDS, Log, wait_free
from tests.connectors.postgres_cdc.reading import Shown, all_rows
from tests.connectors.postgres_cdc.test_replication import confirmed

MakeLog = Callable[..., Log]
KILOBYTES = 1 << 10


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catching_up, "FAR_BYTES", 64 * KILOBYTES)
    monkeypatch.setattr(catching_up, "NEAR_BYTES", 8 * KILOBYTES)
    monkeypatch.setattr(catching_up, "RANGE_MIN", 32 * KILOBYTES)


@contextmanager
def opened(log: Log, start: int = 0, dsn: str = "", *, seen: list[bool] | None = None) -> Iterator[ReadAhead]:
    """The log, read ahead; ``seen`` gets whether it begins by catching up."""
    options = StreamOptions(log.slot, (PUBLICATION,), start or confirmed(log))
    connection = ReplicationConnection(dsn or log.dsn)
    catch_up = CatchUp.begun(log.db, log.dsn, options, "the log")
    if seen is not None:
        seen.append(catch_up is not None)
    slot_log = SlotLog(
        catch_up, lambda at: connection.start(StreamOptions(log.slot, (PUBLICATION,), at)), options.start
    )
    ahead = ReadAhead(slot_log)
    try:
        ahead.begin(1)
        yield ahead
    finally:
        ahead.stop()
        slot_log.close()
        connection.close()


def rows_until(ahead: ReadAhead, log: Log, end: int, start: LogPosition | None = None) -> list[Shown]:
    """Rows up to a position that everything before has been given at."""
    decoder, found = log.decoder(start), list[LogElement]()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        received = ahead.receive(0.2)
        found += decoder.decode(received.messages)
        if received.idle_end is not None and received.idle_end >= end and decoder.tracker.open is None:
            return all_rows(found)
    raise AssertionError(f"nothing in {SECONDS} s says that the log was read up to its end")


def write(log: Log, seed: int) -> None:
    """Transactions of many sizes, of which several are open at a time."""
    random = Random(seed)
    with psycopg.connect(log.dsn) as first, psycopg.connect(log.dsn) as second:
        for _ in range(150):
            session = random.choice([first, second])
            count = random.choice([1, 1, 5, 200])
            session.execute("INSERT INTO t (v) SELECT repeat('x', 50) FROM generate_series(1, %s)", [count])
            if random.random() < 0.1:
                session.rollback()
            elif random.random() < 0.5:
                session.commit()
            if random.random() < 0.05:
                log.run("CHECKPOINT")  # from there on the server decodes
        first.commit()
        second.commit()


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("seed", range(6))
def test_catching_up_gives_what_the_protocol_gives(make_log: MakeLog, seed: int) -> None:
    """In the same order, while transactions are open at the end of each range; the slot itself is not moved."""
    log = make_log("CREATE TABLE t (id serial PRIMARY KEY, v text)")
    write(log, seed)
    before, end = confirmed(log), log.end
    wanted, seen = log.rows(), list[bool]()

    with opened(log, seen=seen) as ahead:
        assert rows_until(ahead, log, end) == wanted
        assert confirmed(log) == before
        ahead.confirm(end)

    assert seen == [True]
    wait_free(log.db, log.slot)
    assert confirmed(log) == end
    assert [name for (name,) in log.db.execute("SELECT slot_name FROM pg_replication_slots WHERE temporary")] == []


@pytest.mark.usefixtures("small_ranges")
def test_catching_up_goes_on_at_any_position(make_log: MakeLog) -> None:
    """F-C5: also behind the position that the slot has confirmed, and inside of a transaction."""
    log = make_log("CREATE TABLE t (id serial PRIMARY KEY, v text)")
    write(log, 7)
    wanted, random = log.rows(), Random(7)
    with opened(log) as ahead:
        decoder, taken, places = log.decoder(), 0, list[tuple[LogPosition, int]]()
        while taken < len(wanted):
            found = decoder.decode(ahead.receive(0.2).messages)
            taken += len(all_rows([*found]))
            places.append((decoder.tracker.position, taken))
    for place, count in random.sample(places, 5):
        with opened(log, place.end) as ahead:
            assert rows_until(ahead, log, log.end, place) == wanted[count:]


@pytest.mark.usefixtures("small_ranges")
def test_a_server_without_room_for_a_copy_is_read_by_the_protocol(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id serial PRIMARY KEY, v text)")
    write(log, 8)
    made, seen = list[str](), list[bool]()
    try:
        while True:
            name = f"{log.slot}_full{len(made)}"
            log.db.execute("SELECT pg_create_physical_replication_slot(%s)", [name])
            made.append(name)
    except psycopg.errors.ConfigurationLimitExceeded:
        pass
    try:
        wanted = log.rows()
        with opened(log, seen=seen) as ahead:
            assert rows_until(ahead, log, log.end) == wanted
    finally:
        for name in made:
            log.db.execute("SELECT pg_drop_replication_slot(%s)", [name])
    assert seen == [False]


def test_a_log_that_is_near_is_read_by_the_protocol(make_log: MakeLog) -> None:
    log = make_log("CREATE TABLE t (id serial PRIMARY KEY, v text)")
    write(log, 9)
    seen = list[bool]()
    with opened(log, seen=seen) as ahead:
        assert len(rows_until(ahead, log, log.end)) == log.value("SELECT count(*) FROM t")
    assert seen == [False]


@pytest.mark.usefixtures("small_ranges")
def test_a_range_that_takes_long_is_ended_with_its_reader(make_log: MakeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log("CREATE TABLE t (id serial PRIMARY KEY, v text)")
    monkeypatch.setattr(catching_up, "RANGE_MIN", 1 << 40)
    log.run("INSERT INTO t (v) SELECT repeat('x', 200) FROM generate_series(1, 200000)")
    with opened(log):
        time.sleep(0.1)
        began = time.monotonic()
    assert time.monotonic() - began < 15.0
    assert find_slot(log.db, log.slot) is not None
    for _ in range(100):
        if not log.value("SELECT count(*) FROM pg_replication_slots WHERE temporary"):
            return
        time.sleep(0.05)
    raise AssertionError("the copy of the slot outlives its reader")


def test_a_reader_that_takes_nothing_stays_connected(make_log: MakeLog) -> None:
    """F-C14: more than twice wal_sender_timeout, while more waits than is read ahead."""
    log = make_log("CREATE TABLE t (id serial PRIMARY KEY, v text)")
    log.run("INSERT INTO t (v) SELECT repeat('x', 1000) FROM generate_series(1, 20000)")
    with opened(log, dsn=f"{log.dsn}?options=-c%20wal_sender_timeout%3D2s") as ahead:
        pid = log.value("SELECT active_pid FROM pg_replication_slots WHERE active")
        time.sleep(5.0)
        assert len(rows_until(ahead, log, log.end)) == 20_000
        assert log.value("SELECT active_pid FROM pg_replication_slots WHERE active") == pid


class Pieces:
    """A log that gives these pieces, then fails."""

    def __init__(self, count: int) -> None:
        self.count, self.given, self.confirmed = count, 0, list[int]()

    def receive(self, seconds: float) -> Received:
        if self.given == self.count:
            raise RetriableError("the connection is lost")
        self.given += 1
        return Received(Messages.of([bytes([self.given]) * 1000]), self.given, None, False)

    def confirm(self, position: int) -> None:
        self.confirmed.append(position)

    def keep_alive(self) -> None: ...
    def expect(self, tables: int) -> None: ...
    def interrupt(self) -> None: ...
    def stop(self) -> None: ...


def test_pieces_come_in_order_and_an_error_after_them() -> None:
    pieces = Pieces(50)
    ahead = ReadAhead(pieces, ahead_bytes=3000)
    ahead.begin(1)
    time.sleep(0.2)
    assert pieces.given <= 4, "no more is read ahead than was allowed"
    found, receipts = list[int](), 0
    with pytest.raises(RetriableError, match="lost"):
        while True:
            received = ahead.receive(1.0)
            messages = [received.messages.bytes_of(at) for at in range(len(received.messages))]
            assert all(message == message[:1] * 1000 for message in messages)
            found += [message[0] for message in messages]
            receipts += 1
            assert received.wal_end == found[-1]
            ahead.confirm(received.wal_end)
    assert found == [*range(1, 51)]
    assert receipts < 50, "pieces that wait are given as one"
    assert all(first <= second for first, second in pairwise(pieces.confirmed)), "a position never moves back"
    assert pieces.confirmed[-1] <= 50
    ahead.stop()
