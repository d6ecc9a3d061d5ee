"""Jobs for tests of the runtime: targets that know what they hold, pipelines of every shape, and honest work.

Rows carry (vertex of the source, split, number), so that what a target shows is compared as a set, in order, and one by
one.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import strategies as st

from seatunnel_py.api import CommitContext, Committer, Piece, Position, Setup, TablePath
from seatunnel_py.api.sink import Visible
from seatunnel_py.errors import FencedError
from seatunnel_py.plan.graph_nodes import SqlNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex
from seatunnel_py.plan.sql.analysis import Analysis, Determinism
from seatunnel_py.work.unit import SinkPiece, Slice, Unit, UnitResult
from tests.kit.runtime_toys import Target, ToySink, ToySource, filter_node, sink_node, source_node, straight

Row: TypeAlias = tuple[str, str, int]  # vertex of the source, split, number
# ---------------------------------------------------------------- targets that know what they hold


@dataclass
class Ledger(Target):
    """Commits by checkpoint, as a real target records them; ``owner``: the newest driver that it has heard of."""

    owner: int = 0
    commits: dict[int, list[Piece]] = field(default_factory=dict)
    dropped: list[list[Piece]] = field(default_factory=list)
    after_abort: list[str] = field(default_factory=list)

    def tell(self, what: str) -> None:
        if self.dropped:
            self.after_abort.append(what)
        super().tell(what)

    def belongs_to(self, driver: int) -> None:
        """FencedError where a newer driver has come (I34)."""
        if driver < self.owner:
            raise FencedError(f"driver {self.owner} owns it")
        self.owner = driver

    @property
    def rows(self) -> list[Row]:
        pieces = [piece for commit in self.commits.values() for piece in commit]
        return [as_row(row) for piece in pieces for row in piece.data["rows"]]  # type: ignore[union-attr]

    @property
    def keeps_what_counts(self) -> bool:
        """Nothing that was committed was dropped: leavings of attempts that failed may be (rule 6 of leftovers)."""
        counted, dropped = (
            {piece.data["unit"] for pieces in each for piece in pieces}  # type: ignore[union-attr]
            for each in (self.commits.values(), self.dropped)
        )
        return counted.isdisjoint(dropped)


def as_row(plain: Any) -> Row:
    vertex, split, number = plain
    return vertex, split, number


@dataclass(frozen=True)
class LedgerSink(ToySink):
    visible: Visible = Visible.COMMITTED

    def plan_setup(self) -> Setup:
        self.state.tell("plan")
        return Setup(visible=self.visible)

    def committer(self) -> Committer:
        return _Committer(self.state, self.visible)  # type: ignore[arg-type]


class _Committer(Committer):
    """Where rows are seen in the end only, all of them are gone when a run is given up."""

    def __init__(self, ledger: Ledger, visible: Visible) -> None:
        self._ledger = ledger
        self._visible = visible

    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        self._ledger.belongs_to(context.incarnation)
        return None

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        self._ledger.tell("commit")
        self._ledger.belongs_to(context.incarnation)
        again = self._ledger.commits.setdefault(context.checkpoint, list(pieces))
        assert again == list(pieces), "the same checkpoint was committed with other pieces"

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        self._ledger.tell("abort")
        if context.final and self._visible is Visible.FINAL:
            self._ledger.belongs_to(context.incarnation)
            self._ledger.dropped += self._ledger.commits.values()
            self._ledger.commits.clear()
        self._ledger.dropped.append(list(pieces))

    def recover(self, context: CommitContext) -> int | None:
        self._ledger.belongs_to(context.incarnation)
        return max(self._ledger.commits, default=None)


# ---------------------------------------------------------------- honest work


def work(
    vertices: Mapping[str, PlannedVertex], exchange: dict[str, list[Row]], unit: Unit, driver: str = ""
) -> UnitResult:
    """What an honest worker gives back. ``exchange`` is where rows lie between vertices; ``driver`` names whose unit it
    is, where several have units of one id."""
    vertex = vertices[unit.id.vertex]
    following, stop = None, 0
    bounded = vertex.source is None or vertex.source.capabilities.bounded
    if unit.split is not None:
        assert unit.split.rows is not None
        start = int(str(unit.start.value["n"])) if unit.start else 0
        stop = min(start + unit.budget.rows, unit.split.rows)
        if unit.until is not None:
            stop = int(str(unit.until.value["n"]))
        rows: list[Row] = [(vertex.id, unit.split.id, number) for number in range(start, stop)]
        following = Position({"n": stop}) if stop < unit.split.rows or not bounded else None
    else:
        rows = [row for one in unit.slices for row in exchange[one.segment]]
    if vertex.query is not None:
        rows.sort()
    plain: Any = list(map(list, rows))
    pieces = tuple(
        SinkPiece(
            node.step.id,
            node.table.path,
            Piece(len(rows), len(rows) * 8, data={"unit": f"{driver}{unit.id}", "rows": plain}),
        )
        for node in vertex.sinks
    )
    slices = _slices(exchange, vertex, rows)
    return UnitResult(unit.id, following is None, following, len(rows), pieces=pieces, slices=slices)


def _slices(exchange: dict[str, list[Row]], vertex: PlannedVertex, rows: list[Row]) -> tuple[Slice, ...]:
    if not (vertex.outputs and rows):
        return ()
    segment = f"mem:{len(exchange)}"
    exchange[segment] = rows
    crc = zlib.crc32(repr(rows).encode())
    return (Slice(vertex.id, 0, vertex.outputs[0].table, segment, 0, len(rows), len(rows) * 8, crc),)


# ---------------------------------------------------------------- pipelines


def query_node(name: str, inputs: Sequence[str]) -> SqlNode:
    head = source_node(name)
    analysis = Analysis(name, (), False, Determinism.DETERMINATE)
    return SqlNode(name, head.step, analysis, tuple((each, head.table.schema) for each in inputs), head.table.schema)


def sink_of(name: str, table: str, visible: Visible) -> Any:
    return sink_node(name, table, LedgerSink(name, Ledger(), visible))


def chain(name: str, rows: tuple[int, ...], parallelism: int, visible: Visible) -> Pipeline:
    return straight(name, ToySource(rows, Target()), LedgerSink(f"{name}-out", Ledger(), visible), parallelism)


def fork(name: str, rows: tuple[int, ...], parallelism: int, sinks: int, visible: Visible) -> Pipeline:
    """Receivers are as parallel as the sender, or not parallel."""
    ids = [f"{name}>{number}" for number in range(sinks)]
    channels = [PlannedChannel(f"c-{each}", name, each, TablePath.parse(name)) for each in ids]
    head = PlannedVertex(name, (source_node(name, ToySource(rows, Target())),), (), tuple(channels), parallelism)
    behind = [
        PlannedVertex(each, (sink_of(f"{each}-out", name, visible),), (channel,), (), parallelism if number % 2 else 1)
        for number, (each, channel) in enumerate(zip(ids, channels, strict=True))
    ]
    return Pipeline(f"p-{name}", name, (head, *behind))


def union(name: str, rows: tuple[int, ...], parallelism: int, visible: Visible) -> Pipeline:
    """Two sources into one sink."""
    sink = sink_of(f"{name}-out", name, visible)
    halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    vertices = tuple(
        PlannedVertex(f"{name}{number}", (source_node(name, ToySource(half, Target())), sink), (), (), parallelism)
        for number, half in enumerate(halves)
    )
    return Pipeline(f"p-{name}", name, vertices)


def query(name: str, rows: tuple[int, ...], parallelism: int, visible: Visible) -> Pipeline:
    """A wide query over two sources, one of them behind a further vertex, and its sink."""
    path = TablePath.parse(name)
    a, b, q, f = f"{name}-a", f"{name}-b", f"{name}-q", f"{name}-f"
    left, middle = PlannedChannel(f"{a}>", a, q, path, "l"), PlannedChannel(f"{b}>", b, f, path)
    right, out = PlannedChannel(f"{f}>", f, q, path, "r"), PlannedChannel(f"{q}>", q, f"{name}-s", path)
    halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    sources = [source_node(name, ToySource(half, Target())) for half in halves]
    vertices = (
        PlannedVertex(a, (sources[0],), (), (left,), parallelism),
        PlannedVertex(b, (sources[1],), (), (middle,), parallelism),
        PlannedVertex(f, (filter_node(f, name),), (middle,), (right,), parallelism),
        PlannedVertex(q, (query_node(q, ["l", "r"]),), (left, right), (out,), parallelism),
        PlannedVertex(f"{name}-s", (sink_of(f"{name}-out", name, visible),), (out,)),
    )
    return Pipeline(f"p-{name}", name, vertices)


@dataclass(frozen=True)
class Shape:
    """A pipeline in few words; ``rows`` of each split."""

    kind: str
    rows: tuple[int, ...]
    parallelism: int
    visible: Visible
    sinks: int = 2

    def build(self, name: str) -> Pipeline:
        if self.kind == "fork":
            return fork(name, self.rows, self.parallelism, self.sinks, self.visible)
        return {"chain": chain, "union": union, "query": query}[self.kind](
            name, self.rows, self.parallelism, self.visible
        )


def shapes_of(*kinds: str) -> st.SearchStrategy[Shape]:
    rows = st.lists(st.integers(1, 30), max_size=4).map(tuple)
    visible = st.sampled_from([Visible.COMMITTED, Visible.FINAL])
    return st.builds(Shape, st.sampled_from(kinds), rows, st.integers(1, 3), visible, st.integers(2, 3))


jobs = st.lists(shapes_of("chain", "fork", "union", "query"), min_size=1, max_size=3)


def built(job: Sequence[Shape]) -> list[Pipeline]:
    return [shape.build(name) for name, shape in zip("xyz", job, strict=False)]


def rows_of(pipeline: Pipeline) -> list[Row]:
    """Every row that the sources of a pipeline hold."""
    found = []
    for vertex in pipeline.vertices:
        if vertex.source is not None:
            assert isinstance(vertex.source.source, ToySource)
            splits = enumerate(vertex.source.source.rows)
            found += [(vertex.id, f"s{split}", number) for split, rows in splits for number in range(rows)]
    return sorted(found)


def ledgers(pipeline: Pipeline) -> dict[str, Ledger]:
    return {node.id: node.sink.state for node in pipeline.sinks}  # type: ignore[attr-defined]


def sources(pipeline: Pipeline) -> list[Target]:
    return [vertex.source.source.state for vertex in pipeline.vertices if vertex.source]  # type: ignore[attr-defined]
