"""One driver process of the world: a coordinator, a participant for each subtask, the channels between them.

All of it is memory, and gone with a crash. Two drivers can live at once: the older one goes on until it is fenced.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.letters import TO_COORDINATOR, restored
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import BatchHandle, Envelope
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.orders import PERFORM, Orders
from tests.simulation.storage import Answer
from tests.simulation.work import work

if TYPE_CHECKING:
    from tests.simulation.pipelines import Pipeline
    from tests.simulation.world import World

ANSWERS = (report.Declined, TO_COORDINATOR[task.Acknowledge], TO_COORDINATOR[task.Decline])
NEVER_LOST = (report.SubtaskReady, report.SubtaskFailed, report.SourceEnded)


@dataclass(slots=True)
class Node:
    """A subtask of a driver. ``epoch`` 0: it never lived. ``held``: a unit that waits for room behind it."""

    subtask: Subtask
    machine: Any
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    epoch: int = 0
    dead: bool = True
    replays_until: int = 0
    """The number of the last unit that the journal of this life names."""
    begun: int = 0
    held: task.RunUnit | None = None
    running: task.RunUnit | None = None
    exhausted: task.RunUnit | None = None
    """A unit that failed, while the coordinator is asked what follows."""
    name: str = ""

    def __post_init__(self) -> None:
        self.name = str(self.subtask)


class Driver(Orders):
    """``record``: what it goes on from, in its own graph; without ``replay`` the journals are of another one."""

    def __init__(
        self,
        world: World,
        incarnation: int,
        claim: Claim,
        pipeline: Pipeline,
        record: CheckpointRecord | None,
        *,
        replay: bool,
    ) -> None:
        self.world = world
        self.incarnation = incarnation
        self.pipeline, self.record, self.replay = pipeline, record, replay
        self.machinery = world.machinery
        self.alive = True
        self.ended: order.PipelineEnded | None = None
        detached = record.topology.detached if record else frozenset[str]()
        whole = pipeline.topology
        self.topology = topology = replace(whole, detached=detached)
        """As the coordinator has said it is: without those who are left out."""
        self.nodes = {
            subtask: Node(
                subtask, world.make_participant(subtask, topology), whole.inputs(subtask), whole.outputs(subtask)
            )
            for subtask in whole.subtasks()
        }
        self.coordinator = world.make_coordinator(self, claim)
        self.channels: dict[Channel, deque[Envelope]] = {channel: deque() for channel in whole.channels}
        self.busy: set[Channel] = set()
        self.emitted: dict[Channel, int] = {}
        self.taken: dict[Channel, int] = {}
        self.timers: dict[str, int] = {}
        self._timer_count = 0
        self.progressed = False
        """Since the last trigger the coordinator has heard that there is something new."""
        self.name = f"driver {incarnation}"

    # ---------------------------------------------------------------- machines

    def hear(self, kind: type, *fields: Any) -> None:
        """An event for the coordinator."""
        if not self.alive:
            return
        world = self.world
        event = kind(world.clock(), *fields)
        if world.faults.strikes("driver crashes"):
            world.crash(self)
            return
        if world.faults.strikes("second driver"):
            world.start_driver()
        commands = self.coordinator.handle(event)
        world.handled(self, None, event, commands)
        for command in commands:
            world.tell(type(command), self, None, command)
            PERFORM[type(command)](self, command)
            if not self.alive:
                return

    def hear_subtask(self, subtask: Subtask, kind: Callable[..., Any], *fields: Any) -> None:
        """An event for a participant."""
        node = self.nodes[subtask]
        if not self.alive or (node.dead and kind is not restored):
            return
        self._feed(node, kind(self.world.clock(), *fields))

    def _feed(self, node: Node, event: Any) -> None:
        commands = node.machine.handle(event)
        self.world.handled(self, node, event, commands)
        for command in commands:
            self.world.tell(type(command), self, node, command)
            PERFORM_TASK[type(command)](self, node, command)

    # ---------------------------------------------------------------- messages

    def to_coordinator(self, kind: Callable[..., Any], *fields: Any) -> None:
        faults = self.world.faults
        if kind in ANSWERS:
            if faults.strikes("ack lost"):
                return
            if faults.strikes("ack twice"):
                self.world.later(self.world.delay(0.3), self.hear, kind, *fields)
            if faults.strikes("ack late"):
                self.world.later(self.world.delay(3.0), self.hear, kind, *fields)
                return
        self.world.later(self.mail_delay(), self.hear, kind, *fields)

    def to_subtask(
        self, subtask: Subtask, kind: Callable[..., Any], *fields: Any, lost: str = "", twice: str = ""
    ) -> None:
        faults = self.world.faults
        if lost and faults.strikes(lost):
            return
        if twice and faults.strikes(twice):
            self.world.later(self.world.delay(0.5), self.hear_subtask, subtask, kind, *fields)
        self.world.later(self.mail_delay(), self.hear_subtask, subtask, kind, *fields)

    def mail_delay(self) -> float:
        return self.world.delay(0.8) if self.world.faults.strikes("message late") else self.world.delay(0.006)

    # ---------------------------------------------------------------- what participants ask for

    def run_unit(self, node: Node, command: task.RunUnit) -> None:
        world = self.world
        node.begun = command.number
        if command.channel is not None and command.batch is not None:
            self.taken[command.channel] = command.batch.number
            sender = self.nodes[command.channel.sender]
            if sender.held is not None and self.has_room(sender):
                held, sender.held = sender.held, None
                world.later(0.0, self.start_unit, sender, held)
        if world.faults.strikes("subtask dies"):
            node.dead = True
            self.to_coordinator(report.SubtaskFailed, self.incarnation, node.epoch, node.subtask, Reason.UNIT_FAILED)
            return
        if self.has_room(node):
            self.start_unit(node, command)
        else:
            world.count("a unit waited for room")
            node.held = command

    def has_room(self, node: Node) -> bool:
        """Back-edges have no bound: a full cycle must not stand still (I47). Nor have channels to a receiver that takes
        its journal again: what it waits for may stand behind what it will take later."""
        capacity = self.pipeline.capacity
        back_edges = self.machinery.back_edges
        return all(
            self.emitted.get(channel, 0) - self.taken.get(channel, 0) < capacity
            for channel in node.outputs
            if channel.edge not in back_edges
            and channel.receiver.vertex not in self.topology.detached
            and self.nodes[channel.receiver].begun >= self.nodes[channel.receiver].replays_until
        )

    def start_unit(self, node: Node, command: task.RunUnit) -> None:
        if not self.alive or node.dead or command.epoch != node.epoch:
            return
        world = self.world
        node.running = command
        slow = world.faults.strikes("slow worker")
        world.later(world.delay(1.5 if slow else 0.03), self.end_unit, node, command)

    def end_unit(self, node: Node, command: task.RunUnit, zombie: bool = False) -> None:
        """A worker has finished: in this life, or as a zombie of an earlier one."""
        if not self.alive:
            return
        world = self.world
        if node.dead or command.epoch != node.epoch:
            if not zombie:
                return
            world.count("a unit of a past life ended")
        else:
            node.running = None
        if world.faults.strikes("unit fails"):
            self.unit_failed(node, command)
            return
        fields = work(self, node, command)
        if fields is None:
            self.unit_failed(node, command)
        else:
            self.hear_subtask(node.subtask, task.UnitDone, command.epoch, command.number, *fields)
            if not self.progressed:
                self.progressed = True
                self.hear(report.Progressed)

    def unit_failed(self, node: Node, command: task.RunUnit) -> None:
        """Its attempts are used up: the coordinator says what follows."""
        node.exhausted = command
        about = (self.incarnation, command.epoch, node.subtask, command.number)
        self.to_coordinator(report.UnitExhausted, *about, True)

    def log_taken(self, node: Node, command: task.LogUnit) -> None:
        self.world.later(self.world.delay(0.003), self._log, node, command)

    def _log(self, node: Node, command: task.LogUnit) -> None:
        if not self.alive:
            return
        world = self.world
        answer = world.journal.append(node.subtask, self.incarnation, command.epoch, command.entry)
        world.tell("logged", self, node, command, answer)
        if answer is Answer.DONE:
            world.sources.logged(node.subtask, command.entry.range)
            about = (task.UnitLogged, command.epoch, command.entry.number)
            world.later(world.delay(0.003), self.hear_subtask, node.subtask, *about)

    def emit(self, node: Node, command: task.Emit) -> None:
        envelope = command.envelope
        channel = envelope.channel
        if isinstance(envelope.item, BatchHandle):
            self.emitted[channel] = envelope.item.number
        self.channels[channel].append(envelope)
        if channel not in self.busy:
            self.busy.add(channel)
            self.world.later(self._channel_delay(), self._deliver, channel)

    def _channel_delay(self) -> float:
        return self.world.delay(1.2) if self.world.faults.strikes("channel slow") else self.world.delay(0.008)

    def _deliver(self, channel: Channel) -> None:
        if not self.alive:
            return
        waiting, receiver = self.channels[channel], self.nodes[channel.receiver]
        if waiting and not (receiver.dead and waiting[0].receiver_epoch > receiver.epoch):
            # what is for a life that has not begun waits for it
            self.hear_subtask(channel.receiver, task.Arrived, waiting.popleft())
        if waiting:
            self.world.later(self._channel_delay(), self._deliver, channel)
        else:
            self.busy.discard(channel)

    def acknowledge(self, node: Node, command: task.Acknowledge) -> None:
        if self.world.faults.strikes("snapshot fails"):
            node.dead = True
            about = (command.incarnation, command.epoch, command.subtask)
            self.to_coordinator(report.Declined, *about, command.checkpoint, Reason.SNAPSHOT_FAILED)
            self.to_coordinator(report.SubtaskFailed, *about, Reason.SNAPSHOT_FAILED)
            return
        self.report(node, command)

    def report(self, node: Node, command: Any) -> None:
        """A letter to the coordinator."""
        self.to_coordinator(TO_COORDINATOR[type(command)], command)

    def time_alignment(self, node: Node, command: task.TimeAlignment) -> None:
        self.world.later(
            command.seconds, self.hear_subtask, node.subtask, task.AlignmentTimedOut, command.epoch, command.checkpoint
        )


PERFORM_TASK: dict[type, Any] = {
    task.RunUnit: Driver.run_unit,
    task.LogUnit: Driver.log_taken,
    task.Emit: Driver.emit,
    task.Acknowledge: Driver.acknowledge,
    task.Decline: Driver.report,
    task.ReportReady: Driver.report,
    task.ReportFailed: Driver.report,
    task.ReportEnded: Driver.report,
    task.TimeAlignment: Driver.time_alignment,
}
