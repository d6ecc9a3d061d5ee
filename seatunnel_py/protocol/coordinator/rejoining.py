"""Lets isolated tables rejoin a running pipeline: at a barrier, with executions that start from its record.

Rules. (RJ1) The record of a table is sufficient if all its sources left with it and can be read again; otherwise the
request must bring the missing rows. A request that lacks something is refused with the missing part, without any
effect. (RJ2) The barrier names the new epochs: after it the others number and send batches for the table again, and
early ones wait. A number may now mean another batch than for an execution that was cut, so no execution sees both. A
failed attempt never reuses its epochs (I11). (RJ3) The record of the barrier contains the table as a part of its cut,
or there is no such record (IS8). (RJ4) Executions start when it is durable, from that record (IS4). The journals of
executions that were cut are void (R11), also for a later driver, which does not know whether they were deleted. (RJ5)
If a vertex that feeds the table has left since, the table is isolated again, with the state of that record.

For change data capture: the runtime does not let tables rejoin yet.

May not know: how the missing rows are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from seatunnel_py.protocol.coordinator.commands import Rejoined, RejoinObstacle, RejoinRefused
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.coordinator.events import RejoinRequested
from seatunnel_py.protocol.coordinator.isolating import Isolating
from seatunnel_py.protocol.coordinator.isolation import (
    behind,
    cut,
    detachment,
    joined_by_reader,
    missing_to_rejoin,
    rejoin,
)
from seatunnel_py.protocol.coordinator.pending import PendingCheckpoint
from seatunnel_py.protocol.coordinator.trigger import TriggerKind, TriggerRequest
from seatunnel_py.protocol.failover.regions import plan_joining, unsound
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Operation, OperationKind, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology


def refusal(
    topology: Topology,
    vertices: Collection[str],
    record: CheckpointRecord,
    brought: Mapping[Subtask, SubtaskSnapshot],
) -> RejoinRefused | None:
    """Why these cannot rejoin with the state in ``record`` or with the ``brought`` snapshots (RJ1); None: they can."""

    def refused(lack: RejoinObstacle, about: Iterable[object] = ()) -> RejoinRefused:
        return RejoinRefused(tuple(sorted(vertices)), lack, tuple(sorted(map(str, about))))

    if not vertices or set(vertices) - topology.detached:
        return refused(RejoinObstacle.STRANGERS, set(vertices) - topology.detached)
    if missing := missing_to_rejoin(topology, vertices):
        return refused(RejoinObstacle.COMPANY, missing)
    whole = rejoin(topology, vertices)
    if lacking := cut(whole, vertices):
        waiting = {channel for snapshot in brought.values() for channel in snapshot.channel_state}
        if set(whole.subtasks(vertices)) - brought.keys() or waiting.intersection(lacking):
            return refused(RejoinObstacle.ROWS, {channel.sender.vertex for channel in lacking})
        return None
    if once := [name for name in whole.sources if name in vertices and not whole.vertex(name).replayable]:
        return refused(RejoinObstacle.READ_ONCE, once)
    plan = plan_joining(whole, vertices, {}, record, 0)
    ahead = unsound(whole, record, plan.restarts)
    return refused(RejoinObstacle.AHEAD, {channel.receiver.vertex for channel in ahead}) if ahead else None


class Rejoining:
    """``coming``: vertices of the pending barrier, with their new epochs; ``joined``: vertices whose executions must
    start now."""

    def __init__(self, shared: CoordinatorState, leaving: Isolating) -> None:
        self.shared = shared
        self.leaving = leaving
        self.asked: dict[tuple[str, ...], RejoinRequested] = {}
        self.coming: dict[str, int] = {}
        self.joined: frozenset[str] = frozenset()

    def ask(self, event: RejoinRequested) -> TriggerRequest | None:
        """Return the request for the barrier; None: it was refused."""
        if self._refused(event):
            return None
        vertices = tuple(sorted(event.vertices))
        self.asked[vertices] = event
        return TriggerRequest(TriggerKind.OPERATION, event.at, "", Operation(OperationKind.ADD, vertices))

    def _refused(self, event: RejoinRequested) -> bool:
        shared, vertices = self.shared, tuple(sorted(event.vertices))
        if still := self.leaving.going.intersection(vertices):
            shared.say(RejoinRefused(vertices, RejoinObstacle.LEAVING, tuple(sorted(still))))
            return True
        refused = None if shared.newest is None else refusal(shared.topology, vertices, shared.newest, event.brought)
        if refused:
            shared.say(refused)
        return refused is not None

    def begin(self, operation: Operation) -> Operation | None:
        """The operation of the barrier that starts now (RJ2). None: no longer possible."""
        event = self._event(operation)
        if self._refused(event):
            return None
        self.coming = {name: self.shared.epochs[name] + 1 for name in sorted(event.vertices)}
        return Operation(OperationKind.ADD, dict(self.coming))

    def _event(self, operation: Operation) -> RejoinRequested:
        """The request of this operation; one without brought snapshots if there was none."""
        named = operation.argument if isinstance(operation.argument, (list, tuple, Mapping)) else [operation.argument]
        vertices = tuple(sorted(map(str, named)))
        return self.asked.get(vertices, RejoinRequested(0.0, vertices))

    def fits(self, pending: PendingCheckpoint) -> bool:
        """True if the brought snapshots end exactly at this barrier (RJ3)."""
        if pending.operation.kind is not OperationKind.ADD or not (event := self._event(pending.operation)).brought:
            return True
        whole = rejoin(self.shared.topology, event.vertices)
        late = behind(whole, event.vertices, pending.snapshots, event.reached)
        if late:
            self.shared.say(RejoinRefused(tuple(self.coming), RejoinObstacle.BEHIND, tuple(sorted(map(str, late)))))
        return not late

    def given_up(self, operation: Operation) -> None:
        """The checkpoint of the barrier was aborted (RJ2)."""
        if operation.kind is OperationKind.ADD:
            self._never_begin()

    def _never_begin(self) -> None:
        """Cancel the announced executions: batches for them must not block a sender (RJ2)."""
        self.shared.epochs = {**self.shared.epochs, **self.coming}
        self.leaving.end_lives(frozenset(self.coming))
        self.coming = {}

    def shown(self, record: CheckpointRecord, operation: Operation) -> CheckpointRecord:
        """The record, with the rejoining vertices added (RJ3)."""
        if operation.kind is not OperationKind.ADD:
            return record
        event, whole = self._event(operation), rejoin(record.topology, self.coming)
        brought = {subtask: snapshot for subtask, snapshot in event.brought.items() if subtask.vertex in self.coming}
        came = joined_by_reader(detachment(whole, frozenset(self.coming), None), record, brought)
        snapshots = {**record.snapshots, **came}
        return replace(record, topology=whole, snapshots=snapshots, joined=frozenset(self.coming))

    def completed(self, record: CheckpointRecord, operation: Operation) -> None:
        """The record is durable: the vertices take part (RJ4), unless a vertex that feeds them has left (RJ5)."""
        if operation.kind is not OperationKind.ADD:
            return
        shared, came = self.shared, frozenset(self.coming)
        self.asked.pop(tuple(sorted(came)), None)
        if missing_to_rejoin(shared.topology, came):
            self.leaving.going |= came
            self._never_begin()
            return
        self.coming = {}
        shared.topology = rejoin(shared.topology, came)
        shared.say(Rejoined(tuple(sorted(came)), record.checkpoint))
        self.joined = came

    def take_joined(self) -> frozenset[str]:
        """Return and clear the vertices whose executions must start."""
        joined, self.joined = self.joined, frozenset()
        return joined
