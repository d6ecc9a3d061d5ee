"""Ends a log at a change of a table's schema, so that another machine goes on with a plan for the new schema, and where
a run has read all that it is to read.

Rules. (1) The unit that meets the change ends there, and the source holds the change in its state and reads nothing.
(2) The pipeline stops with a savepoint, like one that a user stops: all rows of the earlier schema are committed before
the target is altered, and no row of the new one is read. (3) Then the steps are planned again for the schemas that the
savepoint's states hold, and another machine begins from it. (4) A savepoint that is refused or fails is requested
again. (5) A driver that is restored from a state with a change begins with the earlier plan, and with (2): its record
may name rows that are not committed. A user's request to stop leads to the same. (6) The new machine reads the log when
a record holds its plan: a restored driver repeats units of the journal under the schemas of its record. (7) At the
savepoint each receiver must have exactly the batches that were sent. A receiver may lack some: barriers have overtaken
batches, a loop holds them, or a restarted sender has yet to repeat them. Then the pipeline begins again with the plan
that it has, and (2) is repeated. The same happens if a target has refused the commit of the savepoint: no record shows
its sink as isolated yet, and a target is altered only after its rows were committed. (8) A log whose splits this driver
has read to their ends stops with a savepoint too, and is done: the next driver goes on from it. Splits that an earlier
driver has ended do not count, for the source is asked for the next one. (9) If the source was taken back by a restart
before such a savepoint, the pipeline begins again, as in (7). (10) A log that tables join or leave reads nothing, and
stops with the savepoint of (2); the other machine begins with the tables of the job (``log_growth.py``). (11) The
decision of a person or a rule about a change takes the place of the policy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from seatunnel_py.api.log_source import FollowedTable
from seatunnel_py.api.schema import TablePath
from seatunnel_py.plan.altered_log import AlteredLog, LogJoin
from seatunnel_py.plan.log_tables import leaving
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.trigger import TriggerKind
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PipelineState
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Operation, OperationKind
from seatunnel_py.runtime.messages.effects import PlanLogAgain
from seatunnel_py.runtime.observe.events import JobEvent, SchemaChanged, TableRefreshed, TargetSwept
from seatunnel_py.runtime.pipeline.closing import Closing
from seatunnel_py.runtime.resume.pipeline_start import StartPlan
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.storage.savepoint_names import END_OF_LOG, SCHEMA_CHANGE
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution
from seatunnel_py.runtime.targets import ruled_changes
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.schema_alterations import pending_in
from seatunnel_py.runtime.values.split_progress import reading_of
from seatunnel_py.runtime.values.subtask_state import state_of

AGAIN_SECONDS = 1.0
_KEEPS = "and its target keeps its rows"
_WILL_JOIN = "to join it where it has stopped"
_AT_ITS_PLACE = "joins the log where it had stopped"


class LogReplanning:
    """Asks for another plan of one pipeline. ``_log``: the vertex that reads its log; ``_asked``: a savepoint is
    requested, or refused for a moment."""

    def __init__(self, state: SharedState, executions: Mapping[Subtask, SubtaskExecution], closing: Closing) -> None:
        self._state = state
        self._executions = executions
        self._closing = closing
        vertices = state.context.pipeline.vertices
        self._log = next((one.id for one in vertices if one.source is not None and one.source.part.is_log), None)
        self._asked = False
        self._ended_before: frozenset[str] = frozenset()
        self._joins: tuple[FollowedTable, ...] = ()
        self._changes_tables = False

    def joins(self, tables: tuple[FollowedTable, ...]) -> None:
        """Let these tables join the log, and let those leave it that the job no longer has (rule 10)."""
        self._joins, self._changes_tables = tables, bool(tables or leaving(self._state.context.pipeline))

    def begins(self, record: CheckpointRecord | None) -> None:
        """Begin from this record; a checkpoint comes first if it has other schemas (rule 6)."""
        if self._log is not None and record is not None:
            self._state.awaits_record = self._changes_tables or not self._is_in(record)
            self._ended_before = self._ended_in(record)

    def completed(self, record: CheckpointRecord) -> bool:
        """Note a durable record. Return whether the log is read from now on."""
        ends = self._state.awaits_record and not self._changes_tables and self._is_in(record)
        if ends:
            self._state.awaits_record = self._asked = False
        return ends

    def _is_in(self, record: CheckpointRecord) -> bool:
        plain: Any = record.plan
        return bool((plain or {}).get("tables") == self._state.plan["tables"])

    def look(self) -> None:
        """Request a savepoint if the log has met a change that the plan does not have, or has ended, or a checkpoint if
        no record has the plan."""
        if self._log is None or self._asked:
            return
        view = self._state.view
        if view is None or view.state is not PipelineState.RUNNING:
            return
        if self._changes_tables:
            self._stop_with(SCHEMA_CHANGE)
            return
        if self._state.awaits_record:
            self._asked = True
            operation = Operation(OperationKind.SCHEMA_CHANGE)
            self._state.to_coordinator(report.OperationRequested(self._state.at, operation))
            return
        runs = self._runs()
        if any(run.unplanned for run in runs):
            self._stop_with(SCHEMA_CHANGE)
            return
        ended = [run.ended_splits for run in runs]
        if all(ended) and frozenset().union(*ended) - self._ended_before:
            self._stop_with(END_OF_LOG)

    def _stop_with(self, savepoint: str) -> None:
        self._asked = True
        self._state.to_coordinator(report.SavepointRequested(self._state.at, savepoint, stop=True))

    def refused(self, savepoint: str) -> None:
        """Request it again after a pause."""
        if savepoint in (SCHEMA_CHANGE, END_OF_LOG, TriggerKind.OPERATION):
            self._state.after((SCHEMA_CHANGE,), AGAIN_SECONDS)

    def look_again(self) -> None:
        """Look again after the pause; a restart may have taken the source back before the change."""
        self._asked = False
        self.look()

    def restarted(self) -> None:
        """Note that the source begins again at a checkpoint: a savepoint that was under way has failed."""
        self._asked = False

    def ended(self, savepoint: str) -> bool:
        """Whether the pipeline has ended to begin again with another plan."""
        newest = self._state.newest
        if self._closing.wish is not None or newest is None:
            return False
        if savepoint == END_OF_LOG and not self.has_ended:
            self._closing.plan_again(None)
            return True
        if savepoint != SCHEMA_CHANGE:
            return False
        again = not self.is_settled or self._has_isolated_since(newest)
        self._closing.plan_again(None if again else self._effect(newest))
        return True

    def _has_isolated_since(self, newest: CheckpointRecord) -> bool:
        """Whether a sink has been isolated that this record still shows as live: its target has refused a commit."""
        view = self._state.view
        return view is not None and view.topology.detached != newest.topology.detached

    @property
    def is_settled(self) -> bool:
        """Whether each receiver has exactly the batches that were sent, in the newest record. Isolated sinks do not
        count: their recovery reads the batches."""
        newest = self._state.newest
        if newest is None:
            return True
        snapshots = newest.snapshots
        return not any(
            snapshots[one.receiver].channel_state.get(one, ())
            or snapshots[one.receiver].applied.get(one, 0) != snapshots[one.sender].sent.get(one, 0)
            for one in newest.topology.channels
        )

    @property
    def has_ended(self) -> bool:
        """Whether the newest record holds the end of the run (rule 9)."""
        newest, runs = self._state.newest, self._runs()
        ended = frozenset() if newest is None else self._ended_in(newest)
        return {split.id for run in runs for split in run.splits} <= ended and bool(ended - self._ended_before)

    def _runs(self) -> list[SubtaskExecution]:
        return [run for subtask, run in self._executions.items() if subtask.vertex == self._log and run.splits]

    def _ended_in(self, record: CheckpointRecord) -> frozenset[str]:
        states = (one.state for subtask, one in record.snapshots.items() if subtask.vertex == self._log)
        return frozenset(name for one in states for name in reading_of(state_of(one).reading).ended)

    def _effect(self, newest: CheckpointRecord) -> PlanLogAgain:
        assert self._log is not None, "only a log meets changes of schemas"
        prepared = self._state.prepared
        pipeline, tables = self._state.context.pipeline, prepared.tables
        met = pending_in(newest, self._log, tables)
        pending, ruled = ruled_changes.of_met(pipeline, newest, self._log, met, tables, self._state.at)
        decisions = pipeline.decisions
        join = self._join(newest) if self._changes_tables and not pending else None
        decided = {path: one.by(decisions[one.id]) for path, one in prepared.held.items() if one.id in decisions}
        return PlanLogAgain(0, pending, tuple(prepared.refused), join, decided, ruled)

    def _join(self, newest: CheckpointRecord) -> LogJoin:
        assert self._log is not None, "tables join logs only"
        return LogJoin(self._joins, self._state.prepared.begun_log(self._log, newest))


def events_of_start(pipeline: Pipeline, past: EarlierRun, outcome: StartPlan, at: float) -> Iterator[JobEvent]:
    """The events of a start, once its targets were examined."""
    if swept := outcome.prepared.swept:
        yield TargetSwept(pipeline.id, pipeline.name, swept, at)
    if altered := altered_tables(past.altered, outcome.prepared):
        yield SchemaChanged(pipeline.id, pipeline.name, altered, at)
    for one in outcome.refreshed:
        yield TableRefreshed(pipeline.id, pipeline.name, one, at)


def altered_tables(found: AlteredLog | None, prepared: PreparedPipeline) -> tuple[str, ...]:
    """A sentence for each table whose change was accepted, and for each that joins or leaves the log."""
    if found is None:
        return ()
    accepted = [one for one in found.alterations if one.path not in prepared.refused]
    tables = found.joined
    joined, left = ((), ()) if tables is None else (tables.tables, tables.left)
    again = frozenset[TablePath]() if tables is None else tables.again
    copied = "was copied, and " if found.pipeline.follows_copies else ""
    back = frozenset[TablePath]() if tables is None else tables.going_back
    return (
        *(f"{one.path}: {one.shown}; {_effect_on_targets(one.path, found)}" for one in accepted),
        *(f"{one}: it {_AT_ITS_PLACE if one in back else copied + 'joins the log'}" for one in joined),
        *(
            f"{one}: it leaves the log, {_WILL_JOIN if one in back else 'is copied again' if one in again else _KEEPS}"
            for one in left
        ),
    )


def _effect_on_targets(table: TablePath, found: AlteredLog) -> str:
    if table in found.truncated:
        return "its targets are emptied"
    if table in found.altering:
        return "its targets are altered"
    return f"its targets stay as they are{': ' * (table in found.ignored)}{found.ignored.get(table, '')}"
