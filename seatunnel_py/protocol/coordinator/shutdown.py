"""Ends a pipeline: at the end of its input, after a savepoint, or without success.

Rules. (EN1) Success is reported after the last commit is confirmed (I43); so is the end of a stop (I44). (EN2) The
final checkpoint is requested while all sources have ended and no record shows that no batch is left (O1.6). (EN3) Once
everything is in a durable record only commits remain, and no checkpoint is triggered. (EN4) Pending checkpoints are
aborted before the end is reported (I12). (EN5) A newer driver ends this one without further commands (I34). (EN6) A
failed stop restarts the pipeline, because some sources have already stopped emitting at its barrier (LC5).

May not know: why the pipeline failed, and what a commit is.
"""

from __future__ import annotations

from seatunnel_py.protocol.coordinator.checkpoints import Checkpoints
from seatunnel_py.protocol.coordinator.commands import PipelineEnded
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.coordinator.isolation import isolable
from seatunnel_py.protocol.coordinator.trigger import TriggerKind, TriggerRequest
from seatunnel_py.protocol.failover.decisions import FIRST_LEVEL, Level
from seatunnel_py.protocol.failover.isolated_recovery import finishing
from seatunnel_py.protocol.failover.recovery import Recovery
from seatunnel_py.protocol.model.lifecycle import PipelineEvent, PipelineState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind


class Shutdown:
    """Checks after each event whether the pipeline can end."""

    def __init__(self, shared: CoordinatorState, checkpoints: Checkpoints, recovery: Recovery) -> None:
        self.shared = shared
        self.checkpoints = checkpoints
        self.recovery = recovery

    def approach(self, at: float) -> None:
        """Request the final checkpoint if all sources have ended, and record that a stop has begun."""
        shared, asked = self.shared, self.checkpoints.asked
        stop = asked.get(TriggerKind.STOP)
        if stop is not None and shared.state is not PipelineState.STOPPING:
            shared.advance(PipelineEvent.STOP)
        if shared.state is PipelineState.RUNNING and shared.all_ended:
            shared.advance(PipelineEvent.SOURCES_ENDED)
        if shared.state is PipelineState.FINISHING and TriggerKind.FINAL not in asked:
            self.checkpoints.request(TriggerRequest(TriggerKind.FINAL, at))

    def give_up_stop(self, at: float) -> bool:
        """Restart everything after a failed stop, beside which nothing is pending (TR8). False: no attempt is left."""
        shared = self.shared
        shared.stop_failed = False
        if self.recovery.under_way:
            self.recovery.failed.update(shared.topology.live)
            return True
        return self.recovery.fail_all(at)

    def end_if_confirmed(self) -> None:
        """End with success once the last commit is confirmed."""
        shared = self.shared
        if shared.commits.lag:
            return
        newest = shared.newest
        assert newest is not None, "everything is kept, but in no record"
        final = newest.kind is RecordKind.FINAL
        shared.advance(PipelineEvent.FINAL_CONFIRMED if final else PipelineEvent.SAVEPOINT_CONFIRMED)
        shared.say(PipelineEnded(None, newest.name))

    def goes_on_without(self, scope: str, reason: Reason, at: float) -> bool:
        """Isolate a scope whose commits can never succeed, if the others can go on (CN4)."""
        topology = self.shared.topology
        own = sorted(finishing(topology, scope))
        if FIRST_LEVEL[reason] is not Level.TABLE or not own:
            return False
        if topology.detached.issuperset(own):
            return True
        if not isolable(topology, own[0]):
            return False
        self.checkpoints.abort_all(Reason.RESTARTING, at)
        return self.recovery.fail(own[0], at, reason)

    def end(self, reason: Reason, at: float) -> None:
        """End without success."""
        shared = self.shared
        self.checkpoints.close(at)
        if reason is Reason.FENCED:
            shared.out.clear()
        shared.advance(PipelineEvent.CANCEL if reason is Reason.CANCELLED else PipelineEvent.FAIL)
        shared.say(PipelineEnded(reason, shows_twice=self.recovery.shows_twice))
