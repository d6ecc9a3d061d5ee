"""What goes wrong in a run: each kind is switched on or off, and strikes by chance until the run is calm.

Each run switches some of them on (a swarm: runs in which everything happens hide what needs quiet), and there is an end
to them, so that every run can end well.
"""

from __future__ import annotations

from collections import Counter

from seatunnel_py.errors import FatalError, RetriableError
from seatunnel_py.work.unit import FailureKind, UnitId
from tests.simulation.choices import Choices

CHANCES = {
    "driver dies": 0.002,
    "driver dies at a failpoint": 0.02,
    "driver dies in an append": 0.02,
    "worker dies": 0.05,
    "pack is cancelled": 0.05,
    "slow worker": 0.06,
    "unit may pass": 0.08,
    "unit fails again and again": 0.04,
    "unit is refused": 0.02,
    "repeats other rows": 0.15,
    "target is away": 0.05,
    "target refuses": 0.01,
    "answer of a commit is lost": 0.1,
    "store is away": 0.03,
    "slow store": 0.05,
    "delete fails": 0.2,
    "store reads stale": 0.5,
    "record damaged": 0.5,
    "clock jumps": 0.002,
    "snapshot dies": 0.15,
    "chain cannot travel": 0.02,
    "journal is another driver's": 0.5,
    "answer of the store is lost": 0.1,
}
SHARES = (0.0, 0.15, 0.3, 0.3, 0.6)
"""Of the kinds that are switched on in a run."""


class Faults:
    """``struck``: how often each has; ``on``: those that may still strike."""

    def __init__(self, choices: Choices) -> None:
        switches = choices.switches
        share = switches.pick(SHARES)
        self._rates: dict[str, float] = {name: rate for name, rate in CHANCES.items() if switches.chance(share)}
        self._streams = {name: choices.stream(name) for name in CHANCES}
        self._kind = choices.outcome
        self._failing: set[tuple[str, int, int, int]] = set()
        self.struck: Counter[str] = Counter()

    @property
    def on(self) -> bool:
        """Whether anything may still go wrong."""
        return bool(self._rates)

    def strikes(self, name: str) -> bool:
        """Whether it does now."""
        rate = self._rates.get(name)
        if rate is None or not self._streams[name].chance(rate):
            return False
        self.struck[name] += 1
        return True

    def calm(self) -> None:
        """Nothing goes wrong any more."""
        self._rates = {}

    def unit_fails(self, unit: UnitId) -> FailureKind | None:
        """How a unit ends that goes wrong. One that fails again and again does so until its execution is over."""
        life = unit.vertex, unit.subtask, unit.sequence, unit.epoch
        if self.on and (life in self._failing or self.strikes("unit fails again and again")):
            self._failing.add(life)
            return FailureKind.RETRIABLE
        if self.strikes("unit is refused"):
            return FailureKind.FATAL
        if self.strikes("unit may pass"):
            return self._kind.pick((FailureKind.RETRIABLE, FailureKind.UNEXPECTED, FailureKind.DEADLINE))
        return None

    def at_target(self) -> None:
        """A call to a target or a source."""
        if self.strikes("target is away"):
            raise RetriableError("it is away", "wait")
        if self.strikes("target refuses"):
            raise FatalError("it takes nothing", "mend it")
