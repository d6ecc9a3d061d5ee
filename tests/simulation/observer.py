"""What is known of a run, gathered once for all checkers: lives, emissions, checkpoints, acknowledgements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.failover.regions import restored_position
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import (
    Barrier,
    BatchHandle,
    Envelope,
    JournalUse,
    OperationKind,
    SubtaskSnapshot,
    TakenInput,
)
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.rows import MASK, total
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from seatunnel_py.protocol.model.records import CheckpointRecord
    from tests.simulation.driver import Driver, Node
    from tests.simulation.world import World


@dataclass(slots=True)
class Life:
    """One epoch of a subtask in one driver."""

    incarnation: int
    epoch: int
    checkpoint: int
    snapshot: SubtaskSnapshot
    journal: dict[int, TakenInput]
    next: dict[Channel, int]
    sent: dict[Channel, int]
    unit: int = 0
    expected: tuple[Any, ...] | None = None
    pieces: list[tuple[int, str]] = field(default_factory=list)
    aborted: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    received: dict[Channel, dict[int, int]] = field(default_factory=dict)
    """What has arrived and was not dropped: number -> digest, by channel."""
    highest: dict[Channel, int] = field(default_factory=dict)
    senders: dict[Channel, int] = field(default_factory=dict)
    stopped_by: int = 0
    started: bool = False


@dataclass(slots=True)
class Known:
    """What one coordinator has done so far. ``pending``: checkpoint -> when it was triggered."""

    epochs: dict[Subtask, int] = field(default_factory=dict)
    pending: dict[int, float] = field(default_factory=dict)
    triggered: dict[int, Any] = field(default_factory=dict)
    ended: dict[int, Reason | None] = field(default_factory=dict)
    acknowledged: dict[int, dict[Subtask, tuple[int, SubtaskSnapshot]]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    region: set[str] = field(default_factory=set)
    restored: int = -1
    unstarted: set[Subtask] = field(default_factory=set)
    leaving: frozenset[str] = frozenset()
    """Whom a barrier cuts off."""
    gone: set[str] = field(default_factory=set)
    """Whose lives were ended."""
    isolated: frozenset[str] = frozenset()
    coming: frozenset[str] = frozenset()
    """Whom a barrier lets in."""


class Observer:
    """Learns of an event before all checkers, and of a command after them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.lives: dict[tuple[int, Subtask], Life] = {}
        self.known: dict[int, Known] = {}
        self.content: dict[Channel, list[int | None]] = {}
        """Digests of what was sent, None where that is not known any more."""
        self.sums: dict[Channel, list[int]] = {}
        self.base: dict[Subtask, int] = {}
        """What is in a state besides the rows of ``sums``: it comes from another graph."""
        self.cuts: dict[tuple[int, int, Channel], tuple[int, int]] = {}
        """(incarnation, checkpoint, channel) -> last number that its sender had sent, and that was ever sent."""
        self.unaligned: set[tuple[int, int]] = set()
        self.used: dict[int, int] = {}
        """Checkpoint id -> incarnation that used it."""
        self.arriving: list[tuple[Life, Envelope]] = []
        """Arrivals that the checkers are looking at; known to them as not received yet."""
        self.batches = 0
        self.completed: list[CheckpointRecord] = []

    def hooks(self) -> dict[Any, Any]:
        return {
            "driver": self.driver,
            "lives": self.lives_begin,
            "stored": self.stored,
            task.Emit: self.emission,
            order.Restart: self.restart,
            order.SendStart: self.start,
            order.SendTrigger: self.trigger,
            order.CheckpointEnded: self.ended,
            order.EndExecution: self.life_ended,
            task.ReportEnded: self.source_ended,
        }

    def life(self, driver: Driver, node: Node) -> Life:
        return self.lives[driver.incarnation, node.subtask]

    def driver(self, driver: Driver, claim: Any) -> None:
        self.known[driver.incarnation] = Known(isolated=driver.topology.detached)
        record = driver.record
        if record is None or not driver.replay:
            snapshots = record.snapshots if record else {}
            held = set(driver.topology.by_id) - set(driver.topology.sources)
            self.base = {subtask: total([one.state])[1] for subtask, one in snapshots.items() if subtask.vertex in held}
            for channel in driver.pipeline.topology.channels:
                self._anew(channel, snapshots.get(channel.receiver))

    def _anew(self, channel: Channel, snapshot: SubtaskSnapshot | None) -> None:
        """Of what was sent on it nothing is known but what still waits."""
        applied = snapshot.applied.get(channel, 0) if snapshot else 0
        self.content[channel] = [None] * applied
        self.sums[channel] = [0] * (applied + 1)
        for batch in snapshot.channel_state.get(channel, ()) if snapshot else ():
            self._sent(channel, batch.digest)

    def _sent(self, channel: Channel, digest: int) -> None:
        self.content[channel].append(digest)
        self.sums[channel].append((self.sums[channel][-1] + digest) & MASK)

    def lives_begin(self, driver: Driver, node: Node, command: order.Restart, journal: tuple[TakenInput, ...]) -> None:
        snapshot = command.snapshot or SubtaskSnapshot()
        self.lives[driver.incarnation, node.subtask] = Life(
            driver.incarnation,
            command.epoch,
            command.checkpoint,
            snapshot,
            {entry.number: entry for entry in journal},
            {channel: snapshot.applied.get(channel, 0) + 1 for channel in node.inputs},
            {channel: snapshot.sent.get(channel, 0) for channel in node.outputs},
            snapshot.taken,
            highest={
                channel: (snapshot.channel_state.get(channel) or (BatchHandle(snapshot.applied.get(channel, 0)),))[
                    -1
                ].number
                for channel in node.inputs
            },
            received={
                channel: {batch.number: batch.digest for batch in snapshot.channel_state.get(channel, ())}
                for channel in node.inputs
            },
            senders=dict(command.senders),
        )
        if command.replay is not JournalUse.WHOLE and driver is self.world.newest:
            record = self.record(driver, command.checkpoint)
            for channel in node.outputs:
                keep = snapshot.sent.get(channel, 0)
                if command.replay is JournalUse.HELD and record:
                    # It repeats itself as far as its receivers are, and only then may go another way.
                    keep = max(keep, restored_position(record.snapshots.get(channel.receiver), channel))
                del self.content[channel][keep:]
                del self.sums[channel][keep + 1 :]

    def record(self, driver: Driver, checkpoint: int) -> CheckpointRecord | None:
        """A record as this driver sees it: in its own graph."""
        own = driver.record
        return own if own is not None and own.checkpoint == checkpoint else self.world.store.ever.get(checkpoint)

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is Answer.DONE and record.kind is not RecordKind.ZERO:
            self.completed.append(record)

    # ---------------------------------------------------------------- coordinators

    def restart(self, driver: Driver, node: None, command: order.Restart) -> None:
        known = self.known[driver.incarnation]
        known.epochs[command.subtask] = command.epoch
        known.restored = command.checkpoint
        known.unstarted.add(command.subtask)

    def start(self, driver: Driver, node: None, command: order.SendStart) -> None:
        known = self.known[driver.incarnation]
        known.unstarted.discard(command.subtask)
        if not known.unstarted:
            known.failed.clear()
            known.region.clear()

    def trigger(self, driver: Driver, node: None, command: order.SendTrigger) -> None:
        known = self.known[driver.incarnation]
        if command.checkpoint not in known.triggered:
            known.triggered[command.checkpoint] = command
            if command.operation.kind is OperationKind.ISOLATE:
                known.leaving |= frozenset(command.operation.argument)
                known.coming -= known.leaving
            elif command.operation.kind is OperationKind.ADD:
                known.coming |= frozenset(command.operation.argument)
                known.leaving -= known.coming
            known.pending[command.checkpoint] = self.world.now

    def ended(self, driver: Driver, node: None, command: order.CheckpointEnded) -> None:
        known = self.known[driver.incarnation]
        known.pending.pop(command.checkpoint, None)
        known.ended[command.checkpoint] = command.reason

    def life_ended(self, driver: Driver, node: None, command: order.EndExecution) -> None:
        self.known[driver.incarnation].epochs[command.subtask] = command.epoch

    def source_ended(self, driver: Driver, node: Node, command: task.ReportEnded) -> None:
        self.world.count("a source ended")

    # ---------------------------------------------------------------- every event

    def any(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        kind = type(event)
        while self.arriving:
            self.arrived(*self.arriving.pop())
        if node is None:
            self._heard(driver, event)
            self._membership(driver, commands)
            return
        life = self.lives.get((driver.incarnation, node.subtask))
        if life is None:
            return
        if kind is task.UnitDone and event.epoch == life.epoch:
            if event.number == life.unit:
                life.expected = event.outputs
                life.pieces.extend((event.number, piece.name) for piece in event.pieces)
        elif kind is task.CheckpointAborted and event.incarnation == driver.incarnation:
            life.aborted.add(event.checkpoint)
            if life.stopped_by == event.checkpoint:
                life.stopped_by = 0
        elif kind is task.Started and event.epoch == life.epoch:
            life.started = True
        elif kind is task.PeerRestarted:
            self._learned(life, event)
        elif kind is task.AlignmentTimedOut:
            if commands:
                self.world.count("an alignment timed out")
            self.unaligned.add((driver.incarnation, event.checkpoint))
        elif kind is task.Arrived and event.envelope.receiver_epoch == life.epoch:
            self.arriving.append((life, event.envelope))

    def _heard(self, driver: Driver, event: Any) -> None:
        kind = type(event)
        if kind is report.Persisted:
            self._anew_from(self.known[driver.incarnation], driver, event.checkpoint)
        elif kind is report.Acknowledged:
            known = self.known[driver.incarnation]
            if event.incarnation == driver.incarnation and known.epochs.get(event.subtask) == event.epoch:
                heard = known.acknowledged.setdefault(event.checkpoint, {})
                heard.setdefault(event.subtask, (event.epoch, event.snapshot))
        elif kind is report.SubtaskFailed:
            known = self.known[driver.incarnation]
            if event.incarnation == driver.incarnation and known.epochs.get(event.subtask) == event.epoch:
                known.failed.add(event.subtask.vertex)

    def _membership(self, driver: Driver, commands: tuple[Any, ...]) -> None:
        """Who takes part changes with what the coordinator says."""
        known = self.known[driver.incarnation]
        for command in commands:
            if type(command) is order.EndExecution:
                vertex = command.subtask.vertex
                known.gone.add(vertex)
                known.unstarted.discard(command.subtask)
                known.failed.discard(vertex)
                known.region.discard(vertex)
                driver.topology = replace(driver.topology, detached=driver.topology.detached | {vertex})
            elif type(command) is order.Isolated:
                known.isolated |= frozenset(command.vertices)
            elif type(command) is order.Rejoined:
                known.isolated -= frozenset(command.vertices)
                known.coming -= frozenset(command.vertices)
                known.failed.update(command.vertices)
                driver.topology = replace(
                    driver.topology, detached=driver.topology.detached.difference(command.vertices)
                )

    def _anew_from(self, known: Known, driver: Driver, checkpoint: int) -> None:
        """A checkpoint 0 while lives go on: their positions are void, and everything begins again from there."""
        record = self.world.store.ever.get(checkpoint)
        if record is not None and record.kind is RecordKind.ZERO and known.epochs:
            known.failed.update(driver.topology.live)
            known.restored = checkpoint

    def _learned(self, life: Life, event: task.PeerRestarted) -> None:
        for channel, epoch in event.epochs.items():
            if channel in life.senders:
                life.senders[channel] = max(epoch, life.senders[channel])

    def arrived(self, life: Life, envelope: Envelope) -> None:
        """What a life has received, and what is rare."""
        item, channel = envelope.item, envelope.channel
        if envelope.sender_epoch < life.senders.get(channel, 0):
            return
        life.senders[channel] = envelope.sender_epoch
        if type(item) is BatchHandle:
            if item.number <= life.highest.get(channel, life.next[channel] - 1):
                self.world.count("a duplicate batch was dropped")
            else:
                life.received[channel][item.number] = item.digest
                life.highest[channel] = item.number
        elif type(item) is Barrier and item.checkpoint in life.aborted:
            self.world.count("a barrier was swallowed")

    def emission(self, driver: Driver, node: Node, command: task.Emit) -> None:
        """After the checkers have judged it."""
        item, channel = command.envelope.item, command.envelope.channel
        life = self.lives[driver.incarnation, node.subtask]
        if isinstance(item, BatchHandle):
            self.batches += 1
            life.sent[channel] = max(life.sent[channel], item.number)
            if driver is self.world.newest and item.number == len(self.content[channel]) + 1:
                self._sent(channel, item.digest)
        elif isinstance(item, Barrier):
            ever = len(self.content.get(channel, ()))
            self.cuts[driver.incarnation, item.checkpoint, channel] = (life.sent[channel], ever)
            if item.unaligned:
                self.unaligned.add((driver.incarnation, item.checkpoint))
            if item.operation.kind == "stop":
                life.stopped_by = item.checkpoint
        else:
            self.world.count("a cancel marker was sent")
