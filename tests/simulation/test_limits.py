"""No run goes on for ever, or without anybody hearing anything: it ends in a violation that says where and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seatunnel_py.protocol.coordinator.commands import Persist
from tests.simulation.choices import Choices
from tests.simulation.driver import Driver
from tests.simulation.orders import PERFORM
from tests.simulation.violation import Violation
from tests.simulation.world import World

SEED, MODE = 5, "aligned"
CRASH = ""


def lasting() -> World:
    """A run in which no record ever reaches the store, and no driver hears of it."""
    return World(Choices(SEED), MODE, seed=SEED)


@pytest.fixture(autouse=True)
def _a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PERFORM, Persist, lambda driver, command: None)


def violated(world: World) -> Violation:
    with pytest.raises(Violation) as caught:
        world.run()
    assert (caught.value.checker, caught.value.seed, caught.value.mode) == ("EveryRunEnds", SEED, MODE)
    return caught.value


def again(world: World, call: Callable[[], None], seconds: float) -> None:
    """``call`` for ever, at this interval."""

    def step() -> None:
        call()
        world.later(seconds, step)

    world.later(seconds, step)


def test_a_run_in_which_nothing_happens_any_more() -> None:
    assert "nothing is left to happen" in violated(lasting()).text


def test_steps_that_nobody_hears_of() -> None:
    world = lasting()
    again(world, lambda: None, 0.0)

    assert "no machine has heard anything" in violated(world).text


def test_virtual_time_that_goes_on_and_on() -> None:
    world = lasting()
    again(world, lambda: None, 1.0)

    assert "no end after 200 s" in violated(world).text


def ends_for(reasons: tuple[str, ...]) -> Callable[[Driver, Persist], None]:
    """A pipeline that ends whenever something should be stored: for these reasons in turn."""

    def ends(driver: Driver, command: Persist) -> None:
        world = driver.world
        driver.alive = False
        why = reasons[len(world.drivers) % len(reasons)]
        if why == CRASH:
            world.limits.driver_crashed()
        else:
            world.limits.driver_ended(why)
        world.later(0.1, world.start_driver)

    return ends


def test_drivers_that_all_end_for_the_same_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline that never can go on is a finding, and no endless loop of new drivers."""
    monkeypatch.setitem(PERFORM, Persist, ends_for(("it must",)))

    assert "6 drivers in a row have ended without a checkpoint, because it must" in violated(lasting()).text


def test_crashes_do_not_hide_that_drivers_end_for_the_same_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PERFORM, Persist, ends_for(("it must", CRASH)))

    assert "6 drivers in a row have ended without a checkpoint, because it must" in violated(lasting()).text


def test_drivers_that_end_for_one_reason_and_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PERFORM, Persist, ends_for(("one", "another")))

    assert "40 drivers did not bring it to an end" in violated(lasting()).text


def test_drivers_that_crash_are_a_finding_only_if_they_never_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PERFORM, Persist, lambda driver, command: driver.world.crash(driver))

    assert "40 drivers did not bring it to an end" in violated(lasting()).text
