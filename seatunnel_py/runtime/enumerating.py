"""The enumerators of a pipeline while it runs: asked for more splits, and told what is durable.

Rules. (1) An enumerator does one thing at a time. (2) What was found is durable in the journal, and in every record
from then on, before anybody reads of it (I41). (3) An enumerator hears where the oldest checkpoint stands that can be
gone back to (I40), and only the latest word: one that is slow is not told what is old by now. (4) What may pass is
asked again after the next pause; anything else that keeps splits from being found ends the pipeline, for it would go on
without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from seatunnel_py.api.batch import Position
from seatunnel_py.api.source import Enumerator, Split
from seatunnel_py.protocol.coordinator_events import PlanGrew
from seatunnel_py.protocol.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.effects import Prepared
from seatunnel_py.runtime.reading import Round, deal
from seatunnel_py.runtime.unit_journal import found_line
from seatunnel_py.work.unit import FailureKind, UnitFailure

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline_life import PipelineLife

Positions = Mapping[str, Position]


class Enumerating:
    """Of one pipeline."""

    def __init__(self, life: PipelineLife) -> None:
        self._life = life
        self._busy: set[str] = set()
        self._look_due: set[str] = set()
        self._untold: dict[str, Positions] = {}
        self._stood: dict[int, Mapping[str, Positions]] = {}

    def begin(self, record: CheckpointRecord | None) -> None:
        """The pipeline begins, or goes on from ``record``: what the journal alone knows belongs to every later one."""
        if record is not None:
            self._life.hear(PlanGrew(self._life.now(), self._life.prepared.to_plain()))
            self._remember(record)
        for vertex in self._enumerators:
            self._look_later(vertex)

    @property
    def _enumerators(self) -> Mapping[str, Enumerator]:
        return self._life.prepared.enumerators

    def grown(self, vertex: str, prepared: Prepared) -> None:
        """This vertex has more splits, or the same under what is valid now: whoever reads it learns of that."""
        life = self._life
        life.prepared = prepared
        life.hear(PlanGrew(life.now(), prepared.to_plain()))
        own = [run for run in life.subtasks.values() if run.vertex.id == vertex]
        for run, splits in zip(own, deal(prepared.rounds[vertex], len(own)), strict=True):
            run.reads(splits)

    def completed(self, record: CheckpointRecord) -> None:
        """A record is durable, and older ones may be on their way out of the store."""
        self._remember(record)
        coordinator = self._life.coordinator
        assert coordinator is not None, "a checkpoint without a coordinator"
        for gone in self._stood.keys() - coordinator.checkpoints.completed.keys():
            del self._stood[gone]
        if self._stood:
            self._untold |= self._stood[min(self._stood)]
        for vertex in list(self._untold):
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

    def _look_later(self, vertex: str) -> None:
        interval = self._enumerators[vertex].interval
        if interval is not None and not self._life.bounded:
            self._life.after(("discover", vertex), interval, partial(self._look_due_now, vertex))

    def _look_due_now(self, vertex: str) -> None:
        self._look_due.add(vertex)
        self._next(vertex)

    def _next(self, vertex: str) -> None:
        if vertex in self._busy or self._life.is_over:
            return
        enumerator = self._enumerators[vertex]
        if vertex in self._untold:
            tell = partial(enumerator.on_checkpoint_complete, self._untold.pop(vertex))
            self._busy.add(vertex)
            self._life.aside(
                "acknowledge", tell, partial(self._told, vertex), partial(self._not_told, vertex), retried=False
            )
        elif vertex in self._look_due:
            self._look_due.discard(vertex)
            self._busy.add(vertex)
            look = partial(_look, enumerator, frozenset(one.id for one in self._life.prepared.splits[vertex]))
            self._life.aside(
                "discover", look, partial(self._found, vertex), partial(self._not_found, vertex), retried=False
            )

    def _free(self, vertex: str) -> None:
        self._busy.discard(vertex)
        self._next(vertex)

    # ---------------------------------------------------------------- answers

    def _told(self, vertex: str, _: None) -> None:
        self._free(vertex)

    def _not_told(self, vertex: str, failure: UnitFailure) -> None:
        self._life.retrying("acknowledge", 1, 0.0, failure)
        self._free(vertex)

    def _found(self, vertex: str, found: Round) -> None:
        if found.splits:
            number = len(self._life.prepared.rounds[vertex])
            line = found_line(self._life.key, vertex, number, found)
            self._life.world.log([line], partial(self._durable, vertex, found))
        else:
            self._look_later(vertex)
            self._free(vertex)

    def _durable(self, vertex: str, found: Round) -> None:
        if not self._life.is_over:
            self.grown(vertex, self._life.prepared.with_round(vertex, found))
            self._look_later(vertex)
            self._free(vertex)

    def _not_found(self, vertex: str, failure: UnitFailure) -> None:
        if failure.kind is not FailureKind.RETRIABLE:
            self._life.give_up(failure)
            return
        self._life.retrying("discover", 1, 0.0, failure)
        self._look_later(vertex)
        self._free(vertex)


def _listens(enumerator: Enumerator) -> bool:
    return type(enumerator).on_checkpoint_complete is not Enumerator.on_checkpoint_complete


def _look(enumerator: Enumerator, known: frozenset[str]) -> Round:
    """On another thread: what was not known."""
    found: dict[str, Split] = {split.id: split for split in enumerator.discover() if split.id not in known}
    return Round(tuple(found.values()), enumerator.snapshot())
