"""One driver process: the shipping job over simulated ports, from its claim to its end or its death."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.process.failpoints import Failpoint
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.plan.altered_log import no_plan
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.runtime.diagnosis.table_receipts import receipts_of
from seatunnel_py.runtime.driver.job_runner import JobRunner
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.resume.begun_logs import as_begun
from seatunnel_py.runtime.resume.table_refresh import TableRefreshes
from seatunnel_py.runtime.state.phases import PipelinePhase
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.unit import UnitId
from tests.simulation.jobs.logs import plan_again
from tests.simulation.machine.watch import MachineWatch
from tests.simulation.violation import expect

if TYPE_CHECKING:
    from tests.simulation.world import World


STOP_SECONDS = 60.0
"""A stop is obeyed within, once nothing goes wrong any more."""


class Died(BaseException):
    """The process is gone in the middle of something."""


class WatchedJob(JobRunner):
    """The shipping job, whose machines are watched."""

    def __init__(self, process: Process, *arguments: Any) -> None:
        self._process = process
        super().__init__(*arguments)

    def _take(self, *arguments: Any, **more: Any) -> PipelineMachine:
        machine = super()._take(*arguments, **more)
        self._process.watches[machine] = MachineWatch(self._process, machine)
        return machine


class Process:
    """``states``: what people were told of each pipeline, in order; ``receipts``: at its end; ``stopped_at``: when a
    person has wished for its end."""

    def __init__(self, world: World) -> None:
        from tests.simulation.ports.engine import SimulatedEngine
        from tests.simulation.ports.executors import SimulatedExecutors
        from tests.simulation.ports.storage import JournalStorage
        from tests.simulation.ports.store import WatchedJournal
        from tests.simulation.starts import claimed

        self.world = world
        world.current = self
        self.jobs = world.jobs
        followed = world.followed
        self.pipelines: list[Pipeline] = (
            [job.pipeline for job in world.jobs] if followed is None else list(followed.pipelines())
        )
        self.alive = True
        self.stopped_at: float | None = None
        self.watches: dict[PipelineMachine, MachineWatch] = {}
        self.states: dict[str, list[TableState]] = {}
        self.receipts: tuple[TableReceipt, ...] = ()
        self._wakes_at = float("inf")
        self.engine = SimulatedEngine(self)
        store, authority = claimed(world, list(keys(self.pipelines)))
        self.incarnation = authority.incarnation
        planner = plan_again if followed is None else followed.planner.again
        self._journal = WatchedJournal(JournalStorage(self), authority.incarnation, world)
        world.read(self._journal.journal)  # its driver may have died before it heard of these lines
        if followed is None:
            lines = as_begun(tuple(self.pipelines), authority.records, plan_again, no_plan)
        else:
            lines = followed.begin(authority, self._journal)
        self.job = WatchedJob(
            self, lines, "j", authority, store, self._journal, world.settings, world.clock,
            SimulatedExecutors(self), self.post, self._listen, planner, TableRefreshes(),
        )  # fmt: skip
        self._perform, self.job._performer.perform = self.job._performer.perform, self._watched  # type: ignore[method-assign]
        self.later(0.0, self.job.admit)
        self.later(world.delay(0.3), self._engine_is_there)

    def _engine_is_there(self) -> None:
        self.engine.start(lambda event: self.later(self.world.delay(0.005), self.job.from_engine, event))
        self.job.begin(self.engine)

    # ---------------------------------------------------------------- the loop

    def post(self, call: Callable[[], None]) -> None:
        self.later(0.0, call)

    def later(self, seconds: float, call: Callable[..., None], *arguments: Any) -> None:
        self.world.later(seconds, self.step, call, *arguments)

    def step(self, call: Callable[..., None], *arguments: Any) -> None:
        """One turn of the loop; a process that has died takes none."""
        if not self.alive:
            return
        self.world.current = self
        try:
            call(*arguments)
            self.job.fire_timers()
            self.job.admit()
        except (Died, SeaTunnelError):  # such an error ends the loop of a driver, which is as good as dead
            self.die()
            return
        for watch in self.watches.values():
            watch.look()
        if not self.job.busy and self.job._performer.engine is not None:
            self._end()
            return
        if self.stopped_at is not None:
            late = self.world.now - max(self.stopped_at, self.world.calm_at)
            expect(late < STOP_SECONDS, "StopsInTime", f"{late:.0f} s behind a stop: {self.world.where()}")
        self._wake()

    def _wake(self) -> None:
        now = self.world.clock.now()
        pause = self.job.timers.pause(now)
        due = float("inf") if pause is None else now + pause
        if due < self._wakes_at or self._wakes_at <= now:
            self._wakes_at = due
            if pause is not None:
                self.later(pause + 1e-9, _nothing)

    def _watched(self, machine: Any, effect: Any) -> None:
        """The process may die before any effect."""
        self.world.saw(self, machine, effect)
        self.watches[machine].performs(effect)
        if self.world.faults.strikes("driver dies"):
            self.dies(f"{type(effect).__name__}")
        self._perform(machine, effect)

    def hits(self, point: Failpoint) -> None:
        """It passes a failpoint."""
        self.world.counters[f"passed {point.name}"] += 1
        if self.world.faults.strikes("driver dies at a failpoint"):
            self.world.counters[f"died at {point.name}"] += 1
            self.dies(point.name)

    def dies(self, where: str) -> None:
        """In the middle of something: nothing more of it happens."""
        self.world.note(f"driver {self.world.storage.owner}", f"dies at {where}")
        raise Died

    # ---------------------------------------------------------------- the end

    def die(self) -> None:
        self.alive = False
        self.world.died(self)

    def _end(self) -> None:
        self.alive = False
        self.job.end()
        self.engine.stop()
        for watch in self.watches.values():
            watch.ended()
        left = self.job._shared.exchange_bytes
        expect(not left, "RoomIsFreed", f"{left} bytes of segments hold up others behind the end of their pipelines")
        for machine in self.job.pipelines.values():
            phase, calls = machine.state.phase, machine.state.calls
            assert phase is PipelinePhase.CLOSED, f"{machine.key} {phase.value} at the end"
            assert not len(calls) and not calls.unknown, f"{machine.key}: calls are open or were answered twice"
            assert not len(machine.units), f"{machine.key}: units are under way"
        now = {key: receipts_of(one, self.world.now) for key, one in self.job.pipelines.items()}
        for key, receipts in self.job.closed.items():
            expect("I46", receipts == now[key], f"{key}: its receipt has changed after its end: {receipts}, {now[key]}")
        self.receipts = tuple(receipt for receipts in now.values() for receipt in receipts)
        self.world.ended(self)

    # ---------------------------------------------------------------- for its engine

    def _owner(self, unit: UnitId) -> PipelineMachine | None:
        return self.job._owner.get(unit.vertex)

    def planned(self, vertex: str) -> PlannedVertex:
        """A vertex of the machine that runs it now."""
        return next(one for one in self.job._owner[vertex].pipeline.vertices if one.id == vertex)

    def waits_for(self, unit: UnitId) -> bool:
        """Whether the result of a unit may count."""
        machine = self._owner(unit)
        return self.world.newest(self) and machine is not None and machine.units._waiting.get(unit) is not None

    def repeats(self, unit: UnitId) -> bool:
        """Whether its life takes the unit again, as its journal says."""
        machine = self._owner(unit)
        return machine is not None and self.watches[machine].repeats(unit)

    def _listen(self, event: JobEvent) -> None:
        if isinstance(event, TableChanged):
            self.states.setdefault(event.pipeline, []).append(event.state)


def _nothing() -> None:
    """Time has passed."""
