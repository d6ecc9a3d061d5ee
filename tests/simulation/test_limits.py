"""No run goes on for ever, or without anything being done: it ends in a violation that says where and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulation.choices import Choices
from tests.simulation.limits import DRIVERS_MAX, LETTERS_MAX, SAME_ENDS_MAX, SECONDS_MAX
from tests.simulation.ports.executors import SimulatedExecutors
from tests.simulation.process import Process
from tests.simulation.violation import JobViolationError
from tests.simulation.world import World

SEED, MODE = 5, "aligned"


@pytest.fixture(autouse=True)
def _a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No record ever reaches it."""
    monkeypatch.setattr(SimulatedExecutors, "write", lambda *_: None)


def violated(world: World) -> str:
    with pytest.raises(JobViolationError) as caught:
        world.run()
    assert caught.value.rule == "EveryRunEnds"
    return caught.value.text


def lasting() -> World:
    """A run in which nothing goes wrong but that, and no person wishes for anything."""
    return World(Choices(SEED, {"switches": [], "wishes": []}), MODE)


def again(world: World, call: Callable[[], None], seconds: float) -> None:
    """``call`` for ever, at this interval."""

    def step() -> None:
        call()
        world.later(seconds, step)

    world.later(seconds, step)


def test_a_run_in_which_nothing_happens_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(World, "_look_at_streams", lambda *_: None)

    assert "nothing is left to happen" in violated(lasting())


def test_steps_in_which_nothing_is_done() -> None:
    world = lasting()
    again(world, lambda: None, 0.0)

    assert "no machine has asked for anything" in violated(world)


def test_letters_of_one_step_without_an_end() -> None:
    world = lasting()

    def letters() -> None:
        while True:
            world.limits.letter()

    again(world, letters, 0.0)

    assert f"{LETTERS_MAX} letters in one step" in violated(world)


def test_virtual_time_that_goes_on_and_on() -> None:
    world = lasting()
    again(world, lambda: None, 1.0)

    assert f"no end after {SECONDS_MAX:.0f} s" in violated(world)


def test_drivers_that_all_end_without_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline that never can go on is a finding, and no endless row of new drivers."""

    def ends(executors: Any, task: Callable[[], None], then: Callable[[Any], None]) -> None:
        process: Process = executors._process
        process.alive = False
        process.world.limits.driver_ended()
        process.world.later(0.1, process.world.start)

    monkeypatch.setattr(SimulatedExecutors, "write", ends)

    assert f"{SAME_ENDS_MAX} drivers in a row have ended without a checkpoint" in violated(lasting())


def test_drivers_that_die_are_a_finding_only_if_they_never_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(executors: Any, task: Callable[[], None], then: Callable[[Any], None]) -> None:
        executors._process.dies("its store")

    monkeypatch.setattr(SimulatedExecutors, "write", dies)

    assert f"{DRIVERS_MAX} drivers did not bring it to an end" in violated(lasting())
