"""How one subtask lets a checkpoint pass: from the trigger or the first barrier to the acknowledgement.

Rules. (G1) A trigger is a flag that is looked at between units (O2.1); a subtask that does not run answers with a
cancel marker, so that nobody waits (O4.7). (G2) The barrier is sent in the same step as the snapshot is taken, and
before the checkpoint is acknowledged (O4.7). (G3) A cancel marker is passed on once; the coordinator's abort is not,
for it reaches everyone (I13). (G4) A replay that wants an input which an alignment holds back gives the checkpoint up:
it would wait for ever. (G5) Whoever passes a barrier obeys its operation: STOP ends reading until the checkpoint is
called off, SPEED is remembered, ISOLATE cuts vertices off, ADD lets them in again unless the checkpoint is called off
(O6.2). (G6) An alignment is timed from the arrival of its first barrier, so that a full queue counts (F19). (G7) A
trigger that comes while a snapshot waits for the unit under way waits behind it: a checkpoint is not given up for one
that has only been asked for (O4.10). Where triggers come faster than units end, none would ever complete, and none
would count as failed.

May not know: lives, journals, and what a unit does.
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
    """Acts on the state of one subtask; ``timeout`` in seconds, zero or less: an alignment never times out."""

    def __init__(self, state: SubtaskState, timeout: float) -> None:
        self._state = state
        self._timeout = timeout
        self._timed = 0
        """The newest checkpoint that is timed; also of lives before, for ids only grow."""
        self._triggers: deque[Triggered] = deque()
        """Behind the snapshot that is due (G7); also of lives before, which count for nothing."""

    def triggered(self, event: Triggered) -> None:
        """This subtask initiates a checkpoint that it does not know yet, and it runs."""
        current = self._state.checkpoints.current
        if current is not None and current.due:
            self._triggers.append(event)
        else:
            self._initiate(event)

    def _initiate(self, event: Triggered) -> None:
        alignment = self._join(event.checkpoint, event.operation)
        # An initiator with inputs is Chandy-Lamport's: it cannot have aligned.
        unaligned = event.unaligned or bool(self._state.inputs.channels)
        alignment.cut(self._state.inputs.queues, unaligned=unaligned)

    def barrier(self, channel: Channel, barrier: Barrier) -> None:
        """An unaligned barrier is obeyed, one whose cut was made closes a recording, any other queues up."""
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
        """Nobody will send the barrier of this checkpoint."""
        if not self._state.checkpoints.is_dead(marker.checkpoint):
            self._state.checkpoints.call_off(marker.checkpoint)
            self._state.emit(self._state.outputs.broadcast(marker))

    def aborted(self, checkpoint: int) -> None:
        """The coordinator gave it up. A stop that will not be is no stop."""
        self._state.checkpoints.call_off(checkpoint)
        if self._state.units.stopped_by == checkpoint:
            self._state.units.stopped_by = None
        self._state.shut_out(checkpoint)

    def timed_out(self, checkpoint: int) -> bool:
        """What has not been cut by now is cut at once; its barrier may still wait in a queue. False: too late."""
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
        """This checkpoint is impossible here and now: nobody behind need wait for it. That is no failure of anything: a
        pipeline that fails after so many failed checkpoints would else never get through a long replay."""
        self._state.checkpoints.call_off(checkpoint)
        self._state.emit(self._state.outputs.broadcast(CancelMarker(checkpoint)))
        self._decline(checkpoint, Reason.NOT_RUNNING)

    def advance(self) -> None:
        """Whatever has become possible: acknowledge, take the snapshot, reach barriers."""
        while self._advance_once():
            pass

    def _advance_once(self) -> bool:
        """What is finished goes first: a barrier that waits behind it must not end it."""
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
        """One that waited; given up meanwhile, or of a life that is over, it is none."""
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
        """The way through this checkpoint; a new one ends an older one."""
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
        """State frozen, barrier sent on, operation obeyed: one step (G2)."""
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
    """All vertices that leave with this operation: who leaves was found once, by who asked for it."""
    names = operation.argument if operation.kind is OperationKind.ISOLATE else ()
    assert isinstance(names, (list, tuple)), f"{names!r} leave, which is no list of vertices"
    return frozenset(str(name) for name in names)


def _epochs(argument: Mapping[str, Plain]) -> Mapping[str, int]:
    """The vertices that come back, and in which life."""
    return {name: epoch for name, epoch in argument.items() if isinstance(epoch, int)}
