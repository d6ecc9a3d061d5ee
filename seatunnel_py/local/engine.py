"""Implements the engine port in this process: a thread per slot, no Spark. For tests, simulation and small tools."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence

from seatunnel_py.api.process.resources import close_all
from seatunnel_py.runtime.messages.engine_port import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.work.chain import Chain, ChainSource
from seatunnel_py.work.reader_cache import ReaderCache
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import Unit, UnitId

GRACE_SECONDS = 10.0
"""How long a cancelled unit may take to reach its budget. A unit cannot be interrupted, so one that still hangs then is
abandoned: its fence keeps it from writing anything that counts."""


class LocalEngine:
    """Runs units on threads that end with the process. A cancelled unit that has started runs to its budget, or is
    abandoned; another thread then takes its slot."""

    def __init__(self, slots: int | None = None) -> None:
        self._slots = slots or os.cpu_count() or 1
        self._chains: dict[str, Chain] = {}
        self._waiting: queue.SimpleQueue[Unit | None] = queue.SimpleQueue()
        self._lock = threading.Condition()
        self._cancelled: set[UnitId] = set()
        self._running: set[UnitId] = set()
        self._resident: dict[tuple[str, int], tuple[int, ReaderCache]] = {}
        self._queued = 0
        self._stopped = False
        self._report: Callable[[EngineEvent], None] = _unstarted

    @property
    def slots(self) -> int:
        return self._slots

    def start(self, report: Callable[[EngineEvent], None]) -> None:
        self._report = report
        for _ in range(self._slots):
            self._serve_on_a_thread()

    def register(self, chain: Chain) -> None:
        self._chains[chain.vertex] = chain

    def submit(self, unit: Unit) -> None:
        with self._lock:
            if not self._stopped:
                self._queued += 1
                self._waiting.put(unit)
                return
        self._report(UnitLost(unit.id, "the engine was stopped"))

    def cancel(self, unit: UnitId) -> None:
        with self._lock:
            self._cancelled.add(unit)
            running = unit in self._running
        if running:
            timer = threading.Timer(GRACE_SECONDS, self.abandon, args=(unit,))
            timer.daemon = True
            timer.start()

    def abandon(self, unit: UnitId) -> None:
        with self._lock:
            if unit not in self._running:
                return
            self._running.discard(unit)
            self._serve_on_a_thread()
            self._lock.notify_all()
        self._report(UnitLost(unit, "its thread does not come back"))

    def ails(self) -> Sequence[str]:
        return ()

    def stop(self) -> None:
        """Stop all threads; queued units that have not started are reported as lost."""
        deadline = time.monotonic() + GRACE_SECONDS
        with self._lock:
            self._stopped = True
            self._lock.wait_for(lambda: not self._queued and not self._running, GRACE_SECONDS)
            left = tuple(self._running)
        for unit in left:
            self.abandon(unit)
        with self._lock:
            self._lock.wait_for(lambda: not self._queued, max(0.1, deadline - time.monotonic()))
        self._waiting.put(None)
        for _, readers in self._resident.values():
            readers.close()
        close_all()

    # ------------------------------------------------------------- a thread

    def _readers(self, unit: Unit) -> ReaderCache | None:
        """The open readers of a resident source's subtask; those of an earlier execution are closed."""
        if not _is_resident(self._chains[unit.id.vertex]):
            return None
        with self._lock:
            who = unit.id.vertex, unit.id.subtask
            epoch, readers = self._resident.get(who, (-1, None))
            if readers is None or epoch != unit.id.epoch:
                if readers is not None:
                    readers.close()
                readers = ReaderCache()
                self._resident[who] = unit.id.epoch, readers
            return readers

    def _serve_on_a_thread(self) -> None:
        threading.Thread(target=self._serve, name="unit", daemon=True).start()

    def _serve(self) -> None:
        while (unit := self._waiting.get()) is not None:
            with self._lock:
                why = "cancelled before it started" if unit.id in self._cancelled else ""
                why = why or ("the engine was stopped" if self._stopped else "")
                if not why:
                    self._running.add(unit.id)
                self._queued -= 1
                self._lock.notify_all()
            if why:
                self._report(UnitLost(unit.id, why))
                continue
            self._report(UnitStarted(unit.id))
            result = run_unit(unit, self._chains[unit.id.vertex], self._readers(unit))
            with self._lock:
                if unit.id not in self._running:
                    return  # abandoned meanwhile, and another thread has its slot
            self._report(UnitFinished(result))
            with self._lock:
                self._running.discard(unit.id)
                self._lock.notify_all()
        self._waiting.put(None)  # for the next unit


def _is_resident(chain: Chain) -> bool:
    return isinstance(chain.head, ChainSource) and chain.head.resident


def _unstarted(event: EngineEvent) -> None:
    raise AssertionError(f"the engine reports before it was started: {event}")
