"""The participant of one subtask over all its executions: events in, commands out.

Theory of operation. A participant owns four parts (``subtask_state.py``): its inputs, its outputs, the current unit,
and the current checkpoint. An event changes one of them; then ``_advance`` performs all possible steps: reach barriers,
take the snapshot, acknowledge it, start a unit. Barriers are handled between units only. One object serves all
executions of its subtask: envelopes for a future epoch wait in it. The runtime bounds channels: it delays RunUnit while
an output is full, but never barriers and markers (F20).

Rules. (S1) No unit runs before Started; a failed execution only repeats its report when the coordinator sends a
message, until another execution starts (O5.4). (S2) A message of an earlier incarnation, epoch or unit number is
dropped and counted (I37); one of a future epoch waits. (S3) A repeated restore gets a repeated reply, because replies
may be lost. (S4) Outputs are sent only after the journal entry is durable (I39).

May not know: the coordinator's decisions, other subtasks, the work of a unit, and the transport of messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.lifecycle import ExecutionEvent, ExecutionState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.stream_elements import NO_SNAPSHOT, BatchHandle, CancelMarker, Plain
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.protocol.participant.checkpointing import SubtaskCheckpoint
from seatunnel_py.protocol.participant.messages import (
    AlignmentTimedOut,
    Arrived,
    CheckpointAborted,
    CheckpointCompleted,
    LogUnit,
    ParticipantCommand,
    ParticipantEvent,
    PeerRestarted,
    ReportEnded,
    ReportFailed,
    ReportReady,
    Restored,
    RunUnit,
    Started,
    Triggered,
    UnitDone,
    UnitFailed,
    UnitLogged,
)
from seatunnel_py.protocol.participant.sequence_tracker import SequenceVerdict
from seatunnel_py.protocol.participant.subtask_state import SubtaskState

_FATAL = {SequenceVerdict.GAP: Reason.GAP, SequenceVerdict.CHANGED: Reason.CONTENT_CHANGED}


class Participant(SubtaskState):
    """One subtask. ``alignment_timeout`` in seconds; zero or less: an alignment never times out."""

    def __init__(self, subtask: Subtask, topology: Topology, alignment_timeout: float) -> None:
        super().__init__(subtask, topology)
        self._passage = SubtaskCheckpoint(self, alignment_timeout)
        self._failure = Reason.UNIT_FAILED
        self._early: list[Arrived] = []

    def handle(self, event: ParticipantEvent) -> tuple[ParticipantCommand, ...]:
        """Handle an event, the only input, and return the commands in order."""
        match event:
            case Arrived():
                self._arrived(event)
            case UnitDone():
                self._unit_done(event)
            case UnitLogged():
                self._taken_logged(event)
            case UnitFailed():
                self._unit_failed(event)
            case AlignmentTimedOut():
                self._timed_out(event)
            case Restored():
                self._restored(event)
            case _ if event.incarnation != self.incarnation:
                self._drop()
            case Triggered():
                self._triggered(event)
            case Started():
                self._started(event)
            case _ if self.life is ExecutionState.FAILED:
                self._say_failed()  # the report may have been lost
            case CheckpointCompleted():
                self._completed(event)
            case CheckpointAborted():
                self._passage.aborted(event.checkpoint)
            case _:
                self._peer_restarted(event)
        self._advance()
        said = self.said()
        if said:
            self.said_at = event.at
        return said

    def holds(self) -> Iterator[Plain]:
        """All states and payloads in use, including those for a future epoch."""
        yield from super().holds()
        yield from (one.envelope.item.payload for one in self._early if isinstance(one.envelope.item, BatchHandle))

    # ------------------------------------------------------------ executions

    def _restored(self, event: Restored) -> None:
        if (event.incarnation, event.epoch) <= (self.incarnation, self.epoch):
            if self.life is ExecutionState.READY and event.epoch == self.epoch:
                self.say(ReportReady(self.subtask, self.incarnation, self.epoch))  # the reply may have been lost
            else:
                self._drop()
            return
        snapshot = event.snapshot or NO_SNAPSHOT
        self.begin_life(event.incarnation, event.epoch, event.checkpoint)
        self.inputs.restore(snapshot, event.senders)
        self.outputs.restore(event.epoch, snapshot, event.receivers)
        self.connect(event.senders, event.receivers)
        if self.units.restore(snapshot, event.journal):
            self.say(ReportReady(self.subtask, self.incarnation, self.epoch))
        else:
            self._fail(Reason.RESTORE_FAILED)
        early, self._early = self._early, []
        for arrived in early:
            self._arrived(arrived)

    def _started(self, event: Started) -> None:
        if event.epoch != self.epoch or self.life is not ExecutionState.READY:
            self._drop()
            return
        self.live(ExecutionEvent.START)
        if self.units.ended:
            self._report_ended()  # the report of an earlier execution may have been lost

    def _fail(self, reason: Reason) -> None:
        self.live(ExecutionEvent.FAIL)
        self._failure = reason
        self.units.under_way = None
        self._say_failed()

    def _peer_restarted(self, event: PeerRestarted) -> None:
        for channel, epoch in event.epochs.items():
            if channel.receiver == self.subtask:
                self.inputs.knows_life(channel, epoch)
            if channel.sender == self.subtask:
                self.emit(self.outputs.peer_restarted(channel, epoch, event.deliver_after.get(channel)))

    # ------------------------------------------------------------ envelopes

    def _arrived(self, event: Arrived) -> None:
        envelope = event.envelope
        channel, item = envelope.channel, envelope.item
        if envelope.receiver_epoch > self.epoch:
            self._early.append(event)
        elif (
            envelope.receiver_epoch < self.epoch
            or self.life is ExecutionState.FAILED
            or channel in self.inputs.cut_off
            or not self.inputs.knows_life(channel, envelope.sender_epoch)
        ):
            self._drop()
        elif isinstance(item, BatchHandle):
            self._batch(channel, item)
        elif isinstance(item, CancelMarker):
            self._passage.cancelled(item)
        else:
            self._passage.barrier(channel, item)

    def _batch(self, channel: Channel, batch: BatchHandle) -> None:
        verdict = self.inputs.receive(channel, batch)
        if verdict in _FATAL:
            self._fail(_FATAL[verdict])
        elif verdict is SequenceVerdict.ACCEPT and self.checkpoints.current is not None:
            self.checkpoints.current.record(channel, batch)

    # ------------------------------------------------------------ units

    def _unit_done(self, event: UnitDone) -> None:
        unit = self.units.under_way
        if unit is None or unit.done is not None or (event.epoch, event.number) != (self.epoch, unit.number):
            self._drop()
            return
        unit.done = event
        if unit.replayed:
            self._finish_unit(event)
        else:
            self.say(LogUnit(self.subtask, self.epoch, unit.entry(event)))

    def _taken_logged(self, event: UnitLogged) -> None:
        unit = self.units.under_way
        if unit is None or unit.done is None or (event.number, event.epoch) != (unit.number, self.epoch):
            self._drop()
            return
        self._finish_unit(unit.done)

    def _finish_unit(self, done: UnitDone) -> None:
        """Count the unit: its batch is applied, its pieces are staged, its outputs are sent (I39)."""
        unit, ends = self.units.finish(done)
        if unit.channel is not None and unit.batch is not None:
            self.inputs.applied[unit.channel] = unit.batch.number
        self.pieces += done.pieces
        for channel, payload, rows, digest in done.outputs:
            self.emit(self.outputs.send(channel, payload, rows, digest))
        if ends:
            self._report_ended()

    def _unit_failed(self, event: UnitFailed) -> None:
        if (event.epoch, event.number) != (self.epoch, self.running_unit):
            self._drop()
            return
        self._fail(event.reason)

    # ------------------------------------------------------------ checkpoints

    def _triggered(self, event: Triggered) -> None:
        known = self.checkpoints.is_dead(event.checkpoint) or event.checkpoint == self.checkpoint
        if event.epoch != self.epoch or known:
            self._drop()
        elif self.life is not ExecutionState.RUNNING:
            self._passage.refuse(event.checkpoint)
        else:
            self._passage.triggered(event)

    def _timed_out(self, event: AlignmentTimedOut) -> None:
        if (
            event.epoch != self.epoch
            or self.life is not ExecutionState.RUNNING
            or not self._passage.timed_out(event.checkpoint)
        ):
            self._drop()

    def _completed(self, event: CheckpointCompleted) -> None:
        if event.checkpoint > self.since:
            self.complete(event.checkpoint)
        else:
            self._drop()

    # ------------------------------------------------------------ possible steps

    def _advance(self) -> None:
        while self.life is ExecutionState.RUNNING:
            self._passage.advance()
            if self.units.under_way is not None or not self._begin_unit():
                return

    def _begin_unit(self) -> bool:
        """Start a unit if possible; return True if something has changed."""
        if not self.inputs.channels:
            return self._begin_reading()
        entry = self.units.replay
        channel = self.inputs.choose(self.blocked) if entry is None else entry.channel
        if channel is None:
            return False
        if channel in self.blocked and self.checkpoint is not None:
            self._passage.refuse(self.checkpoint)  # (G4)
            return True
        if self.inputs.head(channel) is None:
            return False
        batch = self.inputs.take(channel)
        unit = self.units.begin(channel, batch)
        self.say(RunUnit(self.subtask, self.epoch, unit.number, self.units.state, channel, batch))
        return True

    def _begin_reading(self) -> bool:
        if self.units.finished:
            return False
        entry = self.units.replay
        unit = self.units.begin()
        again = None if entry is None else entry.range
        self.say(RunUnit(self.subtask, self.epoch, unit.number, self.units.state, range=again))
        return True

    # ------------------------------------------------------------ reports

    def _say_failed(self) -> None:
        self.say(ReportFailed(self.subtask, self.incarnation, self.epoch, self._failure))

    def _report_ended(self) -> None:
        self.say(ReportEnded(self.subtask, self.incarnation, self.epoch))

    def _drop(self) -> None:
        self.stale += 1
