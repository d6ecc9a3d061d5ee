"""Groups submitted units into packs. Pure.

Rules. (1) Units leave in the order in which they came. (2) A pack holds about ``PACK_SECONDS_MAX`` of estimated work: a
big unit travels alone, small ones share the 50 to 120 ms that a Spark job costs. (3) Waiting units are shared out: the
fewer are left, the smaller the packs, so that the slots end together although estimates are wrong. (4) A unit whose
process died under it, or that missed its deadline, runs alone from then on: if it kills again, it takes no other unit
along.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from seatunnel_py.work.unit import Unit, UnitId

PACK_SECONDS_MAX = 1.0
PACK_SECONDS_MIN = 0.25  # a Spark job costs a third of it (two cores): smaller packs only pay it more often
UNITS_PER_PACK_MAX = 200  # bounds the closure of a pack, and the work that a lost worker can take with it


class PackQueue:
    """Units that wait for a pack. ``servers`` is the number of packs that may run at once."""

    def __init__(self, servers: int) -> None:
        self._servers = servers
        self._waiting: OrderedDict[UnitId, Unit] = OrderedDict()
        self._suspects: set[UnitId] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, unit: Unit) -> None:
        self._waiting[unit.id] = unit

    def remove(self, unit: UnitId) -> bool:
        """Remove a waiting unit; return False if it is not waiting."""
        return self._waiting.pop(unit, None) is not None

    def suspect(self, unit: UnitId) -> None:
        """The unit was running when its process died: its next attempts run alone."""
        self._suspects.add(_rows_of(unit))

    def take(self) -> tuple[Unit, ...]:
        """The next pack; empty if no unit waits."""
        limit = max(PACK_SECONDS_MIN, min(PACK_SECONDS_MAX, self._seconds() / self._servers))
        pack: list[Unit] = []
        seconds = 0.0
        while self._waiting and len(pack) < UNITS_PER_PACK_MAX:
            unit = next(iter(self._waiting.values()))
            seconds += unit.cost_seconds
            suspected = _rows_of(unit.id) in self._suspects
            if pack and (seconds > limit or suspected):
                break
            pack.append(unit)
            del self._waiting[unit.id]
            if suspected:
                break
        return tuple(pack)

    def clear(self) -> tuple[Unit, ...]:
        """Remove all waiting units."""
        units = tuple(self._waiting.values())
        self._waiting.clear()
        return units

    def _seconds(self) -> float:
        """Estimated waiting work, up to a limit: with more units the pack has its full size anyway."""
        seconds = 0.0
        for unit in self._waiting.values():
            seconds += unit.cost_seconds
            if seconds >= PACK_SECONDS_MAX * self._servers:
                break
        return seconds


def _rows_of(unit: UnitId) -> UnitId:
    """All attempts at the same rows."""
    return replace(unit, attempt=0)
