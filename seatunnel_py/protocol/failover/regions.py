"""Computes the region that restarts after a failure, and the messages to its neighbours. Pure functions of the
topology.

May not know: why a vertex failed, the guarantees of a sink (``decisions.py``), when the restart happens
(``backoff.py``).

Rules. (R1) Connected vertices form a pipeline; no failure crosses its border (O5.1). (R2) A failed vertex restarts.
(R3) A restarted vertex needs its inputs since the checkpoint again: so the sender of each of its inputs restarts as
well, unless the edge is retained (I20, O5.2). A back-edge is an input like any other. (R4) If a restarted vertex does
not produce the same batches again, all its descendants restart, because the numbers that they have received now mean
other rows (I20, I22). (R5) A non-replayable source is such a vertex, unless all its outputs are retained: the runtime
then serves the ranges of its journal from the retained batches (I39). (R6) Isolated vertices neither restart nor
propagate a restart: their channels are cut. (R7) The set is the smallest that is closed under R2 to R6; so the set of
several failures, also of one during a restart, contains that of each (F6, I26). (R8) The epochs of all restarted
vertices grow by one, and no others (I21, I24). (R9) Neighbours outside of the region learn the new epoch of each
restarted neighbour; the sender of a retained channel also learns the number after which its receiver needs all batches
again. (R10) The journals of R4's vertices and of their descendants are void, except for entries whose input their
snapshots contain: a descendant must not wait for a batch that never comes again. A descendant that was repeating
batches when the record was made must repeat them up to the number that its receivers have. (R11) A vertex that joins at
a barrier needs no earlier batch, and restarts no other vertex. (R12) A record in which a receiver is ahead of a sender
that will produce other batches cannot be restored.
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
    """``epochs``: the new epochs of the whole topology; ``peers``: messages to neighbours outside of the region."""

    vertices: frozenset[str]
    epochs: Mapping[str, int]
    restarts: tuple[Restart, ...]
    peers: tuple[SendPeerRestarted, ...]


def pipelines(topology: Topology) -> tuple[Topology, ...]:
    """Divide the graph of a job into pipelines (R1), in the order of their first vertices; each must have a source.

    An isolated vertex still belongs to its pipeline, because it may rejoin.
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
    """True if a restarted execution of this vertex may use the same numbers for other rows (R4, R5).

    False for UNORDERED: the journal fixes the input of each unit (I39), and a digest ignores the order (I22).
    """
    vertex = topology.vertex(name)
    if vertex.determinism is VertexDeterminism.INDETERMINATE:
        return True
    if vertex.replayable or name not in topology.sources:
        return False
    return any(edge.sender == name and not edge.retained for edge in live_edges(topology))


def restart_set(topology: Topology, failed: Collection[str]) -> frozenset[str]:
    """The region of these failures: the smallest closed set that contains them (R7). Raises LocalProtocolError for an
    unknown vertex."""
    return _consequences(topology, failed)[0]


def _consequences(topology: Topology, failed: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The vertices that restart, and those whose outputs then have other rows under the same numbers, in one search."""
    if unknown := set(failed) - set(topology.by_id):
        raise LocalProtocolError(f"{sorted(unknown)} failed, which is not a vertex")
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
    """Explain why ``region`` is not closed (I20); empty if it is.

    Checks the rules edge by edge, without the search of ``restart_set``, so that it can verify it.
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
    """The messages of a restart from ``record`` (None: from nothing, which is checkpoint 0).

    After a failure during a restart: call it with all failures so far, the epochs of the previous plan and the
    same record (I26). To restart the whole pipeline, pass all live vertices as failed.
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
    """Start rejoining vertices from the record of their barrier (``isolation.py``). No other vertex restarts for them
    (R11); ``topology`` contains them."""
    return _plan(topology, frozenset(vertices), dict.fromkeys(vertices, JournalUse.VOID), epochs, record, incarnation)


def _plan(
    topology: Topology,
    region: frozenset[str],
    differing: Mapping[str, JournalUse],
    epochs: Mapping[str, int],
    record: CheckpointRecord | None,
    incarnation: int,
) -> RestartPlan:
    """The messages to subtasks when exactly ``region`` restarts."""
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
    """Channels whose receiver has, in the record, batches that its sender had not sent yet (it was repeating them,
    I22), although the sender now produces others: numbers would be ambiguous, and rows lost and doubled (R12)."""
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
    """The last number that a receiver with this snapshot has, including batches in its channel state (I25)."""
    if snapshot is None:
        return 0
    waiting = snapshot.channel_state.get(channel, ())
    return waiting[-1].number if waiting else snapshot.applied.get(channel, 0)


def live_edges(topology: Topology) -> tuple[Edge, ...]:
    """Edges that no isolation has cut (R6)."""
    return tuple(edge for edge in topology.edges if not {edge.sender, edge.receiver} & topology.detached)


def reach(steps: Mapping[_Node, Collection[_Node]], start: Collection[_Node]) -> frozenset[_Node]:
    """All nodes reachable from ``start``, itself included."""
    found: set[_Node] = set()
    waiting = list(start)
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting.extend(steps[here])
    return frozenset(found)
