"""A table is left out, and comes back: what an isolation changes in the topology, and where the table stands meanwhile.

Not all of it is reached yet: ``ParkedBatches`` and ``joined_by_parked``, and everything about tables that rejoin, wait
for change data capture.

May not know: why a table is left out (``failover.py``), how rows are read a second time, how much a batch weighs.

Rules. (IS1) Whoever is fed by an isolated vertex leaves with it, since what it makes would lack rows, and whoever
becomes visible together with it. (IS2) Whoever feeds nobody that remains leaves as well, so that nothing runs for
nothing. (IS3) An isolation after which nothing would remain is refused: that is a failure of the pipeline. (IS4) An
isolation and a rejoining are new versions of the topology; both become durable with a record (I10). (IS5) Each cut
channel is detached behind the last batch that the record knows its receiver to have; everything after it is missing
until the table has it again, once. (IS6) Where the sources stood at the same cut stands in the detachment: a side
reader begins there, and no source may give up what lies behind it (I40). (IS7) Batches are parked without gaps and up
to a bound; beyond either the parked ones are worth nothing, and the table needs a resync (I50). (IS8) A table joins at
a barrier, and only if what it has ends exactly there: with the source's position, or with the last number sent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from seatunnel_py.protocol.failover.regions import reach, restored_position
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import BatchHandle, Plain, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import SinkKind, Topology


@dataclass(frozen=True, slots=True)
class Detachment:
    """Everything that a table needs to come back. It is read off the record at which the table stands, which is kept
    until then; what the table was stands in every later record too.

    ``positions``: for each cut channel the number behind which the table lacks everything; ``snapshots``: the table at
    ``checkpoint`` (0: it had none); ``sources``: those that go on without it, at the same cut: where a side reader
    begins.
    """

    vertices: frozenset[str]
    checkpoint: int
    positions: Mapping[Channel, int]
    snapshots: Mapping[Subtask, SubtaskSnapshot]
    sources: Mapping[Subtask, SubtaskSnapshot]


@dataclass(frozen=True, slots=True)
class ParkedBatches:
    """Batches that wait for an isolated table; ``limit`` is ``table.park-bytes``. ``lost``: needs a resync (IS7)."""

    limit: int
    positions: Mapping[Channel, int]
    size: int = 0
    batches: Mapping[Channel, tuple[BatchHandle, ...]] = field(default_factory=dict)
    lost: bool = False

    def end(self, channel: Channel) -> int:
        """The last number that is here."""
        here = self.batches.get(channel, ())
        return here[-1].number if here else self.positions[channel]

    def add(self, channel: Channel, batch: BatchHandle, size: int) -> ParkedBatches:
        """With one batch more; the same when it is here already, since a sender that restarted sends it again."""
        if self.lost or batch.number <= self.end(channel):
            return self
        if batch.number > self.end(channel) + 1 or self.size + size > self.limit:
            return replace(self, size=0, batches={}, lost=True)
        longer = (*self.batches.get(channel, ()), batch)
        return replace(self, size=self.size + size, batches={**self.batches, channel: longer})


def leaving(topology: Topology, vertex: str) -> frozenset[str]:
    """Who leaves the acknowledgement set when ``vertex`` is isolated (IS1, IS2)."""
    feeding: dict[str, list[str]] = {name: [] for name in topology.by_id}
    following = {name: [*finishing_with(topology, [name])] for name in topology.by_id}
    for edge in topology.edges:
        feeding[edge.receiver].append(edge.sender)
        following[edge.sender].append(edge.receiver)
    fed = reach(following, [vertex])
    inner = {edge.sender for edge in topology.edges}
    sinks = [one for one in topology.live if one not in inner or topology.vertex(one).sink is not SinkKind.NONE]
    return frozenset(topology.live) - reach(feeding, [one for one in sinks if one not in fed])


def finishing_with(topology: Topology, vertices: Collection[str]) -> frozenset[str]:
    """The sinks whose pieces become visible together with those of these."""
    sinks = [one for one in topology.vertices if one.sink is not SinkKind.NONE]
    scopes = {one.commit_scope for one in sinks if one.id in vertices}
    return frozenset(one.id for one in sinks if one.commit_scope in scopes)


def isolable(topology: Topology, vertex: str) -> bool:
    """Something would remain to run (IS3)."""
    return vertex in topology.live and leaving(topology, vertex) != frozenset(topology.live)


def without(topology: Topology, gone: frozenset[str]) -> Topology:
    """The topology from their leaving on (IS4)."""
    return replace(topology, version=topology.version + 1, detached=topology.detached | gone)


def detachment(topology: Topology, gone: frozenset[str], record: CheckpointRecord | None) -> Detachment:
    """Where a table stands; ``topology`` is the one with it."""
    snapshots = record.snapshots if record else {}
    shared = [name for name in _above(topology, gone) if name in topology.sources]
    return Detachment(
        gone,
        record.checkpoint if record else 0,
        {channel: restored_position(snapshots.get(channel.receiver), channel) for channel in cut(topology, gone)},
        {subtask: snapshot for subtask, snapshot in snapshots.items() if subtask.vertex in gone},
        {subtask: snapshots[subtask] for subtask in topology.subtasks(shared) if subtask in snapshots},
    )


def cut(topology: Topology, gone: Collection[str]) -> tuple[Channel, ...]:
    """The channels on which somebody else goes on to send to these; ``topology`` is the one with them."""
    into = (channel for channel in topology.channels if channel.receiver.vertex in gone)
    return tuple(channel for channel in into if channel.sender.vertex not in gone)


def _above(topology: Topology, gone: Collection[str]) -> frozenset[str]:
    """Everybody else whose rows reach these."""
    return frozenset[str]().union(*(topology.ancestors(name) for name in gone)).difference(gone)


def missing_to_rejoin(topology: Topology, vertices: Collection[str]) -> frozenset[str]:
    """Isolated vertices that would have to rejoin with these, or before: they feed them or finish with them (IS1)."""
    needed = _above(topology, vertices) | finishing_with(topology, vertices)
    return (topology.detached & needed).difference(vertices)


def rejoin(topology: Topology, vertices: Collection[str]) -> Topology:
    """The topology from the joining barrier on (IS4). Raises LocalProtocolError where somebody is missing."""
    if missing := missing_to_rejoin(topology, vertices):
        raise LocalProtocolError(f"{sorted(vertices)} cannot rejoin without {sorted(missing)}")
    if strangers := set(vertices) - topology.detached:
        raise LocalProtocolError(f"{sorted(strangers)} cannot rejoin: nobody isolated them")
    return replace(topology, version=topology.version + 1, detached=topology.detached.difference(vertices))


def behind(
    topology: Topology,
    vertices: Collection[str],
    snapshots: Mapping[Subtask, SubtaskSnapshot],
    reached: Mapping[Subtask, Plain],
) -> frozenset[Subtask]:
    """Who, at the barrier of these snapshots, stands elsewhere than the side readers, or has rows before it that are
    still to come behind it: no joining there (IS8). ``topology`` is the one with the vertices."""
    above = topology.subtasks(sorted(_above(topology, vertices)))
    sources = [one for one in above if one.vertex in topology.sources]
    elsewhere = {one for one in sources if one not in reached or snapshots[one].state != reached[one]}
    between = [channel for channel in topology.channels if channel.receiver in above]
    return frozenset(elsewhere).union(
        channel.receiver
        for channel in between
        if snapshots[channel.receiver].applied.get(channel, 0) != snapshots[channel.sender].sent.get(channel, 0)
    )


def joined_by_reader(
    detachment: Detachment, record: CheckpointRecord, caught_up: Mapping[Subtask, SubtaskSnapshot]
) -> Mapping[Subtask, SubtaskSnapshot]:
    """The table's snapshots at the joining barrier, after side readers brought it there: on the cut channels it has,
    under whatever numbers it read that, everything that was sent until then (IS5). What it staged on the way is
    committed with ``record``."""
    sent = {channel: record.snapshots[channel.sender].sent.get(channel, 0) for channel in detachment.positions}
    return {
        subtask: replace(
            snapshot,
            applied={
                **snapshot.applied,
                **{channel: at for channel, at in sent.items() if channel.receiver == subtask},
            },
        )
        for subtask, snapshot in caught_up.items()
    }


def joined_by_parked(
    detachment: Detachment, record: CheckpointRecord, parked: ParkedBatches
) -> Mapping[Subtask, SubtaskSnapshot] | None:
    """The table's snapshots at the joining barrier: as it left, with what was parked as channel state, to be applied
    first (I25). None while they do not reach to the barrier exactly, as lost ones never do (IS8). The pieces that it
    left with were committed then, and are not named a second time."""
    sent = {channel: record.snapshots[channel.sender].sent.get(channel, 0) for channel in detachment.positions}
    if any(parked.end(channel) != at for channel, at in sent.items()):
        return None
    snapshots = {channel.receiver: SubtaskSnapshot() for channel in sent} | {
        subtask: replace(snapshot, pieces=(), since=record.checkpoint)
        for subtask, snapshot in detachment.snapshots.items()
    }
    for channel in sent:
        snapshot = snapshots[channel.receiver]
        waiting = (*snapshot.channel_state.get(channel, ()), *parked.batches.get(channel, ()))
        state = {**snapshot.channel_state, channel: waiting}
        snapshots[channel.receiver] = replace(snapshot, channel_state=state)
    return snapshots
