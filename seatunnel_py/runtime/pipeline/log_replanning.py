"""Ends a log at a change of a table's schema, so that another machine goes on with a plan for the new schema.

Rules. (1) The unit that meets the change ends there, and the source holds the change in its state and reads nothing.
(2) The pipeline stops with a savepoint, like one that a user stops: all rows of the earlier schema are committed before
the target is altered, and no row of the new one is read. (3) Then the steps are planned again for the schemas that the
savepoint's states hold, and another machine begins from it, in this driver or in a later one. (4) A savepoint that is
refused or fails is requested again. (5) A request of a user to stop comes first: the next driver begins with (3).
"""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.messages.effects import PlanLogAgain
from seatunnel_py.runtime.pipeline.closing import Closing
from seatunnel_py.runtime.state.phases import PipelinePhase
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution
from seatunnel_py.runtime.values.schema_alterations import pending_in

SCHEMA_CHANGE = "schema change"
"""Name of the savepoint, and of the timer that requests it again."""
AGAIN_SECONDS = 1.0


class LogReplanning:
    """Asks for another plan of one pipeline. ``_asked``: a savepoint is requested or refused for a moment."""

    def __init__(self, state: SharedState, executions: Mapping[Subtask, SubtaskExecution], closing: Closing) -> None:
        self._state = state
        self._executions = executions
        self._closing = closing
        self._log = state.context.pipeline.log
        self._asked = False

    def look(self) -> None:
        """Request the savepoint if the log holds a change that the plan does not have."""
        if self._log is None or self._asked or self._state.phase is not PipelinePhase.RUNNING:
            return
        if any(run.unplanned for subtask, run in self._executions.items() if subtask.vertex == self._log.id):
            self._asked = True
            self._state.to_coordinator(report.SavepointRequested(self._state.at, SCHEMA_CHANGE, stop=True))

    def refused(self, savepoint: str) -> None:
        """Request the savepoint again after a pause."""
        if savepoint == SCHEMA_CHANGE:
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
        if savepoint != SCHEMA_CHANGE or self._closing.wish is not None or newest is None:
            return False
        self._closing.plan_again(self._effect(newest))
        return True

    def _effect(self, newest: CheckpointRecord) -> PlanLogAgain:
        assert self._log is not None, "only a log meets changes of schemas"
        prepared = self._state.prepared
        return PlanLogAgain(0, pending_in(newest, self._log.id, prepared.tables), tuple(prepared.refused))
