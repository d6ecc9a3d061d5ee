"""Checkers of how checkpoints end: I12 to I15, I49."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import Barrier, CancelMarker
from seatunnel_py.protocol.model.topology import SinkKind
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checks.checker import COORDINATOR, PARTICIPANT, Checker

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver, Node
    from tests.simulation.checks.line import Line

LATE = 6.0
"""Seconds: the longest that anything outside takes in this world."""


class I12OneEnd(Checker):
    """Each checkpoint ends once, within its time; what comes later has no effect."""

    after: ClassVar = {
        order.CheckpointEnded: "ended",
        order.SendTrigger: "trigger",
        report.Acknowledged: "acknowledged",
        "end": "end",
    }

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.ends: set[tuple[int, int]] = set()

    def ended(self, driver: Driver, node: None, command: order.CheckpointEnded) -> None:
        key = (driver.serial, command.checkpoint)
        self.expect(key not in self.ends, f"checkpoint {command.checkpoint} ends a second time")
        self.ends.add(key)
        if command.reason is not None:
            self.count("a checkpoint was aborted")
            self.world.counters[f"aborted: {command.reason}"] += 1

    def trigger(self, driver: Driver, node: None, command: order.SendTrigger) -> None:
        for number, since in self.facts.of(driver).pending.items():
            age = self.world.now - since
            timeout = driver.settings.timeout
            self.expect(age <= timeout + LATE, f"checkpoint {number} is still there after {age:.2f} s")

    def acknowledged(self, driver: Driver, node: None, event: report.Acknowledged, commands: tuple[Any, ...]) -> None:
        if (driver.serial, event.checkpoint) in self.ends:
            self.count("a late ack was seen")
            self.expect(not commands, f"a late ack of checkpoint {event.checkpoint} led to {commands[:1]}")

    def end(self) -> None:
        last = self.line.succeeded
        left = [] if last is None else sorted(self.facts.of(last).pending)
        self.expect(not left, f"checkpoints {left} never ended")


class I13AbortReachesEveryone(Checker):
    """An abort goes to every subtask, and whoever has heard of it does nothing more for that checkpoint."""

    after: ClassVar = {
        COORDINATOR: "handled",
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
        self.count("a trigger came before the start")
        said = [one for one in commands if type(one) is task.Decline and one.checkpoint == event.checkpoint]
        markers = [one for one in commands if type(one) is task.Emit and type(one.envelope.item) is CancelMarker]
        known = self.facts.of(driver)
        out = known.leaving | known.isolated
        told = {one.envelope.channel for one in markers}
        right = bool(said) and told >= {one for one in node.outputs if one.receiver.vertex not in out}
        self.expect(right, f"{node.name} cannot take part in {event.checkpoint}, and does not tell everybody")

    def handled(self, driver: Driver, event: Any, commands: tuple[Any, ...]) -> None:
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
        if driver.whole.vertex(node.subtask.vertex).sink is SinkKind.NONE:
            return
        life, snapshot = self.facts.life(driver, node), command.snapshot
        record = self.facts.record(driver, snapshot.since)
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

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.row: dict[int, int] = {}

    def ended(self, driver: Driver, node: None, command: order.CheckpointEnded) -> None:
        assert command.timing is not None, "checkpoints that end have begun"
        counts = command.reason in self.counted and command.timing.kind is not RecordKind.SAVEPOINT  # FP5
        self.row[driver.serial] = 0 if command.reason is None else self.row.get(driver.serial, 0) + counts

    def pipeline(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        if command.reason is Reason.TOO_MANY_FAILED_CHECKPOINTS:
            row = self.row.get(driver.serial, 0)
            self.expect(
                row > driver.settings.tolerable_failures,
                f"the pipeline fails after {row} failed checkpoints",
            )
            self.count("too many checkpoints failed")

    def trigger(self, driver: Driver, node: None, command: order.SendTrigger) -> None:
        row = self.row.get(driver.serial, 0)
        self.expect(row <= driver.settings.tolerable_failures, f"the pipeline goes on after {row} failed checkpoints")


class I49NoClock(Checker):
    """Clocks jump, and only time-outs move: all other checkers hold as well. Here: no event goes back in time."""

    after: ClassVar = {COORDINATOR: "heard", PARTICIPANT: "handled"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.last = 0.0

    def heard(self, driver: Driver, event: Any, commands: tuple[Any, ...]) -> None:
        self.expect(event.at >= self.last, f"{event.at} comes after {self.last}")
        self.last = event.at

    def handled(self, driver: Driver, node: Node, event: Any, commands: tuple[Any, ...]) -> None:
        self.heard(driver, event, commands)


CHECKERS = (I12OneEnd, I13AbortReachesEveryone, I14AbortKeepsPieces, I15Tolerance, I49NoClock)
