"""Finishes an isolated table after the end of its pipeline, in a separate recovery pipeline.

Rules. (AP1) The recovery pipeline consists of the vertices that finish together and of all that feed them. (AP2) All
resume from the table's last checkpoint (IS6, LE5), so the table misses no row and gets none twice. (AP3) On every
channel the table has exactly the batches that were sent until then. If a sender was repeating batches at that time,
numbers would be ambiguous (I22), and the recovery is refused. (AP4) A table without a checkpoint starts from nothing.
(AP5) Its numbers and epochs continue above those of its former pipeline (I11), and its unconfirmed commits are issued
first (P2). (AP6) A recovery is refused if a source cannot be read a second time, or if rows would pass through a sink
that already has them. (AP7) A pipeline that has not ended keeps its records: no recovery runs beside it.

May not know: what a position is, and how the pipeline is run.
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
    """The commit scopes to recover, each in a separate pipeline (AP1, AP7)."""
    if record.kind is not RecordKind.FINAL:
        return ()
    sinks = (one for one in record.topology.vertices if one.sink is not SinkKind.NONE)
    return tuple(dict.fromkeys(one.commit_scope for one in sinks if one.id in record.topology.detached))


def finishing(topology: Topology, scope: str) -> frozenset[str]:
    """The vertices that finish together with this scope."""
    return frozenset(one.id for one in topology.vertices if one.sink is not SinkKind.NONE and one.commit_scope == scope)


def members(topology: Topology, scope: str) -> frozenset[str]:
    """The vertices of the recovery pipeline of this scope (AP1)."""
    own = finishing(topology, scope)
    return own.union(*(topology.ancestors(name) for name in own))


def stands_at(record: CheckpointRecord, scope: str) -> int:
    """The last checkpoint of an isolated scope, by this record; 0: none (AP4)."""
    own = finishing(record.topology, scope)
    return max((one.since for at, one in record.snapshots.items() if at.vertex in own), default=0)


def cannot_be_finished(topology: Topology, scope: str) -> str:
    """Why the scope cannot be recovered (AP6); empty if it can."""
    own, every = finishing(topology, scope), members(topology, scope)
    if once := [name for name in topology.sources if name in every and not topology.vertex(name).replayable]:
        return f"{', '.join(once)} cannot be read a second time"
    if through := [one.id for one in topology.vertices if one.id in every - own and one.sink is not SinkKind.NONE]:
        return f"its rows come through {', '.join(through)}, which is a sink that has them already"
    return ""


def begin_apart(newest: CheckpointRecord, stood: CheckpointRecord, scope: str) -> CheckpointRecord | RestoreRefusal:
    """The record from which the recovery pipeline of this scope starts. ``newest``: the last record of the former
    pipeline; ``stood``: that of the scope's last checkpoint."""
    graph, numbers = _part(newest.topology, members(newest.topology, scope))
    snapshots = {}
    for subtask in graph.subtasks():
        snapshot = stood.snapshots.get(subtask)
        if snapshot is None:
            return RestoreRefusal(f"no record holds the position of {subtask} at checkpoint {stood.checkpoint}")
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
    """The graph of these vertices alone, and the new numbers of its edges."""
    kept = [(number, edge) for number, edge in enumerate(topology.edges) if {edge.sender, edge.receiver} <= set(every)]
    vertices = tuple(one for one in topology.vertices if one.id in every)
    graph = Topology(vertices, tuple(edge for _, edge in kept), topology.version + 1)
    return graph, {number: at for at, (number, _) in enumerate(kept)}


def _renumbered(snapshot: SubtaskSnapshot, numbers: Mapping[int, int], checkpoint: int) -> SubtaskSnapshot:
    """The snapshot with only the remaining channels, and without pieces: these are committed, or in the record."""

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
