"""The state of a pipeline as people see it. It decides nothing."""

from __future__ import annotations

from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.observe.events import TableChanged
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.work.unit import UnitFailure


class ShownState:
    """``started_at``: when the pipeline was admitted and had an engine."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.state = TableState.PENDING
        self.started_at: float | None = None
        self.ended_at: float | None = None

    def replaces(self, before: ShownState) -> None:
        """For people it is the same pipeline."""
        self.started_at, self.state = before.started_at, before.state

    def starts(self, at: float) -> None:
        """Its time counts from now on."""
        self.started_at = self.started_at or at

    def change(
        self, state: TableState, failure: UnitFailure | None, at: float, good: int | None
    ) -> TableChanged | None:
        """It is in this state now; None: that is no news."""
        if self.state is state and not failure:
            return None
        self.state = state
        if state.ended:
            self.ended_at = at
        return self.told(failure, at, good)

    def told(self, failure: UnitFailure | None, at: float, good: int | None) -> TableChanged:
        """The event for people. ``good``: the number of its newest completed checkpoint."""
        line = self._pipeline
        return TableChanged(line.id, line.name, self.state, at, failure, tuple(map(str, line.tables)), good)
