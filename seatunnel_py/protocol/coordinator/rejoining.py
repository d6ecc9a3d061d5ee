"""Tables that come back into a running pipeline: asked for, let in at a barrier, alive from its record on.

Rules. (RJ1) What the record holds of a table is enough where all its sources left with it and can be read again;
otherwise somebody has to bring what it missed. What cannot be made good is refused, with what is lacking, and nobody
notices. (RJ2) The barrier names the lives in which they come back: from it on the others number and send for them
again, and what arrives early waits. A number that a life which was cut had seen may mean another batch now: no life
sees both. An attempt that was given up leaves its lives unused for ever (I11). (RJ3) The record of the barrier shows
them as parts of its cut, or there is no such record (IS8). (RJ4) Their lives begin when it is durable, from that record
(IS4); the journals of the lives that were cut are void (R11), also to a driver that finds that record without knowing
whether anybody dropped them. (RJ5) Where somebody who feeds them has left since, they
are left out again, with what that record holds.

Waits for change data capture: the runtime does not let tables rejoin yet.

May not know: who reads for them in the meantime, and how.
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
    """Why these cannot come back from what ``record`` holds of them, or from what was brought (RJ1); None: they can."""

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
    """``coming``: the vertices that the barrier under way lets in, and in which lives; ``joined``: those whose lives
    are to begin now."""

    def __init__(self, shared: CoordinatorState, leaving: Isolating) -> None:
        self.shared = shared
        self.leaving = leaving
        self.asked: dict[tuple[str, ...], RejoinRequested] = {}
        self.coming: dict[str, int] = {}
        self.joined: frozenset[str] = frozenset()

    def ask(self, event: RejoinRequested) -> TriggerRequest | None:
        """The request for the barrier; None: it was refused."""
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
        """What the barrier carries that begins now (RJ2). None: it is not possible any longer."""
        event = self._event(operation)
        if self._refused(event):
            return None
        self.coming = {name: self.shared.epochs[name] + 1 for name in sorted(event.vertices)}
        return Operation(OperationKind.ADD, dict(self.coming))

    def _event(self, operation: Operation) -> RejoinRequested:
        """Who shall come back; where that was not asked for with anything that was brought, from what there is."""
        named = operation.argument if isinstance(operation.argument, (list, tuple, Mapping)) else [operation.argument]
        vertices = tuple(sorted(map(str, named)))
        return self.asked.get(vertices, RejoinRequested(0.0, vertices))

    def fits(self, pending: PendingCheckpoint) -> bool:
        """Whether what was brought ends exactly here (RJ3)."""
        if pending.operation.kind is not OperationKind.ADD or not (event := self._event(pending.operation)).brought:
            return True
        whole = rejoin(self.shared.topology, event.vertices)
        late = behind(whole, event.vertices, pending.snapshots, event.reached)
        if late:
            self.shared.say(RejoinRefused(tuple(self.coming), RejoinObstacle.BEHIND, tuple(sorted(map(str, late)))))
        return not late

    def given_up(self, operation: Operation) -> None:
        """The barrier let them in, and there will be no record (RJ2)."""
        if operation.kind is OperationKind.ADD:
            self._never_begin()

    def _never_begin(self) -> None:
        """The lives that were announced will not be: what was sent to them keeps nobody waiting (RJ2)."""
        self.shared.epochs = {**self.shared.epochs, **self.coming}
        self.leaving.end_lives(frozenset(self.coming))
        self.coming = {}

    def shown(self, record: CheckpointRecord, operation: Operation) -> CheckpointRecord:
        """The record with those who come back (RJ3)."""
        if operation.kind is not OperationKind.ADD:
            return record
        event, whole = self._event(operation), rejoin(record.topology, self.coming)
        brought = {subtask: snapshot for subtask, snapshot in event.brought.items() if subtask.vertex in self.coming}
        came = joined_by_reader(detachment(whole, frozenset(self.coming), None), record, brought)
        snapshots = {**record.snapshots, **came}
        return replace(record, topology=whole, snapshots=snapshots, joined=frozenset(self.coming))

    def completed(self, record: CheckpointRecord, operation: Operation) -> None:
        """The record is durable: they take part (RJ4), if those who feed them still do (RJ5)."""
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
        """Those whose lives are to begin; asked once."""
        joined, self.joined = self.joined, frozenset()
        return joined
