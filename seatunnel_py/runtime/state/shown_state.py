"""The state of a pipeline that users see. It decides nothing."""

from __future__ import annotations

from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.observe.events import TableChanged
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.work.unit import UnitFailure


class ShownState:
    """The state of one pipeline. ``started_at``: when the pipeline was admitted and had an engine."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.state = TableState.PENDING
        self.started_at: float | None = None
        self.ended_at: float | None = None

    def replaces(self, before: ShownState) -> None:
        """Take over the state of the pipeline that this one replaces."""
        self.started_at, self.state = before.started_at, before.state

    def starts(self, at: float) -> None:
        """Note the start of the pipeline, once."""
        self.started_at = self.started_at or at

    def change(
        self, state: TableState, failure: UnitFailure | None, at: float, good: int | None
    ) -> TableChanged | None:
        """Change the state. Return the event to report; None: nothing has changed."""
        if self.state is state and not failure:
            return None
        self.state = state
        if state.ended:
            self.ended_at = at
        return self.told(failure, at, good)

    def told(self, failure: UnitFailure | None, at: float, good: int | None) -> TableChanged:
        """Make the event of the current state. ``good``: the number of its newest completed checkpoint."""
        line = self._pipeline
        return TableChanged(line.id, line.name, self.state, at, failure, tuple(map(str, line.tables)), good)
