"""What is known of a pipeline, gathered once for all checkers: lives, emissions, checkpoints, acknowledgements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.failover.regions import restored_position
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
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
from seatunnel_py.runtime.values.split_progress import took_of
from tests.simulation.checks.drivers import Driver, Node
from tests.simulation.checks.states import positions_in, rows_in

if TYPE_CHECKING:
    from tests.simulation.checks.line import Line


@dataclass(slots=True)
class Life:
    """One epoch of a subtask in one driver. ``received``: what has arrived and was not dropped: number -> digest, by
    channel; ``pieces``: by unit."""

    incarnation: int
    epoch: int
    replay: JournalUse
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
    highest: dict[Channel, int] = field(default_factory=dict)
    senders: dict[Channel, int] = field(default_factory=dict)
    stopped_by: int = 0
    started: bool = False


@dataclass(slots=True)
class Known:
    """What one coordinator has done so far. ``pending``: checkpoint -> when it was triggered; ``gone``: vertices whose
    executions were ended; ``leaving``: those that a barrier cuts off, ``isolated``: those that a record shows so."""

    epochs: dict[Subtask, int] = field(default_factory=dict)
    pending: dict[int, float] = field(default_factory=dict)
    triggered: dict[int, Any] = field(default_factory=dict)
    ended: dict[int, Reason | None] = field(default_factory=dict)
    acknowledged: dict[int, dict[Subtask, tuple[int, SubtaskSnapshot]]] = field(default_factory=dict)
    restarts: dict[Subtask, order.Restart] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    region: set[str] = field(default_factory=set)
    restored: int = -1
    unstarted: set[Subtask] = field(default_factory=set)
    leaving: frozenset[str] = frozenset()
    gone: set[str] = field(default_factory=set)
    isolated: frozenset[str] = frozenset()


@dataclass(slots=True)
class Sent:
    """The batches that were sent on the channels of one graph. ``content``: their digests, None where that is not known
    any more; ``sums``: rows up to each number; ``base``: rows in a state besides those of ``sums``, from another
    graph."""

    content: dict[Channel, list[int | None]] = field(default_factory=dict)
    sums: dict[Channel, list[int]] = field(default_factory=dict)
    base: dict[Subtask, int] = field(default_factory=dict)

    def begin(self, channel: Channel, snapshot: SubtaskSnapshot | None) -> None:
        """Of what was sent on it nothing is known but what still waits."""
        applied = snapshot.applied.get(channel, 0) if snapshot else 0
        self.content[channel] = [None] * applied
        self.sums[channel] = [0] * (applied + 1)
        for batch in snapshot.channel_state.get(channel, ()) if snapshot else ():
            self.add(channel, batch)

    def add(self, channel: Channel, batch: BatchHandle) -> None:
        self.content[channel].append(batch.digest)
        self.sums[channel].append(self.sums[channel][-1] + batch.rows)


class Observer:
    """Learns of an event before all checkers, and of a command after them."""

    def __init__(self, line: Line) -> None:
        self.line, self.world = line, line.world
        self.lives: dict[tuple[int, Subtask], Life] = {}
        self.known: dict[int, Known] = {}
        """By the serial number of the driver."""
        self.sent = Sent()
        self._graphs: dict[tuple[str, str], Sent] = {}
        """By graph: a driver that dies before its graph is durable is followed by one with the graph before."""
        self.cuts: dict[tuple[int, int, Channel], tuple[int, int]] = {}
        """(driver, checkpoint, channel) -> last number that its sender had sent, and that was ever sent."""
        self.unaligned: set[tuple[int, int]] = set()
        self.used: dict[int, int] = {}
        """Checkpoint id -> driver that used it."""
        self.arriving: list[tuple[Life, Envelope]] = []
        """Arrivals that the checkers are looking at; known to them as not received yet."""
        self.zeros = [0]
        """Checkpoints 0: a snapshot that names pieces since a checkpoint before the newest one was made before it."""
        self.last_epochs: dict[str, int] = {}

    def hooks(self) -> dict[Any, Any]:
        return {
            "driver": self._begins,
            task.Emit: self._emission,
            order.Restart: self._restart,
            order.SendStart: self._start,
            order.SendTrigger: self._trigger,
            order.CheckpointEnded: self._ended,
            order.EndExecution: self._life_ended,
            order.Persist: self._persists,
            order.PipelineEnded: self._pipeline_ended,
            order.CommitPieces: self._commits,
            order.SetUp: self._sets_up,
        }

    def life(self, driver: Driver, node: Node) -> Life:
        return self.lives[driver.serial, node.subtask]

    def of(self, driver: Driver) -> Known:
        """What its coordinator has done."""
        return self.known[driver.serial]

    def _begins(self, driver: Driver) -> None:
        self.known[driver.serial] = Known(isolated=driver.topology.detached)
        record = driver.record
        if record is None or not driver.replay:
            snapshots = record.snapshots if record else {}
            self._graphs[driver.graph] = sent = Sent()
            sent.base = {subtask: rows_in(one.state) or 0 for subtask, one in snapshots.items()}
            for channel in driver.whole.channels:
                sent.begin(channel, snapshots.get(channel.receiver))
        self.sent = self._graphs.setdefault(driver.graph, self.sent)

    def record(self, driver: Driver, checkpoint: int) -> CheckpointRecord | None:
        """A record as this driver sees it: in its own graph."""
        own = driver.record
        return own if own is not None and own.checkpoint == checkpoint else self.line.known(checkpoint)

    def voided(self, record: CheckpointRecord) -> None:
        """No driver goes on from this one."""
        self.zeros = [zero for zero in self.zeros if zero != record.checkpoint]

    # ---------------------------------------------------------------- coordinators

    def _restart(self, driver: Driver, node: None, command: order.Restart) -> None:
        known = self.of(driver)
        known.epochs[command.subtask] = command.epoch
        known.restarts[command.subtask] = command
        known.restored = command.checkpoint
        known.unstarted.add(command.subtask)
        self.last_epochs[command.subtask.vertex] = command.epoch

    def _start(self, driver: Driver, node: None, command: order.SendStart) -> None:
        known = self.of(driver)
        known.unstarted.discard(command.subtask)
        if not known.unstarted:
            known.failed.clear()
            known.region.clear()

    def _trigger(self, driver: Driver, node: None, command: order.SendTrigger) -> None:
        known = self.of(driver)
        if command.checkpoint not in known.triggered:
            known.triggered[command.checkpoint] = command
            if command.operation.kind is OperationKind.ISOLATE:
                known.leaving |= frozenset(command.operation.argument)  # type: ignore[arg-type]
            known.pending[command.checkpoint] = self.world.now

    def _ended(self, driver: Driver, node: None, command: order.CheckpointEnded) -> None:
        known = self.of(driver)
        known.pending.pop(command.checkpoint, None)
        known.ended[command.checkpoint] = command.reason

    def _life_ended(self, driver: Driver, node: None, command: order.EndExecution) -> None:
        self.of(driver).epochs[command.subtask] = command.epoch

    def _persists(self, driver: Driver, node: None, command: order.Persist) -> None:
        self.line.persisting[command.record.checkpoint] = driver

    def _pipeline_ended(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        driver.ended = command

    def _commits(self, driver: Driver, node: None, command: order.CommitPieces) -> None:
        self.line.commits(driver, command)

    def _sets_up(self, driver: Driver, node: None, command: order.SetUp) -> None:
        self.line.sets_up(driver, command.unit)

    def heard(self, driver: Driver, event: Any, commands: tuple[Any, ...]) -> None:
        """What the coordinator hears, and who takes part after that."""
        self._settle()
        kind, known = type(event), self.of(driver)
        if kind is report.Persisted:
            self._anew_from(known, driver, event.checkpoint)
        elif kind is report.PersistFailed:
            self.line.doubts(event.checkpoint)
        elif kind is report.Acknowledged:
            if known.epochs.get(event.subtask) == event.epoch:
                heard = known.acknowledged.setdefault(event.checkpoint, {})
                heard.setdefault(event.subtask, (event.epoch, event.snapshot))
        elif kind is report.SubtaskFailed and known.epochs.get(event.subtask) == event.epoch:
            known.failed.add(event.subtask.vertex)
        for command in commands:
            if type(command) is order.EndExecution:
                self._leaves(driver, known, command.subtask)
            elif type(command) is order.Isolated:
                known.isolated |= frozenset(command.vertices)

    def _leaves(self, driver: Driver, known: Known, subtask: Subtask) -> None:
        vertex = subtask.vertex
        known.gone.add(vertex)
        known.unstarted.discard(subtask)
        known.failed.discard(vertex)
        known.region.discard(vertex)
        driver.topology = replace(driver.topology, detached=driver.topology.detached | {vertex})
        self.line.root.apart.add(driver.whole.vertex(vertex).commit_scope)

    def _anew_from(self, known: Known, driver: Driver, checkpoint: int) -> None:
        """A checkpoint 0 while lives go on: their positions are void, and everything begins again from there."""
        record = self.line.ever.get(checkpoint)
        if record is not None and record.kind is RecordKind.ZERO and known.epochs:
            known.failed.update(driver.topology.live)
            known.restored = checkpoint

    # ---------------------------------------------------------------- participants

    def restores(self, driver: Driver, node: Node, event: task.Restored) -> None:
        """A life begins."""
        self._settle()
        snapshot = event.snapshot or SubtaskSnapshot()
        restart = self.of(driver).restarts[node.subtask]
        self.lives[driver.serial, node.subtask] = Life(
            driver.incarnation,
            event.epoch,
            restart.replay,
            snapshot,
            {entry.number: entry for entry in event.journal},
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
            senders=dict(event.senders),
        )
        if not self.line.current(driver):
            return
        self._loses(driver, node, event, snapshot)
        self.line.epochs[node.subtask] = event.epoch
        if restart.replay is not JournalUse.WHOLE:
            record = self.record(driver, event.checkpoint)
            for channel in node.outputs:
                keep = snapshot.sent.get(channel, 0)
                if restart.replay is JournalUse.HELD and record:
                    # It repeats itself as far as its receivers are, and only then may go another way.
                    keep = max(keep, restored_position(record.snapshots.get(channel.receiver), channel))
                del self.sent.content[channel][keep:]
                del self.sent.sums[channel][keep + 1 :]

    def _loses(self, driver: Driver, node: Node, event: task.Restored, snapshot: SubtaskSnapshot) -> None:
        """Of a split that can be read only once the rows between its position and what was taken from it are lost, unless
        the journal of the new life holds them."""
        vertex = node.subtask.vertex
        if driver.whole.vertex(vertex).replayable:
            return
        held: dict[str, set[int]] = {}
        for entry in event.journal:
            took = None if entry.range is None else took_of(entry.range)
            if took is not None and took.split is not None:
                rows = self.line.rows_between(vertex, took.split, took.start, took.end)
                held.setdefault(took.split, set()).update(rows)
        for split, position in positions_in(driver, node.subtask, snapshot.state).items():
            gone = set(range(position, self.world.gone.get((vertex, split), 0))) - held.get(split, set())
            known = self.world.lost.setdefault((vertex, split), set())
            if not gone <= known:
                known |= gone
                self.line.tell("lost", driver, node)
        if driver.anew:  # also of splits that are not found again yet
            found = {split.id for split in driver.machine.state.prepared.splits[vertex]}
            for (name, split), end in self.world.gone.items():
                if name == vertex and split not in found:
                    self.world.lost.setdefault((vertex, split), set()).update(range(end))

    def handled(self, driver: Driver, node: Node, event: Any, commands: tuple[Any, ...]) -> None:
        """What a participant hears."""
        self._settle()
        kind, life = type(event), self.lives.get((driver.serial, node.subtask))
        if life is None:
            return
        if kind is task.UnitDone:
            if event.epoch == life.epoch and event.number == life.unit:
                life.expected = event.outputs
                life.pieces.extend((event.number, piece.name) for piece in event.pieces)
        elif kind is task.Arrived:
            if event.envelope.receiver_epoch == life.epoch:
                self.arriving.append((life, event.envelope))
        elif kind is task.CheckpointAborted:
            life.aborted.add(event.checkpoint)
            if life.stopped_by == event.checkpoint:
                life.stopped_by = 0
        elif kind is task.Started:
            life.started |= event.epoch == life.epoch
        elif kind is task.PeerRestarted:
            for channel, epoch in event.epochs.items():
                if channel in life.senders:
                    life.senders[channel] = max(epoch, life.senders[channel])
        elif kind is task.AlignmentTimedOut:
            self.world.counters["an alignment timed out"] += bool(commands)
            self.unaligned.add((driver.serial, event.checkpoint))

    def _settle(self) -> None:
        """The checkers have seen what arrived last."""
        while self.arriving:
            self._arrived(*self.arriving.pop())

    def _arrived(self, life: Life, envelope: Envelope) -> None:
        item, channel = envelope.item, envelope.channel
        if envelope.sender_epoch < life.senders.get(channel, 0):
            return
        life.senders[channel] = envelope.sender_epoch
        if type(item) is BatchHandle:
            if item.number <= life.highest.get(channel, life.next[channel] - 1):
                self.world.counters["a duplicate batch was dropped"] += 1
            else:
                life.received[channel][item.number] = item.digest
                life.highest[channel] = item.number
        elif type(item) is Barrier and item.checkpoint in life.aborted:
            self.world.counters["a barrier was swallowed"] += 1

    def _emission(self, driver: Driver, node: Node, command: task.Emit) -> None:
        """After the checkers have judged it."""
        item, channel = command.envelope.item, command.envelope.channel
        life = self.lives[driver.serial, node.subtask]
        if isinstance(item, BatchHandle):
            self.world.counters["a batch was sent"] += 1
            life.sent[channel] = max(life.sent[channel], item.number)
            if self.line.current(driver) and item.number == len(self.sent.content[channel]) + 1:
                self.sent.add(channel, item)
        elif isinstance(item, Barrier):
            ever = len(self.sent.content.get(channel, ()))
            self.cuts[driver.serial, item.checkpoint, channel] = (life.sent[channel], ever)
            if item.unaligned:
                self.unaligned.add((driver.serial, item.checkpoint))
            if item.operation.kind is OperationKind.STOP:
                life.stopped_by = item.checkpoint
        else:
            self.world.counters["a cancel marker was sent"] += 1
