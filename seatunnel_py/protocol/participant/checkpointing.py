"""Handles a checkpoint in one subtask, from the trigger or the first barrier to the acknowledgement.

Rules. (G1) A trigger is a flag that is checked between units (O2.1); a subtask that does not run replies with a cancel
marker, so that no receiver waits (O4.7). (G2) The barrier is sent in the same step as the snapshot is taken, and before
the checkpoint is acknowledged (O4.7). (G3) A cancel marker is forwarded once; the coordinator's abort is not, because
all subtasks get it (I13). (G4) If a replay needs an input that an alignment blocks, the checkpoint is cancelled: it
would wait forever. (G5) A subtask performs the operation of a barrier: STOP ends reading until the checkpoint is
cancelled, SPEED is stored, ISOLATE cuts vertices, ADD connects them again unless the checkpoint is cancelled (O6.2).
(G6) An alignment is timed from the arrival of its first barrier, so that a full queue counts (F19). (G7) A trigger that
arrives while a snapshot waits for the running unit is queued: a newer request does not cancel a checkpoint (O4.10).
Otherwise, with triggers faster than units, none would ever complete, and none would count as failed.

May not know: executions, journals, and the work of a unit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.stream_elements import Barrier, CancelMarker, Operation, OperationKind, Plain
from seatunnel_py.protocol.participant.alignment import Alignment
from seatunnel_py.protocol.participant.messages import Acknowledge, Decline, TimeAlignment, Triggered
from seatunnel_py.protocol.participant.subtask_state import SubtaskState


class SubtaskCheckpoint:
    """Changes the state of one subtask. ``timeout``: seconds; zero or less: an alignment never times out."""

    def __init__(self, state: SubtaskState, timeout: float) -> None:
        self._state = state
        self._timeout = timeout
        self._timed = 0
        """The newest timed checkpoint, also of earlier executions, because ids only grow."""
        self._triggers: deque[Triggered] = deque()
        """Triggers that wait for a due snapshot (G7); those of earlier executions are ignored."""

    def triggered(self, event: Triggered) -> None:
        """Initiate an unknown checkpoint, if the subtask runs."""
        current = self._state.checkpoints.current
        if current is not None and current.due:
            self._triggers.append(event)
        else:
            self._initiate(event)

    def _initiate(self, event: Triggered) -> None:
        alignment = self._join(event.checkpoint, event.operation)
        # An initiator with inputs follows Chandy-Lamport: it cannot have aligned.
        unaligned = event.unaligned or bool(self._state.inputs.channels)
        alignment.cut(self._state.inputs.queues, unaligned=unaligned)

    def barrier(self, channel: Channel, barrier: Barrier) -> None:
        """Cut at an unaligned barrier, close a recording after the cut, or queue the barrier."""
        state = self._state
        if state.checkpoints.is_dead(barrier.checkpoint):
            return
        current = state.checkpoints.under_way(barrier.checkpoint)
        if current is not None and current.has_cut:
            current.arrived(channel)
        elif barrier.unaligned:
            alignment = self._join(barrier.checkpoint, barrier.operation)
            alignment.cut(state.inputs.queues, unaligned=True, arrived=channel)
        else:
            state.inputs.barrier(channel, barrier)
            if self._timeout > 0 and barrier.checkpoint > self._timed:
                self._timed = barrier.checkpoint
                state.say(TimeAlignment(state.subtask, state.epoch, barrier.checkpoint, self._timeout))

    def cancelled(self, marker: CancelMarker) -> None:
        """Cancel a checkpoint whose barrier will not come."""
        if not self._state.checkpoints.is_dead(marker.checkpoint):
            self._state.checkpoints.call_off(marker.checkpoint)
            self._state.emit(self._state.outputs.broadcast(marker))

    def aborted(self, checkpoint: int) -> None:
        """Cancel a checkpoint that the coordinator aborted, and undo its stop."""
        self._state.checkpoints.call_off(checkpoint)
        if self._state.units.stopped_by == checkpoint:
            self._state.units.stopped_by = None
        self._state.shut_out(checkpoint)

    def timed_out(self, checkpoint: int) -> bool:
        """Cut at once after an alignment time-out; a barrier may still be queued. False: too late."""
        checkpoints, inputs = self._state.checkpoints, self._state.inputs
        waiting = inputs.waiting_barrier(checkpoint)
        if (current := checkpoints.under_way(checkpoint)) is not None and not current.has_cut:
            current.cut(inputs.queues, unaligned=True)
        elif checkpoints.current is None and not checkpoints.is_dead(checkpoint) and waiting is not None:
            self._join(checkpoint, waiting.operation).cut(inputs.queues, unaligned=True)
        else:
            return False
        return True

    def refuse(self, checkpoint: int) -> None:
        """Cancel a checkpoint that is impossible now, so that no receiver waits for it. A refusal does not count as a
        failure: otherwise a pipeline with limited failures would never finish a long replay."""
        self._state.checkpoints.call_off(checkpoint)
        self._state.emit(self._state.outputs.broadcast(CancelMarker(checkpoint)))
        self._decline(checkpoint, Reason.NOT_RUNNING)

    def advance(self) -> None:
        """Perform all possible steps: acknowledge, take the snapshot, reach barriers."""
        while self._advance_once():
            pass

    def _advance_once(self) -> bool:
        """Perform one step. A finished checkpoint goes first, so that the next barrier cannot end it."""
        current = self._state.checkpoints.current
        if current is not None and current.complete:
            self._acknowledge()
        elif current is not None and current.due and self._state.units.under_way is None:
            self._snapshot(current)
        elif self._triggers and (current is None or not current.due):
            self._next_trigger()
        else:
            return self._reach_barrier()
        return True

    def _next_trigger(self) -> None:
        """Start the next queued trigger; an aborted or stale one is skipped."""
        state, event = self._state, self._triggers.popleft()
        if event.epoch == state.epoch and not state.checkpoints.is_dead(event.checkpoint):
            self._initiate(event)

    def _reach_barrier(self) -> bool:
        state = self._state
        if (reached := state.inputs.reach_barrier(state.blocked)) is None:
            return False
        channel, barrier = reached
        current = state.checkpoints.under_way(barrier.checkpoint)
        # Swallowed: barriers of dead ids, and those that counted already when the cut was made.
        if not state.checkpoints.is_dead(barrier.checkpoint) and (current is None or not current.has_cut):
            alignment = self._join(barrier.checkpoint, barrier.operation)
            alignment.reached(channel)
            if alignment.all_reached:
                alignment.cut(state.inputs.queues, unaligned=False)
        return True

    def _join(self, checkpoint: int, operation: Operation) -> Alignment:
        """Return the alignment of this checkpoint; starting a new one ends an older one."""
        state = self._state
        if (current := state.checkpoints.under_way(checkpoint)) is not None:
            return current
        gone = _left_out(operation)
        inputs = [channel for channel in state.inputs.live if channel.sender.vertex not in gone]
        alignment = Alignment(checkpoint, operation, inputs, set(inputs) - state.back_edges)
        if (older := state.checkpoints.begin(alignment)) is not None:
            self._decline(older.checkpoint, Reason.SUBSUMED)
        return alignment

    def _snapshot(self, alignment: Alignment) -> None:
        """Freeze the state, forward the barrier and perform its operation, in one step (G2)."""
        state, operation = self._state, alignment.operation
        alignment.snapshot_taken()
        state.freeze(alignment.checkpoint)
        state.emit(state.outputs.broadcast(Barrier(alignment.checkpoint, operation, alignment.unaligned)))
        if operation.kind is OperationKind.STOP:
            state.units.stopped_by = alignment.checkpoint
        elif operation.kind is OperationKind.SPEED:
            state.speed = operation.argument
        elif operation.kind is OperationKind.ADD and isinstance(operation.argument, Mapping):
            state.let_in(alignment.checkpoint, _epochs(operation.argument))
        state.cut(_left_out(operation))

    def _acknowledge(self) -> None:
        state = self._state
        ended = state.checkpoints.end()
        snapshot = state.frozen(ended.checkpoint, ended.recorded)
        state.say(Acknowledge(state.subtask, state.incarnation, state.epoch, ended.checkpoint, snapshot))

    def _decline(self, checkpoint: int, reason: Reason) -> None:
        state = self._state
        state.say(Decline(state.subtask, state.incarnation, state.epoch, checkpoint, reason))


def _left_out(operation: Operation) -> frozenset[str]:
    """All vertices that leave with this operation; the coordinator has computed them."""
    names = operation.argument if operation.kind is OperationKind.ISOLATE else ()
    assert isinstance(names, (list, tuple)), f"{names!r} leave, which is not a list of vertices"
    return frozenset(str(name) for name in names)


def _epochs(argument: Mapping[str, Plain]) -> Mapping[str, int]:
    """The rejoining vertices and their epochs."""
    return {name: epoch for name, epoch in argument.items() if isinstance(epoch, int)}
