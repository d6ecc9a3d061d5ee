"""Checkers of checkpoints: I8 to I15, I47, I49."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import Barrier, CancelMarker, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import SinkKind
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checker import Checker
from tests.simulation.rows import MASK, total
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from tests.simulation.driver import Driver, Node

LATE = 3.0
"""Seconds: the longest that anything outside takes in this world."""


class Cut(Checker):
    """What I8 and I47 share: a channel in a completed record."""

    def cut_by_barriers(self, driver: Driver, record: CheckpointRecord) -> Iterator[Channel]:
        """Channels between those who took part; who comes back with this record did not."""
        coming = self.facts.known[driver.incarnation].coming
        return (one for one in record.topology.channels if not {one.sender.vertex, one.receiver.vertex} & coming)

    def channel(self, record: CheckpointRecord, channel: Channel, *, may_hold: bool) -> None:
        sender, receiver = record.snapshots[channel.sender], record.snapshots[channel.receiver]
        sent, applied = sender.sent.get(channel, 0), receiver.applied.get(channel, 0)
        waiting = receiver.channel_state.get(channel, ())
        about = f"checkpoint {record.checkpoint}, {channel}: sent {sent}, applied {applied}, held {[one.number for one in waiting]}"
        numbers = [one.number for one in waiting]
        self.expect(numbers == list(range(applied + 1, applied + 1 + len(numbers))), about)
        end = applied + len(numbers)
        cut = self.facts.cuts.get((record.incarnation, record.checkpoint, channel))
        self.expect(cut is not None, f"no barrier was sent; {about}")
        own, ever = cut
        self.expect(own == sent, f"the barrier went out behind {own}; {about}")
        # A receiver may be ahead of a sender that is catching up, for it drops what comes again (I22).
        self.expect(end == sent or sent < end <= ever, f"{ever} were ever sent; {about}")
        self.expect(may_hold or not numbers, f"aligned; {about}")
        known = self.facts.content[channel]
        for one in waiting:
            self.expect(
                self.world.lied or one.number > len(known) or known[one.number - 1] in (one.digest, None),
                f"other rows; {about}",
            )


class I8ConsistentCut(Cut):
    """Applied, held and still to be sent cover every number of every channel once; states are what was applied."""

    after: ClassVar = {"stored": "stored"}

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is not Answer.DONE or record.kind is RecordKind.ZERO or driver is not self.world.newest:
            return
        back_edges = driver.machinery.back_edges
        aligned = (record.incarnation, record.checkpoint) not in self.facts.unaligned
        for channel in self.cut_by_barriers(driver, record):
            if channel.edge not in back_edges:
                self.channel(record, channel, may_hold=not aligned)
        if not aligned:
            self.world.count("an unaligned checkpoint completed")
        if any(waiting for one in record.snapshots.values() for waiting in one.channel_state.values()):
            self.world.count("channel state was not empty")
        for subtask in record.topology.subtasks():
            snapshot = record.snapshots.get(subtask)
            if snapshot is not None and snapshot.applied and not self.world.lied:
                self.state(record, subtask, snapshot)

    def state(self, record: CheckpointRecord, subtask: Subtask, snapshot: SubtaskSnapshot) -> None:
        wanted = self.facts.base.get(subtask, 0)
        for channel, number in snapshot.applied.items():
            sums = self.facts.sums[channel]
            if number >= len(sums):
                self.fail(
                    f"checkpoint {record.checkpoint}: {subtask} applied {number} of {channel}, which sent {len(sums) - 1}"
                )
            wanted += sums[number]
        held = total([snapshot.state])[1]
        self.expect(
            held == wanted & MASK, f"checkpoint {record.checkpoint}: the state of {subtask} is not that of its inputs"
        )


class I47BackEdges(Cut):
    """What went round between the loop head's snapshot and the return of its barrier is in the cut."""

    after: ClassVar = {"stored": "stored"}

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is not Answer.DONE or record.kind is RecordKind.ZERO or driver is not self.world.newest:
            return
        for channel in self.cut_by_barriers(driver, record):
            if channel.edge in driver.machinery.back_edges:
                self.channel(record, channel, may_hold=True)
                if record.snapshots[channel.receiver].channel_state.get(channel):
                    self.world.count("a back-edge held rows in the cut")


class I9Completeness(Checker):
    """One acknowledgement of the present epoch from everyone, no less and no other."""

    after: ClassVar = {order.Persist: "persist"}

    def persist(self, driver: Driver, node: None, command: order.Persist) -> None:
        record = command.record
        if record.kind is RecordKind.ZERO:
            return
        known = self.facts.known[driver.incarnation]
        heard = known.acknowledged.get(record.checkpoint, {})
        wanted = set(driver.topology.subtasks())
        missing = wanted - set(record.snapshots)
        self.expect(not missing, f"checkpoint {record.checkpoint} lacks {missing}")
        for subtask, snapshot in record.snapshots.items():
            if subtask not in wanted:
                left_out = subtask.vertex in record.topology.detached | known.coming
                self.expect(left_out, f"{subtask} is in checkpoint {record.checkpoint}, and does not take part")
                continue
            epoch, said = heard.get(subtask, (0, None))
            self.expect(said is snapshot, f"checkpoint {record.checkpoint} holds what {subtask} did not say")
            self.expect(
                epoch == known.epochs.get(subtask), f"checkpoint {record.checkpoint}: {subtask} spoke in epoch {epoch}"
            )


class I10DurableFirst(Checker):
    """Nobody hears of a completion, and nothing is committed, before the record is durable."""

    after: ClassVar = {order.SendCompleted: "told", order.CheckpointEnded: "ended"}

    def told(self, driver: Driver, node: None, command: order.SendCompleted) -> None:
        self.expect(
            command.checkpoint in self.world.store.ever, f"checkpoint {command.checkpoint} is not durable, but told"
        )

    def ended(self, driver: Driver, node: None, command: order.CheckpointEnded) -> None:
        if command.reason is None:
            self.told(driver, node, command)
            self.world.count("a checkpoint completed")


class I11IdsGrow(Checker):
    """No id is used twice, and each is higher than all of earlier incarnations."""

    after: ClassVar = {order.SendTrigger: "trigger"}

    def trigger(self, driver: Driver, node: None, command: order.SendTrigger) -> None:
        used = self.facts.used
        number = command.checkpoint
        if used.get(number) == driver.incarnation:
            return
        self.expect(
            number not in used, f"id {number} was used by driver {used.get(number)} and is by {driver.incarnation}"
        )
        lower = [other for other, by in used.items() if by <= driver.incarnation]
        self.expect(not lower or max(lower) < number, f"id {number} comes after {max(lower, default=0)}")
        higher = [other for other, by in used.items() if by > driver.incarnation]
        self.expect(
            not higher or number < min(higher), f"id {number} of an overtaken driver is above those of a newer one"
        )
        durable = [one.checkpoint for one in self.world.store.ever.values() if one.incarnation <= driver.incarnation]
        self.expect(
            number > max(durable, default=0), f"id {number} comes after the record of {max(durable, default=0)}"
        )
        used[number] = driver.incarnation


class I12OneEnd(Checker):
    """Each checkpoint ends once, within its time; what comes later has no effect."""

    after: ClassVar = {
        order.CheckpointEnded: "ended",
        order.SendTrigger: "trigger",
        report.Acknowledged: "acknowledged",
        "finished": "end",
    }

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.ends: set[tuple[int, int]] = set()

    def ended(self, driver: Driver, node: None, command: order.CheckpointEnded) -> None:
        key = (driver.incarnation, command.checkpoint)
        self.expect(key not in self.ends, f"checkpoint {command.checkpoint} ends a second time")
        self.ends.add(key)
        if command.reason is not None:
            self.world.count("a checkpoint was aborted")
            self.world.counters[f"aborted: {command.reason}"] += 1

    def trigger(self, driver: Driver, node: None, command: order.SendTrigger) -> None:
        for number, since in self.facts.known[driver.incarnation].pending.items():
            age = self.world.now - since
            timeout = driver.coordinator.shared.settings.timeout
            self.expect(age <= timeout + LATE, f"checkpoint {number} is still there after {age:.2f} s")

    def acknowledged(self, driver: Driver, node: None, event: report.Acknowledged, commands: tuple[Any, ...]) -> None:
        if (driver.incarnation, event.checkpoint) in self.ends:
            self.world.count("a late ack was seen")
            self.expect(not commands, f"a late ack of checkpoint {event.checkpoint} led to {commands[:1]}")

    def end(self) -> None:
        driver = self.world.newest
        left = sorted(self.facts.known[driver.incarnation].pending)
        self.expect(not left, f"checkpoints {left} never ended")


class I13AbortReachesEveryone(Checker):
    """An abort goes to every subtask, and whoever has heard of it does nothing more for that checkpoint."""

    after: ClassVar = {
        "any": "handled",
        task.Acknowledge: "acknowledge",
        task.Emit: "emit",
        task.Triggered: "triggered",
    }

    def triggered(self, driver: Driver, node: Node, event: task.Triggered, commands: tuple[Any, ...]) -> None:
        """Who cannot take part says so, and tells everybody behind (O4.7)."""
        life = self.facts.life(driver, node)
        first = event.checkpoint not in life.asked
        life.asked.add(event.checkpoint)
        if event.epoch != life.epoch or life.started or event.checkpoint in life.aborted or not first:
            return
        self.world.count("a trigger came before the start")
        said = [one for one in commands if type(one) is task.Decline and one.checkpoint == event.checkpoint]
        markers = [one for one in commands if type(one) is task.Emit and type(one.envelope.item) is CancelMarker]
        known = self.facts.known[driver.incarnation]
        out = known.leaving | known.isolated
        told = {one.envelope.channel for one in markers}
        right = bool(said) and told >= {one for one in node.outputs if one.receiver.vertex not in out}
        self.expect(right, f"{node.name} cannot take part in {event.checkpoint}, and does not tell everybody")

    def handled(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        if node is not None:
            return
        for command in commands:
            if type(command) is order.CheckpointEnded and command.reason is not None:
                told = {
                    one.subtask
                    for one in commands
                    if type(one) is order.SendAborted and one.checkpoint == command.checkpoint
                }
                missing = set(driver.topology.subtasks()) - told
                ends = any(type(one) is order.PipelineEnded for one in commands)
                self.expect(
                    not missing or ends,
                    f"{sorted(map(str, missing))} do not hear that {command.checkpoint} was aborted",
                )

    def acknowledge(self, driver: Driver, node: Node, command: task.Acknowledge) -> None:
        aborted = self.facts.life(driver, node).aborted
        self.expect(
            command.checkpoint not in aborted, f"{node.name} acknowledges {command.checkpoint}, which was aborted"
        )

    def emit(self, driver: Driver, node: Node, command: task.Emit) -> None:
        item = command.envelope.item
        if type(item) is Barrier:
            aborted = self.facts.life(driver, node).aborted
            self.expect(
                item.checkpoint not in aborted, f"{node.name} sends a barrier of {item.checkpoint}, which was aborted"
            )


class I14AbortKeepsPieces(Checker):
    """A sink's snapshot carries all that its life staged up to the cut, but for what is known to be completed."""

    after: ClassVar = {task.Acknowledge: "acknowledge"}

    def acknowledge(self, driver: Driver, node: Node, command: task.Acknowledge) -> None:
        target = self.world.targets.get(node.subtask.vertex)
        if target is None or target.kind is not SinkKind.TWO_PHASE:
            return
        life, snapshot = self.facts.life(driver, node), command.snapshot
        record = self.world.store.ever.get(snapshot.since)
        completed = set()
        if record is not None and node.subtask in record.snapshots:
            completed = {piece.name for piece in record.snapshots[node.subtask].pieces}
            self.expect(record.checkpoint == snapshot.since, f"{node.name} counts from {snapshot.since}")
        carried = {piece.name for piece in snapshot.pieces}
        done = record.snapshots[node.subtask].taken if record is not None and node.subtask in record.snapshots else 0
        wanted = {name for number, name in life.pieces if done < number <= snapshot.taken}
        self.expect(
            wanted <= carried and not carried & completed - wanted,
            f"checkpoint {command.checkpoint}: {node.name} carries {sorted(carried)}, not {sorted(wanted)}",
        )


class I15Tolerance(Checker):
    """Failed checkpoints end the pipeline only when there are too many in a row."""

    after: ClassVar = {order.CheckpointEnded: "ended", order.PipelineEnded: "pipeline", order.SendTrigger: "trigger"}
    counted = frozenset((Reason.EXPIRED, Reason.DECLINED, Reason.STORE_FAILED, Reason.SNAPSHOT_FAILED))

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.row: dict[int, int] = {}

    def ended(self, driver: Driver, node: None, command: order.CheckpointEnded) -> None:
        row = self.row.get(driver.incarnation, 0)
        self.row[driver.incarnation] = 0 if command.reason is None else row + (command.reason in self.counted)

    def pipeline(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        if command.reason is Reason.TOO_MANY_FAILED_CHECKPOINTS:
            row = self.row.get(driver.incarnation, 0)
            self.expect(
                row > driver.coordinator.shared.settings.tolerable_failures,
                f"the pipeline fails after {row} failed checkpoints",
            )
            self.world.count("too many checkpoints failed")

    def trigger(self, driver: Driver, node: None, command: order.SendTrigger) -> None:
        # Failed savepoints are answered to a person and do not count: this bound is not sharp.
        row = self.row.get(driver.incarnation, 0)
        self.expect(
            row <= driver.coordinator.shared.settings.tolerable_failures + 2,
            f"the pipeline goes on after {row} failed checkpoints",
        )


class I49NoClock(Checker):
    """Clocks jump, and only time-outs move: all other checkers hold as well. Here: no event goes back in time."""

    after: ClassVar = {"any": "handled"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.last = 0.0

    def handled(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        self.expect(event.at >= self.last, f"{event.at} comes after {self.last}")
        self.last = event.at


CHECKERS = (
    I8ConsistentCut,
    I47BackEdges,
    I9Completeness,
    I10DurableFirst,
    I11IdsGrow,
    I12OneEnd,
    I13AbortReachesEveryone,
    I14AbortKeepsPieces,
    I15Tolerance,
    I49NoClock,
)
