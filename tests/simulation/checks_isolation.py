"""Checkers of tables that are left out: they do nothing any more, nobody waits for them, the others miss nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checker import Checker
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from tests.simulation.driver import Driver, Node


class IsolatedSinks(Checker):
    """Who is left out begins no life, is sent nothing, and stands in every record as it stood when it left."""

    after: ClassVar = {
        "stored": "stored",
        "committed": "committed",
        order.Restart: "restart",
        order.DeleteRecord: "delete",
        order.Rejoined: "rejoined",
        order.RejoinRefused: "refused",
        task.Emit: "emit",
    }

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is not Answer.DONE or not record.topology.detached:
            return
        before = self.facts.record(driver, record.previous)
        known = before.topology.detached if before else frozenset()
        new = record.topology.detached - known
        if new:
            self.left(driver, record, new)
        for subtask in record.topology.subtasks(sorted(record.topology.detached)):
            stood = before.snapshots.get(subtask) if before else None
            stands = record.snapshots.get(subtask)
            self.expect(
                (stood is None) == (stands is None), f"{subtask} is left out, and is not in {record.checkpoint}"
            )
            if stood is not None:
                same = (stood.state, stood.applied, stood.sent, stood.channel_state, stood.taken, stood.ended)
                now = (stands.state, stands.applied, stands.sent, stands.channel_state, stands.taken, stands.ended)
                self.expect(same == now, f"{subtask} is left out, and stands elsewhere in {record.checkpoint}")
                self.expect(not stands.pieces, f"{subtask} is left out, and {record.checkpoint} names its pieces")

    def left(self, driver: Driver, record: CheckpointRecord, new: frozenset[str]) -> None:
        self.world.count("a table was left out")
        known = self.facts.known[driver.incarnation]
        self.expect(new <= known.gone, f"{sorted(new)} are left out, and their lives were not ended")
        stay, topology = set(record.topology.live), driver.pipeline.topology
        robbed = {name for name in stay if topology.ancestors(name) & record.topology.detached}
        self.expect(not robbed, f"{sorted(robbed)} stay, though {sorted(new)}, who feed them, are left out")
        self.expect(bool(stay & set(self.world.targets)), f"nothing remains behind {sorted(new)}")

    def _out(self, driver: Driver) -> frozenset[str]:
        """Those whom everybody has cut off: by a barrier, or since this driver began; and whom no barrier lets in."""
        known = self.facts.known[driver.incarnation]
        return known.isolated - known.coming if driver is self.world.newest else frozenset()

    def committed(self, driver: Driver, target: Any, command: order.CommitPieces, answer: Answer) -> None:
        if answer is Answer.DONE and target.scope in self._out(driver):
            self.world.count("what a table had before it was left out was committed")

    def restart(self, driver: Driver, node: None, command: order.Restart) -> None:
        self.expect(
            command.subtask.vertex not in driver.topology.detached, f"{command.subtask} begins, and is left out"
        )
        if driver.topology.detached:
            self.world.count("a restart without a table that was left out")

    def delete(self, driver: Driver, node: None, command: order.DeleteRecord) -> None:
        newest = self.world.store.newest()
        if driver is self.world.newest and newest is not None:
            stand = {one.since for at, one in newest.snapshots.items() if at.vertex in newest.topology.detached}
            self.expect(
                command.checkpoint not in stand, f"record {command.checkpoint} is deleted: a table stands there"
            )

    def rejoined(self, driver: Driver, node: None, command: order.Rejoined) -> None:
        self.world.count("a table came back")

    def refused(self, driver: Driver, node: None, command: order.RejoinRefused) -> None:
        self.world.count("a table could not come back")
        topology = driver.pipeline.topology
        feeding = {edge.sender for edge in topology.edges if edge.receiver in command.vertices}
        if command.lack is order.RejoinObstacle.ROWS:
            self.expect(bool(feeding - set(command.vertices)), f"{command.vertices} lack rows, and nobody feeds them")

    def emit(self, driver: Driver, node: Node, command: task.Emit) -> None:
        receiver = command.envelope.channel.receiver
        out = receiver.vertex in self._out(driver) and node.subtask.vertex not in driver.topology.detached
        self.expect(not out, f"{node.name} sends to {receiver}, which is left out")


CHECKERS = (IsolatedSinks,)
