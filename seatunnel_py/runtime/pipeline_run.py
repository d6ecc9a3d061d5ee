"""One pipeline while it runs: events in, actions out. The loop performs them; this file touches nothing outside.

Theory. A pipeline is *prepared* (start effects performed, splits found), then its vertices run units until their
input ends, then its sinks *commit*, then it is done. Any failure that attempts cannot mend ends the pipeline, and
only it: units under way are cancelled, what they staged is aborted once the last of them has ended. Preparing and
committing have attempts as units have, where the failure says that another one may help. Whatever ends the pipeline,
nothing of it may still be at work when its last action, ``Abort`` or ``Close``, is given out: one of the two, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

from seatunnel_py.api.sink import Setup
from seatunnel_py.api.source import Enumerator, Split
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.attempts import RetryPolicy
from seatunnel_py.runtime.counts import Counts
from seatunnel_py.runtime.receipt import TableState
from seatunnel_py.runtime.vertex_run import VertexRun
from seatunnel_py.work.unit import (
    Budget,
    FailureKind,
    SinkPiece,
    Slice,
    Unit,
    UnitFailure,
    UnitId,
    UnitResult,
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Outcome of preparing: the sinks' decisions by node id, splits by vertex id, and the enumerators, which stay open
    while their splits are read (one may hold a snapshot that the readers share)."""

    setups: Mapping[str, Setup]
    splits: Mapping[str, tuple[Split, ...]]
    enumerators: tuple[Enumerator, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepare:
    """Perform the start effects and find the splits."""


@dataclass(frozen=True, slots=True)
class Submit:
    unit: Unit


@dataclass(frozen=True, slots=True)
class SubmitLater:
    unit: Unit
    delay_seconds: float
    failure: UnitFailure


@dataclass(frozen=True, slots=True)
class Cancel:
    unit: UnitId


@dataclass(frozen=True, slots=True)
class Commit:
    """Finish the pieces, by commit scope (sink node id)."""

    pieces: Mapping[str, tuple[SinkPiece, ...]]


@dataclass(frozen=True, slots=True)
class AgainLater:
    """Prepare or commit once more after a pause: attempt number ``attempt``, from 0."""

    action: Prepare | Commit
    attempt: int
    delay_seconds: float
    failure: UnitFailure


@dataclass(frozen=True, slots=True)
class Abort:
    """Drop the pieces and close: the pipeline has failed, and nothing of it is under way any more. Pieces of failed
    attempts are among them."""

    pieces: Mapping[str, tuple[SinkPiece, ...]]


@dataclass(frozen=True, slots=True)
class Close:
    """Close the pipeline: it is over, and its pieces are not to be touched."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The pipeline is in another state."""

    state: TableState
    failure: UnitFailure | None = None


Action: TypeAlias = Prepare | Submit | SubmitLater | Cancel | Commit | AgainLater | Abort | Close | Changed


class PipelineRun:
    """The mutable state of one pipeline; changed by the loop's thread only."""

    def __init__(self, pipeline: Pipeline, retry: RetryPolicy, budget: Budget, channel_capacity: int) -> None:
        self.pipeline = pipeline
        self.state = TableState.PENDING
        self.failure: UnitFailure | None = None
        self.setups: Mapping[str, Setup] = {}
        self.enumerators: tuple[Enumerator, ...] = ()
        self.counts = Counts(pipeline)
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.vertices = {vertex.id: VertexRun(vertex, budget, channel_capacity) for vertex in pipeline.vertices}
        self._retry = retry
        self._begun = False
        self._preparing = False
        self._attempt = 0  # at preparing, then at committing
        self._again: AgainLater | None = None
        self._later: set[UnitId] = set()
        self._numbers = {channel.id: count() for vertex in pipeline.vertices for channel in vertex.outputs}

    # ------------------------------------------------------------- events

    def begin(self) -> list[Action]:
        """It is this pipeline's turn."""
        assert not self._begun
        self._begun = self._preparing = True
        return [Prepare()]

    def prepared(self, outcome: Prepared) -> list[Action]:
        """Start effects are done and splits known; nothing more to do when a stop came first."""
        self._preparing = False
        self._attempt = 0
        self.setups = outcome.setups
        self.enumerators = outcome.enumerators
        if self.state.ended:
            return [Abort(self._pieces(strays=True))]
        for vertex_id, splits in outcome.splits.items():
            self.vertices[vertex_id].add_splits(splits)
        return [self._change(TableState.RUNNING), *self._advance()]

    def prepare_failed(self, failure: UnitFailure) -> list[Action]:
        """Preparing undid what it had begun, so that another attempt at it is what another run would be."""
        self._preparing = False
        if self.state.ended:
            return [Close()]
        return self._once_more(Prepare(), failure) or [self._change(TableState.FAILED, failure), Close()]

    def finished(self, result: UnitResult) -> list[Action]:
        """A unit ended by itself."""
        vertex = self.vertices[result.id.vertex]
        if result.failure is not None:
            vertex.strays += result.pieces
            return self._failed_unit(vertex, result.id, result.failure)
        self.counts.add(result)
        vertex.succeeded(result)
        self._hand_on(vertex, result.slices)
        return self._after_unit()

    def lost(self, unit: UnitId, reason: str) -> list[Action]:
        """The unit's worker died without a word."""
        failure = UnitFailure(FailureKind.LOST, f"the worker of unit {unit} was lost: {reason}")
        return self._failed_unit(self.vertices[unit.vertex], unit, failure)

    def due(self, unit: UnitId) -> list[Action]:
        """The pause before another attempt is over."""
        if unit not in self._later:
            return []
        self._later.discard(unit)
        again: list[Action] = [Submit(self.vertices[unit.vertex].running[unit])]
        recovered = self.state is TableState.RETRYING and not self._later
        return [*again, self._change(TableState.RUNNING)] if recovered else again

    def committed(self) -> list[Action]:
        return [self._change(TableState.DONE), Close()]

    def commit_failed(self, failure: UnitFailure) -> list[Action]:
        """Whether the commit reached the target is not known: it may be done again, which has the effect of once, but
        what it names must not be touched (I33)."""
        again = self._once_more(Commit(self._pieces()), failure)
        return again or [self._change(TableState.FAILED, failure), Close()]

    def due_again(self) -> list[Action]:
        """The pause before preparing or committing again is over."""
        again, self._again = self._again, None
        if again is None:
            return []
        self._preparing = isinstance(again.action, Prepare)
        return [again.action]

    def stop(self, failure: UnitFailure) -> list[Action]:
        """End this pipeline, unless its commit is under way: nobody can call that back, and its end is near."""
        if self.state is not TableState.COMMITTING:
            return self.fail(failure, TableState.STOPPED)
        again, self._again = self._again, None
        return [self._change(TableState.FAILED, again.failure), Close()] if again else []

    def fail(self, failure: UnitFailure, state: TableState = TableState.FAILED) -> list[Action]:
        """End this pipeline. What it staged is aborted when its last unit has ended."""
        if self.state.ended:
            return []
        assert self.state is not TableState.COMMITTING
        self._again = None
        waiting = list(self._later)
        self._later.clear()
        for unit in waiting:
            self.vertices[unit.vertex].running.pop(unit)
        running = [unit for vertex in self.vertices.values() for unit in vertex.running]
        changed = self._change(state, failure)
        if running or self._preparing or not self._begun:
            return [changed, *map(Cancel, running)]
        return [changed, Abort(self._pieces(strays=True))]

    # ---------------------------------------------------------- decisions

    def _once_more(self, action: Prepare | Commit, failure: UnitFailure) -> list[Action]:
        delay = self._retry.delay(failure, self._attempt) if failure.kind is FailureKind.RETRIABLE else None
        if delay is None:
            return []
        self._attempt += 1
        self._again = AgainLater(action, self._attempt, delay, failure)
        return [self._again]

    def _failed_unit(self, vertex: VertexRun, unit: UnitId, failure: UnitFailure) -> list[Action]:
        if self.state.ended:
            vertex.running.pop(unit)
            return self._after_unit()
        self.counts.attempt(unit.vertex)
        delay = self._retry.delay(failure, unit.attempt)
        if delay is None:
            vertex.running.pop(unit)
            return self.fail(failure)
        retry = vertex.again(unit)
        self._later.add(retry.id)
        later: list[Action] = [SubmitLater(retry, delay, failure)]
        return [*later, self._change(TableState.RETRYING, failure)] if delay else later

    def _after_unit(self) -> list[Action]:
        if self.state.ended:
            idle = not any(vertex.running for vertex in self.vertices.values())
            return [Abort(self._pieces(strays=True))] if idle else []
        return self._advance()

    def _advance(self) -> list[Action]:
        """Start what may start; commit when everything is done."""
        actions: list[Action] = []
        for vertex in self.vertices.values():
            senders = [self.vertices[channel.sender] for channel in vertex.vertex.inputs]
            if senders and all(sender.done for sender in senders):
                vertex.input_ended = True
            room = not any(self.vertices[channel.receiver].full for channel in vertex.vertex.outputs)
            actions += map(Submit, vertex.next_units(room))
        if not actions and all(vertex.done for vertex in self.vertices.values()):
            actions = [self._change(TableState.COMMITTING), Commit(self._pieces())]
        return actions

    def _hand_on(self, vertex: VertexRun, slices: tuple[Slice, ...]) -> None:
        """Number the batches of each channel: a unit's slices only know their place in their segment."""
        for channel in vertex.vertex.outputs:
            numbers = self._numbers[channel.id]
            self.vertices[channel.receiver].add_slices(
                replace(item, channel=channel.id, sequence=next(numbers))
                for item in slices
                if item.table == channel.table
            )

    def _pieces(self, *, strays: bool = False) -> dict[str, tuple[SinkPiece, ...]]:
        """Pieces by sink node; every sink of the pipeline has an entry, for an empty table is committed as well.
        ``strays`` of failed attempts are never committed."""
        scopes = {(node.step.id, node.table.path): node.id for node in self.pipeline.sinks}
        found: dict[str, list[SinkPiece]] = {node_id: [] for node_id in scopes.values()}
        for vertex in self.vertices.values():
            for piece in [*vertex.pieces, *(vertex.strays if strays else ())]:
                found[scopes[(piece.step, piece.table)]].append(piece)
        return {node_id: tuple(pieces) for node_id, pieces in found.items()}

    def _change(self, state: TableState, failure: UnitFailure | None = None) -> Changed:
        self.state = state
        if state.ended:
            self.failure = failure
        return Changed(state, failure)
