"""Random small pipelines: the plan for the runtime, and the role of each vertex."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from seatunnel_py.api import Cardinality, Determinism, Guarantee, SourceCapabilities, TablePath, TransformCapabilities
from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.graph_nodes import SinkNode, SourceNode, TableNode, TransformNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedRetryLoop, PlannedVertex
from seatunnel_py.protocol.model.topology import VertexDeterminism
from tests.kit.runtime_toys import ToySource, filter_node, sink_node, source_node
from tests.kit.toy_jobs import query, union
from tests.simulation.choices import Choices, Stream
from tests.simulation.jobs.logs import with_log
from tests.simulation.jobs.sources import Finds, SimulatedSource, with_sources
from tests.simulation.jobs.targets import SimulatedLedger, SimulatedSink, with_ledgers


class Role(StrEnum):
    """What a vertex does with rows."""

    SOURCE = "source"
    PASS = "pass"
    COUNT = "count"
    """What it makes depends on the order in which it takes its inputs."""
    RETRY = "retry"
    """Sends a row round a loop as often as the row wants, then on."""
    QUERY = "query"
    SINK = "sink"


@dataclass(frozen=True)
class Job:
    """A pipeline of the simulation. ``elastic``: later drivers may run it with another parallelism; ``followed``: the
    job that copies tables and follows their log (``followed/job.py``), if it is a part of one."""

    shape: str
    pipeline: Pipeline
    roles: Mapping[str, Role]
    levels: Mapping[str, VertexDeterminism]
    bounded: bool = True
    elastic: bool = False
    followed: Any = None


@dataclass(frozen=True)
class Terms:
    """What the settings of a job allow. ``isolates``: a sink may be isolated, and has to be finished by a later run."""

    per_split: bool
    isolates: bool
    now: Callable[[], float]


# name -> edges; sources are A, B; sinks are K, L, M; T has a loop; the rest in between
SHAPES: dict[str, tuple[str, ...]] = {
    "fused": (),
    "pair": ("AK",),
    "chain": ("AD", "DK"),
    "fork": ("AK", "AL"),
    "fan-out": ("AD", "DK", "DL"),
    "join": ("AJ", "BJ", "JK"),
    "base": ("AJ", "BJ", "JK", "JL"),
    "diamond": ("AD", "AE", "DJ", "EJ", "JK"),
    "loop": ("AT", "TK"),
    "loop behind join": ("AJ", "BJ", "JT", "TK", "JL"),
    "wide": ("AD", "BJ", "DJ", "JK", "JL", "DM"),
    "two joins": ("AJ", "BJ", "AG", "BG", "JK", "GL"),
}
WEIGHTED = (
    *("fused", "fused", "fused", "pair", "pair", "chain", "chain", "fork", "fork", "fan-out", "fan-out", "union"),
    *("join", "join", "base", "base", "diamond", "loop", "loop", "loop behind join", "wide", "two joins", "query"),
)
SOURCES, SINKS = "AB", "KLM"
GUARANTEES = (*(Guarantee.TWO_PHASE_COMMIT,) * 10, Guarantee.IDEMPOTENT, Guarantee.AT_LEAST_ONCE)
LEVELS = (*(Determinism.DETERMINATE,) * 8, Determinism.UNORDERED, Determinism.INDETERMINATE)
ROWS_MAX = 24
SPLITS_MAX = 3
ROUNDS_MAX = 5
WIDTHS = (1, 1, 1, 2, 2, 3)
WIDTHS_OF_LARGE = (1, 1, 1, 2)


def pipeline_of(name: str, choices: Choices, terms: Terms) -> Job:
    """A pipeline that the choices decide; all zeroes: one vertex, few rows.

    A pipeline that begins again must not have shown anything, so a source of one moment that is not read per split has
    a target that shows its rows in the end. An isolated sink of a stream, or behind a source that can be read only once,
    is never finished: there is none where a second sink goes on without the first.
    """
    stream = choices.shape
    shape = stream.pick(WEIGHTED)
    visible = stream.pick((Visible.COMMITTED, Visible.COMMITTED, Visible.FINAL))
    width, moody, elastic = stream.pick(WIDTHS), stream.chance(0.4), stream.chance(0.15)
    rows = tuple(stream.between(1, ROWS_MAX) for _ in range(stream.between(1, SPLITS_MAX + 1) - 1))
    if shape in ("query", "union"):
        made = _toy(name, shape, rows, width, visible)
    else:
        made = _drawn(name, shape, rows, choices, width, visible, moody=moody)
    alone = len(made.pipeline.sinks) == 1 or not terms.isolates
    finds = Finds.AT_ONCE
    if alone and visible is Visible.COMMITTED and shape not in ("query", "union") and stream.chance(0.4):
        made = _unbounded(made)
        finds = stream.pick((Finds.AT_ONCE, Finds.AT_ONCE, Finds.OVER_TIME, Finds.BY_REPORTS))
    elif (terms.per_split or visible is Visible.FINAL) and stream.chance(0.4):
        finds = Finds.OF_ONE_MOMENT
    if alone and made.pipeline.vertices[0].outputs and finds is Finds.AT_ONCE and stream.chance(0.2):
        made = _once(made)
    line = with_sources(made.pipeline, finds, terms.now)
    single = len([one for one in line.vertices if one.source is not None]) == 1
    if single and not made.bounded and finds is Finds.AT_ONCE and stream.chance(0.7):
        line = _as_log(line, stream)
    return replace(made, pipeline=line, elastic=elastic and finds is not Finds.OF_ONE_MOMENT)


def _as_log(line: Pipeline, stream: Stream) -> Pipeline:
    """A log is one split, which one subtask reads, and its schema changes up to three times; or it is a split for each
    of up to three runs."""
    total = max(sum(sources_of(line)[0].rows), 2)
    places = sorted({stream.between(1, total) for _ in range(stream.between(1, 4))})
    if stream.chance(0.5):
        rows, finds = tuple(stream.between(1, total + 1) for _ in range(stream.between(1, 4))), Finds.IN_RUNS
        places = []
    else:
        rows, finds = (total,), Finds.AT_ONCE
    vertices = tuple(one if one.source is None else _in_order(one, rows, finds) for one in line.vertices)
    return with_log(replace(line, vertices=vertices), tuple(places))


def _in_order(vertex: PlannedVertex, rows: tuple[int, ...], finds: Finds) -> PlannedVertex:
    node = vertex.source
    assert node is not None and isinstance(node.source, SimulatedSource)
    source = replace(node.source, rows=rows, finds=finds)
    return replace(vertex, nodes=(replace(node, source=source), *vertex.nodes[1:]), parallelism=1)


def _toy(name: str, shape: str, rows: tuple[int, ...], width: int, visible: Visible) -> Job:
    build = query if shape == "query" else union
    line = with_ledgers(build(name, rows, width, visible))
    roles = {vertex.id: _role_of(vertex) for vertex in line.vertices}
    return Job(shape, line, roles, dict.fromkeys(roles, VertexDeterminism.DETERMINATE))


def _role_of(vertex: PlannedVertex) -> Role:
    if vertex.source is not None:
        return Role.SOURCE
    if vertex.query is not None:
        return Role.QUERY
    return Role.SINK if vertex.sinks else Role.PASS


def _drawn(
    name: str, shape: str, rows: tuple[int, ...], choices: Choices, width: int, visible: Visible, *, moody: bool
) -> Job:
    stream, edges, path = choices.vertices, SHAPES[shape], TablePath.parse(name)
    found = dict.fromkeys(one for edge in edges for one in edge) or ["A"]
    names = sorted(found, key=lambda one: (one in SINKS, one not in SOURCES))  # senders come first
    if len(names) > 4:
        width = min(width, WIDTHS_OF_LARGE[width])
    channels = [PlannedChannel(f"{name}-{a}>{name}-{b}", f"{name}-{a}", f"{name}-{b}", path) for a, b in edges]
    of_sources = [one for one in names if one in SOURCES]
    vertices, roles, levels = [], {}, {}
    for one in names:
        vertex = f"{name}-{one}"
        level = stream.pick(LEVELS) if moody else Determinism.DETERMINATE
        role, guarantee = _role(one, stream), stream.pick(GUARANTEES)
        if role in (Role.SINK, Role.RETRY):
            level = Determinism.DETERMINATE
        nodes: tuple[TableNode, ...] = (_transform(vertex, name, level),)
        if role is Role.SINK:
            nodes = (_sink(vertex, name, visible, guarantee),)
        elif role is Role.SOURCE:
            mine = rows[of_sources.index(one) :: len(of_sources)]
            fused = () if edges else (_sink(vertex, name, visible, guarantee),)
            nodes = (_source(vertex, mine, level), *fused)
        inputs = tuple(channel for channel in channels if channel.receiver == vertex)
        outputs = tuple(channel for channel in channels if channel.sender == vertex)
        own = max(1, width - stream.pick((0, 0, 0, 1)))
        loop = _loop(vertex, path) if role is Role.RETRY else None
        vertices.append(PlannedVertex(vertex, nodes, inputs, outputs, own, loop))
        roles[vertex], levels[vertex] = role, VertexDeterminism[level.name]
    return Job(shape, Pipeline(f"p-{name}", name, tuple(vertices)), roles, levels)


def _loop(vertex: str, path: TablePath) -> PlannedRetryLoop:
    return PlannedRetryLoop(PlannedChannel(f"{vertex}>{vertex}", vertex, vertex, path), ROUNDS_MAX)


def _role(letter: str, stream: Stream) -> Role:
    inner = stream.pick((Role.PASS, Role.COUNT))
    join = stream.pick((Role.COUNT, Role.COUNT, Role.COUNT, Role.PASS))
    if letter in SOURCES:
        return Role.SOURCE
    if letter in SINKS:
        return Role.SINK
    if letter == "T":
        return Role.RETRY
    return join if letter in "JG" else inner


def _source(vertex: str, rows: tuple[int, ...], level: Determinism) -> SourceNode:
    return replace(source_node(vertex, ToySource(rows)), capabilities=SourceCapabilities(determinism=level))


def _sink(vertex: str, table: str, visible: Visible, guarantee: Guarantee) -> SinkNode:
    node = sink_node(f"{vertex}-out", table, SimulatedSink(f"{vertex}-out", SimulatedLedger(), visible))
    return replace(node, capabilities=replace(node.capabilities, guarantee=guarantee))


def _transform(vertex: str, table: str, level: Determinism) -> TransformNode:
    return replace(
        filter_node(vertex, table),
        capabilities=TransformCapabilities(determinism=level, cardinality=Cardinality.ONE_TO_ONE),
    )


def _with_sources_that(job: Job, **promises: bool) -> Job:
    vertices = tuple(
        vertex
        if vertex.source is None
        else replace(
            vertex,
            nodes=(
                replace(vertex.source, capabilities=replace(vertex.source.capabilities, **promises)),
                *vertex.nodes[1:],
            ),
        )
        for vertex in job.pipeline.vertices
    )
    return replace(job, pipeline=replace(job.pipeline, vertices=vertices))


def _unbounded(job: Job) -> Job:
    return replace(_with_sources_that(job, bounded=False), bounded=False)


def _once(job: Job) -> Job:
    return _with_sources_that(job, replayable=False)


def sources_of(pipeline: Pipeline) -> list[SimulatedSource]:
    """Of all its vertices."""
    return [one.source.source for one in pipeline.vertices if one.source is not None]  # type: ignore[misc]


def resized(job: Job, stream: Stream) -> Job:
    """The same pipeline with another parallelism: of all vertices, or of some."""
    width, alone = stream.between(1, 3), stream.chance(0.3)
    vertices = tuple(
        one if alone and stream.chance(0.5) else replace(one, parallelism=width) for one in job.pipeline.vertices
    )
    return replace(job, pipeline=replace(job.pipeline, vertices=vertices))


def sized_as(job: Job, sizes: Mapping[str, int]) -> Job:
    """The same pipeline with this parallelism of some vertices."""
    vertices = tuple(
        one if one.query is not None else replace(one, parallelism=sizes.get(one.id, one.parallelism))
        for one in job.pipeline.vertices
    )
    return replace(job, pipeline=replace(job.pipeline, vertices=vertices))
