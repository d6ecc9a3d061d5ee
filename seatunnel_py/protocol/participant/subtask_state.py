"""The state of one participant, and the views of it for others. Only ``participant.py`` and its parts change it.

Rules. (Q1) Every snapshot contains all pieces until a checkpoint with them is known to be completed (I14).
(Q2) A snapshot is a copy, without later changes (I19). (Q3) The speed that a user set outlives an
execution; an execution uses the channels that are named at its start, and channels cut later stay cut. (Q4)
A waiting subtask can report its reason, from which a stuck pipeline is explained.

May not know: events, and when commands are sent.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.lifecycle import LIFE, ExecutionEvent, ExecutionState, advance
from seatunnel_py.protocol.model.stream_elements import (
    NO_SNAPSHOT,
    BatchHandle,
    Envelope,
    Plain,
    StagedPiece,
    SubtaskSnapshot,
)
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.protocol.participant.alignment import LocalCheckpoints
from seatunnel_py.protocol.participant.inputs import Inputs
from seatunnel_py.protocol.participant.messages import Emit, ParticipantCommand
from seatunnel_py.protocol.participant.outputs import Outputs
from seatunnel_py.protocol.participant.unit_log import UnitLog
from seatunnel_py.protocol.stuck import SubtaskActivity, SubtaskWait


class SubtaskState:
    """One subtask over all its executions."""

    def __init__(self, subtask: Subtask, topology: Topology) -> None:
        # Isolated vertices may rejoin, so their channels are known, but cut.
        whole = replace(topology, detached=frozenset()) if topology.detached else topology
        outputs = whole.outputs(subtask)
        self.subtask = subtask
        self.life = ExecutionState.NONE
        self.incarnation = -1
        self.epoch = -1
        self.stale = 0
        """Number of dropped messages of earlier epochs (I37)."""
        self.said_at = 0.0
        """Time of its last command; for display only (I49)."""
        self.speed: Plain = None
        self.pieces: tuple[StagedPiece, ...] = ()
        """Staged pieces that are not known to be in a completed checkpoint."""
        self.dead_pieces: tuple[StagedPiece, ...] = ()
        """Pieces of the previous execution; a completed checkpoint may still contain them (I33)."""
        self.since = 0
        """The newest checkpoint that is known to be completed."""
        self.inputs = Inputs(whole.inputs(subtask))
        self.outputs = Outputs(outputs, frozenset(c for c in outputs if topology.edges[c.edge].retained))
        self.back_edges = frozenset(c for c in self.inputs.channels if c.edge in topology.back_edges)
        self.cut(topology.detached)
        self._let_in: tuple[int, frozenset[Channel]] = (0, frozenset())
        """The checkpoint at which these outputs were connected again."""
        self.units = UnitLog()
        self.checkpoints = LocalCheckpoints()
        self._snapshots: dict[int, SubtaskSnapshot] = {}
        """Snapshots that are not known to be completed, without their channel state."""

        self._commands: list[ParticipantCommand] = []

    def live(self, event: ExecutionEvent) -> None:
        """Change the execution state as the table prescribes."""
        self.life = advance(LIFE, self.life, event)

    def begin_life(self, incarnation: int, epoch: int, checkpoint: int) -> None:
        """Reset for a new execution; inputs, outputs and units are restored separately."""
        self.live(ExecutionEvent.RESTORE)
        self.incarnation, self.epoch = incarnation, epoch
        self.dead_pieces, self.pieces, self.since = self.pieces, (), checkpoint
        self.checkpoints = LocalCheckpoints(checkpoint)
        self._snapshots = {}

    def connect(self, senders: Container[Channel], receivers: Container[Channel]) -> None:
        """Use these channels in this execution; cut all others (Q3)."""
        self.inputs.cut_off = {channel for channel in self.inputs.channels if channel not in senders}
        self.outputs.cut_off = {channel for channel in self.outputs.channels if channel not in receivers}

    def cut(self, vertices: frozenset[str]) -> None:
        """Cut the channels of isolated vertices."""
        self.inputs.cut(vertices)
        self.outputs.cut(vertices)

    def let_in(self, checkpoint: int, epochs: Mapping[str, int]) -> None:
        """Connect vertices that rejoin after the barrier of this checkpoint, with these epochs."""
        opened = {channel for channel in self.outputs.cut_off if channel.receiver.vertex in epochs}
        self.outputs.cut_off -= opened
        self.outputs.epochs.update({channel: epochs[channel.receiver.vertex] for channel in opened})
        self._let_in = checkpoint, frozenset(opened)

    def shut_out(self, checkpoint: int) -> None:
        """Cut the rejoining vertices again, because this checkpoint was aborted."""
        at, opened = self._let_in
        if at == checkpoint:
            self.outputs.cut_off |= opened

    def freeze(self, checkpoint: int) -> None:
        """Copy the subtask's state for this checkpoint (Q2)."""
        self._snapshots[checkpoint] = SubtaskSnapshot(
            state=self.units.state,
            applied=dict(self.inputs.applied),
            sent=dict(self.outputs.sent),
            pieces=self.pieces,
            since=self.since,
            taken=self.units.taken,
            ended=self.units.ended,
        )

    def frozen(self, checkpoint: int, channel_state: Mapping[Channel, tuple[BatchHandle, ...]]) -> SubtaskSnapshot:
        """The frozen snapshot, with its channel state."""
        frozen = self._snapshots[checkpoint]
        return replace(frozen, channel_state=channel_state) if channel_state else frozen

    def complete(self, checkpoint: int) -> None:
        """Drop data that only a restart from before this checkpoint would need (Q1, D4, U2)."""
        self.checkpoints.completed(checkpoint)
        self.since = checkpoint
        snapshot = self._snapshots.get(checkpoint, NO_SNAPSHOT)
        self._snapshots = {n: own for n, own in self._snapshots.items() if n > checkpoint}
        self.inputs.forget(snapshot.applied)
        self.outputs.forget(snapshot.sent)
        held = {piece.name for piece in snapshot.pieces}
        self.pieces = tuple(piece for piece in self.pieces if piece.name not in held)

    # ------------------------------------------------------------ commands

    def say(self, command: ParticipantCommand) -> None:
        self._commands.append(command)

    def emit(self, envelopes: Iterable[Envelope]) -> None:
        self._commands.extend(Emit(envelope) for envelope in envelopes)

    def said(self) -> tuple[ParticipantCommand, ...]:
        """Return and clear the collected commands, in order."""
        commands, self._commands = tuple(self._commands), []
        return commands

    # ------------------------------------------------------------ views, for checkers and diagnostics

    def holds(self) -> Iterator[Plain]:
        """All states and payloads that the subtask or its receivers may still need; segments in them must be kept."""
        yield self.units.state
        yield from (snapshot.state for snapshot in self._snapshots.values())
        batches = [item for queue in self.inputs.queues.values() for item in queue if isinstance(item, BatchHandle)]
        batches += [batch for kept in self.outputs.kept.values() for batch in kept]
        if (current := self.checkpoints.current) is not None and current.has_cut:
            batches += [batch for recorded in current.recorded.values() for batch in recorded]
        if (unit := self.units.under_way) is not None:
            batches += [unit.batch] if unit.batch is not None else []
            yield from (payload for _, payload, _, _ in (unit.done.outputs if unit.done is not None else ()))
        yield from (batch.payload for batch in batches)

    @property
    def queued(self) -> Mapping[Channel, int]:
        """Number of queued elements of each input."""
        return {channel: len(queue) for channel, queue in self.inputs.queues.items()}

    @property
    def received(self) -> Mapping[Channel, int]:
        return {channel: ids.received for channel, ids in self.inputs.ids.items()}

    @property
    def applied(self) -> Mapping[Channel, int]:
        return dict(self.inputs.applied)

    @property
    def sent(self) -> Mapping[Channel, int]:
        return dict(self.outputs.sent)

    @property
    def blocked(self) -> frozenset[Channel]:
        """Inputs that an alignment blocks."""
        current = self.checkpoints.current
        return frozenset() if current is None else current.blocked

    @property
    def checkpoint(self) -> int | None:
        """The current checkpoint of this subtask."""
        return None if self.checkpoints.current is None else self.checkpoints.current.checkpoint

    @property
    def running_unit(self) -> int | None:
        """The number of the running unit."""
        return None if self.units.under_way is None else self.units.under_way.number

    @property
    def remembered(self) -> int:
        """Number of contents and batches kept until a checkpoint completes (I50)."""
        return sum(ids.remembered for ids in self.inputs.ids.values()) + sum(map(len, self.outputs.kept.values()))

    @property
    def waiting_on(self) -> SubtaskWait:
        """The subtask's activity and its reason to wait, for ``explain`` (Q4, O1.6). Only the runtime knows full
        outputs."""
        current = self.checkpoints.current
        doing, unit, channels = self._doing()
        return SubtaskWait(
            self.subtask,
            doing,
            self.said_at,
            unit,
            channels,
            checkpoint=0 if current is None else current.checkpoint,
            blocked=tuple(channel for channel in self.inputs.live if channel in self.blocked),
            missing=() if current is None else current.missing,
        )

    def _doing(self) -> tuple[SubtaskActivity, int, tuple[Channel, ...]]:
        if self.life is not ExecutionState.RUNNING:
            return SubtaskActivity.NOT_STARTED, 0, ()
        if (unit := self.units.under_way) is not None:
            return (SubtaskActivity.RUNNING if unit.done is None else SubtaskActivity.JOURNAL), unit.number, ()
        if (entry := self.units.replay) is not None and entry.channel is not None:
            return SubtaskActivity.REPLAYING, entry.number, (entry.channel,)
        if not self.inputs.channels:
            return SubtaskActivity.ENDED, 0, ()  # a source runs units until everything is read
        return (
            SubtaskActivity.INPUT_EMPTY,
            0,
            tuple(channel for channel in self.inputs.live if channel not in self.blocked),
        )
