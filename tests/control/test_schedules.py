"""Schedules on a machine without real drivers: kills, restarts, clocks that jump, and acts of people."""

from __future__ import annotations

from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from seatunnel_py.control.run_commands import RunStateError
from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.decision import Fire, FireOutcome
from seatunnel_py.control.schedule.stored_schedules import FIRES_KEPT, StaleScheduleError, UnknownScheduleError
from seatunnel_py.control.schedule.terms import ScheduleTermsError, iso_of, terms_of
from seatunnel_py.control.start_order import StartLimits
from seatunnel_py.control.store import definitions
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import StoreUnwritableError
from seatunnel_py.control.store.wishes import RestartPolicy
from seatunnel_py.errors import SeaTunnelError
from tests.control.world import Crash, Server, World

ACT = Act("tester", "schedule.change")
MANY = StartLimits(max_running=1_000)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def scheduled(world: World, **terms: object) -> Server:
    server = Server(world, MANY)
    server.define(policy=RestartPolicy.NEVER)
    server.schedule(**{"every": 60, **terms})
    return server


def settle(server: Server) -> None:
    """Let the time pass after which a start without a driver is asked again."""
    server.world.seconds += 61
    server.go(3)


def test_u36_a_schedule_starts_runs_and_each_has_its_audit_line(world: World) -> None:
    server = scheduled(world, overlap="allow")
    server.go(200)

    runs = [one.fire.run for one in server.fires()]
    assert len(runs) == 3 and set(world.drivers) == set(runs)
    acts = [act for act in server.acts("run.start") if act.result == "done"]
    assert [(act.actor, act.object, act.revision) for act in acts] == [("schedule:shop", run, 1) for run in runs]
    assert [server.intents(run)[0].asked_by for run in runs] == ["schedule:shop"] * 3


def test_bar4_a_server_killed_at_any_step_starts_each_time_once(tmp_path: Path) -> None:
    """O2: Before and after each transaction and each start of a process. The next server goes on from there."""
    for steps in count():
        world = World(tmp_path / str(steps))
        begin = int(world.wall)
        server = scheduled(world, every=10, overlap="allow", ends=iso_of(begin + 30.0))
        world.crash_at = steps
        crashed = False
        try:
            server.go(22)
        except Crash:
            crashed = True
        world.crash_at = None

        second = Server(world, MANY)
        second.go(begin + 35 - world.wall)
        settle(second)

        fires = [one.fire for one in second.fires()]
        assert [(fire.due - begin, fire.outcome.value) for fire in fires] == [(10.0 * n, "started") for n in (1, 2, 3)]
        runs = [fire.run for fire in fires]
        assert len(set(runs)) == 3 and set(world.drivers) == set(runs), "a run for each time"
        assert len(world.spawned) - len(world.refused) == 3, "two drivers have begun"
        assert [act.object for act in second.acts("run.start") if act.result == "done"] == runs
        if not crashed:
            break
    assert steps >= 12, "two starts, each before and after three transactions and the start of a process"


@pytest.mark.parametrize("missed", ["skip", "once"])
def test_u33_a_server_that_was_away_skips_what_it_missed_or_runs_once(world: World, missed: str) -> None:
    scheduled(world, every=3_600, missed=missed).go(30)
    world.seconds, world.wall = world.seconds + 12_000, world.wall + 12_000
    second = Server(world, MANY)
    second.go(1)
    assert second.outcomes() == (["missed"] if missed == "skip" else ["missed", "started"])
    assert len(world.drivers) == (0 if missed == "skip" else 1)
    world.wall += 4 * 3_600 - 12_035
    second.go(5)
    assert second.outcomes()[-1] == ("started" if missed == "skip" else "skipped"), "its times go on as before"


def test_a_run_that_is_under_way_is_waited_for(world: World) -> None:
    """One start is queued; a run that a person has started counts as well."""
    server = scheduled(world, overlap="queue")
    by_person = server.start()
    server.go(130)
    assert server.outcomes() == ["queued", "skipped"] and set(world.drivers) == {by_person}
    world.end(by_person, "SUCCESS")
    server.go(5)

    assert server.outcomes() == ["started", "skipped"]
    assert set(world.drivers) == {server.fires()[0].fire.run}


def test_a_queued_start_outlives_its_server(tmp_path: Path) -> None:
    for steps in count():
        world = World(tmp_path / str(steps))
        server = scheduled(world, every=10, overlap="queue", ends=iso_of(world.wall + 15))
        by_person = server.start()
        server.go(12)
        world.end(by_person, "SUCCESS")
        world.crash_at = steps
        crashed = False
        try:
            server.go(5)
        except Crash:
            crashed = True
        world.crash_at = None
        second = Server(world, MANY)
        second.go(3)
        settle(second)

        assert second.outcomes() == ["started"] and set(world.drivers) == {second.fires()[0].fire.run}
        if not crashed:
            break
    assert steps >= 6


def test_o15_a_clock_that_jumps_by_an_hour_doubles_nothing(world: World) -> None:
    server = scheduled(world, overlap="allow")
    server.go(130)
    world.wall -= 3_600
    server.go(130)
    assert server.outcomes() == ["started"] * 2, "it waits until the clock is there again"
    world.wall += 3_600
    server.go(1)
    assert server.outcomes() == ["started", "started", "missed", "started"]
    assert max(Counter(one.fire.due for one in server.fires()).values()) == 1


def test_a_clock_that_was_wrong_by_years_holds_nothing_up(world: World) -> None:
    """Times that have come before start nothing again."""
    server = scheduled(world, overlap="allow")
    server.go(130)
    world.wall += 400 * 86_400
    server.go(130)
    world.wall -= 400 * 86_400 + 230
    before = len(world.spawned)
    server.go(360)
    dues = [one.fire.due for one in server.fires() if one.fire.outcome is FireOutcome.STARTED]
    assert len(set(dues)) == len(dues) == len(world.spawned)
    assert len(world.spawned) - before == 3, "three of its six times were decided already"


def test_o9_a_database_that_cannot_be_written_decides_nothing_and_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = scheduled(world, overlap="allow")

    def full() -> None:
        raise StoreUnwritableError("the disk is full")

    monkeypatch.setattr(server.database, "writing", full)
    server.go(70)
    assert server.fires() == [] and server.performer.faults == {}
    monkeypatch.undo()
    server.go(1)
    assert server.outcomes() == ["started"]


def test_a_time_that_cannot_start_a_run_is_refused_with_the_reason_and_the_next_one_comes(world: World) -> None:
    server = scheduled(world)
    with server.database.writing() as connection:
        definitions.delete(connection, "shop", world.wall)
    server.go(130)

    assert server.outcomes() == ["refused", "refused"]
    assert "there is no definition 'shop'" in server.fires()[0].fire.why
    refused = [act.result for act in server.acts("run.start")]
    assert len(refused) == 2 and all("refused" in one for one in refused)


def test_a_schedule_that_cannot_be_decided_shows_it_and_the_others_go_on(world: World) -> None:
    server = scheduled(world)
    server.define("later", RestartPolicy.NEVER)
    server.schedule("later", every=60)
    with server.database.writing() as connection:
        connection.exec_driver_sql("UPDATE schedule SET cron = '* * * * *', zone = 'Gone/Zone' WHERE id = 'later'")
    server.go(70)

    assert "Gone/Zone" in server.performer.faults["later"] and server.outcomes() == ["started"]
    server.schedules.delete("later", ACT)
    server.go(1)
    assert server.performer.faults == {}


def test_a_change_between_the_decision_and_its_transaction_is_seen(world: World) -> None:
    """A person starts a run, or pauses the schedule, in just that moment."""
    server = scheduled(world)
    server.go(59)
    original = stored_schedules.every

    def then(act: object) -> None:
        def changed(connection: object) -> object:
            found = original(connection)  # type: ignore[arg-type]
            act()  # type: ignore[operator]
            return found

        stored_schedules.every = changed  # type: ignore[assignment]
        try:
            world.wall += 2
            server.performer.turn()
        finally:
            stored_schedules.every = original

    then(lambda: server.schedules.pause("shop", ACT))
    assert server.fires() == []
    server.schedules.resume("shop", ACT)
    server.go(1)
    assert server.fires() == [], "a time that passed during the pause starts nothing"


def test_pause_gives_a_queued_start_up_and_resume_goes_on_from_now(world: World) -> None:
    server = scheduled(world, overlap="queue")
    by_person = server.start()
    server.go(70)
    server.schedules.pause("shop", ACT)
    world.end(by_person, "SUCCESS")
    server.go(300)
    assert server.outcomes() == ["skipped"] and world.drivers == {}
    server.schedules.resume("shop", ACT)
    server.go(61)
    assert server.outcomes() == ["skipped", "started"]


def test_a_change_of_times_counts_from_now_and_another_one_does_not(world: World) -> None:
    server = scheduled(world)
    server.go(50)
    made = server.schedules.change("shop", terms_of(every=60, overlap="allow"), {}, ACT, expected=1)
    assert made.number == 2
    server.go(15)
    assert server.outcomes() == ["started"]
    with pytest.raises(StaleScheduleError, match="is at change 2"):
        server.schedules.change("shop", terms_of(every=90), {}, ACT, expected=1)
    server.schedules.change("shop", terms_of(every=90, overlap="allow"), {}, ACT)
    server.go(85)
    assert server.outcomes() == ["started"]
    server.go(10)
    assert server.outcomes() == ["started", "started"]


def test_a_wrong_schedule_is_not_made(world: World) -> None:
    server = scheduled(world)
    hourly = terms_of(every=3_600)
    for refused, definition, id, variables in (
        (definitions.UnknownDefinitionError, "none", "", {}),
        (stored_schedules.ScheduleExistsError, "shop", "shop", {}),
        (ScheduleTermsError, "shop", "../x", {}),
        (SeaTunnelError, "shop", "new", {"password": "hunter22"}),
    ):
        with pytest.raises(refused):
            server.schedules.create(definition, id, hourly, variables, "tester", ACT)
    assert server.schedules.create("shop", "", hourly, {}, "tester", ACT).id == "shop-2"
    for act in (server.schedules.pause, server.schedules.resume, server.schedules.delete, server.schedules.start):
        with pytest.raises(UnknownScheduleError):
            act("none", ACT)


def test_variables_of_a_schedule_reach_its_runs_and_run_now_starts_one(world: World) -> None:
    server = Server(world, MANY)
    server.define(policy=RestartPolicy.NEVER)
    server.schedules.create("shop", "", terms_of(every=60), {"day": "today"}, "tester", ACT)
    first = server.schedules.start("shop", Act("tester", "run.start"), key="k", body_digest="d")
    assert server.schedules.start("shop", Act("tester", "run.start"), key="k", body_digest="d").run == first.run
    assert first.options.variables == {"day": "today"} and server.fires() == []
    server.go(61)
    assert server.outcomes() == ["skipped"], "the run of a person is under way"
    world.end(first.run, "SUCCESS")
    server.go(60)
    run = server.fires()[-1].fire.run
    assert server.intents(run)[0].options.variables == {"day": "today"}
    with pytest.raises(RunStateError):
        server.commands.restore(run, ACT)


def test_the_history_of_a_schedule_is_bounded(world: World) -> None:
    server = scheduled(world)
    with server.database.writing() as connection:
        for at in range(FIRES_KEPT + 50):
            stored_schedules.fired(connection, "shop", Fire(float(at), FireOutcome.SKIPPED), world.wall)
    fires = server.fires()
    assert len(fires) == FIRES_KEPT and fires[0].fire.due == 50.0
    with pytest.raises(StoreUnwritableError, match="UNIQUE"), server.database.writing() as connection:
        stored_schedules.fired(connection, "shop", Fire(99.0, FireOutcome.STARTED), world.wall)
