"""Checkers of tables that are left out: they do nothing any more, nobody waits for them, the others miss nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.topology import SinkKind
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checks.checker import Checker
from tests.simulation.jobs.targets import Answer

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver, Node, Shown


class IsolatedSinks(Checker):
    """Who is left out begins no life, is sent nothing, and stands in every record as it stood when it left."""

    after: ClassVar = {
        "stored": "stored",
        "committed": "committed",
        order.Restart: "restart",
        order.DeleteRecord: "delete",
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
        self.count("a table was left out")
        known = self.facts.of(driver)
        self.expect(new <= known.gone, f"{sorted(new)} are left out, and their lives were not ended")
        stay, topology = set(record.topology.live), driver.whole
        robbed = {name for name in stay if topology.ancestors(name) & record.topology.detached}
        self.expect(not robbed, f"{sorted(robbed)} stay, though {sorted(new)}, who feed them, are left out")
        sinks = {one.id for one in topology.vertices if one.sink is not SinkKind.NONE}
        self.expect(bool(stay & sinks), f"nothing remains behind {sorted(new)}")

    def _out(self, driver: Driver) -> frozenset[str]:
        """Those whom all others have cut off: by a barrier, or since this driver began."""
        return self.facts.of(driver).isolated if self.line.current(driver) else frozenset()

    def committed(
        self, driver: Driver, target: Shown, command: order.CommitPieces, answer: Answer, pieces: Any
    ) -> None:
        out = {driver.whole.vertex(name).commit_scope for name in self._out(driver)}
        if answer is Answer.DONE and target.scope in out:
            self.count("what a table had before it was left out was committed")

    def restart(self, driver: Driver, node: None, command: order.Restart) -> None:
        self.expect(
            command.subtask.vertex not in driver.topology.detached, f"{command.subtask} begins, and is left out"
        )
        if driver.topology.detached:
            self.count("a restart without a table that was left out")

    def delete(self, driver: Driver, node: None, command: order.DeleteRecord) -> None:
        newest = self.line.newest
        if self.line.current(driver) and newest is not None:
            stand = {one.since for at, one in newest.snapshots.items() if at.vertex in newest.topology.detached}
            self.expect(
                command.checkpoint not in stand, f"record {command.checkpoint} is deleted: a table stands there"
            )

    def emit(self, driver: Driver, node: Node, command: task.Emit) -> None:
        receiver = command.envelope.channel.receiver
        out = receiver.vertex in self._out(driver) and node.subtask.vertex not in driver.topology.detached
        self.expect(not out, f"{node.name} sends to {receiver}, which is left out")


CHECKERS = (IsolatedSinks,)
