"""Isolation and rejoining of a table: the changes of the topology, and the table's state in between.

Some parts are not used yet: ``ParkedBatches``, ``joined_by_parked`` and rejoining are for change data capture.

May not know: why a table is isolated (``decisions.py``), how rows are read a second time, the size of a batch.

Rules. (IS1) The receivers of an isolated vertex leave with it, because they would lack rows, and so do vertices that
become visible together with it. (IS2) A vertex without a remaining receiver leaves as well, because its work would be
useless. (IS3) An isolation after which nothing would remain is refused: that is a failure of the pipeline. (IS4) An
isolation and a rejoining are new versions of the topology; both become durable with a record (I10). (IS5) Each cut
channel is detached after the last batch that its receiver has by the record; all later batches are missing
until the table gets them, once. (IS6) The detachment holds the positions of the sources at the same cut: a side
reader starts there, and no source may delete data after them (I40). (IS7) Batches are parked without gaps and up
to a limit; after a gap or beyond the limit they are useless, and the table needs a resync (I50). (IS8) A table joins at
a barrier, and only if its rows end exactly there: at the source's position, or with the last number sent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from seatunnel_py.protocol.failover.regions import reach, restored_position
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import NO_SNAPSHOT, BatchHandle, Plain, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import SinkKind, Topology


@dataclass(frozen=True, slots=True)
class Detachment:
    """Everything that a table needs to rejoin, computed from the record of its last checkpoint, which is kept until
    then. Every later record also holds the table's snapshots.

    ``positions``: for each cut channel the last number that the table has; ``snapshots``: the table at
    ``checkpoint`` (0: it had none); ``sources``: snapshots of the remaining sources at the same cut, where a side
    reader starts.
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
        """The last parked number."""
        here = self.batches.get(channel, ())
        return here[-1].number if here else self.positions[channel]

    def add(self, channel: Channel, batch: BatchHandle, size: int) -> ParkedBatches:
        """Add a batch. A batch that is already parked is ignored, because a restarted sender sends it again."""
        if self.lost or batch.number <= self.end(channel):
            return self
        if batch.number > self.end(channel) + 1 or self.size + size > self.limit:
            return replace(self, size=0, batches={}, lost=True)
        longer = (*self.batches.get(channel, ()), batch)
        return replace(self, size=self.size + size, batches={**self.batches, channel: longer})


def leaving(topology: Topology, vertex: str) -> frozenset[str]:
    """The leaving set of ``vertex``: all vertices that are isolated with it (IS1, IS2)."""
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
    """True if other vertices would remain (IS3)."""
    return vertex in topology.live and leaving(topology, vertex) != frozenset(topology.live)


def without(topology: Topology, gone: frozenset[str]) -> Topology:
    """The topology without these vertices (IS4)."""
    return replace(topology, version=topology.version + 1, detached=topology.detached | gone)


def detachment(topology: Topology, gone: frozenset[str], record: CheckpointRecord | None) -> Detachment:
    """The detachment of a table; ``topology`` still contains it."""
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
    """The channels from remaining vertices to these; ``topology`` still contains them."""
    into = (channel for channel in topology.channels if channel.receiver.vertex in gone)
    return tuple(channel for channel in into if channel.sender.vertex not in gone)


def _above(topology: Topology, gone: Collection[str]) -> frozenset[str]:
    """The other vertices whose rows reach these."""
    return frozenset[str]().union(*(topology.ancestors(name) for name in gone)).difference(gone)


def missing_to_rejoin(topology: Topology, vertices: Collection[str]) -> frozenset[str]:
    """Isolated vertices that must rejoin with these, or earlier: they feed them or finish with them (IS1)."""
    needed = _above(topology, vertices) | finishing_with(topology, vertices)
    return (topology.detached & needed).difference(vertices)


def rejoin(topology: Topology, vertices: Collection[str]) -> Topology:
    """The topology after the joining barrier (IS4). Raises LocalProtocolError if a required vertex is missing."""
    if missing := missing_to_rejoin(topology, vertices):
        raise LocalProtocolError(f"{sorted(vertices)} cannot rejoin without {sorted(missing)}")
    if strangers := set(vertices) - topology.detached:
        raise LocalProtocolError(f"{sorted(strangers)} cannot rejoin: they are not isolated")
    return replace(topology, version=topology.version + 1, detached=topology.detached.difference(vertices))


def behind(
    topology: Topology,
    vertices: Collection[str],
    snapshots: Mapping[Subtask, SubtaskSnapshot],
    reached: Mapping[Subtask, Plain],
) -> frozenset[Subtask]:
    """The sources that prevent a joining at the barrier of these snapshots (IS8): their position differs from that of
    the side readers, or rows from before the barrier are still to come after it. ``topology`` contains the vertices."""
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
    """The table's snapshots at the joining barrier, if side readers have read the missing rows: on the cut channels it
    then has everything that was sent until the barrier (IS5). The table's pieces from the time in between are committed
    with ``record``."""
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
    """The table's snapshots at the joining barrier: as it left, with the parked batches as channel state, to be applied
    first (I25). None unless these reach exactly to the barrier, which lost ones never do (IS8). The table's old pieces
    are already committed, and are not named a second time."""
    sent = {channel: record.snapshots[channel.sender].sent.get(channel, 0) for channel in detachment.positions}
    if any(parked.end(channel) != at for channel, at in sent.items()):
        return None
    snapshots = {channel.receiver: NO_SNAPSHOT for channel in sent} | {
        subtask: replace(snapshot, pieces=(), since=record.checkpoint)
        for subtask, snapshot in detachment.snapshots.items()
    }
    for channel in sent:
        snapshot = snapshots[channel.receiver]
        waiting = (*snapshot.channel_state.get(channel, ()), *parked.batches.get(channel, ()))
        state = {**snapshot.channel_state, channel: waiting}
        snapshots[channel.receiver] = replace(snapshot, channel_state=state)
    return snapshots
