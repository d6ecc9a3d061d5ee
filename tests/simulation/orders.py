"""What a coordinator asks for, performed: messages, lives, the store, the targets, timers.

A part of ``Driver``, in a file of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.letters import TO_PARTICIPANT, restored
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import Envelope
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from seatunnel_py.protocol.model.topology import Topology
    from tests.simulation.driver import Node
    from tests.simulation.rows import Machinery
    from tests.simulation.world import World


TICK = 1e-6
"""No timer is early: what is due is seen to be, however the sum of two times is rounded."""


class Orders:
    """Base of ``Driver``; the fields are set there."""

    world: World
    machinery: Machinery
    topology: Topology
    incarnation: int
    alive: bool
    ended: order.PipelineEnded | None
    nodes: dict[Subtask, Node]
    channels: dict[Channel, deque[Envelope]]
    emitted: dict[Channel, int]
    taken: dict[Channel, int]
    timers: dict[str, int]
    progressed: bool
    _timer_count: int
    hear: Callable[..., None]
    hear_subtask: Callable[..., None]
    to_coordinator: Callable[..., None]
    to_subtask: Callable[..., None]
    mail_delay: Callable[[], float]
    has_room: Callable[[Any], bool]
    start_unit: Callable[..., None]
    end_unit: Callable[..., None]

    def send_trigger(self, command: order.SendTrigger) -> None:
        self.progressed = False
        self.send(command, lost="trigger lost", twice="trigger twice")

    def send(self, command: Any, **faults: str) -> None:
        """A letter to a participant."""
        self.to_subtask(command.subtask, TO_PARTICIPANT[type(command)], command, **faults)

    def send_aborted(self, command: order.SendAborted) -> None:
        self.send(command, twice="notice twice")

    def send_completed(self, command: order.SendCompleted) -> None:
        self.world.journal.forget(self.world.store.ever[command.checkpoint], command.subtask, self.incarnation)
        self.send(command, lost="notice lost", twice="notice twice")

    def restart(self, command: order.Restart) -> None:
        self.world.later(self.mail_delay(), self._restart, command)

    def _restart(self, command: order.Restart) -> None:
        """End one life, begin another."""
        if not self.alive:
            return
        node, world = self.nodes[command.subtask], self.world
        if command.epoch <= node.epoch:
            return  # overtaken by a newer life
        if node.running is not None and world.faults.strikes("zombie worker"):
            # Its worker does not know that the life is over, and answers the next one.
            world.later(0.02 + world.delay(0.08), self.end_unit, node, node.running, True)
        node.epoch, node.dead, node.held, node.running, node.exhausted = command.epoch, False, None, None, None
        taken = command.snapshot.taken if command.snapshot else 0
        journal = world.journal.begin(command)
        current = (
            self.incarnation >= world.journal.incarnation
        )  # an overtaken driver drops no journal, and loses nothing
        if current and world.sources.restarted(command, self.machinery):
            world.tell("lost", self, command)
        node.begun, node.replays_until = taken, taken + len(journal)
        self._forget_channels(node, command)
        if command.subtask.vertex in world.targets:
            world.targets[command.subtask.vertex].begin(command.subtask, command.incarnation, command.epoch)
        world.tell("lives", self, node, command, journal)
        if world.faults.strikes("restore fails"):
            node.dead = True
            self.to_coordinator(
                report.SubtaskFailed, command.incarnation, command.epoch, command.subtask, Reason.RESTORE_FAILED
            )
            return
        self.hear_subtask(command.subtask, restored, command, journal)

    def _forget_channels(self, node: Node, command: order.Restart) -> None:
        """What was on the way to or from a life that is over may be gone, or may still arrive: its epoch tells."""
        snapshot = command.snapshot
        for channel in node.inputs:
            self.taken[channel] = snapshot.applied.get(channel, 0) if snapshot else 0
            if self.world.choices.outcome.chance(0.5):
                self._keep(channel, lambda one: one.receiver_epoch >= command.epoch)
        for channel in node.outputs:
            self.emitted[channel] = snapshot.sent.get(channel, 0) if snapshot else 0
            if self.world.choices.outcome.chance(0.5):
                self._keep(channel, lambda one: one.sender_epoch >= command.epoch)
        for channel in node.inputs:
            sender = self.nodes[channel.sender]
            if sender.held is not None and self.has_room(sender):
                held, sender.held = sender.held, None
                self.world.later(0.0, self.start_unit, sender, held)

    def _keep(self, channel: Channel, wanted: Callable[[Envelope], bool]) -> None:
        """Only what belongs to lives that are over is lost: the new life's batches may be here before it."""
        self.channels[channel] = deque(filter(wanted, self.channels[channel]))

    def send_peer_restarted(self, command: order.SendPeerRestarted) -> None:
        self.send(command, twice="notice twice")

    def send_start(self, command: order.SendStart) -> None:
        self.send(command, twice="notice twice")

    def fail_unit(self, command: order.FailUnit) -> None:
        self.send(command)

    def retry_unit(self, command: order.RetryUnit) -> None:
        self.world.count("a unit was tried on for ever")
        self.world.later(command.pause, self._retry_unit, command)

    def _retry_unit(self, command: order.RetryUnit) -> None:
        node = self.nodes[command.subtask]
        if node.exhausted is not None and node.exhausted.epoch == command.epoch == node.epoch:
            unit, node.exhausted = node.exhausted, None
            self.start_unit(node, unit)

    def persist(self, command: order.Persist) -> None:
        self.world.storing.append((self, command.record))
        slow = self.world.faults.strikes("store slow")
        self.world.later(self.world.delay(1.5 if slow else 0.02), self._persist, command)

    def _persist(self, command: order.Persist) -> None:
        """A driver that has crashed meanwhile may still have reached the store, or not."""
        world, record = self.world, command.record
        world.storing = [(driver, one) for driver, one in world.storing if one is not record]
        if not self.alive and not world.choices.outcome.chance(0.5):
            return
        if self.alive and world.faults.strikes("store write fails"):
            self.hear(report.PersistFailed, record.checkpoint, False)
            return
        if self.alive and world.faults.strikes("driver crashes in store write"):
            world.crash(self)
            if not world.choices.outcome.chance(0.5):
                return
        answer = world.store.write(record, self.incarnation)
        if answer is Answer.DONE and record.kind is RecordKind.ZERO:
            world.void = False
        world.tell("stored", self, record, answer)
        if not self.alive:
            return
        if answer is Answer.FENCED:
            world.later(world.delay(0.01), self.hear, report.PersistFailed, record.checkpoint, True)
        else:
            world.later(world.delay(0.01), self.hear, report.Persisted, record.checkpoint)

    def commit_pieces(self, command: order.CommitPieces) -> None:
        self.world.later(self.world.delay(0.05), self._commit, command)

    def _commit(self, command: order.CommitPieces) -> None:
        world = self.world
        if not self.alive and not world.choices.outcome.chance(0.5):
            return
        about = (command.incarnation, command.scope, command.checkpoint)
        target = world.targets[command.scope]
        if self.alive and world.faults.strikes("driver crashes in commit"):
            world.crash(self)
            if not world.choices.outcome.chance(0.5):
                return
        elif self.alive and (
            world.faults.strikes("commit fails before") or world.faults.strikes("commit refused for a while")
        ):
            self.hear(report.CommitFailed, *about, Reason.COMMIT_FAILED)
            return
        commit = CommitRecord(command.scope, command.checkpoint, command.pieces)
        answer = target.commit(command.incarnation, commit, max(world.store.ever, default=0))
        if world.choices.outcome.chance(0.5):
            target.clean()
        world.tell("committed", self, target, command, answer)
        if not self.alive:
            return
        if answer is Answer.ALREADY:
            world.count("a commit was retried after success")
        if answer in (Answer.FENCED, Answer.LOST):
            reason = Reason.FENCED if answer is Answer.FENCED else Reason.LOST
            self.hear(report.CommitFailed, *about, reason)
        elif answer is Answer.DONE and world.faults.strikes("commit fails after"):
            self.hear(report.CommitFailed, *about, Reason.COMMIT_FAILED)
        else:
            self.hear(report.CommitConfirmed, *about)

    def drop_pieces(self, command: order.DropPieces) -> None:
        self.world.targets[command.scope].drop(command.pieces)

    def delete_record(self, command: order.DeleteRecord) -> None:
        if not self.world.faults.strikes("delete fails"):
            self.world.store.delete(command.checkpoint, self.incarnation)

    def set_timer(self, command: order.SetTimer) -> None:
        self._timer_count += 1
        self.timers[command.name] = self._timer_count
        seconds = max(0.0, command.seconds) + TICK
        self.world.later(seconds, self._timer, command.name, self._timer_count)

    def _timer(self, name: str, number: int) -> None:
        if self.alive and self.timers.get(name) == number:
            del self.timers[name]
            self.hear(report.Timer, name)

    def cancel_timer(self, command: order.CancelTimer) -> None:
        self.timers.pop(command.name, None)

    def set_up(self, command: order.SetUp) -> None:
        """Intent record, effects, done record: a driver may die between any two."""
        world = self.world
        steps = (world.store.intents.add, world.targets[command.unit].empty, world.store.done.add)
        for number, step in enumerate(steps):
            world.later(world.delay(0.02) + number * 0.03, self._set_up, command, number, step)

    def _set_up(self, command: order.SetUp, number: int, step: Callable[[str], None]) -> None:
        world = self.world
        if self.alive and world.faults.strikes("driver crashes in set-up"):
            world.crash(self)
        if not self.alive or self.incarnation < world.store.incarnation:
            return  # the store and the target refuse an overtaken one
        world.tell("set up", self, command, number)
        step(command.unit)
        if number == 2:
            self.hear(report.SetUpDone, command.unit)
            if world.faults.strikes("notice twice"):
                self.hear(report.SetUpDone, command.unit)

    def end_life(self, command: order.EndExecution) -> None:
        self.world.later(self.mail_delay(), self._end_life, command)
        for node in self.nodes.values():
            if node.held is not None and self.has_room(node):
                held, node.held = node.held, None  # nobody waits for room towards who is left out
                self.world.later(0.0, self.start_unit, node, held)

    def _end_life(self, command: order.EndExecution) -> None:
        """It is left out, and whatever it was doing is over."""
        node, world = self.nodes[command.subtask], self.world
        if not self.alive or command.epoch <= node.epoch:
            return
        node.epoch, node.dead, node.held, node.running = command.epoch, True, None, None
        world.journal.end(command.subtask, command.incarnation, command.epoch)
        if command.subtask.vertex in world.targets:
            world.targets[command.subtask.vertex].begin(command.subtask, command.incarnation, command.epoch)

    def isolated(self, command: order.Isolated) -> None:
        """Somebody wants the table back, sooner or later."""
        more = self.world.choices.graph
        if more.chance(0.8):
            self.world.later(more.draw() * 0.1, self.hear, report.RejoinRequested, command.vertices)

    def nothing(self, command: object) -> None:
        """For people only."""

    def pipeline_ended(self, command: order.PipelineEnded) -> None:
        self.ended = command
        self.world.driver_ended(self, command)


PERFORM: dict[type, Any] = {
    order.SendTrigger: Orders.send_trigger,
    order.SendAborted: Orders.send_aborted,
    order.SendCompleted: Orders.send_completed,
    order.Restart: Orders.restart,
    order.SendPeerRestarted: Orders.send_peer_restarted,
    order.SendStart: Orders.send_start,
    order.Persist: Orders.persist,
    order.CommitPieces: Orders.commit_pieces,
    order.CommitWaits: Orders.nothing,
    order.RetryUnit: Orders.retry_unit,
    order.FailUnit: Orders.fail_unit,
    order.DropPieces: Orders.drop_pieces,
    order.DeleteRecord: Orders.delete_record,
    order.SetTimer: Orders.set_timer,
    order.CancelTimer: Orders.cancel_timer,
    order.SetUp: Orders.set_up,
    order.Refused: Orders.nothing,
    order.CheckpointEnded: Orders.nothing,
    order.EndExecution: Orders.end_life,
    order.Isolated: Orders.isolated,
    order.Rejoined: Orders.nothing,
    order.RejoinRefused: Orders.nothing,
    order.PipelineEnded: Orders.pipeline_ended,
}
