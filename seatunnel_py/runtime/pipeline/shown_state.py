"""The state of a pipeline as people see it, and what they are told of it."""

from __future__ import annotations

from collections.abc import Callable

from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.observe.events import FailurePlace, JobEvent, TableChanged, UnitRetried
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.work.unit import UnitFailure


class ShownState:
    """Of one pipeline. ``good``: the number of its newest completed checkpoint; ``started_at``: when it began to wait
    for itself, and for the engine no longer."""

    def __init__(
        self,
        pipeline: Pipeline,
        now: Callable[[], float],
        tell: Callable[[JobEvent], None],
        good: Callable[[], int | None],
    ) -> None:
        self._pipeline = pipeline
        self._now = now
        self._tell = tell
        self._good = good
        self.state = TableState.PENDING
        self.started_at: float | None = None
        self.ended_at: float | None = None

    def replaces(self, before: ShownState) -> None:
        """For people it is the same pipeline."""
        self.started_at, self.state = before.started_at, before.state

    def started(self) -> None:
        """Its time counts from now on."""
        self.started_at = self.started_at or self._now()

    def retrying(
        self, what: str, attempt: int, delay: float, failure: UnitFailure, place: FailurePlace | None = None
    ) -> None:
        """Something will be tried again after a pause."""
        if delay:
            self.change(TableState.RETRYING, failure)
        at, where = self._now(), place or FailurePlace(checkpoint=self._good())
        self._tell(UnitRetried(self._pipeline.id, self._pipeline.name, what, attempt, delay, failure, at, where))

    def change(self, state: TableState, failure: UnitFailure | None = None) -> None:
        """It is in this state now."""
        if self.state is state and not failure:
            return
        self.state = state
        if state.ended:
            self.ended_at = self._now()
        self.tell(failure)

    def tell(self, failure: UnitFailure | None) -> None:
        """Tell people its state, and what has failed."""
        line = self._pipeline
        tables = tuple(map(str, line.tables))
        self._tell(TableChanged(line.id, line.name, self.state, self._now(), failure, tables, self._good()))
