"""Isolates tables of a running pipeline: cuts them at once, requests a barrier, and stores the isolation in its record.

Rules. (LE1) The leaving set of a vertex is computed once (IS1, IS2), and the barrier names all of it. (LE2)
Its vertices are cut at the request: no subtask waits for them, their executions end, and their later messages are
stale (I37). So a failed vertex need not answer, and a healthy one is handled in the same way. (LE3) The barrier is
requested until a record of it shows the isolation, because the others still send to the isolated vertices.
(LE4) Every record holds the isolated vertices as of their last checkpoint, without the pieces that were committed with
it; their later work is void. (LE5) The record of that checkpoint is kept: it holds the positions of the sources
(IS6, I40). (LE6) If a checkpoint before the last would show rows early, none is requested: the last one records the
isolation, and a driver that dies earlier has isolated nothing.

May not know: why vertices leave, and whether they rejoin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from seatunnel_py.protocol.coordinator.commands import EndExecution, Isolated
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.coordinator.isolation import isolable, leaving, without
from seatunnel_py.protocol.coordinator.trigger import TriggerKind, TriggerRequest
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Operation, OperationKind


class Isolating:
    """``going``: vertices that are cut, but not yet isolated in any record."""

    def __init__(self, shared: CoordinatorState) -> None:
        self.shared = shared
        self.going: frozenset[str] = frozenset()

    def cut(self, vertex: str) -> frozenset[str]:
        """Cut the vertex now, and return its leaving set, itself included (LE1, LE2)."""
        gone = leaving(self.shared.topology, vertex)
        self.shared.topology = without(self.shared.topology, gone)
        self.going |= gone
        self.end_lives(gone)
        return gone

    def end_lives(self, gone: frozenset[str]) -> None:
        """End the executions of vertices that have left the topology (LE2)."""
        shared, names = self.shared, sorted(gone)
        shared.epochs = {**shared.epochs, **{name: shared.epochs[name] + 1 for name in names}}
        shared.say(
            *(
                EndExecution(one, shared.incarnation, shared.epochs[one.vertex])
                for one in shared.topology.subtasks(names)
            )
        )

    def begin(self, operation: Operation) -> Operation | None:
        """The operation of the barrier that starts now, with all leaving vertices (LE1). None: no longer possible."""
        vertex = str(operation.argument)
        if vertex not in self.going:
            if not isolable(self.shared.topology, vertex):
                self.shared.refuse(operation.kind, Reason.NOT_POSSIBLE)
                return None
            self.cut(vertex)
        return Operation(OperationKind.ISOLATE, tuple(sorted(self.going)))

    @property
    def comes_first(self) -> bool:
        """True while a stop must wait for leaving vertices (EN6)."""
        return bool(self.going) and not self.shared.settings.at_end_only

    def due(self, at: float, asked: Iterable[TriggerRequest]) -> TriggerRequest | None:
        """The request for a barrier, while vertices are leaving (LE3). None: none are, it was already requested, or the
        last checkpoint records it (LE6)."""
        if not self.comes_first:
            return None
        if any(request.operation.kind is OperationKind.ISOLATE for request in asked):
            return None
        return TriggerRequest(TriggerKind.OPERATION, at, "", Operation(OperationKind.ISOLATE, min(self.going)))

    def kept(self, record: CheckpointRecord) -> CheckpointRecord:
        """The record, with the snapshots of isolated vertices added (LE4)."""
        newest, out = self.shared.newest, self.shared.topology.detached
        if newest is None or not out:
            return record
        before = {subtask: snapshot for subtask, snapshot in newest.snapshots.items() if subtask.vertex in out}
        stand = {
            subtask: snapshot
            if subtask.vertex in newest.topology.detached
            else replace(snapshot, pieces=(), since=newest.checkpoint)
            for subtask, snapshot in before.items()
        }
        return replace(record, snapshots={**record.snapshots, **stand})

    def completed(self, record: CheckpointRecord, operation: Operation) -> None:
        """The record is durable: the vertices of its barrier are isolated; after a last record no barrier is needed."""
        if operation.kind is not OperationKind.ISOLATE and not self.shared.kept:
            return
        gone = self.going & record.topology.detached
        self.going -= gone
        if gone:
            stand_at = max((one.since for at, one in record.snapshots.items() if at.vertex in gone), default=0)
            self.shared.say(Isolated(tuple(sorted(gone)), record.checkpoint, stand_at))

    @property
    def stood_at(self) -> frozenset[int]:
        """The checkpoints whose records must be kept for isolated vertices (LE5)."""
        newest = self.shared.newest
        assert newest is not None, "nothing is deleted before there is a record"
        out = newest.topology.detached
        return frozenset(one.since for subtask, one in newest.snapshots.items() if subtask.vertex in out)
