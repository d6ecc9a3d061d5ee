"""What pipelines ask of the engine: units, and their ends."""

from __future__ import annotations

from abc import ABC, abstractmethod

from seatunnel_py.runtime.driver.ports import Engine
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.unit import Unit, UnitId


class EngineCalls(ABC):
    """The part of the driver's ``DriverPort`` that is the engine's. ``first_unit_at``: when the first unit was handed
    in."""

    engine: Engine
    first_unit_at: float | None = None

    @abstractmethod
    def now(self) -> float:
        """The driver's clock."""

    def register(self, chain: Chain) -> None:
        self.engine.register(chain)

    def submit(self, unit: Unit) -> None:
        if self.first_unit_at is None:
            self.first_unit_at = self.now()
        self.engine.submit(unit)

    def cancel(self, unit: UnitId) -> None:
        self.engine.cancel(unit)

    def abandon(self, unit: UnitId) -> None:
        self.engine.abandon(unit)
