"""The units of one pipeline that the engine has, and who waits for each.

Rules. (1) Every unit that was handed in comes back once: with its result, or lost. (2) What a unit of a past life still
does is waited for, and worth nothing; what it staged is dropped with the rest in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.runtime.events import Place
from seatunnel_py.runtime.world import World
from seatunnel_py.work.unit import FailureKind, SinkPiece, Unit, UnitFailure, UnitId, UnitResult

if TYPE_CHECKING:
    from seatunnel_py.runtime.subtask_run import SubtaskRun


class InFlight:
    """``strays`` are pieces of units that nobody waited for any longer; ``since``: when each was handed in."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting: dict[UnitId, SubtaskRun | None] = {}
        self.strays: list[SinkPiece] = []
        self.since: dict[UnitId, float] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, run: SubtaskRun, unit: Unit) -> None:
        self._waiting[unit.id] = run
        self.since[unit.id] = self._world.now()
        self._world.submit(unit)

    def cancel(self, unit: UnitId) -> None:
        """Nobody waits for it any longer."""
        if unit in self._waiting:
            self._waiting[unit] = None
            self._world.cancel(unit)

    def finished(self, result: UnitResult) -> None:
        """The engine has ended a unit."""
        run = self._waiting.pop(result.id)
        del self.since[result.id]
        if run is not None:
            run.finished(result)
        else:
            self.strays += result.pieces

    def lost(self, unit: UnitId, reason: str) -> None:
        """The unit's worker died without a word."""
        run = self._waiting.pop(unit)
        del self.since[unit]
        if run is not None:
            run.failed(UnitFailure(FailureKind.LOST, f"the worker of unit {unit} was lost: {reason}"))


def place_of(unit: Unit, good: int | None) -> Place:
    """Where a unit is at work; the first life of a vertex has number 1. ``good``: its pipeline's last checkpoint."""
    position = dict(unit.start.value) if unit.start is not None else {}
    split = unit.split.id if unit.split is not None else ""
    return Place(unit.id.vertex, unit.id.epoch + 1, split, position, good)
