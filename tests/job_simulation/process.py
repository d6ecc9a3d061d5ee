"""One driver process: the shipping job over simulated ports, from its claim to its end or its death."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.diagnosis.table_receipts import receipts_of
from seatunnel_py.runtime.driver.job_runner import JobRunner
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.resume.job_claim import claim_job
from seatunnel_py.runtime.state.phases import PipelinePhase
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.values.topology_builder import keys

if TYPE_CHECKING:
    from tests.job_simulation.world import World


class Died(BaseException):
    """The process is gone in the middle of something."""


class Process:
    """``states``: what people were told of each pipeline, in order; ``receipts``: at its end."""

    def __init__(self, world: World) -> None:
        from tests.job_simulation.ports import SimulatedEngine, SimulatedExecutors

        self.world = world
        self.pipelines: list[Pipeline] = world.pipelines
        self.alive = True
        self.stopping = False
        self.states: dict[str, list[TableState]] = {}
        self.receipts: tuple[TableReceipt, ...] = ()
        self._wakes_at = float("inf")
        self.engine = SimulatedEngine(self)
        store = CheckpointStore(world.storage)
        authority = claim_job(store, keys(self.pipelines))
        self.incarnation = authority.incarnation
        self._journal = JournalFile(world.storage, authority.incarnation)
        self.job = JobRunner(
            tuple(self.pipelines), "j", authority, store, self._journal, world.settings, world.clock,
            SimulatedExecutors(self), self.post, self._listen,
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
        try:
            call(*arguments)
            self.job.fire_timers()
            self.job.admit()
        except (Died, SeaTunnelError):  # such an error ends the loop of a driver, which is as good as dead
            self.die()
            return
        if not self.job.busy and self.job._performer.engine is not None:
            self._end()
            return
        self._wake()

    def _wake(self) -> None:
        pause = self.job.timers.pause(self.world.now)
        due = float("inf") if pause is None else self.world.now + pause
        if due < self._wakes_at or self._wakes_at <= self.world.now:
            self._wakes_at = due
            if pause is not None:
                self.later(pause + 1e-9, lambda: None)

    def _watched(self, machine: Any, effect: Any) -> None:
        """The process may die before any effect."""
        self.world.saw(self, machine, effect)
        if self.world.faults.strikes("driver dies"):
            raise Died
        self._perform(machine, effect)

    # ---------------------------------------------------------------- the end

    def die(self) -> None:
        self.alive = False
        self.world.died(self)

    def _end(self) -> None:
        self.alive = False
        self.job.end()
        self.engine.stop()
        for machine in self.job.pipelines.values():
            phase, calls = machine.state.phase, machine.state.calls
            assert phase is PipelinePhase.CLOSED, f"{machine.key} {phase.value} at the end"
            assert not len(calls) and not calls.unknown, f"{machine.key}: calls are open or were answered twice"
            assert not len(machine.units), f"{machine.key}: units are under way"
        lines = self.job.pipelines.values()
        self.receipts = tuple(receipt for one in lines for receipt in receipts_of(one, self.world.now))
        self.world.ended(self)

    def _listen(self, event: JobEvent) -> None:
        if isinstance(event, TableChanged):
            self.states.setdefault(event.pipeline, []).append(event.state)
