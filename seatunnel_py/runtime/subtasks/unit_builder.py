"""Builds units from the commands of a participant, and the next state of a subtask from results. Pure.

Rules. (1) Units are counted from 0 in the first execution of the first driver. (2) For a source that cannot repeat its
rows, the journal holds the results of units, so that a repeated unit needs no worker. (3) A subtask that has read all
sends an end marker to each of its output channels if a query waits for it. (4) A change of a table's schema stays in
the state of its log until the plan has it. (5) Tables whose targets refuse a change stop first, without a worker. (6) A
log is not confirmed beyond the place from which a table waits, up to the bytes that the source keeps for that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.api.batch import Position
from seatunnel_py.api.log_source import LogSource
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import Split
from seatunnel_py.errors import BEGIN_ANEW
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.topology import VertexDeterminism
from seatunnel_py.protocol.participant.messages import RunUnit, UnitDone
from seatunnel_py.runtime.state.context import PipelineContext
from seatunnel_py.runtime.subtasks.unit_cost import cost_of_slices, cost_of_split
from seatunnel_py.runtime.targets.kept_log import kept_log
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.values import channel_payload
from seatunnel_py.runtime.values.output_ways import OutputWays
from seatunnel_py.runtime.values.schema_alterations import is_planned
from seatunnel_py.runtime.values.split_progress import ReadRange, SplitProgress, reading_of, took_of
from seatunnel_py.runtime.values.subtask_state import State, state_of
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import (
    Budget,
    FailureKind,
    Slice,
    Unit,
    UnitFailure,
    UnitId,
    UnitResult,
    result_from_plain,
    stopped_slice,
)

_UNBOUNDED = Budget(rows=1 << 62, seconds=float("inf"))
REFUSED_BEFORE = UnitFailure(
    FailureKind.FATAL,
    "an earlier driver has stopped the table, for its target refused a change of the schema",
    BEGIN_ANEW,
)
Work = Unit | UnitDone | UnitResult
"""A unit for a worker, or its end, or its result, where no worker is needed."""


@dataclass(frozen=True, slots=True)
class StateStep:
    """The next state of a subtask after a result, with end markers, the range that was read, and whether it has read
    all."""

    state: State
    outputs: tuple[Any, ...] = ()
    taken: Any = None
    ended: bool = False


class UnitBuilder:
    """Builds the units of one subtask. ``splits``: those that it reads, under their current generation; ``confirmed``:
    their positions in the oldest checkpoint that a restore may use. ``prepared``: the decisions of the pipeline."""

    def __init__(
        self, context: PipelineContext, vertex: PlannedVertex, subtask: Subtask, prepared: PreparedPipeline
    ) -> None:
        topology, source = context.graph.topology, vertex.source
        self._context = context
        self._vertex = vertex
        self._subtask = subtask
        self._inputs = topology.inputs(subtask)
        self.outputs = topology.outputs(subtask)
        self._ways = OutputWays(subtask, self.outputs, context.graph.channels, vertex.retry)
        feeding = (vertex.id, *topology.ancestors(vertex.id))
        self._ordered = all(topology.vertex(one).determinism is VertexDeterminism.DETERMINATE for one in feeding)
        self.bounded = source is None or source.capabilities.bounded
        self._replayable = source is None or source.capabilities.replayable
        self.splits: tuple[Split, ...] = ()
        self.confirmed: Mapping[str, Position] = {}
        self._by_id: dict[str, Split] = {}
        self._tables = prepared.tables
        self._held = tuple(prepared.held.values())
        self._refused = {str(path): (path, why) for path, why in prepared.refused.items()} if source else {}

    def deal(self, splits: Sequence[Split]) -> None:
        """Set its splits."""
        self.splits = tuple(splits)
        self._by_id = {split.id: split for split in splits}

    def split(self, name: str) -> Split:
        return self._by_id[name]

    # ---------------------------------------------------------------- units

    def build(self, command: RunUnit, state: State, budget: Callable[[], Budget | None], at: float) -> Work | None:
        """Build the work of a command; None: there is nothing to read for now, or no ``budget``."""
        unit = UnitId(self._vertex.id, command.number, command.epoch - 1, 0, self._subtask.index)
        if command.channel is None or command.batch is None:
            return self._read(unit, command, state, budget, at)
        if channel_payload.is_end(command.batch):
            return self._end(unit, command, state, at)
        slices = channel_payload.slices_of(command.batch, command.channel)
        if self._vertex.query is not None:
            gathered = (*state.gathered, *map(channel_payload.slice_plain, self._named(slices, command.channel)))
            return self._done(command, replace(state, gathered=gathered), at)
        return self._of_slices(unit, slices)

    def _end(self, unit: UnitId, command: RunUnit, state: State, at: float) -> Work:
        ended = replace(state, ended=state.ended + 1)
        if ended.ended < len(self._inputs):
            return self._done(command, ended, at)
        if self._vertex.query is None:
            return self._done(command, ended, at, channel_payload.ending(self.outputs))
        return self._of_slices(unit, tuple(channel_payload.slice_of(one) for one in state.gathered))

    def _of_slices(self, unit: UnitId, slices: tuple[Slice, ...]) -> Unit:
        budget = self._context.settings.budget
        return Unit(unit, slices=slices, budget=budget, cost_seconds=cost_of_slices(slices))

    def _named(self, slices: Sequence[Slice], channel: Channel) -> Sequence[Slice]:
        """Name the channels as in the plan, because queries use these names."""
        name = self._context.graph.channels[channel.edge].id
        return [replace(one, channel=name) for one in slices]

    def _read(
        self, unit: UnitId, command: RunUnit, state: State, budget: Callable[[], Budget | None], at: float
    ) -> Work | None:
        if command.range is not None:
            return self._read_again(unit, command, state, at)
        reading = reading_of(state.reading)
        split = reading.next(self.splits, bounded=self.bounded)
        if split is not None and (refused := self._refused.keys() - set(state.refused)):
            return self._stopping(unit, refused, reading.at.get(split.id))
        if split is not None:
            allowed = budget()
            if allowed is None:
                return None
            return Unit(
                unit, split, reading.at.get(split.id), (), allowed, cost_of_split(split, allowed),
                confirmed=self._confirmed(split),
            )  # fmt: skip
        if not self.bounded:
            return None  # it stays open: there may be more some day
        return self._done(command, state, at, self._end_markers(), ended=True)

    def _confirmed(self, split: Split) -> Position | None:
        """The position that the source may confirm (rule 6)."""
        durable, node = self.confirmed.get(split.id), self._vertex.source
        if not self._held or durable is None or node is None or not isinstance(node.source, LogSource):
            return durable
        return kept_log(node.source, split, durable, self._held).confirmed

    def _read_again(self, unit: UnitId, command: RunUnit, state: State, at: float) -> Work:
        """Build the unit that repeats a range which an earlier execution has read under this number."""
        again = took_of(command.range)
        if again.split is None:
            return self._done(command, state, at)
        split = self._by_id[again.split]
        if again.refused:
            return self._stopping(unit, again.refused, again.end)
        if again.result is not None:
            return replace(result_from_plain(again.result), id=unit)
        if again.rows:
            cost = cost_of_split(split, _UNBOUNDED)
            return Unit(unit, split, again.start, (), _UNBOUNDED, cost, until=again.end, until_rows=again.rows)
        reading = reading_of(state.reading).after(split, again.end, done=again.done, bounded=self.bounded)
        after = replace(state, reading=reading.to_plain(), altered=self._unplanned(state.altered, again.altered))
        return self._done(command, after, at, ended=self._has_read_all(reading))

    def _stopping(self, unit: UnitId, tables: Collection[str], position: Position | None) -> UnitResult:
        """The result of a unit that reads nothing, and stops these tables."""
        slices = []
        for name in sorted(tables):
            path, why = self._refused.get(name) or (TablePath.parse(name), REFUSED_BEFORE)
            slices.append(stopped_slice(self._vertex.id, path, why.message, why.remedy))
        return UnitResult(unit, done=False, next=position, slices=tuple(slices))

    def unit_of(self, result: UnitResult, command: RunUnit) -> Unit:
        """The unit of a result that no worker makes."""
        if command.range is None:
            reading = reading_of(state_of(command.state).reading)
            split = reading.next(self.splits, bounded=self.bounded)
            assert split is not None, "a result is of a split"
            return Unit(result.id, split, reading.at.get(split.id))
        again = took_of(command.range)
        assert again.split is not None, "a result is of a split"
        return Unit(result.id, self._by_id[again.split], again.start)

    def unplanned(self, state: State) -> tuple[SchemaAlteration, ...]:
        """The changes of schemas that the plan of the pipeline does not have: nothing is read before it has them."""
        found = map(SchemaAlteration.from_plain, state.altered)
        return tuple(one for one in found if not is_planned(one, self._tables))

    def ended_splits(self, state: State) -> frozenset[str]:
        """The subtask's splits, if all of them were read to their ends; else none."""
        reading = reading_of(state.reading)
        all_ended = reading.next(self.splits, bounded=False) is None
        return frozenset(reading.ended) if all_ended else frozenset()

    def _unplanned(self, before: Sequence[Any], more: Sequence[Any]) -> tuple[Any, ...]:
        """The changes for the next state: of one table only the last."""
        if not before and not more:
            return ()
        found = {one.path: one for one in map(SchemaAlteration.from_plain, [*before, *more])}
        return tuple(one.to_plain() for one in found.values() if not is_planned(one, self._tables))

    def _has_read_all(self, reading: SplitProgress) -> bool:
        return self.bounded and reading.next(self.splits, bounded=True) is None

    @staticmethod
    def _done(command: RunUnit, state: State, at: float, outputs: Any = (), *, ended: bool = False) -> UnitDone:
        return UnitDone(at, command.epoch, command.number, state.to_plain(), outputs, ended=ended)

    def _end_markers(self) -> Any:
        return channel_payload.ending(self.outputs) if self._context.sends_end_markers else ()

    # ---------------------------------------------------------------- results

    def after(self, unit: Unit, result: UnitResult, state: State, repeats: Any) -> StateStep:
        """Return the step after a result that counts. ``state`` includes its counts already; ``repeats``: the range
        that the unit repeats, if any."""
        again = ReadRange() if repeats is None else took_of(repeats)
        if unit.split is not None:
            reading = reading_of(state.reading).after(unit.split, result.next, done=result.done, bounded=self.bounded)
            ended = self._has_read_all(reading)
            made = None if self._replayable else result.to_plain()
            end = None if result.done else result.next
            rows = result.rows or int(bool(result.slices))  # a table that stops is read again without rows
            altered = result.altered or again.altered
            stopped = (str(one.table) for one in result.slices if one.stopped is not None)
            refused = tuple(name for name in stopped if name in self._refused or name in again.refused)
            taken = ReadRange(unit.split.id, unit.start, end, result.done, rows, made, altered, refused).to_plain()
            last = tuple(self._end_markers()) if ended else ()
            after = replace(
                state, reading=reading.to_plain(), altered=self._unplanned(state.altered, altered),
                refused=(*state.refused, *refused),
            )  # fmt: skip
            return StateStep(after, last, taken, ended)
        if self._vertex.query is not None:
            ended_state = replace(state, gathered=(), ended=state.ended + 1)
            return StateStep(ended_state, tuple(channel_payload.ending(self.outputs)))
        return StateStep(state)

    def outputs_of(self, slices: Sequence[Slice], numbering: str) -> Sequence[tuple[Channel, Any, int, int]]:
        """The batches of these slices, by channel."""
        return self._ways.outputs(slices, ordered=self._ordered, numbering=numbering)
