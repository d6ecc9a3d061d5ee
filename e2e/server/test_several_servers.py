"""O13 and O25 with real processes and a real PostgreSQL: servers of one home that are suspended and killed, and a home
that goes away."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from e2e.server.driver_processes import kill_driver
from e2e.server.hosted import Hosted
from e2e.server.running import client, server
from e2e.server.stores import LEASE_SECONDS, new_database, write_store
from e2e.support import seatunnel
from seatunnel_py.control.leading import lease
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.control.store.wishes import RestartPolicy
from tests.servers.postgres import PostgresServer

SECRET = "whsec_" + "A" * 40
TARGET = """notify { allow = ["127.0.0.1"], targets { ops { type = webhook, url = "http://127.0.0.1:9/hook",
             secret = ${file:hook.secret} } } }"""
ADDRESSES = ("http://first", "http://second")


@pytest.fixture
def dsn(postgres: PostgresServer) -> str:
    """A database of this test."""
    return new_database(postgres)


@dataclass
class Pair:
    """Two supervising processes of one home."""

    path: Path
    servers: dict[str, Hosted] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for address in ADDRESSES:
            self.servers[address] = Hosted(self.path, address=address)

    @property
    def any(self) -> Hosted:
        return self.servers[ADDRESSES[0]]

    def leader(self) -> str:
        """The address of the server that has the lease; empty: it has expired."""
        with self.any.database.reading() as connection:
            found = lease.found(connection)
        return found.address if found.left > 0 else ""

    def number(self) -> int:
        with self.any.database.reading() as connection:
            return lease.found(connection).number

    def signal(self, address: str, number: int) -> None:
        host = self.servers[address].host
        assert host is not None
        os.kill(host.pid, number)

    def other(self, address: str) -> str:
        return next(one for one in ADDRESSES if one != address)

    def starts(self) -> dict[str, int]:
        """How often a driver of each run was spawned, as the intents have it."""
        with self.any.database.reading() as connection:
            rows = connection.exec_driver_sql("SELECT run, count(pid) FROM intent GROUP BY run").all()
        return dict(rows)

    def require_single(self) -> None:
        assert {run: pids for run, pids in self.any.drivers().items() if len(pids) > 1} == {}


@pytest.fixture
def pair(tmp_path: Path, dsn: str) -> Iterator[Pair]:
    write_store(tmp_path / "home", dsn)
    with pair_of(tmp_path) as made:
        yield made


@contextmanager
def pair_of(path: Path) -> Iterator[Pair]:
    """Two servers that run."""
    made = Pair(path)
    try:
        for hosted in made.servers.values():
            hosted.begin()
        yield made
    finally:
        for hosted in made.servers.values():
            if hosted.host is not None:
                hosted.host.send_signal(signal.SIGCONT)
            hosted.end()


def test_o13_a_leader_that_is_suspended_and_goes_on_starts_nothing(pair: Pair) -> None:
    """At random moments of its starts; the other server leads and starts what waits; each run has one driver."""
    chosen = random.Random(13)
    hosted = pair.any
    runs: list[str] = []
    for turn in range(3):
        for name in ("before", "after"):  # each writes into a directory of its own
            hosted.define(f"{name}-{turn}", RestartPolicy.NEVER)
        before = pair.leader()
        assert before in ADDRESSES
        runs.append(hosted.start(f"before-{turn}"))
        time.sleep(chosen.uniform(0, 0.7))
        pair.signal(before, signal.SIGSTOP)
        try:
            hosted.until("the other server leads", lambda old=before: pair.leader() == pair.other(old), 20)
            taken = pair.number()
            more = hosted.start(f"after-{turn}")
            runs.append(more)
            hosted.until("the new leader starts", lambda run=more: hosted.state(run) == "RUNNING")
        finally:
            pair.signal(before, signal.SIGCONT)
        time.sleep(2)
        assert pair.leader() == pair.other(before) and pair.number() == taken, "the old leader has taken over"
        pair.require_single()
        assert hosted.intents(more)[-1].fence == taken
        for run in runs[-2:]:
            hosted.until(f"{run} has a driver", lambda run=run: hosted.state(run) == "RUNNING", 120)
            assert hosted.intents(run)[-1].state in (IntentState.STARTING, IntentState.STARTED)
        for run in runs[-2:]:
            hosted.kill_driver(run)  # its place among those that run at once
        hosted.until("their ends", lambda: {hosted.state(run) for run in runs[-2:]} == {"KILLED"})
        pair.require_single()
    fences = [one.fence or 0 for run in runs for one in hosted.intents(run)]
    assert max(fences) == pair.number() >= 4


def test_a_killed_leader_is_followed_and_its_runs_are_adopted_and_restored(pair: Pair) -> None:
    """A driver that lives is left alone, one that dies afterwards is restored by the next leader."""
    hosted = pair.any
    hosted.define("one")
    hosted.define("two")
    one, two = hosted.start("one"), hosted.start("two")
    hosted.until_moving(one)
    hosted.until_moving(two)
    pids = {run: hosted.pid(run) for run in (one, two)}
    before = pair.leader()
    pair.servers[before].kill()
    hosted.kill_driver(two)
    took = hosted.until("the other server leads", lambda: pair.leader() == pair.other(before), 30)
    assert took < LEASE_SECONDS + 5
    hosted.until("the run that was killed is restored", lambda: hosted.state(two) == "RUNNING")
    hosted.until_moving(one)
    assert hosted.pid(one) == pids[one] and hosted.pid(two) != pids[two]
    assert [act.result for act in hosted.acts("run.ended")] == ["killed"]
    assert pair.starts() == {one: 1, two: 2}
    pair.require_single()

    pair.servers[before].begin()
    time.sleep(2)
    assert pair.leader() == pair.other(before), "a server that begins takes no lease that is good"
    hosted.kill_driver(one)
    hosted.until_moving(one)
    assert pair.starts() == {one: 2, two: 2}
    pair.require_single()


def test_o25_while_the_home_is_away_nothing_is_restarted(pair: Pair) -> None:
    """It is moved away as a whole, with a driver that is killed meanwhile; back again, the locks decide."""
    hosted = pair.any
    hosted.define("shop", RestartPolicy.ON_FAILURE)
    run = hosted.start("shop")
    hosted.until_moving(run)
    pid, home, away = hosted.pid(run), hosted.home.path, hosted.path / "away"
    os.kill(pid, signal.SIGSTOP)  # else it finds its directory gone, and ends by itself
    home.rename(away)
    try:
        home.mkdir()  # an empty mount point
        time.sleep(5)
        kill_driver(pid)
        time.sleep(5)
        assert [one.state for one in hosted.intents(run)] == [IntentState.STARTED]
        assert hosted.acts("run.ended") == [] and hosted.wish("shop").run == run
        assert list(home.iterdir()) == [], "something was written into the mount point"
    finally:
        home.rmdir()
        away.rename(home)
    hosted.until("it is restored", lambda: len(hosted.intents(run)) == 2 and hosted.state(run) == "RUNNING")
    assert [act.result for act in hosted.acts("run.ended")] == ["killed"]
    pair.require_single()


def test_o25_a_home_that_is_unmounted_comes_back_with_its_runs(tmp_path: Path, dsn: str) -> None:
    """One driver is at work all the time, and is adopted; the other is killed meanwhile, and is restored once."""
    disk, home = tmp_path / "disk", tmp_path / "home"
    write_store(disk, dsn)
    home.mkdir()
    mount(disk, home)
    try:
        with pair_of(tmp_path) as pair:
            hosted = pair.any
            for name in ("one", "two"):
                hosted.define(name)
            one, two = hosted.start("one"), hosted.start("two")
            hosted.until_moving(one)
            hosted.until_moving(two)
            pids = {run: hosted.pid(run) for run in (one, two)}
            for pid in pids.values():
                os.kill(pid, signal.SIGSTOP)  # else it writes into the mount point
            subprocess.run(["umount", "-l", str(home)], check=True)
            time.sleep(5)
            kill_driver(pids[two])
            time.sleep(5)
            assert list(home.iterdir()) == [] and hosted.acts("run.ended") == []
            assert pair.starts() == {one: 1, two: 1}
            mount(disk, home)
            os.kill(pids[one], signal.SIGCONT)
            hosted.until("it is restored", lambda: len(hosted.intents(two)) == 2 and hosted.state(two) == "RUNNING")
            hosted.until_moving(one)
            assert hosted.pid(one) == pids[one] and pair.starts() == {one: 1, two: 2}
            assert [act.result for act in hosted.acts("run.ended")] == ["killed"]
            pair.require_single()
    finally:
        subprocess.run(["umount", "-l", str(home)], check=True)


def mount(disk: Path, home: Path) -> None:
    """Show a directory at another place, as storage that is mounted there."""
    done = subprocess.run(["mount", "--bind", str(disk), str(home)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr}")


def test_two_servers_answer_for_one_home(tmp_path: Path, dsn: str) -> None:
    """By the public command line: both read and take writes, one leads, and the follower names it."""
    home = tmp_path / ".seatunnel"
    write_store(home, dsn)
    (home / "hook.secret").write_text(SECRET)
    with (home / "server.conf").open("a") as file:
        file.write(TARGET)
    with ExitStack() as stack:
        first, url = stack.enter_context(server(tmp_path))
        _, other = stack.enter_context(server(tmp_path))
        with client(url, tmp_path) as leader, client(other, tmp_path) as follower:
            told = [about(one) for one in (leader, follower)]
            assert [one["role"] for one in told] == ["leader", "follower"]
            assert [one["leader"] for one in told] == [url, url] and told[0]["lease"]["number"] == 1
            assert {one["store"] for one in told} == {"postgresql"} and told[1]["lease"]["age"] < LEASE_SECONDS

            text = "source { FakeSource { row.num = 5, schema { fields { id = bigint } } } }\nsink { Console {} }"
            assert follower.post("/api/v1/definitions", json={"id": "people", "text": text}).status_code == 201
            run = follower.post("/api/v1/definitions/people/runs", json={}).json()["job_id"]
            for one in (leader, follower):
                wait_for(lambda one=one: one.get(f"/api/v1/runs/{run}").json().get("state") == "SUCCESS")
            assert follower.get("/readyz").status_code == 200
            refused = follower.post("/api/v1/notifications/targets/ops/resume", json={})
            assert (refused.status_code, refused.json()["leader"]) == (409, url), refused.text
            assert leader.post("/api/v1/notifications/targets/ops/resume", json={}).status_code == 200

            made = seatunnel(tmp_path, "server", "token", "create", "ci", "--to", "ci.token", own_interpreter=True)
            assert made.code == 0, made.err
            copy = seatunnel(tmp_path, "server", "backup", "copy", own_interpreter=True)
            assert copy.code == 0, copy.err
            refused_too = seatunnel(tmp_path, "server", "restore", "copy", "--replace", own_interpreter=True)
            assert refused_too.code == 1 and "a server has this home already" in refused_too.err
            (home / "server.conf").rename(tmp_path / "kept.conf")
            sole = seatunnel(tmp_path, "server", "run", "--port", "0", own_interpreter=True)
            assert sole.code == 1 and "a server has this home already" in sole.err and "PostgreSQL" in sole.err
            (tmp_path / "kept.conf").rename(home / "server.conf")

            first.send_signal(signal.SIGTERM)
            wait_for(lambda: about(follower)["role"] == "leader")
            assert about(follower)["leader"] == other and about(follower)["lease"]["number"] == 2


def about(one: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = one.get("/api/v1/about").json()
    return found


def wait_for(holds: Any, seconds: float = 150.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "not in time"
        time.sleep(0.1)
