"""Workers in virtual time: units end in any order, well or not; those of a driver that has died end without effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from seatunnel_py.errors import GenerationLostError
from seatunnel_py.runtime.messages.engine_port import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.work.chain import Chain, ChainSource
from seatunnel_py.work.unit import FailureKind, Unit, UnitFailure, UnitId, UnitResult
from tests.simulation.followed.workers import FollowedWorkers
from tests.simulation.jobs.rows import Workers
from tests.simulation.jobs.sources import SimulatedSource, source_of
from tests.simulation.jobs.versions import VERSION
from tests.simulation.process import Process


class SimulatedEngine:
    """Workers: units end in any order, well or not; one that is cancelled may still end well."""

    slots = 4

    def __init__(self, process: Process) -> None:
        self._process = process
        world = process.world
        self._workers: Workers | FollowedWorkers = (
            Workers(process.jobs, world.exchange, world.gone)
            if world.followed is None
            else FollowedWorkers(world.followed.database, world.exchange)
        )
        self.under_way: dict[UnitId, Unit] = {}
        self._registered: set[str] = set()
        self._versions: dict[str, int] = {}

    def start(self, report: Callable[[EngineEvent], None]) -> None:
        self._report = report

    def register(self, chain: Chain) -> None:
        if self._process.world.faults.strikes("chain cannot travel"):
            raise TypeError(f"{chain.vertex} cannot be pickled")
        self._registered.add(chain.vertex)
        if isinstance(self._workers, FollowedWorkers):
            self._workers.vertices[chain.vertex] = self._process.planned(chain.vertex)
        elif isinstance(chain.head, ChainSource) and chain.head.log_tables:
            self._versions[chain.vertex] = int(str(chain.head.log_tables[0].log_hints[VERSION]))

    def submit(self, unit: Unit) -> None:
        assert unit.id.vertex in self._registered, f"{unit.id} before its chain"
        same = [one for one in self.under_way if (one.vertex, one.subtask) == (unit.id.vertex, unit.id.subtask)]
        assert not [one for one in same if one.epoch == unit.id.epoch], f"{unit.id} beside {same}"
        self.under_way[unit.id] = unit
        world = self._process.world
        if world.followed is not None and unit.confirmed is not None:
            world.followed.confirms(unit.confirmed, self._process.job._owner[unit.id.vertex])
        self._process.later(world.delay(0.02), self._report, UnitStarted(unit.id))
        slow = world.faults.strikes("slow worker")
        self._process.later(world.delay(3.0 if slow else 0.1), self._end, unit)

    def cancel(self, unit: UnitId) -> None:
        """It ends when it ends: a worker that is told to stop may write on (F11)."""

    def abandon(self, unit: UnitId) -> None:
        self.cancel(unit)

    def ails(self) -> Sequence[str]:
        return ()

    def stop(self) -> None:
        assert not self.under_way, f"the engine is stopped, and {list(self.under_way)} are under way"

    def _end(self, unit: Unit) -> None:
        del self.under_way[unit.id]
        process, world = self._process, self._process.world
        faults, source = world.faults, self._workers.vertices[unit.id.vertex].source
        lies = (
            self._workers.may_lie(unit.id.vertex) and process.repeats(unit.id) and faults.strikes("repeats other rows")
        )
        world.lied |= lies
        version = self._versions.get(unit.id.vertex, 0)
        result = self._workers.run(unit, process.incarnation, world.salt, lies=lies, version=version)
        world.logged.makers |= dict.fromkeys((one.segment for one in result.slices), unit.id)
        gone = False
        if world.followed is not None:
            if source is not None and source.part.is_log and process.waits_for(unit.id):
                world.followed.asked(unit)
        elif source is not None and unit.split is not None:
            toy = source_of(source)
            gone = self._is_gone(toy, unit.split.generation)
            result = replace(result, events=toy.reports(unit, done=result.done))
            if process.waits_for(unit.id):
                toy.asked(unit)
        if gone:
            self._report(UnitFinished(snapshot_lost(result)))
        elif faults.strikes("worker dies"):
            self._report(UnitLost(unit.id, "killed"))
        elif faults.strikes("pack is cancelled"):
            self._report(UnitLost(unit.id, "cancelled", cancelled=True))
        elif (kind := faults.unit_fails(unit.id)) is not None:
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
