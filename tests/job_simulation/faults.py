"""What goes wrong in a run: each kind is switched on or off, and strikes by chance until the run is calm."""

from __future__ import annotations

import random
from collections import Counter

from seatunnel_py.errors import FatalError, RetriableError
from seatunnel_py.work.unit import FailureKind

CHANCES = {
    "driver dies": 0.003,
    "worker dies": 0.05,
    "pack is cancelled": 0.05,
    "slow worker": 0.1,
    "unit may pass": 0.08,
    "unit is refused": 0.02,
    "target is away": 0.05,
    "target refuses": 0.01,
    "store is away": 0.03,
    "snapshot dies": 0.05,
    "chain cannot travel": 0.02,
    "journal is another driver's": 0.5,
}


class Faults:
    """``struck``: how often each has."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.on = {name for name in CHANCES if chance.random() < 0.4}
        self.struck: Counter[str] = Counter()

    def strikes(self, name: str) -> bool:
        """Whether it does now."""
        if name not in self.on or self._chance.random() >= CHANCES[name]:
            return False
        self.struck[name] += 1
        return True

    def calm(self) -> None:
        """Nothing goes wrong any more."""
        self.on = set()

    def unit_fails(self) -> FailureKind | None:
        """How a unit ends that goes wrong."""
        if self.strikes("unit is refused"):
            return FailureKind.FATAL
        if self.strikes("unit may pass"):
            return self._chance.choice([FailureKind.RETRIABLE, FailureKind.UNEXPECTED, FailureKind.DEADLINE])
        return None

    def at_target(self) -> None:
        """A call to a target or a source."""
        if self.strikes("target is away"):
            raise RetriableError("it is away", "wait")
        if self.strikes("target refuses"):
            raise FatalError("it takes nothing", "mend it")
