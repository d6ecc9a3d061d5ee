"""Handles failures of subtasks.

Rules. (FA1) A failure first aborts all pending checkpoints (I24); a vertex that sent changed content counts as
indeterminate from then on (I22). (FA2) A failure after the record that holds everything undoes nothing (F54). (FA3) A
vertex restarts as a whole: a second subtask that fails for the same reason, or a repeated report, costs no further
attempt. (FA4) A unit whose attempts are used up is retried if only that can help, else it fails (FO9).

May not know: the cause of a unit's failure, and which vertices restart together (``recovery.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.protocol.coordinator.checkpoints import Checkpoints
from seatunnel_py.protocol.coordinator.commands import FailUnit, RetryUnit
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.coordinator.events import SubtaskFailed, UnitExhausted
from seatunnel_py.protocol.coordinator.shutdown import Shutdown
from seatunnel_py.protocol.coordinator.startup import Startup
from seatunnel_py.protocol.failover.decisions import distrust
from seatunnel_py.protocol.failover.recovery import Recovery
from seatunnel_py.protocol.model.reasons import Reason


@dataclass(frozen=True, slots=True)
class FailureLimits:
    """``commit_tries``: limit of consecutive tries of a commit, None: no limit; ``endless``: the pipeline does not end
    by itself; ``undroppable``: sinks whose pieces are visible as soon as they are staged."""

    commit_tries: int | None = None
    endless: bool = False
    undroppable: frozenset[str] = frozenset()


NO_LIMITS = FailureLimits()


class Failing:
    """``known``: failures that were handled, by vertex, epoch and reason."""

    def __init__(
        self,
        shared: CoordinatorState,
        beginning: Startup,
        checkpoints: Checkpoints,
        recovery: Recovery,
        ending: Shutdown,
        limits: FailureLimits,
    ) -> None:
        self.beginning = beginning
        self.endless = limits.endless
        self.known: set[tuple[str, int, Reason]] = set()
        self.shared = shared
        self.checkpoints = checkpoints
        self.recovery = recovery
        self.ending = ending

    def failed(self, event: SubtaskFailed) -> None:
        """Handle the failure of a subtask's execution."""
        shared, vertex = self.shared, event.subtask.vertex
        failure = (vertex, event.epoch, event.reason)
        if shared.kept or failure in self.known:
            return
        self.known.add(failure)
        self.checkpoints.abort_all(Reason.RESTARTING, event.at)
        if event.reason is Reason.CONTENT_CHANGED:
            shared.topology = distrust(shared.topology, vertex)
        if not self.recovery.fail(vertex, event.at, event.reason):
            self.ending.end(event.reason, event.at)

    def void(self, at: float) -> None:
        """Restart from a new checkpoint 0, because all positions are void."""
        self.checkpoints.abort_all(Reason.POSITIONS_VOID, at)
        if not self.beginning.void():
            self.ending.end(Reason.POSITIONS_VOID, at)

    def exhausted(self, event: UnitExhausted) -> None:
        """Handle a unit whose attempts are used up."""
        subtask, recovery = event.subtask, self.recovery
        if self.endless and event.retriable and recovery.tries_on(subtask.vertex, event.at, event.reason):
            self.shared.say(RetryUnit(subtask, event.epoch, event.number, recovery.backoff.longest))
        else:
            self.shared.say(FailUnit(subtask, event.epoch, event.number, event.reason))
