"""Divides the graph into pipelines and vertices: nodes that fail together, and nodes that run as one function.

Rules. (1) Nodes joined by an edge are in one pipeline. (2) So are all tables of a source whose tables are not
independent, and all tables of a sink that spans tables. The log of a source begins when its tables are copied. (3) A
vertex is a chain. A chain starts at a source, after a fan-out or a log of several tables, or at a wide query, and takes
in every node that reads exactly one stream with no other reader. A sink fed by several chains is part of each of them,
for its committer brings their pieces together. (4) Channels connect the chains. (5) A step whose rejected rows come
back to it is a vertex of its own, with a back-edge. The output of such a vertex is invisible before its unit has ended,
so that another attempt may reject other rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.schema_policy import SchemaBehavior
from seatunnel_py.api.source import ReadContext
from seatunnel_py.plan.change_rules import ChangeRule
from seatunnel_py.plan.graph_nodes import (
    FlowGraph,
    GraphEdge,
    SinkNode,
    SourceNode,
    SourcePart,
    SqlNode,
    TableNode,
    TransformNode,
)


@dataclass(frozen=True, slots=True)
class PlannedChannel:
    """The rows of one table from one vertex to another."""

    id: str
    sender: str
    receiver: str
    table: TablePath
    name: str = ""


@dataclass(frozen=True, slots=True)
class PlannedRetryLoop:
    """Rejected rows come back to the step along ``channel``, the back-edge, at most so many ``times``."""

    channel: PlannedChannel
    times: int


@dataclass(frozen=True, slots=True)
class PlannedVertex:
    """The unit of restart. ``head`` is its first node if that is a source or a wide query; a vertex after a channel has
    none. ``nodes`` are all of its nodes in topological order, the head included. The back-edge of a ``retry`` is
    neither among its inputs nor its outputs: these lead onwards."""

    id: str
    nodes: tuple[TableNode, ...]
    inputs: tuple[PlannedChannel, ...] = ()
    outputs: tuple[PlannedChannel, ...] = ()
    parallelism: int = 1
    retry: PlannedRetryLoop | None = None

    @property
    def source(self) -> SourceNode | None:
        return self.nodes[0] if isinstance(self.nodes[0], SourceNode) else None

    @property
    def query(self) -> SqlNode | None:
        """The wide query that this vertex is, or None."""
        first = self.nodes[0]
        return first if isinstance(first, SqlNode) and not _fusible(first) else None

    @property
    def sinks(self) -> tuple[SinkNode, ...]:
        return tuple(node for node in self.nodes if isinstance(node, SinkNode))


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A connected component: its own checkpoints, its own retries, its own end. ``name`` is for display: the table that
    it synchronises, or the sink that its tables share. ``after``: the ids of pipelines that end before it begins.
    ``becomes``: the pipeline of a log with the tables that the job has now, as it has begun with others. ``decisions``:
    by change, those about tables of a log that wait; ``rules``: they decide about further changes."""

    id: str
    name: str
    vertices: tuple[PlannedVertex, ...]
    after: tuple[str, ...] = ()
    becomes: Pipeline | None = None
    decisions: Mapping[str, SchemaBehavior] = field(default_factory=dict)
    rules: tuple[ChangeRule, ...] = ()

    @property
    def tables(self) -> tuple[TablePath, ...]:
        """The tables that its sources read."""
        return tuple(table.schema.path for vertex in self.vertices if vertex.source for table in vertex.source.tables)

    @property
    def log_corrects(self) -> bool:
        """Whether the log corrects rows that are copied as of different moments: each sink writes by key, and the log
        is read from the oldest of these moments."""
        return self.copies and all(node.capabilities.keys for node in self.sinks)

    @property
    def copies(self) -> bool:
        """Whether it copies tables that a log follows afterwards."""
        sources = [vertex.source for vertex in self.vertices if vertex.source is not None]
        return bool(sources) and all(one.part is SourcePart.COPY for one in sources)

    @property
    def follows_copies(self) -> bool:
        """Whether it reads a log whose tables are copied first."""
        return self.log is not None and self.log.part is SourcePart.LOG_AFTER_COPY

    @property
    def log(self) -> SourceNode | None:
        """The log that it follows, or None."""
        return next((one for vertex in self.vertices if (one := vertex.source) and one.part.is_log), None)

    @property
    def read_context(self) -> ReadContext:
        """The needs of its steps of the rows of its sources."""
        transforms = [node for one in self.vertices for node in one.nodes if isinstance(node, TransformNode)]
        images = any(node.capabilities.before_images for node in transforms)
        images |= any(node.capabilities.before_images for node in self.sinks)
        names = frozenset(name for node in transforms for name in node.capabilities.metadata)
        return ReadContext(before_images=images, metadata=names)

    @property
    def sinks(self) -> tuple[SinkNode, ...]:
        """The pipeline's sinks, one for each commit scope."""
        found = {node.id: node for vertex in self.vertices for node in vertex.sinks}
        return tuple(found.values())


def divide(graph: FlowGraph) -> tuple[Pipeline, ...]:
    """All pipelines of a job, in the order of their first source table. A source table that reaches no sink is in none
    of them: its rows would never arrive."""
    kept = _kept(graph)
    pipelines = []
    for number, members in enumerate(_components(graph, kept), start=1):
        vertices = _vertices(graph, members)
        pipelines.append(Pipeline(f"p{number}", _name(graph, members), vertices))
    return tuple(replace(one, after=_copies(one, pipelines)) for one in pipelines)


def _copies(pipeline: Pipeline, others: Iterable[Pipeline]) -> tuple[str, ...]:
    """The pipelines that copy the tables of the log that this one follows."""
    steps = {one.step.id for vertex in pipeline.vertices if (one := vertex.source) and one.part.is_log}
    if not steps:
        return ()
    return tuple(one.id for one in others if any(_copies_for(vertex, steps) for vertex in one.vertices))


def _copies_for(vertex: PlannedVertex, steps: set[str]) -> bool:
    source = vertex.source
    return source is not None and source.part is SourcePart.COPY and source.step.id in steps


def unread(graph: FlowGraph, pipelines: Iterable[Pipeline]) -> tuple[TablePath, ...]:
    """The source tables that no pipeline reads, because transforms closed every path from them."""
    read = {vertex.source.id for pipeline in pipelines for vertex in pipeline.vertices if vertex.source}
    sources = [node for node in graph.nodes.values() if isinstance(node, SourceNode)]
    missing = (node for node in sources if node.id not in read and node.part is not SourcePart.LOG_AFTER_COPY)
    return tuple(table.schema.path for node in missing for table in node.tables)


def _kept(graph: FlowGraph) -> dict[str, None]:
    """Nodes downstream of sources that reach a sink, in topological order."""
    useful: set[str] = set()
    for node_id in reversed(graph.nodes):
        if isinstance(graph.nodes[node_id], SinkNode) or any(out.receiver in useful for out in graph.outputs(node_id)):
            useful.add(node_id)
    kept: dict[str, None] = {}
    for node_id, node in graph.nodes.items():
        is_source = isinstance(node, SourceNode)
        if node_id in useful if is_source else any(edge.sender in kept for edge in graph.inputs(node_id)):
            kept[node_id] = None
    return kept


def _components(graph: FlowGraph, kept: Iterable[str]) -> list[list[str]]:
    parent = {node_id: node_id for node_id in kept}

    def root(node_id: str) -> str:
        while parent[node_id] != node_id:
            parent[node_id] = parent[parent[node_id]]
            node_id = parent[node_id]
        return node_id

    def join(group: Iterable[str]) -> None:
        first, *others = group
        for other in others:
            parent[root(other)] = root(first)

    for edge in graph.edges:
        if edge.sender in parent:
            join((edge.sender, edge.receiver))
    shared: dict[str, list[str]] = {}
    for node_id in parent:
        node = graph.nodes[node_id]
        if (isinstance(node, SourceNode) and not node.capabilities.independent_tables) or (
            isinstance(node, SinkNode) and node.capabilities.spans_tables
        ):
            shared.setdefault(node.step.id, []).append(node.id)
    for group in shared.values():
        join(group)
    members: dict[str, list[str]] = {}
    for node_id in parent:
        members.setdefault(root(node_id), []).append(node_id)
    return list(members.values())


def _name(graph: FlowGraph, members: list[str]) -> str:
    sources = [node for node_id in members if isinstance(node := graph.nodes[node_id], SourceNode)]
    if logs := [node.step.id for node in sources if node.part.is_log]:
        return f"log of {logs[0]}"  # a name that stays when tables come and go
    tables = [str(node.table.schema.path) for node in sources]
    return tables[0] if len(tables) == 1 else f"{tables[0]} and {len(tables) - 1} more"


def _fusible(node: TableNode) -> bool:
    """Whether a node can run inside a chain."""
    return not isinstance(node, SqlNode) or (node.analysis.narrow and len(node.inputs) == 1)


def _breaks(graph: FlowGraph, edge: GraphEdge) -> bool:
    """Return True if this edge needs a channel: if the stream has several readers, its reader cannot be fused, its rows
    cannot be read again and have to be kept, or rejected rows come back to one of its ends."""
    readers = [other for other in graph.outputs(edge.sender) if other.table == edge.table]
    sender = graph.nodes[edge.sender]
    once = isinstance(sender, SourceNode) and not sender.capabilities.replayable
    receiver = graph.nodes[edge.receiver]
    looped = _retries(sender) or _retries(receiver)
    shared = isinstance(sender, SourceNode) and len(sender.tables) > 1  # the trouble of a table stays its own
    return once or shared or bool(looped) or len(readers) > 1 or not (_fusible(sender) and _fusible(receiver))


def _retries(node: TableNode) -> int:
    return node.retries if isinstance(node, TransformNode) else 0


def _retry(vertex_id: str, first: TableNode) -> PlannedRetryLoop | None:
    times = _retries(first)
    if not times:
        return None
    assert isinstance(first, TransformNode)
    return PlannedRetryLoop(PlannedChannel(f"{vertex_id}>{vertex_id}", vertex_id, vertex_id, first.table.path), times)


def _vertices(graph: FlowGraph, members: list[str]) -> tuple[PlannedVertex, ...]:
    """The vertices of a pipeline in topological order: senders before receivers."""
    broken = [edge for node_id in members for edge in graph.outputs(node_id) if _breaks(graph, edge)]
    heads: dict[str, list[str]] = {}  # vertex id -> node ids of the chain
    for node_id in members:
        node = graph.nodes[node_id]
        if isinstance(node, SourceNode) or not _fusible(node):
            heads[node_id] = _chain(graph, node_id)
    for edge in broken:
        if edge.receiver not in heads:
            heads[_behind(edge)] = _chain(graph, edge.receiver)
    owner = {node_id: vertex_id for vertex_id, chain in heads.items() for node_id in chain}
    inputs: dict[str, list[PlannedChannel]] = {vertex_id: [] for vertex_id in heads}
    outputs: dict[str, list[PlannedChannel]] = {vertex_id: [] for vertex_id in heads}
    for edge in broken:
        sender, receiver = owner[edge.sender], _receiver(edge, heads)
        channel = PlannedChannel(f"{sender}>{receiver}", sender, receiver, edge.table, edge.name)
        inputs[receiver].append(channel)
        outputs[sender].append(channel)
    return tuple(
        PlannedVertex(
            vertex_id,
            tuple(graph.nodes[node_id] for node_id in heads[vertex_id]),
            tuple(inputs[vertex_id]),
            tuple(outputs[vertex_id]),
            graph.nodes[heads[vertex_id][0]].step.parallelism,
            _retry(vertex_id, graph.nodes[heads[vertex_id][0]]),
        )
        for vertex_id in _ordered(inputs, outputs)
    )


def _ordered(inputs: Mapping[str, list[PlannedChannel]], outputs: Mapping[str, list[PlannedChannel]]) -> list[str]:
    """Vertex ids, senders before receivers; sources keep the order of the job file."""
    missing = {vertex_id: len(channels) for vertex_id, channels in inputs.items()}
    ready = deque(vertex_id for vertex_id, count in missing.items() if not count)
    ordered = []
    while ready:
        vertex_id = ready.popleft()
        ordered.append(vertex_id)
        for channel in outputs[vertex_id]:
            missing[channel.receiver] -= 1
            if not missing[channel.receiver]:
                ready.append(channel.receiver)
    return ordered


def _behind(edge: GraphEdge) -> str:
    """Id of the vertex that starts after a broken edge. A union's sink has one such vertex per input."""
    return f"{edge.receiver}<{edge.sender}"


def _receiver(edge: GraphEdge, heads: Mapping[str, list[str]]) -> str:
    return edge.receiver if edge.receiver in heads else _behind(edge)


def _chain(graph: FlowGraph, start: str) -> list[str]:
    """Return the nodes that run with ``start``, by following every unbroken edge. They form a tree, as a transform may
    have side outputs, except at a sink in which two branches meet again."""
    chain: dict[str, None] = {}
    waiting = deque([start])
    while waiting:
        node_id = waiting.popleft()
        chain[node_id] = None
        waiting += [edge.receiver for edge in graph.outputs(node_id) if not _breaks(graph, edge)]
    return list(chain)
