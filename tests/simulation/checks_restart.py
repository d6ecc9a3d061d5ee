"""Checkers of restarts and fencing: I17, I18, I20, I21, I24, I26, I34, I35, I37."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.topology import SinkKind, Topology, VertexDeterminism
from seatunnel_py.protocol.participant import messages as task
from tests.protocol.graphs import descendants
from tests.simulation.checker import Checker
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from tests.simulation.driver import Driver, Node


class I17NewestIsRestored(Checker):
    """Whoever begins a life does so from the newest completed checkpoint, with what that holds."""

    after: ClassVar = {order.Restart: "restart"}

    def restart(self, driver: Driver, node: None, command: order.Restart) -> None:
        if driver is not self.world.newest:
            return
        newest = self.world.store.newest()
        if newest is not None and newest.incarnation != driver.incarnation:
            newest = driver.record  # the same, in the graph of this driver
        wanted = newest.checkpoint if newest else 0
        self.expect(
            command.checkpoint == wanted, f"{command.subtask} begins from {command.checkpoint}, newest is {wanted}"
        )
        held = newest.snapshots.get(command.subtask) if newest else None
        self.expect(
            command.snapshot == held, f"{command.subtask} begins with another state than checkpoint {wanted} holds"
        )


class I18Retention(Checker):
    """A record goes when its own commits and those of a newer one are confirmed, and no savepoint needs it; of what it
    only carried on nothing is lost."""

    after: ClassVar = {order.DeleteRecord: "delete"}

    def delete(self, driver: Driver, node: None, command: order.DeleteRecord) -> None:
        if driver is not self.world.newest:
            return
        world, number = self.world, command.checkpoint
        record = world.store.ever.get(number)
        self.expect(record is not None, f"record {number} is deleted, but was never there")
        self.expect(record.kind is not RecordKind.SAVEPOINT, f"savepoint {number} is deleted")
        valid = [one for other, one in world.store.records.items() if other not in world.store.void]
        newer = sorted((one for one in valid if one.checkpoint > number), key=lambda one: one.checkpoint)
        self.expect(bool(newer), f"record {number} is deleted and is the newest")
        self.expect(any(map(self.confirmed, newer)), f"record {number} is deleted, and no newer one is confirmed")
        for commit in self.waiting(record):
            about = f"record {number} is deleted, {commit.scope} waits for {commit.checkpoint}"
            self.expect(commit.checkpoint != number, about)
            self.expect(commit in newer[-1].uncommitted, f"{about}, and the newest does not name it")
        for kept in world.store.savepoints():
            self.expect(
                all(one.checkpoint != number for one in kept.uncommitted),
                f"savepoint {kept.checkpoint} refers to {number}",
            )
        world.count("a record was deleted")

    def waiting(self, record: CheckpointRecord) -> list[CommitRecord]:
        """What it names that its targets do not hold yet: its own, and what it carries on."""
        return [one for one in record.uncommitted if self.world.targets[one.scope].ledger < one.checkpoint]

    def confirmed(self, record: CheckpointRecord) -> bool:
        return all(one.checkpoint != record.checkpoint for one in self.waiting(record))


class Regions(Checker):
    """What I20 and I21 share: the closed set of a failure, computed without the shipping planner."""

    def closure(self, topology: Topology, failed: set[str]) -> set[str]:
        found = set(failed)
        while True:
            edges = [edge for edge in topology.edges if not {edge.sender, edge.receiver} & topology.detached]
            more = {edge.sender for edge in edges if edge.receiver in found and not edge.retained}
            for name in found:
                if self.differs(topology, name):
                    more |= descendants(topology, name) - topology.detached
            if more <= found:
                return found
            found |= more

    def differs(self, topology: Topology, name: str) -> bool:
        """Whether a second life may number other rows; of a source that can be read only once what is kept is not."""
        vertex = topology.vertex(name)
        out = topology.detached
        kept = all(edge.retained for edge in topology.edges if edge.sender == name and edge.receiver not in out)
        return vertex.determinism is VertexDeterminism.INDETERMINATE or not (vertex.replayable or kept)


class I20ClosedRegion(Regions):
    """Whoever is needed for a restart restarts as well; nobody else does (I21)."""

    after: ClassVar = {"any": "handled"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.begun: set[int] = set()

    def handled(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        if node is not None:
            return
        region = {command.subtask.vertex for command in commands if type(command) is order.Restart}
        if not region:
            return
        topology = driver.topology
        known = self.facts.known[driver.incarnation]
        if driver.incarnation not in self.begun:
            self.begun.add(driver.incarnation)
            self.expect(region == set(topology.live), f"a driver begins with {sorted(region)} only")
            known.region |= region
            return
        if known.region:
            self.world.count("a restart happened during a restart")
        wanted = self.closure(topology, known.failed | known.region)
        whole = {subtask.vertex for subtask in topology.subtasks()}
        missing, more = wanted - region, region - wanted
        self.expect(
            not missing, f"{sorted(missing)} stay, though {sorted(known.failed)} failed; {sorted(region)} restart"
        )
        stopped = any(one.operation.kind == "stop" for one in known.triggered.values())
        right = not more or self.world.lied or (stopped and region == whole)
        self.expect(right, f"{sorted(more)} restart, though only {sorted(known.failed)} failed")
        known.region |= region
        self.world.count("a region restarted" if region != whole else "a whole pipeline restarted")


class I21SiblingsGoOn(Checker):
    """Who is outside the region keeps its life: it works on while others restart."""

    after: ClassVar = {task.RunUnit: "unit", "lives": "lives"}

    def unit(self, driver: Driver, node: Node, command: task.RunUnit) -> None:
        known = self.facts.known[driver.incarnation]
        if known.failed and node.subtask not in known.unstarted:
            self.world.count("a sibling worked during a restart")
        self.expect(self.facts.life(driver, node).started, f"{node.name} works before the start of its life")
        self.expect(command.epoch == node.epoch, f"{node.name} works in epoch {command.epoch}, lives in {node.epoch}")

    def lives(self, driver: Driver, node: Node, command: order.Restart, journal: Any) -> None:
        known = self.facts.known[driver.incarnation]
        self.expect(command.epoch <= known.epochs[node.subtask], f"{node.name} lives in an epoch that nobody gave it")


class I24AbortThenRestart(Checker):
    """Before lives end everything pending has been given up; epochs grow."""

    after: ClassVar = {"any": "handled"}

    def handled(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        if node is not None:
            return
        known = self.facts.known[driver.incarnation]
        left, before, unstarted = set(known.pending), known.epochs, set(known.unstarted)
        for command in commands:
            kind = type(command)
            if kind is order.CheckpointEnded:
                left.discard(command.checkpoint)
            elif kind is order.Restart:
                self.expect(not left, f"{command.subtask} restarts while {sorted(left)} are pending")
                grows = command.epoch > before.get(command.subtask, -1)
                self.expect(
                    grows, f"{command.subtask} begins epoch {command.epoch} after {before.get(command.subtask)}"
                )
            elif kind is order.SendStart:
                unstarted.discard(command.subtask)
            elif kind is order.SendTrigger:
                self.expect(not unstarted, f"checkpoint {command.checkpoint} begins during a restart")


class I26RestartOfRestart(Checker):
    """A failure during a restart is a restart from the same checkpoint."""

    after: ClassVar = {"any": "handled"}

    def handled(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        if node is not None:
            return
        known = self.facts.known[driver.incarnation]
        if not known.unstarted:
            return
        for command in commands:
            if type(command) is order.Restart:
                same = command.checkpoint == known.restored
                self.expect(
                    same,
                    f"{command.subtask} goes on from {command.checkpoint}, the restart before from {known.restored}",
                )


class I34OneCoordinator(Checker):
    """An overtaken driver reaches nothing, and ends when it is told."""

    after: ClassVar = {
        "stored": "stored",
        "committed": "committed",
        report.PersistFailed: "refused",
        report.CommitFailed: "refused",
        order.PipelineEnded: "ended",
    }

    def stored(self, driver: Driver, record: Any, answer: Answer) -> None:
        if driver is not self.world.newest:
            self.expect(answer is Answer.FENCED, f"{driver.name} stores {record.checkpoint}, though overtaken")

    def committed(self, driver: Driver, target: Any, command: Any, answer: Answer) -> None:
        if driver is not self.world.newest:
            self.expect(answer is Answer.FENCED, f"{driver.name} commits {command.checkpoint}, though overtaken")

    def refused(self, driver: Driver, node: None, event: Any, commands: tuple[Any, ...]) -> None:
        fenced = getattr(event, "fenced", False) or getattr(event, "reason", None) is Reason.FENCED
        if fenced and driver.ended is None:
            ends = [one for one in commands if type(one) is order.PipelineEnded and one.reason is Reason.FENCED]
            self.expect(bool(ends), f"{driver.name} was fenced and goes on")
            self.expect(commands[-1] is ends[0], f"{driver.name} was fenced and still wants {commands[-1]}")

    def ended(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        if command.reason is Reason.FENCED:
            overtaken = driver.incarnation < self.world.store.incarnation
            self.expect(overtaken, f"{driver.name} is the newest and believes that it was fenced")


class I35OneWriter(Checker):
    """Nothing of an earlier life becomes visible after the fence of a later one, unless a checkpoint names it."""

    after: ClassVar = {"written": "written", "committed": "committed"}

    def written(self, driver: Driver, node: Node, command: task.RunUnit, answer: Answer) -> None:
        target = self.world.targets[node.subtask.vertex]
        if target.kind is not SinkKind.TWO_PHASE and answer is Answer.DONE:
            now = target.fence.get(node.subtask, (0, 0))
            self.expect((driver.incarnation, command.epoch) >= now, f"{node.name} writes in a life that is over")

    def committed(self, driver: Driver, target: Any, command: order.CommitPieces, answer: Answer) -> None:
        if answer is not Answer.DONE:
            return
        units: dict[tuple[str, str], str] = {}
        for piece in command.pieces:
            subtask, life, unit = piece.name.split("/")
            other = units.setdefault((subtask, unit), life)
            self.expect(other == life, f"{target.scope}: unit {unit} of {subtask} comes from lives {other} and {life}")


class I37StaleIsDropped(Checker):
    """Messages of a past life lead to nothing."""

    after: ClassVar = {"any": "handled"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.counted: dict[Any, int] = {}

    def stale(self, driver: Driver, node: Node, what: str, commands: tuple[Any, ...]) -> None:
        self.expect(not commands, f"a stale {what} led {node.name} to {commands[:1]}")
        before = self.counted.get((driver.incarnation, node.subtask), 0)
        self.expect(node.machine.stale > before, f"{node.name} takes a stale {what} for a present one")

    def handled(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        self._judge(driver, node, event, commands)
        if node is not None:
            self.counted[driver.incarnation, node.subtask] = node.machine.stale

    def _judge(self, driver: Driver, node: Node | None, event: Any, commands: tuple[Any, ...]) -> None:
        if node is None:
            if type(event) in (
                report.Acknowledged,
                report.Declined,
                report.SubtaskReady,
                report.SubtaskFailed,
                report.UnitExhausted,
                report.SourceEnded,
            ):
                now = self.facts.known[driver.incarnation].epochs.get(event.subtask, -1)
                if event.incarnation < driver.incarnation or event.epoch < now:
                    self.world.count("a message of a past life was dropped")
                    self.expect(
                        not commands, f"a stale {type(event).__name__} of {event.subtask} led to {commands[:1]}"
                    )
            return
        kind = type(event)
        if kind is task.Arrived:
            life = self.facts.life(driver, node)
            envelope = event.envelope
            now = life.senders.get(envelope.channel, 0) if envelope.receiver_epoch == life.epoch else 0
            if envelope.receiver_epoch < node.epoch or envelope.sender_epoch < now:
                self.world.count("an envelope of a past life was dropped")
                self.stale(driver, node, "envelope", commands)
        elif kind in (task.UnitDone, task.UnitFailed, task.Triggered, task.Started) and event.epoch < node.epoch:
            self.stale(driver, node, kind.__name__, commands)


CHECKERS = (
    I17NewestIsRestored,
    I18Retention,
    I20ClosedRegion,
    I21SiblingsGoOn,
    I24AbortThenRestart,
    I26RestartOfRestart,
    I34OneCoordinator,
    I35OneWriter,
    I37StaleIsDropped,
)
