"""Warm drivers: each start gets one that is ready and has its environment, and none outlives the server."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from seatunnel_py.control.launching import Launch
from seatunnel_py.control.warm_drivers import MEMORY_BYTES, PAUSE_SECONDS, WarmDrivers

DRIVER = """
import json, socket, sys, time
channel = socket.socket(fileno=int(sys.argv[1]))
open(sys.argv[2] + "/begun", "w").close()
channel.sendall(b"ready\\n")
line = channel.makefile("rb").readline()
if line.endswith(b"\\n"):
    request = json.loads(line)
    open(request["output"], "w").write(line.decode())
    sys.exit(7)
"""
BROKEN = "import sys; sys.exit(1)"
PROGRAM = ("python", "-m", "seatunnel_py")
ENVIRONMENT = {"PATH": os.environ["PATH"]}


class Clock:
    """Monotonic seconds of a test."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., WarmDrivers]]:
    made: list[WarmDrivers] = []

    def warm(script: str = DRIVER, *, wanted: int = 1, memory: int = MEMORY_BYTES) -> WarmDrivers:
        program = (sys.executable, "-c", script)
        made.append(WarmDrivers(PROGRAM, ENVIRONMENT, tmp_path / "warm", wanted, clock, lambda: memory, program))
        return made[-1]

    yield warm
    for one in made:
        one.close()


def launch(tmp_path: Path, **environment: str) -> Launch:
    return Launch(
        "run-1", (*PROGRAM, "run", "a.conf"), tmp_path, {**ENVIRONMENT, **environment}, tmp_path / "output.log"
    )


def pids(warm: WarmDrivers) -> list[int]:
    return [one.child.pid for one in warm._warm]


def until_ready(warm: WarmDrivers, number: int = 1) -> None:
    deadline = time.monotonic() + 60
    while warm.ready < number:
        assert time.monotonic() < deadline
        warm.turn()
        time.sleep(0.01)


def test_a_start_is_given_to_one_that_is_ready(tmp_path: Path, make: Callable[..., WarmDrivers], clock: Clock) -> None:
    warm = make()
    until_ready(warm)
    child = warm.take(launch(tmp_path))
    assert child is not None and child.wait(20) == 7
    wanted = {"arguments": ["run", "a.conf"], "directory": str(tmp_path), "output": str(tmp_path / "output.log")}
    assert json.loads((tmp_path / "output.log").read_text()) == wanted
    assert warm.take(launch(tmp_path)) is None, "a driver has one job"
    warm.turn()
    assert not pids(warm), "the job that has begun needs the processors first"
    clock.now += PAUSE_SECONDS
    until_ready(warm)


def test_one_that_prepares_itself_takes_nothing(tmp_path: Path, make: Callable[..., WarmDrivers]) -> None:
    warm = make("import time; time.sleep(60)")
    warm.turn()
    assert pids(warm) and warm.take(launch(tmp_path)) is None


def test_another_environment_needs_a_new_process(tmp_path: Path, make: Callable[..., WarmDrivers]) -> None:
    """A definition that refers to a variable: Spark's workers were started without it."""
    warm = make()
    until_ready(warm)
    assert warm.take(launch(tmp_path, SHOP_PASSWORD="x")) is None
    assert warm.ready == 1


def test_one_that_ends_is_replaced_later_each_time(make: Callable[..., WarmDrivers], clock: Clock) -> None:
    warm = make(BROKEN)
    begun = []
    for second in range(120):
        clock.now = float(second)
        before = pids(warm)
        warm.turn()
        if pids(warm) and pids(warm) != before:
            begun.append(second)
            while pids(warm):
                warm.turn()
                time.sleep(0.01)
    gaps = [later - earlier for earlier, later in pairwise(begun)]
    assert 3 <= len(begun) <= 6
    assert gaps == sorted(gaps) and gaps[-1] > gaps[0]


def test_none_starts_without_memory(make: Callable[..., WarmDrivers]) -> None:
    warm = make(memory=MEMORY_BYTES - 1)
    warm.turn()
    assert not pids(warm)


def test_none_outlives_the_server(tmp_path: Path, make: Callable[..., WarmDrivers]) -> None:
    """The kernel closes the sockets of a server that is killed."""
    warm = make(wanted=2)
    until_ready(warm, 2)
    children = [one.child for one in warm._warm]
    for one in warm._warm:
        one.channel.close()
    assert [child.wait(20) for child in children] == [0, 0]
    assert not (tmp_path / "output.log").exists()


def test_directories_of_ended_ones_are_removed(tmp_path: Path, make: Callable[..., WarmDrivers], clock: Clock) -> None:
    warm = make()
    until_ready(warm)
    (first,) = (tmp_path / "warm").iterdir()
    child = warm.take(launch(tmp_path))
    assert child is not None
    child.wait(20)
    clock.now += PAUSE_SECONDS
    until_ready(warm)
    assert not first.exists() and len(list((tmp_path / "warm").iterdir())) == 1


def test_a_place_that_cannot_be_made_stops_no_start(tmp_path: Path, make: Callable[..., WarmDrivers]) -> None:
    (tmp_path / "warm").write_text("a file is in the way")
    warm = make()
    warm.turn()
    assert not pids(warm) and warm.take(launch(tmp_path)) is None
