"""Two servers of one home over HTTP: the follower answers as the leader, and names it where it must; a home that is away
is shown as such (O25)."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from sqlalchemy import make_url

from seatunnel_py.control.store.places.postgres_store import PostgresStore
from seatunnel_py.control.store.tokens import Role
from seatunnel_py.runtime.storage.home import Home
from tests.control.homes import claimed, counted
from tests.control.notify.settings_files import SECRET, hook, written
from tests.servers.postgres import PostgresServer
from tests.web.running import CALM, Served, run_job, serving

TEXT = "source { FakeSource { row.num = 5, schema { fields { id = bigint } } } }\nsink { Console {} }"
NAMES = ("http://one", "http://two")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """A leader and a follower."""
    folder = tmp_path_factory.mktemp("several")
    home = Home(folder / ".seatunnel")
    run_job(home, "done", rows=3)
    settings = replace(CALM, settings_file=written(folder, hook("ops", 9)))
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("HOOK_SECRET", SECRET)
        store = PostgresStore(make_url(stack.enter_context(PostgresServer.running()).dsn), lease_seconds=6)
        one, two = (stack.enter_context(serving(folder, settings, home, store, name)) for name in NAMES)
        yield one, two


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.1)


def test_each_server_tells_its_role_and_the_leader(pair: tuple[Served, Served]) -> None:
    leader, follower = (one.get("about").json() for one in pair)
    assert (leader["role"], follower["role"]) == ("leader", "follower")
    assert leader["leader"] == follower["leader"] == NAMES[0] and leader["store"] == "postgresql"
    assert leader["lease"]["number"] == follower["lease"]["number"] == 1 and 0 <= follower["lease"]["age"] < 6
    assert [one.get("/readyz").status_code for one in pair] == [200, 200]


def test_a_follower_reads_and_takes_writes(pair: tuple[Served, Served]) -> None:
    """A token of one server opens the other; the start waits for the leader, whose queue is shown."""
    leader, follower = pair
    assert follower.get("runs").json()["runs"][0]["job_id"] == "done"
    assert follower.send("POST", "definitions", {"id": "people", "text": TEXT}).status_code == 201
    assert leader.get("definitions/people").json()["id"] == "people"
    follower.tokens[Role.READ], kept = leader.tokens[Role.READ], follower.tokens[Role.READ]
    assert follower.get("whoami").status_code == 200
    follower.tokens[Role.READ] = kept
    with follower.client() as client, client.stream("GET", "/api/v1/live") as stream:
        assert any("event: runs" in line for line in stream.iter_lines())


def test_an_act_of_the_leader_is_refused_with_its_address(pair: tuple[Served, Served]) -> None:
    leader, follower = pair
    refused = follower.send("POST", "notifications/targets/ops/resume")
    problem = refused.json()
    assert (refused.status_code, problem["type"], problem["leader"]) == (
        409,
        "urn:seatunnel:problem:follower",
        NAMES[0],
    )
    assert NAMES[0] in problem["detail"] and problem["remedy"]
    assert leader.send("POST", "notifications/targets/ops/resume").status_code == 200


def test_o25_a_home_that_is_away_is_shown_and_no_run_is_lost(pair: tuple[Served, Served]) -> None:
    """On both servers: the list, the run, acts on it, and the probe."""
    home = pair[0].home.path
    place = Home(home).place("alive")
    claimed(place, "d")
    counted(place, "d")
    (place.path / "lock").touch()
    with (place.path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for one in pair:
            until(lambda one=one: states(one).get("alive") == "RUNNING")
        away = home.rename(home.parent / "elsewhere")
        home.mkdir()
        try:
            for one in pair:
                until(lambda one=one: states(one).get("alive") == "UNKNOWN")
                rows = {row["job_id"]: row for row in one.get("runs", state="unknown").json()["runs"]}
                assert list(rows) == ["alive"] and time.time() - rows["alive"]["last_seen"] < 30
                assert states(one)["done"] == "SUCCESS"
                assert one.get("runs/alive").json()["state"] == "UNKNOWN"
                for path in ("runs/alive/tables", "runs/done/tables", "runs/done/log"):
                    answer = one.get(path)
                    assert (answer.status_code, answer.json()["type"]) == (503, "urn:seatunnel:problem:home"), path
                assert one.send("POST", "runs/alive/stop").status_code == 503
                probe = one.get("/readyz")
                assert probe.status_code == 503 and "away" in str(probe.json()["faults"])
                assert one.get("about").json()["home_away"] is True
            assert list(home.iterdir()) == []
        finally:
            home.rmdir()
            away.rename(home)
        for one in pair:
            until(lambda one=one: states(one).get("alive") == "RUNNING")
            assert one.get("about").json()["home_away"] is False and one.get("runs/done/tables").status_code == 200


def states(one: Served) -> dict[str, str]:
    return {row["job_id"]: row["state"] for row in one.get("runs").json()["runs"]}


def test_the_follower_leads_when_the_leader_ends(pair: tuple[Served, Served]) -> None:
    """Last, for it ends the first server."""
    pair[0].context.control.leadership.end()
    until(lambda: pair[1].get("about").json()["role"] == "leader")
    found = pair[1].get("about").json()
    assert (found["leader"], found["lease"]["number"]) == (NAMES[1], 2)
