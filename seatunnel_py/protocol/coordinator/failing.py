"""The failures of subtasks, and what a coordinator does about each.

Rules. (FA1) A failure first aborts what is pending (I24), and a vertex that sent content that changed is not trusted
any longer (I22). (FA2) A failure after the record that holds everything undoes nothing (F54). (FA3) A vertex restarts
as a whole: another subtask of it that fails for the same reason, or one that says it again, costs no further attempt.
(FA4) A unit whose attempts are used up is tried on where only that can help, else it fails (FO9).

May not know: what failed in a unit, and who restarts with whom (``recovery.py``).
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
    """``commit_tries``: how often a commit is tried in a row, None: for ever; ``endless``: the pipeline does not end by
    itself; ``undroppable``: sinks whose pieces are visible as soon as they are staged."""

    commit_tries: int | None = None
    endless: bool = False
    undroppable: frozenset[str] = frozenset()


NO_LIMITS = FailureLimits()


class Failing:
    """``known``: failures that were answered, by vertex, epoch and reason."""

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
        """A subtask has failed, and its attempt is over."""
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
        """What was read under a lost snapshot is worth nothing."""
        self.checkpoints.abort_all(Reason.POSITIONS_VOID, at)
        if not self.beginning.void():
            self.ending.end(Reason.POSITIONS_VOID, at)

    def exhausted(self, event: UnitExhausted) -> None:
        """The attempts at a unit are used up."""
        subtask, recovery = event.subtask, self.recovery
        if self.endless and event.retriable and recovery.tries_on(subtask.vertex, event.at, event.reason):
            self.shared.say(RetryUnit(subtask, event.epoch, event.number, recovery.backoff.longest))
        else:
            self.shared.say(FailUnit(subtask, event.epoch, event.number, event.reason))
