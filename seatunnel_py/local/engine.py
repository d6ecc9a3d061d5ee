"""The engine port in this process: a thread per slot, no Spark. For tests, simulation and small tools."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from seatunnel_py.api.resources import close_all
from seatunnel_py.runtime.ports import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import Unit, UnitId


class LocalEngine:
    """Runs units on threads. A cancelled unit that has started runs to its budget; it cannot be interrupted."""

    def __init__(self, slots: int | None = None) -> None:
        self._slots = slots or os.cpu_count() or 1
        self._chains: dict[str, Chain] = {}
        self._cancelled: set[UnitId] = set()
        self._stopped = False
        self._threads = ThreadPoolExecutor(self._slots, thread_name_prefix="unit")
        self._report: Callable[[EngineEvent], None] = _unstarted

    @property
    def slots(self) -> int:
        return self._slots

    def start(self, report: Callable[[EngineEvent], None]) -> None:
        self._report = report

    def register(self, chain: Chain) -> None:
        self._chains[chain.vertex] = chain

    def submit(self, unit: Unit) -> None:
        if self._stopped:
            self._report(UnitLost(unit.id, "the engine was stopped"))
        else:
            self._threads.submit(self._run, unit, self._chains[unit.id.vertex])

    def cancel(self, unit: UnitId) -> None:
        self._cancelled.add(unit)

    def ails(self) -> Sequence[str]:
        return ()

    def stop(self) -> None:
        self._stopped = True
        self._threads.shutdown(wait=True)  # what has not begun only learns that it will not
        close_all()

    def _run(self, unit: Unit, chain: Chain) -> None:
        if self._stopped or unit.id in self._cancelled:
            why = "cancelled before it started" if unit.id in self._cancelled else "the engine was stopped"
            self._report(UnitLost(unit.id, why))
            return
        self._report(UnitStarted(unit.id))
        self._report(UnitFinished(run_unit(unit, chain)))


def _unstarted(event: EngineEvent) -> None:
    raise AssertionError(f"the engine reports before it was started: {event}")
