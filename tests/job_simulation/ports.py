"""Simulated ports of a driver: a storage in memory, threads and workers that end at virtual times.

Rules. (1) All of it is driven by the world's heap: nothing runs beside anything else. (2) When a driver dies, each task
that was under way has happened or not, and its answer is lost; units go on as zombies whose answers are lost. (3) The
storage outlives all drivers. An append that a driver dies in may leave a part of its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import GenerationLostError, RetriableError
from seatunnel_py.runtime.driver.executors import Executors
from seatunnel_py.runtime.messages.engine_port import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.runtime.targets.sink_operations import as_failure
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.unit import FailureKind, Unit, UnitFailure, UnitId, UnitResult
from tests.job_simulation.process import Died, Process
from tests.job_simulation.sources import SimulatedSource, source_of
from tests.kit.toy_jobs import work


class MemoryStorage(Storage):
    """Bytes by name. ``fault`` may raise RetriableError before an operation changes anything."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.fault: Callable[[str], None] = lambda name: None

    def create(self, name: str, data: bytes) -> bool:
        self.fault(name)
        if name in self.held:
            return False
        self.held[name] = data
        return True

    def append(self, name: str, data: bytes) -> None:
        self.fault(name)
        self.held[name] = self.held.get(name, b"") + data

    def get(self, name: str) -> bytes | None:
        return self.held.get(name)

    def names(self, folder: str) -> Sequence[str]:
        return sorted(name.removeprefix(f"{folder}/") for name in self.held if name.startswith(f"{folder}/"))

    def delete(self, name: str) -> None:
        self.held.pop(name, None)


class JournalStorage(MemoryStorage):
    """The same place as one process sees it: the journal of a driver that was overtaken may be gone."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self.held = process.world.storage.held
        self.fault = process.world.storage.fault

    def append(self, name: str, data: bytes) -> None:
        world = self._process.world
        if not world.newest(self._process) and world.faults.strikes("journal is another driver's"):
            raise RetriableError(f"{name} is gone", "it is another driver's")
        super().append(name, data)


class SimulatedExecutors(Executors):
    """The threads of one process, in virtual time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._writing_until = 0.0

    def aside(self, task: Callable[[], Any], then: Callable[[Any], None], failed: Callable[[Any], None]) -> None:
        self._process.later(self._process.world.delay(0.2), self._side, task, then, failed)

    def _side(self, task: Callable[[], Any], then: Callable[[Any], None], failed: Callable[[Any], None]) -> None:
        world = self._process.world
        try:
            value = task()
        except Died:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises ends its table
            self._process.later(world.delay(0.02), failed, as_failure(error))
        else:
            self._process.later(world.delay(0.02), then, value)

    def of_engine(self, task: Callable[[], None]) -> None:
        self._process.later(self._process.world.delay(0.05), task)

    def write(self, task: Callable[[], Any], then: Callable[[BaseException | None], None]) -> None:
        """One after the other."""
        now = self._process.world.now
        begins = max(now, self._writing_until)
        self._writing_until = begins + self._process.world.delay(0.05)
        self._process.later(self._writing_until - now, self._write, task, then)

    def _write(self, task: Callable[[], Any], then: Callable[[BaseException | None], None]) -> None:
        error: BaseException | None = None
        try:
            task()
        except Died:
            raise
        except Exception as caught:  # noqa: BLE001 - the protocol decides what follows
            error = caught
        self._process.later(0.0, then, error)


class SimulatedEngine:
    """Workers: units end in any order, well or not; one that is cancelled may still end well."""

    slots = 4

    def __init__(self, process: Process) -> None:
        self._process = process
        self.vertices = {vertex.id: vertex for line in process.pipelines for vertex in line.vertices}
        self.under_way: dict[UnitId, Unit] = {}
        self._registered: set[str] = set()

    def start(self, report: Callable[[EngineEvent], None]) -> None:
        self._report = report

    def register(self, chain: Chain) -> None:
        if self._process.world.faults.strikes("chain cannot travel"):
            raise TypeError(f"{chain.vertex} cannot be pickled")
        self._registered.add(chain.vertex)

    def submit(self, unit: Unit) -> None:
        assert unit.id.vertex in self._registered, f"{unit.id} before its chain"
        same = [one for one in self.under_way if (one.vertex, one.subtask) == (unit.id.vertex, unit.id.subtask)]
        assert not [one for one in same if one.epoch == unit.id.epoch], f"{unit.id} beside {same}"
        self.under_way[unit.id] = unit
        world = self._process.world
        self._process.later(world.delay(0.02), self._report, UnitStarted(unit.id))
        slow = world.faults.strikes("slow worker")
        self._process.later(world.delay(3.0 if slow else 0.1), self._end, unit)

    def cancel(self, unit: UnitId) -> None:
        """It ends when it ends."""

    def abandon(self, unit: UnitId) -> None:
        self.cancel(unit)

    def ails(self) -> Sequence[str]:
        return ()

    def stop(self) -> None:
        assert not self.under_way, f"the engine is stopped, and {list(self.under_way)} are under way"

    def _end(self, unit: Unit) -> None:
        del self.under_way[unit.id]
        world = self._process.world
        faults, source = world.faults, self.vertices[unit.id.vertex].source
        result = work(self.vertices, world.exchange, unit, f"{self._process.incarnation}.")
        world.logged.makers |= dict.fromkeys((one.segment for one in result.slices), unit.id)
        gone = False
        if source is not None and unit.split is not None:
            toy = source_of(source)
            gone = self._is_gone(toy, unit.split.generation)
            result = replace(result, events=toy.reports(unit))
            if self._process.waits_for(unit.id):
                toy.asked(unit)
        if gone:
            self._report(UnitFinished(snapshot_lost(result)))
        elif faults.strikes("worker dies"):
            self._report(UnitLost(unit.id, "killed"))
        elif faults.strikes("pack is cancelled"):
            self._report(UnitLost(unit.id, "cancelled", cancelled=True))
        elif (kind := faults.unit_fails()) is not None:
            self._report(UnitFinished(failed(result, kind)))
        else:
            self._report(UnitFinished(result))

    def _is_gone(self, source: SimulatedSource, generation: str) -> bool:
        if generation and self._process.world.faults.strikes("snapshot dies"):
            source.dead.add(generation)
        return generation in source.dead


def snapshot_lost(result: UnitResult) -> UnitResult:
    """The generation of its split is gone."""
    kind = f"{GenerationLostError.__module__}.{GenerationLostError.__qualname__}"
    failure = UnitFailure(FailureKind.FATAL, "the snapshot is gone", error_type=kind)
    return UnitResult(result.id, done=False, pieces=result.pieces[:1], failure=failure)


def failed(result: UnitResult, kind: FailureKind) -> UnitResult:
    """The unit went wrong behind its first piece."""
    failure = UnitFailure(kind, f"{result.id} went wrong")
    return UnitResult(result.id, done=False, pieces=result.pieces[:1], failure=failure)


def store_fault(strikes: Callable[[str], bool]) -> Callable[[str], None]:
    """A storage that is away now and then."""

    def fault(name: str) -> None:
        if strikes("store is away"):
            raise RetriableError(f"{name} cannot be written", "wait")

    return fault
