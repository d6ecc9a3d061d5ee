"""What people and other machines do to a job from outside: stops, savepoints, a second driver, units taken for lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from seatunnel_py.runtime.messages.effects import CheckClaim
from seatunnel_py.runtime.messages.events import SavepointRequest, StopWithdrawn, UnitPresumedLost

if TYPE_CHECKING:
    from tests.simulation.choices import Stream
    from tests.simulation.process import Process
    from tests.simulation.world import World

EVERY_SECONDS = 1.5
WISHES_MAX = 4
WISHES = (
    "stop",
    "stop twice",
    "cancel",
    "second driver",
    "savepoint",
    "stop behind a savepoint",
    "unit presumed lost",
)


def stop(process: Process) -> None:
    """A first stop lets streams end behind a savepoint."""

    def stops() -> None:
        process.stopped_at = process.stopped_at or process.world.now
        process.job.stop_all(130, "it was stopped")

    process.later(0.0, stops)


class Wishes:
    """Of one world."""

    def __init__(self, world: World, chance: Stream) -> None:
        self._world = world
        self._chance = chance
        self._left = chance.between(0, WISHES_MAX)
        self._savepoints = 0
        self._kinds: dict[str, Callable[[Process], None]] = {
            "stop": stop,
            "stop twice": self._stop_twice,
            "cancel": self._cancel,
            "second driver": lambda _: world.start(),
            "savepoint": self._savepoint,
            "stop behind a savepoint": self._stop_behind,
            "unit presumed lost": self._presume,
        }
        assert tuple(sorted(self._kinds)) == tuple(sorted(WISHES)), "a wish without a counter"
        self._once = {"stop", "stop twice", "second driver", "cancel", "stop behind a savepoint"}

    def begin(self) -> None:
        """The first one comes soon."""
        self._world.later(self._chance.draw() * EVERY_SECONDS, self._wish)

    def saw(self, process: Process, effect: object) -> None:
        """What is rare, and matters: something else happens just when a pipeline is about to begin again."""
        if isinstance(effect, CheckClaim) and self._chance.chance(0.5) and self._once:
            wish = self._chance.pick(["stop", "second driver"])
            self._world.counters[wish] += 1
            self._world.later(0.0, self._kinds[wish], process)
            self._kinds = {name: one for name, one in self._kinds.items() if name not in self._once}
            self._once = set()

    def _wish(self) -> None:
        if not self._left:
            return
        self._left -= 1
        self._world.later(self._chance.draw() * EVERY_SECONDS, self._wish)
        process = self._world.processes[-1] if self._world.processes else None
        if process is None or not process.alive:
            return
        wish = self._chance.pick(list(self._kinds))
        self._world.counters[wish] += 1
        self._kinds[wish](process)
        if wish in self._once:
            self._kinds = {name: one for name, one in self._kinds.items() if name not in self._once}
            self._once = set()

    def _stop_twice(self, process: Process) -> None:
        stop(process)
        process.later(self._world.delay(0.2), process.job.stop_all, 130, "it was stopped")

    def _cancel(self, process: Process) -> None:
        line = self._chance.pick(list(process.job.pipelines.values()))
        if self._world.followed is not None and line.pipeline.log is not None:
            return  # before its first checkpoint it begins again from nothing, for which no table may be copied again
        process.later(0.0, lambda: process.job.cancel_all([line], "it was cancelled", whole=False))

    def _savepoint(self, process: Process) -> None:
        self._ask(process, stops=False)

    def _stop_behind(self, process: Process) -> None:
        """It may be given up before it is there."""
        self._ask(process, stops=True)
        if self._chance.chance(0.5):
            return

        def withdraw() -> None:
            for machine in list(process.job.pipelines.values()):
                process.job.turn(machine, StopWithdrawn())

        process.later(self._world.delay(1.0), withdraw)

    def _ask(self, process: Process, *, stops: bool) -> None:
        self._savepoints += 1
        name = f"sp{self._savepoints}"

        def asks() -> None:
            for machine in list(process.job.pipelines.values()):
                if machine.view is not None and machine.key not in process.job.closed:
                    process.job.turn(machine, SavepointRequest(name, stops))

        process.later(0.0, asks)

    def _presume(self, process: Process) -> None:
        """The connections of a unit show no sign of life."""

        def presumes() -> None:
            for machine in list(process.job.pipelines.values()):
                for unit in list(machine.units.since)[:1]:
                    process.job.turn(machine, UnitPresumedLost(unit, "it is silent"))

        process.later(0.0, presumes)
