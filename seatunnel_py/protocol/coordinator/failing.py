"""The failures of subtasks, and what a coordinator does about each.

Rules. (FA1) A failure first aborts what is pending (I24), and a vertex that sent content that changed is not trusted
any longer (I22). (FA2) A failure after the record that holds everything undoes nothing (F54).

May not know: what failed in a unit, and who restarts with whom (``recovery.py``).
"""

from __future__ import annotations

from seatunnel_py.protocol.coordinator.checkpoints import Checkpoints
from seatunnel_py.protocol.coordinator.coordinator_state import Shared
from seatunnel_py.protocol.coordinator.events import SubtaskFailed
from seatunnel_py.protocol.coordinator.shutdown import Ending
from seatunnel_py.protocol.failover.decisions import distrust
from seatunnel_py.protocol.failover.recovery import Recovery
from seatunnel_py.protocol.model.reasons import Reason


class Failing:
    """Hands each failure to those who decide about it."""

    def __init__(self, shared: Shared, checkpoints: Checkpoints, recovery: Recovery, ending: Ending) -> None:
        self.shared = shared
        self.checkpoints = checkpoints
        self.recovery = recovery
        self.ending = ending

    def failed(self, event: SubtaskFailed) -> None:
        """A subtask has failed, and its attempt is over."""
        shared, vertex = self.shared, event.subtask.vertex
        if shared.kept:
            return
        self.checkpoints.abort_all(Reason.RESTARTING, event.at)
        if event.reason is Reason.CONTENT_CHANGED:
            shared.topology = distrust(shared.topology, vertex)
        if not self.recovery.fail(vertex, event.at, event.reason):
            self.ending.end(event.reason, event.at)
