"""O25: The storage of the home is away: nothing is decided by guess, and what was seen last is shown as such."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from seatunnel_py.control.presence.home_identity import HomeIdentity
from seatunnel_py.control.run_index import HomeAwayError, RunFilter, RunIndex
from seatunnel_py.control.server_lock import ServerLock, ServerRunsError
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.runtime.control.requests import RequestKind
from seatunnel_py.runtime.storage.home import Home
from tests.control.homes import claimed, counted, ended_runs
from tests.control.world import Server, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class Away:
    """The directory of runs is out of sight, as with storage that is not mounted: its place is empty."""

    def __init__(self, world: World) -> None:
        self.world, self.jobs = world, world.home.path / "jobs"
        self.kept = world.home.path / "jobs-elsewhere"

    def __enter__(self) -> None:
        self.world.present = False
        self.jobs.rename(self.kept)

    def __exit__(self, *error: object) -> None:
        self.kept.rename(self.jobs)
        self.world.present = True


def test_o25_runs_are_unknown_with_the_time_at_which_they_were_seen(world: World) -> None:
    """One that has ended before stays what it is; all are there again when the storage is."""
    server = Server(world)
    server.define()
    alive, ended = server.start(), server.start()
    server.go(20)
    world.end(ended, "SUCCESS")
    server.go(5)
    seen = world.wall
    with Away(world):
        server.go(120)
        row = server.index.look(alive)
        assert row is not None and (row.state, server.state(ended)) == ("UNKNOWN", "SUCCESS")
        assert 0 <= seen - row.seen <= 2
        assert server.index.page(RunFilter(frozenset({"UNKNOWN"}))).total == 1
        assert "is away" in server.supervisor.fault
    server.go(1)
    assert (server.state(alive), server.supervisor.fault) == ("RUNNING", "")
    assert (server.index.row(alive) or pytest.fail("gone")).seen == 0


def test_o25_nothing_is_restarted_or_started_while_the_storage_is_away(world: World) -> None:
    """Afterwards the lock decides: one driver was killed meanwhile and is restored, the other was at work all the
    time."""
    server = Server(world)
    server.define("one")
    server.define("two")
    server.define("three")
    one, two = server.start("one"), server.start("two")
    server.go(20)
    with Away(world):
        server.go(3)
        world.kill(one)
        three = server.start("three")
        server.go(600)
        assert [run for _, run in world.spawned] == [one, two]
        assert server.acts("run.ended") == [] and server.acts("run.not-started") == []
        assert server.wish("two").run == two, "a directory that is out of sight was taken for deleted"
    server.go(60)
    assert set(world.drivers) == {one, two, three}
    assert [act.result for act in server.acts("run.ended")] == ["killed"]
    assert sorted(run for _, run in world.spawned) == sorted([one, one, two, three])


@pytest.mark.parametrize("steps", range(0, 9, 2))
def test_o25_storage_that_goes_in_the_middle_of_a_turn_ends_no_run(tmp_path: Path, steps: int) -> None:
    """It is there when the turn begins, and is not at one of its looks."""
    world = World(tmp_path)
    server = Server(world)
    server.define()
    run = server.start()
    server.go(20)
    looks, away = [0], Away(world)

    def here() -> bool:
        if looks[0] == steps:
            away.__enter__()
        looks[0] += 1
        return world.present

    server.index.here = here
    for _ in range(10):
        server.go(0.5)
        server.index.look(run)
    assert not world.present and server.state(run) == "UNKNOWN"
    server.index.here = lambda: world.present
    away.__exit__()
    server.go(30)
    assert server.state(run) == "RUNNING" and len(world.spawned) == 1
    assert [one.state for one in server.intents(run)] == [IntentState.STARTED]


def test_o25_acts_on_runs_are_refused_meanwhile(world: World) -> None:
    server = Server(world)
    server.define()
    run = server.start()
    server.go(5)
    with Away(world):
        for act in (
            lambda: server.commands.send(run, RequestKind.STOP, Act("me", "run.stop")),
            lambda: server.commands.kill(run, Act("me", "run.kill")),
            lambda: server.commands.restore(run, Act("me", "run.restore")),
        ):
            with pytest.raises(HomeAwayError, match="is away") as refused:
                act()
            assert "mount" in refused.value.remedy
    assert server.wish().run == run


def test_o25_an_empty_mount_point_is_not_the_home(tmp_path: Path) -> None:
    """Nor is another home at the same place."""
    home = tmp_path / "home"
    identity = HomeIdentity.of(home)
    index = RunIndex(Home(home), lambda: 0.0, here=identity.is_here)
    ended_runs(home, 3)
    place = Home(home).place("alive")
    claimed(place, "d")
    counted(place, "d")
    index.scan()
    assert identity.is_here() and len(index.rows()) == 4
    home.rename(tmp_path / "elsewhere")
    assert not identity.is_here()
    home.mkdir()
    index.poll()
    assert index.away and len(index.rows()) == 4
    HomeIdentity.of(home)
    assert not identity.is_here()
    (home / "server" / "home.id").unlink()
    (home / "server").rmdir()
    home.rmdir()
    (tmp_path / "elsewhere").rename(home)
    assert identity.is_here()
    index.poll()
    assert not index.away and len(index.rows()) == 4


def test_the_identity_of_a_home_stays(tmp_path: Path) -> None:
    assert HomeIdentity.of(tmp_path) == HomeIdentity.of(tmp_path)
    file = tmp_path / "server" / "home.id"
    assert file.stat().st_mode & 0o777 == 0o600 and list(file.parent.iterdir()) == [file]


def test_o12_servers_without_a_common_database_do_not_share_a_home(tmp_path: Path) -> None:
    """Those with one do; each has a note, and one that was killed leaves none that counts."""
    first = ServerLock.take(tmp_path, "http://one:1", together=True)
    second = ServerLock.take(tmp_path, "http://two:2", together=True)
    with pytest.raises(ServerRunsError, match=r"http://(one:1|two:2) \(process") as refused:
        ServerLock.take(tmp_path, "http://three:3")
    assert "PostgreSQL" in refused.value.remedy
    second.note_probed("http://127.0.0.1:2")
    first.release()
    noted = ServerLock.noted(tmp_path) or {}
    assert (noted["address"], noted["probed"], noted["host"]) == (
        "http://two:2", "http://127.0.0.1:2", socket.gethostname(),
    )  # fmt: skip
    second.release()
    assert ServerLock.noted(tmp_path) is None

    alone = ServerLock.take(tmp_path, "http://three:3")
    with pytest.raises(ServerRunsError, match=r"http://three:3 \(process"):
        ServerLock.take(tmp_path, "http://one:1", together=True)
    alone.release()
    left = tmp_path / "server" / "servers" / "killed.json"
    left.write_text('{"address": "http://gone"}')
    os.utime(left, (0, 0))
    assert ServerLock.noted(tmp_path) is None
    ServerLock.take(tmp_path, "http://one:1", together=True).release()
    assert not left.exists()
