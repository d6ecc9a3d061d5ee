"""The seeded world: it owns order, virtual time, the store, the targets, and the drivers that come and go.

One heap of things to come, ordered by virtual time; every delay and every fault is a decision of ``Choices``. The
machines are the shipping ones. After every event that a machine handles, the checkers see it and what it led to.
"""

from __future__ import annotations

import heapq
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.failing import FailureLimits
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.failover.decisions import FailoverPolicy
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PipelineState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Operation, OperationKind, StagedPiece
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.protocol.participant import messages as task
from seatunnel_py.protocol.participant.participant import Participant
from tests.protocol.reference.orphans import FoundPiece, orphans
from tests.simulation.checkers import CHECKERS
from tests.simulation.choices import Choices
from tests.simulation.driver import Driver, Node
from tests.simulation.faults import Faults
from tests.simulation.limits import CALM_AFTER_SECONDS, Limits
from tests.simulation.observer import Observer
from tests.simulation.pipelines import Pipeline, Role, generate
from tests.simulation.rows import Machinery
from tests.simulation.starts import start_driver
from tests.simulation.storage import Journal, Store, Target
from tests.simulation.trace import Trace
from tests.simulation.violation import Violation
from tests.simulation.work import Sources

PATIENT_AFTER_DRIVERS = 3
"""Whoever starts a pipeline again and again gives it more time at last."""


class World:
    """One run. ``mode`` is ``aligned`` or ``unaligned``."""

    def __init__(self, choices: Choices, mode: str, *, seed: int | None = None, trace: bool = False) -> None:
        self.choices, self.mode, self.seed = choices, mode, seed
        self.pipeline: Pipeline = generate(choices)
        self.machinery = Machinery(self.pipeline)
        self.settings = self._settings()
        self.retries = choices.graph.pick((50, 50, 50, 1))
        self.endless = choices.limits.chance(0.3)
        self.faults = Faults(choices)
        self.faults.choose()
        self.now = 0.0
        self.jumped = 0.0
        self.events = 0
        self.crc = 0
        self.counters: Counter[str] = Counter()
        self.trace = Trace() if trace else None
        self.store, self.journal, self.sources = Store(), Journal(), Sources(self.pipeline)
        self.targets = {
            vertex.id: Target(vertex.id, vertex.sink)
            for vertex in self.pipeline.topology.vertices
            if self.pipeline.roles[vertex.id] is Role.SINK
        }
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self.drivers: list[Driver] = []
        self.storing: list[tuple[Driver, CheckpointRecord]] = []
        self.finished = self.given_up = False
        self.looked_after = False
        """A person has put the store in order."""
        self.void = False
        """Positions are void, and no record says so yet."""
        self.lied = False
        """A vertex that is declared determinate has made other rows of the same batch (F57)."""
        self.limit = 0
        """So many events at most; 0: as many as it takes. Only the shrinker gives up a run."""
        self.limits = Limits(self)
        self._hooks: dict[Any, list[Callable[..., None]]] = defaultdict(list)
        self.observer = Observer(self)
        self.checkers = [kind(self) for kind in CHECKERS]
        self._hooks["any"].append(self.observer.any)
        for watching in (*self.checkers, self.observer):
            for key, hook in watching.hooks().items():
                self._hooks[key].append(hook)

    def _settings(self) -> CheckpointSettings:
        plan = self.choices.settings
        timed = plan.pick((None, None, 0.03, 0.1, 0.4))
        return CheckpointSettings(
            interval=plan.pick((0.1, 0.04, 0.05, 0.05, 0.2)),
            timeout=plan.pick((2.0, 0.4, 0.8, 5.0)),
            min_pause=plan.pick((0.0, 0.0, 0.02)),
            max_concurrent=plan.pick((1, 1, 2, 3)),
            tolerable_failures=plan.pick((100, 100, 3)),
            max_retained=plan.pick((1, 2, 3)),
            max_uncommitted=plan.pick((2, 1, 4)),
            alignment_timeout=0.0 if self.mode == "unaligned" else timed,
            initial_delay=plan.pick((0.0, 0.5)),
        )

    # ---------------------------------------------------------------- machines

    def make_participant(self, subtask: Subtask, topology: Topology) -> Participant:
        return Participant(subtask, topology, self.settings.alignment_timeout or 0.0)

    def make_coordinator(self, driver: Driver, claim: Claim) -> Coordinator:
        settings = self.settings
        if len(self.drivers) > PATIENT_AFTER_DRIVERS:
            settings = replace(settings, timeout=30.0, tolerable_failures=1000)
        return Coordinator(
            driver.pipeline.topology,
            settings,
            Backoff(retries=self.retries, first=0.05, longest=0.4, reset_after=1.0),
            record=driver.record,
            first_checkpoint=claim.first,
            set_up=self.pipeline.set_up,
            done=self.store.done,
            replay=driver.replay,
            limits=FailureLimits(endless=self.endless),
            policy=FailoverPolicy.FAIL_FAST if self.pipeline.elastic else FailoverPolicy.CONTINUE_OTHER_TABLES,
        )

    def take_graph(self, pipeline: Pipeline) -> None:
        """The newest driver's graph."""
        if pipeline is not self.pipeline:
            self.pipeline, self.machinery = pipeline, Machinery(pipeline)

    def begin(self, driver: Driver, claim: Claim) -> None:
        """It is there, and may do something."""
        if any(other.alive for other in self.drivers):
            self.count("two drivers at once")
        self.drivers.append(driver)
        self.note(driver.name, f"starts from checkpoint {claim.continues}")
        self.tell("driver", driver, claim)
        self.later(self.delay(0.05), driver.hear, report.Activated, driver.incarnation)
        if self.void:
            self.later(0.0, self.void_positions)

    def sweep(self) -> None:
        """Drop what nobody will ever want (I33); also while a driver recovers."""
        driver = self.newest
        known = self.observer.known[driver.incarnation]
        found = [
            FoundPiece(StagedPiece(name), scope, *map(int, name.split("/")[1].split(".")), age=10.0)
            for scope, target in self.targets.items()
            for name in target.staged
        ]
        out = driver.topology.detached
        epochs = {subtask.vertex: epoch for subtask, epoch in known.epochs.items() if subtask.vertex not in out}
        gone = orphans(
            found,
            claims=self.store.claims,
            records=self.store.records.values(),
            storing=[record for other, record in self.storing if other is driver],
            incarnation=driver.incarnation,
            epochs=epochs if known.epochs else dict.fromkeys(self.machinery.width, 0),
            age=1.0,
        )
        for one in gone:
            command = order.DropPieces(one.scope, (one.piece,))
            self.tell(order.DropPieces, driver, None, command)
            driver.drop_pieces(command)
        if self._heap:  # else nobody else has anything to do: a sweep must not hide that
            self.later(0.2 + self.delay(0.4), self.sweep)

    @property
    def newest(self) -> Driver:
        return self.drivers[-1]

    def crash(self, driver: Driver) -> None:
        """All its memory is lost; another one starts after a while."""
        driver.alive = False
        self.note(driver.name, "crashes")
        self.count("a driver crashed")
        if driver is self.newest:
            self.limits.driver_crashed()
            self.start_later()

    def start_driver(self) -> None:
        start_driver(self)

    def start_later(self) -> None:
        """Another driver, unless somebody starts one before."""
        self.later(self.delay(0.5), self._start_again, len(self.drivers))

    def _start_again(self, drivers: int) -> None:
        if len(self.drivers) == drivers:
            self.start_driver()

    def driver_ended(self, driver: Driver, ended: order.PipelineEnded) -> None:
        self.note(driver.name, f"the pipeline has ended: {ended.reason or 'success'} {ended.savepoint}")
        if driver is not self.newest:
            self.count(
                "a driver was fenced" if ended.reason is Reason.FENCED else "an overtaken driver ended otherwise"
            )
            driver.alive = False
            return
        if ended.reason is None and not ended.savepoint:
            self.finished = True
            return
        driver.alive = False
        if ended.reason is Reason.POSITIONS_VOID:
            self.given_up = True  # a person has to begin anew
        if ended.savepoint:
            self.count("a pipeline was stopped with a savepoint")
        elif ended.reason is not Reason.CANCELLED:
            self.count("a pipeline failed and was started again")
            self.counters["failed: " + str(ended.reason)] += 1
        else:
            self.count("a pipeline was cancelled")
        self.limits.driver_ended(str(ended.reason or ended.savepoint))
        self.start_later()

    # ---------------------------------------------------------------- time, order, chance

    def later(self, seconds: float, call: Callable[..., None], *arguments: Any) -> None:
        self._order += 1
        heapq.heappush(self._heap, (self.now + seconds, self._order, call, arguments))

    def delay(self, longest: float) -> float:
        return 0.001 + longest * self.choices.delay.draw()

    def clock(self) -> float:
        """What machines are told: it never goes back, but may jump ahead (F27)."""
        if self.faults.strikes("clock jumps"):
            self.jumped += 3600.0
        return self.now + self.jumped

    # ---------------------------------------------------------------- the loop

    def run(self) -> World:
        """To the end, or to a violation."""
        self.start_driver()
        self._plan_requests()
        if self.choices.settings.chance(0.5):
            self.later(0.3, self.sweep)
        while not self.finished and not self.given_up:
            if not self._heap:
                raise self.limits.violation("nothing is left to happen")
            self.limits.step()
            self.step()
            if self.limit and self.events > self.limit:
                return self
            if self.limits.calm:
                self.faults.end()
        if self.given_up:
            return self
        self.tell("finished")
        self._outlive()
        self.tell("end")
        return self

    def step(self) -> None:
        self.now, _, call, arguments = heapq.heappop(self._heap)
        call(*arguments)

    def _outlive(self) -> None:
        """What is still under way, also of overtaken drivers, must not change anything any more."""
        self.faults.end()
        until = self.events + 60
        for driver in self.drivers:
            if driver is self.newest:
                driver.alive = False
        while self._heap and self.events < until and self.now < CALM_AFTER_SECONDS * 2:
            self.step()

    def _plan_requests(self) -> None:
        """What people want in the meantime."""
        wishes = self.choices.wishes
        wish = wishes.pick(("", "", "", "", "savepoint", "stop", "cancel", "speed", "savepoint"))
        when = wishes.draw() * 0.8
        if self.pipeline.elastic and not wish and self.choices.graph.chance(0.6):
            wish = "stop"  # to be started again with another parallelism
        if wish == "savepoint":
            self.later(when, self._ask, report.SavepointRequested, "kept", False)
        elif wish == "stop":
            self.later(when, self._ask, report.SavepointRequested, "stopped", True)
        elif wish == "cancel":
            self.later(when, self._ask, report.CancelRequested)
        elif wish == "speed":
            self.later(when, self._ask, report.OperationRequested, Operation(OperationKind.SPEED, 100))
        more = self.choices.graph
        likely = 0.7 if "tables" in self.pipeline.shape else 0.2
        if not self.pipeline.elastic and more.chance(likely):
            vertex = more.pick([vertex.id for vertex in self.pipeline.topology.vertices])
            self.later(more.draw() * 0.3, self._isolate, vertex)
        if self.choices.graph.chance(0.08):
            self.later(self.choices.graph.draw() * 0.4, self.void_positions)

    def _isolate(self, vertex: str) -> None:
        """As soon as the pipeline runs."""
        if self.finished:
            return
        if self.newest.coordinator.shared.state is PipelineState.RUNNING:
            self._ask(report.OperationRequested, Operation(OperationKind.ISOLATE, vertex))
        elif self._heap:
            self.later(0.05, self._isolate, vertex)

    def void_positions(self) -> None:
        """What positions refer to is gone. A later driver finds out as well, unless a record says so."""
        self.void = True
        driver = self.newest
        if driver.alive and driver.ended is None and driver.coordinator.shared.incarnation:
            driver.hear(report.PositionsVoid, "the first generation")
        elif not self.finished:
            self.later(0.05, self.void_positions)

    def _ask(self, kind: type, *fields: Any) -> None:
        if self.newest.alive and self.newest.ended is None:
            self.newest.hear(kind, *fields)

    # ---------------------------------------------------------------- who watches

    def handled(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        """A machine has handled an event; its commands are not performed yet."""
        self.events += 1
        who = driver.name if node is None else node.name
        self.crc = zlib.crc32(f"{self.now:.7f} {who} {type(event).__name__} {len(commands)}".encode(), self.crc)
        if self.trace is not None:
            self.trace.event(self.now, driver.incarnation, who, event, commands)
        for hook in self._hooks.get("any", ()):
            hook(driver, node, event, commands)
        for hook in self._hooks.get(type(event), ()):
            hook(driver, node, event, commands)

    def tell(self, key: Any, *arguments: Any) -> None:
        for hook in self._hooks.get(key, ()):
            hook(*arguments)

    def note(self, who: str, text: str) -> None:
        if self.trace is not None:
            self.trace.note(self.now, who, text)

    def count(self, what: str) -> None:
        self.counters[what] += 1

    def violation(self, checker: str, text: str) -> Violation:
        return Violation(checker, text, self.seed, self.mode, self.events)


def run(seed: int, mode: str, *, trace: bool = False) -> World:
    """The run of a seed."""
    return World(Choices(seed), mode, seed=seed, trace=trace).run()


__all__ = ["World", "run", "task"]
