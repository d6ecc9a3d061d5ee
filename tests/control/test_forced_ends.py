"""A stop with force: a driver that does not end in time is killed, also by the server after the one that was asked."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from seatunnel_py.control.ending.forced_end_performer import ForcedStep, forced_step
from seatunnel_py.control.store import forced_ends
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.forced_ends import ForcedEnd
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.runtime.control.requests import RequestKind
from tests.control.world import Crash, Server, World

GRACE = 10.0
FORCE = Act("tester", "run.force")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def running(world: World) -> tuple[Server, str]:
    server = Server(world)
    server.define()
    run = server.start()
    server.go(3)
    return server, run


def force(server: Server, run: str) -> None:
    server.commands.send(run, RequestKind.CANCEL, FORCE, seconds=GRACE, forced=True)


def wishes_of(server: Server) -> list[ForcedEnd]:
    with server.database.reading() as connection:
        return list(forced_ends.every(connection))


def test_a_driver_that_hangs_is_killed_after_its_time(world: World) -> None:
    """And its run is not restored: it was given up."""
    server, run = running(world)
    force(server, run)
    server.go(GRACE - 1)
    assert run in world.drivers
    server.go(3)
    assert world.signalled == [run] and server.intents(run)[-1].state is IntentState.ENDED
    assert [act.result for act in server.acts("run.kill")] == ["done"]
    server.go(120)
    assert run not in world.drivers and wishes_of(server) == []


def test_a_driver_that_ends_in_time_is_not_killed(world: World) -> None:
    """The audit has no line of a kill."""
    server, run = running(world)
    force(server, run)
    world.end(run, "STOPPED", stopped_by=143)
    server.go(GRACE + 5)
    assert world.signalled == [] and server.acts("run.kill") == [] and wishes_of(server) == []


def test_the_next_driver_of_the_run_is_left_alone(world: World) -> None:
    server, run = running(world)
    force(server, run)
    world.end(run, "STOPPED", stopped_by=143)
    server.go(2)
    server.commands.restore(run, Act("tester", "run.restore"))
    server.go(GRACE + 5)
    assert run in world.drivers and world.signalled == []


def test_a_server_killed_at_any_step_leaves_the_kill_to_the_next_one(tmp_path: Path) -> None:
    """Once the answer is there the driver ends, and it is killed once."""
    for steps in count():
        world = World(tmp_path / str(steps))
        server, run = running(world)
        world.crash_at = steps
        answered, crashed = False, False
        try:
            force(server, run)
            answered = True
            server.go(GRACE + 5)
        except Crash:
            crashed = True
        world.crash_at = None

        second = Server(world)
        second.go(GRACE + 5)

        assert len(world.signalled) <= 1
        if answered:
            assert world.signalled == [run] and run not in world.drivers
            assert len(second.acts("run.ended")) == 1 and wishes_of(second) == []
        if not crashed:
            break
    assert steps >= 5, "before and after each transaction, and the signal"


def test_a_clock_that_goes_back_puts_no_kill_off(world: World) -> None:
    """O15: The monotonic time is over as well."""
    server, run = running(world)
    force(server, run)
    world.wall -= 3_600
    server.go(GRACE + 2)
    assert world.signalled == [run]


def test_a_run_that_is_gone_needs_no_kill() -> None:
    wish = ForcedEnd("r", "driver", "tester", "", "", 0.0, GRACE)
    assert forced_step(wish, None, 1_000.0, 1_000.0) is ForcedStep.OVER
