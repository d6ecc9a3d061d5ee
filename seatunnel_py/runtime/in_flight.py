"""The units of one pipeline that the engine has, and who waits for each.

Rules. (1) Every unit that was handed in comes back once: with its result, or lost. (2) What a unit of a past life still
does is waited for, and worth nothing; what it staged is dropped with the rest in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.runtime.world import World
from seatunnel_py.work.unit import FailureKind, SinkPiece, Unit, UnitFailure, UnitId, UnitResult

if TYPE_CHECKING:
    from seatunnel_py.runtime.subtask_run import SubtaskRun


class InFlight:
    """``strays`` are pieces of units that nobody waited for any longer."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting: dict[UnitId, SubtaskRun | None] = {}
        self.strays: list[SinkPiece] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, run: SubtaskRun, unit: Unit) -> None:
        self._waiting[unit.id] = run
        self._world.submit(unit)

    def cancel(self, unit: UnitId) -> None:
        """Nobody waits for it any longer."""
        if unit in self._waiting:
            self._waiting[unit] = None
            self._world.cancel(unit)

    def finished(self, result: UnitResult) -> None:
        """The engine has ended a unit."""
        run = self._waiting.pop(result.id)
        if run is not None:
            run.finished(result)
        else:
            self.strays += result.pieces

    def lost(self, unit: UnitId, reason: str) -> None:
        """The unit's worker died without a word."""
        run = self._waiting.pop(unit)
        if run is not None:
            run.failed(UnitFailure(FailureKind.LOST, f"the worker of unit {unit} was lost: {reason}"))
