"""Checkers of what rows and batches go through: I1 to I7, I22, I23, I25, I39, I40, I41."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import SinkKind, VertexDeterminism
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checker import Checker
from tests.simulation.pipelines import Role
from tests.simulation.rows import DIGITS, MASK, Row, digest, identity, total
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from tests.simulation.driver import Driver, Node


class I1NoLoss(Checker):
    """What has to arrive has arrived when success is reported."""

    after: ClassVar = {"finished": "end", "end": "end"}

    def end(self) -> None:
        newest = self.world.store.newest()
        for name, wanted in self.world.machinery.expected(self.world.sources.lost).items():
            if newest is not None and name in newest.topology.detached:
                continue  # it was left out
            shown = Counter(map(identity, self.world.targets[name].rows()))
            missing = wanted - shown
            self.expect(
                not missing, f"{name} lacks {sum(missing.values())} rows, for instance {next(iter(missing), None)}"
            )


class I2NoDuplicate(Checker):
    """No row stands twice in a two-phase or idempotent sink; looked at with every commit."""

    after: ClassVar = {"committed": "committed", "end": "end"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.seen: dict[str, set[Any]] = {}
        self.upto: dict[str, int] = {}

    def committed(self, driver: Driver, target: Any, command: Any, answer: Answer) -> None:
        if target.kind is not SinkKind.TWO_PHASE:
            return
        seen, start = self.seen.setdefault(target.scope, set()), self.upto.get(target.scope, 0)
        for row in target.visible[start:]:
            self.expect(identity(row) not in seen, f"{target.scope} shows {identity(row)} twice")
            seen.add(identity(row))
        self.upto[target.scope] = len(target.visible)

    def end(self) -> None:
        lost = self.world.sources.lost
        machinery = self.world.machinery
        for name, target in self.world.targets.items():
            # What was lost can have been written before, where writing is showing.
            wanted = machinery.expected(lost if target.kind is SinkKind.TWO_PHASE else {})[name]
            if target.kind is not SinkKind.AT_LEAST_ONCE:
                more = Counter(map(identity, self.world.targets[name].rows())) - wanted
                self.expect(
                    not more, f"{name} shows {sum(more.values())} rows too many, for instance {next(iter(more), None)}"
                )


class I3Order(Checker):
    """Along each path a key's rows become visible in the order of the source."""

    after: ClassVar = {"committed": "committed"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        topology = world.pipeline.topology
        shuffles = {vertex.id for vertex in topology.vertices if vertex.determinism is VertexDeterminism.UNORDERED}
        loops = {name for name, role in world.pipeline.roles.items() if role is Role.RETRY}
        self.judged = {
            name: target
            for name, target in world.targets.items()
            if target.kind is SinkKind.TWO_PHASE and not topology.ancestors(name) & (shuffles | loops)
        }
        self.last: dict[Any, int] = {}
        self.upto: dict[str, int] = {}

    def committed(self, driver: Driver, target: Any, command: Any, answer: Answer) -> None:
        if target.scope not in self.judged:
            return
        for row in target.visible[self.upto.get(target.scope, 0) :]:
            key = (target.scope, row[0], row[1], row[2] % 3, row[3])
            self.expect(
                self.last.get(key, -1) < row[2], f"{target.scope} shows row {row} behind row {self.last.get(key)}"
            )
            self.last[key] = row[2]
        self.upto[target.scope] = len(target.visible)


class I4PrefixVisibility(Checker):
    """After commit n a reader sees exactly what the sink's states of checkpoint n contain."""

    after: ClassVar = {"committed": "committed"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.upto: dict[str, int] = {}
        self.total: dict[str, int] = {}

    def committed(self, driver: Driver, target: Any, command: Any, answer: Answer) -> None:
        if answer is not Answer.DONE or target.kind is not SinkKind.TWO_PHASE:
            return
        new = digest(tuple(target.visible[self.upto.get(target.scope, 0) :]))
        now = self.total[target.scope] = (self.total.get(target.scope, 0) + new) & MASK
        self.upto[target.scope] = len(target.visible)
        record = self.world.store.ever[command.checkpoint]
        states = [one.state for subtask, one in record.snapshots.items() if subtask.vertex == target.scope]
        count, wanted = total(states)
        self.expect(
            now == wanted,
            f"{target.scope} shows {len(target.visible)} rows after checkpoint {command.checkpoint}, whose states hold {count}",
        )


class I5NoPhantom(Checker):
    """Only what a completed checkpoint names becomes visible."""

    after: ClassVar = {"committed": "committed"}

    def committed(self, driver: Driver, target: Any, command: Any, answer: Answer) -> None:
        if answer is not Answer.DONE:
            return
        record = self.world.store.ever.get(command.checkpoint)
        self.expect(record is not None, f"{target.scope} committed {command.checkpoint}, which never completed")
        named = {piece.name for one in record.snapshots.values() for piece in one.pieces}
        named |= {piece.name for commit in record.uncommitted for piece in commit.pieces}
        wrong = [piece.name for piece in command.pieces if piece.name not in named]
        self.expect(not wrong, f"{target.scope} shows {wrong}, which checkpoint {command.checkpoint} does not name")


class I7WholeUnits(Checker):
    """A unit's outputs are shown all at once, in order, or not at all."""

    after: ClassVar = {"any": "handled"}

    def handled(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        if node is None or not commands:
            return
        life = self.facts.lives.get((driver.incarnation, node.subtask))
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
        known = self.facts.known[driver.incarnation]
        out = known.leaving | known.isolated | known.coming  # a barrier that is on its way decides
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
        if type(item) is not BatchHandle or past or node.dead:
            return
        known = life.received[channel].get(item.number, item.digest)
        kept = max((one.applied.get(channel, 0) for one in self.snapshots(node.subtask)), default=0)
        told = [one for one in commands if type(one) is task.ReportFailed and one.reason is Reason.CONTENT_CHANGED]
        if told:
            self.world.count("other rows under a known number were noticed")
        if known == item.digest or item.number <= kept or (str(node.machine.life) == "failed" and not told):
            return
        self.expect(
            bool(told), f"{node.name} does not notice that batch {item.number} of {channel} came with other rows"
        )

    def snapshots(self, subtask: Subtask) -> list[Any]:
        return [record.snapshots[subtask] for record in self.facts.completed if subtask in record.snapshots]

    def emitted(self, driver: Driver, node: Node, command: task.Emit) -> None:
        item, channel = command.envelope.item, command.envelope.channel
        if type(item) is not BatchHandle or driver is not self.world.newest or self.world.lied:
            return
        known = self.facts.content[channel]
        self.expect(item.number <= len(known) + 1, f"{channel} goes from batch {len(known)} to {item.number}")
        if item.number <= len(known):
            self.world.count("a batch was sent again")
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
            self.world.count("channel state was replayed")
            kept = waiting[command.batch.number - waiting[0].number]
            self.expect(
                kept.digest == command.batch.digest, f"{node.name} takes other rows than its channel state holds"
            )


class I39JournalFirst(Checker):
    """What a unit took is durable before what it made is shown; a new life takes the same again."""

    after: ClassVar = {task.Emit: "emitted", task.RunUnit: "unit", "logged": "logged"}

    def emitted(self, driver: Driver, node: Node, command: task.Emit) -> None:
        item = command.envelope.item
        if type(item) is not BatchHandle or driver is not self.world.newest:
            return
        life = self.facts.life(driver, node)
        if item.number > life.sent[command.envelope.channel]:
            durable = life.unit in self.world.journal.entries.get(node.subtask, ())
            self.expect(durable, f"{node.name} shows what unit {life.unit} made before its entry is durable")

    def unit(self, driver: Driver, node: Node, command: task.RunUnit) -> None:
        entry = self.facts.life(driver, node).journal.get(command.number)
        if entry is not None:
            self.world.count("a unit was replayed from the journal")
            taken = (command.channel, command.batch.number if command.batch else 0, command.range)
            self.expect(taken == (entry.channel, entry.batch, entry.range), f"{node.name} replays {taken} for {entry}")

    def logged(self, driver: Driver, node: Node, command: task.LogUnit, answer: Answer) -> None:
        if driver is self.world.newest and command.epoch == node.epoch:
            self.expect(answer is not Answer.ALREADY, f"{node.name} logs unit {command.entry.number} a second time")


class I40ConfirmedIsRestorable(Checker):
    """What the journal has forgotten is in the record that is restored."""

    after: ClassVar = {"lives": "lives"}

    def lives(self, driver: Driver, node: Node, command: Any, journal: tuple[Any, ...]) -> None:
        if driver is not self.world.newest:
            return
        taken = command.snapshot.taken if command.snapshot else 0
        floor = self.world.journal.floor.get(node.subtask, 0)
        self.expect(floor <= taken, f"{node.name} goes back to unit {taken}, but the journal begins behind {floor}")


class I41SplitsOnce(Checker):
    """Every record holds each split once, at a position that exists and never goes back."""

    after: ClassVar = {"stored": "stored"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.positions: dict[int, dict[tuple[str, int], int]] = {}
        """Of each record."""

    def stored(self, driver: Driver, record: Any, answer: Answer) -> None:
        if answer is not Answer.DONE:
            return
        before = self.positions.get(record.previous, {})
        now = self.positions[record.checkpoint] = {}
        here = record.topology.live if record.kind is not RecordKind.ZERO else ()
        for vertex in set(driver.topology.sources).intersection(here):
            found: dict[int, int] = {}
            for subtask in driver.topology.subtasks([vertex]):
                snapshot = record.snapshots.get(subtask)
                if vertex in self.facts.known[driver.incarnation].coming and snapshot is None:
                    snapshot = SubtaskSnapshot()  # it left before it had any, and comes back with nothing
                self.expect(snapshot is not None, f"checkpoint {record.checkpoint} has no position of {subtask}")
                mine = self._positions(driver, subtask, snapshot.state)
                twice = sorted(found.keys() & mine)
                self.expect(not twice, f"checkpoint {record.checkpoint} holds splits {twice} of {vertex} twice")
                found |= mine
                total = driver.pipeline.rows[vertex]
                left = [split for split, position in mine.items() if position < total]
                self.expect(not snapshot.ended or not left, f"{subtask} ended before the end of {left}")
            wanted = set(range(driver.pipeline.splits[vertex]))
            self.expect(
                found.keys() == wanted, f"checkpoint {record.checkpoint} lacks {wanted - found.keys()} of {vertex}"
            )
            for split, position in found.items():
                last = before.get((vertex, split), 0)
                self.expect(last <= position, f"split {split} of {vertex} goes back from {last} to {position}")
                now[vertex, split] = position

    def _positions(self, driver: Driver, subtask: Subtask, state: Any) -> dict[int, int]:
        state = state or driver.machinery.splits(subtask)
        total = driver.pipeline.rows[subtask.vertex]
        places = {
            **dict.fromkeys(state["unassigned"], 0),
            **state["assigned"],
            **dict.fromkeys(state["finished"], total),
        }
        return {int(split): position for split, position in places.items()}


class SiblingsAgree(Checker):
    """Part of I22: sinks behind the same counting vertex saw it give each row the same number."""

    after: ClassVar = {"end": "end"}

    def end(self) -> None:
        if self.world.lied:
            return
        pipeline = self.world.pipeline
        edges = pipeline.topology.edges
        changing = {
            number
            for number, edge in enumerate(edges)
            if pipeline.roles[edge.sender] is Role.COUNT
            or pipeline.topology.vertex(edge.sender).determinism is VertexDeterminism.INDETERMINATE
        }
        tags: dict[Any, int] = {}
        for target in self.world.targets.values():
            newest = self.world.store.newest()
            left = newest is not None and target.scope in newest.topology.detached
            if target.kind is SinkKind.AT_LEAST_ONCE or (left and target.kind is SinkKind.IDEMPOTENT):
                continue  # one that was left out may show what the others saw replaced
            for row in target.rows():
                key = self._last_change(row, changing)
                if key is not None and tags.setdefault(key, row[5]) != row[5]:
                    self.fail(f"{target.scope} shows {row}, a sibling has the number {tags[key]}")

    def _last_change(self, row: Row, changing: set[int]) -> Any:
        path = row[3]
        edges = self.world.pipeline.topology.edges
        while path:
            path, digit = divmod(path, DIGITS)
            if (digit % 16) - 1 in changing:
                return edges[(digit % 16) - 1].sender, row[:3], path
        return None


CHECKERS = (
    I7WholeUnits,
    I1NoLoss,
    I2NoDuplicate,
    I3Order,
    I4PrefixVisibility,
    I5NoPhantom,
    I22SameIdSameContent,
    I23NoGap,
    I25ChannelStateFirst,
    I39JournalFirst,
    I40ConfirmedIsRestorable,
    I41SplitsOnce,
    SiblingsAgree,
)
