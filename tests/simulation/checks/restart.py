"""Checkers of restarts: I17, I18, I20, I21, I24, I26."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.topology import Topology, VertexDeterminism
from seatunnel_py.protocol.participant import messages as task
from tests.protocol.graphs import descendants
from tests.simulation.checks.checker import COORDINATOR, Checker

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver, Node
    from tests.simulation.checks.line import Line


class I17NewestIsRestored(Checker):
    """Whoever begins a life does so from the newest completed checkpoint, with what that holds."""

    after: ClassVar = {order.Restart: "restart"}

    def restart(self, driver: Driver, node: None, command: order.Restart) -> None:
        if not self.line.current(driver):
            return
        newest = self.line.newest
        if newest is None or (driver.record is not None and newest.checkpoint <= driver.record.checkpoint):
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
        number = command.checkpoint
        record = self.line.ever.get(number)
        if not self.line.current(driver) or record is None:
            return  # else it is one of the pipeline before this one
        self.expect(record.kind is not RecordKind.SAVEPOINT, f"savepoint {number} is deleted")
        newer = [one for one in self.line.completed if one.checkpoint > number]
        self.expect(bool(newer), f"record {number} is deleted and is the newest")
        waiting = {one.checkpoint: self.waiting(driver, one) for one in newer}
        confirmed = any(at not in [one.checkpoint for one in left] for at, left in waiting.items())
        self.expect(confirmed, f"record {number} is deleted, and no newer one is confirmed")
        for commit in self.waiting(driver, record):
            about = f"record {number} is deleted, {commit.scope} waits for {commit.checkpoint}"
            self.expect(commit.checkpoint != number, about)
            self.expect(commit in newer[-1].uncommitted, f"{about}, and the newest does not name it")
        for kept in self.line.kept:
            refers = any(one.checkpoint == number for one in kept.uncommitted)
            self.expect(not refers, f"savepoint {kept.checkpoint} refers to {number}")
        self.line.removes(number)
        self.count("a record was deleted")

    def waiting(self, driver: Driver, record: CheckpointRecord) -> list[CommitRecord]:
        """What it names that its targets do not hold yet: its own, and what it carries on."""
        targets = driver.targets()
        return [
            commit
            for commit in record.uncommitted
            if any(not one.ledger.holds(commit.checkpoint) for one in targets.get(commit.scope, ()))
        ]


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

    after: ClassVar = {COORDINATOR: "handled"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.begun: set[int] = set()

    def handled(self, driver: Driver, event: Any, commands: tuple[Any, ...]) -> None:
        if not commands:
            return
        region = {command.subtask.vertex for command in commands if type(command) is order.Restart}
        if not region:
            return
        topology = driver.topology
        known = self.facts.of(driver)
        if driver.serial not in self.begun:
            self.begun.add(driver.serial)
            self.expect(region == set(topology.live), f"a driver begins with {sorted(region)} only")
            known.region |= region
            return
        if known.region:
            self.count("a restart happened during a restart")
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
        self.count("a region restarted" if region != whole else "a whole pipeline restarted")


class I21SiblingsGoOn(Checker):
    """Who is outside the region keeps its life: it works on while others restart."""

    after: ClassVar = {task.RunUnit: "unit", "lives": "lives"}

    def unit(self, driver: Driver, node: Node, command: task.RunUnit) -> None:
        known = self.facts.of(driver)
        if known.failed and node.subtask not in known.unstarted:
            self.count("a sibling worked during a restart")
        self.expect(self.facts.life(driver, node).started, f"{node.name} works before the start of its life")
        now = self.facts.life(driver, node).epoch
        self.expect(command.epoch == now, f"{node.name} works in epoch {command.epoch}, lives in {now}")

    def lives(self, driver: Driver, node: Node, event: task.Restored) -> None:
        known = self.facts.of(driver)
        self.expect(event.epoch <= known.epochs[node.subtask], f"{node.name} lives in an epoch that it was not given")


class I24AbortThenRestart(Checker):
    """Before lives end everything pending has been given up; epochs grow."""

    after: ClassVar = {COORDINATOR: "handled"}

    def handled(self, driver: Driver, event: Any, commands: tuple[Any, ...]) -> None:
        if not commands:
            return
        known = self.facts.of(driver)
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

    after: ClassVar = {COORDINATOR: "handled"}

    def handled(self, driver: Driver, event: Any, commands: tuple[Any, ...]) -> None:
        if not commands:
            return
        known = self.facts.of(driver)
        if not known.unstarted:
            return
        for command in commands:
            if type(command) is order.Restart:
                same = command.checkpoint == known.restored
                self.expect(
                    same,
                    f"{command.subtask} goes on from {command.checkpoint}, the restart before from {known.restored}",
                )


CHECKERS = (
    I17NewestIsRestored,
    I18Retention,
    I20ClosedRegion,
    I21SiblingsGoOn,
    I24AbortThenRestart,
    I26RestartOfRestart,
)
