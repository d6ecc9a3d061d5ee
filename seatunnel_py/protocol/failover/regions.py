"""What restarts when something fails, and what the others must be told. Pure functions of the topology.

May not know: why a vertex failed, what a sink can do (``failover.py``), when the restart happens (``backoff.py``).

Rules. (R1) Vertices that are connected form a pipeline; no failure crosses its border (O5.1). (R2) What failed
restarts. (R3) Whoever restarts needs its inputs since the checkpoint again: so the sender of each of its inputs
restarts as well, unless the edge is retained (I20, O5.2). A back-edge is an input like any other. (R4) A vertex that
restarts and does not give the same batches again takes all its descendants along, since the numbers that they have
seen now mean other rows (I20, I22). (R5) A non-replayable source is such a vertex, unless all that it emits is
retained: what is retained is its cache, from which the world answers the ranges that its journal names (I39). (R6)
Isolated vertices neither restart nor carry a restart onwards: their channels are cut. (R7) The set is the smallest
that is closed under R2 to R6; so the set of several failures, also of one during a restart, contains that of each
(F6, I26). (R8) The epochs of all that restart grow by one, and no others (I21, I24). (R9) A survivor learns the new
epoch of each restarted neighbour; one that sends along a retained channel learns also after which number its receiver
wants to hear everything again. (R10) The journals of R4's vertices are void, and so are those of their descendants, but
for what their snapshots hold: a descendant that waited for the batch that it took in its last life might wait for one
that never comes again; but one that was repeating itself when the record was made must go on to where its receivers
are. (R11) Who joins at a barrier needs nothing from before it, and pulls nobody in. (R12) A record in which a receiver
is ahead of a sender that will make other batches cannot be restored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from seatunnel_py.protocol.coordinator.commands import Restart, SendPeerRestarted
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import JournalUse, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, Topology, Vertex, VertexDeterminism

_Fact: TypeAlias = tuple[str, str]
_RESTARTS, _DIFFERS = "restarts", "differs"
_Node = TypeVar("_Node", str, _Fact)


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """``epochs`` are the new ones, of the whole topology; ``peers`` speaks to survivors only."""

    vertices: frozenset[str]
    epochs: Mapping[str, int]
    restarts: tuple[Restart, ...]
    peers: tuple[SendPeerRestarted, ...]


def pipelines(topology: Topology) -> tuple[Topology, ...]:
    """The graph of a whole job as its pipelines (R1), in the order of their first vertices; each must have a source.

    An isolated vertex still belongs to its pipeline: it may come back.
    """
    both_ways = {vertex.id: set[str]() for vertex in topology.vertices}
    for edge in topology.edges:
        both_ways[edge.sender].add(edge.receiver)
        both_ways[edge.receiver].add(edge.sender)
    first: dict[str, str] = {}
    for vertex in topology.vertices:
        if vertex.id not in first:
            first |= dict.fromkeys(reach(both_ways, [vertex.id]), vertex.id)
    vertices: dict[str, list[Vertex]] = {name: [] for name in first.values()}
    edges: dict[str, list[Edge]] = {name: [] for name in first.values()}
    for vertex in topology.vertices:
        vertices[first[vertex.id]].append(vertex)
    for edge in topology.edges:
        edges[first[edge.sender]].append(edge)
    return tuple(
        Topology(
            tuple(members), tuple(edges[name]), topology.version, topology.detached & {vertex.id for vertex in members}
        )
        for name, members in vertices.items()
    )


def replay_differs(topology: Topology, name: str) -> bool:
    """Whether a second life of this vertex may number other rows with the same numbers (R4, R5).

    UNORDERED does not: the journal fixes what each unit takes (I39), and a digest does not look at order (I22).
    """
    vertex = topology.vertex(name)
    if vertex.determinism is VertexDeterminism.INDETERMINATE:
        return True
    if vertex.replayable or name not in topology.sources:
        return False
    return any(edge.sender == name and not edge.retained for edge in live_edges(topology))


def restart_set(topology: Topology, failed: Collection[str]) -> frozenset[str]:
    """R of these failures: the smallest closed set that contains them (R7). LocalProtocolError for a name that is no
    vertex."""
    return _consequences(topology, failed)[0]


def _consequences(topology: Topology, failed: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Who restarts, and whose outputs then carry other rows under the same numbers: one search over both facts."""
    if unknown := set(failed) - set(topology.by_id):
        raise LocalProtocolError(f"{sorted(unknown)} failed, which is no vertex")
    follows: dict[_Fact, list[_Fact]] = {}
    for name in topology.live:
        follows[_RESTARTS, name] = [(_DIFFERS, name)] if replay_differs(topology, name) else []
        follows[_DIFFERS, name] = [(_RESTARTS, name)]
    for edge in live_edges(topology):
        follows[_DIFFERS, edge.sender].append((_DIFFERS, edge.receiver))
        if not edge.retained:
            follows[_RESTARTS, edge.receiver].append((_RESTARTS, edge.sender))
    facts = reach(follows, [(_RESTARTS, name) for name in failed if name not in topology.detached])
    region = frozenset(name for fact, name in facts if fact == _RESTARTS)
    return region, frozenset(name for fact, name in facts if fact == _DIFFERS)


def closure_faults(topology: Topology, failed: Collection[str], region: Collection[str]) -> tuple[str, ...]:
    """What keeps ``region`` from being closed (I20), in words; empty when it is.

    Says the rules edge by edge and shares no search with ``restart_set``, so that it can judge it.
    """
    cut = topology.detached
    faults = [f"{name} failed, but stays" for name in sorted(set(failed).difference(region, cut))]
    faults += [f"{name} is isolated, but restarts" for name in sorted(cut.intersection(region))]
    other = {name for name in set(region) - cut if replay_differs(topology, name)}
    edges = live_edges(topology)
    while more := {edge.receiver for edge in edges if edge.sender in other} - other:
        other |= more
    faults += [f"{name} would see other rows, but stays" for name in sorted(other.difference(region))]
    faults += [
        f"{edge.receiver} needs what {edge.sender} sent, but {edge.sender} stays"
        for edge in edges
        if edge.receiver in region and edge.sender not in region and not edge.retained
    ]
    return tuple(faults)


def plan_restart(
    topology: Topology,
    failed: Collection[str],
    epochs: Mapping[str, int],
    record: CheckpointRecord | None,
    incarnation: int,
) -> RestartPlan:
    """Everything that a restart says to subtasks, from ``record`` (None: from nothing, which is checkpoint 0).

    After a failure during a restart: the same call with all that failed so far, the epochs of the plan before and the
    same record (I26). A restart of the whole pipeline: with all live vertices as failed.
    """
    region, differing = _consequences(topology, failed)
    assert not closure_faults(topology, failed, region), closure_faults(topology, failed, region)
    uses = {name: JournalUse.VOID if replay_differs(topology, name) else JournalUse.HELD for name in differing}
    return _plan(topology, region, uses, epochs, record, incarnation)


def plan_joining(
    topology: Topology,
    vertices: Collection[str],
    epochs: Mapping[str, int],
    record: CheckpointRecord,
    incarnation: int,
) -> RestartPlan:
    """These begin beside the others, from the record of the barrier at which they join (``isolation.py``). Nobody
    restarts for them (R11); ``topology`` is the one with them."""
    return _plan(topology, frozenset(vertices), dict.fromkeys(vertices, JournalUse.VOID), epochs, record, incarnation)


def _plan(
    topology: Topology,
    region: frozenset[str],
    differing: Mapping[str, JournalUse],
    epochs: Mapping[str, int],
    record: CheckpointRecord | None,
    incarnation: int,
) -> RestartPlan:
    """What is said to subtasks when exactly ``region`` begins new lives."""
    after = {name: epochs.get(name, 0) + (name in region) for name in topology.by_id}
    snapshots = record.snapshots if record else {}
    inputs: dict[Subtask, list[Channel]] = {subtask: [] for subtask in topology.subtasks()}
    outputs: dict[Subtask, list[Channel]] = {subtask: [] for subtask in topology.subtasks()}
    for channel in topology.channels:
        inputs[channel.receiver].append(channel)
        outputs[channel.sender].append(channel)
    restarts, peers = [], []
    for subtask in inputs:
        senders = {channel: after[channel.sender.vertex] for channel in inputs[subtask]}
        receivers = {channel: after[channel.receiver.vertex] for channel in outputs[subtask]}
        if subtask.vertex in region:
            checkpoint = record.checkpoint if record else 0
            epoch, snapshot = after[subtask.vertex], snapshots.get(subtask)
            use = differing.get(subtask.vertex, JournalUse.WHOLE)
            restarts.append(Restart(subtask, incarnation, epoch, checkpoint, snapshot, senders, receivers, use))
            continue
        again = [channel for channel in receivers if channel.receiver.vertex in region]
        told = {channel: epoch for channel, epoch in senders.items() if channel.sender.vertex in region}
        told |= {channel: receivers[channel] for channel in again}
        if told:
            wanted = {channel: restored_position(snapshots.get(channel.receiver), channel) for channel in again}
            peers.append(SendPeerRestarted(subtask, incarnation, told, wanted))
    return RestartPlan(region, after, tuple(restarts), tuple(peers))


def unsound(topology: Topology, record: CheckpointRecord | None, restarts: Collection[Restart]) -> tuple[Channel, ...]:
    """Channels whose receiver holds, in the record, batches that its sender had not sent there (it was repeating them,
    I22), although the sender now makes others: numbers would mean two things, and rows be lost and doubled (R12)."""
    void = {restart.subtask for restart in restarts if restart.replay is JournalUse.VOID}
    snapshots = record.snapshots if record else {}
    return tuple(
        channel
        for channel in topology.channels
        if channel.sender in void
        and channel.sender in snapshots
        and restored_position(snapshots.get(channel.receiver), channel) > snapshots[channel.sender].sent.get(channel, 0)
    )


def restored_position(snapshot: SubtaskSnapshot | None, channel: Channel) -> int:
    """The number up to which a receiver that begins from this snapshot has everything: what waits in its channel state
    was received, too (I25)."""
    if snapshot is None:
        return 0
    waiting = snapshot.channel_state.get(channel, ())
    return waiting[-1].number if waiting else snapshot.applied.get(channel, 0)


def live_edges(topology: Topology) -> tuple[Edge, ...]:
    """The edges that are not cut by an isolation (R6)."""
    return tuple(edge for edge in topology.edges if not {edge.sender, edge.receiver} & topology.detached)


def reach(steps: Mapping[_Node, Collection[_Node]], start: Collection[_Node]) -> frozenset[_Node]:
    """Everything that is reached from ``start``, itself included."""
    found: set[_Node] = set()
    waiting = list(start)
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting.extend(steps[here])
    return frozenset(found)
