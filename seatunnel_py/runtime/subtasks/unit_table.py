"""The units of one pipeline that the engine has, and which subtask waits for each.

Rules. (1) Every unit that was handed in comes back once: with its result, or lost. (2) The work of a unit that no
subtask waits for is worth nothing, but is waited for; its pieces are dropped at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.runtime.messages.effects import AbandonUnit, CancelUnit, SubmitUnit
from seatunnel_py.runtime.messages.engine_port import UnitLost
from seatunnel_py.runtime.observe.events import FailurePlace
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.work.unit import FailureKind, SinkPiece, Unit, UnitFailure, UnitId, UnitResult

LOOK_AT_NETWORK = "look at the network and at the server; env.unit.stall-seconds sets the waiting time"


class UnitTable:
    """The units of one pipeline in the engine. ``strays``: pieces that no record will name; ``since``: when each unit
    was submitted, ``started``: when a worker began it; ``expired``: number of checkpoints that expired because of it;
    ``last_expired``: the cause of the last expired checkpoint."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._waiting: dict[UnitId, Subtask | None] = {}
        self.strays: list[SinkPiece] = []
        self.since: dict[UnitId, float] = {}
        self.started: dict[UnitId, float] = {}
        self.expired: Counter[UnitId] = Counter()
        self.last_expired = ""
        self._given_up: dict[UnitId, str] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, subtask: Subtask, unit: Unit) -> None:
        """Submit a unit to the engine for this subtask."""
        self._waiting[unit.id] = subtask
        self.since[unit.id] = self._state.at
        self._state.emit(SubmitUnit(unit))

    def cancel(self, unit: UnitId) -> None:
        """Cancel a unit, because no subtask waits for it any longer."""
        if unit in self._waiting:
            self._waiting[unit] = None
            self._state.emit(CancelUnit(unit))

    def begins(self, unit: UnitId) -> None:
        """Note that a worker runs the unit, or another one of its pack."""
        if unit in self._waiting:
            self.started[unit] = self._state.at

    def presume_lost(self, unit: UnitId, reason: str) -> None:
        """Let its worker end the unit; it counts as lost for this reason."""
        if unit in self._waiting and unit not in self._given_up:
            self._given_up[unit] = reason
            self._state.emit(AbandonUnit(unit))

    def finished(self, unit: UnitId) -> Subtask | None:
        """Note that a unit has ended. Return the subtask that waits for it, or None."""
        self._given_up.pop(unit, None)
        return self._forget(unit)

    def lost(self, event: UnitLost) -> tuple[Subtask | None, UnitFailure | None]:
        """Note that a unit is lost. Return the subtask that waits for it, and the failure; None: it was cancelled
        together with another unit of its pack."""
        given_up = self._given_up.pop(event.id, "")
        subtask = self._forget(event.id)
        if event.cancelled and not given_up:
            return subtask, None
        why = given_up or f"the worker of unit {event.id} was lost: {event.reason}"
        return subtask, UnitFailure(FailureKind.LOST, why, LOOK_AT_NETWORK if given_up else "")

    def _forget(self, unit: UnitId) -> Subtask | None:
        del self.since[unit]
        self.started.pop(unit, None)
        self.expired.pop(unit, None)
        return self._waiting.pop(unit)

    def kept_waiting(self, subtask: Subtask, unit: Unit | None, endpoints: Iterable[str]) -> str:
        """Describe the unit for which a checkpoint has waited until it expired. ``endpoints``: the sources and sinks of
        its chain, by name."""
        if unit is None:
            return f"{subtask} did not answer"
        self.expired[unit.id] += 1
        at = self._state.at
        seconds = at - self.since.get(unit.id, at)
        split = f" on split {unit.split.id}" if unit.split is not None else ""
        where = ", ".join(endpoints) or "its channels"
        return f"unit {unit.id} has been at work{split} for {seconds:.0f} s, over its connection to {where}"


def place_of(unit: Unit, good: int | None) -> FailurePlace:
    """The place of a unit for failure reports; the first execution of a vertex has number 1. ``good``: its pipeline's
    last checkpoint."""
    position = dict(unit.start.value) if unit.start is not None else {}
    split = unit.split.id if unit.split is not None else ""
    return FailurePlace(unit.id.vertex, unit.id.epoch + 1, split, position, good)


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """A letter: the result of a unit counts, now that the reports in it are heard."""

    result: UnitResult
