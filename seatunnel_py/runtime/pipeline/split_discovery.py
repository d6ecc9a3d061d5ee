"""Runs the enumerators of a pipeline: asks them for more splits, and confirms durable positions.

Rules. (1) An enumerator does one thing at a time. (2) Splits that were found are durable in the journal, and in every
record from then on, before any reader gets them (I41). (3) An enumerator gets the positions of the oldest checkpoint
that can be restored (I40); for a slow one, newer positions replace those that it has not got yet. Savepoints do not
count if there is a later checkpoint: nothing deletes them, and the source would keep its log since then. (4) A failure
that may pass leads to the next look after the usual pause; any other one ends the pipeline, for it would go on without
these splits. (5) The events of a reader are heard, and the splits that follow are durable, before its unit counts: no
checkpoint is without them, and a unit that is repeated reports again. An enumerator that fails at it fails the unit.
(6) A source is opened again when its enumerator is at nothing (1), which keeps the splits that it has found meanwhile;
that another call fails before is expected then, and ends nothing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import replace

from seatunnel_py.api.batch import Position
from seatunnel_py.api.log_source import LogSource
from seatunnel_py.protocol.coordinator.events import PlanGrew
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.messages.answers import ReopenedRounds, SourceFacts
from seatunnel_py.runtime.messages.effects import ConfirmPositions, Discover, HandleReaderEvents, ReopenSource
from seatunnel_py.runtime.observe.events import LogReleased
from seatunnel_py.runtime.pipeline.closing import Closing
from seatunnel_py.runtime.state.journal_entries import AddRound
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.storage.journal import found_line
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution
from seatunnel_py.runtime.subtasks.unit_table import UnitCounts
from seatunnel_py.runtime.targets.kept_log import kept_log
from seatunnel_py.runtime.values.split_progress import SplitRound, assign_splits
from seatunnel_py.work.unit import FailureKind, UnitFailure, UnitResult

Positions = Mapping[str, Position]


class SplitDiscovery:
    """Discovers splits of one pipeline. ``sources``: the facts of its open enumerators, by vertex."""

    def __init__(self, state: SharedState, executions: Mapping[Subtask, SubtaskExecution], closing: Closing) -> None:
        self._state = state
        self._executions = executions
        self._closing = closing
        self._sources: dict[str, SourceFacts] = {}
        self._busy: set[str] = set()
        self._look_due: set[str] = set()
        self._reopen_due: set[str] = set()
        self._unsent_positions: dict[str, Positions] = {}
        self._reports: dict[str, deque[UnitResult]] = defaultdict(deque)
        self._hearing: dict[str, UnitResult] = {}
        self._stood: dict[int, Mapping[str, Positions]] = {}
        self._savepoints: set[int] = set()

    def opened_sources(self, facts: Mapping[str, SourceFacts]) -> None:
        """Note the open enumerators, by vertex."""
        self._sources = dict(facts)

    def begin(self, record: CheckpointRecord | None) -> None:
        """Start to look for splits. A pipeline that was restored from ``record`` looks at once, and adds the rounds
        that only the journal holds to every later record."""
        if record is not None:
            self._state.to_coordinator(PlanGrew(self._state.at, self._state.plan))
            self._remember(record)
        for vertex in self._sources:
            self._look_later(vertex, at_once=record is not None)

    # ---------------------------------------------------------------- positions

    def completed(self, record: CheckpointRecord) -> None:
        """Note a durable record, and confirm the positions of the oldest one that a restore may use. A record that
        stays for an isolated table of an endless log is none: the table is copied again, or goes on from its own
        place."""
        self._remember(record)
        view = self._state.view
        assert view is not None, "a checkpoint without a coordinator"
        for gone in self._stood.keys() - view.completed:
            del self._stood[gone]
        if self._stood:
            context = self._state.context
            usable = sorted(self._stood.keys() - self._savepoints)
            if self._state.isolated and context.pipeline.log is not None and not context.bounded:
                usable = usable[-context.settings.checkpoint.max_retained :]
            self._confirm(self._stood[min(usable, default=max(self._stood))])
        for vertex in list(self._unsent_positions):
            self._next(vertex)

    def _confirm(self, positions: Mapping[str, Positions]) -> None:
        """Pass positions to the enumerators that take them, and to readers that stay open."""
        for subtask, run in self._executions.items():
            if subtask.vertex in positions:
                run.confirm(positions[subtask.vertex])
                self._report_released(subtask.vertex, positions[subtask.vertex])
        self._unsent_positions |= {name: one for name, one in positions.items() if self._sources[name].listens}

    def _report_released(self, vertex: str, positions: Positions) -> None:
        """Report tables that wait for a decision, and whose log the source does not keep any more."""
        state = self._state
        log, held = state.context.pipeline.log, state.prepared.held.values()
        if log is None or log.id != vertex or not held or not isinstance(log.source, LogSource):
            return
        allowed = log.source.schema_policy.log_bytes_max
        for split in state.prepared.splits[vertex]:
            durable = positions.get(split.id)
            released = () if durable is None else kept_log(log.source, split, durable, held).released
            for one, size in released:
                if one.id not in state.released:
                    state.released[one.id] = one.path
                    line = state.context.pipeline
                    state.tell(LogReleased(line.id, line.name, str(one.path), one.id, size, allowed, state.at))

    def _remember(self, record: CheckpointRecord) -> None:
        listening = [name for name, one in self._sources.items() if one.listens or self._is_log(name)]
        if listening and record.kind is not RecordKind.ZERO:
            self._stood[record.checkpoint] = {name: self._positions(name, record) for name in listening}
            if record.kind is RecordKind.SAVEPOINT:
                self._savepoints.add(record.checkpoint)

    def _is_log(self, vertex: str) -> bool:
        log = self._state.context.pipeline.log
        return log is not None and log.id == vertex

    def _positions(self, vertex: str, record: CheckpointRecord) -> Positions:
        found: dict[str, Position] = {}
        for subtask, run in self._executions.items():
            if subtask.vertex == vertex and subtask in record.snapshots:
                found |= run.positions(record.snapshots[subtask])
        return found

    # ---------------------------------------------------------------- one thing at a time

    def reopen(self, vertex: str) -> None:
        """Open the source of this vertex again."""
        self._reopen_due.add(vertex)
        self._next(vertex)

    def _look_later(self, vertex: str, *, at_once: bool = False) -> None:
        interval = self._sources[vertex].interval
        if interval is not None and not self._state.context.bounded:
            self._state.after(("discover", vertex), 0.0 if at_once else interval)

    def look(self, vertex: str) -> None:
        """Look for more splits."""
        self._look_due.add(vertex)
        self._next(vertex)

    def _next(self, vertex: str) -> None:
        state = self._state
        if vertex in self._busy or state.is_over:
            return
        if vertex in self._reopen_due:
            rounds = state.prepared.rounds[vertex]
            state.call("renew", lambda number: ReopenSource(number, vertex, rounds))
        elif vertex in self._unsent_positions:
            positions = self._unsent_positions.pop(vertex)
            state.call("acknowledge", lambda number: ConfirmPositions(number, vertex, positions), retried=False)
        elif self._reports[vertex]:
            result = self._hearing[vertex] = self._reports[vertex].popleft()
            splits = state.prepared.splits[vertex]
            state.call("reader event", lambda number: HandleReaderEvents(number, vertex, splits, result.events))
        elif vertex in self._look_due:
            self._look_due.discard(vertex)
            known = frozenset(one.id for one in state.prepared.splits[vertex])
            state.call("discover", lambda number: Discover(number, vertex, known), retried=False)
        else:
            return
        self._busy.add(vertex)

    def free(self, vertex: str) -> None:
        """Note that the enumerator of this vertex is idle, and start its next call."""
        self._busy.discard(vertex)
        self._next(vertex)

    # ---------------------------------------------------------------- reader events

    def hears(self, result: UnitResult) -> None:
        """Pass the reader events of this unit to the enumerator. Afterwards the unit counts, or has failed."""
        if self._state.is_over:
            self._count(result)
            return
        self._reports[result.id.vertex].append(result)
        self._next(result.id.vertex)

    def heard(self, vertex: str, found: SplitRound | UnitFailure) -> None:
        """Handle the answer of the enumerator to reader events."""
        result = self._hearing.pop(vertex)
        if self._state.is_over:
            self._count(result)
        elif isinstance(found, UnitFailure):
            self._count(replace(result, done=False, failure=found))
            self.free(vertex)
        elif found.splits or found.state != self._state.prepared.rounds[vertex][-1].state:
            self._keep(vertex, found, result)
        else:
            self._count(result)
            self.free(vertex)

    def over(self) -> Iterator[UnitResult]:
        """Return the units that wait for the enumerator, because the pipeline is over."""
        for waiting in self._reports.values():
            while waiting:
                yield waiting.popleft()

    def _count(self, result: UnitResult) -> None:
        subtask = Subtask(result.id.vertex, result.id.subtask)
        self._state.to_participant(subtask, UnitCounts(result))

    # ---------------------------------------------------------------- answers

    def reopened(self, vertex: str, opened: ReopenedRounds) -> None:
        """Note that a source is open again, and give its readers the renewed splits."""
        self._sources[vertex] = opened.facts
        self._reopen_due.discard(vertex)
        self._grow(vertex, opened.rounds)

    def _grow(self, vertex: str, rounds: tuple[SplitRound, ...]) -> None:
        state = self._state
        state.prepared = replace(state.prepared, rounds={**state.prepared.rounds, vertex: rounds})
        state.to_coordinator(PlanGrew(state.at, state.plan))
        runs = [run for run in self._executions.values() if run.vertex.id == vertex]
        for run, splits in zip(runs, assign_splits(rounds, len(runs)), strict=True):
            run.reads(splits)

    def not_confirmed(self, vertex: str, failure: UnitFailure) -> None:
        """Report that positions could not be confirmed; the next checkpoint confirms them."""
        self._state.retrying("acknowledge", 1, 0.0, failure)
        self.free(vertex)

    def found(self, vertex: str, found: SplitRound) -> None:
        """Handle the splits that the enumerator has found."""
        if found.splits:
            self._keep(vertex, found, None)
        else:
            self._look_later(vertex)
            self.free(vertex)

    def not_found(self, vertex: str, failure: UnitFailure) -> None:
        """Handle a failed search for splits (rule 4)."""
        if failure.kind is not FailureKind.RETRIABLE and vertex not in self._reopen_due:
            self._closing.give_up(failure)
            return
        self._state.retrying("discover", 1, 0.0, failure)
        self._look_later(vertex)
        self.free(vertex)

    def _keep(self, vertex: str, found: SplitRound, report: UnitResult | None) -> None:
        """Write the splits to the journal, before any reader gets them (rule 2)."""
        context = self._state.context
        line = found_line(context.key, vertex, len(self._state.prepared.rounds[vertex]), found)
        line |= context.references.sealed({"found": line["found"], "state": line["state"]})
        self._state.journal([line], AddRound(vertex, found, report))

    def durable(self, entry: AddRound, *, ours: bool) -> None:
        """Continue after the journal entry of splits; without ``ours`` another driver has the journal."""
        vertex = entry.vertex
        if ours and not self._state.is_over:
            self._grow(vertex, (*self._state.prepared.rounds[vertex], entry.found))
        if entry.report is not None:
            self._count(entry.report)
        if not ours or self._state.is_over:
            return
        if entry.report is None:
            self._look_later(vertex)
        self.free(vertex)
