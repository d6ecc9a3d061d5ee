"""Tables that were left out of a pipeline which has ended without them are finished apart: by a pipeline of their own.

Rules. (AP1) It consists of those who finish together and of everybody who feeds them, and of nobody else. (AP2) All of
them begin where they stood at the checkpoint at which the table stands (IS6, LE5): so it misses nothing and gets
nothing twice. (AP3) On every channel the table has what was sent until
then, neither less nor more; where a sender was repeating itself, numbers would mean two things (I22), and it is
refused. (AP4) One that stands at no checkpoint begins from nothing. (AP5) Its numbers and epochs go on above those of
the pipeline that it left (I11), and commits of it that are not confirmed are issued first (P2). (AP6) What cannot be
read a second time is refused, and so is who would have to pass through a sink that has its rows already. (AP7) A
pipeline that has not ended keeps its records: nothing is finished beside it.

May not know: what a position is, and who runs the pipeline.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.failover.regions import restored_position
from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import SinkKind, Topology

T = TypeVar("T")


def scopes_left_out(record: CheckpointRecord) -> tuple[str, ...]:
    """The commit scopes that are to be finished apart, each by a pipeline of its own (AP1, AP7)."""
    if record.kind is not RecordKind.FINAL:
        return ()
    sinks = (one for one in record.topology.vertices if one.sink is not SinkKind.NONE)
    return tuple(dict.fromkeys(one.commit_scope for one in sinks if one.id in record.topology.detached))


def finishing(topology: Topology, scope: str) -> frozenset[str]:
    """Those who finish together."""
    return frozenset(one.id for one in topology.vertices if one.sink is not SinkKind.NONE and one.commit_scope == scope)


def members(topology: Topology, scope: str) -> frozenset[str]:
    """Who the pipeline that finishes this scope consists of (AP1)."""
    own = finishing(topology, scope)
    return own.union(*(topology.ancestors(name) for name in own))


def stands_at(record: CheckpointRecord, scope: str) -> int:
    """The checkpoint at which a scope stands that this record shows to be out; 0: none (AP4)."""
    own = finishing(record.topology, scope)
    return max((one.since for at, one in record.snapshots.items() if at.vertex in own), default=0)


def cannot_be_finished(topology: Topology, scope: str) -> str:
    """Why it cannot be brought what it lacks (AP6); empty where it can."""
    own, every = finishing(topology, scope), members(topology, scope)
    if once := [name for name in topology.sources if name in every and not topology.vertex(name).replayable]:
        return f"{', '.join(once)} cannot be read a second time"
    if through := [one.id for one in topology.vertices if one.id in every - own and one.sink is not SinkKind.NONE]:
        return f"its rows come through {', '.join(through)}, which is a sink that has them already"
    return ""


def begin_apart(newest: CheckpointRecord, stood: CheckpointRecord, scope: str) -> CheckpointRecord | RestoreRefusal:
    """The record from which this scope is finished. ``newest`` is the last one of the pipeline that it left, ``stood``
    the one at which it stands."""
    graph, numbers = _part(newest.topology, members(newest.topology, scope))
    snapshots = {}
    for subtask in graph.subtasks():
        snapshot = stood.snapshots.get(subtask)
        if snapshot is None:
            return RestoreRefusal(f"no record says where {subtask} stood at checkpoint {stood.checkpoint}")
        snapshots[subtask] = _renumbered(snapshot, numbers, newest.checkpoint)
    for channel in graph.channels:
        has, sent = restored_position(snapshots[channel.receiver], channel), snapshots[channel.sender].sent
        if has != sent.get(channel, 0):
            return RestoreRefusal(
                f"{channel}: {has} batches were received of {sent.get(channel, 0)} at checkpoint {stood.checkpoint}"
            )
    return replace(
        newest,
        kind=RecordKind.PERIODIC,
        topology=graph,
        epochs={name: newest.epochs[name] for name in graph.by_id},
        snapshots=snapshots,
        uncommitted=tuple(one for one in newest.uncommitted if one.scope == scope),
        ledgers={name: at for name, at in newest.ledgers.items() if name == scope},
    )


def _part(topology: Topology, every: Collection[str]) -> tuple[Topology, Mapping[int, int]]:
    """The graph of these alone, and the new numbers of its edges."""
    kept = [(number, edge) for number, edge in enumerate(topology.edges) if {edge.sender, edge.receiver} <= set(every)]
    vertices = tuple(one for one in topology.vertices if one.id in every)
    graph = Topology(vertices, tuple(edge for _, edge in kept), topology.version + 1)
    return graph, {number: at for at, (number, _) in enumerate(kept)}


def _renumbered(snapshot: SubtaskSnapshot, numbers: Mapping[int, int], checkpoint: int) -> SubtaskSnapshot:
    """The snapshot on the channels that there still are; what it staged was committed, or is named by the record."""

    def kept(values: Mapping[Channel, T]) -> Mapping[Channel, T]:
        return {replace(one, edge=numbers[one.edge]): value for one, value in values.items() if one.edge in numbers}

    return replace(
        snapshot,
        applied=kept(snapshot.applied),
        sent=kept(snapshot.sent),
        channel_state=kept(snapshot.channel_state),
        pieces=(),
        since=checkpoint,
    )
