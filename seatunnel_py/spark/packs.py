"""How submitted units are put into packs. Pure.

Rules. (1) Units leave in the order in which they came. (2) A pack holds about ``PACK_SECONDS`` of estimated work, so
that a big unit travels alone and small ones share the 50 to 120 ms that a Spark job costs. (3) The work that waits
is shared out over the slots: a pack is never filled while another slot would stand idle. (4) A unit whose process
died, or that missed its deadline, runs alone from then on: if it kills again, it kills nobody else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from seatunnel_py.work.unit import Unit, UnitId

PACK_SECONDS = 1.0
UNITS_PER_PACK_MAX = 200  # bounds the closure of a pack, and what a lost worker can take with it


class PackQueue:
    """Units that wait for a pack."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._waiting: deque[Unit] = deque()
        self._cost = 0.0

    def put(self, unit: Unit) -> None:
        self._waiting.append(unit)
        self._cost += unit.cost_seconds

    def __len__(self) -> int:
        return len(self._waiting)

    def remove(self, unit_id: UnitId) -> bool:
        """Take a waiting unit out; False when it is not waiting."""
        for unit in self._waiting:
            if unit.id == unit_id:
                self._waiting.remove(unit)
                self._cost -= unit.cost_seconds
                return True
        return False

    def take(self) -> tuple[Unit, ...]:
        """The next pack; empty when nothing waits."""
        if not self._waiting:
            return ()
        target = min(PACK_SECONDS, self._cost / self._slots)
        pack: list[Unit] = []
        cost = 0.0
        while self._waiting and len(pack) < UNITS_PER_PACK_MAX:
            unit = self._waiting[0]
            if pack and (cost + unit.cost_seconds > target or alone(unit) or alone(pack[0])):
                break
            pack.append(self._waiting.popleft())
            cost += unit.cost_seconds
        self._cost = max(0.0, self._cost - cost)
        return tuple(pack)


def alone(unit: Unit) -> bool:
    """Whether a unit may not share a pack. A later attempt follows a failure of which the unit may be the cause."""
    return unit.id.attempt > 0


def share_chains(pack: Iterable[Unit]) -> set[str]:
    """The vertices whose chains a pack needs."""
    return {unit.id.vertex for unit in pack}
