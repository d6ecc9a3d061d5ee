"""Renews splits whose generation is lost while the pipeline runs (a snapshot is lost with its connection).

Rules. (1) If splits may be read as of different moments (``source.consistency = per-split``, or a copy that the log
corrects), they continue at their
positions under the next generation: the source is opened again, and the failed units are tried again. (2) Otherwise the
rows that were read are void: the pipeline ends, and after its last unit another machine replaces it, as in a later
driver (``pipeline_start.py``). (3) Either costs an attempt, so that a snapshot that is always lost ends the table. (4)
One that is to be stopped meanwhile does not begin again (``closing.py``).
"""

from __future__ import annotations

from seatunnel_py.errors import GenerationLostError
from seatunnel_py.runtime.observe.events import ANEW
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.closing import Closing
from seatunnel_py.runtime.pipeline.split_discovery import SplitDiscovery
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution
from seatunnel_py.work.unit import Unit, UnitFailure, UnitId

_LOST = f"{GenerationLostError.__module__}.{GenerationLostError.__qualname__}"


class GenerationRenewal:
    """Renews generations of one pipeline. ``tries``: how often all rows were void in this driver; ``_waiting``: by
    vertex whose source is being opened again, the executions and the units that wait for that."""

    def __init__(self, state: SharedState, discovery: SplitDiscovery, closing: Closing) -> None:
        self._state = state
        self._discovery = discovery
        self._closing = closing
        self.tries = 0
        self._waiting: dict[str, list[tuple[SubtaskExecution, UnitId]]] = {}

    def takes(self, run: SubtaskExecution, failure: UnitFailure) -> bool:
        """Whether the unit of this subtask will be read under the next generation."""
        unit = run.unit
        assert unit is not None, "no unit was under way"
        if failure.error_type != _LOST or unit.split is None or not unit.split.generation:
            return False
        context = self._state.context
        per_split = context.settings.per_split or context.pipeline.log_corrects
        return self._unit(run, unit, failure) if per_split else self._all(failure)

    def _all(self, failure: UnitFailure) -> bool:
        state = self._state
        if self.tries >= state.context.settings.retry.times:
            return False
        self.tries += 1
        state.retrying(ANEW, self.tries, 0.0, failure)
        state.show(TableState.RETRYING, failure)
        self._closing.begin_again(failure)
        return True

    def _unit(self, run: SubtaskExecution, unit: Unit, failure: UnitFailure) -> bool:
        state, name = self._state, run.vertex.id
        if unit.id.attempt >= state.context.settings.retry.times:
            return False
        if name in self._waiting:
            self._waiting[name].append((run, unit.id))
        elif unit.split != run.split(unit):
            run.submit_renewed()  # another unit has found it out before
        else:
            self._waiting[name] = [(run, unit.id)]
            state.retrying("renew", unit.id.attempt + 1, 0.0, failure)
            self._discovery.reopen(name)
        return True

    def reopened(self, vertex: str) -> None:
        """Repeat the waiting units of a vertex, because its source is open again."""
        for run, unit in self._waiting.pop(vertex):
            if run.unit is not None and run.unit.id == unit:  # else its execution has ended meanwhile
                run.submit_renewed()
