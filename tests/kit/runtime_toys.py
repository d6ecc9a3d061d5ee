"""Pipelines drawn by hand, results of units that nobody ran, and an engine that does what a script says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seatunnel_py.api import (
    Cardinality,
    Column,
    CommitContext,
    Committer,
    Determinism,
    Enumerator,
    Guarantee,
    Piece,
    Plain,
    Position,
    Reader,
    Setup,
    Sink,
    SinkCapabilities,
    Source,
    SourceCapabilities,
    SourceTable,
    Split,
    TablePath,
    TableSchema,
    TransformCapabilities,
    WriteContext,
    Writer,
    parse_type,
)
from seatunnel_py.plan.graph_nodes import SinkNode, SourceNode, TransformNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.plan.steps import Step
from seatunnel_py.runtime.driver.driver import Driver
from seatunnel_py.runtime.messages.engine_port import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.resume.job_claim import claim_job
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.unit import FailureKind, SinkPiece, Slice, StepCount, Unit, UnitFailure, UnitId, UnitResult

NUMBER = Column("n", parse_type("bigint"), nullable=False)


def step(step_id: str, kind: PluginKind, parallelism: int = 1) -> Step:
    nothing: Any = None
    return Step(step_id, kind, "Toy", nothing, None, nothing, parallelism=parallelism)


def schema(name: str) -> TableSchema:
    return TableSchema(TablePath.parse(name), (NUMBER,))


@dataclass
class Target:
    """What a sink did, in order; ``act`` may raise or wait when it is told of what comes next."""

    act: Callable[[str], None] = lambda what: None
    told: list[str] = field(default_factory=list)
    aborted: list[Piece] = field(default_factory=list)
    committed: list[Piece] = field(default_factory=list)

    def tell(self, what: str) -> None:
        self.told.append(what)
        self.act(what)


@dataclass(frozen=True)
class ToySink(Sink):
    name: str
    state: Target = field(default_factory=Target)

    @property
    def target(self) -> str:
        return self.name

    def plan_setup(self) -> Setup:
        self.state.tell("plan")
        return Setup()

    def setup(self, setup: Setup) -> None:
        self.state.tell("setup")

    def open(self, context: WriteContext) -> Writer:
        raise AssertionError("no unit is run")

    def committer(self) -> Committer:
        return ToyCommitter(self.state)


class ToyCommitter(Committer):
    def __init__(self, state: Target) -> None:
        self._state = state

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        self._state.tell("commit")
        self._state.committed += pieces

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        self._state.tell("abort")
        self._state.aborted += pieces


@dataclass(frozen=True)
class ToySource(Source):
    """``rows`` of each split; splits are called s0, s1, …"""

    rows: tuple[int, ...] = (10,)
    state: Target = field(default_factory=Target)

    def tables(self) -> Sequence[SourceTable]:
        return []

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return _ToyEnumerator(self, tables[0].schema.path)

    def reader(self, table: SourceTable) -> Reader:
        raise AssertionError("no unit is run")


class _ToyEnumerator(Enumerator):
    def __init__(self, source: ToySource, path: TablePath) -> None:
        self._source, self._path = source, path

    def discover(self) -> Iterable[Split]:
        self._source.state.tell("discover")
        return [Split(f"s{number}", self._path, rows=rows) for number, rows in enumerate(self._source.rows)]

    def close(self) -> None:
        self._source.state.tell("close")


def source_node(name: str, source: ToySource | None = None, *, parallelism: int = 1) -> SourceNode:
    made = step(f"{name}-in", PluginKind.SOURCE, parallelism)
    return SourceNode(
        f"{name}-in",
        made,
        source or ToySource(),
        SourceTable(schema(name)),
        SourceCapabilities(determinism=Determinism.DETERMINATE),
    )


def filter_node(name: str, table: str, cardinality: Cardinality = Cardinality.FILTER) -> TransformNode:
    nothing: Any = None
    capable = TransformCapabilities(cardinality=cardinality)
    return TransformNode(name, step(name, PluginKind.TRANSFORM), nothing, schema(table), capable)


def sink_node(name: str, table: str, sink: ToySink | None = None, *, spans: bool = False) -> SinkNode:
    capable = SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, "toys keep their word", spans_tables=spans)
    return SinkNode(f"{name}[{table}]", step(name, PluginKind.SINK), sink or ToySink(name), schema(table), capable)


def straight(name: str, source: ToySource | None = None, sink: ToySink | None = None, parallelism: int = 1) -> Pipeline:
    """One chain: a source and a sink."""
    node = source_node(name, source, parallelism=parallelism)
    vertex = PlannedVertex(name, (node, sink_node("out", name, sink)), parallelism=parallelism)
    return Pipeline(f"p-{name}", name, (vertex,))


def forked(name: str, source: ToySource, sinks: Sequence[ToySink], parallelism: int = 1) -> Pipeline:
    """A source whose rows every sink reads behind a channel."""
    ids = [f"{name}>{number}" for number, _ in enumerate(sinks)]
    channels = [PlannedChannel(f"c-{each}", name, each, TablePath.parse(name)) for each in ids]
    head = PlannedVertex(name, (source_node(name, source),), (), tuple(channels), parallelism)
    behind = [
        PlannedVertex(each, (sink_node(sink.name, name, sink),), (channel,), parallelism=parallelism)
        for each, channel, sink in zip(ids, channels, sinks, strict=True)
    ]
    return Pipeline(f"p-{name}", name, (head, *behind))


def unbounded(pipeline: Pipeline) -> Pipeline:
    """The same with a source that never ends."""
    head = pipeline.vertices[0]
    assert head.source is not None
    source = replace(head.source, capabilities=SourceCapabilities(bounded=False, determinism=Determinism.DETERMINATE))
    return replace(pipeline, vertices=(replace(head, nodes=(source, *head.nodes[1:])), *pipeline.vertices[1:]))


def union(name: str, sources: Sequence[ToySource], sink: ToySink) -> Pipeline:
    """Sources whose rows one sink reads, each behind a channel."""
    channels = [
        PlannedChannel(f"c-{name}{at}", f"{name}{at}", f"{name}>", TablePath.parse(name)) for at in range(len(sources))
    ]
    heads = [
        PlannedVertex(channel.sender, (source_node(name, source),), (), (channel,))
        for channel, source in zip(channels, sources, strict=True)
    ]
    last = PlannedVertex(f"{name}>", (sink_node(sink.name, name, sink),), tuple(channels))
    return Pipeline(f"p-{name}", name, (*heads, last))


def read(unit: Unit) -> range:
    """The rows of its split that a unit reads: up to its budget, or as far as another life did."""
    assert unit.split is not None and unit.split.rows is not None
    start = int(str(unit.start.value["n"])) if unit.start else 0
    if unit.until is not None:
        return range(start, int(str(unit.until.value["n"])))
    return range(start, min(start + unit.budget.rows, unit.split.rows))


def worked(unit: Unit, vertex: PlannedVertex, filtered: int = 0) -> UnitResult:
    """What an honest worker gives back for a unit; of its rows ``filtered`` are dropped by the vertex's transforms."""
    if unit.split is not None:
        rows = read(unit)
        total, done = len(rows), rows.stop == unit.split.rows
        following = None if done else Position({"n": rows.stop})
    else:
        total, done, following = sum(item.rows for item in unit.slices), True, None
    left = total - filtered
    steps = [node for node in vertex.nodes if isinstance(node, TransformNode)]
    counts = tuple(StepCount(node.step.id, node.table.path, total, left) for node in steps)
    pieces = tuple(
        SinkPiece(node.step.id, node.table.path, Piece(left, left * 8, data={"unit": str(unit.id)}))
        for node in vertex.sinks
    )
    path = vertex.outputs[0].table if vertex.outputs else TablePath.parse("none")
    slices = (Slice(vertex.id, 0, path, f"mem:{unit.id}", 0, left, left * 8),) if vertex.outputs and left else ()
    return UnitResult(unit.id, done, following, total, pieces=pieces, slices=slices, counts=counts, first_row_at=1.0)


def failed(unit: UnitId, kind: FailureKind = FailureKind.FATAL, pieces: tuple[SinkPiece, ...] = ()) -> UnitResult:
    return UnitResult(unit, done=False, pieces=pieces, failure=UnitFailure(kind, f"{unit} went wrong"))


Script = Callable[[Unit], UnitResult | UnitLost | None]


class ScriptedEngine:
    """The engine port: what becomes of a unit is what ``script`` says; None leaves it under way until it is cancelled."""

    def __init__(self, pipelines: Iterable[Pipeline], script: Script | None = None) -> None:
        self.vertices: Mapping[str, PlannedVertex] = {v.id: v for line in pipelines for v in line.vertices}
        self.script: Script = script or self.work
        self.submitted: list[Unit] = []
        self.cancelled: list[UnitId] = []
        self.held: dict[UnitId, Unit] = {}
        self.registered: list[str] = []
        self.refuse: str = ""  # a vertex whose chain cannot travel
        self.changed = threading.Condition()
        self.ailing: Sequence[str] = ()
        self._thread = ThreadPoolExecutor(1)

    slots = 2

    def work(self, unit: Unit) -> UnitResult:
        return worked(unit, self.vertices[unit.id.vertex])

    def start(self, report: Callable[[EngineEvent], None]) -> None:
        self._report = report

    def register(self, chain: Chain) -> None:
        if chain.vertex == self.refuse:
            raise TypeError("cannot pickle it")
        self.registered.append(chain.vertex)

    def submit(self, unit: Unit) -> None:
        assert unit.id.vertex in self.registered
        with self.changed:
            self.submitted.append(unit)
            outcome = self.script(unit)
            if outcome is None:
                self.held[unit.id] = unit
            self.changed.notify_all()
        if outcome is not None:
            self._say(unit.id, outcome)

    def _say(self, unit: UnitId, outcome: UnitResult | UnitLost) -> None:
        self._thread.submit(self._report, UnitStarted(unit))
        self._thread.submit(self._report, UnitFinished(outcome) if isinstance(outcome, UnitResult) else outcome)

    def abandon(self, unit: UnitId) -> None:
        self.cancel(unit)

    def cancel(self, unit: UnitId) -> None:
        with self.changed:
            self.cancelled.append(unit)
            held = self.held.pop(unit, None)
        if held is not None:
            self._say(unit, UnitLost(unit, "cancelled"))

    def ails(self) -> Sequence[str]:
        return self.ailing

    def wait_for_units(self, number: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.submitted) >= number, timeout=30)

    def stop(self) -> None:
        self._thread.shutdown(wait=True)


class Clock:
    def now(self) -> float:
        return time.monotonic()


def driver_of(
    pipelines: Sequence[Pipeline],
    engine: Any,
    settings: Settings,
    clock: Any,
    listen: Callable[[JobEvent], None],
    place: Path,
) -> Driver:
    """A driver over a store in ``place``: the first one there, or the one that goes on after others. ``engine`` is one,
    or what waits for one."""
    storage = LocalStorage(place / "checkpoints")
    store = CheckpointStore(storage)
    authority = claim_job(store, keys(pipelines))
    journal = JournalFile(storage, authority.incarnation)
    return Driver(
        tuple(pipelines),
        engine if callable(engine) else lambda: engine,
        "j",
        authority,
        store,
        journal,
        settings,
        clock,
        listen,
    )
