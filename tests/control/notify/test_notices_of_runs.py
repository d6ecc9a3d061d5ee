"""Which events of runs are reported: each once, whatever crashes, on a machine without real drivers."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.control.notify import observer
from seatunnel_py.control.notify.target_settings import NotifySettings
from seatunnel_py.control.start_order import StartLimits
from seatunnel_py.control.store.audit import Act
from tests.control.homes import COUNTS, claimed, receipt
from tests.control.notify.settings_files import hook, settings_of
from tests.control.world import Crash, Server, World

LIMITS = StartLimits()


@pytest.fixture
def settings(tmp_path: Path) -> NotifySettings:
    """One target gets all kinds of events."""
    return settings_of(tmp_path, hook("all", 1, 'events = ["*"]') + hook("usual", 1))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world")


def kinds(server: Server, target: str = "all") -> list[str]:
    return [event.kind for event in server.reported(target)]


def log(world: World, run: str, *lines: dict[str, Any], name: str = "events.jsonl") -> None:
    """A driver writes events of its job."""
    time = datetime.fromtimestamp(world.wall, UTC).isoformat(timespec="milliseconds")
    with (world.home.place(run).path / name).open("a") as file:
        for line in lines:
            file.write(json.dumps({"time": time, "level": "ERROR", "job": run, "driver": 1, **line}) + "\n")


def failing(table: str, cause: str = "no room", remedy: str = "", state: str = "FAILED") -> dict[str, Any]:
    about = {"event": "table_changed", "pipeline": "p", "table": table, "state": state}
    return {**about, "cause": {"message": f"{cause}\nmore", "remedy": remedy, "error_type": "FatalError"}}


def test_o23_a_crash_at_any_step_neither_loses_nor_doubles_an_event(tmp_path: Path, settings: NotifySettings) -> None:
    """The server dies before and after each transaction, while a run starts, is killed, is restored and recovers."""
    for steps in count():
        world = World(tmp_path / str(steps))
        server = Server(world, LIMITS, settings)
        server.define()
        run = server.start()
        world.crash_at = steps
        crashed = False

        def life(server: Server, world: World = world, run: str = run) -> None:
            server.go(12)
            if run in world.drivers and not world.checkpoints:
                if not (world.home.place(run).path / "events.jsonl").exists():
                    log(world, run, failing("shop.a"))
                server.go(3)
                world.kill(run)
                world.checkpoints[run] = 7
            server.go(20)

        try:
            life(server)
        except Crash:
            crashed = True
        world.crash_at = None

        second = Server(world, LIMITS, settings)
        second.go(2)
        if run not in world.drivers:
            second.go(75)  # a start that was lost is asked for again
        life(second)

        found = Counter(event.kind for event in second.reported())
        assert found == dict.fromkeys(
            ["run.started", "table.failed", "run.failed", "run.restored", "run.recovered"], 1
        ), (steps, found)
        assert len({event.id for event in second.reported()}) == 5
        if not crashed:
            break
    assert steps >= 15, "before and after each transaction"


def test_a_change_and_its_event_are_one_transaction(world: World, settings: NotifySettings) -> None:
    """The number of ends that the audit has, and the number of events, are equal in each state of the file."""
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(5)
    with closing(sqlite3.connect(server.database.place.path)) as beside:
        for _ in range(4):
            world.kill(run)
            for _ in range(60):
                server.go(0.5)
                counts = beside.execute(
                    "SELECT (SELECT count(*) FROM audit WHERE act = 'run.ended'), "
                    "(SELECT count(*) FROM outbox_event WHERE kind = 'run.failed')"
                ).fetchone()
                assert counts[1] == min(counts[0], 1), "further ones with the same cause are folded"


def test_a_run_that_fails_again_and_again_is_reported_once_and_then_given_up(
    world: World, settings: NotifySettings
) -> None:
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(2)
    for _ in range(5):
        world.kill(run)
        server.go(200)
    assert server.wish().held
    found = server.reported("usual")
    assert [event.kind for event in found] == ["run.failed", "run.restored", "run.gave_up"]
    data = found[-1].body["data"]
    assert data["cause"].startswith("HELD: it has failed 5 times") and "release" in data["remedy"]
    assert found[0].body["data"]["is_restored"] is True and found[0].body["data"]["end"] == "killed"

    server.commands.release("shop", Act("tester", "definition.release"))
    server.go(10)
    world.checkpoints[run] = 1
    server.go(30)
    assert kinds(server, "usual")[-1] == "run.recovered"
    last = server.reported("usual")[-1].body["data"]
    assert last["after"] == found[0].id, "it names the first event of the trouble"


def test_equal_failures_are_reported_again_after_an_hour_with_their_number(
    world: World, settings: NotifySettings
) -> None:
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(2)
    for at in range(4):
        world.checkpoints[run] = at  # it moves on, so it is not held
        server.go(11)
        world.kill(run)
        server.go(60, beats=False)
    world.wall += 3_600
    world.kill(run)
    server.go(2)
    failed = [event.body["data"] for event in server.reported("usual") if event.kind == "run.failed"]
    assert [one.get("folded") for one in failed] == [None, 3]


def test_a_run_that_was_started_by_hand_is_reported_once(world: World, settings: NotifySettings) -> None:
    """Also if it has ended while no server ran, and however many servers follow."""
    server = Server(world, LIMITS, settings)
    server.go(1)
    world.by_hand("mine")
    server.go(5)
    world.end("mine", "FAILED")
    server.go(10)
    assert kinds(server) == ["run.started", "run.failed"]
    world.by_hand("later")
    world.end("later", "SOME_TABLES_FAILED")
    for _ in range(3):
        server = Server(world, LIMITS, settings)
        server.go(10)
    assert kinds(server) == ["run.started", "run.failed", "run.partial"]
    event = server.reported()[-1]
    assert (event.run, event.definition, event.job) == ("later", "", "shop")


def test_a_run_of_the_server_is_reported_once_from_its_start_to_its_end(world: World, settings: NotifySettings) -> None:
    """The supervisor and the observer see it both. The causes of ends differ, so nothing is folded."""
    server = Server(world, LIMITS, settings)
    server.define()
    for state in ("SUCCESS", "STOPPED", "SOME_TABLES_FAILED"):
        run = server.start()
        server.go(5)
        world.end(run, state)
        server.go(5)
    assert kinds(server) == [
        "run.started", "run.succeeded", "run.started", "run.stopped", "run.started", "run.partial",
    ]  # fmt: skip


def test_an_end_that_the_supervisor_notes_while_the_observer_looks_is_reported_once(
    world: World, settings: NotifySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are two threads."""
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(5)
    log(world, run, failing("shop.a"))
    read_on, over = observer.read_on, []

    def meanwhile(path: Path, position: str, wanted: Any) -> Any:
        found = read_on(path, position, wanted)
        if not over:
            over.append(True)
            world.end(run, "SUCCESS")
            server.supervisor.turn()
        return found

    monkeypatch.setattr(observer, "read_on", meanwhile)
    server.observer.turn()
    server.go(5)
    assert kinds(server) == ["run.started", "run.succeeded", "table.failed"]


def test_a_start_that_the_supervisor_has_ended_meanwhile_is_not_reported_again(
    world: World, settings: NotifySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The observer has seen the driver alive, and looks at its start by the server after its end was noted."""
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(5)
    alive = server.index.rows()
    world.end(run, "SUCCESS")
    server.supervisor.turn()
    with monkeypatch.context() as earlier:
        earlier.setattr(type(server.index), "rows", lambda _: alive)
        server.observer.turn()
    server.go(5)
    assert kinds(server) == ["run.started", "run.succeeded"]


def test_u15_a_partial_success_names_its_tables(world: World, settings: NotifySettings) -> None:
    """And is an event of its own kind, neither a success nor a failure. A next run that succeeds has recovered."""
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(2)
    cause = {"error_type": "FatalError", "message": "no such column\nline 2", "remedy": "add it"}
    tables = [
        {"table": "shop.a", "state": "DONE", "cause": None, **COUNTS},
        {"table": "shop.b", "state": "FAILED", "cause": cause, **COUNTS},
        {"table": "shop.c", "state": "DONE", "cause": None, "targets": [{"state": "ISOLATED", "cause": cause}], **COUNTS},
    ]  # fmt: skip
    world.end(run, "SOME_TABLES_FAILED", tables=tables)
    server.go(2)
    (event,) = server.reported("usual")
    data = event.body["data"]
    assert (event.kind, data["exit_code"], data["remedy"]) == ("run.partial", 3, "add it")
    assert [(one["table"], one["state"], one["cause"]) for one in data["failed_tables"]] == [
        ("shop.b", "FAILED", "no such column"), ("shop.c", "ISOLATED", "no such column"),
    ]  # fmt: skip

    second = server.start()
    server.go(2)
    world.end(second, "SUCCESS")
    server.go(2)
    assert kinds(server, "usual") == ["run.partial", "run.recovered"]
    assert server.reported("usual")[-1].body["data"]["after"] == event.id


def test_a_hundred_tables_of_an_outage_are_one_event(tmp_path: Path, world: World) -> None:
    """Those that fail within the time are grouped; of many the first twenty are listed."""
    settings = replace(settings_of(tmp_path, hook("all", 1, 'events = ["table.*"]')), group_seconds=30.0)
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(2)
    log(world, run, *(failing(f"shop.t{at:03}") for at in range(60)))
    server.go(20)
    assert server.reported() == []
    log(world, run, *(failing(f"shop.t{at:03}") for at in range(60, 100)))
    server.go(20)
    (event,) = server.reported()
    data = event.body["data"]
    assert (len(data["failed_tables"]), data["more_tables"]) == (20, 80)
    log(world, run, failing("shop.late"))
    world.kill(run)
    server.go(2)
    assert len(server.reported()) == 2, "a driver that has ended waits for nothing"


def test_a_driver_that_repeats_its_isolated_tables_reports_nothing_new(world: World, settings: NotifySettings) -> None:
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(2)
    log(world, run, failing("shop.a", state="ISOLATED"))
    server.go(2)
    log(world, run, {"event": "job_started"}, failing("shop.a", state="ISOLATED"))
    server.go(2)
    log(world, run, failing("shop.b", state="ISOLATED"))
    server.go(2)
    found = [
        event.body["data"]["failed_tables"][0]["table"] for event in server.reported() if event.kind == "table.failed"
    ]
    assert found == ["shop.a", "shop.b"]


def test_a_change_of_a_schema_that_waits_is_reported_with_its_id(world: World, settings: NotifySettings) -> None:
    """Once, also if the next driver meets it again."""
    remedy = "`seatunnel changes approve JOB 5f3a2c`, or `seatunnel changes reject JOB 5f3a2c`"
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(2)
    for _ in range(2):
        log(world, run, failing("shop.a", "a column was dropped", remedy, "ISOLATED"))
        server.go(2)
    (event,) = [one for one in server.reported() if one.kind == "schema.waits"]
    (table,) = event.body["data"]["failed_tables"]
    assert (table["table"], table["change"], table["remedy"]) == ("shop.a", "5f3a2c", remedy)


def test_a_log_that_is_rotated_damaged_or_torn_hides_nothing(world: World, settings: NotifySettings) -> None:
    """Half a line waits; others are read around what is no line of ours."""
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(2)
    place = world.home.place(run).path
    log(world, run, failing("shop.a"))
    server.go(1)
    log(world, run, failing("shop.b"))
    (place / "events.jsonl").rename(place / "events-000001.jsonl")
    log(world, run, {"event": "sink_left_out", "table": "shop.c", "targets": ["x"], "cause": {"message": "m"}})
    with (place / "events.jsonl").open("ab") as file:
        file.write(b'\xff\xfe not json "event": "table_changed"\n{"event": "table_changed", "time": "soon"}\n')
        line = json.dumps({"time": "2027-01-15T08:00:20+00:00", **failing("shop.d")}).encode()
        file.write(line[:40])
        file.flush()
        server.go(3)
        assert "shop.d" not in str([event.body for event in server.reported()])
        file.write(line[40:] + b"\n")
    server.go(3)
    found = [one["table"] for event in server.reported() for one in event.body["data"]["failed_tables"]]
    assert sorted(found) == ["shop.a", "shop.b", "shop.c into x", "shop.d"]


def test_a_driver_that_hangs_is_reported_once_and_recovers(world: World, settings: NotifySettings) -> None:
    server = Server(world, LIMITS, settings)
    server.define()
    run = server.start()
    server.go(5)
    world.drivers[run].hangs = True
    server.go(120)
    assert kinds(server, "usual") == ["run.stalled"]
    world.drivers[run].hangs = False
    world.checkpoints[run] = 3
    server.go(30)
    assert kinds(server, "usual") == ["run.stalled", "run.recovered"]


def test_what_was_before_the_first_target_is_not_reported(world: World, settings: NotifySettings) -> None:
    """A settings file that is written today reports no run of yesterday; one that goes on is reported from now on."""
    claimed(world.home.place("yesterday"), "d", world.wall - 90_000)
    receipt(world.home.place("yesterday"), "d", "FAILED")
    server = Server(world, LIMITS)
    world.by_hand("old")
    log(world, "old", failing("shop.before"))
    server.go(5)
    assert server.reported() == []

    world.wall += 60
    server = Server(world, LIMITS, settings)
    server.go(5)
    log(world, "old", failing("shop.after"))
    server.go(1)
    server = Server(world, LIMITS, settings)
    world.kill("old")
    server.go(5)
    assert kinds(server) == ["table.failed", "run.failed"]
    assert [one["table"] for one in server.reported()[0].body["data"]["failed_tables"]] == ["shop.after"]


def test_what_was_while_there_was_no_target_is_not_reported(world: World, settings: NotifySettings) -> None:
    """Targets that are taken out of the settings, and come back later, get what follows."""
    server = Server(world, LIMITS, settings)
    server.go(1)
    world.by_hand("first")
    server.go(2)
    server = Server(world, LIMITS)
    server.go(2)
    world.kill("first")
    world.by_hand("second")
    world.end("second", "FAILED")
    server.go(2)
    world.wall += 1
    server = Server(world, LIMITS, settings)
    server.go(2)
    world.by_hand("third")
    world.kill("third")
    server.go(2)
    assert [(event.kind, event.run) for event in server.reported()] == [
        ("run.started", "first"), ("run.failed", "third"),
    ]  # fmt: skip


def test_a_start_that_comes_to_nothing_is_reported(tmp_path: Path, settings: NotifySettings) -> None:
    """The process cannot be made: a failure with its reason."""
    world = World(tmp_path / "w")
    server = Server(world, LIMITS, settings)
    server.define()
    (world.home.path / "server" / "definitions").write_text("in the way")
    server.start()
    server.go(2)
    first = server.reported()[0]
    assert first.kind == "run.failed" and "not started: cannot write" in first.body["data"]["cause"]
    assert first.body["data"]["link"] is None


def test_many_old_runs_cost_nothing(world: World, settings: NotifySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn over runs that have ended, and were looked at, reads none of them again."""
    server = Server(world, LIMITS, settings)
    server.go(1)
    for at in range(50):
        world.by_hand(f"run-{at}")
        world.end(f"run-{at}", "SUCCESS")
    server.go(5)
    assert Counter(kinds(server))["run.succeeded"] == 50
    looked: list[str] = []
    monkeypatch.setattr(observer, "read_on", lambda path, *_: looked.append(path))
    server.observer.turn()
    assert looked == []
