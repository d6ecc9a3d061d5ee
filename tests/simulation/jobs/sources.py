"""Sources of the simulated job: splits that are found over time, that readers report, or that are read as of one moment.

Rules. (1) The outside forgets what lies before positions that were confirmed; a unit that asks for it again shows that
they were confirmed too early (I40). (2) A split of one moment cannot be read any more once its generation has died.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from seatunnel_py.api import Enumerator, Plain, Position, SourceTable, Split, TablePath
from seatunnel_py.plan.graph_nodes import SourceNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.work.unit import Unit
from tests.kit.runtime_toys import ToySource
from tests.simulation.jobs.versions import SchemaChanges
from tests.simulation.violation import expect

MORE = "more"
INTERVAL_SECONDS = 0.3


class Finds(StrEnum):
    """How a source comes to its splits."""

    AT_ONCE = "all at the first look"
    OVER_TIME = "one after the other, as time goes by"
    BY_REPORTS = "one after the other, as readers report"
    OF_ONE_MOMENT = "all at the first look, as of one moment"
    IN_RUNS = "one in each run, once the one before has been read to its end"


@dataclass(frozen=True)
class SimulatedSource(ToySource):
    """``changes``: of the schema, if it is a log; ``opened``: enumerators that are not closed; ``forgotten``: by split, up to where; ``dead``: generations."""

    finds: Finds = Finds.AT_ONCE
    changes: SchemaChanges = field(default_factory=SchemaChanges)
    now: Callable[[], float] = lambda: 0.0
    opened: list[Enumerator] = field(default_factory=list)
    forgotten: dict[str, int] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    generations: list[str] = field(default_factory=list)

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        path = tables[0].schema.path
        if self.finds is Finds.IN_RUNS:
            made: _Finding = _InRuns(self, path, state)
        else:
            kind = _Listening if self.finds in (Finds.OVER_TIME, Finds.BY_REPORTS) else _Finding
            made = kind(self, path)
        self.opened.append(made)
        return made

    def reports(self, unit: Unit, *, done: bool) -> tuple[tuple[str, Plain], ...]:
        """The events of the reader of this unit; ``done``: it has read its split to the end."""
        tells = self.finds is Finds.BY_REPORTS or (self.finds is Finds.IN_RUNS and done)
        return ((unit.split.id, MORE),) if tells and unit.split is not None else ()

    def asked(self, unit: Unit) -> None:
        """A unit whose result may count reads this."""
        assert unit.split is not None
        start = int(str(unit.start.value["n"])) if unit.start else 0
        kept = self.forgotten.get(unit.split.id, 0)
        expect(start >= kept, "ConfirmedIsDurable", f"{unit.id} reads from {start}, confirmed up to {kept}")


class _Finding(Enumerator):
    def __init__(self, source: SimulatedSource, path: TablePath) -> None:
        self._source, self._path = source, path
        self._generation = ""
        if source.finds is Finds.OF_ONE_MOMENT:
            self._generation = f"g{len(source.generations)}"
            source.generations.append(self._generation)

    def discover(self) -> Iterable[Split]:
        self._source.state.tell("discover")
        return [self.split(number) for number in range(len(self._source.rows))]

    def split(self, number: int) -> Split:
        return Split(f"s{number}", self._path, rows=self._source.rows[number], generation=self._generation)

    def renew(self, splits: Sequence[Split]) -> Sequence[Split]:
        return [replace(split, generation=self._generation) for split in splits]

    def close(self) -> None:
        expect(self in self._source.opened, "SourcesAreClosed", "an enumerator is closed twice")
        self._source.opened.remove(self)
        self._source.state.tell("close")


class _Listening(_Finding):
    interval = INTERVAL_SECONDS

    def discover(self) -> Iterable[Split]:
        self._source.state.tell("discover")
        found = len(self._source.rows)
        if self._source.finds is Finds.BY_REPORTS:
            found = min(found, 1)
        else:
            found = min(found, 1 + int(self._source.now()))
        return [self.split(number) for number in range(found)]

    def on_reader_event(self, split: Split, event: Plain) -> Iterable[Split]:
        self._source.state.tell("event")
        following = int(split.id.removeprefix("s")) + 1
        return [self.split(following)] if following < len(self._source.rows) else []

    def on_checkpoint_complete(self, positions: Mapping[str, Position]) -> None:
        self._source.state.tell("confirm")
        for split, at in positions.items():
            self._source.forgotten[split] = max(self._source.forgotten.get(split, 0), int(str(at.value["n"])))


class _InRuns(_Finding):
    """A log that is read in runs: a driver that finds a split ended gives out the next one."""

    def __init__(self, source: SimulatedSource, path: TablePath, state: Plain) -> None:
        super().__init__(source, path)
        earlier: Any = state or {}
        self._known = state is not None
        self._run, self._ended = earlier.get("run", 0), earlier.get("ended", False)
        if self._ended:
            self.interval = INTERVAL_SECONDS

    def discover(self) -> Iterable[Split]:
        self._source.state.tell("discover")
        if not self._known:
            self._known = True
            return [self.split(0)]
        if not self._ended or self.interval is None or self._run + 1 == len(self._source.rows):
            return []
        self._run, self._ended, self.interval = self._run + 1, False, None
        return [self.split(self._run)]

    def on_reader_event(self, split: Split, event: Plain) -> Iterable[Split]:
        self._source.state.tell("event")
        self._ended = True
        return []

    def snapshot(self) -> Plain:
        return {"run": self._run, "ended": self._ended}


def with_sources(pipeline: Pipeline, finds: Finds, now: Callable[[], float]) -> Pipeline:
    """The same with sources that come to their splits so."""
    return replace(pipeline, vertices=tuple(_with_source(vertex, finds, now) for vertex in pipeline.vertices))


def _with_source(vertex: PlannedVertex, finds: Finds, now: Callable[[], float]) -> PlannedVertex:
    node = vertex.source
    if node is None:
        return vertex
    old = node.source
    assert isinstance(old, ToySource)
    source = SimulatedSource(old.rows, old.state, finds, now=now)
    return replace(vertex, nodes=(replace(node, source=source), *vertex.nodes[1:]))


def source_of(node: SourceNode) -> SimulatedSource:
    """Of a vertex of a simulated pipeline."""
    assert isinstance(node.source, SimulatedSource)
    return node.source


def opened(pipeline: Pipeline) -> int:
    """How many enumerators of a pipeline are open."""
    sources: list[Any] = [vertex.source.source for vertex in pipeline.vertices if vertex.source is not None]
    return sum(len(source.opened) for source in sources)
