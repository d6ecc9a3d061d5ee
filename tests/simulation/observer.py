"""What is known of a run, gathered once for all checkers: lives, emissions, checkpoints, acknowledgements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seatunnel_py.protocol import coordinator_commands as order
from seatunnel_py.protocol import coordinator_events as report
from seatunnel_py.protocol import participant_messages as task
from seatunnel_py.protocol.ids import Channel, Subtask
from seatunnel_py.protocol.items import Barrier, Batch, Envelope, JournalUse, SubtaskSnapshot, Taken
from seatunnel_py.protocol.reasons import Reason
from seatunnel_py.protocol.records import RecordKind
from tests.simulation.rows import MASK
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from seatunnel_py.protocol.records import CheckpointRecord
    from tests.simulation.driver import Driver, Node
    from tests.simulation.world import World


@dataclass(slots=True)
class Life:
    """One epoch of a subtask in one driver."""

    incarnation: int
    epoch: int
    checkpoint: int
    snapshot: SubtaskSnapshot
    journal: dict[int, Taken]
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


class Observer:
    """Learns of an event before all checkers, and of a command after them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.lives: dict[tuple[int, Subtask], Life] = {}
        self.known: dict[int, Known] = {}
        self.content: dict[Channel, list[int]] = {channel: [] for channel in world.pipeline.topology.channels}
        self.sums: dict[Channel, list[int]] = {channel: [0] for channel in world.pipeline.topology.channels}
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
            task.ReportEnded: self.source_ended,
        }

    def life(self, driver: Driver, node: Node) -> Life:
        return self.lives[driver.incarnation, node.subtask]

    def driver(self, driver: Driver, claim: Any) -> None:
        self.known[driver.incarnation] = Known()

    def lives_begin(self, driver: Driver, node: Node, command: order.Restart, journal: tuple[Taken, ...]) -> None:
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
                channel: (snapshot.channel_state.get(channel) or (Batch(snapshot.applied.get(channel, 0)),))[-1].number
                for channel in node.inputs
            },
            received={
                channel: {batch.number: batch.digest for batch in snapshot.channel_state.get(channel, ())}
                for channel in node.inputs
            },
            senders=dict(command.senders),
        )
        if command.replay is not JournalUse.WHOLE and driver is self.world.newest:
            for channel in node.outputs:
                keep = snapshot.sent.get(channel, 0)
                del self.content[channel][keep:]
                del self.sums[channel][keep + 1 :]

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is Answer.DONE and record.kind is not RecordKind.ZERO:
            self.completed.append(record)

    # ---------------------------------------------------------------- coordinators

    def restart(self, driver: Driver, node: None, command: order.Restart) -> None:
        known = self.known[driver.incarnation]
        known.epochs[command.subtask] = command.epoch
        known.restored = command.checkpoint
        known.unstarted.add(command.subtask)
        if self.world.lied and command.replay is JournalUse.VOID and driver is self.world.newest:
            self._look_ahead(command)

    def _look_ahead(self, command: order.Restart) -> None:
        """A record in which a receiver is ahead of one whose replay differs cannot be gone on from: a person has to."""
        record = self.world.store.ever.get(command.checkpoint)
        for channel in self.world.pipeline.topology.outputs(command.subtask) if record and record.snapshots else ():
            receiver = record.snapshots[channel.receiver]
            held = receiver.channel_state.get(channel, ())
            seen = held[-1].number if held else receiver.applied.get(channel, 0)
            if seen > record.snapshots[command.subtask].sent.get(channel, 0):
                self.world.give_up()

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
            known.pending[command.checkpoint] = self.world.now

    def ended(self, driver: Driver, node: None, command: order.CheckpointEnded) -> None:
        known = self.known[driver.incarnation]
        known.pending.pop(command.checkpoint, None)
        known.ended[command.checkpoint] = command.reason

    def source_ended(self, driver: Driver, node: Node, command: task.ReportEnded) -> None:
        self.world.count("a source ended")

    # ---------------------------------------------------------------- every event

    def any(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        kind = type(event)
        while self.arriving:
            self.arrived(*self.arriving.pop())
        if node is None:
            self._heard(driver, event)
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
        if kind is report.Acknowledged:
            known = self.known[driver.incarnation]
            if event.incarnation == driver.incarnation and known.epochs.get(event.subtask) == event.epoch:
                heard = known.acknowledged.setdefault(event.checkpoint, {})
                heard.setdefault(event.subtask, (event.epoch, event.snapshot))
        elif kind is report.SubtaskFailed:
            known = self.known[driver.incarnation]
            if event.incarnation == driver.incarnation and known.epochs.get(event.subtask) == event.epoch:
                known.failed.add(event.subtask.vertex)

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
        if type(item) is Batch:
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
        if isinstance(item, Batch):
            self.batches += 1
            life.sent[channel] = max(life.sent[channel], item.number)
            content = self.content[channel]
            if driver is self.world.newest and item.number == len(content) + 1:
                content.append(item.digest)
                self.sums[channel].append((self.sums[channel][-1] + item.digest) & MASK)
        elif isinstance(item, Barrier):
            self.cuts[driver.incarnation, item.checkpoint, channel] = (life.sent[channel], len(self.content[channel]))
            if item.unaligned:
                self.unaligned.add((driver.incarnation, item.checkpoint))
            if item.operation.kind == "stop":
                life.stopped_by = item.checkpoint
        else:
            self.world.count("a cancel marker was sent")
