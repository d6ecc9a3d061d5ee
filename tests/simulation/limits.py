"""A run's own limits: one that goes on for ever, or in which nothing happens any more, is a finding.

Not an invariant of its own: what ends here may be I12, I13, I26 or a pipeline that never can go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.violation import JobViolationError

if TYPE_CHECKING:
    from tests.simulation.world import World

CALM_AFTER_SECONDS = 15.0
CALM_AFTER_EFFECTS = 3000
"""From here on nothing fails any more, so that every run can end."""
SECONDS_MAX = 400.0
"""Of virtual time."""
STEPS_IDLE_MAX = 20_000
"""In a row in which no machine asks for anything."""
LETTERS_MAX = 20_000
"""In one step, which no event needs: its pipeline would handle letters for ever."""
DRIVERS_MAX = 30
"""Also of those that died; behind half of them nothing fails any more."""
SAME_ENDS_MAX = 8
"""Ends in a row without a checkpoint, when nothing fails any more."""


class Limits:
    """Looks at a run between two steps, and at each end of a driver."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._effects = self._idle = self._letters = 0
        self._ends = 0
        self._completed = 0

    def step(self, left: int) -> None:
        """One more step is about to be made; so many are waiting."""
        world = self._world
        if not left:
            raise self._violation("nothing is left to happen")
        self._idle = 0 if world.effects > self._effects else self._idle + 1
        self._effects = world.effects
        if self._idle > STEPS_IDLE_MAX:
            raise self._violation(f"{STEPS_IDLE_MAX} steps, and no machine has asked for anything")
        if world.now > SECONDS_MAX:
            raise self._violation(f"no end after {SECONDS_MAX:.0f} s")

    def begin_step(self) -> None:
        """Count the letters of a step anew."""
        self._letters = 0

    def letter(self) -> None:
        """Count a letter that this step has led to."""
        self._letters += 1
        if self._letters > LETTERS_MAX:
            raise self._violation(f"{LETTERS_MAX} letters in one step")

    @property
    def calm(self) -> bool:
        """Whether nothing may fail any more."""
        world = self._world
        if len(world.processes) > DRIVERS_MAX // 2:
            return True
        return world.now > CALM_AFTER_SECONDS or world.effects > CALM_AFTER_EFFECTS

    def driver_starts(self) -> None:
        """Another one."""
        if len(self._world.processes) >= DRIVERS_MAX:
            raise self._violation(f"{DRIVERS_MAX} drivers did not bring it to an end")

    def driver_ended(self) -> None:
        """By itself, and not all has arrived."""
        completed = sum(len(line.completed) for line in self._world.lines.values())
        same = completed == self._completed and not self._world.faults.on
        self._completed = completed
        self._ends = self._ends + 1 if same else 0
        if self._ends >= SAME_ENDS_MAX:
            raise self._violation(f"{SAME_ENDS_MAX} drivers in a row have ended without a checkpoint")

    def _violation(self, why: str) -> JobViolationError:
        return JobViolationError("EveryRunEnds", f"{why}; {self._world.where()}")
