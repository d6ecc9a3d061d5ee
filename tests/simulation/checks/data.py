"""Checkers of batches, units and the journal: I7, I22, I23, I25, I39, I40, I41."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import ExecutionState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, JournalUse
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checks.checker import PARTICIPANT, Checker
from tests.simulation.checks.states import positions_of, read_in
from tests.simulation.jobs.targets import Answer

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver, Node
    from tests.simulation.checks.line import Line


class I7WholeUnits(Checker):
    """A unit's outputs are shown all at once, in order, or not at all."""

    after: ClassVar = {PARTICIPANT: "handled"}

    def handled(self, driver: Driver, node: Node, event: Any, commands: tuple[Any, ...]) -> None:
        life = self.facts.lives.get((driver.serial, node.subtask))
        if life is None:
            return
        new = [
            (command.envelope.channel, command.envelope.item.digest)
            for command in commands
            if type(command) is task.Emit
            and type(command.envelope.item) is BatchHandle
            and command.envelope.item.number > life.sent[command.envelope.channel]
        ]
        if not new:
            return
        known = self.facts.of(driver)
        out = known.leaving | known.isolated | driver.topology.detached  # a barrier that is on its way decides
        wanted = [(channel, mark) for channel, _, _, mark in life.expected or () if channel.receiver.vertex not in out]
        new = [(channel, mark) for channel, mark in new if channel.receiver.vertex not in out]
        self.expect(new == wanted, f"{node.name} shows {len(new)} batches of a unit that made {len(wanted)}")
        life.expected = None


class I22SameIdSameContent(Checker):
    """A batch that is sent again under its number has the rows that it had."""

    after: ClassVar = {task.Emit: "emitted", task.ReportFailed: "failed", task.Arrived: "arrived"}

    def arrived(self, driver: Driver, node: Node, event: task.Arrived, commands: tuple[Any, ...]) -> None:
        """Other rows under a number that this life knows are an alarm."""
        item, channel = event.envelope.item, event.envelope.channel
        life = self.facts.life(driver, node)
        past = event.envelope.receiver_epoch != life.epoch or event.envelope.sender_epoch < life.senders.get(channel, 0)
        if type(item) is not BatchHandle or past:
            return
        known = life.received[channel].get(item.number, item.digest)
        kept = max((one.applied.get(channel, 0) for one in self.snapshots(node.subtask)), default=0)
        told = [one for one in commands if type(one) is task.ReportFailed and one.reason is Reason.CONTENT_CHANGED]
        if told:
            self.count("other rows under a known number were noticed")
        if known == item.digest or item.number <= kept or (node.participant.life is ExecutionState.FAILED and not told):
            return
        self.expect(
            bool(told), f"{node.name} does not notice that batch {item.number} of {channel} came with other rows"
        )

    def snapshots(self, subtask: Subtask) -> list[Any]:
        return [record.snapshots[subtask] for record in self.line.completed if subtask in record.snapshots]

    def emitted(self, driver: Driver, node: Node, command: task.Emit) -> None:
        item, channel = command.envelope.item, command.envelope.channel
        if type(item) is not BatchHandle or not self.line.current(driver) or self.world.lied:
            return
        known = self.facts.sent.content[channel]
        self.expect(item.number <= len(known) + 1, f"{channel} goes from batch {len(known)} to {item.number}")
        if item.number <= len(known):
            self.count("a batch was sent again")
            self.expect(
                known[item.number - 1] in (item.digest, None),
                f"batch {item.number} of {channel} came again with other rows",
            )

    def failed(self, driver: Driver, node: Node, command: task.ReportFailed) -> None:
        right = self.world.lied or command.reason is not Reason.CONTENT_CHANGED
        self.expect(right, f"{node.name} has seen other rows under a known number")


class I23NoGap(Checker):
    """In each life every input is taken number by number, from where its snapshot ends."""

    after: ClassVar = {task.RunUnit: "unit", task.ReportFailed: "failed"}

    def unit(self, driver: Driver, node: Node, command: task.RunUnit) -> None:
        life = self.facts.life(driver, node)
        self.expect(command.number == life.unit + 1, f"{node.name} begins unit {command.number} after {life.unit}")
        life.unit += 1
        life.expected = None
        if command.channel is None:
            return
        wanted = life.next[command.channel]
        self.expect(
            command.batch.number == wanted,
            f"{node.name} takes {command.batch.number}, not {wanted}, of {command.channel}",
        )
        life.next[command.channel] += 1

    def failed(self, driver: Driver, node: Node, command: task.ReportFailed) -> None:
        self.expect(command.reason is not Reason.GAP, f"{node.name} misses a batch")


class I25ChannelStateFirst(Checker):
    """What a restored life had in its channels is taken first, as it was."""

    after: ClassVar = {task.RunUnit: "unit"}

    def unit(self, driver: Driver, node: Node, command: task.RunUnit) -> None:
        if command.channel is None:
            return
        life = self.facts.life(driver, node)
        waiting = life.snapshot.channel_state.get(command.channel, ())
        if waiting and not self.world.lied and waiting[0].number <= command.batch.number <= waiting[-1].number:
            self.count("channel state was replayed")
            kept = waiting[command.batch.number - waiting[0].number]
            self.expect(
                kept.digest == command.batch.digest, f"{node.name} takes other rows than its channel state holds"
            )


class I39JournalFirst(Checker):
    """What a unit took is durable before what it made is shown; a new life takes the same again."""

    after: ClassVar = {task.Emit: "emitted", task.RunUnit: "unit", task.LogUnit: "logs", "lives": "lives"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.newest: dict[tuple[int, Subtask, int], int] = {}
        """The last unit that each life has logged."""

    def emitted(self, driver: Driver, node: Node, command: task.Emit) -> None:
        item = command.envelope.item
        if type(item) is not BatchHandle or not self.line.current(driver):
            return
        life = self.facts.life(driver, node)
        if self.facts.of(driver).epochs.get(node.subtask) != life.epoch:
            return  # its execution is over: what it sends is dropped by all
        if item.number > life.sent[command.envelope.channel]:
            durable = life.unit in self.line.journal.get(node.subtask, ())
            self.expect(durable, f"{node.name} shows what unit {life.unit} made before its entry is durable")

    def unit(self, driver: Driver, node: Node, command: task.RunUnit) -> None:
        entry = self.facts.life(driver, node).journal.get(command.number)
        if entry is not None:
            self.count("a unit was replayed from the journal")
            taken = (command.channel, command.batch.number if command.batch else 0, command.range)
            self.expect(taken == (entry.channel, entry.batch, entry.range), f"{node.name} replays {taken} for {entry}")

    def lives(self, driver: Driver, node: Node, event: task.Restored) -> None:
        """Its journal is what is durable, as far as it may repeat it."""
        if not node.outputs or not self.line.current(driver):
            return
        first = (event.snapshot.taken if event.snapshot else 0) + 1
        durable = [number for number in sorted(self.line.journal.get(node.subtask, ())) if number >= first]
        wanted = {JournalUse.WHOLE: durable, JournalUse.VOID: []}.get(self.facts.life(driver, node).replay)
        given = [entry.number for entry in event.journal]
        right = given == (durable[: len(given)] if wanted is None else wanted)
        self.expect(right, f"{node.name} repeats {given} of {durable}")

    def logs(self, driver: Driver, node: Node, command: task.LogUnit) -> None:
        """A life logs each unit once, and none that its journal holds; what an earlier life logs meanwhile is void."""
        number = command.entry.number
        life = driver.serial, node.subtask, command.epoch
        known = number in self.facts.life(driver, node).journal or number <= self.newest.get(life, 0)
        self.expect(not known, f"{node.name} logs unit {number} a second time")
        self.newest[life] = number


class I40ConfirmedIsRestorable(Checker):
    """What the journal has forgotten is in the record that is restored."""

    after: ClassVar = {"lives": "lives"}

    def lives(self, driver: Driver, node: Node, event: task.Restored) -> None:
        if not self.line.current(driver):
            return
        taken = event.snapshot.taken if event.snapshot else 0
        floor = self.line.floor.get(node.subtask, 0)
        self.expect(floor <= taken, f"{node.name} goes back to unit {taken}, but the journal begins behind {floor}")


class I41SplitsOnce(Checker):
    """Every record holds each split once, at a position that exists and never goes back."""

    after: ClassVar = {"stored": "stored"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.positions: dict[int, dict[tuple[str, str], int]] = {}
        """Of each record."""

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is not Answer.DONE or record.kind is RecordKind.ZERO:
            return
        before = self.positions.get(record.previous, {})
        now = self.positions[record.checkpoint] = {}
        topology, bounded = record.topology, driver.machine.context.bounded
        for vertex in set(topology.sources).intersection(topology.live):
            read = 0
            if self.line.follows:
                continue  # tables come and go, and the log goes back for them (I42)
            for subtask in topology.subtasks([vertex]):
                snapshot = record.snapshots[subtask]
                places = positions_of(topology, record.plan, subtask, snapshot.state, bounded=bounded)
                for split, position in places.items():
                    at, rows = (vertex, split), self.line.length(driver, vertex, split)
                    self.expect(at not in now, f"checkpoint {record.checkpoint} holds split {split} of {vertex} twice")
                    last = before.get(at, 0)
                    about = f"split {split} of {vertex} goes from {last} to {position} of {rows}"
                    self.expect(last <= position <= rows, about)
                    ended = not snapshot.ended or position == rows
                    self.expect(ended, f"{subtask} ended, and {about}")
                    now[at] = position
                read += read_in(snapshot.state)
            stands = sum(position for (name, _), position in now.items() if name == vertex)
            right = read == stands or not topology.vertex(vertex).replayable
            self.expect(right, f"checkpoint {record.checkpoint}: {vertex} has read {read} rows, and stands at {stands}")


CHECKERS = (
    I7WholeUnits,
    I22SameIdSameContent,
    I23NoGap,
    I25ChannelStateFirst,
    I39JournalFirst,
    I40ConfirmedIsRestorable,
    I41SplitsOnce,
)
