"""One subtask while it runs: its participant, the unit under way, and the attempts at it.

Rules. (1) What the participant calls a unit becomes a unit for a worker: for a source the next piece of a split, else
the slices of one batch. Words that something has ended need no worker. (2) A unit waits while a channel behind it is
full; a back-edge never is, nor a channel to a receiver that repeats its journal (I47). (3) A wide query needs its
inputs whole: batches are put aside, and the query runs when the last sender has ended. (4) Attempts at a unit are made
here, the participant hears of the last one only (I7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.batch import Position
from seatunnel_py.api.source import Split
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.protocol.coordinator.events import Progressed
from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import VertexDeterminism
from seatunnel_py.protocol.participant.messages import RunUnit, UnitDone
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.runtime.counts.row_conservation import violation
from seatunnel_py.runtime.counts.row_tallies import RowTally, TallyCounter, tally_of
from seatunnel_py.runtime.counts.state_size import large_state
from seatunnel_py.runtime.observe.events import RowsMoved, StateLarge
from seatunnel_py.runtime.observe.pipeline_status import SubtaskStatus
from seatunnel_py.runtime.pipeline import flow_control
from seatunnel_py.runtime.pipeline.flow_control import PauseReason
from seatunnel_py.runtime.targets.sink_operations import piece_of, piece_plain
from seatunnel_py.runtime.units import error_budget, unit_attempts
from seatunnel_py.runtime.units.unit_cost import cost_of_slices, cost_of_split
from seatunnel_py.runtime.values import channel_payload, full_channels
from seatunnel_py.runtime.values.output_ways import OutputWays
from seatunnel_py.runtime.values.rate_limit import Grant, RateLimit
from seatunnel_py.runtime.values.split_progress import ReadRange, SplitProgress, reading_of, took_of
from seatunnel_py.runtime.values.subtask_state import State, state_of
from seatunnel_py.work.unit import (
    Budget,
    SinkPiece,
    Slice,
    Unit,
    UnitFailure,
    UnitId,
    UnitResult,
    result_from_plain,
)

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineRunner

_UNBOUNDED = Budget(rows=1 << 62, seconds=float("inf"))
IDLE_SECONDS = 0.1  # before an unbounded split that gave nothing is looked at again


class SubtaskRunner:
    """``strays`` are pieces of attempts that failed: staged before the failure, and worth nothing. ``exhausted``: why
    the last attempt at its unit failed, while the coordinator is asked what follows. ``numbering``: since which epoch
    the numbers of its batches mean other rows than before, if they ever did."""

    def __init__(
        self,
        line: PipelineRunner,
        vertex: PlannedVertex,
        participant: Participant,
        splits: Sequence[Split],
        numbering: str,
    ) -> None:
        self.line = line
        self.vertex = vertex
        self.subtask = subtask = participant.subtask
        self.participant = participant
        self.command: RunUnit | None = None
        self.unit: Unit | None = None
        self.held = False
        self.idle = False
        self.exhausted: UnitFailure | None = None
        self._warned = False
        self.strays: list[SinkPiece] = []
        self.numbering = numbering
        self._counting = TallyCounter(vertex)
        self._grant: Grant | None = None
        self.splits: tuple[Split, ...] = ()
        self._by_id: dict[str, Split] = {}
        self._inputs = line.graph.topology.inputs(subtask)
        self.outputs = line.graph.topology.outputs(subtask)
        self._ways = OutputWays(subtask, self.outputs, line.graph.channels, vertex.retry)
        self._ordered = line.graph.topology.vertex(vertex.id).determinism is VertexDeterminism.DETERMINATE
        source = vertex.source
        self._bounded = source is None or source.capabilities.bounded
        self._replayable = source is None or source.capabilities.replayable
        self.reads(splits)

    def tally(self, record: CheckpointRecord | None) -> RowTally:
        """Its sums, as its state knows them; where it had nothing left to do, as ``record`` does."""
        if self.participant.epoch > 0 or record is None or self.subtask not in record.snapshots:
            return tally_of(state_of(self.participant.units.state).tally)
        return tally_of(state_of(record.snapshots[self.subtask].state).tally)

    def positions(self, snapshot: SubtaskSnapshot) -> Mapping[str, Position]:
        """Where its splits stand in this snapshot of it."""
        return reading_of(state_of(snapshot.state).reading).at

    @property
    def journaled(self) -> bool:
        """Whether anybody ever sees how its batches are numbered."""
        return bool(self.outputs)

    # ---------------------------------------------------------------- units

    def run_unit(self, command: RunUnit) -> None:
        """The participant asks for a unit."""
        self.command = command
        self.held = True
        if self.idle:
            self.idle = False
            self.line.after(("idle", self.subtask), IDLE_SECONDS, self.begin_if_room)
        else:
            self.begin_if_room()

    def reads(self, splits: Sequence[Split]) -> None:
        """These are its splits: at the start, and whenever more were found."""
        self.splits = tuple(splits)
        self._by_id = {split.id: split for split in splits}
        self.begin_if_room()

    def split(self, unit: Unit) -> Split | None:
        """The split of this unit as it is read now."""
        return None if unit.split is None else self._by_id[unit.split.id]

    def rest_over(self) -> None:
        """A barrier wants to pass, which it does between units: one that has not begun yet takes nothing."""
        command = self.command
        if self.held and command is not None and command.range is None:
            self.held = False
            self.line.post(self.subtask, self._done(command, state_of(command.state), taken=ReadRange().to_plain()))

    def begin_if_room(self) -> None:
        """Begin the unit that waits, unless a channel behind it is full, there is nothing to read for now, or a source
        has to wait."""
        command = self.command
        if not self.held or command is None or self.full_outputs or self._must_pause():
            return
        self.held = False
        work = self._work(command, state_of(command.state))
        if work is None:
            self.held = True
        elif isinstance(work, UnitResult):
            self.finished(work)
        elif isinstance(work, Unit):
            self.unit = work
            self.line.units.submit(self, work)
        else:
            self.line.post(self.subtask, work)

    @property
    def full_outputs(self) -> tuple[Channel, ...]:
        """Those of its channels that have no room."""
        line = self.line
        capacity = line.settings.channel_capacity
        return full_channels.full(self.outputs, line.graph.topology.back_edges, line.receiver, capacity)

    @property
    def pause(self) -> PauseReason | None:
        """What keeps it from beginning its next unit; None: nothing, or it is no source."""
        if self.vertex.source is None:
            return None
        line, command = self.line, self.command
        return flow_control.pause(
            reads_again=command is not None and command.range is not None,
            lag=line.commit_lag,
            max_uncommitted=line.settings.checkpoint.max_uncommitted,
            exchange_full=bool(self.outputs) and line.segments.full,
        )

    @property
    def status(self) -> SubtaskStatus:
        """For those who look in from outside."""
        reads, at_work = self.vertex.source is not None, self.unit is not None
        return SubtaskStatus(self.subtask, reads, self.held, at_work, self.pause)

    def _must_pause(self) -> bool:
        """Whether it has to wait; what can be done to end that is done."""
        pause = self.pause
        if pause is PauseReason.EXCHANGE:
            self.line.segments.make_room()
        return pause is not None

    def stop(self) -> None:
        """The life is over: what is under way is worth nothing."""
        self.command, self.held, self.idle, self.exhausted = None, False, False, None
        if self.unit is not None:
            self.line.cancel(self.unit.id)
            self.unit = None

    def unnamed(self, record: CheckpointRecord | None) -> tuple[SinkPiece, ...]:
        """What this life, which is over, has staged without its being named by the newest record; told once."""
        commits = () if record is None else record.uncommitted
        named = {one.name for commit in commits for one in commit.pieces}
        strays, self.strays = self.strays, []
        return (*strays, *(piece_of(one) for one in self.participant.pieces if one.name not in named))

    def _work(self, command: RunUnit, state: State) -> Unit | UnitDone | UnitResult | None:
        # Counted from 0: whoever is in the first life of the first driver has nothing to look back at.
        unit = UnitId(self.vertex.id, command.number, command.epoch - 1, 0, self.subtask.index)
        budget = self.line.settings.budget
        if command.channel is None or command.batch is None:
            return self._read(unit, command, state)
        if channel_payload.is_end(command.batch):
            ended = replace(state, ended=state.ended + 1)
            if ended.ended < len(self._inputs):
                return self._done(command, ended)
            if self.vertex.query is None:
                return self._done(command, ended, channel_payload.ending(self.outputs))
            slices = tuple(channel_payload.slice_of(one) for one in state.gathered)
            return Unit(unit, slices=slices, budget=budget, cost_seconds=cost_of_slices(slices))
        slices = channel_payload.slices_of(command.batch, command.channel)
        if self.vertex.query is not None:
            gathered = (*state.gathered, *map(channel_payload.slice_plain, self._named(slices, command.channel)))
            return self._done(command, replace(state, gathered=gathered))
        return Unit(unit, slices=slices, budget=budget, cost_seconds=cost_of_slices(slices))

    def _named(self, slices: Sequence[Slice], channel: Channel) -> Sequence[Slice]:
        """A query knows its inputs by the plan's channels."""
        name = self.line.graph.channels[channel.edge].id
        return [replace(one, channel=name) for one in slices]

    def _read(self, unit: UnitId, command: RunUnit, state: State) -> Unit | UnitDone | UnitResult | None:
        if command.range is not None:
            return self._read_again(unit, command, state)
        reading = reading_of(state.reading)
        split = reading.next(self.splits, bounded=self._bounded)
        if split is not None:
            budget = self._budget()
            if budget is None:
                return None
            return Unit(unit, split, reading.at.get(split.id), (), budget, cost_of_split(split, budget))
        if not self._bounded:
            return None  # it stays open: there may be more some day
        return self._done(command, state, self._last_words(), ended=True)

    @property
    def _limit(self) -> RateLimit | None:
        source = self.vertex.source
        return None if source is None else self.line.world.read_limit(source.step.id)

    @property
    def limited(self) -> bool:
        """Whether its next unit waits for the source's read limit."""
        return self.held and self._grant is not None and not self._grant.rows

    def _budget(self) -> Budget | None:
        """What the next unit may read; None: the source's limit is reached for now."""
        budget, limit = self.line.settings.budget, self._limit
        if limit is None:
            return budget
        self._grant = limit.ask(self.line.now(), (self.line.key, self.subtask))
        if self._grant.rows:
            return replace(budget, rows=min(budget.rows, self._grant.rows))
        self.line.after(("limit", self.subtask), self._grant.wait, self.begin_if_room)
        return None

    def _was_read(self, result: UnitResult) -> None:
        """A unit has used its budget, or more, or less."""
        limit, grant = self._limit, self._grant
        if limit is not None and grant is not None:
            limit.used(self.line.now(), (self.line.key, self.subtask), grant, result.rows, result.bytes)
        self._grant = None

    def _read_again(self, unit: UnitId, command: RunUnit, state: State) -> Unit | UnitDone | UnitResult:
        """What an earlier life has read in its unit of this number."""
        again = took_of(command.range)
        if again.split is None:
            return self._done(command, state)
        split = self._by_id[again.split]
        if again.result is not None:
            self.unit = Unit(unit, split, again.start)
            return replace(result_from_plain(again.result), id=unit)
        if again.rows:
            cost = cost_of_split(split, _UNBOUNDED)
            return Unit(unit, split, again.start, (), _UNBOUNDED, cost, until=again.end, until_rows=again.rows)
        reading = reading_of(state.reading).after(split, again.end, done=again.done, bounded=self._bounded)
        return self._done(command, replace(state, reading=reading.to_plain()), ended=self._has_read_all(reading))

    def _has_read_all(self, reading: SplitProgress) -> bool:
        return self._bounded and reading.next(self.splits, bounded=True) is None

    def _done(
        self, command: RunUnit, state: State, outputs: Any = (), *, ended: bool = False, taken: Any = None
    ) -> UnitDone:
        at, plain = self.line.now(), state.to_plain()
        return UnitDone(at, command.epoch, command.number, plain, outputs, range=taken, ended=ended)

    def _last_words(self) -> Any:
        return channel_payload.ending(self.outputs) if self.line.sends_end_markers else ()

    # ---------------------------------------------------------------- results

    def finished(self, result: UnitResult) -> None:
        """The unit ended by itself."""
        unit, command = self.unit, self.command
        assert unit is not None and command is not None, f"{result.id} was not under way"
        if result.failure is not None:
            self.strays += result.pieces
            self.failed(result.failure)
            return
        state = state_of(command.state)
        added = self._counting.of(result)
        tally = tally_of(state.tally).plus(added)
        state = replace(state, tally=tally.to_plain())
        taken: Any = None
        outputs = list(self._outputs_of(result))
        ended = False
        if unit.split is not None:
            reading = reading_of(state.reading).after(unit.split, result.next, done=result.done, bounded=self._bounded)
            ended = self._has_read_all(reading)
            made = None if self._replayable else result.to_plain()
            end = None if result.done else result.next
            taken = ReadRange(unit.split.id, unit.start, end, result.done, result.rows, made).to_plain()
            state = replace(state, reading=reading.to_plain())
            self.idle = not self._bounded and not result.rows
            self._warn_of_state(unit, end)
            outputs += self._last_words() if ended else ()
        elif self.vertex.query is not None:
            state = replace(state, gathered=(), ended=state.ended + 1)
            outputs += channel_payload.ending(self.outputs)
        wrong = violation(self.vertex, unit, result, added)
        wrong = wrong or self._too_many_bad(tally, ended=ended)
        if wrong is not None:
            self.strays += result.pieces
            self.failed(wrong)
            return
        self.unit = self.command = None
        at = self.line.now()
        done = UnitDone(
            at, command.epoch, command.number, state.to_plain(), tuple(outputs), self._pieces(result), taken, ended
        )
        rows = result.rows if self.vertex.source is not None else 0
        size = sum(piece.piece.bytes for piece in result.pieces)
        self.line.tell(RowsMoved(self.line.id, self.line.pipeline.name, rows, size, at))
        self._was_read(result)  # before the next unit is asked for: that has a grant of its own
        self.line.post(self.subtask, done)
        self.line.segments.made(result.slices)
        self.line.hear(Progressed(at))

    def _too_many_bad(self, tally: RowTally, *, ended: bool) -> UnitFailure | None:
        """Why the unit must not count; ``tally`` are the sums of this subtask with it."""
        line, limits = self.line, self.line.settings.errors
        if limits is None:
            return None
        total, read_all = tally, ended or self.vertex.source is None
        for run in line.subtasks.values():
            if run is not self:
                if run.subtask not in line.left_out:
                    total = total.plus(run.tally(line.newest))
                read_all = read_all and (run.vertex.source is None or run.participant.units.ended)
        return error_budget.exceeded(limits, total, read_all=read_all)

    def _warn_of_state(self, unit: Unit, end: Position | None) -> None:
        assert unit.split is not None, "a source's unit has a split"
        allowed = unit.budget.state_bytes
        large = None if self._warned else large_state(unit.split, end, allowed)
        if large is not None:
            self._warned = True
            self.line.tell(StateLarge(self.line.id, self.line.pipeline.name, *large, allowed, self.line.now()))

    def _pieces(self, result: UnitResult) -> tuple[StagedPiece, ...]:
        """Pieces under names that say who staged them."""
        who = f"{self.line.job.incarnation}.{result.id}"
        return tuple(StagedPiece(f"{who}/{number}", piece_plain(one)) for number, one in enumerate(result.pieces))

    def _outputs_of(self, result: UnitResult) -> Sequence[tuple[Channel, Any, int, int]]:
        return self._ways.outputs(result.slices, ordered=self._ordered, numbering=self.numbering)

    # ---------------------------------------------------------------- attempts

    def again(self) -> None:
        """Its unit's pack was cancelled for another unit's sake: that is no failure of this one."""
        assert self.unit is not None, "no unit was under way"
        self.unit = replace(self.unit, id=replace(self.unit.id, attempt=self.unit.id.attempt + 1))
        self.line.units.submit(self, self.unit)

    def failed(self, failure: UnitFailure) -> None:
        """An attempt failed: try again after a pause, or ask the coordinator what follows (``unit_attempts.py``)."""
        unit_attempts.failed(self, failure)
