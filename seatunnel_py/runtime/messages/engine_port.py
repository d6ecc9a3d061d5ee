"""The ports of the driver's loop: what it needs of the world, as protocols. Packs are invisible above ``Engine``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from seatunnel_py.work.chain import Chain
from seatunnel_py.work.unit import Unit, UnitId, UnitResult


@dataclass(frozen=True, slots=True)
class UnitStarted:
    """A worker took the unit up. Informative: it may come late or not at all."""

    id: UnitId


@dataclass(frozen=True, slots=True)
class UnitFinished:
    """The unit ended with a result, which may be a failure."""

    result: UnitResult


@dataclass(frozen=True, slots=True)
class UnitLost:
    """The worker died without a result for this unit: whether its effects reached the target is unknown. ``cancelled``:
    nothing was wrong with it, but its pack was cancelled for another unit's sake."""

    id: UnitId
    reason: str
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class EngineLost:
    """The engine itself is gone: no unit will end any more, and none can be begun."""

    reason: str


EngineEvent: TypeAlias = UnitStarted | UnitFinished | UnitLost | EngineLost


class Engine(Protocol):
    """Runs units somewhere. Every submitted unit ends in exactly one UnitFinished or UnitLost event, or the engine is
    lost.

    ``start`` gets the function that events are reported to; it is called from the engine's own threads.
    A unit must not be submitted before its vertex's chain was registered.
    """

    @property
    def slots(self) -> int:
        """How many units can run at the same time."""

    def start(self, report: Callable[[EngineEvent], None]) -> None: ...

    def register(self, chain: Chain) -> None:
        """(Re)place the chain of a vertex; units submitted from now on use it."""

    def submit(self, unit: Unit) -> None: ...

    def cancel(self, unit: UnitId) -> None:
        """Ask for an early end; the unit still ends in an event."""

    def abandon(self, unit: UnitId) -> None:
        """End a unit that is presumed lost, if its worker runs it. An abandoned unit still ends in an event."""

    def ails(self) -> Sequence[str]:
        """Describe faults that keep all units from running. May take a moment; from any thread."""

    def stop(self) -> None:
        """End all work and give back what the engine holds. Idempotent."""


class Clock(Protocol):
    """Time as the loop sees it: seconds since an arbitrary start."""

    def now(self) -> float: ...
