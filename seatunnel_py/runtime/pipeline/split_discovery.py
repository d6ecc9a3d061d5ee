"""The enumerators of a pipeline while it runs: asked for more splits, and told what is durable.

Rules. (1) An enumerator does one thing at a time. (2) What was found is durable in the journal, and in every record
from then on, before anybody reads of it (I41). (3) An enumerator hears where the oldest checkpoint stands that can be
gone back to (I40), and only the latest word: one that is slow is not told what is old by now. (4) What may pass is
asked again after the next pause; anything else that keeps splits from being found ends the pipeline, for it would go on
without them. (5) What a reader reports is heard, and what follows is durable, before its unit counts: no checkpoint is
without it, and a unit that is repeated reports again. An enumerator that fails at it fails the unit. (6) A source is
opened again when its enumerator is at nothing (1), which keeps what it has found meanwhile; that another call fails
before is no wonder then, and ends nothing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.batch import Position
from seatunnel_py.api.source import Enumerator, Split
from seatunnel_py.plan.graph_nodes import SourceNode
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.protocol.coordinator.events import PlanGrew
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.storage.journal import found_line
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.runtime.targets.sink_operations import PreparedPipeline, ReopenedSource, as_failure
from seatunnel_py.runtime.values.split_progress import SplitRound, assign_splits
from seatunnel_py.work.unit import FailureKind, UnitFailure, UnitResult

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineRunner

Positions = Mapping[str, Position]


@dataclass(frozen=True, slots=True)
class ReaderReport:
    """What readers report in a unit, and what is to be done with the unit then."""

    result: UnitResult
    counts: Callable[[UnitResult], None]

    def heard(self, _: Any = None) -> None:
        """It was heard, or nobody hears any more."""
        self.counts(self.result)

    def failed(self, failure: UnitFailure) -> None:
        """The unit failed at it: what it staged is worth nothing, and it is tried again as units are."""
        self.counts(replace(self.result, done=False, failure=failure))


class SplitDiscovery:
    """Of one pipeline."""

    def __init__(self, life: PipelineRunner) -> None:
        self._life = life
        self._busy: set[str] = set()
        self._look_due: set[str] = set()
        self._unsent_positions: dict[str, Positions] = {}
        self._sources = {one.id: one.source for one in life.pipeline.vertices if one.source is not None}
        self._unheard: dict[str, deque[ReaderReport]] = defaultdict(deque)
        self._reopen: dict[str, Callable[[], None]] = {}
        self._stood: dict[int, Mapping[str, Positions]] = {}

    def begin(self, record: CheckpointRecord | None) -> None:
        """The pipeline begins, or goes on from ``record``: what the journal alone knows belongs to every later one."""
        if record is not None:
            self._life.hear(PlanGrew(self._life.now(), self._life.plan))
            self._remember(record)
        for vertex in self._enumerators:
            self._look_later(vertex, at_once=record is not None)

    @property
    def _enumerators(self) -> Mapping[str, Enumerator]:
        return self._life.prepared.enumerators

    def reopen(self, vertex: str, then: Callable[[], None]) -> None:
        """Open the source of this vertex again; ``then`` is called when its readers know the splits as they are now."""
        self._reopen[vertex] = then
        self._next(vertex)

    def _grown(self, vertex: str, prepared: PreparedPipeline) -> None:
        """This vertex has more splits, or the same under what is valid now: whoever reads it learns of that."""
        life = self._life
        life.prepared = prepared
        life.hear(PlanGrew(life.now(), life.plan))
        own = [run for run in life.subtasks.values() if run.vertex.id == vertex]
        for run, splits in zip(own, assign_splits(prepared.rounds[vertex], len(own)), strict=True):
            run.reads(splits)

    def completed(self, record: CheckpointRecord) -> None:
        """A record is durable, and older ones may be on their way out of the store."""
        self._remember(record)
        view = self._life.view
        assert view is not None, "a checkpoint without a coordinator"
        for gone in self._stood.keys() - view.completed:
            del self._stood[gone]
        if self._stood:
            self._unsent_positions |= self._stood[min(self._stood)]
        for vertex in list(self._unsent_positions):
            self._next(vertex)

    def _remember(self, record: CheckpointRecord) -> None:
        listening = [name for name, one in self._enumerators.items() if _listens(one)]
        if listening and record.kind is not RecordKind.ZERO:
            self._stood[record.checkpoint] = {name: self._positions(name, record) for name in listening}

    def _positions(self, vertex: str, record: CheckpointRecord) -> Positions:
        found: dict[str, Position] = {}
        for subtask, run in self._life.subtasks.items():
            if subtask.vertex == vertex and subtask in record.snapshots:
                found |= run.positions(record.snapshots[subtask])
        return found

    # ---------------------------------------------------------------- one thing at a time

    def _look_later(self, vertex: str, *, at_once: bool = False) -> None:
        """Whoever goes on has not looked since an earlier driver did."""
        interval = self._enumerators[vertex].interval
        if interval is not None and not self._life.bounded:
            wait = 0.0 if at_once else interval
            self._life.after(("discover", vertex), wait, partial(self._look_due_now, vertex))

    def _look_due_now(self, vertex: str) -> None:
        self._look_due.add(vertex)
        self._next(vertex)

    def _next(self, vertex: str) -> None:
        if vertex in self._busy or self._life.is_over:
            return
        enumerator = self._enumerators[vertex]
        if vertex in self._reopen:
            self._busy.add(vertex)
            opening = partial(
                sink_operations.reopen, self._sources[vertex], enumerator, self._life.prepared.rounds[vertex]
            )
            opened = partial(self._opened, vertex)
            self._life.aside("renew", opening, opened, self._life.give_up, late=partial(self._keep_open, vertex))
        elif vertex in self._unsent_positions:
            tell = partial(_tell, self._sources[vertex], enumerator, self._unsent_positions.pop(vertex))
            self._busy.add(vertex)
            self._life.aside(
                "acknowledge", tell, partial(self._told, vertex), partial(self._not_told, vertex), retried=False
            )
        elif self._unheard[vertex]:
            one = self._unheard[vertex].popleft()
            self._busy.add(vertex)
            hear = partial(_hear, self._sources[vertex], enumerator, self._life.prepared.splits[vertex], one.result)
            self._life.aside("reader event", hear, partial(self._heard, one), one.failed, late=one.heard)
        elif vertex in self._look_due:
            self._look_due.discard(vertex)
            self._busy.add(vertex)
            look = partial(
                _look,
                self._sources[vertex],
                enumerator,
                frozenset(one.id for one in self._life.prepared.splits[vertex]),
            )
            self._life.aside(
                "discover", look, partial(self._found, vertex), partial(self._not_found, vertex), retried=False
            )

    def hears(self, result: UnitResult, counts: Callable[[UnitResult], None]) -> None:
        """A reader of this unit has something to say; then the unit counts, or has failed at it."""
        one = ReaderReport(result, counts)
        if self._life.is_over:
            one.heard()
            return
        self._unheard[result.id.vertex].append(one)
        self._next(result.id.vertex)

    def over(self) -> None:
        """Nobody hears any more; whoever waited for it is let go."""
        for waiting in self._unheard.values():
            while waiting:
                waiting.popleft().heard()

    def _free(self, vertex: str) -> None:
        self._busy.discard(vertex)
        self._next(vertex)

    # ---------------------------------------------------------------- answers

    def _keep_open(self, vertex: str, opened: ReopenedSource) -> None:
        self._life.prepared = self._life.prepared.with_source(vertex, opened)

    def _opened(self, vertex: str, opened: ReopenedSource) -> None:
        self._grown(vertex, self._life.prepared.with_source(vertex, opened))
        self._reopen.pop(vertex)()
        self._free(vertex)

    def _told(self, vertex: str, _: None) -> None:
        self._free(vertex)

    def _not_told(self, vertex: str, failure: UnitFailure) -> None:
        self._life.shown.retrying("acknowledge", 1, 0.0, failure)
        self._free(vertex)

    def _heard(self, one: ReaderReport, found: SplitRound | UnitFailure) -> None:
        vertex = one.result.id.vertex
        if isinstance(found, UnitFailure):
            one.failed(found)
            self._free(vertex)
            return

        def goes_on() -> None:
            one.heard()
            self._free(vertex)

        if found.splits or found.state != self._life.prepared.rounds[vertex][-1].state:
            self._keep(vertex, found, goes_on, one.heard)
        else:
            goes_on()

    def _found(self, vertex: str, found: SplitRound) -> None:
        def goes_on() -> None:
            if not self._life.is_over:
                self._look_later(vertex)
                self._free(vertex)

        if found.splits:
            self._keep(vertex, found, goes_on)
        else:
            goes_on()

    def _keep(
        self, vertex: str, found: SplitRound, then: Callable[[], None], overtaken: Callable[[], None] = lambda: None
    ) -> None:
        """What was found is durable before anybody reads of it (2)."""

        def durable() -> None:
            if not self._life.is_over:
                self._grown(vertex, self._life.prepared.with_round(vertex, found))
            then()

        line = found_line(self._life.key, vertex, len(self._life.prepared.rounds[vertex]), found)
        line |= self._life.references.sealed({"found": line["found"], "state": line["state"]})
        self._life.world.log([line], durable, overtaken)

    def _not_found(self, vertex: str, failure: UnitFailure) -> None:
        if failure.kind is not FailureKind.RETRIABLE and vertex not in self._reopen:
            self._life.give_up(failure)
            return
        self._life.shown.retrying("discover", 1, 0.0, failure)
        self._look_later(vertex)
        self._free(vertex)


def _listens(enumerator: Enumerator) -> bool:
    return type(enumerator).on_checkpoint_complete is not Enumerator.on_checkpoint_complete


def _tell(source: SourceNode, enumerator: Enumerator, positions: Positions) -> None:
    with plugin_calls.attributed(source.step, "on_checkpoint_complete"):
        enumerator.on_checkpoint_complete(positions)


def _hear(
    source: SourceNode, enumerator: Enumerator, splits: Sequence[Split], result: UnitResult
) -> SplitRound | UnitFailure:
    """On another thread: what follows from what was reported, in its order. It never raises, for somebody waits for it,
    also behind the pipeline's end."""
    known = {split.id: split for split in splits}
    found: dict[str, Split] = {}
    try:
        for split, event in result.events:
            tell = partial(enumerator.on_reader_event, known[split], event)
            new = plugin_calls.splits_of(source.step, tell, "on_reader_event")
            found |= {one.id: one for one in new if one.id not in known}
        return SplitRound(tuple(found.values()), plugin_calls.snapshot_of(source.step, enumerator))
    except Exception as error:  # noqa: BLE001 - a plugin's own code runs here
        return as_failure(error)


def _look(source: SourceNode, enumerator: Enumerator, known: frozenset[str]) -> SplitRound:
    """On another thread: what was not known."""
    found = plugin_calls.splits_of(source.step, enumerator.discover)
    return SplitRound(
        tuple(one for one in found if one.id not in known), plugin_calls.snapshot_of(source.step, enumerator)
    )
