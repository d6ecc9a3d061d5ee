"""O13: The lease in a real PostgreSQL: one server leads, and one that was overtaken changes nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from seatunnel_py.control.leading import lease
from seatunnel_py.control.leading.fenced_database import FencedDatabase
from seatunnel_py.control.leading.leadership import (
    LOOK_SECONDS,
    RENEWED_PER_LEASE,
    LeasedLeadership,
    ServerRole,
    SoleLeadership,
    sleepless_clock,
)
from seatunnel_py.control.store import intents, queue, tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database, StaleLeaseError
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.control.store.places.postgres_store import LEASE_SECONDS, PostgresStore
from seatunnel_py.control.store.tokens import Role, TokenWish
from tests.control.several.stores import connected, store_on
from tests.control.world import Server, World
from tests.servers.postgres import PostgresServer

NOW = 1_800_000_000.0


@dataclass
class Clock:
    """The clock of a server; a server that is suspended looks at it later."""

    seconds: float = 100.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Several:
    """Servers of one store, each with a clock of its own. The clock of the database is real: ``expire`` lets the time
    of the lease pass there."""

    store: PostgresStore
    database: Database
    clocks: list[Clock] = field(default_factory=list)
    members: list[LeasedLeadership] = field(default_factory=list)

    def add(self) -> LeasedLeadership:
        self.clocks.append(Clock())
        address = f"http://server-{len(self.clocks)}"
        self.members.append(LeasedLeadership(self.store, address, lambda: None, self.clocks[-1]))
        self.members[-1].turn()
        return self.members[-1]

    def expire(self) -> None:
        with connected(self.store) as beside:
            beside.execute("UPDATE lease SET expires_at = extract(epoch FROM clock_timestamp()) - 1")


@pytest.fixture
def several(store: PostgresStore) -> Iterator[Several]:
    with closing(Database.open(store, lambda: NOW)) as database:
        made = Several(store, database)
        yield made
        for member in made.members:
            member.end()


def test_the_defaults_are_ten_and_thirty_seconds(several: Several) -> None:
    """A leader that is killed is followed within 32 s, and one that stands still in a write holds it for 10 s."""
    assert LEASE_SECONDS == 30 and LEASE_SECONDS / RENEWED_PER_LEASE == 10 and LOOK_SECONDS == 2
    first, second = several.add(), several.add()
    assert (first._pause(), second._pause()) == (10.0, 2.0)
    with connected(several.store) as beside:
        left = beside.execute("SELECT expires_at - renewed_at, number FROM lease").fetchone()
    assert left is not None and (round(left[0], 3), left[1]) == (30.0, 1)
    with several.database.reading() as connection:
        shown = connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar()
    assert shown == "10s"


def test_the_first_server_leads_and_the_others_name_it(several: Several) -> None:
    first, second = several.add(), several.add()
    assert first.leads and not second.leads
    assert first.standing().role is ServerRole.LEADER and first.standing().leader == "http://server-1"
    seen = second.standing()
    assert (seen.role, seen.leader, seen.number) == (ServerRole.FOLLOWER, "http://server-1", 1)
    several.clocks[1].seconds += 12
    assert 12 <= (second.standing().age or 0) < 14
    several.clocks[1].seconds += 30
    assert second.standing().leader == "", "its lease must have expired by now"


def test_the_number_grows_with_each_holder_and_an_expired_lease_is_not_renewed(several: Several) -> None:
    first, second = several.add(), several.add()
    several.expire()
    first.turn()
    assert first.number == 2, "the same server, but another lease: another one could have led in between"
    several.expire()
    second.turn()
    first.turn()
    assert (second.number, first.number) == (3, None)


def test_a_renewed_lease_stays(several: Several) -> None:
    first, second = several.add(), several.add()
    for _ in range(5):
        several.clocks[0].seconds += 10
        first.turn()
        second.turn()
    assert (first.number, second.number) == (1, None)
    with several.database.reading() as connection:
        assert lease.found(connection).left > 25


def test_a_server_that_was_suspended_knows_it_before_it_asks(several: Several) -> None:
    first = several.add()
    several.clocks[0].seconds += 29.9
    assert first.leads
    several.clocks[0].seconds += 0.2
    assert not first.leads and first.number is None


def test_a_server_that_ends_gives_its_lease_back(several: Several) -> None:
    first, second = several.add(), several.add()
    first.end()
    second.turn()
    assert second.number == 2


def test_without_the_database_the_leader_ceases_in_time() -> None:
    with PostgresServer.running() as server:
        store = store_on(server, 2.0)
        Database.open(store, lambda: NOW).close()
        clock = Clock()
        only = LeasedLeadership(store, "http://server", lambda: None, clock)
        only.turn()
        server.stop()
        clock.seconds += 1.5
        only.turn()
        assert only.leads, "its lease is still good"
        clock.seconds += 1
        assert not only.leads
        server.start()
        time.sleep(2)
        only.turn()
        assert only.number == 2
        only.end()


def test_of_many_servers_one_takes_a_lease_that_has_expired(several: Several) -> None:
    members = [several.add() for _ in range(6)]
    for _ in range(5):
        several.expire()
        before = max(one.number or 0 for one in members)
        for clock in several.clocks:
            clock.seconds += 60
        threads = [threading.Thread(target=one.turn) for one in members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert [one.number for one in members if one.leads] == [before + 1]


def test_o13_a_write_with_an_old_number_is_refused_and_leaves_nothing(several: Several) -> None:
    """Also in the moment in which its own clock still counts the lease as good."""
    first, second = several.add(), several.add()
    old = FencedDatabase(several.database, first)
    with old.acting(Act("supervisor", "token.create")) as write:
        tokens.issue(write.connection, TokenWish("one", Role.READ), "me", NOW)
    several.expire()
    second.turn()
    assert first.leads and second.leads
    with pytest.raises(StaleLeaseError), old.acting(Act("supervisor", "token.create")) as write:
        tokens.issue(write.connection, TokenWish("two", Role.READ), "me", NOW)
    with pytest.raises(StaleLeaseError):
        old.confirm()
    FencedDatabase(several.database, second).confirm()
    with several.database.reading() as connection:
        assert [one.name for one in tokens.listing(connection)] == ["one"]
        assert connection.exec_driver_sql("SELECT count(*) FROM audit").scalar() == 1


def test_o13_what_was_read_under_one_lease_is_not_written_under_the_next(several: Several) -> None:
    """The server stands still between both, another one leads meanwhile, and then it leads again."""
    first, second = several.add(), several.add()
    database = FencedDatabase(several.database, first)
    with database.term():
        assert database.fence == 1
        several.expire()
        second.turn()
        several.expire()
        first.turn()
        assert first.number == 3
        with pytest.raises(StaleLeaseError), database.writing():
            pass
    with database.term(), database.writing():
        assert database.fence == 3


def test_o13_nobody_takes_over_within_a_write_and_a_write_that_stands_still_is_ended(
    store_server: PostgresServer,
) -> None:
    """The lease expires while a write is under way: the next server waits for the write, but not for long."""
    store = store_on(store_server, 1.5)
    with closing(Database.open(store, lambda: NOW)) as database:
        several = Several(store, database)
        first, second = several.add(), several.add()
        led = FencedDatabase(database, first)
        began = time.monotonic()
        with pytest.raises(Exception, match="idle-in-transaction"), led.writing() as connection:
            tokens.issue(connection, TokenWish("one", Role.READ), "me", NOW)
            time.sleep(2)  # as a suspended process does
            second.turn()
            assert second.number == 2 and time.monotonic() - began < 5
            tokens.issue(connection, TokenWish("two", Role.READ), "me", NOW)
        with database.reading() as connection:
            assert tokens.listing(connection) == []
        second.end()
        first.end()


def test_a_sole_server_leads() -> None:
    alone = SoleLeadership("http://server")
    assert alone.leads and alone.number is None and alone.standing().role is ServerRole.LEADER
    before = sleepless_clock()
    assert before <= sleepless_clock() < before + 60


@pytest.fixture
def world(tmp_path: Path, store: PostgresStore) -> Iterator[World]:
    made = World(tmp_path / "world", store=store)
    yield made
    for server in made.servers:
        server.database.close()


def overtaken_after(several: Several, server: Server, steps: int) -> list[int]:
    """Before this write of its supervisor the server stands still for so long that the second one leads. The list gets
    the number of drivers that were started until then."""
    left, started = [steps], []

    def overtake() -> None:
        if left[0] == 0:
            several.expire()
            several.members[1].turn()
            started.append(len(server.world.spawned))
        left[0] -= 1

    server.led.overtake = overtake  # type: ignore[union-attr]
    return started


@pytest.mark.parametrize("steps", range(5))
def test_o13_a_leader_that_is_overtaken_at_any_write_starts_nothing_more(
    several: Several, world: World, steps: int
) -> None:
    """And the next leader starts what waits: each run has one driver, with the number of its leader."""
    first, second = several.add(), several.add()
    old = Server(world, leadership=first)
    old.define()
    runs = [old.start() for _ in range(3)]
    started_before = overtaken_after(several, old, steps)
    new = Server(world, leadership=second)
    old.go(20)
    assert [len(world.spawned)] == started_before, "it has started a driver although another server leads"
    for _ in range(240):
        new.go(0.5)
        old.turn()
    assert set(world.drivers) == set(runs)
    assert len(world.spawned) - len(world.refused) == 3, "two drivers of one run"
    with several.database.reading() as connection:
        started = intents.in_states(connection, (IntentState.STARTED,))
        assert {one.run for one in started} == set(runs) and queue.entries(connection) == []
    assert {one.fence for one in started} <= {1, 2} and 2 in {one.fence for one in started}


def test_a_follower_restores_nothing_until_it_leads(several: Several, world: World) -> None:
    """Then it sees the end as the first one would have, and restores the run."""
    first, second = several.add(), several.add()
    leader, follower = Server(world, leadership=first), Server(world, leadership=second)
    leader.define()
    leader.define("other")
    run = follower.start()
    leader.go(5)
    assert list(world.drivers) == [run]
    world.kill(run)
    follower.go(60)
    assert follower.state(run) == "KILLED" and world.drivers == {} and follower.wish().failures == 0
    waiting = follower.start("other")
    follower.go(1)
    assert [(one.entry.intent.run, one.why) for one in follower.supervisor.waiting] == [
        (waiting, "the server that leads, which begins it")
    ]
    several.expire()
    second.turn()
    follower.supervisor.adopt()
    follower.go(30)
    assert set(world.drivers) == {run, waiting} and follower.wish().failures == 1
