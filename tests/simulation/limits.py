"""A run's own limits. Whatever goes on without handling events, or for ever, is a finding: nobody else would see it.

Not an invariant of its own: what ends here may be I12, I13, I26 or a pipeline that never can go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.driver import Driver
    from tests.simulation.violation import Violation
    from tests.simulation.world import World

CALM_AFTER_EVENTS = 2500
CALM_AFTER_SECONDS = 30.0
"""From here on nothing fails any more, so that every run can end."""
EVENTS = 30_000
SECONDS = 200.0
"""Of virtual time. The longest runs of 40,000 seeds take a third of it."""
IDLE_STEPS = 5_000
"""Steps in a row in which no machine hears anything."""
DRIVERS = 40
"""Also of those that crashed; faults strike far less often."""
CALM_AFTER_ENDS, SAME_ENDS = 4, 6
"""Ends in a row that the pipeline gave one reason for, while no checkpoint completed. Behind the first of the two nothing
fails any more, since faults may strike in a row by chance; behind the second the next will have it as well."""


class Limits:
    """Looks at a run between two steps, and at each end of a driver."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.events = self.idle = self.drivers = 0
        self.ends: list[tuple[str, int]] = []

    def step(self) -> None:
        """One more step is about to be made."""
        world = self.world
        self.idle = 0 if world.events > self.events else self.idle + 1
        self.events = world.events
        if self.idle > IDLE_STEPS:
            raise self.violation(f"{IDLE_STEPS} steps, and no machine has heard anything")
        if world.events > EVENTS:
            raise self.violation(f"no end after {EVENTS} events")
        if world.now > SECONDS:
            raise self.violation(f"no end after {SECONDS:.0f} s")

    @property
    def calm(self) -> bool:
        world = self.world
        return self.same(CALM_AFTER_ENDS) or world.events > CALM_AFTER_EVENTS or world.now > CALM_AFTER_SECONDS

    def same(self, ends: int) -> bool:
        """Whether so many drivers in a row came to the same end."""
        return len(self.ends) >= ends and len(set(self.ends[-ends:])) == 1

    def driver_crashed(self) -> None:
        """A driver is gone, and another one will start."""
        self.drivers += 1
        if self.drivers >= DRIVERS:
            raise self.violation(f"{DRIVERS} drivers did not bring it to an end")

    def driver_ended(self, why: str) -> None:
        """As after a crash, but the pipeline itself says why: crashes are injected, and say nothing about it."""
        self.driver_crashed()
        self.ends.append((why, len(self.world.observer.completed)))
        if self.same(SAME_ENDS):
            raise self.violation(f"{SAME_ENDS} drivers in a row have ended without a checkpoint, because {why}")

    def violation(self, why: str) -> Violation:
        driver = self.world.newest
        return self.world.violation("EveryRunEnds", f"{why}; {driver.name}; {'; '.join(self.where(driver))}")

    def where(self, driver: Driver) -> list[str]:
        """Who is in which state: what to look at first."""
        return [
            f"{node.name}: epoch {node.epoch}{' dead' if node.dead else ''}{' held' if node.held else ''} "
            f"{getattr(node.machine, 'life', '')}"
            for node in driver.nodes.values()
        ]
