"""Tables that are left out of a running pipeline: cut at once, asked for with a barrier, durable with its record.

Rules. (LE1) Who leaves is found once, with everybody who leaves with it (IS1, IS2): the barrier names them all. (LE2)
They are cut when they are asked to leave: nobody waits for them any longer, their lives are over, and what they still
say is of a past life (I37). So a vertex that failed has to do nothing in order to leave, and a healthy one is no other
case. (LE3) A barrier is asked for as long as no record of one shows that they are gone: the others still send to them.
(LE4) Every record holds them as the last one did that they took part in, without the pieces that were committed with
that one; what they did since counts for nothing. (LE5) That record stays while they stand at it: it says where the
sources were (IS6, I40). (LE6) Where a checkpoint before the last would show rows early none is asked for: the last one
shows that they are gone, and a driver that dies before it has left nobody out.

May not know: why they leave, and whether they come back.
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
    """``going`` are cut, and no record of a barrier shows it yet."""

    def __init__(self, shared: CoordinatorState) -> None:
        self.shared = shared
        self.going: frozenset[str] = frozenset()

    def cut(self, vertex: str) -> frozenset[str]:
        """It leaves now; returned is who leaves, itself included (LE1, LE2)."""
        gone = leaving(self.shared.topology, vertex)
        self.shared.topology = without(self.shared.topology, gone)
        self.going |= gone
        self.end_lives(gone)
        return gone

    def end_lives(self, gone: frozenset[str]) -> None:
        """They are out of the topology: whatever they were doing is over (LE2)."""
        shared, names = self.shared, sorted(gone)
        shared.epochs = {**shared.epochs, **{name: shared.epochs[name] + 1 for name in names}}
        shared.say(
            *(
                EndExecution(one, shared.incarnation, shared.epochs[one.vertex])
                for one in shared.topology.subtasks(names)
            )
        )

    def begin(self, operation: Operation) -> Operation | None:
        """What the barrier carries that begins now: all who are going (LE1). None: it is not possible any longer."""
        vertex = str(operation.argument)
        if vertex not in self.going:
            if not isolable(self.shared.topology, vertex):
                self.shared.refuse(operation.kind, Reason.NOT_POSSIBLE)
                return None
            self.cut(vertex)
        return Operation(OperationKind.ISOLATE, tuple(sorted(self.going)))

    @property
    def comes_first(self) -> bool:
        """A stop waits until those who leave are gone (EN6)."""
        return bool(self.going) and not self.shared.settings.at_end_only

    def due(self, at: float, asked: Iterable[TriggerRequest]) -> TriggerRequest | None:
        """The request that has to be made until they are gone (LE3); None: it is among those that were, or they are, or
        the last checkpoint shows it (LE6)."""
        if not self.comes_first:
            return None
        if any(request.operation.kind is OperationKind.ISOLATE for request in asked):
            return None
        return TriggerRequest(TriggerKind.OPERATION, at, "", Operation(OperationKind.ISOLATE, min(self.going)))

    def kept(self, record: CheckpointRecord) -> CheckpointRecord:
        """The record with those who are left out (LE4)."""
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
        """This record is durable: those whom its barrier named are gone; behind a last one nobody needs a barrier."""
        if operation.kind is not OperationKind.ISOLATE and not self.shared.kept:
            return
        gone = self.going & record.topology.detached
        self.going -= gone
        if gone:
            stand_at = max((one.since for at, one in record.snapshots.items() if at.vertex in gone), default=0)
            self.shared.say(Isolated(tuple(sorted(gone)), record.checkpoint, stand_at))

    @property
    def stood_at(self) -> frozenset[int]:
        """The checkpoints whose records have to stay (LE5)."""
        newest = self.shared.newest
        assert newest is not None, "nothing is deleted before there is a record"
        out = newest.topology.detached
        return frozenset(one.since for subtask, one in newest.snapshots.items() if subtask.vertex in out)
