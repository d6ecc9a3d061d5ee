"""The units of one pipeline that the engine has, and who waits for each.

Rules. (1) Every unit that was handed in comes back once: with its result, or lost. (2) What a unit of a past life still
does is waited for, and worth nothing; what it staged is dropped with the rest in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.runtime.driver.pipeline_port import DriverPort
from seatunnel_py.runtime.driver.ports import UnitLost
from seatunnel_py.runtime.observe.events import FailurePlace
from seatunnel_py.work.unit import FailureKind, SinkPiece, Unit, UnitFailure, UnitId, UnitResult

LOOK_AT_NETWORK = "look at the network and at the server; env.unit.stall-seconds says how long is waited"


class Waits(Protocol):
    """The subtask that a unit is for."""

    def finished(self, result: UnitResult) -> None:
        """The unit ended by itself."""

    def failed(self, failure: UnitFailure) -> None:
        """The unit failed."""

    def again(self) -> None:
        """The unit was cancelled for another one's sake."""


class InFlightUnits:
    """``strays`` are pieces of units that nobody waited for any longer; ``since``: when each was handed in,
    ``started``: when a worker took it up; ``expired``: how many checkpoints expired while it kept them waiting."""

    def __init__(self, world: DriverPort) -> None:
        self._world = world
        self._waiting: dict[UnitId, Waits | None] = {}
        self.strays: list[SinkPiece] = []
        self.since: dict[UnitId, float] = {}
        self.started: dict[UnitId, float] = {}
        self.expired: Counter[UnitId] = Counter()
        self.last_expired = ""  # what the last checkpoint that has expired waited for
        self._given_up: dict[UnitId, str] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, run: Waits, unit: Unit) -> None:
        self._waiting[unit.id] = run
        self.since[unit.id] = self._world.now()
        self._world.submit(unit)

    def cancel(self, unit: UnitId) -> None:
        """Nobody waits for it any longer."""
        if unit in self._waiting:
            self._waiting[unit] = None
            self._world.cancel(unit)

    def began(self, unit: UnitId) -> None:
        """A worker is at it, or at what shares its pack."""
        if unit in self._waiting:
            self.started[unit] = self._world.now()

    def give_up(self, unit: UnitId, reason: str) -> None:
        """It is taken for lost, and ends as such."""
        if unit in self._waiting and unit not in self._given_up:
            self._given_up[unit] = reason
            self._world.abandon(unit)

    def kept_waiting(self, subtask: Subtask, unit: Unit | None, endpoints: Iterable[str]) -> str:
        """A checkpoint has expired, which this subtask did not answer: its unit, for people. ``endpoints``: the sources
        and sinks of its chain, by name."""
        if unit is None:
            return f"{subtask} did not answer"
        self.expired[unit.id] += 1
        at = self._world.now()
        seconds = at - self.since.get(unit.id, at)
        split = f" on split {unit.split.id}" if unit.split is not None else ""
        where = ", ".join(endpoints) or "its channels"
        return f"unit {unit.id} has been at work{split} for {seconds:.0f} s, over its connection to {where}"

    def _forget(self, unit: UnitId) -> Waits | None:
        del self.since[unit]
        self.started.pop(unit, None)
        self.expired.pop(unit, None)
        return self._waiting.pop(unit)

    def finished(self, result: UnitResult) -> None:
        """The engine has ended a unit."""
        self._given_up.pop(result.id, None)
        run = self._forget(result.id)
        if run is not None:
            run.finished(result)
        else:
            self.strays += result.pieces

    def lost(self, event: UnitLost) -> None:
        """The unit has no result."""
        given_up = self._given_up.pop(event.id, "")
        run = self._forget(event.id)
        if run is not None and event.cancelled and not given_up:
            run.again()
        elif run is not None:
            why = given_up or f"the worker of unit {event.id} was lost: {event.reason}"
            run.failed(UnitFailure(FailureKind.LOST, why, LOOK_AT_NETWORK if given_up else ""))


def place_of(unit: Unit, good: int | None) -> FailurePlace:
    """Where a unit is at work; the first life of a vertex has number 1. ``good``: its pipeline's last checkpoint."""
    position = dict(unit.start.value) if unit.start is not None else {}
    split = unit.split.id if unit.split is not None else ""
    return FailurePlace(unit.id.vertex, unit.id.epoch + 1, split, position, good)
