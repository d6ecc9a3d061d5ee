"""One pipeline while it runs: what its coordinator and its participants ask for is performed here.

Theory. A pipeline is *prepared* (its sinks plan, its splits are found; nothing is changed), then its coordinator takes
over: checkpoint 0, start effects, lives, units, checkpoints, commits, the end. Messages between coordinator and
participants never leave the driver: they go through one queue, so that each machine handles one event at a time.
Whatever ends a pipeline, nothing of it may still be at work when it is closed; it is closed once.

Rule. A pipeline that ends without success and has a checkpoint to go on from keeps what that checkpoint names; without
one everything staged is dropped. Where a target remembers rows that are visible as soon as staged, 0 is one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.view import CoordinatorView
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.protocol.participant import messages as task
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.runtime.counts.table_counts import TableCounts
from seatunnel_py.runtime.driver.pipeline_port import DriverPort
from seatunnel_py.runtime.driver.ports import UnitLost
from seatunnel_py.runtime.driver.settings import Settings
from seatunnel_py.runtime.observe.events import JobEvent, TargetSwept
from seatunnel_py.runtime.observe.pipeline_status import PipelineStatus
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.background_tasks import BackgroundTasks
from seatunnel_py.runtime.pipeline.command_handlers import perform_task
from seatunnel_py.runtime.pipeline.coordinator_settings import coordinator_of, ends_by_itself
from seatunnel_py.runtime.pipeline.end_of_input import EndOfInput
from seatunnel_py.runtime.pipeline.generation_renewal import GenerationRenewal
from seatunnel_py.runtime.pipeline.isolated_sinks import IsolatedSinks
from seatunnel_py.runtime.pipeline.restart_report import RestartReport
from seatunnel_py.runtime.pipeline.segment_retention import SegmentRetention
from seatunnel_py.runtime.pipeline.shown_state import ShownState
from seatunnel_py.runtime.pipeline.split_discovery import SplitDiscovery
from seatunnel_py.runtime.pipeline.staged_cleanup import StagedCleanup
from seatunnel_py.runtime.pipeline.subtask_runner import SubtaskRunner
from seatunnel_py.runtime.resume.pipeline_start import StartPlan, references_of, start
from seatunnel_py.runtime.storage.journal import dropped_line, graph_line
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.runtime.targets.sink_operations import PreparedPipeline
from seatunnel_py.runtime.units.inflight_units import InFlightUnits, place_of
from seatunnel_py.runtime.values.chain_builder import JobIdentity, chain_of
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.split_progress import assign_splits
from seatunnel_py.runtime.values.topology_builder import BuiltTopology
from seatunnel_py.runtime.values.troubles import Troubles, retry_of
from seatunnel_py.work.unit import Unit, UnitFailure, UnitId, UnitResult


class PipelineRunner:
    """``key`` names the pipeline in the store; ``past`` is what earlier drivers have left of it there; ``failure`` is
    what people will read if it ends now; ``behind``: of which nothing may be at work any more when it begins."""

    def __init__(
        self,
        key: str,
        pipeline: Pipeline,
        graph: BuiltTopology,
        world: DriverPort,
        settings: Settings,
        job: JobIdentity,
        claim: Claim,
        past: EarlierRun,
        behind: PipelineRunner | None = None,
    ) -> None:
        self.key, self.id = key, pipeline.id
        self.pipeline = pipeline
        self.graph = graph
        self.settings = settings
        self.job = job
        self.bounded = ends_by_itself(pipeline)
        self.sends_end_markers = any(vertex.query is not None for vertex in pipeline.vertices)
        self.failure: UnitFailure | None = None
        self.coordinator: Coordinator | None = None
        self.counts = TableCounts(pipeline)
        self.begins_with: CheckpointRecord | None = None
        self.references = references_of(pipeline)
        self.world = world
        self.shown = ShownState(pipeline, world.now, world.tell, lambda: self.good)
        self._claim, self._past = claim, past
        self.groups = {
            f"{scope}/{number}": group for scope, groups in graph.scopes.items() for number, group in enumerate(groups)
        }
        self.prepared = PreparedPipeline({}, {})
        self.enumerating = SplitDiscovery(self)
        self.segments = SegmentRetention(self)
        self.completion = EndOfInput(loops=any(vertex.retry is not None for vertex in pipeline.vertices))
        self.subtasks: dict[Subtask, SubtaskRunner] = {}
        self.left_out = IsolatedSinks(self)
        self.rest: TableState | None = None
        self.restarts = RestartReport()
        self.replaced = False  # by another life of the same pipeline in this driver
        self.behind = behind
        self.renewing = GenerationRenewal(self)
        self.units = InFlightUnits(world)
        self.leftovers = StagedCleanup(self)
        self.failures: Counter[str] = Counter()
        self.troubles = Troubles()
        self.aside = BackgroundTasks(self)
        self._over: Callable[[], None] | None = None
        self.ending: TableState | None = None
        self._mail: deque[tuple[Subtask | None, Any]] = deque()
        self._delivering = False

    # ---------------------------------------------------------------- beginning

    def replaces(self, before: PipelineRunner) -> None:
        """For people it is the same pipeline."""
        before.replaced = True
        self.shown.replaces(before.shown)
        self.failures = before.failures
        self.renewing.tries = before.renewing.tries

    def begin(self) -> None:
        """It is this pipeline's turn."""
        self.world.when_begun(self.shown.started)
        self.world.owns(self.key)
        begin = partial(start, self.pipeline, self.graph.topology, self.groups, self.job, self._past)
        self.aside(
            "prepare", begin, self._is_prepared, self._cannot_begin, late=lambda outcome: self.opened(outcome.prepared)
        )

    def opened(self, prepared: PreparedPipeline) -> None:
        """Its sources are open: whatever ends the pipeline closes them."""
        self.prepared = prepared

    def _is_prepared(self, outcome: StartPlan) -> None:
        self.opened(outcome.prepared)
        if outcome.prepared.swept:
            self.tell(TargetSwept(self.id, self.pipeline.name, outcome.prepared.swept, self.now()))
        coordinator = coordinator_of(
            self.pipeline,
            self.graph,
            self.settings,
            outcome,
            self._past,
            self._claim.first,
            tuple(self.groups),
            self.plan,
        )
        for vertex in self.pipeline.vertices:
            self.subtasks |= self._subtasks_of(vertex, outcome)
        self.left_out.begin(outcome.record, self._past)
        self.begins_with = outcome.record
        self.world.when_begun(partial(self._enter, outcome, coordinator))

    def _enter(self, outcome: StartPlan, coordinator: Coordinator) -> None:
        """There is an engine: from now on it may change things."""
        if self._over is not None:
            return
        over = outcome.record is not None and outcome.record.kind is RecordKind.FINAL
        try:
            for vertex in self.pipeline.vertices if not over else ():
                self.world.register(chain_of(vertex, self.prepared.setups, self.job, self.settings.exchange))
        except Exception as error:  # noqa: BLE001 - a plugin that cannot travel concerns its own table
            self._cannot_begin(sink_operations.as_failure(error))
            return
        self.coordinator = coordinator
        lines = [dropped_line(self.key)] if outcome.anew else []
        if self.graph.topology.edges and outcome.graph != self._past.graph:  # else nobody keeps a journal
            lines.append(graph_line(self.key, *outcome.graph))
        self.world.log(lines, self._activate)

    def _activate(self) -> None:
        if self._over is None:
            self.enumerating.begin(self.newest)
            self.hear(report.Activated(self.now(), self.job.incarnation))

    def _subtasks_of(self, vertex: PlannedVertex, outcome: StartPlan) -> dict[Subtask, SubtaskRunner]:
        topology = self.graph.topology
        own = topology.subtasks([vertex.id])
        hands = assign_splits(self.prepared.rounds.get(vertex.id, ()), len(own))
        timeout, names = self.settings.alignment_timeout, outcome.numberings
        return {
            one: SubtaskRunner(
                self, vertex, Participant(one, topology, timeout), hand, names.get(one, outcome.graph[1])
            )
            for one, hand in zip(own, hands, strict=True)
        }

    def _cannot_begin(self, failure: UnitFailure) -> None:
        if self._over is None:
            self.failure = failure
            self.shown.change(self.failed_state, failure)
            self.end(self.leftovers.release)

    # ---------------------------------------------------------------- messages

    def hear(self, event: report.CoordinatorEvent) -> None:
        """An event for the coordinator."""
        if not self.replaced:
            self._mail.append((None, event))
            self._deliver()

    def post(self, subtask: Subtask, event: task.ParticipantEvent) -> None:
        """An event for a participant."""
        self._mail.append((subtask, event))
        self._deliver()

    def _deliver(self) -> None:
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._mail:
                subtask, event = self._mail.popleft()
                if subtask is None:
                    self.world.to_coordinator(self.key, event)
                    continue
                run = self.subtasks[subtask]
                if self._over is not None or subtask in self.left_out:
                    continue  # what comes late begins nothing any more
                for command in run.participant.handle(event):
                    perform_task(self, run, command)
        finally:
            self._delivering = False
        if self.completion.holds:
            takes_part = [run.participant for one, run in self.subtasks.items() if one not in self.left_out]
            for event in self.completion.due(takes_part):
                self.hear(event)

    # ---------------------------------------------------------------- units

    def recovered(self) -> None:
        """Something that had failed goes on: the pipeline is RETRYING while anything else is not mended."""
        view = self.view
        if view is None or view.restarting or self.troubles or self.state.ended:
            return
        state = TableState.COMMITTING if view.final_durable else TableState.RUNNING
        self.shown.change(state)

    def go_on(self) -> None:
        """What subtasks have waited for may be over."""
        for run in self.subtasks.values():
            run.begin_if_room()

    def receiver(self, subtask: Subtask) -> Participant | None:
        """The participant that takes from a channel; None: it is left out."""
        return None if subtask in self.left_out else self.subtasks[subtask].participant

    @property
    def commit_lag(self) -> int:
        """Completed checkpoints that are not committed yet."""
        return 0 if self.view is None else self.view.commits.lag

    def retry(self, run: SubtaskRunner, unit: Unit, delay: float, failure: UnitFailure) -> None:
        """Another attempt, after a pause."""
        if delay:
            self.troubles.begins(retry_of(unit.id), failure)
        self.shown.retrying(str(unit.id), unit.id.attempt, delay, failure, place_of(unit, self.good))

        def again() -> None:
            if self.troubles.ends(retry_of(unit.id)):
                self.recovered()
            self.units.submit(run, unit)

        self.world.after((self.key, unit.id), delay, again)

    def cancel(self, unit: UnitId) -> None:
        """Whatever it still does is worth nothing, but is waited for."""
        self.world.forget((self.key, unit))
        self.troubles.ends(retry_of(unit))
        self.units.cancel(unit)

    def finished(self, result: UnitResult) -> None:
        """The engine has ended a unit. What its reader wants to say is heard before the unit counts."""
        if result.events and result.failure is None:
            self.enumerating.hears(result, self._counts)
        else:
            self._counts(result)

    def _counts(self, result: UnitResult) -> None:
        self.units.finished(result)
        self.close_if_idle()

    def lost(self, event: UnitLost) -> None:
        """The unit has no result."""
        self.units.lost(event)
        self.close_if_idle()

    # ---------------------------------------------------------------- ending

    @property
    def state(self) -> TableState:
        """As people see it."""
        return self.shown.state

    @property
    def status(self) -> PipelineStatus:
        """For those who look in from outside."""
        tasks = tuple(run.status for run in self.subtasks.values())
        return PipelineStatus(self.pipeline.name, self.state, self.good, self.commit_lag, tasks)

    @property
    def failed_state(self) -> TableState:
        """What it is once it has failed: left out, where others go on without it."""
        return TableState.ISOLATED if self.settings.isolates else TableState.FAILED

    def stop(self, failure: UnitFailure, *, keep: bool) -> None:
        """A person wants this pipeline to end: behind a savepoint where ``keep``, else at once. One whose last commit
        is under way is left to it: nobody can call that back, and its end is near. One that waits for the next try of
        it ends: the next driver commits."""
        last = self.newest is not None and self.newest.kind is RecordKind.FINAL
        if self.state.ended or (last and self.aside):
            return
        self.ending = TableState.STOPPED
        if self._over is not None:
            return
        if keep and self.coordinator is not None:
            self.hear(report.SavepointRequested(self.now(), "stop", stop=True))
            return
        self.failure = failure
        self._cancel_all()

    def give_up(self, failure: UnitFailure) -> None:
        """What has failed cannot be mended by a restart."""
        self.failure = failure
        self.ending = self.failed_state
        self._cancel_all()

    def _cancel_all(self) -> None:
        if self.coordinator is not None:
            self.hear(report.CancelRequested(self.now()))
            return
        self.shown.change(self.ending or TableState.STOPPED, self.failure)
        self.end(self.leftovers.release)

    def arrived(self, state: TableState) -> None:
        """Everything that takes part has come to its end, in this state; who was left out has not."""
        self.failure, self.rest = None, state
        vertices = sorted(self.left_out.nodes.values())
        if vertices and state is TableState.DONE:
            self.shown.change(TableState.ISOLATED, self.left_out.cause(vertices[0]))
        else:
            self.shown.change(state)

    def end(self, close: Callable[[], None]) -> None:
        """Close as soon as nothing of the pipeline is at work."""
        self._over = close
        self.enumerating.over()
        self.close_if_idle()

    def close_if_idle(self) -> None:
        if self._over is None or self.units or self.aside:
            return
        close, self._over = self._over, lambda: None
        close()

    @property
    def plan(self) -> Mapping[str, Any]:
        """What was decided, as records hold it: without the values of secrets by reference."""
        sealed: Mapping[str, Any] = self.references.sealed(self.prepared.to_plain())
        return sealed

    @property
    def is_over(self) -> bool:
        """It only waits for what is still at work."""
        return self._over is not None

    @property
    def view(self) -> CoordinatorView | None:
        """What its coordinator shows; None: it has not begun."""
        return None if self.coordinator is None else self.coordinator.view

    @property
    def topology(self) -> Topology:
        """As it is now: without those who were left out, and with what was found out about determinism."""
        return self.graph.topology if self.view is None else self.view.topology

    @property
    def newest(self) -> CheckpointRecord | None:
        """Its newest completed checkpoint."""
        return None if self.view is None else self.view.newest

    @property
    def good(self) -> int | None:
        """The number of that checkpoint, for people."""
        return None if self.newest is None else self.newest.checkpoint

    # ---------------------------------------------------------------- for people

    def now(self) -> float:
        return self.world.now()

    def after(self, key: tuple[Any, ...], seconds: float, call: Callable[[], None]) -> None:
        self.world.after((self.key, *key), seconds, call)

    def tell(self, event: JobEvent) -> None:
        self.world.tell(event)
