"""Runs one subtask: its participant, the unit under way, and its next state.

Rules. (1) A unit that the participant asks for becomes a unit for a worker: for a source the next part of a split, else
the slices of one batch. An end marker needs no worker. (2) A unit waits while an output channel is full; a back-edge
never is, nor a channel to a receiver that repeats its journal (I47). (3) A wide query needs its inputs whole: batches
are gathered, and the query runs when the last sender has ended. (4) Attempts at a unit are made outside of the
participant, which hears of the last one only (I7, ``unit_attempts.py``). (5) A log whose position is after a change of
a schema waits for another plan, and for a record of it (``log_replanning.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.api.batch import Position
from seatunnel_py.api.source import Split
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.participant.messages import RunUnit, UnitDone
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.runtime.counts.row_tallies import RowTally, TallyCounter, tally_of
from seatunnel_py.runtime.counts.state_size import large_state
from seatunnel_py.runtime.observe.events import RowsMoved, StateLarge
from seatunnel_py.runtime.observe.pipeline_status import SubtaskStatus
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.subtasks import flow_control
from seatunnel_py.runtime.subtasks.flow_control import PauseReason
from seatunnel_py.runtime.subtasks.segment_retention import SegmentRetention
from seatunnel_py.runtime.subtasks.unit_builder import UnitBuilder
from seatunnel_py.runtime.subtasks.unit_judgement import judged, tally_in
from seatunnel_py.runtime.subtasks.unit_table import UnitTable
from seatunnel_py.runtime.targets.sink_operations import piece_of, piece_plain
from seatunnel_py.runtime.values import full_channels
from seatunnel_py.runtime.values.rate_limit import Grant, RateLimit
from seatunnel_py.runtime.values.split_progress import ReadRange, reading_of
from seatunnel_py.runtime.values.subtask_state import State, state_of
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import Budget, SinkPiece, Unit, UnitFailure, UnitId, UnitResult

IDLE_SECONDS = 0.1  # pause before an unbounded split without new rows is read again


@dataclass(frozen=True, slots=True)
class UnitRepeated:
    """A letter to an execution: its unit needs no worker, for the journal holds its result."""

    result: UnitResult


class SubtaskExecution:
    """The execution of one subtask. ``strays``: pieces of failed attempts, which are dropped; ``exhausted``: the
    failure of the last attempt at its unit, until the coordinator decides; ``epoch``: that of the current execution,
    also while its participant still waits for the journal. ``numbering``: the epoch since which its batch numbers stand
    for other rows, or empty."""

    def __init__(
        self,
        state: SharedState,
        units: UnitTable,
        segments: SegmentRetention,
        vertex: PlannedVertex,
        participant: Participant,
        splits: Sequence[Split],
        numbering: str,
    ) -> None:
        self._state = state
        self._units = units
        self._segments = segments
        self.vertex = vertex
        self.subtask = participant.subtask
        self.participant = participant
        self.epoch = 0
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
        self._builder = UnitBuilder(state.context, vertex, participant.subtask, state.prepared)
        self.outputs = self._builder.outputs
        self.reads(splits)

    def tally(self, record: CheckpointRecord | None) -> RowTally:
        """The counts in its state; if it had nothing left to do, those in ``record``."""
        return tally_in(self.participant, record)

    def positions(self, snapshot: SubtaskSnapshot) -> Mapping[str, Position]:
        """The positions of its splits in this snapshot of it."""
        return reading_of(state_of(snapshot.state).reading).at

    @property
    def journaled(self) -> bool:
        """Whether it has receivers, which depend on its batch numbers."""
        return bool(self.outputs)

    @property
    def splits(self) -> tuple[Split, ...]:
        return self._builder.splits

    # ---------------------------------------------------------------- units

    def run_unit(self, command: RunUnit) -> None:
        """Begin the unit that the participant asks for, as soon as possible."""
        self.command = command
        self.held = True
        if self.idle:
            self.idle = False
            self._state.after(("idle", self.subtask), IDLE_SECONDS)
        else:
            self.begin_if_room()

    def reads(self, splits: Sequence[Split]) -> None:
        """Set its splits: at the start, and whenever more were found."""
        self._builder.deal(splits)
        self.begin_if_room()

    def confirm(self, positions: Mapping[str, Position]) -> None:
        """Note the positions of its splits in the oldest checkpoint that a restore may use: its next units carry
        them."""
        self._builder.confirmed = positions

    def split(self, unit: Unit) -> Split | None:
        """The split of this unit under its current generation."""
        return None if unit.split is None else self._builder.split(unit.split.id)

    def rest_over(self) -> None:
        """Finish a unit that has not begun without rows, so that a barrier can pass between units."""
        command = self.command
        if self.held and command is not None and command.range is None:
            self.held = False
            done = self._done(command, state_of(command.state), taken=ReadRange().to_plain())
            self._state.to_participant(self.subtask, done)

    def begin_if_room(self) -> None:
        """Begin the waiting unit, unless an output channel is full, there is nothing to read for now, or the source has
        to pause."""
        command = self.command
        if not self.held or command is None or self.full_outputs or self._must_pause() or self._awaits_plan:
            return
        work = self._builder.build(command, state_of(command.state), self._budget, self._state.at)
        if work is None:
            return
        self.held = False
        if isinstance(work, Unit):
            self.unit = work
            self._units.submit(self.subtask, work)
        elif isinstance(work, UnitResult):
            self.unit = self._builder.unit_of(work, command)
            self._state.to_participant(self.subtask, UnitRepeated(work))
        else:
            self._state.to_participant(self.subtask, work)

    @property
    def full_outputs(self) -> tuple[Channel, ...]:
        """The subtask's full output channels."""
        if not self.outputs:
            return ()
        state = self._state
        back_edges, capacity = state.context.graph.topology.back_edges, state.context.settings.channel_capacity
        return full_channels.full(self.outputs, back_edges, state.receiver, capacity)

    @property
    def unplanned(self) -> tuple[SchemaAlteration, ...]:
        """Changes of schemas at its position that the plan does not have; it reads nothing before another one has
        them."""
        if self.command is None or self.vertex.source is None or self.command.range is not None:
            return ()  # a range of the journal was read before the change, or without rows
        state = state_of(self.command.state)
        return self._builder.unplanned(state) if state.altered else ()

    @property
    def ended_splits(self) -> frozenset[str]:
        """The splits of a log, if all of them were read to their ends; else none."""
        if self.command is None or self.vertex.source is None or self.command.range is not None:
            return frozenset()
        return self._builder.ended_splits(state_of(self.command.state))

    @property
    def _awaits_plan(self) -> bool:
        """Whether the source must not read on: another plan follows, or no record holds this one."""
        reads_on = self.vertex.source is not None and self.command is not None and self.command.range is None
        return reads_on and (self._state.awaits_record or bool(self.unplanned))

    @property
    def pause(self) -> PauseReason | None:
        """Why this source may not begin its next unit; None: it may, or the subtask is not a source."""
        if self.vertex.source is None:
            return None
        command = self.command
        return flow_control.pause(
            reads_again=command is not None and command.range is not None,
            lag=self._state.commit_lag,
            max_uncommitted=self._state.context.settings.checkpoint.max_uncommitted,
            exchange_full=bool(self.outputs) and self._state.exchange_full,
        )

    @property
    def status(self) -> SubtaskStatus:
        """The status of the subtask, as a value."""
        reads, at_work = self.vertex.source is not None, self.unit is not None
        return SubtaskStatus(self.subtask, reads, self.held, at_work, self.pause)

    def _must_pause(self) -> bool:
        """Whether it has to pause; a pause for space also removes segments."""
        pause = self.pause
        if pause is PauseReason.EXCHANGE:
            self._segments.make_room()
        return pause is not None

    def stop(self) -> None:
        """End the execution, and cancel its unit."""
        self.command, self.held, self.idle, self.exhausted = None, False, False, None
        if self.unit is not None:
            self._state.cancel_retry(self.unit.id)
            self._units.cancel(self.unit.id)
            self.unit = None

    def unnamed(self, record: CheckpointRecord | None) -> tuple[SinkPiece, ...]:
        """Return, once, the pieces of this ended execution that the newest record does not name."""
        commits = () if record is None else record.uncommitted
        named = {one.name for commit in commits for one in commit.pieces}
        strays, self.strays = self.strays, []
        return (*strays, *(piece_of(one) for one in self.participant.pieces if one.name not in named))

    # ---------------------------------------------------------------- read limits

    @property
    def _limit(self) -> RateLimit | None:
        source = self.vertex.source
        return None if source is None else self._state.context.shared.read_limit(source.step.id)

    @property
    def limited(self) -> bool:
        """Whether its next unit waits for the source's read limit."""
        return self.held and self._grant is not None and not self._grant.rows

    def _budget(self) -> Budget | None:
        """The budget of the next unit; None: the source's limit is reached for now."""
        budget, limit = self._state.context.settings.budget, self._limit
        if limit is None:
            return budget
        self._grant = limit.ask(self._state.at, (self._state.context.key, self.subtask))
        if self._grant.rows:
            return replace(budget, rows=min(budget.rows, self._grant.rows))
        self._state.after(("limit", self.subtask), self._grant.wait)
        return None

    def _was_read(self, result: UnitResult) -> None:
        """Charge the rows and bytes of a unit to the read limit."""
        limit, grant = self._limit, self._grant
        if limit is not None and grant is not None:
            key = (self._state.context.key, self.subtask)
            limit.used(self._state.at, key, grant, result.rows, result.bytes)
        self._grant = None

    # ---------------------------------------------------------------- results

    def finished(self, result: UnitResult) -> UnitFailure | None:
        """Take the result of the unit. Return why it does not count; None: it does."""
        unit, command = self.unit, self.command
        assert unit is not None and command is not None, f"{result.id} was not under way"
        if result.failure is not None:
            self.strays += result.pieces
            return result.failure
        added = self._counting.of(result)
        before = state_of(command.state)
        tally = tally_of(before.tally).plus(added)
        state = replace(before, tally=tally.to_plain())
        step = self._builder.after(unit, result, state, command.range)
        wrong = judged(self._state, self.vertex, self.participant, unit, result, added, tally, ended=step.ended)
        if wrong is not None:
            self.strays += result.pieces
            return wrong
        if unit.split is not None:
            self.idle = not self._builder.bounded and not result.rows
            self._warn_of_state(unit, None if result.done else result.next)
        self.unit = self.command = None
        slices = self._builder.outputs_of(result.slices, self.numbering)
        outputs = (*slices, *step.outputs)
        at = self._state.at
        self._tell_rows(result)
        self._was_read(result)  # before the next unit is asked for: that has a grant of its own
        self._state.to_participant(
            self.subtask,
            UnitDone(
                at, command.epoch, command.number, step.state.to_plain(), outputs, self._pieces(result), step.taken,
                step.ended,
            ),
        )  # fmt: skip
        return None

    def _tell_rows(self, result: UnitResult) -> None:
        line = self._state.context.pipeline
        rows = result.rows if self.vertex.source is not None else 0
        size = sum(piece.piece.bytes for piece in result.pieces)
        self._state.tell(RowsMoved(line.id, line.name, rows, size, self._state.at))

    def _warn_of_state(self, unit: Unit, end: Position | None) -> None:
        assert unit.split is not None, "a source's unit has a split"
        allowed, line = unit.budget.state_bytes, self._state.context.pipeline
        large = None if self._warned else large_state(unit.split, end, allowed)
        if large is not None:
            self._warned = True
            self._state.tell(StateLarge(line.id, line.name, *large, allowed, self._state.at))

    def _pieces(self, result: UnitResult) -> tuple[StagedPiece, ...]:
        """Name the pieces by the driver and unit that staged them."""
        who = f"{self._state.context.job.incarnation}.{result.id}"
        return tuple(StagedPiece(f"{who}/{number}", piece_plain(one)) for number, one in enumerate(result.pieces))

    def _done(self, command: RunUnit, state: State, *, taken: Any = None) -> UnitDone:
        return UnitDone(self._state.at, command.epoch, command.number, state.to_plain(), (), range=taken)

    # ---------------------------------------------------------------- attempts

    def try_again(self) -> Unit:
        """Give its unit the number of the next attempt."""
        assert self.unit is not None, "no unit was under way"
        self.unit = replace(self.unit, id=replace(self.unit.id, attempt=self.unit.id.attempt + 1))
        return self.unit

    def submit_again(self) -> None:
        """Submit the next attempt at once, because the last one was not to blame for its end."""
        self._units.submit(self.subtask, self.try_again())

    def submit_renewed(self) -> None:
        """Submit the next attempt at once, with the current generation of its split."""
        unit = self.try_again()
        self.unit = replace(unit, split=self.split(unit))
        self._units.submit(self.subtask, self.unit)

    def submit_if(self, unit: UnitId) -> None:
        """Submit this attempt, because the pause before it is over."""
        if self.unit is not None and self.unit.id == unit:
            self._units.submit(self.subtask, self.unit)


def begin_all(executions: Iterable[SubtaskExecution]) -> None:
    """Begin every unit whose obstacle may be gone."""
    for execution in executions:
        execution.begin_if_room()
