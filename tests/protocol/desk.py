"""One participant on a desk: a test puts events in by hand and reads the commands that come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import (
    BatchHandle,
    Envelope,
    Item,
    Operation,
    Plain,
    StagedPiece,
    SubtaskSnapshot,
    TakenInput,
)
from seatunnel_py.protocol.model.topology import Edge, Topology, Vertex
from seatunnel_py.protocol.participant import messages as msg
from seatunnel_py.protocol.participant.participant import Participant

# left and right feed here; here feeds down (retained) and loop; loop feeds here again.
TOPOLOGY = Topology(
    tuple(Vertex(name) for name in ("left", "right", "here", "down", "loop")),
    (
        Edge("left", "here"),
        Edge("right", "here"),
        Edge("here", "down", retained=True),
        Edge("here", "loop"),
        Edge("loop", "here"),
    ),
)
STRAIGHT = Topology(TOPOLOGY.vertices[:4], TOPOLOGY.edges[:3])
"""The same without the loop."""
LEFT, RIGHT, DOWN, LOOP, BACK = TOPOLOGY.channels
HERE, SOURCE = Subtask("here"), Subtask("left")


class Desk:
    """A participant in its first life, with incarnation 1 and epoch 1, as are all its peers."""

    def __init__(
        self,
        subtask: Subtask = HERE,
        topology: Topology = STRAIGHT,
        timeout: float = -1.0,
        start: bool = True,
        restored: bool = True,
    ) -> None:
        self.participant = Participant(subtask, topology, timeout)
        self.channels = (*self.participant.inputs.channels, *self.participant.outputs.channels)
        if restored:
            self.restore()
        if restored and start:
            self.start()

    def put(self, event: msg.ParticipantEvent) -> list[msg.ParticipantCommand]:
        return list(self.participant.handle(event))

    def restore(
        self,
        epoch: int = 1,
        checkpoint: int = 0,
        snapshot: SubtaskSnapshot | None = None,
        journal: Sequence[TakenInput] = (),
        peers: Mapping[Channel, int] | None = None,
    ) -> list[msg.ParticipantCommand]:
        known = dict.fromkeys(self.channels, 1) | dict(peers or {})
        return self.put(msg.Restored(0.0, 1, epoch, checkpoint, snapshot, known, known, tuple(journal)))

    def start(self) -> list[msg.ParticipantCommand]:
        return self.put(msg.Started(0.0, 1, self.participant.epoch))

    def arrive(self, channel: Channel, *items: Item, sender: int = 1, receiver: int | None = None) -> list[object]:
        said: list[object] = []
        for item in items:
            to = self.participant.epoch if receiver is None else receiver
            said += self.put(msg.Arrived(0.0, Envelope(channel, sender, to, item)))
        return said

    def done(
        self,
        *outputs: tuple[Channel, str],
        state: Plain = None,
        pieces: Sequence[str] = (),
        range: Plain = None,
        ended: bool = False,
    ) -> list[msg.ParticipantCommand]:
        """The unit under way is done; its journal entry is still to be logged."""
        number = self.participant.running_unit
        assert number is not None, "no unit is under way"
        made = tuple((channel, payload, 1, sum(map(ord, payload))) for channel, payload in outputs)
        staged = tuple(StagedPiece(name) for name in pieces)
        return self.put(
            msg.UnitDone(0.0, self.participant.epoch, number, state, made, staged, range=range, ended=ended)
        )

    def logged(self) -> list[msg.ParticipantCommand]:
        return self.put(msg.UnitLogged(0.0, self.participant.epoch, self.participant.running_unit or 0))

    def unit(self, *outputs: tuple[Channel, str], state: Plain = None, pieces: Sequence[str] = ()) -> list[object]:
        """The unit under way is done, and its entry logged."""
        return [*self.done(*outputs, state=state, pieces=pieces), *self.logged()]

    def trigger(
        self, checkpoint: int, operation: Operation | None = None, unaligned: bool = False
    ) -> list[msg.ParticipantCommand]:
        epoch = self.participant.epoch
        return self.put(msg.Triggered(0.0, 1, epoch, checkpoint, operation or Operation(), unaligned))

    def abort(self, checkpoint: int) -> list[msg.ParticipantCommand]:
        return self.put(msg.CheckpointAborted(0.0, 1, checkpoint))

    def complete(self, checkpoint: int) -> list[msg.ParticipantCommand]:
        return self.put(msg.CheckpointCompleted(0.0, 1, checkpoint))


def batch(number: int, digest: int | None = None) -> BatchHandle:
    return BatchHandle(number, 1, number if digest is None else digest)


def items(said: Sequence[object]) -> list[tuple[Channel, Item]]:
    """What was emitted, and where."""
    return [(one.envelope.channel, one.envelope.item) for one in said if isinstance(one, msg.Emit)]


def words(said: Sequence[object]) -> list[str]:
    """The kinds of the commands; of an emission the kind of its item."""
    return [type(one.envelope.item if isinstance(one, msg.Emit) else one).__name__ for one in said]


def taken(said: Sequence[object]) -> list[tuple[Channel | None, int | None]]:
    """What the units that begin take."""
    return [(one.channel, one.batch.number if one.batch else None) for one in said if isinstance(one, msg.RunUnit)]


def acknowledged(said: Sequence[object]) -> SubtaskSnapshot:
    """The snapshot of the one acknowledgement."""
    (one,) = [one for one in said if isinstance(one, msg.Acknowledge)]
    return one.snapshot
